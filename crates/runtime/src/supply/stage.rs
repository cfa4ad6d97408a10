//! Where a skill is put together before it is there: beside the others, on the same file system, and
//! moved into its place by one rename.
//!
//! One program at a time works in a directory of skills. What one that was killed left behind, the
//! next removes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use super::SupplyError;
use super::files::{SIGNATURE_FILE, walk};
use crate::private::{create, sync_directory};

/// Hidden, so that nobody looks for skills in it.
const STAGING: &str = ".concertina-staging";

/// How long a directory that is taken is waited for, and how often it is looked at: no longer than it takes
/// to start a program.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// The right to change a directory of skills, and a place to prepare the change.
#[derive(Debug)]
pub(super) struct Stage {
    root: PathBuf,
    _held: Vec<Held>,
}

/// The right to change what lies directly in a directory. The system takes it back also when the program
/// is killed.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "it is closed with this")] File);

impl Held {
    /// Takes the directory.
    ///
    /// # Errors
    /// `INSTALL_BUSY` while another program has it.
    pub(super) fn take(directory: &Path) -> Result<Self, SupplyError> {
        let file =
            File::open(directory).map_err(|error| SupplyError::not_written(directory, &error))?;
        // A process that was just forked holds what its parent held until it has closed it.
        let until = Instant::now() + PATIENCE;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() < until {
                std::thread::sleep(LOOK);
                continue;
            }
            let message = format!(
                "another program changes skills in {}; try again when it is done",
                directory.display()
            );
            return Err(SupplyError::environment("INSTALL_BUSY", message));
        }
        Ok(Self(file))
    }
}

impl Stage {
    /// Takes the directory of skills `root`, which is made where it is absent, and the directory of its
    /// lock file.
    ///
    /// # Errors
    /// `INSTALL_BUSY` while another program works there.
    pub(super) fn open(root: &Path, lock: &Path) -> Result<Self, SupplyError> {
        let failed = |error: std::io::Error| SupplyError::not_written(root, &error);
        fs::create_dir_all(root).map_err(failed)?;
        let mut held = vec![Held::take(root)?];
        if lock != root {
            held.push(Held::take(lock)?);
        }
        let stage = Self { root: root.to_owned(), _held: held };
        stage.clear().map_err(failed)?;
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(stage.path("")).map_err(failed)?;
        Ok(stage)
    }

    /// A path in the staging directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(STAGING).join(name)
    }

    /// A new empty directory in it.
    pub(super) fn directory(&self, name: &str) -> Result<PathBuf, SupplyError> {
        let path = self.path(name);
        fs::create_dir(&path).map_err(|error| SupplyError::not_written(&path, &error))?;
        Ok(path)
    }

    /// A new empty file in it.
    pub(super) fn file(&self, name: &str) -> Result<File, SupplyError> {
        let path = self.path(name);
        create(&path, 0o600).map_err(|error| SupplyError::not_written(&path, &error))
    }

    /// Puts the directory `draft` in the place called `name`, in one step; what was there comes into the
    /// staging directory.
    pub(super) fn place(&self, draft: &Path, name: &str) -> Result<(), SupplyError> {
        let target = self.root.join(name);
        let moved = if target.symlink_metadata().is_ok() {
            renameat_with(CWD, draft, CWD, &target, RenameFlags::EXCHANGE).map_err(Into::into)
        } else {
            fs::rename(draft, &target)
        };
        moved.and_then(|()| sync_directory(&self.root)).map_err(|error: std::io::Error| {
            let message = format!(
                "{} cannot be replaced in one step: {error}; it is as it was: move it away yourself and install again",
                target.display()
            );
            SupplyError::environment("NOT_PLACED", message)
        })
    }

    /// Removes the staging directory. A link in its place is removed and not followed.
    fn clear(&self) -> std::io::Result<()> {
        let path = self.root.join(STAGING);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next.
        let _ = self.clear();
    }
}

/// Has the disk keep all that is in the directory `draft`.
pub(super) fn settle(draft: &Path) -> Result<(), SupplyError> {
    let walk = walk(draft)?;
    let files = walk.found.into_iter().map(|found| found.path);
    let signature = draft.join(SIGNATURE_FILE);
    let signature = signature.is_file().then(|| PathBuf::from(SIGNATURE_FILE));
    // Each directory after what is in it.
    for path in files.chain(signature).chain(walk.directories.into_iter().rev()) {
        let path = draft.join(path);
        let kept = File::open(&path).and_then(|file| file.sync_all());
        kept.map_err(|error| SupplyError::not_written(&path, &error))?;
    }
    Ok(())
}
