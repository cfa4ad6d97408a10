//! Small records below the state directory: written whole or not at all, for this person's eyes.

use std::fs;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::RuntimeError;

/// The record at `path`; none where there is no such file, and in words why it cannot be read.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    let unreadable = |why: String| format!("{} cannot be read: {why}", path.display());
    match fs::read(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(unreadable(error.to_string())),
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|error| unreadable(error.to_string()))
        }
    }
}

/// Writes the record at `path`.
pub fn write_json<T: Serialize>(path: &Path, record: &T) -> Result<(), RuntimeError> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let failed = |error: std::io::Error| RuntimeError::Environment {
        code: "NOT_SAVED",
        message: format!("{} cannot be written: {error}; it is as it was", path.display()),
    };
    if let Some(directory) = path.parent() {
        create_dir(directory).map_err(failed)?;
    }
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("{}-{number}.new", std::process::id()));
    let written = create(&draft)
        .and_then(|file| {
            // Never as one text: what a server brings can be large.
            let mut file = BufWriter::new(file);
            serde_json::to_writer_pretty(&mut file, record)?;
            file.flush()?;
            file.get_ref().sync_all()
        })
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map_err(failed)
}

/// Creates `directory` and what is missing above it, for this person alone.
pub fn create_dir(directory: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Creates or empties the file at `path`, for this person alone.
pub fn create(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
