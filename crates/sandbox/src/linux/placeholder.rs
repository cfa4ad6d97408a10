//! Keeps what is not there from coming to be.
//!
//! A mount needs something to be mounted on. Where a protected path does not exist, an empty
//! directory stands in for it while the program runs, and is gone afterwards. Several runs share one:
//! each holds a lock on it, and who can have it alone removes it. One that was left behind, by a
//! machine that lost its power, is known by its age and taken over by the next run.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, Timespec,
    Timestamps, UTIME_OMIT, fchmod, flock, fstat, futimens, mkdirat, openat2, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::grant::{open_plain, refused, text};
use crate::SandboxError;

/// So that nobody takes it for theirs: may be looked at, not written.
const MODE: u32 = 0o555;
/// When a placeholder was changed last, in seconds: nothing else is that old.
const AGE: i64 = 1;
/// How often a placeholder that disappears again is made anew before giving up.
const TRIES: usize = 100;

/// An empty directory in the place of something that must not come to be.
#[derive(Debug)]
pub(super) struct Placeholder {
    pub(super) path: PathBuf,
    parent: OwnedFd,
    name: CString,
    held: OwnedFd,
}

/// The part of a protected path that has to be held.
#[derive(Debug)]
pub(super) enum Protected {
    /// It is there.
    There,
    /// It is not, nor is what follows this part of it.
    Missing(Placeholder),
}

impl Placeholder {
    /// Looks along `path` from `root`, which is there, and puts a placeholder where it ends early. A link
    /// is an error, but at the end where it may be one.
    pub(super) fn along(
        root: &Path,
        path: &Path,
        may_be_link: bool,
    ) -> Result<Protected, SandboxError> {
        let below = path.strip_prefix(root).unwrap_or(path);
        let mut at = root.to_owned();
        for part in below.components() {
            let parent = at.clone();
            at.push(part);
            match open_plain(&at) {
                Ok(file) if is_placeholder(&file) => {}
                Ok(_) => continue,
                Err(Errno::NOENT) => {}
                Err(Errno::LOOP) if may_be_link && at == path => continue,
                Err(Errno::LOOP) => {
                    let reason = "it is to stay as it is, and a link in a directory that may be \
                                  written cannot be held; grant what is beside it instead";
                    return Err(refused(&at, reason));
                }
                Err(error) => return Err(refused(&at, &std::io::Error::from(error).to_string())),
            }
            return Self::put(&parent, &at);
        }
        Ok(Protected::There)
    }

    fn put(parent: &Path, path: &Path) -> Result<Protected, SandboxError> {
        let failed = |error: Errno| {
            let error = std::io::Error::from(error);
            refused(path, &format!("it is to stay absent, and nothing can hold its place: {error}"))
        };
        let name = text(path.file_name().map_or(path, Path::new))?;
        let parent = open_plain(parent).map_err(failed)?;
        for _ in 0..TRIES {
            let held = match open_directory(&parent, &name) {
                Ok(held) if is_placeholder(&held) => held,
                Ok(_) | Err(Errno::NOTDIR) => return Ok(Protected::There),
                Err(Errno::NOENT) => match make(&parent, &name) {
                    Ok(held) => held,
                    // Somebody else was first, or cleared away what seemed to be left behind.
                    Err(Errno::EXIST | Errno::NOENT) => continue,
                    Err(error) => return Err(failed(error)),
                },
                Err(error) => return Err(failed(error)),
            };
            flock(&held, FlockOperation::LockShared).map_err(failed)?;
            // Between the two somebody else may have removed it: then the lock holds nothing.
            if is_at(&held, &parent, &name) {
                return Ok(Protected::Missing(Self { path: path.to_owned(), parent, name, held }));
            }
        }
        Err(failed(Errno::AGAIN))
    }

    /// Removes it, where nobody else needs it. Makes system calls and nothing else, so that it can be
    /// done in a process that was forked.
    pub(super) fn remove(&self) {
        if flock(&self.held, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_at(&self.held, &self.parent, &self.name)
        {
            // What is not empty is not ours any more, and stays.
            let _ = unlinkat(&self.parent, self.name.as_c_str(), AtFlags::REMOVEDIR);
        }
    }

    /// What it needs to be removed.
    pub(super) fn files(&self) -> [std::os::fd::BorrowedFd<'_>; 2] {
        [self.parent.as_fd(), self.held.as_fd()]
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Whether `name` still means this directory.
fn is_at(held: &OwnedFd, parent: &OwnedFd, name: &CStr) -> bool {
    statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|there| {
        fstat(held).is_ok_and(|own| (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino))
    })
}

fn open_directory(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(parent, name, flags, Mode::empty(), ResolveFlags::BENEATH)
}

/// Makes one and gives it its name when all the rest of it is as it should be: nobody sees it half
/// made.
fn make(parent: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let thread = rustix::thread::gettid().as_raw_nonzero();
    let draft = CString::new(format!(".concertina-{thread}")).map_err(|_| Errno::INVAL)?;
    if let Err(error) = mkdirat(parent, &draft, Mode::RWXU) {
        // One of this name was left behind by a thread that ended here.
        let _ = unlinkat(parent, &draft, AtFlags::REMOVEDIR);
        return Err(error);
    }
    let made = open_directory(parent, &draft).and_then(|made| {
        fchmod(&made, Mode::from_raw_mode(MODE))?;
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: AGE, tv_nsec: 0 },
        };
        futimens(&made, &times)?;
        renameat_with(parent, &draft, parent, name, RenameFlags::NOREPLACE)?;
        Ok(made)
    });
    if made.is_err() {
        let _ = unlinkat(parent, &draft, AtFlags::REMOVEDIR);
    }
    made
}

/// Whether what stands at `path` is such a directory: then there is nothing of that name.
pub fn stands_in(path: &Path) -> bool {
    open_plain(path).is_ok_and(|file| is_placeholder(&file))
}

fn is_placeholder(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            && stat.st_mtime == AGE
            && stat.st_mode & 0o777 == MODE
    })
}
