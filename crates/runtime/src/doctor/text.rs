//! The report, for a person: short, in columns, at most [`COLUMNS`] wide.

use std::fmt::Write as _;

use concertina_types::{Severity, Tokens};

use super::report::{ClientReport, Loss, Report, ServerState};

/// Columns that a line takes at most, where its text can be cut.
const COLUMNS: usize = 100;
/// Lines shown of one kind; the rest is counted.
const LINES: usize = 8;
/// Names shown of one group.
const NAMES: usize = 4;
/// Lines that one text is broken into at most; the rest is in `--json`.
const WRAPPED: usize = 3;
/// Columns of the label in front of a line.
const LABEL: usize = 13;

impl Report {
    /// The report in words. Nothing in it depends on colour.
    pub fn text(&self) -> String {
        let mut page = Page::default();
        if self.is_empty() {
            page.line("Nothing is here yet: no skills, no servers, no tools, no known client.");
            page.line("A skill is a file .agents/skills/NAME/SKILL.md that says when to use it and what to do.");
            page.line("Write one, then come back: concertina doctor");
            return page.text;
        }
        self.settings(&mut page);
        self.skills(&mut page);
        self.near(&mut page);
        self.servers(&mut page);
        self.tools(&mut page);
        self.sandbox(&mut page);
        for client in &self.clients {
            self.client(client, &mut page);
        }
        match &self.next {
            Some(next) => {
                // A command is never cut.
                page.line(&format!("{:LABEL$}{}", "Next", clean(&next.command)));
                page.more(&next.why);
            }
            None => page.entry("Next", "nothing to do"),
        }
        page.text
    }

    /// How programs are held, where one could run.
    fn sandbox(&self, page: &mut Page) {
        let held = &self.sandbox;
        if self.tools.local.is_empty() && held.reason.is_none() && held.open.is_empty() {
            return;
        }
        let head = match (&held.reading, &held.writing) {
            (None, _) => "off".to_owned(),
            (Some(reading), Some(writing)) if reading == writing => {
                format!("programs run in {reading}")
            }
            (Some(reading), Some(writing)) => {
                format!("programs that only read run in {reading}, others in {writing}")
            }
            (Some(reading), None) => {
                format!("programs that only read run in {reading}, others are refused")
            }
        };
        page.entry("Sandbox", &head);
        if let Some(reason) = &held.reason {
            page.more(reason);
        }
        match held.open.as_slice() {
            [] if held.tried > 0 => {
                page.more(&format!("{} escapes were tried now, and all were held", held.tried));
            }
            [] => {}
            open => page.more(&format!("not held: {}", open.join(", "))),
        }
    }

    fn settings(&self, page: &mut Page) {
        let wrong: Vec<_> =
            self.settings.iter().filter(|found| found.severity > Severity::Info).collect();
        for (at, found) in wrong.iter().take(LINES).enumerate() {
            let mut place = self.familiar(&found.path);
            if let Some(line) = found.line {
                let _ = write!(place, ":{line}:{}", found.column.unwrap_or(1));
            }
            page.entry(if at == 0 { "Settings" } else { "" }, &place);
            page.more(&format!("  {}: {}", found.severity, found.message));
        }
        page.rest(wrong.len());
    }

    fn skills(&self, page: &mut Page) {
        let skills = &self.skills;
        let never: usize = skills.total - skills.visible;
        let lost = skills.skipped.iter().filter(|skipped| skipped.is_loss()).count();
        let mut head = count(skills.total - skills.bundled, "skill");
        if skills.bundled > 0 {
            let _ = write!(head, " and {} that ships with Concertina", skills.bundled);
        }
        if never > 0 {
            let _ = write!(head, ", {never} not shown to a model");
        }
        if lost > 0 {
            let _ = write!(head, ", {} that cannot be used", count(lost, "file"));
        }
        page.entry("Skills", &head);
        let from: Vec<String> = skills
            .from
            .iter()
            .filter(|from| from.scope != "bundled")
            .map(|from| format!("{} {}", self.familiar(&from.path), from.skills))
            .collect();
        if !from.is_empty() {
            page.more(&format!("in {}", some(&from, 5)));
        }
        let index = &skills.index;
        let chars = |number: usize| Tokens(number as u64);
        let mut line = format!(
            "index: {} of {} tokens, {} of {} characters",
            index.tokens,
            index.budget_tokens,
            chars(index.chars),
            chars(index.budget_chars)
        );
        let parts = [
            (index.full, "in full"),
            (index.shortened, "shortened"),
            (index.names_only, "by name only"),
            (index.omitted, "only counted"),
        ];
        for (number, what) in parts.into_iter().filter(|(number, _)| *number > 0) {
            let _ = write!(line, ", {number} {what}");
        }
        if index.once_trusted {
            line.push_str("; once this project is trusted");
        }
        page.more(&line);
        for hidden in &skills.hidden {
            page.more(&format!(
                "{} hidden: {}: {} [{}]",
                hidden.names.len(),
                hidden.text,
                some(&hidden.names, NAMES),
                hidden.code
            ));
        }
        for one in skills.collisions.iter().take(NAMES) {
            page.more(&format!(
                "name taken: skill:{} stands for {}",
                one.name,
                self.familiar(&one.kept)
            ));
            page.more(&format!("  {} opens as skill:{}", self.familiar(&one.lost), one.id));
        }
        page.rest_of(skills.collisions.len(), NAMES);
        let skipped: Vec<_> = skills.skipped.iter().filter(|skipped| skipped.is_loss()).collect();
        for one in skipped.iter().take(NAMES) {
            page.more(&format!("not usable: {} [{}]", self.familiar(&one.path), one.code));
            page.more(&format!("  {}", one.reason));
        }
        page.rest_of(skipped.len(), NAMES);
        let findings: Vec<String> = skills
            .findings
            .iter()
            .map(|found| format!("{} {}", found.code, found.skills))
            .collect();
        if !findings.is_empty() {
            page.more(&format!("checks: {}", some(&findings, 3)));
        }
    }

    fn near(&self, page: &mut Page) {
        for (at, miss) in self.near_misses.iter().take(LINES).enumerate() {
            let what = if miss.skills > 1 {
                format!(" ({})", count(miss.skills, "skill"))
            } else {
                String::new()
            };
            let line = format!("{}{what}: {}", self.familiar(&miss.path), miss.reason);
            page.entry(if at == 0 { "Almost" } else { "" }, &line);
            page.more(&format!("  expected {}", self.familiar(&miss.expected)));
        }
        page.rest(self.near_misses.len());
    }

    fn servers(&self, page: &mut Page) {
        if self.servers.is_empty() {
            return;
        }
        let is_off = |server: &&super::Server| {
            server.configured.iter().all(|one| one.state == ServerState::Off)
        };
        let off = self.servers.iter().filter(is_off).count();
        let mut head = count(self.servers.len(), "server");
        if off > 0 {
            let _ = write!(head, ", {off} off");
        }
        head.push_str("; how many tools they have is not known, none was started");
        page.entry("Servers", &head);
        let wide = |of: &dyn Fn(&super::Server) -> usize| {
            self.servers.iter().take(LINES).map(of).max().unwrap_or(0).min(30)
        };
        let name = wide(&|server| server.name.chars().count());
        let target = wide(&|server| server.target.chars().count());
        for server in self.servers.iter().take(LINES) {
            let mut users: Vec<String> = server
                .configured
                .iter()
                .map(|one| match one.state {
                    ServerState::On => one.client.clone(),
                    ServerState::IfTrusted => {
                        format!("{} (once the project is trusted)", one.client)
                    }
                    ServerState::Off => format!("{} (off)", one.client),
                })
                .collect();
            users.dedup();
            page.row(&format!(
                "{:name$}  {:target$}  {}",
                server.name,
                server.target,
                users.join(", ")
            ));
        }
        page.rest(self.servers.len());
    }

    fn tools(&self, page: &mut Page) {
        let local = &self.tools.local;
        if !local.is_empty() {
            let head = format!(
                "{} in concertina.toml, {} tokens",
                count(local.len(), "tool"),
                self.tools.tokens
            );
            page.entry("Tools", &head);
            page.more(&some(local, NAMES));
        }
    }

    fn client(&self, client: &ClientReport, page: &mut Page) {
        let watched = client.observed.as_ref().map_or_else(
            || ", by its source (version not known)".to_owned(),
            |version| format!(", as watched in {version}"),
        );
        let servers = match client.servers {
            0 => String::new(),
            many => format!(", {}", count(many, "server")),
        };
        let Some(skills) = &client.skills else {
            page.entry(&client.name, &format!("what it does with skills is not known{servers}"));
            return;
        };
        let mut head = format!("lists {} of {}", skills.listed, count(skills.total, "skill"));
        if skills.listed > 0 {
            let about = if skills.tokens.exact { "" } else { "about " };
            let _ = write!(head, " in {about}{} tokens", skills.tokens.count);
        }
        let _ = write!(head, "{servers}{watched}");
        page.entry(&client.name, &head);
        for loss in skills.lost.iter().take(LINES) {
            page.more(&self.loss("", loss));
        }
        page.rest(skills.lost.len());
        for loss in skills.unknown.iter().take(LINES) {
            page.more(&self.loss("not known: ", loss));
        }
        page.rest(skills.unknown.len());
        if skills.withheld > 0 {
            page.more(&format!("{} withheld as their authors want it", skills.withheld));
        }
        let mut notes = Vec::new();
        if skills.listed > 0 && !skills.tokens.exact {
            notes.push(format!("tokens: {}", skills.tokens.tokenizer));
        }
        if let Some(own) = skills.own {
            notes.push(format!("it also lists {own} of its own"));
        }
        if !notes.is_empty() {
            page.more(&notes.join("; "));
        }
    }

    fn loss(&self, before: &str, loss: &Loss) -> String {
        let place = loss.path.as_ref().map(|path| format!(" in {}", self.familiar(path)));
        let tokens = match loss.tokens {
            Tokens::ZERO => String::new(),
            tokens => format!(" ({tokens} tokens)"),
        };
        format!(
            "{} {before}{}{}{tokens}: {}",
            loss.names.len(),
            loss.text,
            place.unwrap_or_default(),
            some(&loss.names, NAMES)
        )
    }
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// The first line about `label`.
    fn entry(&mut self, label: &str, text: &str) {
        let mut label = label;
        for line in wrapped(text, COLUMNS - LABEL) {
            let line = format!("{label:LABEL$}{line}");
            self.line(line.trim_end());
            label = "";
        }
    }

    /// A further line about the same.
    fn more(&mut self, text: &str) {
        self.entry("", text);
    }

    /// A row of a table, whose blanks stay.
    fn row(&mut self, text: &str) {
        let line = format!("{:LABEL$}{}", "", clip(&clean(text), COLUMNS - LABEL));
        self.line(line.trim_end());
    }

    /// Says how many lines of `total` were left out.
    fn rest(&mut self, total: usize) {
        self.rest_of(total, LINES);
    }

    fn rest_of(&mut self, total: usize, shown: usize) {
        if total > shown {
            self.more(&format!("and {} more: see --json", total - shown));
        }
    }
}

/// The first few of `names`, and how many more there are.
fn some(names: &[String], most: usize) -> String {
    let first = names.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `text` without what could move the cursor or reorder the line.
fn clean(text: &str) -> String {
    let harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// `text` in at most [`WRAPPED`] lines of so many columns, broken at blanks.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let clean = clean(text);
    let indent = clean.len() - clean.trim_start().len();
    let mut lines = vec![" ".repeat(indent)];
    for word in clean.split_whitespace() {
        let last = lines.len();
        let Some(line) = lines.last_mut() else { break };
        let gap = usize::from(!line.trim().is_empty());
        if gap == 1 && width(line) + gap + width(word) > columns {
            if last == WRAPPED {
                line.push_str(" …");
                break;
            }
            lines.push(" ".repeat(indent + 2));
        } else if gap == 1 {
            line.push(' ');
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    lines.iter().map(|line| clip(line, columns)).collect()
}

/// Columns that a text takes on a terminal: wide scripts take two each.
fn width(text: &str) -> usize {
    text.chars().map(wide).sum()
}

fn wide(c: char) -> usize {
    if matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
    {
        2
    } else {
        1
    }
}

/// `text` on one line of at most so many columns.
fn clip(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut left = most - 1;
    let mut kept: String = text
        .chars()
        .take_while(|c| {
            let fits = wide(*c) <= left;
            left = left.saturating_sub(wide(*c));
            fits
        })
        .collect();
    kept.push('…');
    kept
}
