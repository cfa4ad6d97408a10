//! Who may see what, and why. Listing, searching, opening and calling all ask here.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_types::{OpenMode, Ref, SkillId, Subject, ToolName, limits};
use serde::Serialize;

use super::command::Targets;
use super::commands::{COMMANDS, name_of};
use super::state::{OpenSkill, State};
use super::task::{step_of_evidence, step_of_skill, step_of_tool};
use super::world::World;
use crate::catalog::{Category, Danger, NeedsSkill, SkillEntry, ToolEntry};
use crate::policy::{Action, Caller, Decision, Effect, FilePath, Pattern, Reason, Request};

/// Whether a thing is visible and callable to someone, and the reasons, strictest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Visibility {
    /// It may be listed, found and opened.
    pub visible: bool,
    /// It may be used without a person's consent.
    pub callable: bool,
    /// Why.
    pub reasons: Vec<Reason>,
}

impl Visibility {
    /// Whether nothing hides it but a menu or a skill that is not open: it may be found by a search, and
    /// named to whoever asks for it.
    pub fn is_folded_away(&self) -> bool {
        !self.visible && is_folded_away(&self.reasons)
    }

    fn of(decision: Decision) -> Self {
        Self {
            visible: decision.effect != Effect::Deny,
            callable: decision.effect == Effect::Allow,
            reasons: decision.reasons,
        }
    }
}

fn is_folded_away(reasons: &[Reason]) -> bool {
    let is_fold =
        |reason: &Reason| matches!(reason.code.as_str(), "MENU_CLOSED" | "SKILL_NOT_OPEN");
    reasons.iter().filter(|reason| reason.code != "POLICY_ALLOWS").all(is_fold)
}

/// The tool that `written` means: the one of that name, else the only one whose name ends in it among
/// those that are visible, else among those that are merely folded away.
pub fn meant<'a>(state: &'a State, world: &World<'a>, written: &ToolName) -> Option<&'a ToolEntry> {
    if let Some(tool) = known_tool(state, world, written) {
        return Some(tool);
    }
    let ends = |entry: &&Arc<ToolEntry>| {
        entry.name.as_str().rsplit_once('/').is_some_and(|(_, last)| last == written.as_str())
    };
    let (mut visible, mut folded) = (Vec::new(), Vec::new());
    for entry in world.snapshot.tools.iter().filter(ends) {
        let verdict = tool(state, world, entry);
        if verdict.effect != Effect::Deny {
            visible.push(entry);
        } else if is_folded_away(&verdict.reasons) {
            folded.push(entry);
        }
    }
    match (visible.as_slice(), folded.as_slice()) {
        ([only], _) | ([], [only]) => Some(only),
        _ => None,
    }
}

/// The tool called `name`: of the catalogue, or of the commands of an open skill.
pub fn known_tool<'a>(
    state: &'a State,
    world: &World<'a>,
    name: &ToolName,
) -> Option<&'a ToolEntry> {
    let of_skills = || open_commands(state, world).find(|tool| tool.name == *name);
    world.snapshot.tool(name).or_else(of_skills)
}

/// The tools of the commands of open skills. One that has the name of a tool of the catalogue is none.
fn open_commands<'a>(
    state: &'a State,
    world: &World<'a>,
) -> impl Iterator<Item = &'a ToolEntry> + use<'a> {
    let snapshot = world.snapshot;
    let tools = state.open.iter().filter_map(OpenSkill::commands);
    tools.filter(move |tool| snapshot.tool(&tool.name).is_none())
}

/// Why `name` cannot be called, where it is the tool of the commands of a skill that could be opened.
pub(super) fn closed_commands(state: &State, world: &World<'_>, name: &ToolName) -> Option<Reason> {
    let mut skills = world.snapshot.skills.iter().filter(|skill| skill.runs);
    let skill = skills.find(|skill| name_of(&skill.id).as_ref() == Some(name))?;
    let can_open = skill.context == OpenMode::Inline && is_listed(state, world, skill);
    can_open.then(|| {
        let text = format!(
            "tool:{name} appears only while skill:{0} is open; open skill:{0} first",
            skill.id
        );
        Reason::new("SKILL_NOT_OPEN", text, format!("tool:{name}"))
    })
}

fn deny(code: &str, text: impl Into<String>, source: impl Into<String>) -> Decision {
    Decision::because(Effect::Deny, Reason::new(code, text, source))
}

/// The visibility of what `reference` names, for `subject`.
pub fn visibility(
    state: &State,
    world: &World<'_>,
    reference: &Ref,
    subject: Subject,
) -> Visibility {
    Visibility::of(decision(state, world, reference, subject))
}

/// The verdict on what `reference` names, for `subject`.
pub(super) fn decision(
    state: &State,
    world: &World<'_>,
    reference: &Ref,
    subject: Subject,
) -> Decision {
    match reference {
        Ref::Skill { id, .. } => match world.snapshot.skill(id) {
            Some(entry) => skill(state, world, entry, subject),
            None => unknown(reference),
        },
        Ref::Tool(name) => match known_tool(state, world, name) {
            Some(entry) => tool(state, world, entry),
            None => match closed_commands(state, world, name) {
                Some(reason) => Decision::because(Effect::Deny, reason),
                None => unknown(reference),
            },
        },
        Ref::Menu(name) if !has_menu(state, world, name) => unknown(reference),
        Ref::Evidence { id, .. } if !state.evidence.contains_key(id) => unknown(reference),
        // Of what a step shows the place only, that is known already.
        Ref::Evidence { id, .. } if step_of_evidence(state, world, *id) < 2 => {
            let text = format!("this step does not show {reference}");
            deny("NOT_IN_STEP", text, "procedure")
        }
        Ref::Menu(name) => by_policy(state, world, &format!("menu:{name}")),
        Ref::File { path, .. } => by_policy(state, world, &format!("file:{path}")),
        Ref::Dir(path) => by_policy(state, world, &format!("dir:{path}")),
        Ref::Evidence { id, .. } => by_policy(state, world, &format!("ev:{id}")),
    }
}

fn by_policy(state: &State, world: &World<'_>, reference: &str) -> Decision {
    world.settings.policy.decide(&state.principal, reference)
}

fn unknown(reference: &Ref) -> Decision {
    deny("NOT_FOUND", format!("there is no {reference}"), "catalogue")
}

/// Whether `entry` may be seen and opened by `subject`.
pub(super) fn skill(
    state: &State,
    world: &World<'_>,
    entry: &SkillEntry,
    subject: Subject,
) -> Decision {
    let id = &entry.id;
    let file = || entry.path.to_string();
    let caller = Caller { principal: &state.principal, subject: Some(subject) };
    let by_rules = |id: &SkillId| {
        world.settings.policy.judge(caller, Action::Reference(&format!("skill:{id}")))
    };
    let mut verdict = by_rules(id);
    // A rule about a name holds for every skill that would have it.
    if let Some(shadowed) = world.snapshot.shadowed(id) {
        verdict = verdict.and(by_rules(&shadowed.by));
    }
    if let Some(altered) = &entry.altered {
        verdict = verdict.and(deny(&altered.code, altered.text.as_str(), file()));
    }
    match subject {
        Subject::User if !entry.user_invocable => {
            let text = format!("skill:{id} says `user-invocable: false`");
            verdict = verdict.and(deny("USER_DISABLED", text, file()));
        }
        Subject::User => {}
        Subject::Model => {
            if entry.model_disabled {
                let text = format!("skill:{id} says `disable-model-invocation: true`");
                verdict = verdict.and(deny("MODEL_DISABLED", text, file()));
            }
            if !entry.unreadable.is_empty() {
                let text = format!(
                    "in skill:{id} the key {} cannot be read, so the model does not see the skill",
                    entry.unreadable.join(", ")
                );
                verdict = verdict.and(deny("SECURITY_KEY_UNREADABLE", text, file()));
            }
            if !entry.is_described() {
                let text = format!("skill:{id} has no description to choose it by");
                verdict = verdict.and(deny("NO_DESCRIPTION", text, file()));
            }
            if !entry.trusted {
                let text = format!(
                    "skill:{id} comes with this workspace, and nobody has trusted it as it is now"
                );
                verdict = verdict.and(deny("UNTRUSTED", text, file()));
            }
            if !entry.paths.is_empty() && !state.activated.contains(id) {
                let text =
                    format!("skill:{id} waits for a file that matches {}", entry.paths.join(", "));
                verdict = verdict.and(deny("PATHS_NOT_TOUCHED", text, file()));
            }
            verdict = verdict.and(step_of_skill(state, world, id.as_str()));
            if let Some(pattern) = excluded(world, id) {
                let text = format!("skill:{id} is left out of the listing");
                let source = format!("settings, listing.exclude: `{pattern}`");
                verdict = verdict.and(deny("EXCLUDED", text, source));
            }
        }
    }
    verdict
}

/// Whether `entry` may be opened with these arguments, as far as rules speak of arguments.
pub(super) fn opening(
    state: &State,
    world: &World<'_>,
    entry: &SkillEntry,
    subject: Subject,
    arguments: &str,
) -> Decision {
    let caller = Caller { principal: &state.principal, subject: Some(subject) };
    let shadowed = world.snapshot.shadowed(&entry.id).map(|shadowed| &shadowed.by);
    let by_rules = |id: &SkillId| {
        world.settings.policy.judge(caller, Action::Skill { id: id.as_str(), arguments })
    };
    std::iter::once(&entry.id).chain(shadowed).map(by_rules).fold(Decision::allow(), Decision::and)
}

fn excluded<'a>(world: &'a World<'_>, id: &SkillId) -> Option<&'a Pattern> {
    world.settings.listing.exclude.iter().find(|pattern| pattern.matches(id.as_str()))
}

/// Whether the index lists `entry` to the model.
pub(super) fn is_listed(state: &State, world: &World<'_>, entry: &SkillEntry) -> bool {
    skill(state, world, entry, Subject::Model).effect != Effect::Deny
}

/// Whether `entry` may be seen and called: policy, grant, open skills and open categories together.
pub(super) fn tool(state: &State, world: &World<'_>, entry: &ToolEntry) -> Decision {
    judge(state, world, entry, closed_level(state, world, &entry.category))
}

/// Whether the commands in the text of `skill` may run, whoever opens it: they count as the tool
/// `name`, under the same policy and grant as any other, and an untrusted skill runs nothing.
pub(super) fn command(
    state: &State,
    world: &World<'_>,
    skill: &SkillId,
    name: &ToolName,
) -> Decision {
    let reference = format!("tool:{name}");
    let mut verdict = by_policy(state, world, &reference);
    if !world.settings.grant.covers(name) {
        let text = format!("this session was not given {reference}");
        verdict = verdict.and(deny("NOT_GRANTED", text, "grant"));
    }
    // A step that does not show them keeps them, too, from the text of a skill.
    verdict = verdict.and(step_of_tool(state, world, name, Danger::Writes));
    let entry = world.snapshot.skill(skill);
    if entry.is_some_and(|entry| !entry.trusted) {
        let text = format!(
            "skill:{skill} comes with this workspace, and nobody has trusted it as it is now"
        );
        verdict = verdict.and(deny("UNTRUSTED", text, format!("skill:{skill}")));
    }
    if let Some(altered) = entry.and_then(|entry| entry.altered.as_ref()) {
        let source = format!("skill:{skill}");
        verdict = verdict.and(deny(&altered.code, altered.text.as_str(), source));
    }
    verdict
}

fn judge(
    state: &State,
    world: &World<'_>,
    entry: &ToolEntry,
    closed_menu: Option<&str>,
) -> Decision {
    let name = &entry.name;
    let reference = format!("tool:{name}");
    let policy = &world.settings.policy;
    let mut verdict = by_policy(state, world, &reference);
    let source = || match &entry.server {
        Some(server) => format!("server {server}"),
        None => "concertina.toml".to_owned(),
    };
    if !entry.trusted {
        let text = format!(
            "{reference} comes with this workspace, and nobody has trusted it as it is now"
        );
        verdict = verdict.and(deny("UNTRUSTED", text, source()));
    }
    if let Some(why) = &entry.quarantined {
        let text = format!("{reference} is quarantined: {why}");
        verdict = verdict.and(deny("QUARANTINED", text, source()));
    }
    if !world.settings.grant.covers(name) {
        let text = format!("this session was not given {reference}");
        verdict = verdict.and(deny("NOT_GRANTED", text, "grant"));
    }
    if entry.danger == Danger::Destructive && !policy.names(&reference) {
        let text =
            format!("{reference} can destroy things and no rule allows it, or asks, by name");
        verdict = verdict.and(deny("DESTRUCTIVE_HIDDEN", text, "default"));
    }
    verdict = verdict.and(step_of_tool(state, world, &entry.name, entry.danger));
    if let Some(open) = state.open.iter().find(|open| open.forbids(name)) {
        let text = format!("skill:{} forbids {reference} while it is open", open.opened.id);
        verdict = verdict.and(deny("SKILL_FORBIDS", text, format!("skill:{}", open.opened.id)));
    }
    match &entry.needs_skill {
        NeedsSkill::No => {
            if let Some(menu) = closed_menu {
                let text = format!("{reference} is in menu:{menu}; open menu:{menu} first");
                verdict = verdict.and(deny("MENU_CLOSED", text, format!("menu:{menu}")));
            }
        }
        NeedsSkill::Any | NeedsSkill::OneOf(_) => {
            if !state.open.iter().any(|open| brings(world, open, entry)) {
                verdict = verdict.and(needs_skill(state, world, entry));
            }
        }
    }
    verdict
}

/// Why a person is asked before `entry` is called; nothing where nobody is.
pub fn asks(state: &State, world: &World<'_>, entry: &ToolEntry) -> Vec<Reason> {
    let verdict = tool(state, world, entry);
    let mut reasons: Vec<Reason> = Vec::new();
    if verdict.effect == Effect::Ask {
        reasons.extend(verdict.reasons.into_iter().filter(|reason| reason.code == "POLICY_ASKS"));
    }
    let mut confirmed = |operations: &[String], source: String| {
        if let Some(operation) = operations.iter().find(|operation| names(operation, entry)) {
            let text = format!("{source} asks before tool:{} (`confirm: {operation}`)", entry.name);
            reasons.push(Reason::new("CONFIRM", text, source));
        }
    };
    confirmed(&entry.permissions.confirm, format!("tool:{}", entry.name));
    for open in state.open.iter().filter(|open| open.claims(&entry.name)) {
        confirmed(&open.opened.permissions.confirm, format!("skill:{}", open.opened.id));
    }
    reasons
}

/// What rules say of a call of `entry` besides its name: of the command that it comes to, and of the paths
/// that it names.
pub fn by_rules(
    state: &State,
    world: &World<'_>,
    subject: Subject,
    entry: &ToolEntry,
    targets: &Targets,
) -> Decision {
    let caller = Caller { principal: &state.principal, subject: Some(subject) };
    let policy = &world.settings.policy;
    let command = (!targets.argv.is_empty()).then(|| Request::Run(targets.argv.clone()));
    let paths = targets.paths.iter().filter_map(|(_, real)| FilePath::new(real).ok());
    let of_paths = paths.flat_map(|path| {
        let write = (entry.danger != Danger::Safe).then(|| Request::Write(path.clone()));
        std::iter::once(Request::Read(path)).chain(write)
    });
    let requests = command.into_iter().chain(of_paths);
    requests
        .map(|request| policy.judge(caller, Action::Request(&request)))
        .fold(Decision::allow(), Decision::and)
}

/// Whether `operation`, as a `confirm` list has it, means calls of `tool`: `*`, what it does to the
/// world (`write`, `delete`, `execute`), its name as a pattern, or a word of its name.
fn names(operation: &str, tool: &ToolEntry) -> bool {
    let operation = operation.trim().to_lowercase();
    let name = tool.name.as_str();
    let does = match operation.as_str() {
        "*" => true,
        "write" | "writes" => tool.danger != Danger::Safe,
        "delete" | "destroy" | "destructive" => tool.danger == Danger::Destructive,
        "execute" => tool.runner == "exec" || tool.runner == COMMANDS,
        _ => false,
    };
    does || covers(std::slice::from_ref(&operation), &tool.name)
        || words(name).any(|word| word.eq_ignore_ascii_case(&operation))
}

/// The words of an identifier: `files`, `delete`, `all` for `files/deleteAll`.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let pieces = name.split(|c: char| !c.is_alphanumeric());
    pieces.flat_map(|piece| {
        let humps = piece.char_indices().zip(piece.chars().skip(1));
        let cuts = humps.filter_map(|((at, before), after)| {
            let is_hump = before.is_lowercase() && after.is_uppercase();
            is_hump.then(|| at + before.len_utf8())
        });
        let cuts: Vec<usize> = cuts.chain([piece.len()]).collect();
        cuts.into_iter().scan(0, move |from, to| {
            let word = piece.get(*from..to);
            *from = to;
            word
        })
    })
}

fn needs_skill(state: &State, world: &World<'_>, entry: &ToolEntry) -> Decision {
    let name = &entry.name;
    // Skills the model may not see are not named to it.
    let claimants: Vec<String> = world
        .snapshot
        .skills
        .iter()
        .filter(|skill| accepts(&entry.needs_skill, &skill.id) && covers(&skill.claims, name))
        // One that runs apart brings its tools to its own session, not here.
        .filter(|skill| skill.context == OpenMode::Inline)
        .filter(|skill| is_listed(state, world, skill))
        .map(|skill| format!("skill:{}", skill.id))
        .take(5)
        .collect();
    let text = match claimants.as_slice() {
        [] => {
            format!("tool:{name} appears only with a skill that claims it, and none is available")
        }
        [one] => format!("tool:{name} appears only while {one} is open; open it first"),
        many => format!(
            "tool:{name} appears only while one of {} is open; open one first",
            many.join(", ")
        ),
    };
    deny("SKILL_NOT_OPEN", text, format!("tool:{name}"))
}

/// Whether `entry` appears with `open` and leaves with it.
///
/// A person may read a skill that nobody has trusted; it unlocks nothing for the model.
pub(super) fn brings(world: &World<'_>, open: &OpenSkill, entry: &ToolEntry) -> bool {
    let known = world.snapshot.skill(&open.opened.id);
    entry.needs_skill != NeedsSkill::No
        && known.is_none_or(SkillEntry::is_sound)
        && accepts(&entry.needs_skill, &open.opened.id)
        && open.claims(&entry.name)
}

fn accepts(needs: &NeedsSkill, id: &SkillId) -> bool {
    match needs {
        NeedsSkill::No | NeedsSkill::Any => true,
        NeedsSkill::OneOf(skills) => skills.iter().any(|skill| skill == id.as_str()),
    }
}

/// Whether one of `patterns` covers `tool`. A pattern that cannot be read covers nothing.
fn covers(patterns: &[String], tool: &ToolName) -> bool {
    patterns.iter().any(|text| {
        text == tool.as_str()
            || Pattern::new(text).is_ok_and(|pattern| pattern.matches(tool.as_str()))
    })
}

/// The first level of `category` that is not open; none where its tools can be seen. `a/b` stands
/// inside `a`: both have to be open.
fn closed_level<'a>(state: &State, world: &World<'_>, category: &'a str) -> Option<&'a str> {
    if category.is_empty() || is_direct(world) {
        return None;
    }
    levels(category).find(|level| !state.menus.contains(*level))
}

/// `a`, `a/b` and `a/b/c` for `a/b/c`.
pub(super) fn levels(category: &str) -> impl Iterator<Item = &str> {
    category
        .match_indices('/')
        .filter_map(|(at, _)| category.get(..at))
        .chain(std::iter::once(category))
        .filter(|level| !level.is_empty())
}

/// Whether the catalogue is so small that its tools are shown without menus.
pub(super) fn is_direct(world: &World<'_>) -> bool {
    let snapshot = world.snapshot;
    snapshot.tools.len() <= limits::DIRECT_TOOLS
        && snapshot.tool_tokens.0.saturating_mul(10) <= world.settings.window
}

/// The skills that `subject` may open, by name.
pub fn visible_skills<'a>(
    state: &State,
    world: &World<'a>,
    subject: Subject,
) -> impl Iterator<Item = &'a SkillEntry> {
    let shown =
        move |entry: &&SkillEntry| skill(state, world, entry, subject).effect != Effect::Deny;
    world.snapshot.skills.iter().filter(shown)
}

/// The tools that may be called now, by name.
pub fn visible_tools<'a>(state: &'a State, world: &World<'a>) -> Vec<&'a ToolEntry> {
    let shown = |entry: &&ToolEntry| tool(state, world, entry).effect != Effect::Deny;
    let all = world.snapshot.tools.iter().map(AsRef::as_ref).chain(open_commands(state, world));
    let mut visible: Vec<&ToolEntry> = all.filter(shown).collect();
    visible.sort_by(|a, b| a.name.cmp(&b.name));
    visible.dedup_by(|a, b| a.name == b.name);
    visible
}

/// The categories that can be opened next, with the number of tools inside.
pub fn menus<'a>(
    state: &State,
    world: &World<'a>,
) -> BTreeMap<&'a str, (Option<&'a Category>, usize)> {
    let mut menus: BTreeMap<&str, (Option<&Category>, usize)> = BTreeMap::new();
    for entry in world.snapshot.tools.iter().filter(|entry| entry.needs_skill == NeedsSkill::No) {
        let Some(level) = closed_level(state, world, &entry.category) else { continue };
        if is_foldable(state, world, entry) {
            let category = world.snapshot.categories.get(level);
            menus.entry(level).or_insert((category, 0)).1 += 1;
        }
    }
    menus
}

/// Whether some tool that may be seen sits in `menu` or below it.
pub(super) fn has_menu(state: &State, world: &World<'_>, menu: &str) -> bool {
    world.snapshot.tools.iter().any(|entry| {
        levels(&entry.category).any(|level| level == menu) && is_foldable(state, world, entry)
    })
}

/// Whether nothing hides `entry` but perhaps a closed menu.
pub(super) fn is_foldable(state: &State, world: &World<'_>, entry: &ToolEntry) -> bool {
    judge(state, world, entry, None).effect != Effect::Deny
}
