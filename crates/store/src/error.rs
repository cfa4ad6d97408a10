//! What can go wrong in a store.

use std::io;
use std::path::{Path, PathBuf};

use concertina_types::{ChainError, SessionId};

/// Why a store could not do what was asked. Whatever the error, nothing was half written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// `STORE_CONFLICT`: another writer came first.
    #[error(
        "session {session} is at event {found}, not {expected}: something else wrote to it; read \
         what is new and try again"
    )]
    Conflict {
        /// The session.
        session: SessionId,
        /// The last event that the writer had seen.
        expected: u64,
        /// The last event that there is.
        found: u64,
    },
    /// `STORE_CORRUPT`: what was read is not what was written.
    #[error(
        "{} is damaged: {what}; put back a copy, or move it away to start afresh",
        .path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// `STORE_CORRUPT`: a log whose events do not follow from one another.
    #[error("the log of session {session} cannot be trusted from {error}; put back a copy")]
    Chain {
        /// The session.
        session: SessionId,
        /// The first bad event.
        error: ChainError,
    },
    /// `STORE_KEY`: a key is not the one that signed until now, or is gone. Nothing is written without
    /// the right one.
    #[error(
        "{} cannot be used: {what}; put the keys back as they were, or set CONCERTINA_HOME to a new \
         directory to begin afresh",
        .path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// `STORE_FULL`: the disk, a quota or a limit on file sizes.
    #[error("no space left to write {}: free some and try again", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// `STORE_READ_ONLY`: the permissions or the file system forbid it.
    #[error(
        "no permission for {}: make it writable, or set CONCERTINA_HOME to a directory that is",
        .path.display()
    )]
    ReadOnly {
        /// The file or directory.
        path: PathBuf,
    },
    /// `STORE_BUSY`: another process kept the log locked for longer than we wait.
    #[error("{} is in use by another process: try again when it is done", .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// `STORE_NEWER`: a later version of the program wrote it.
    #[error(
        "{} has format {found}, and this program knows up to {supported}: use a newer version of \
         concertina",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        found: i64,
        /// The newest version that can be read.
        supported: i64,
    },
    /// `STORE_NOT_A_DIRECTORY`: something else is in the way.
    #[error(
        "{} is not a directory: move it away, or set CONCERTINA_HOME to another place",
        .path.display()
    )]
    NotADirectory {
        /// What should be a directory.
        path: PathBuf,
    },
    /// `STORE_NOT_FOUND`: nothing has been kept here yet.
    #[error("there is no log at {}: begin a session, or check CONCERTINA_HOME", .path.display())]
    NotFound {
        /// Where it would be.
        path: PathBuf,
    },
    /// `STORE_IO`: anything else the operating system or SQLite reported.
    #[error("cannot use {}: {source}; check that the disk and the path are in order", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was reported.
        source: io::Error,
    },
}

impl StoreError {
    /// The stable name of what happened.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "STORE_CONFLICT",
            Self::Corrupt { .. } | Self::Chain { .. } => "STORE_CORRUPT",
            Self::Key { .. } => "STORE_KEY",
            Self::Full { .. } => "STORE_FULL",
            Self::ReadOnly { .. } => "STORE_READ_ONLY",
            Self::Busy { .. } => "STORE_BUSY",
            Self::Newer { .. } => "STORE_NEWER",
            Self::NotADirectory { .. } => "STORE_NOT_A_DIRECTORY",
            Self::NotFound { .. } => "STORE_NOT_FOUND",
            Self::Io { .. } => "STORE_IO",
        }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), what: what.into() }
    }

    /// Sorts an error of the operating system.
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        match source.kind() {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Self::Full { path },
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Self::ReadOnly { path },
            Kind::NotADirectory => Self::NotADirectory { path },
            _ => Self::Io { path, source },
        }
    }

    /// Sorts an error of SQLite. The numbers are its result codes,
    /// <https://sqlite.org/rescode.html>.
    pub(crate) fn sqlite(path: &Path, error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        const IOERR_SHORT_READ: i32 = 522;
        const IOERR_CORRUPTFS: i32 = 8458;
        let owned = path.to_owned();
        let failure = error.sqlite_error().map(|failure| (failure.code, failure.extended_code));
        match failure {
            Some(
                (Code::DatabaseCorrupt | Code::NotADatabase, _)
                | (Code::SystemIoFailure, IOERR_SHORT_READ | IOERR_CORRUPTFS),
            ) => Self::corrupt(path, error.to_string()),
            Some((Code::DiskFull, _)) => Self::Full { path: owned },
            Some((Code::ReadOnly | Code::PermissionDenied, _)) => Self::ReadOnly { path: owned },
            Some((Code::DatabaseBusy | Code::DatabaseLocked, _)) => Self::Busy { path: owned },
            // SQLite does not say why it cannot open a file; the operating system does. Where the
            // file itself is fine, it is the files beside it that could not be made.
            Some((Code::CannotOpen, _)) => {
                match std::fs::OpenOptions::new().read(true).write(true).open(path) {
                    Ok(_) => Self::ReadOnly { path: owned },
                    Err(source) => Self::io(path, source),
                }
            }
            // Our statements are always the same, so it is the tables that are not.
            Some((Code::Unknown, _)) if error.to_string().contains("no such ") => {
                Self::corrupt(path, error.to_string())
            }
            // A column with another type than it was declared with.
            None if matches!(
                error,
                rusqlite::Error::InvalidColumnType(..)
                    | rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::IntegralValueOutOfRange(..)
                    | rusqlite::Error::Utf8Error(..)
            ) =>
            {
                Self::corrupt(path, error.to_string())
            }
            _ => Self::Io { path: owned, source: io::Error::other(error) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_sorted() {
        use io::ErrorKind as Kind;
        for (kind, code) in [
            (Kind::StorageFull, "STORE_FULL"),
            (Kind::QuotaExceeded, "STORE_FULL"),
            (Kind::FileTooLarge, "STORE_FULL"),
            (Kind::PermissionDenied, "STORE_READ_ONLY"),
            (Kind::ReadOnlyFilesystem, "STORE_READ_ONLY"),
            (Kind::NotADirectory, "STORE_NOT_A_DIRECTORY"),
            (Kind::BrokenPipe, "STORE_IO"),
        ] {
            let error = StoreError::io(Path::new("/x/y"), kind.into());
            assert_eq!(error.code(), code, "{kind:?}");
            assert!(error.to_string().contains("/x/y"), "{error}");
        }
    }

    #[test]
    fn errors_of_sqlite_are_sorted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (result, code) in [
            (5, "STORE_BUSY"),
            (6, "STORE_BUSY"),
            (8, "STORE_READ_ONLY"),
            (10, "STORE_IO"),
            (11, "STORE_CORRUPT"),
            (13, "STORE_FULL"),
            (14, "STORE_READ_ONLY"),
            (26, "STORE_CORRUPT"),
            (522, "STORE_CORRUPT"),
            (8458, "STORE_CORRUPT"),
        ] {
            let failure = rusqlite::ffi::Error::new(result);
            let error = StoreError::sqlite(
                file.path(),
                rusqlite::Error::SqliteFailure(failure, Some("detail".into())),
            );
            assert_eq!(error.code(), code, "{result}");
        }
        let missing = StoreError::sqlite(
            &file.path().join("below-a-file"),
            rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(14), None),
        );
        assert_eq!(missing.code(), "STORE_NOT_A_DIRECTORY");
    }
}
