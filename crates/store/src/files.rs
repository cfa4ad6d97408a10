//! Private directories and files that appear complete or not at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::StoreError;

/// A path that a later change of the working directory does not move. It also never begins with
/// `file:`, which SQLite would take for a URI.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Creates `dir` and what is missing above it, for this user alone (0700). Directories that
/// exist keep their permissions.
pub(crate) fn create_private_dir(dir: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::NotADirectory { path: dir.to_owned() },
        _ => StoreError::io(dir, error),
    })
}

/// Creates a new file for this user alone (0600) beside `target`, to be renamed or linked to it.
///
/// The number of the process and a counter tell writers apart. Where they do not, as when two
/// containers share a directory, creating fails and the next number is tried.
pub(crate) fn create_temporary(target: &Path) -> Result<(File, PathBuf), StoreError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".new-{}-{number}", process::id()));
        match options.open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::io(target, error)),
        }
    }
}

/// Has the disk keep the names in a directory.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    // Windows cannot flush a directory and keeps names in order by itself.
    if cfg!(unix) {
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(|error| StoreError::io(dir, error))?;
    }
    Ok(())
}
