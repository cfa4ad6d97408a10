//! What can happen in a session. A closed list: a new kind of event is a new variant here.
//!
//! Long texts are [`Blob`]s: the log holds their digest, a content store their bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Blob, ConfigOrigin, Digest, Permissions, Ref, SessionId, SignedReceipt, SkillId, Tokens,
    ToolName,
};

/// The number of a call in its session; `ev:N` opens what call N produced.
pub type CallId = u64;

/// Who asks: a person may use a skill that the model may not, and the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A person, typing.
    User,
    /// The model, by a tool call.
    Model,
}

/// How what is opened reaches the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionMode {
    /// Concertina composes every request to the model: what is opened stands in the context.
    #[default]
    Owned,
    /// Somebody else composes the requests, and nobody tells what they still hold: what is opened
    /// stands in the answer, every time.
    Blind,
}

/// Whether a listing is the whole index or what changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListingKind {
    /// Every entry, within the budget.
    Full,
    /// What was added, changed or removed.
    Delta,
}

/// How a skill runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenMode {
    /// Its text joins the context.
    #[default]
    Inline,
    /// It runs in a session of its own and only its result comes back.
    Fork,
    /// It should fork, but no model is configured: the caller is given the prompt to run.
    Delegate,
}

/// A skill that was opened: what came into force with it, and leaves with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedSkill {
    /// Which skill.
    pub id: SkillId,
    /// The digest of the file it came from.
    pub digest: Digest,
    /// The version it declares.
    pub version: Option<String>,
    /// How it runs.
    pub mode: OpenMode,
    /// Who opened it.
    pub by: Subject,
    /// Its text with arguments filled in.
    pub text: Blob,
    /// What the text takes.
    pub tokens: Tokens,
    /// The tools it claims, as patterns.
    pub tools: Vec<String>,
    /// The tools it forbids while open, as patterns.
    pub disallowed_tools: Vec<String>,
    /// What it declared, with its parameters filled in.
    pub permissions: Permissions,
    /// Files that belong to it and can be opened as `skill:NAME#PATH`.
    pub knowledge: Vec<String>,
    /// The model it asks for.
    pub model: Option<String>,
    /// The effort it asks for.
    pub effort: Option<String>,
    /// Events that its hooks listen to.
    pub hooks: Vec<String>,
    /// Parameters that stand in its scopes, with their values: calls of tools that it claims are
    /// bound to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bound: BTreeMap<String, Value>,
    /// The digest of its file and all files beside it, where a person trusts exactly these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// The consent that it was opened on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

/// How far one consent reaches. It is always for one action: these arguments, this content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalScope {
    /// The action may be done once.
    #[default]
    Once,
    /// It may be done for the rest of the session.
    Session,
    /// It may be done in any session, as long as what it would run or open has the same bytes.
    Digest,
}

/// By which way a person, or a program that stands for one, answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Means {
    /// At a prompt, on the terminal where the action was asked for.
    Terminal,
    /// By `concertina approve`.
    Command,
    /// Through the client, which showed the question.
    Client,
    /// Over HTTP.
    Http,
    /// By the program that the settings name for it.
    Hook,
    /// Beforehand: by an option of the command that asked.
    Option,
    /// In an earlier session, for the same bytes.
    Earlier,
}

/// Who answered a question, and by which way.
///
/// ```
/// use concertina_types::{Answerer, Means};
/// let ann: Answerer = serde_json::from_str(r#"{"by": "http", "who": "ann"}"#)?;
/// assert_eq!(ann, Answerer::named(Means::Http, "ann"));
/// // Where the way says it all, nobody is named.
/// assert_eq!(serde_json::to_string(&Answerer::from(Means::Terminal))?, r#"{"by":"terminal"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answerer {
    /// By which way.
    #[serde(rename = "by")]
    pub means: Means,
    /// Who it was, where that was found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

impl Answerer {
    /// `who`, by `means`.
    pub fn named(means: Means, who: impl Into<String>) -> Self {
        Self { means, who: Some(who.into()) }
    }
}

impl From<Means> for Answerer {
    fn from(means: Means) -> Self {
        Self { means, who: None }
    }
}

/// The kinds of things that are disclosed, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DisclosureKind {
    /// A fragment of a file, a result, a section.
    Evidence,
    /// A skill's text.
    Skill,
    /// A tool's definition.
    Tool,
}

/// One thing that became visible to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disclosed {
    /// What.
    #[serde(rename = "ref")]
    pub reference: Ref,
    /// What kind of thing.
    pub kind: DisclosureKind,
    /// What it takes.
    pub tokens: Tokens,
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The id the model's provider gave it.
    pub id: String,
    /// One of the four tools; anything else is refused by name.
    pub name: String,
    /// The arguments: the text the model wrote, which may not be JSON.
    pub arguments: String,
}

/// Tokens as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model.
    pub input: Tokens,
    /// Of those, taken from the provider's cache.
    #[serde(default)]
    pub cached: Tokens,
    /// Written by the model.
    pub output: Tokens,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The effect ran to its end.
    Done {
        /// The exit code of a program; zero for tools that are not programs.
        exit: i32,
        /// What it produced.
        output: Blob,
        /// Bytes dropped because of a limit.
        dropped: u64,
    },
    /// The effect did not run, or was stopped.
    Failed {
        /// A stable code, such as `TIMEOUT`.
        code: String,
        /// What happened and what to do.
        message: String,
    },
    /// The process ended between the intent and the outcome: whether it ran is not known.
    Unknown,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data")]
pub enum Fact {
    /// A session began.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// On whose behalf.
        principal: String,
        /// The session that forked this one.
        parent: Option<SessionId>,
        /// How many forks above it.
        depth: u32,
        /// How what is opened reaches the model.
        #[serde(default)]
        mode: SessionMode,
        /// The settings it runs under.
        settings: Blob,
    },
    /// The rules changed while the session was under way; they hold from here on.
    #[serde(rename = "settings.changed")]
    SettingsChanged {
        /// The settings it runs under now.
        settings: Blob,
    },
    /// The catalogue was read, and differs from what the session knew.
    #[serde(rename = "catalog.indexed")]
    CatalogIndexed {
        /// The catalogue as it is now.
        snapshot: Blob,
        /// How many skills it holds.
        skills: u64,
        /// How many tools it holds.
        tools: u64,
    },
    /// A person gave a task, or said more about it.
    #[serde(rename = "task.given")]
    TaskGiven {
        /// In their words.
        text: Blob,
        /// What it takes.
        tokens: Tokens,
    },
    /// A turn began: one round of showing, thinking and doing.
    #[serde(rename = "turn.started")]
    TurnStarted {},
    /// The index of skills, or what changed in it, was shown.
    #[serde(rename = "listing.disclosed")]
    ListingDisclosed {
        /// The whole or a delta.
        listing: ListingKind,
        /// The exact text.
        text: Blob,
        /// What it takes.
        tokens: Tokens,
        /// Entries shown with all their text.
        full: u64,
        /// Entries whose description was cut.
        shortened: u64,
        /// Entries shown by name only.
        names_only: u64,
        /// Entries that only the count line speaks of.
        omitted: u64,
    },
    /// A request went to the model.
    #[serde(rename = "model.asked")]
    ModelAsked {
        /// Which model.
        model: String,
        /// The digest of the request as rendered.
        prompt: Digest,
        /// What it takes, by part; the parts add up to `total`.
        tokens: BTreeMap<String, Tokens>,
        /// What the same turn would take with every skill and tool loaded at the start.
        preloaded: Tokens,
    },
    /// The model answered.
    #[serde(rename = "model.replied")]
    ModelReplied {
        /// What it said.
        text: Blob,
        /// What that takes.
        tokens: Tokens,
        /// The calls it wants made.
        calls: Vec<ModelCall>,
        /// What the provider counted.
        usage: Option<Usage>,
    },
    /// The model could not be reached or gave no usable answer.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// A stable code, such as `MODEL_UNREACHABLE`.
        code: String,
        /// What happened and what to do.
        message: String,
    },
    /// A search was answered.
    #[serde(rename = "search.answered")]
    SearchAnswered {
        /// The query.
        query: Blob,
        /// The references that were returned, best first.
        hits: Vec<Ref>,
        /// Whether they were said to fit; otherwise they are only the nearest. Logs from before this
        /// was recorded do not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enough: Option<bool>,
    },
    /// A skill was opened.
    #[serde(rename = "skill.opened")]
    SkillOpened(Box<OpenedSkill>),
    /// A skill was closed: its text, tools, hooks and permissions left together.
    #[serde(rename = "skill.closed")]
    SkillClosed {
        /// Which skill.
        id: SkillId,
    },
    /// A file was touched that a skill waited for: the skill is active for the rest of the session.
    #[serde(rename = "skill.activated")]
    SkillActivated {
        /// Which skill.
        id: SkillId,
        /// The file, relative to the workspace.
        path: String,
        /// The pattern that it matches.
        pattern: String,
    },
    /// A file was touched below a directory that brings skills of its own.
    #[serde(rename = "nested.discovered")]
    NestedDiscovered {
        /// The directory that holds the skills, relative to the workspace.
        directory: String,
        /// The file that was touched, relative to the workspace.
        path: String,
    },
    /// A category of tools was opened.
    #[serde(rename = "menu.opened")]
    MenuOpened {
        /// Which category.
        menu: String,
    },
    /// A category of tools was closed.
    #[serde(rename = "menu.closed")]
    MenuClosed {
        /// Which category.
        menu: String,
    },
    /// A call was admitted: the intent, durable before the effect runs.
    #[serde(rename = "call.admitted")]
    CallAdmitted {
        /// The number of the call.
        id: CallId,
        /// Which tool.
        tool: ToolName,
        /// Its arguments, as canonical JSON.
        arguments: Blob,
        /// Whether the effect may change something.
        writes: bool,
        /// The consent that it was admitted on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<String>,
    },
    /// A call ended.
    #[serde(rename = "call.finished")]
    CallFinished {
        /// The number of the call.
        id: CallId,
        /// How.
        outcome: CallOutcome,
        /// The tier of the sandbox in which a program ran; none where it was no program, or was not held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<String>,
    },
    /// A server was asked for something that is no tool: a prompt, a resource, a completion.
    #[serde(rename = "server.asked")]
    ServerAsked {
        /// The server, as it is called in the settings.
        server: String,
        /// The method of its protocol.
        method: String,
        /// The name or the address of what was asked for.
        what: String,
    },
    /// Something was asked for and refused.
    #[serde(rename = "request.refused")]
    RequestRefused {
        /// What was asked for, as written.
        request: String,
        /// A stable code, such as `NOT_VISIBLE`.
        code: String,
        /// Why, and what to do.
        reason: String,
        /// The rule that refused it and where that stands, such as `policy: deny tool:sql/*`. Logs from
        /// before this was recorded do not tell, nor do requests that no rule is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// What it was about once everything was resolved, such as `{"read": PATH}` with a path without
        /// links, `{"run": WORDS}`, `{"call": TOOL}`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Value>,
        /// The skill for which it was asked, where one is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill: Option<SkillId>,
        /// The tool that was to run, where one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<ToolName>,
    },
    /// Something waits for a person's consent.
    #[serde(rename = "approval.asked")]
    ApprovalAsked {
        /// The name of the question, under which it is answered.
        id: String,
        /// The digest of the action: arguments, resolved targets, content.
        key: Digest,
        /// What was asked for, as in other records.
        request: String,
        /// The action as it was put to the person.
        action: Blob,
        /// What has to be typed for it, where a yes is not enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phrase: Option<String>,
        /// The stable code of why it asks.
        code: String,
        /// Why it asks, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// The checkpoint of a procedure that the answer decides on, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
    },
    /// Consent was given.
    #[serde(rename = "approval.given")]
    ApprovalGiven {
        /// The name of the question.
        id: String,
        /// The digest of the action.
        key: Digest,
        /// How far it reaches.
        scope: ApprovalScope,
        /// Who did, and by which way.
        #[serde(flatten)]
        by: Answerer,
    },
    /// Consent was refused.
    #[serde(rename = "approval.refused")]
    ApprovalRefused {
        /// The name of the question.
        id: String,
        /// Who did, and by which way.
        #[serde(flatten)]
        by: Answerer,
    },
    /// A procedure began.
    #[serde(rename = "procedure.started")]
    ProcedureStarted {
        /// The run: no other has its name.
        run: String,
        /// The procedure, by name.
        procedure: String,
        /// Its text, by digest.
        digest: Digest,
        /// Its text, and those of the procedures that may follow it.
        texts: Vec<Blob>,
        /// The state in which it begins.
        state: String,
        /// The workspace, by digest, where receipts are bound to it.
        inputs: Option<Digest>,
        /// Whose settings listed it then; absent where none did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        listed_by: Option<ConfigOrigin>,
    },
    /// The workspace of a run was looked at, and had changed; or proofs grew too old.
    #[serde(rename = "procedure.observed")]
    ProcedureObserved {
        /// The workspace, by digest; none where it could not be looked at.
        inputs: Option<Digest>,
        /// Checkpoints whose proof is too old from now on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        expired: Vec<String>,
        /// Checkpoints that a tool proved which is another by now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replaced: Vec<String>,
    },
    /// A receipt was issued.
    #[serde(rename = "receipt.issued")]
    ReceiptIssued {
        /// The receipt.
        receipt: Box<SignedReceipt>,
        /// Every checkpoint that it decides on, with the reason where it does not prove it.
        decided: BTreeMap<String, Option<String>>,
    },
    /// A run went on to another state.
    #[serde(rename = "procedure.moved")]
    ProcedureMoved {
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// Why: `next`, `fail`, `stale`.
        why: String,
        /// Checkpoints that hold there.
        held: Vec<String>,
        /// Tools whose receipts so far do not count there.
        forgets: Vec<String>,
        /// Whether the run ends there.
        ended: bool,
    },
    /// A person left a procedure before its end, or after one that needs them.
    #[serde(rename = "procedure.left")]
    ProcedureLeft {
        /// The run.
        run: String,
    },
    /// A request of the model was answered: exactly what it was told.
    #[serde(rename = "request.answered")]
    RequestAnswered {
        /// The provider's id of the model's call, where a model asked.
        call: Option<String>,
        /// The answer.
        text: Blob,
        /// What it takes.
        tokens: Tokens,
        /// Whether the answer is an error.
        error: bool,
        /// What the answer made visible.
        disclosed: Vec<Disclosed>,
    },
    /// A forked skill began.
    #[serde(rename = "child.started")]
    ChildStarted {
        /// Its session.
        child: SessionId,
        /// The skill it runs.
        skill: SkillId,
    },
    /// A forked skill ended.
    #[serde(rename = "child.finished")]
    ChildFinished {
        /// Its session.
        child: SessionId,
        /// Whether it reached an answer.
        completed: bool,
        /// What came back.
        result: Blob,
    },
    /// The context was folded; the index is shown again, once.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// The number of the new epoch.
        epoch: u32,
        /// Skills whose text was carried over.
        kept: Vec<SkillId>,
        /// Skills that were closed because they did not fit; each can be opened again.
        dropped: Vec<SkillId>,
    },
    /// Work stopped before its end; the session can be resumed.
    #[serde(rename = "session.interrupted")]
    SessionInterrupted {
        /// Why.
        reason: String,
    },
    /// The task was answered.
    #[serde(rename = "task.finished")]
    TaskFinished {
        /// The answer.
        answer: Blob,
    },
}

impl Fact {
    /// Every [`Self::kind`] that there is.
    pub const KINDS: &'static [&'static str] = &[
        "session.started",
        "settings.changed",
        "catalog.indexed",
        "task.given",
        "turn.started",
        "listing.disclosed",
        "model.asked",
        "model.replied",
        "model.failed",
        "search.answered",
        "skill.opened",
        "skill.closed",
        "skill.activated",
        "nested.discovered",
        "menu.opened",
        "menu.closed",
        "call.admitted",
        "call.finished",
        "server.asked",
        "request.refused",
        "approval.asked",
        "approval.given",
        "approval.refused",
        "procedure.started",
        "procedure.observed",
        "receipt.issued",
        "procedure.moved",
        "procedure.left",
        "request.answered",
        "child.started",
        "child.finished",
        "context.compacted",
        "session.interrupted",
        "task.finished",
    ];

    /// The name of the kind, as written in the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "session.started",
            Self::SettingsChanged { .. } => "settings.changed",
            Self::CatalogIndexed { .. } => "catalog.indexed",
            Self::TaskGiven { .. } => "task.given",
            Self::TurnStarted {} => "turn.started",
            Self::ListingDisclosed { .. } => "listing.disclosed",
            Self::ModelAsked { .. } => "model.asked",
            Self::ModelReplied { .. } => "model.replied",
            Self::ModelFailed { .. } => "model.failed",
            Self::SearchAnswered { .. } => "search.answered",
            Self::SkillOpened(_) => "skill.opened",
            Self::SkillClosed { .. } => "skill.closed",
            Self::SkillActivated { .. } => "skill.activated",
            Self::NestedDiscovered { .. } => "nested.discovered",
            Self::MenuOpened { .. } => "menu.opened",
            Self::MenuClosed { .. } => "menu.closed",
            Self::CallAdmitted { .. } => "call.admitted",
            Self::CallFinished { .. } => "call.finished",
            Self::ServerAsked { .. } => "server.asked",
            Self::RequestRefused { .. } => "request.refused",
            Self::ApprovalAsked { .. } => "approval.asked",
            Self::ApprovalGiven { .. } => "approval.given",
            Self::ApprovalRefused { .. } => "approval.refused",
            Self::ProcedureStarted { .. } => "procedure.started",
            Self::ProcedureObserved { .. } => "procedure.observed",
            Self::ReceiptIssued { .. } => "receipt.issued",
            Self::ProcedureMoved { .. } => "procedure.moved",
            Self::ProcedureLeft { .. } => "procedure.left",
            Self::RequestAnswered { .. } => "request.answered",
            Self::ChildStarted { .. } => "child.started",
            Self::ChildFinished { .. } => "child.finished",
            Self::ContextCompacted { .. } => "context.compacted",
            Self::SessionInterrupted { .. } => "session.interrupted",
            Self::TaskFinished { .. } => "task.finished",
        }
    }
}
