//! How asking a server can fail.

use std::time::Duration;

use concertina_runtime::tools::Outcome;
use concertina_types::limits;
use serde_json::{Value, json};

use crate::cut::cut;

/// Why a server gave no answer. Each has a stable code.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// It answered with an error of the protocol.
    #[error("the server refused: {message} ({code})")]
    Refused {
        /// The protocol's code.
        code: i64,
        /// The server's words.
        message: String,
        /// What it added.
        data: Option<Value>,
    },
    /// It ended, or the connection broke.
    #[error("the server was lost: {0}")]
    Lost(String),
    /// It could not be started.
    #[error("the server cannot be started: {0}")]
    Start(String),
    /// It did not answer in time.
    #[error("no answer to `{method}` within {:.1} s", waited.as_secs_f64())]
    Late {
        /// What it was asked.
        method: String,
        /// How long it was given.
        waited: Duration,
    },
    /// It wants a login.
    #[error("the server wants a login: {0}")]
    NeedsLogin(String),
    /// It failed so often that it is left alone for a while.
    #[error("the server is left alone for {:.0} s, it failed {failures} times: {last}", again.as_secs_f64())]
    Open {
        /// How often in a row.
        failures: u32,
        /// When it is tried again.
        again: Duration,
        /// How it failed last.
        last: String,
    },
    /// All its places are taken.
    #[error("the server has {0} calls under way, and none ended in time")]
    Busy(usize),
    /// The settings that define it are not trusted.
    #[error("the workspace brings this server and nobody trusted it; see `concertina trust`")]
    Untrusted,
    /// There is no such server, tool, prompt or resource.
    #[error("{0}")]
    Unknown(String),
    /// The definition of a tool is not the one that was approved.
    #[error("{0}")]
    Quarantined(String),
    /// What it answered is not what the protocol says.
    #[error("the server's answer is malformed: {0}")]
    Malformed(String),
    /// Everything is being closed.
    #[error("Concertina is closing")]
    Closed,
}

impl Failure {
    /// What the server refused with.
    pub(super) fn refused(error: &Value) -> Self {
        let message = error.get("message").and_then(Value::as_str).unwrap_or("without words");
        Self::Refused {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: cut(message, limits::SERVER_WORDS_BYTES),
            data: error.get("data").map(short),
        }
    }

    /// The stable name of the kind.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "UPSTREAM_REFUSED",
            Self::Lost(_) => "UPSTREAM_LOST",
            Self::Start(_) => "UPSTREAM_NOT_STARTED",
            Self::Late { .. } => "UPSTREAM_TIMEOUT",
            Self::NeedsLogin(_) => "UPSTREAM_NEEDS_LOGIN",
            Self::Open { .. } => "UPSTREAM_UNAVAILABLE",
            Self::Busy(_) => "UPSTREAM_BUSY",
            Self::Untrusted => "UPSTREAM_UNTRUSTED",
            Self::Unknown(_) => "UPSTREAM_UNKNOWN",
            Self::Quarantined(_) => "TOOL_QUARANTINED",
            Self::Malformed(_) => "UPSTREAM_MALFORMED",
            Self::Closed => "CLOSING",
        }
    }

    /// In words that are not too long: names and addresses of a server's choice stand in some,
    /// beside ours.
    pub(super) fn said(&self) -> String {
        cut(&self.to_string(), 2 * limits::SERVER_WORDS_BYTES)
    }

    pub(super) fn outcome(&self, server: &str) -> Outcome {
        let error = match self {
            Self::Refused { code, message, data } => {
                Some(Box::new(json!({"code": code, "message": message, "data": data})))
            }
            _ => None,
        };
        let message = format!("{server}: {}", self.said());
        Outcome::Failed { code: self.code().to_owned(), message, error }
    }
}

/// The same data, as text that is cut where they are too long.
fn short(data: &Value) -> Value {
    let text = data.to_string();
    let limit = limits::SERVER_WORDS_BYTES;
    if text.len() > limit { json!(cut(&text, limit)) } else { data.clone() }
}
