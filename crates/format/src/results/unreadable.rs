//! Why an output gives no figures.

use std::fmt;

/// What makes an output no proof of anything.
///
/// The message never repeats the output: whoever wrote that does not speak through us.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}{}", Place(*.line), Hint(*.help))]
pub struct Unreadable {
    code: &'static str,
    what: String,
    line: Option<usize>,
    help: Option<&'static str>,
}

impl Unreadable {
    /// The output does not have the form that the parser reads, or not all of it.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { code: "RESULT_UNREADABLE", what: what.into(), line: None, help: None }
    }

    /// One part of the output contradicts another.
    pub(super) fn inconsistent(what: impl Into<String>) -> Self {
        Self { code: "RESULT_INCONSISTENT", ..Self::new(what) }
    }

    pub(super) fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    pub(super) fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    /// `RESULT_UNREADABLE`, where the form is another or the end is missing, or `RESULT_INCONSISTENT`, where
    /// one part contradicts another.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The line of the output, from 1, where it is one line.
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

struct Place(Option<usize>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, " (line {line} of the output)"))
    }
}

struct Hint(Option<&'static str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}
