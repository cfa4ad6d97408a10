//! Skills unfolded, and parts of things shown.

use concertina_types::{
    Blob, Disclosed, DisclosureKind, Fact, LineRange, OpenMode, OpenedSkill, Permissions, Ref,
    SessionMode, SkillId, Subject, limits,
};

use super::super::access::access_of_skill;
use super::super::answer::Refusal;
use super::super::approval::Action;
use super::super::command::{Origin, Shown};
use super::super::skill::PreparedSkill;
use super::super::state::OpenSkill;
use super::super::task::step_of_evidence;
use super::super::visibility::{self, brings, visible_tools};
use super::consent::Consent;
use super::draft::{Deciding, actor};
use crate::catalog::search::nearest_names;
use crate::catalog::{SkillEntry, ToolEntry, listing};
use crate::context::{Excerpt, SizeClass, block, disarm, excerpt, excerpt_within};
use crate::policy::{Decision, Effect, Reason};
use crate::procedure;

/// What is set aside for the words before a skill's text, in bytes.
const NOTES_BYTES: usize = 1_000;

impl<'a> Deciding<'a> {
    pub(super) fn open_skill(
        &mut self,
        origin: &Origin,
        mut skill: Box<PreparedSkill>,
        can_fork: bool,
        held: Option<&str>,
    ) {
        let request = format!("open skill:{}", skill.id);
        match self.openable(origin, &skill.id, &skill.arguments) {
            // A skill has one id, also where a qualified one asked for it.
            Ok(entry) => skill.id = entry.id.clone(),
            Err(refusal) => {
                let refusal = refusal.of_skill(&skill.id);
                return self.refuse(origin, request, refusal);
            }
        }
        let approval = match self.may_unfold(origin, &skill) {
            Consent::Given(id) => Some(id),
            Consent::None => None,
            Consent::Asked => return,
            Consent::Refused(refusal) => {
                let refusal = refusal.of_skill(&skill.id);
                return self.refuse(origin, request, refusal);
            }
        };
        // Before it is cut into pages: half a secret is not recognised.
        skill.text = self.redacted(skill.text);
        match skill.mode {
            OpenMode::Inline => self.open_inline(origin, &skill, held, approval),
            OpenMode::Fork | OpenMode::Delegate if can_fork => self.fork(origin, request, skill),
            OpenMode::Fork | OpenMode::Delegate => self.delegate(origin, &skill),
        }
    }

    /// Asks a person whether a skill may be opened, where it needs that. Whatever else stands against it is
    /// said when it is opened.
    pub(super) fn may_open(&mut self, origin: &Origin, skill: &PreparedSkill) {
        if self.openable(origin, &skill.id, &skill.arguments).is_ok()
            && let Consent::Refused(refusal) = self.may_unfold(origin, skill)
        {
            self.refuse(origin, format!("open skill:{}", skill.id), refusal);
        }
    }

    /// Whether a person has to agree before a skill is opened, and has: because a rule says so, or because
    /// the model asks for one that could change something. What only reads is opened without a question.
    /// Nobody is asked about a declaration that cannot be used.
    fn may_unfold(&mut self, origin: &Origin, skill: &PreparedSkill) -> Consent {
        let Some(entry) = self.world.snapshot.skill(&skill.id) else { return Consent::None };
        let source = format!("skill:{}", entry.id);
        if let Err(refusal) = access_of_skill(self.world.settings, &skill.permissions, &source) {
            return Consent::Refused(refusal);
        }
        // It was let in by the session that forked this one.
        if self.world.settings.forked_from.contains(&entry.id) {
            return Consent::None;
        }
        let (state, world, subject) = (self.state, self.world, origin.subject);
        let opening = visibility::opening(state, world, entry, subject, &skill.arguments);
        let verdict = visibility::skill(state, world, entry, subject).and(opening);
        // A rule that allows it has answered the question.
        let is_allowed = verdict.effect == Effect::Allow
            && verdict.reasons.iter().any(|reason| reason.code == "POLICY_ALLOWS");
        let ruled = verdict.reasons.into_iter().next().filter(|_| verdict.effect == Effect::Ask);
        let risks = risks(skill);
        let asks = origin.subject == Subject::Model && !is_allowed && !risks.is_empty();
        let risky = asks.then(|| {
            let text = format!("skill:{} could do more than read: {}", entry.id, risks.join("; "));
            Reason::new("RISKY_SKILL", text, entry.path.to_string())
        });
        let Some(why) = ruled.or(risky) else { return Consent::None };
        let mut details = vec![("content".to_owned(), skill.digest.to_string())];
        if !skill.arguments.is_empty() {
            details.push(("with".to_owned(), skill.arguments.clone()));
        }
        details.extend(risks.into_iter().map(|risk| ("could".to_owned(), risk)));
        details.extend(means(skill).map(|means| ("needs".to_owned(), means)));
        let request = format!("open skill:{}", entry.id);
        let action = Action { request, details, phrase: None };
        let text = format!("{}; the skill stays closed", why.text);
        let otherwise =
            Refusal::new("APPROVAL_NEEDED", text).by(why.source.as_str()).of_skill(&entry.id);
        self.consent(origin, &action, &why, otherwise)
    }

    /// The entry of a skill that may be opened with `arguments` now, or why it may not. Whoever looks into it
    /// reads what it says without any.
    pub(super) fn openable(
        &self,
        origin: &Origin,
        id: &SkillId,
        arguments: &str,
    ) -> Result<&'a SkillEntry, Refusal> {
        let Some(entry) = self.world.snapshot.skill(id) else {
            return Err(self.unknown_skill(id, origin.subject));
        };
        let verdict = visibility::skill(self.state, self.world, entry, origin.subject);
        not_denied(verdict)?;
        let (state, world) = (self.state, self.world);
        not_denied(visibility::opening(state, world, entry, origin.subject, arguments))?;
        // A skill that runs apart was let in by the session that forked this one.
        if self.world.settings.forked_from.contains(&entry.id) {
            return Ok(entry);
        }
        // Names are taken as ids, so that a qualified one means the same skill.
        let known =
            |name: &str| SkillId::new(name).ok().and_then(|id| self.world.snapshot.skill(&id));
        let requires = |name: &str| -> Vec<String> {
            let needs = known(name).map(|entry| entry.requires.as_slice()).unwrap_or_default();
            needs
                .iter()
                .map(|need| known(need).map_or(need.clone(), |entry| entry.id.to_string()))
                .collect()
        };
        let used = |name: &str| self.state.used.keys().any(|used| used.as_str() == name);
        match procedure::missing(entry.id.as_str(), &requires, &used) {
            Err(cycle) => Err(Refusal::new("REQUIRES_CYCLE", cycle.to_string())),
            Ok(missing) if !missing.is_empty() => {
                let missing: Vec<String> =
                    missing.iter().map(|name| format!("skill:{name}")).collect();
                let text =
                    format!("skill:{id} comes after {}; open that first", missing.join(", then "));
                Err(Refusal::new("REQUIRES_FIRST", text))
            }
            Ok(_) => Ok(entry),
        }
    }

    fn unknown_skill(&self, id: &SkillId, subject: Subject) -> Refusal {
        let visible = self.world.snapshot.skills.iter().filter(|entry| {
            visibility::skill(self.state, self.world, entry, subject).effect != Effect::Deny
        });
        let near = nearest_names(id.as_str(), visible.map(|entry| entry.id.as_str()), 5);
        let names: Vec<String> = near.into_iter().map(|name| format!("skill:{name}")).collect();
        let hint = match names.as_slice() {
            [] => "use find to search for one".to_owned(),
            names => format!("the nearest are {}", names.join(", ")),
        };
        Refusal::new("NOT_FOUND", format!("there is no skill:{id}; {hint}"))
    }

    fn open_inline(
        &mut self,
        origin: &Origin,
        skill: &PreparedSkill,
        held: Option<&str>,
        approval: Option<String>,
    ) {
        let id = &skill.id;
        let reference = Ref::skill(id.clone());
        let mut opened = OpenedSkill { by: origin.subject, approval, ..skill.opened() };
        let mut after = self.state.without(id);
        let evicted =
            (after.open.len() >= limits::OPEN_SKILLS).then(|| after.open.remove(0).opened.id);
        let open = OpenSkill::new(opened.clone(), self.state.seq + 1);
        after.open.push(open.clone());
        // The tools that come and go with it, whatever else is open: the text stays the same.
        let tools: Vec<&ToolEntry> = visible_tools(&after, self.world)
            .into_iter()
            .filter(|tool| brings(self.world, &open, tool))
            .collect();
        let shown = self.redacted(self.skill_text(skill, &tools));
        let known = self.state.opened(id);
        let is_held = match self.state.mode {
            SessionMode::Owned => true,
            SessionMode::Blind => held.is_some_and(|held| skill.digest.is_abbreviated(held)),
        };
        let is_same = |known: &OpenSkill| {
            known.opened.text == Blob::of(&shown) && known.opened.content == skill.content
        };
        if is_held && known.is_some_and(is_same) {
            let text = format!("{reference} is already open, unchanged; its text stands above.");
            return self.answer(origin, disarm(&text), false, Vec::new());
        }
        let mut notes = Vec::new();
        // What is out of the ordinary comes first: clients cut what comes last.
        if let Some(oldest) = evicted {
            notes.push(format!(
                "skill:{oldest} was closed to make room; open it again when it is needed."
            ));
            self.fact(actor(origin), Fact::SkillClosed { id: oldest });
        }
        if known.is_some_and(|known| known.opened.digest != skill.digest) {
            notes.push("It changed since it was last opened.".to_owned());
        }
        opened.tokens = self.world.counter.count(&shown);
        opened.text = self.keep(shown.clone());
        let tokens = opened.tokens;
        self.fact(actor(origin), Fact::SkillOpened(Box::new(opened)));
        notes.push(format!("Opened {reference} ({tokens} tokens); its text follows."));
        if !tools.is_empty() {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            notes.push(format!("Callable now: {}.", listing::some(&names)));
        }
        let mut disclosed = vec![Disclosed { reference, kind: DisclosureKind::Skill, tokens }];
        disclosed.extend(tools.iter().map(|tool| Disclosed {
            reference: Ref::Tool(tool.name.clone()),
            kind: DisclosureKind::Tool,
            tokens: self.world.counter.count(&tool.definition()),
        }));
        let notes = disarm(&notes.join(" "));
        let text = match self.state.mode {
            // The text itself stands in the context, not in the answer.
            SessionMode::Owned => notes,
            SessionMode::Blind => format!("{notes}\n{shown}"),
        };
        self.answer(origin, text, false, disclosed);
    }

    /// The text of a skill as the model sees it: instructions, the tools it brings, its files.
    fn skill_text(&self, skill: &PreparedSkill, tools: &[&ToolEntry]) -> String {
        let reference = Ref::skill(skill.id.clone());
        let mut rest = String::new();
        if !tools.is_empty() {
            let definitions: Vec<String> = tools.iter().map(|tool| tool.definition()).collect();
            let mut definitions = definitions.join("\n");
            // Where the text stands in one answer, there is room for it before there is for these.
            if self.state.mode == SessionMode::Blind && definitions.len() > limits::RESULT_BYTES / 3
            {
                let names: Vec<String> =
                    tools.iter().map(|tool| Ref::Tool(tool.name.clone()).to_string()).collect();
                definitions = format!("open one for its arguments: {}", names.join(", "));
            }
            rest.push('\n');
            let from = reference.to_string();
            rest.push_str(&block("tools", &[("from", &from)], &definitions));
        }
        let files: Vec<String> = skill
            .knowledge
            .iter()
            .map(|path| {
                Ref::Skill { id: skill.id.clone(), part: Some(path.clone()), lines: None }
                    .to_string()
            })
            .collect();
        if !files.is_empty() {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            rest.push_str("\nMore, when needed: ");
            rest.push_str(&disarm(&listing::some(&files)));
        }
        let digest = skill.digest.short();
        let whole = |page: &Excerpt<'_>| {
            let mut attributes = vec![("name", skill.id.as_str()), ("digest", digest.as_str())];
            if let Some(version) = &skill.version {
                attributes.push(("version", version));
            }
            let lines = page.next().map(|next| {
                (
                    format!("1-{} of {}", page.lines.last, page.total),
                    at_lines(&reference, next).to_string(),
                )
            });
            if let Some((shown, next)) = &lines {
                attributes.push(("lines", shown));
                attributes.push(("next", next));
            }
            block("skill", &attributes, page.text)
        };
        let tokens = self.world.counter.count(&skill.text);
        let large = SizeClass::of(tokens, self.world.settings.window) == SizeClass::Large;
        // A large skill is paged; every page says what it is a part of.
        let text = match self.state.mode {
            SessionMode::Blind => {
                let room = limits::RESULT_BYTES.saturating_sub(rest.len() + NOTES_BYTES);
                excerpt_within(&skill.text, None, room, whole)
            }
            SessionMode::Owned if large => {
                whole(&excerpt(&skill.text, None, 4 * limits::RESULT_BYTES))
            }
            SessionMode::Owned => whole(&excerpt(&skill.text, None, usize::MAX)),
        };
        text + &rest
    }

    pub(super) fn show(&mut self, origin: &Origin, shown: Shown) {
        let Shown { reference, kind, text, lines } = shown;
        let request = format!("open {reference}");
        if let Err(refusal) = self.showable(origin, &reference) {
            let refusal = match &reference {
                Ref::Skill { id, .. } => refusal.of_skill(id),
                _ => refusal,
            };
            return self.refuse(origin, request, refusal);
        }
        let text = self.redacted(text);
        let room = self.room(&reference);
        let page = excerpt(&text, lines, room);
        if page.text.is_empty() && lines.is_some() {
            let text = format!("{reference} has {} lines; ask for some of those", page.total);
            return self.refuse(origin, request, Refusal::new("NO_SUCH_LINES", text));
        }
        let name = reference.to_string();
        let text = excerpt_within(&text, lines, room, |page| {
            let range = format!("{}-{} of {}", page.lines.first, page.lines.last, page.total);
            let next = page.next().map(|next| at_lines(&reference, next).to_string());
            let mut attributes = vec![("ref", name.as_str())];
            if !page.is_whole() {
                attributes.push(("lines", range.as_str()));
            }
            if let Some(next) = &next {
                attributes.push(("next", next));
            }
            block("part", &attributes, page.text)
        });
        let tokens = self.world.counter.count(&text);
        let disclosed = vec![Disclosed { reference, kind, tokens }];
        self.answer(origin, text, false, disclosed);
    }

    /// How many bytes of `reference` are shown at once: a fragment, where the step of a procedure shows no more.
    fn room(&self, reference: &Ref) -> usize {
        match reference {
            Ref::Evidence { id, .. } if step_of_evidence(self.state, self.world, *id) < 3 => {
                limits::FRAGMENT_BYTES
            }
            _ => limits::RESULT_BYTES,
        }
    }

    /// Whether a part of `reference` may be shown. A part of a skill may where the skill may.
    fn showable(&self, origin: &Origin, reference: &Ref) -> Result<(), Refusal> {
        if let Ref::Skill { id, .. } = reference {
            return match self.world.snapshot.skill(id) {
                Some(entry) if self.state.opened(&entry.id).is_some() => Ok(()),
                _ => {
                    let entry = self.openable(origin, id, "")?;
                    let (state, world, subject) = (self.state, self.world, origin.subject);
                    let opening = visibility::opening(state, world, entry, subject, "");
                    let verdict = visibility::skill(state, world, entry, subject).and(opening);
                    permitted(verdict, "open the whole of it first, which asks")
                }
            };
        }
        let verdict = visibility::decision(self.state, self.world, reference, origin.subject);
        permitted(verdict, "so it is not shown")
    }
}

/// What a skill reads and calls, in words.
fn means(skill: &PreparedSkill) -> impl Iterator<Item = String> {
    let Permissions { read, tools, .. } = &skill.permissions;
    let paths = read.iter().flat_map(|scope| &scope.paths).map(|path| format!("to read {path}"));
    paths.chain(tools.iter().map(|tool| format!("to call {tool}")))
}

/// What a skill could do besides reading and calling tools, in words. Its tools have their own rules.
fn risks(skill: &PreparedSkill) -> Vec<String> {
    let Permissions { write, network, execute, .. } = &skill.permissions;
    let paths = write.iter().flat_map(|scope| &scope.paths).map(|path| format!("write {path}"));
    let hosts = network.iter().flat_map(|scope| {
        let methods = match scope.methods.as_slice() {
            [] => String::new(),
            methods => format!(" ({})", methods.join(", ")),
        };
        scope.domains.iter().map(move |domain| format!("reach {domain}{methods}"))
    });
    let runs = execute.iter().map(|command| format!("run {command}"));
    paths.chain(hosts).chain(runs).collect()
}

/// Nothing, unless the verdict denies; then why.
fn not_denied(verdict: Decision) -> Result<(), Refusal> {
    match verdict.effect {
        Effect::Allow | Effect::Ask => Ok(()),
        Effect::Deny => permitted(verdict, ""),
    }
}

/// Nothing, where the verdict allows; else why not. `outcome` says what to do where a person would
/// have to agree.
fn permitted(verdict: Decision, outcome: &str) -> Result<(), Refusal> {
    let effect = verdict.effect;
    match (effect, verdict.reasons.into_iter().next()) {
        (Effect::Allow, _) => Ok(()),
        (Effect::Ask, Some(Reason { text, source, .. })) => {
            let text = format!("{text}; {outcome}");
            Err(Refusal::new("APPROVAL_NEEDED", text).by(source))
        }
        (Effect::Ask, None) => {
            let text = format!("a rule asks; {outcome}");
            Err(Refusal::new("APPROVAL_NEEDED", text))
        }
        (Effect::Deny, Some(reason)) => Err(Refusal::because(&reason)),
        (Effect::Deny, None) => Err(Refusal::new("NOT_VISIBLE", "it is not visible")),
    }
}

fn at_lines(reference: &Ref, range: LineRange) -> Ref {
    let mut reference = reference.clone();
    match &mut reference {
        Ref::Skill { lines, .. } | Ref::File { lines, .. } | Ref::Evidence { lines, .. } => {
            *lines = Some(range);
        }
        Ref::Menu(_) | Ref::Tool(_) | Ref::Dir(_) => {}
    }
    reference
}
