//! What can be asked of a session.

use std::collections::BTreeMap;

use concertina_types::{
    Answerer, ApprovalScope, Blob, CallId, CallOutcome, Digest, DisclosureKind, Fact, FieldValue,
    LineRange, Ref, SessionId, SessionMode, SkillId, Subject, ToolName,
};
use serde_json::Value;

use super::answer::Refusal;
use super::skill::PreparedSkill;
use crate::policy::Request;

/// Who asks, and by which of the model's calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// A person or the model.
    pub subject: Subject,
    /// The model's id of the call, where a model asked.
    pub call: Option<String>,
}

impl Origin {
    /// A person at a terminal or a program.
    pub fn user() -> Self {
        Self { subject: Subject::User, call: None }
    }

    /// The model, by the call `id`.
    pub fn model(id: impl Into<String>) -> Self {
        Self { subject: Subject::Model, call: Some(id.into()) }
    }
}

/// A part of something, already read, that is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What it is.
    pub reference: Ref,
    /// What kind of thing.
    pub kind: DisclosureKind,
    /// The whole text of the thing; the decision cuts it to size.
    pub text: String,
    /// The lines that were asked for.
    pub lines: Option<LineRange>,
}

/// What came back from a forked skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfolded {
    /// Its session.
    pub child: SessionId,
    /// The skill.
    pub skill: SkillId,
    /// Whether it reached an answer.
    pub completed: bool,
    /// What came back.
    pub result: String,
}

/// What the arguments of a call really mean: found out by whoever gives the command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// The argument vector that runs, where a program does.
    pub argv: Vec<String>,
    /// Arguments that are paths, and where they really lead.
    pub paths: Vec<(String, String)>,
    /// What a person is shown besides the arguments: real paths, digests of what would run. Found out
    /// only where somebody may have to be asked.
    pub shown: Vec<(String, String)>,
    /// The code that would run, as it was looked at for that.
    pub pins: Vec<Pin>,
    /// What the command of a skill may read besides what is declared.
    pub readable: Vec<String>,
    /// The digest of the skill's file and all files beside it as they are now, where a person trusts
    /// exactly some.
    pub content: Option<Digest>,
}

/// A file that runs with exactly these bytes, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The word of the command that names it.
    pub word: String,
    /// Where it really is.
    pub path: String,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// What was seen of a call that is part of a procedure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Witness {
    /// With which arguments it ran.
    pub arguments: serde_json::Map<String, Value>,
    /// Files that checkpoints read in place of its output, by their path: what is in them, or why that cannot
    /// be used.
    pub files: BTreeMap<String, Result<String, String>>,
    /// Inputs that changed while it ran, by the checkpoint that does not allow it.
    pub changed: BTreeMap<String, Vec<String>>,
    /// Why that is not known, where it is not.
    pub unseen: Option<String>,
    /// The workspace afterwards, by digest; none where it could not be looked at.
    pub inputs: Option<Digest>,
}

/// A statement that somebody signed and sent, with a signature that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The key that signed it, in base64.
    pub key: String,
    /// The run that it speaks of.
    pub run: String,
    /// The checkpoint.
    pub checkpoint: String,
    /// What it says.
    pub fields: BTreeMap<String, FieldValue>,
    /// The workspace that it is about, by digest.
    pub inputs: Option<Digest>,
    /// A number that the sender uses once.
    pub nonce: String,
    /// The bytes that were signed, by digest.
    pub payload: Digest,
}

/// How a program was held while it ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// The tier of the sandbox; none where it was no program, or was not held.
    pub tier: Option<String>,
    /// What it was kept from.
    pub refused: Vec<KeptFrom>,
    /// What a procedure wants to know of it; none where none is followed.
    pub witness: Option<Box<Witness>>,
}

/// Something that a program tried and was kept from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFrom {
    /// What, as it was tried: a host, a path.
    pub what: String,
    /// The same as a request, where it is one.
    pub object: Option<Request>,
    /// A stable code.
    pub code: String,
    /// Why, and what would let it through.
    pub reason: String,
}

/// One command. Each decision also takes the moment at which it is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin: the first command of a session.
    Start {
        /// On whose behalf.
        principal: String,
        /// The session that forks this one, and how deep it is.
        parent: Option<(SessionId, u32)>,
        /// How what is opened reaches the model.
        mode: SessionMode,
        /// The settings as JSON.
        settings: String,
    },
    /// Take note that other settings hold now, given as JSON. Nothing happens where they are the
    /// known ones.
    Settings {
        /// The settings as JSON.
        settings: String,
    },
    /// Take note of the catalogue, which is kept as JSON already. Nothing happens where it is the
    /// known one.
    Index {
        /// Where the JSON is kept: it can be large, and every session names the same.
        snapshot: Blob,
    },
    /// Take a task, or more words on it, from a person.
    Task {
        /// In their words.
        text: String,
    },
    /// Begin a turn: show what is new in the index.
    Turn,
    /// Take note that a file was touched, and of what that brings to light.
    Touch {
        /// The file, relative to the workspace.
        path: String,
        /// Skills that wait for such a file, with the pattern that it matches.
        activated: Vec<(SkillId, String)>,
        /// Directories with skills of their own, relative to the workspace.
        nested: Vec<String>,
    },
    /// Answer a search.
    Find {
        /// Who asks.
        origin: Origin,
        /// The query.
        query: String,
        /// What was found, best first, already filtered by visibility: reference and title.
        hits: Vec<(Ref, String)>,
        /// Whether the hits are good enough to be called an answer.
        enough: bool,
        /// The code of why only words ranked them, where more was to.
        words_alone: Option<&'static str>,
    },
    /// Open a skill that was read and prepared.
    OpenSkill {
        /// Who asks.
        origin: Origin,
        /// The skill.
        skill: Box<PreparedSkill>,
        /// Whether a model is at hand that a skill could fork to.
        can_fork: bool,
        /// The digest of the text that the asker still holds, whole or its first digits: the same
        /// text is not sent again.
        held: Option<String>,
    },
    /// Show the categories of tools, and the tools that stand outside of them.
    OpenRoot {
        /// Who asks.
        origin: Origin,
    },
    /// Open a category of tools.
    OpenMenu {
        /// Who asks.
        origin: Origin,
        /// Which category.
        menu: String,
    },
    /// Show the schema of a tool.
    OpenTool {
        /// Who asks.
        origin: Origin,
        /// Which tool.
        tool: ToolName,
        /// Which lines of its definition, where it is too long for one answer.
        lines: Option<LineRange>,
    },
    /// Show a part of a skill, a file or a result.
    Show {
        /// Who asks.
        origin: Origin,
        /// What.
        shown: Shown,
    },
    /// Run a tool.
    Call {
        /// Who asks.
        origin: Origin,
        /// Which tool.
        tool: ToolName,
        /// With which arguments.
        arguments: Value,
        /// What they really mean.
        targets: Targets,
    },
    /// Run a command that stands in the text of a skill, before the text is shown.
    RunCommand {
        /// Who asks for the skill.
        origin: Origin,
        /// The skill, with its parameters filled in.
        skill: Box<PreparedSkill>,
        /// The command as written.
        command: String,
        /// What it really means, as for a call.
        targets: Targets,
    },
    /// Ask a person whether a skill may be opened, where it needs that.
    MayOpen {
        /// Who asks for the skill.
        origin: Origin,
        /// The skill.
        skill: Box<PreparedSkill>,
    },
    /// A person says yes to a question.
    Agree {
        /// The name of the question.
        id: String,
        /// How far the yes reaches.
        scope: ApprovalScope,
        /// Who does, and by which way.
        by: Answerer,
        /// What was typed, where that is needed.
        typed: Option<String>,
    },
    /// A person says no to a question.
    Disagree {
        /// The name of the question.
        id: String,
        /// Who does, and by which way.
        by: Answerer,
    },
    /// Follow a procedure.
    Follow {
        /// Who asks.
        origin: Origin,
        /// Its text, and those of the procedures that may follow it.
        texts: Vec<String>,
        /// The workspace, by digest, where receipts are bound to it.
        inputs: Option<Digest>,
    },
    /// Leave the procedure: for a person alone to say.
    Leave {
        /// Who asks.
        origin: Origin,
    },
    /// Take note of the workspace as it is now. Nothing happens where it is the known one and nothing grew
    /// too old.
    Look {
        /// The workspace, by digest; none where it could not be looked at.
        inputs: Option<Digest>,
    },
    /// Take a statement on a checkpoint, whose signature was checked.
    Hear(Box<Statement>),
    /// Take note of how such a command ended.
    Settle {
        /// The number of the call.
        id: CallId,
        /// How it ended.
        outcome: CallOutcome,
        /// What it printed.
        output: String,
        /// How it was held, and what it was kept from.
        held: Held,
    },
    /// Take note of how a call ended.
    Done {
        /// Who asked for it.
        origin: Origin,
        /// The number of the call.
        id: CallId,
        /// How it ended.
        outcome: CallOutcome,
        /// What it produced, where it produced something.
        output: String,
        /// How a program was held, and what it was kept from.
        held: Held,
    },
    /// Take note that a forked skill began.
    Forked {
        /// Its session.
        child: SessionId,
        /// The skill.
        skill: SkillId,
    },
    /// Take what a forked skill brought back.
    Joined {
        /// Who asked for it.
        origin: Origin,
        /// What came back.
        unfolded: Unfolded,
    },
    /// Fold a skill or a category back.
    Close {
        /// Who asks.
        origin: Origin,
        /// What.
        reference: Ref,
    },
    /// Answer a request that cannot be met, for a reason found outside the session.
    Refuse {
        /// Who asks.
        origin: Origin,
        /// What was asked for, as written.
        request: String,
        /// Why, and what to do.
        refusal: Refusal,
    },
    /// Put on the record that a part of a request was not met; the request as a whole is answered later.
    Decline {
        /// Who asks.
        origin: Origin,
        /// What was asked for, as written.
        request: String,
        /// Why, and what to do.
        refusal: Refusal,
    },
    /// Fold the conversation: a new epoch.
    Compact,
    /// Settle what a crash or a break left open.
    Recover,
    /// Take note of something that was observed, with the texts that it names: a request to the
    /// model, what became of it, an answer, a break. Nothing that opens or admits can be observed.
    Observe(Box<Fact>, Vec<String>),
}
