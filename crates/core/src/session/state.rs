//! The state of a session: a fold of its events and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use concertina_types::{
    Blob, CallId, Digest, Event, ModelCall, OpenedSkill, Ref, SessionId, SessionMode, SkillId,
    Timestamp, Tokens, ToolName,
};

use super::approval::Approval;
use super::commands::tool_of;
use super::view::Part;
use crate::catalog::ToolEntry;
use crate::policy::Pattern;
use crate::procedure::Run;

/// A skill that is open: its text, tools, hooks and permissions are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSkill {
    /// What came into force.
    pub opened: OpenedSkill,
    /// The event that opened it.
    pub seq: u64,
    /// The tools it claims. A pattern that cannot be read claims nothing.
    claims: Vec<Pattern>,
    /// The tools it forbids; none where one of the patterns cannot be read, and then it is all.
    forbids: Option<Vec<Pattern>>,
    /// The tool that runs the commands it declares, where it declares some.
    commands: Option<Arc<ToolEntry>>,
}

impl OpenSkill {
    /// What comes into force with the event `seq`.
    pub(super) fn new(opened: OpenedSkill, seq: u64) -> Self {
        let claims = opened.tools.iter().filter_map(|text| Pattern::new(text).ok()).collect();
        let forbids = opened.disallowed_tools.iter().map(|text| Pattern::new(text).ok()).collect();
        let commands = tool_of(&opened).map(Arc::new);
        Self { opened, seq, claims, forbids, commands }
    }

    /// The tool that runs the commands it declares, where it declares some.
    pub fn commands(&self) -> Option<&ToolEntry> {
        self.commands.as_deref()
    }

    /// Whether it claims `tool`.
    pub fn claims(&self, tool: &ToolName) -> bool {
        self.commands().is_some_and(|own| own.name == *tool)
            || self.claims.iter().any(|pattern| pattern.matches(tool.as_str()))
    }

    /// Whether `tool` must not be called while it is open.
    pub fn forbids(&self, tool: &ToolName) -> bool {
        self.forbids.as_ref().is_none_or(|all| all.iter().any(|one| one.matches(tool.as_str())))
    }
}

/// A call whose outcome is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCall {
    /// Which tool.
    pub tool: ToolName,
    /// Whether it may change something.
    pub writes: bool,
    /// The event that admitted it.
    pub seq: u64,
    /// When that was.
    pub at: Timestamp,
    /// The run of a procedure that it is part of, and the event by which that entered the state in which it was
    /// admitted.
    pub within: Option<(String, u64)>,
}

/// One piece of the conversation, in the order in which it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// What a person said.
    Task(Blob),
    /// A change in the index.
    Delta(Blob),
    /// What the model said and wanted called.
    Assistant {
        /// What it said.
        text: Blob,
        /// What it wants called.
        calls: Vec<ModelCall>,
    },
    /// The answer to one of those calls, or to a request made by hand.
    Answer {
        /// The model's call, where a model asked.
        call: Option<String>,
        /// The answer.
        text: Blob,
        /// Whether it is an error.
        error: bool,
        /// What the answer counts as.
        part: Part,
    },
    /// The text of a skill.
    Skill(SkillId),
    /// A skill that was here and was closed.
    Closed(SkillId),
}

/// A session at one point of its log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// Which session; none before its first event.
    pub session: Option<SessionId>,
    /// The number of the last event.
    pub seq: u64,
    /// The hash of the last event.
    pub head: Option<Digest>,
    /// When the last event happened.
    pub at: Timestamp,
    /// The step of the task: it rises with each thing a person says.
    pub step: u32,
    /// The turn: it rises with each round of showing and doing.
    pub turn: u32,
    /// The epoch: it rises when the context is folded.
    pub epoch: u32,
    /// On whose behalf.
    pub principal: String,
    /// The session that forked this one.
    pub parent: Option<SessionId>,
    /// How many forks above it.
    pub depth: u32,
    /// How what is opened reaches the model.
    pub mode: SessionMode,
    /// The settings it runs under.
    pub settings: Option<Blob>,
    /// The catalogue as last seen.
    pub snapshot: Option<Blob>,
    /// The catalogue that the last listing of this epoch was made from.
    pub listed: Option<Blob>,
    /// The whole index, as shown at the start of this epoch.
    pub index: Option<Blob>,
    /// Open skills, in the order in which they were opened.
    pub open: Vec<OpenSkill>,
    /// Skills that waited for a file and are active now.
    pub activated: BTreeSet<SkillId>,
    /// Those of them that the last listing of this epoch knew of.
    pub listed_activated: BTreeSet<SkillId>,
    /// Directories below the workspace that bring skills of their own, found by a touch.
    pub nested: BTreeSet<String>,
    /// Open categories of tools.
    pub menus: BTreeSet<String>,
    /// How often each skill was opened or ran apart, and in which event last.
    pub used: BTreeMap<SkillId, (u64, u64)>,
    /// The conversation.
    pub body: Vec<Item>,
    /// Calls under way.
    pub pending: BTreeMap<CallId, PendingCall>,
    /// What each finished call produced.
    pub evidence: BTreeMap<CallId, Blob>,
    /// Which tool that was.
    pub produced_by: BTreeMap<CallId, ToolName>,
    /// The number of the last call before the context was folded: what it and those before it
    /// produced does not stand in the conversation any more.
    pub folded: CallId,
    /// The number of the last call.
    pub calls: CallId,
    /// The latest answer, where the task is done.
    pub answer: Option<Blob>,
    /// What a person was asked in this session, and what they said, by the name of the question.
    pub approvals: BTreeMap<String, Approval>,
    /// Children that have not come back.
    pub children: BTreeMap<SessionId, SkillId>,
    /// What each skill brought about last: the output of a tool that it claims, or the result of its fork.
    pub results: BTreeMap<SkillId, Blob>,
    /// The procedure that is followed, and where it stands.
    pub run: Option<Run>,
}

impl State {
    /// The open skill called `id`.
    pub fn opened(&self, id: &SkillId) -> Option<&OpenSkill> {
        self.open.iter().find(|open| open.opened.id == *id)
    }

    /// Calls of the model's last message that have no answer yet, in order.
    pub fn unanswered(&self) -> Vec<&ModelCall> {
        let last = self.body.iter().rposition(|item| matches!(item, Item::Assistant { .. }));
        let Some(Item::Assistant { calls, .. }) = last.and_then(|at| self.body.get(at)) else {
            return Vec::new();
        };
        let after = self.body.get(last.unwrap_or_default()..).unwrap_or_default();
        // An answer settles one call, also where a model gave the same id twice.
        let mut answers: Vec<&str> = after
            .iter()
            .filter_map(|item| match item {
                Item::Answer { call, .. } => call.as_deref(),
                _ => None,
            })
            .collect();
        let mut answered = |id: &str| {
            answers
                .iter()
                .position(|answer| *answer == id)
                .map(|at| answers.swap_remove(at))
                .is_some()
        };
        calls.iter().filter(|call| !answered(&call.id)).collect()
    }

    /// What is open, as references: skills in the order in which they were opened, then menus.
    pub fn open_references(&self) -> Vec<String> {
        let skills = self.open.iter().map(|open| Ref::skill(open.opened.id.clone()));
        let menus = self.menus.iter().map(|menu| Ref::Menu(menu.clone()));
        skills.chain(menus).map(|reference| reference.to_string()).collect()
    }

    /// The tokens of skills that are open.
    pub fn skill_tokens(&self) -> Tokens {
        self.open.iter().map(|open| open.opened.tokens).sum()
    }

    /// Every content that the view and the next decision need, by digest.
    pub fn contents(&self) -> Vec<Digest> {
        let fixed = [self.settings, self.snapshot, self.listed, self.index, self.answer];
        let skills = self.open.iter().map(|open| open.opened.text);
        let body = self.body.iter().filter_map(|item| match item {
            Item::Task(text)
            | Item::Delta(text)
            | Item::Assistant { text, .. }
            | Item::Answer { text, .. } => Some(*text),
            Item::Skill(_) | Item::Closed(_) => None,
        });
        let mut all: Vec<Digest> =
            fixed.into_iter().flatten().chain(skills).chain(body).map(|blob| blob.digest).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The consent that lets the action with this key happen at `now`.
    pub fn consent(&self, key: &Digest, now: Timestamp) -> Option<&str> {
        let mut holding =
            self.approvals.iter().filter(|(_, one)| one.key == *key && one.holds(now));
        holding.next().map(|(id, _)| id.as_str())
    }

    /// The same state without the skill `id`.
    pub(super) fn without(&self, id: &SkillId) -> Self {
        let mut state = self.clone();
        state.open.retain(|open| open.opened.id != *id);
        state
    }

    pub(super) fn place(&mut self, event: &Event) {
        self.session.get_or_insert_with(|| event.session.clone());
        self.seq = event.seq;
        self.head = Some(event.hash);
        self.at = event.at;
    }
}
