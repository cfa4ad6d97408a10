//! Where skills come from.
//!
//! A [`Source`] finds candidates and reads one when it is opened. It never decides which of two
//! skills wins a name (the catalogue does), never executes anything and never opens the network.
//! A new kind of source is a new file here that implements the trait.

mod bundled;
mod file;
mod filesystem;
mod head;
mod inventory;
mod places;
mod stamp;
mod walk;

use std::path::Path;
use std::sync::Arc;

use concertina_core::catalog::{SkillEntry, Skipped};

pub use bundled::Bundled;
pub(crate) use file::{file_name, name_by_place, open as open_file, read};
pub use filesystem::FileSystem;
pub(crate) use filesystem::same_bytes;
pub(crate) use inventory::everything;
pub use inventory::{inventory, resource};
pub(crate) use places::HIDDEN_LAYOUTS;
pub use places::{Place, Places};
pub(crate) use stamp::{RACY, Stamp};

/// What a scan found. Candidates may come in any order.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Usable skills.
    pub skills: Vec<SkillEntry>,
    /// What was found and cannot be used, and why.
    pub skipped: Vec<Skipped>,
    /// The files of `skills` that were read for this scan: new ones, and those that changed.
    pub fresh: Vec<Arc<str>>,
    /// Bytes read from skill files: frontmatter and what a read brings along, never whole bodies.
    pub bytes_read: u64,
}

/// A skill's file, read as a whole.
#[derive(Debug, Clone)]
pub struct SkillFile {
    /// The bytes of SKILL.md.
    pub bytes: Vec<u8>,
    /// The directory that holds it, where there is one.
    pub directory: Option<Arc<Path>>,
}

/// Why a skill or a resource could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It was there when the index was made.
    #[error("{path} is gone; the index is refreshed on the next turn")]
    Gone {
        /// The file.
        path: String,
    },
    /// It is there and cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is larger than anything that is instructions.
    #[error("{path} has {bytes} bytes; a skill is at most {limit}")]
    TooLarge {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The path leaves the skill.
    #[error("`{path}` leaves the directory of the skill, so it is not opened")]
    Escapes {
        /// The path as written.
        path: String,
    },
    /// There is no such file in the skill.
    #[error("the skill has no file `{path}`; it has {known}")]
    NoSuchFile {
        /// The path as written.
        path: String,
        /// Some that it has.
        known: String,
    },
}

impl SourceError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gone { .. } => "SKILL_GONE",
            Self::Unreadable { .. } => "UNREADABLE",
            Self::TooLarge { .. } => "FILE_TOO_LARGE",
            Self::Escapes { .. } => "ESCAPES",
            Self::NoSuchFile { .. } => "NO_SUCH_FILE",
        }
    }
}

/// One origin of skills.
pub trait Source: Send + Sync {
    /// Finds what is there. Cheap when nothing changed since the last call.
    fn scan(&mut self) -> Scan;

    /// Whether a new [`Source::scan`] could find something else than the last one.
    fn is_stale(&self) -> bool;

    /// Reads the file of `entry`, where this source found it; none otherwise.
    fn read(&self, entry: &SkillEntry) -> Option<Result<SkillFile, SourceError>>;
}
