//! Why the runtime could not do something. Every error says what happened, where, and what to do.

use concertina_core::session::NotRecorded;
use concertina_store::StoreError;
use concertina_types::SessionId;

use crate::llm::ModelError;
use crate::sources::SourceError;

/// What went wrong, for exit codes and for callers that decide by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something that was looked at is not as it has to be.
    Findings,
    /// The request itself is wrong.
    Usage,
    /// It is not allowed, or waits for consent.
    Denied,
    /// There is no such thing.
    NotFound,
    /// Files, network, disk, keys.
    Environment,
    /// A fault of ours.
    Internal,
}

/// An error of the runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model could not be reached or understood.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A skill's file could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// An effect would have run without its record.
    #[error(transparent)]
    NotRecorded(#[from] NotRecorded),
    /// There is no such session.
    #[error("there is no session {0}; `concertina session list` shows the ones there are")]
    NoSession(SessionId),
    /// There is no such procedure. The text says where one was looked for.
    #[error("{0}")]
    NoProcedure(String),
    /// A procedure cannot be followed as it is written. The text says why.
    #[error("{0}")]
    ProcedureUnsound(String),
    /// Content that a session names is not in the store.
    #[error(
        "session {session} names the content {digest}, which is not in the store; restore it from a backup, or begin a new session"
    )]
    ContentMissing {
        /// The session.
        session: SessionId,
        /// What is missing.
        digest: String,
    },
    /// Settings cannot be used.
    #[error("{message}")]
    Settings {
        /// A stable code.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
    /// The surroundings are not fit.
    #[error("{message}")]
    Environment {
        /// A stable code.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
    /// Others kept writing to the session.
    #[error("session {0} is being written by another process; try again when it is done")]
    Contended(SessionId),
    /// Work was stopped from outside.
    #[error(
        "stopped before the task was done; session {0} keeps what happened, resume it to go on"
    )]
    Interrupted(SessionId),
    /// The task took too many rounds.
    #[error(
        "the task was not done after {turns} turns; look at `concertina session show {session}`, then give a smaller task"
    )]
    TooManyTurns {
        /// The session.
        session: SessionId,
        /// How many.
        turns: u32,
    },
    /// The last answer is not whole.
    #[error(
        "the model's answer was cut by {why}; what arrived is kept in session {session}; give a smaller task, or let the model write more"
    )]
    AnswerCut {
        /// The session.
        session: SessionId,
        /// What cut it.
        why: &'static str,
    },
    /// The last answer says nothing and asks for nothing.
    #[error(
        "the model said nothing; what happened so far is kept in session {0}; try again, or another model"
    )]
    AnswerEmpty(SessionId),
    /// The conversation does not fit the window, even folded.
    #[error(
        "the request takes {tokens} tokens and the limit is {limit}; close skills, or set a larger window"
    )]
    ContextFull {
        /// What it takes.
        tokens: u64,
        /// The limit.
        limit: u64,
    },
    /// Something that cannot be.
    #[error("internal error: {0}; please report it with the output of `concertina session export`")]
    Internal(String),
}

impl RuntimeError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Model(error) => error.code(),
            Self::Source(error) => error.code(),
            Self::NotRecorded(_) => "NOT_RECORDED",
            Self::NoSession(_) => "NO_SESSION",
            Self::NoProcedure(_) => "PROCEDURE_NOT_FOUND",
            Self::ProcedureUnsound(_) => "PROCEDURE_UNSOUND",
            Self::ContentMissing { .. } => "CONTENT_MISSING",
            Self::Settings { code, .. } | Self::Environment { code, .. } => code,
            Self::Contended(_) => "CONTENDED",
            Self::Interrupted(_) => "INTERRUPTED",
            Self::TooManyTurns { .. } => "TOO_MANY_TURNS",
            Self::AnswerCut { .. } => "ANSWER_CUT",
            Self::AnswerEmpty(_) => "ANSWER_EMPTY",
            Self::ContextFull { .. } => "CONTEXT_FULL",
            Self::Internal(_) => "INTERNAL",
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSession(_) | Self::NoProcedure(_) => ErrorKind::NotFound,
            Self::ProcedureUnsound(_) => ErrorKind::Findings,
            Self::Settings { .. } => ErrorKind::Usage,
            Self::Model(error) => match error.code() {
                "MODEL_UNKNOWN" => ErrorKind::Usage,
                _ => ErrorKind::Environment,
            },
            Self::NotRecorded(_) | Self::Internal(_) => ErrorKind::Internal,
            Self::Store(_)
            | Self::Source(_)
            | Self::ContentMissing { .. }
            | Self::Environment { .. }
            | Self::Contended(_)
            | Self::Interrupted(_)
            | Self::TooManyTurns { .. }
            | Self::AnswerCut { .. }
            | Self::AnswerEmpty(_)
            | Self::ContextFull { .. } => ErrorKind::Environment,
        }
    }
}
