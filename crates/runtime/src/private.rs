//! Small records below the state directory: written whole or not at all, for this person's eyes.

use std::fs;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::RuntimeError;

/// What of a state directory nothing a model can ask for may read: keys, tokens, and the log with its texts, which
/// tells of other sessions.
const SECRET: [&str; 8] = [
    "keys",
    "serve",
    "upstreams/tokens",
    "events.db",
    "events.db-shm",
    "events.db-wal",
    "heads",
    "content",
];

/// The places below the state directory that nothing a model can ask for may read.
pub fn secret_places(state: &Path) -> impl Iterator<Item = PathBuf> {
    SECRET.iter().map(|name| state.join(name))
}

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
    let failed = |error: std::io::Error| RuntimeError::Environment {
        code: "NOT_SAVED",
        message: format!("{} cannot be written: {error}; it is as it was", path.display()),
    };
    if let Some(directory) = path.parent() {
        create_private_directory(directory).map_err(failed)?;
    }
    // Never as one text: what a server brings can be large.
    write_whole(path, 0o600, |out| Ok(serde_json::to_writer_pretty(out, record)?)).map_err(failed)
}

/// Creates `directory` and what is missing above it, for this person alone.
pub fn create_private_directory(directory: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Puts what `write` writes in place of the file at `path`, whole or not at all, also when the power
/// fails; a new file gets `mode`.
pub(crate) fn write_whole(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let (file, draft) = create_draft(path, mode)?;
    let mut file = BufWriter::new(file);
    let written = write(&mut file)
        .and_then(|()| file.flush())
        .and_then(|()| file.get_ref().sync_all())
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.and_then(|()| path.parent().map_or(Ok(()), sync_directory))
}

/// Has the disk keep the names in `directory`.
pub(crate) fn sync_directory(directory: &Path) -> std::io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    fs::File::open(directory)?.sync_all()
}

/// A new file beside `path`. One that is there already is never opened: somebody who guessed its name
/// may have put a link there.
fn create_draft(path: &Path, mode: u32) -> std::io::Result<(fs::File, PathBuf)> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{}-{number}.new", std::process::id()));
        match create(&draft, mode) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, draft)),
        }
    }
}

/// Creates the file at `path`, which must not be there yet.
pub fn create(path: &Path, mode: u32) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    options.open(path)
}
