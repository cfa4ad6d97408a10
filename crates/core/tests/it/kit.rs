//! What tests are told with: skills, tools, a clock, and a bench that applies commands.

use std::collections::BTreeSet;
use std::sync::Arc;

use concertina_core::catalog::{
    Danger, Loaded, NeedsSkill, Scope, SkillEntry, Snapshot, ToolEntry,
};
use concertina_core::procedure::Machine;
use concertina_core::session::{
    Command, Decision, Intent, Origin, PreparedSkill, Settings, Shelf, State, View, World, decide,
    evolve, project,
};
use concertina_types::{
    Blob, Digest, Event, Fact, KeyId, ModelCall, Notary, OpenMode, Permissions, Redactor, Ref,
    Separation, SessionId, SessionMode, SkillId, Timestamp, Tokens, ToolName,
};
use serde_json::{Value, json};

/// One token for every four bytes begun: close to real ones for English, and easy to check.
pub(crate) fn count(text: &str) -> Tokens {
    Tokens(text.len().div_ceil(4) as u64)
}

pub(crate) fn skill_id(text: &str) -> SkillId {
    SkillId::new(text).unwrap()
}

pub(crate) fn tool_name(text: &str) -> ToolName {
    ToolName::new(text).unwrap()
}

pub(crate) fn skill(id: &str, description: &str) -> SkillEntry {
    SkillEntry {
        id: skill_id(id),
        scope: Scope::Project,
        loaded_from: Loaded::Skills,
        path: format!("skills/{id}/SKILL.md").into(),
        also_at: Vec::new(),
        description: Some(description.into()),
        derived: false,
        when_to_use: None,
        not_for: Vec::new(),
        tags: Vec::new(),
        examples: Vec::new(),
        parameters: Vec::new(),
        version: None,
        argument_hint: None,
        claims: Vec::new(),
        runs: false,
        context: OpenMode::Inline,
        paths: Vec::new(),
        requires: Vec::new(),
        model_disabled: false,
        user_invocable: true,
        unreadable: Vec::new(),
        trusted: true,
        altered: None,
        bytes: 100,
        head: Digest::of(description.as_bytes()),
        findings: 0,
    }
}

pub(crate) fn tool(name: &str) -> ToolEntry {
    ToolEntry {
        name: tool_name(name),
        title: None,
        description: format!("Does {name}."),
        parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}}).into(),
        output: None,
        category: String::new(),
        danger: Danger::Safe,
        needs_skill: NeedsSkill::No,
        trusted: true,
        quarantined: None,
        runner: "exec".into(),
        server: None,
        permissions: Permissions::default(),
        unstated: false,
        digest: Digest::of(name.as_bytes()),
    }
}

pub(crate) fn snapshot(mut skills: Vec<SkillEntry>, mut tools: Vec<ToolEntry>) -> Snapshot {
    skills.sort_by(|a, b| a.id.cmp(&b.id));
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let tool_tokens = tools.iter().map(|tool| count(tool.parameters.text())).sum();
    Snapshot {
        skills,
        tools: tools.into_iter().map(Arc::new).collect(),
        tool_tokens,
        ..Snapshot::default()
    }
}

/// A notary whose signature says what it signed.
pub(crate) struct Seal;

impl Notary for Seal {
    fn key(&self) -> KeyId {
        KeyId::of(&[1; 32])
    }

    fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        let digest = Digest::of(bytes);
        let mut signature = [0; 64];
        for (byte, of) in signature.iter_mut().zip(digest.as_bytes().iter().cycle()) {
            *byte = *of;
        }
        signature
    }

    fn separation(&self) -> Separation {
        Separation::SameUid
    }
}

/// A session with its log, its texts and its clock.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) settings: Settings,
    pub(crate) snapshot: Snapshot,
    listed: Option<Snapshot>,
    pub(crate) state: State,
    pub(crate) log: Vec<Event>,
    pub(crate) shelf: Shelf,
    /// Every text that was kept, in order.
    pub(crate) kept: Vec<String>,
    pub(crate) redactor: Redactor,
    pub(crate) now: i64,
    /// Actions that were agreed to in an earlier session.
    pub(crate) standing: BTreeSet<Digest>,
    /// The procedures that are followed.
    pub(crate) machines: Vec<Machine>,
    calls: u64,
}

impl Bench {
    pub(crate) fn new(settings: Settings, snapshot: Snapshot) -> Self {
        Self::begun(settings, snapshot, SessionMode::Owned)
    }

    /// A session whose context somebody else composes.
    pub(crate) fn blind(skills: Vec<SkillEntry>, tools: Vec<ToolEntry>) -> Self {
        Self::begun(Settings::default(), snapshot(skills, tools), SessionMode::Blind)
    }

    fn begun(settings: Settings, snapshot: Snapshot, mode: SessionMode) -> Self {
        let mut bench = Self {
            settings,
            snapshot,
            listed: None,
            state: State::default(),
            log: Vec::new(),
            shelf: Shelf::default(),
            kept: Vec::new(),
            redactor: Redactor::new([3; 32]),
            now: 1_000,
            standing: BTreeSet::new(),
            machines: Vec::new(),
            calls: 0,
        };
        let settings = serde_json::to_string(&bench.settings).unwrap();
        bench.apply(Command::Start { principal: "ann".into(), parent: None, mode, settings });
        bench.index();
        bench
    }

    pub(crate) fn of(skills: Vec<SkillEntry>, tools: Vec<ToolEntry>) -> Self {
        Self::new(Settings::default(), snapshot(skills, tools))
    }

    fn index(&mut self) {
        let text = serde_json::to_string(&self.snapshot).unwrap();
        let snapshot = Blob::of(&text);
        self.shelf.put(text);
        self.apply(Command::Index { snapshot });
    }

    /// Another catalogue is found on the disk.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Snapshot)) {
        change(&mut self.snapshot);
        self.index();
    }

    pub(crate) fn decide(&mut self, command: Command) -> Decision {
        self.now += 1;
        let world = World {
            settings: &self.settings,
            snapshot: &self.snapshot,
            listed: self.listed.as_ref(),
            standing: &self.standing,
            machines: &self.machines,
            notary: Some(&Seal),
            now: None,
            counter: &count,
            redactor: &self.redactor,
        };
        decide(&self.state, &world, Timestamp(self.now), command)
    }

    /// Decides, seals, keeps and evolves.
    pub(crate) fn apply(&mut self, command: Command) -> Decision {
        let decision = self.decide(command);
        self.record(&decision);
        decision
    }

    pub(crate) fn record(&mut self, decision: &Decision) {
        for text in &decision.content {
            self.shelf.put(text.as_str());
            self.kept.push(text.clone());
        }
        let session = SessionId::new("s-1").unwrap();
        for draft in &decision.drafts {
            let event = draft.clone().seal(&session, self.log.last());
            self.state = evolve(std::mem::take(&mut self.state), &event);
            if matches!(event.fact, Fact::ListingDisclosed { .. }) {
                self.listed = Some(self.snapshot.clone());
            }
            self.log.push(event);
        }
        if self.state.listed.is_none() {
            self.listed = None;
        }
    }

    /// Another process takes the session over: all it has is the log.
    pub(crate) fn resume(&mut self) {
        self.state = fold(&self.log);
    }

    pub(crate) fn view(&self) -> View {
        let world = World {
            settings: &self.settings,
            snapshot: &self.snapshot,
            listed: self.listed.as_ref(),
            standing: &self.standing,
            machines: &self.machines,
            notary: Some(&Seal),
            now: None,
            counter: &count,
            redactor: &self.redactor,
        };
        project(&self.state, &world, &self.shelf)
    }

    pub(crate) fn turn(&mut self) -> Vec<Fact> {
        let decision = self.apply(Command::Turn);
        decision.drafts.into_iter().map(|draft| draft.fact).collect()
    }

    /// The text of the listing that a new turn shows; empty where it shows none.
    pub(crate) fn disclosed(&mut self) -> String {
        let text = |fact: &Fact| match fact {
            Fact::ListingDisclosed { text, .. } => Some(text.digest),
            _ => None,
        };
        let digest = self.turn().iter().find_map(text);
        digest.map_or(String::new(), |digest| self.shelf.get(&digest).unwrap().to_string())
    }

    /// The model says something and makes one call; this is its origin.
    pub(crate) fn asks(&mut self, name: &str) -> Origin {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.says(
            "",
            vec![ModelCall { id: id.clone(), name: name.into(), arguments: "{}".into() }],
        );
        Origin::model(id)
    }

    pub(crate) fn says(&mut self, text: &str, calls: Vec<ModelCall>) {
        let fact =
            Fact::ModelReplied { text: Blob::of(text), tokens: count(text), calls, usage: None };
        self.apply(Command::Observe(Box::new(fact), vec![text.to_owned()]));
    }

    pub(crate) fn open(&mut self, id: &str) -> Decision {
        let origin = self.asks("open");
        let skill = Box::new(self.prepared(id));
        self.apply(Command::OpenSkill { origin, skill, can_fork: true, held: None })
    }

    pub(crate) fn open_by_hand(&mut self, id: &str) -> Decision {
        let skill = Box::new(self.prepared(id));
        self.apply(Command::OpenSkill { origin: Origin::user(), skill, can_fork: true, held: None })
    }

    /// The skill as it would be read from its file.
    pub(crate) fn prepared(&self, id: &str) -> PreparedSkill {
        let entry = self.snapshot.skill(&skill_id(id));
        PreparedSkill {
            id: skill_id(id),
            digest: entry.map_or(Digest::of(b""), |entry| entry.head),
            content: None,
            version: None,
            mode: entry.map_or(OpenMode::Inline, |entry| entry.context),
            arguments: String::new(),
            text: format!("Instructions of {id}.\n"),
            tools: entry.map_or(Vec::new(), |entry| entry.claims.clone()),
            disallowed_tools: Vec::new(),
            allowed_tools: Vec::new(),
            permissions: Permissions::default(),
            bound: std::collections::BTreeMap::new(),
            knowledge: Vec::new(),
            model: None,
            effort: None,
            hooks: Vec::new(),
            substitutions: Vec::new(),
            commands: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    pub(crate) fn menu(&mut self, menu: &str) -> Decision {
        let origin = self.asks("open");
        self.apply(Command::OpenMenu { origin, menu: menu.into() })
    }

    pub(crate) fn close(&mut self, reference: &str) -> Decision {
        let origin = self.asks("close");
        let reference: Ref = reference.parse().unwrap();
        self.apply(Command::Close { origin, reference })
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (Origin, Decision) {
        let origin = self.asks("call");
        let command = Command::Call {
            origin: origin.clone(),
            tool: tool_name(tool),
            arguments,
            targets: concertina_core::session::Targets::default(),
        };
        let decision = self.apply(command);
        (origin, decision)
    }

    /// Calls a tool and takes note of its output.
    pub(crate) fn run(&mut self, tool: &str, output: &str) -> Decision {
        let (origin, mut decision) = self.call(tool, json!({}));
        let ticket = intent(&mut decision).admit(&self.log).unwrap();
        let outcome =
            concertina_types::CallOutcome::Done { exit: 0, output: Blob::of(output), dropped: 0 };
        let output = output.to_owned();
        self.apply(Command::Done {
            origin,
            id: ticket.id(),
            outcome,
            output,
            held: concertina_core::session::Held::default(),
        })
    }

    /// The names of the tools that a call would be admitted for, found by trying each.
    pub(crate) fn callable(&mut self) -> BTreeSet<String> {
        let names: Vec<ToolName> =
            self.snapshot.tools.iter().map(|tool| tool.name.clone()).collect();
        names
            .into_iter()
            .filter(|tool| {
                let command = Command::Call {
                    origin: Origin::user(),
                    tool: tool.clone(),
                    arguments: Value::Null,
                    targets: concertina_core::session::Targets::default(),
                };
                self.decide(command).intent.is_some()
            })
            .map(|tool| tool.to_string())
            .collect()
    }
}

pub(crate) fn intent(decision: &mut Decision) -> Intent {
    decision.intent.take().expect("the call is admitted")
}

pub(crate) fn fold(log: &[Event]) -> State {
    log.iter().fold(State::default(), evolve)
}

/// The code with which a request was refused; empty where it was not.
pub(crate) fn code(decision: &Decision) -> &str {
    let unanswered = decision.ask.as_ref().map(|ask| &ask.otherwise);
    decision.refusal.as_ref().or(unanswered).map_or("", |refusal| refusal.code.as_str())
}

pub(crate) fn answer(decision: &Decision) -> &str {
    decision.answer.as_ref().map_or("", |answer| answer.text.as_str())
}
