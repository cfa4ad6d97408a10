//! What was found in a document, where, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Position;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Info,
    /// Something was repaired, cut or left out.
    Warning,
    /// Something cannot be used, or fails closed.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One finding. The message says what happened, `help` what to do.
///
/// ```
/// use concertina_types::{Diagnostic, Severity};
/// let found = Diagnostic::new("NAME_MISSING", Severity::Warning, "no name; the directory gives it")
///     .help("add `name: sales-analytics`");
/// assert_eq!(found.code, "NAME_MISSING");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// A stable code in capitals, such as `UNQUOTED_COLON`.
    pub code: std::borrow::Cow<'static, str>,
    /// How much it matters.
    pub severity: Severity,
    /// What happened, in one sentence without a full stop.
    pub message: String,
    /// The line, from 1, where it concerns a place.
    pub line: Option<u32>,
    /// The character in that line, from 1.
    pub column: Option<u32>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding about the whole document.
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            severity,
            message: message.into(),
            line: None,
            column: None,
            help: None,
        }
    }

    /// Says where.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.line = Some(position.line);
        self.column = Some(position.column);
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
