//! Servers that bring tools: the port through which the runtime knows them.
//!
//! What speaks their protocol implements [`Upstreams`] and stands above the runtime. Nothing here
//! starts a program or opens a connection.

mod caller;
mod definition;
mod definitions;
mod dialect;
mod expand;
mod itself;

use std::path::PathBuf;
use std::sync::Arc;

pub use concertina_core::catalog::JsonText;
use concertina_types::{Digest, ToolName};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

pub use caller::{Caller, Nobody};
pub use definition::{Definition, Reach};
pub use definitions::Definitions;
pub(crate) use dialect::{Described, Unusable};
pub(crate) use expand::Variables;

use crate::Cancel;
use crate::tools::Outcome;

/// The servers behind a workspace.
pub trait Upstreams: Send + Sync {
    /// What they offer, as far as it is known now. Asked before every request, so it must be cheap:
    /// a shared value that is replaced when something changed.
    fn offer(&self) -> Arc<Offer>;

    /// What the servers were given in confidence: variables, headers. None of it goes on the record.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Runs a tool. The future needs no particular executor: it waits for work that runs elsewhere.
    fn call(&self, call: Call) -> BoxFuture<'static, Outcome>;
}

/// One call to a server's tool.
pub struct Call {
    /// Which tool, `server/tool`.
    pub tool: ToolName,
    /// With which arguments: checked against the tool's schema.
    pub arguments: Value,
    /// Stops it.
    pub cancel: Cancel,
    /// Whoever called, as far as a server may talk back while the call runs.
    pub caller: Arc<dyn Caller>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// What the servers offer at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// Rises with every change.
    pub revision: u64,
    /// The tools of all servers, sorted by name.
    pub tools: Vec<Arc<OfferedTool>>,
    /// The skills of all servers, sorted by server and name.
    pub skills: Vec<OfferedSkill>,
    /// The servers, sorted by name.
    pub servers: Vec<Server>,
}

/// A skill that a server brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfferedSkill {
    /// The server, as it is called in the settings.
    pub server: String,
    /// Its name, in the server's words.
    pub name: String,
    /// What it is for, in the server's words.
    pub description: String,
    /// The directory that holds its files as a person approved them. None where nobody did, or where
    /// the server has another version now.
    pub kept: Option<PathBuf>,
}

/// A tool as its server defines it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfferedTool {
    /// How it is addressed here: `server/tool`.
    pub name: ToolName,
    /// The server, as it is called in the settings.
    pub server: String,
    /// What people call it.
    pub title: Option<String>,
    /// What it does, in the server's words.
    pub description: String,
    /// The JSON Schema of its arguments, as the server wrote it.
    pub input: JsonText,
    /// The JSON Schema of its structured result, as the server wrote it.
    pub output: Option<JsonText>,
    /// What the server says that it does to the world.
    pub hints: Hints,
    /// Words that the server files it under.
    pub tags: Vec<String>,
    /// Why it is not to be used, and what helps: its definition is not the one that was approved.
    pub quarantined: Option<String>,
    /// The digest of its whole definition.
    pub digest: Digest,
}

/// What a server says of a tool. A server can say anything: hints hide, they never allow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// What it changes cannot be brought back.
    pub destructive: Option<bool>,
    /// Doing it twice is doing it once.
    pub idempotent: Option<bool>,
    /// It reaches beyond this machine.
    pub open_world: Option<bool>,
}

/// A server and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Server {
    /// As it is called in the settings.
    pub name: String,
    /// How it stands.
    pub state: ServerState,
    /// How many tools it is known to bring.
    pub tools: usize,
    /// Why it stands so, and what helps.
    pub note: Option<String>,
    /// How it wants to be used, in its own words.
    pub instructions: Option<String>,
}

/// How a server stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Its tools are known from an earlier time; it starts with the first call.
    Known,
    /// It was never seen, and is being asked what it brings.
    Starting,
    /// It runs and answers.
    Ready,
    /// It failed, and is tried again after a while.
    Failed,
    /// It wants a login.
    NeedsLogin,
    /// The workspace brings it, and nobody has trusted it.
    Untrusted,
}

impl ServerState {
    /// The name used in JSON and for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::NeedsLogin => "needs_login",
            Self::Untrusted => "untrusted",
        }
    }
}
