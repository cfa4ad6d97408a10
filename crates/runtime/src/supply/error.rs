//! Why a skill was not locked, signed, verified or installed.

use std::path::Path;

use crate::ErrorKind;

/// An error of the supply chain: what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SupplyError {
    /// The content is not what it has to be: an archive that reaches out, a signature that is wrong, a
    /// file that changed.
    #[error("{message}")]
    Refused {
        /// A stable code.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
    /// It was asked for in a way that cannot be done.
    #[error("{message}")]
    Usage {
        /// A stable code.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
    /// There is no such thing.
    #[error("{message}")]
    NotFound {
        /// A stable code.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
    /// Files or the network did not do what was asked of them.
    #[error("{message}")]
    Environment {
        /// A stable code.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
}

impl SupplyError {
    pub(super) fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into() }
    }

    pub(super) fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::Usage { code, message: message.into() }
    }

    pub(super) fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::NotFound { code, message: message.into() }
    }

    pub(super) fn environment(code: &'static str, message: impl Into<String>) -> Self {
        Self::Environment { code, message: message.into() }
    }

    /// That the file at `path` cannot be read.
    pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        Self::environment("UNREADABLE", format!("{} cannot be read: {error}", path.display()))
    }

    /// That the file at `path` cannot be written.
    pub(super) fn not_written(path: &Path, error: &std::io::Error) -> Self {
        Self::environment("NOT_SAVED", format!("{} cannot be written: {error}", path.display()))
    }

    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { code, .. }
            | Self::Usage { code, .. }
            | Self::NotFound { code, .. }
            | Self::Environment { code, .. } => code,
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused { .. } => ErrorKind::Findings,
            Self::Usage { .. } => ErrorKind::Usage,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Environment { .. } => ErrorKind::Environment,
        }
    }
}
