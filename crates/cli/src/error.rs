//! From what went wrong to an exit code: one table.

use std::path::Path;

use concertina_core::session::{Ask, Refusal};
use concertina_runtime::git::GitError;
use concertina_runtime::inputs::InputsError;
use concertina_runtime::{ErrorKind, RuntimeError};

/// What a command ends with.
///
/// | code | meaning |
/// |---|---|
/// | 0 | fine |
/// | 1 | findings, or a check failed |
/// | 2 | the command line is wrong |
/// | 3 | denied, or a person has to approve |
/// | 4 | not found |
/// | 5 | the environment: files, network, disk, keys |
/// | 6 | a fault of Concertina |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Findings = 1,
    Usage = 2,
    Denied = 3,
    NotFound = 4,
    Environment = 5,
    Internal = 6,
}

/// An error for a person: what happened, and what to do.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// The question that a person can still answer.
    ask: Option<Box<Ask>>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self { exit, code: code.to_owned(), message: message.into(), help: None, ask: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "USAGE", message)
    }

    /// That the file at `path` cannot be read: not found, where it is not there.
    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Environment,
        };
        Self::new(exit, "UNREADABLE", format!("{} cannot be read: {error}", path.display()))
    }

    /// As `--json` shows it.
    pub(crate) fn as_json(&self) -> serde_json::Value {
        let mut value = serde_json::json!({
            "error": {"code": self.code, "message": self.message, "help": self.help}
        });
        if let (Some(map), Some(ask)) = (value.as_object_mut(), &self.ask) {
            map.insert("needs_confirmation".to_owned(), serde_json::json!(ask));
        }
        value
    }

    /// The same, with the question that a person can still answer.
    pub(crate) fn asking(mut self, ask: Option<&Ask>) -> Self {
        self.ask = ask.cloned().map(Box::new);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl From<RuntimeError> for CliError {
    fn from(error: RuntimeError) -> Self {
        Self::new(error.kind().into(), error.code(), error.to_string())
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Findings => Self::Findings,
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Denied => Self::Denied,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Environment => Self::Environment,
            ErrorKind::Internal => Self::Internal,
        }
    }
}

impl From<concertina_store::StoreError> for CliError {
    fn from(error: concertina_store::StoreError) -> Self {
        RuntimeError::from(error).into()
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        let exit = match &error {
            GitError::NoWorkingTree(_) => Exit::NotFound,
            GitError::NotOurs { .. } | GitError::Taken { .. } | GitError::Changed { .. } => {
                Exit::Findings
            }
            _ => Exit::Environment,
        };
        Self::new(exit, error.code(), error.to_string())
    }
}

impl From<InputsError> for CliError {
    fn from(error: InputsError) -> Self {
        let exit = match &error {
            InputsError::Root { .. } | InputsError::Pattern { .. } => Exit::Usage,
            _ => Exit::Environment,
        };
        Self::new(exit, error.code(), error.to_string())
    }
}

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        let help = advice(&refusal.code).map(str::to_owned);
        Self {
            exit: exit_of(&refusal.code),
            code: refusal.code,
            message: refusal.message,
            help,
            ask: None,
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::new(Exit::Environment, "OUTPUT", format!("the output cannot be written: {error}"))
    }
}

/// The exit code of a refusal. What is not named here was denied.
fn exit_of(code: &str) -> Exit {
    match code {
        "NOT_FOUND" | "UNKNOWN_TOOL" | "NO_SUCH_PART" | "NO_SUCH_FILE" | "NO_SUCH_LINES"
        | "SKILL_GONE" | "NOT_OPEN" | "UNKNOWN_CALL" | "UPSTREAM_UNKNOWN" => Exit::NotFound,
        "BAD_ARGUMENTS" | "BAD_REF" | "BAD_SCOPE" | "NOT_CLOSABLE" | "NOT_TEXT" => Exit::Usage,
        "SQL_ERROR" | "TOO_LARGE" | "FILE_TOO_LARGE" | "REQUIRES_CYCLE" | "LOCK_MISMATCH"
        | "SIGNATURE_WRONG" => Exit::Findings,
        "UNREADABLE" | "TIMEOUT" | "CANCELLED" | "NOT_STARTED" | "LOST" | "TOOL_GONE"
        | "DATABASE_MISSING" | "DATABASE_CORRUPT" | "SEED_MISSING" | "SEED_FAILED"
        | "INTERRUPTED" | "BUSY" | "NO_DIRECTORY" => Exit::Environment,
        code if code.starts_with("UPSTREAM_") => Exit::Environment,
        _ => Exit::Denied,
    }
}

/// What a person can do about a refusal whose own words, which a model reads as well, do not say it.
pub(crate) fn advice(code: &str) -> Option<&'static str> {
    Some(match code {
        "MODEL_DISABLED" | "PATHS_NOT_TOUCHED" | "EXCLUDED" => {
            "a person can open it: leave out `--as model`"
        }
        "USER_DISABLED" => "only the model opens it; `--as model` shows what it would get",
        "UNTRUSTED" => {
            "look at its files, then: concertina trust; a person can open it without `--as model`"
        }
        "COMMAND_NOT_RUN" => {
            "`--commands mark` opens it and says what did not run; permissions.execute allows commands"
        }
        "NO_DESCRIPTION" => "add a `description` to its file; a person can open it as it is",
        "SECURITY_KEY_UNREADABLE" => "`concertina skill check` says what is wrong with the key",
        "DESTRUCTIVE_HIDDEN" => {
            "to allow it: under [policy] of your own concertina.toml, allow = [\"tool:NAME\"] with its whole name"
        }
        "QUARANTINED" => "look at what changed: concertina upstream approve SERVER",
        "APPROVAL_NEEDED" | "POLICY_DENIES" | "POLICY_ASKS" => {
            "the rules are under [policy] in concertina.toml; `concertina explain REF` names the one"
        }
        "POLICY_UNREADABLE" => {
            "correct [policy] in concertina.toml; until then everything is denied"
        }
        "WRITE_REFUSED" => "ask with SELECT; change data with a tool that is meant to",
        _ => return None,
    })
}
