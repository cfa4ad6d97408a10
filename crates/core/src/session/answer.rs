//! What a request is told.

use concertina_types::{Disclosed, Tokens};

/// Why something was not done. The text says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// A stable code, such as `NOT_VISIBLE`.
    pub code: String,
    /// What happened and what to do.
    pub message: String,
}

impl Refusal {
    /// A refusal with its code and words.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// The answer to a request, exactly as it goes to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// What it takes.
    pub tokens: Tokens,
    /// Whether it is an error.
    pub error: bool,
    /// What it made visible.
    pub disclosed: Vec<Disclosed>,
}
