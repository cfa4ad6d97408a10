//! Why a program did not run to its end.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use concertina_types::Digest;

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// It could not be started.
    #[error("`{program}` could not be started: {reason}: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// What was being done for it.
        reason: String,
        /// What the system says.
        source: io::Error,
    },
    /// There is no such directory to run it in.
    #[error("there is no directory {} to run it in; check `cwd` in the settings", .0.display())]
    NoDirectory(PathBuf),
    /// What was to be granted cannot be.
    #[error("{} cannot be granted: {reason}", path.display())]
    Grant {
        /// What was to be granted.
        path: PathBuf,
        /// Why it cannot, and what to do.
        reason: String,
    },
    /// A file is no longer as it was approved.
    #[error(
        "{} is not what was approved: it has {}, and {} was approved; look at the change and approve it",
        path.display(), found.short(), approved.short()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// The digest that was approved.
        approved: Digest,
        /// The digest it has.
        found: Digest,
    },
    /// What is closed to it was exchanged from outside while it ran: it may have seen the new one.
    #[error(
        "{} is closed to the program and was replaced while it ran, so it was stopped and what it said \
         was dropped; run it again",
        .0.display()
    )]
    Exchanged(PathBuf),
    /// It may reach hosts, and nobody serves its connections.
    #[error("the program may reach hosts, but no gate to the network was given")]
    NoGate,
    /// It took too long.
    #[error("stopped after {:.1} s; raise its time limit if it needs longer", .0.as_secs_f64())]
    Timeout(Duration),
    /// Someone asked for a stop.
    #[error("stopped before its end")]
    Cancelled,
    /// This machine cannot hold the program as tightly as it has to be.
    #[error("the program was not run, since this machine cannot hold it: {missing}; {help}")]
    Unavailable {
        /// What is missing.
        missing: String,
        /// What to do.
        help: String,
    },
    /// The system failed while it ran.
    #[error("lost track of the program: {0}")]
    Lost(io::Error),
}

impl SandboxError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotStarted { .. } => "NOT_STARTED",
            Self::NoDirectory(_) => "NO_DIRECTORY",
            Self::Grant { .. } => "GRANT_UNUSABLE",
            Self::Changed { .. } => "APPROVED_CHANGED",
            Self::Exchanged(_) => "CLOSED_REPLACED",
            Self::NoGate => "NO_GATE",
            Self::Timeout(_) => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::Unavailable { .. } => "SANDBOX_UNAVAILABLE",
            Self::Lost(_) => "LOST",
        }
    }
}
