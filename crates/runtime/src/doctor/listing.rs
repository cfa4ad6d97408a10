//! What one client lists of the skills, and what it loses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use concertina_tokens::{Count, Family};
use concertina_types::Tokens;

use super::clients::{Client, Known, Rules, SkillRoot, Total};
use super::pool::{Pool, PoolSkill};
use super::report::{Amount, ClientSkills, Loss};

/// What `client` makes of the skills in `pool` at a window of so many tokens.
pub(super) fn of(
    client: &Client,
    roots: &[SkillRoot],
    pool: &Pool,
    window: u64,
) -> Option<ClientSkills> {
    let rules = client.rules.as_ref()?;
    let family = Family::for_model(client.model);
    let mut losses = Losses::default();
    let mut lines = Vec::new();
    let mut withheld = 0;
    let mut names = BTreeSet::new();
    for skill in &pool.skills {
        match judge(rules, roots, skill) {
            Verdict::Listed(_) if !names.insert(skill.name.as_str()) => {
                let text = "whether it lists a second one of the same name";
                losses.unknown(Why::new("SAME_NAME", text), &Line::new(skill, rules, ""));
            }
            Verdict::Listed(file) => {
                let line = Line::new(skill, rules, &file);
                if skill.model_disabled {
                    let text = "listed against its `disable-model-invocation`";
                    losses.changed(Why::new("HIDDEN_BUT_LISTED", text), &line);
                }
                lines.push(line);
            }
            Verdict::Withheld => withheld += 1,
            Verdict::Lost(why) => losses.lost(why, &Line::new(skill, rules, "")),
            Verdict::Unknown(why) => losses.unknown(why, &Line::new(skill, rules, "")),
        }
    }
    if let Some(chars) = rules.entry_chars {
        let text = format!("with a description cut at {} characters", Tokens(chars as u64));
        losses.cut(Why::new("DESCRIPTION_CUT", text), cap(&mut lines, chars));
    }
    if let Some(total) = &rules.total {
        fit(total, &mut lines, window, &mut losses);
    }
    let shown: Vec<String> = lines.iter().filter(|line| !line.dropped).map(Line::text).collect();
    let Count { tokens, tokenizer, exact } = family.count(&shown.join("\n"));
    let (lost, unknown) = losses.done(family);
    let reads = roots.iter().filter(|root| root.certain && root.path.is_dir());
    Some(ClientSkills {
        reads: reads.map(|root| root.path.display().to_string()).collect(),
        total: pool.skills.len(),
        listed: shown.len(),
        own: rules.own,
        tokens: Amount { count: tokens, tokenizer, exact },
        lost,
        unknown,
        withheld,
    })
}

enum Verdict {
    /// Listed; the file, as the listing names it.
    Listed(String),
    /// Left out because its author wants it so.
    Withheld,
    Lost(Why),
    Unknown(Why),
}

/// Why a skill is lost, and in which directory, where that is the reason.
struct Why {
    code: &'static str,
    text: String,
    path: Option<String>,
}

impl Why {
    fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), path: None }
    }

    fn at(self, path: String) -> Self {
        Self { path: Some(path), ..self }
    }

    fn key(self) -> (&'static str, String, Option<String>) {
        (self.code, self.text, self.path)
    }
}

fn judge(rules: &Rules, roots: &[SkillRoot], skill: &PoolSkill) -> Verdict {
    let found = match place(rules, roots, skill) {
        Placed::Found(file) => file,
        Placed::Unsure(text) => {
            return Verdict::Unknown(Why::new("PLACE_NOT_KNOWN", text).at(skill.root()));
        }
        Placed::TooDeep => {
            return Verdict::Lost(
                Why::new("TOO_DEEP", "not read, too many levels down").at(skill.root()),
            );
        }
        Placed::Elsewhere => {
            return Verdict::Lost(Why::new("LAYOUT_NOT_READ", "not read").at(skill.root()));
        }
    };
    if skill.model_disabled && rules.hides_disabled {
        return Verdict::Withheld;
    }
    if skill.has_paths {
        let text = "whether it waits for a file that matches its `paths`";
        return match rules.waits_for_paths {
            Known::Yes => Verdict::Withheld,
            Known::No => Verdict::Unknown(Why::new("PATHS", text)),
        };
    }
    if !skill.has_frontmatter {
        return match rules.drops_without_frontmatter {
            Known::Yes => Verdict::Lost(Why::new("NO_FRONTMATTER", "dropped, no frontmatter")),
            Known::No => Verdict::Unknown(Why::new(
                "NO_FRONTMATTER",
                "whether it takes a file without frontmatter",
            )),
        };
    }
    if !skill.describes_itself {
        return Verdict::Unknown(Why::new(
            "NO_DESCRIPTION",
            "whether it takes a file without description",
        ));
    }
    if skill.is_odd {
        return Verdict::Unknown(Why::new(
            "BROKEN_FRONTMATTER",
            "whether it mends broken frontmatter",
        ));
    }
    Verdict::Listed(found)
}

enum Placed {
    Found(String),
    Unsure(&'static str),
    TooDeep,
    Elsewhere,
}

/// The best that any place of the skill comes to.
fn place(rules: &Rules, roots: &[SkillRoot], skill: &PoolSkill) -> Placed {
    let mut best = Placed::Elsewhere;
    for (path, root) in
        skill.paths.iter().flat_map(|path| roots.iter().map(move |root| (path, root)))
    {
        let Ok(below) = path.strip_prefix(&root.path) else { continue };
        // `NAME/SKILL.md` is one level deep; so is a command, which has no directory of its own.
        let parts = below.components().filter(|part| matches!(part, Component::Normal(_))).count();
        let deep = parts.saturating_sub(1).max(1);
        if !root.certain {
            best = Placed::Unsure("whether it looks");
        } else if deep <= rules.levels || is_command(path, root) {
            return Placed::Found(below.display().to_string());
        } else if rules.deeper_is_lost == Known::Yes {
            if matches!(best, Placed::Elsewhere) {
                best = Placed::TooDeep;
            }
        } else {
            best = Placed::Unsure("whether it looks so many levels down");
        }
    }
    best
}

/// Directories only group commands.
fn is_command(path: &Path, root: &SkillRoot) -> bool {
    root.path.ends_with("commands") && !path.ends_with("SKILL.md")
}

/// A skill in a listing.
#[derive(Clone)]
struct Line {
    id: String,
    name: String,
    /// How much of the description is left.
    shown: String,
    /// What follows it.
    file: String,
    dropped: bool,
}

impl Line {
    fn new(skill: &PoolSkill, rules: &Rules, file: &str) -> Self {
        let shown = skill.summary(rules.lists_when_to_use);
        let file = if rules.lists_file { format!(" (file: r0/{file})") } else { String::new() };
        Self { id: skill.id.clone(), name: skill.name.clone(), shown, file, dropped: false }
    }

    fn text(&self) -> String {
        let colon = if self.shown.is_empty() { "" } else { ": " };
        format!("- {}{colon}{}{}", self.name, self.shown, self.file)
    }
}

/// Cuts every description at `chars` characters; gives the lines that changed, before and after.
fn cap(lines: &mut [Line], chars: usize) -> Vec<(Line, Line)> {
    let mut changed = Vec::new();
    for line in lines {
        if line.shown.chars().count() > chars {
            let before = line.clone();
            line.shown = line.shown.chars().take(chars).collect();
            changed.push((before, line.clone()));
        }
    }
    changed
}

/// Shortens all descriptions alike, then drops skills from the end, until the lines fit.
fn fit(total: &Total, lines: &mut [Line], window: u64, losses: &mut Losses) {
    let window = usize::try_from(window).unwrap_or(usize::MAX);
    let limit = window.saturating_mul(total.percent) / 100 * 4;
    let size = |lines: &[Line]| -> usize {
        lines.iter().filter(|line| !line.dropped).map(|line| total.unit.of(&line.text()) + 1).sum()
    };
    if size(lines) <= limit {
        return;
    }
    let longest = lines.iter().map(|line| line.shown.chars().count()).max().unwrap_or_default();
    // The largest length that fits; zero, where none does.
    let (mut fits, mut too_long) = (0, longest);
    while fits + 1 < too_long {
        let middle = fits.midpoint(too_long);
        let mut tried = lines.to_vec();
        cap(&mut tried, middle);
        if size(&tried) <= limit { fits = middle } else { too_long = middle }
    }
    let budget = format!(
        "over {} {} ({} % of the window)",
        Tokens(limit as u64),
        total.unit.name(),
        total.percent
    );
    let changed = cap(lines, fits);
    if fits == 0 {
        losses.cut(Why::new("BUDGET_NAMES_ONLY", format!("{budget}, only names stay")), changed);
    } else {
        let text = format!("{budget}, descriptions shrink to {fits} characters");
        losses.cut(Why::new("BUDGET_SHORTENED", text), changed);
    }
    let mut left = size(lines);
    for line in lines.iter_mut().rev() {
        if !total.drops || left <= limit {
            break;
        }
        left -= total.unit.of(&line.text()) + 1;
        losses.lost(Why::new("BUDGET_DROPPED", format!("{budget}, dropped")), line);
        line.dropped = true;
    }
}

/// Losses by code, words and directory.
#[derive(Default)]
struct Losses {
    lost: Groups,
    unknown: Groups,
}

type Groups = BTreeMap<(&'static str, String, Option<String>), Group>;

/// Skills with one loss, and their lines before and after it.
#[derive(Default)]
struct Group {
    names: Vec<String>,
    before: String,
    after: String,
}

impl Group {
    fn add(&mut self, id: &str, before: &str, after: &str) {
        self.names.push(id.to_owned());
        for (text, more) in [(&mut self.before, before), (&mut self.after, after)] {
            text.push_str(more);
            text.push('\n');
        }
    }
}

impl Losses {
    fn lost(&mut self, why: Why, line: &Line) {
        self.lost.entry(why.key()).or_default().add(&line.id, &line.text(), "");
    }

    fn unknown(&mut self, why: Why, line: &Line) {
        self.unknown.entry(why.key()).or_default().add(&line.id, &line.text(), "");
    }

    /// A skill that is listed otherwise than its author meant: no text is lost.
    fn changed(&mut self, why: Why, line: &Line) {
        self.lost.entry(why.key()).or_default().add(&line.id, "", "");
    }

    fn cut(&mut self, why: Why, lines: Vec<(Line, Line)>) {
        let key = why.key();
        for (before, after) in lines {
            let group = self.lost.entry(key.clone()).or_default();
            group.add(&before.id, &before.text(), &after.text());
        }
    }

    fn done(self, family: Family) -> (Vec<Loss>, Vec<Loss>) {
        (losses(self.lost, family), losses(self.unknown, family))
    }
}

/// The groups as they are reported, the largest first.
fn losses(groups: Groups, family: Family) -> Vec<Loss> {
    let count = |text: &str| family.count(text.trim()).tokens;
    let mut losses: Vec<Loss> = groups
        .into_iter()
        .map(|((code, text, path), mut group)| {
            group.names.sort();
            let tokens = count(&group.before).saturating_sub(count(&group.after));
            Loss { code, text, path, tokens, names: group.names }
        })
        .collect();
    losses.sort_by(|a, b| {
        b.names.len().cmp(&a.names.len()).then(a.code.cmp(b.code)).then(a.path.cmp(&b.path))
    });
    losses
}
