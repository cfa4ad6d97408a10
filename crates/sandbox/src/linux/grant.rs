//! What was granted, opened.
//!
//! A grant is opened once, by the process that grants, and what was opened is what is granted:
//! whatever the path leads to a moment later, it cannot become something else.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

use crate::{Confinement, SandboxError};

/// What may be done with a grant, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read, with everything below.
    Read,
    /// Read and start programs.
    Execute,
    /// Read and write.
    Write,
    /// A device without state, to be read and written.
    Device,
}

/// Which file it is, by whatever name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Identity {
    /// What is at `path`, be it a link.
    pub(super) fn at(path: &Path) -> rustix::io::Result<Self> {
        let stat = rustix::fs::lstat(path)?;
        Ok(Self { device: stat.st_dev, inode: stat.st_ino })
    }
}

/// Something that is granted.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) path: PathBuf,
    pub(super) access: Access,
    pub(super) file: OwnedFd,
    pub(super) identity: Identity,
    pub(super) is_directory: bool,
}

/// Where the kernel shows itself; nothing below is granted.
const KERNEL: &[&str] = &["/proc", "/sys", "/dev"];

impl Grant {
    /// Opens what `confinement` names. A path that is a link, leads through one or is not there is an
    /// error: nobody can say what it would grant.
    pub(super) fn all(confinement: &Confinement) -> Result<Vec<Self>, SandboxError> {
        let lists = [
            (&confinement.read, Access::Read),
            (&confinement.execute, Access::Execute),
            (&confinement.write, Access::Write),
        ];
        let mut grants = Vec::new();
        for (paths, access) in lists {
            for path in paths {
                // Protection wins: whoever protects a directory protects what is granted below it.
                let is_protected = confinement.protect.iter().any(|held| path.starts_with(held));
                let access = match access {
                    Access::Write if is_protected => Access::Read,
                    other => other,
                };
                grants.push(Self::open(path, access)?);
            }
        }
        for written in grants.iter().filter(|grant| grant.access == Access::Write) {
            let contradicts = |grant: &&Self| {
                grant.access == Access::Execute && grant.identity == written.identity
            };
            if grants.iter().any(|grant| contradicts(&grant)) {
                return Err(refused(
                    &written.path,
                    "it may not be written and hold programs to start at once; name the programs \
                     in it one by one, they are then read-only",
                ));
            }
        }
        Ok(grants)
    }

    /// Opens one path.
    pub(super) fn open(path: &Path, access: Access) -> Result<Self, SandboxError> {
        if !is_plain(path) {
            return Err(refused(path, "the path is not absolute, or has `.` or `..` in it"));
        }
        if path.parent().is_none() {
            return Err(refused(path, "that would be everything there is; name directories in it"));
        }
        if KERNEL.iter().any(|kernel| path.starts_with(kernel)) && access != Access::Device {
            return Err(refused(path, "it is the kernel's"));
        }
        let file = open_plain(path).map_err(|error| match error {
            Errno::LOOP => {
                refused(path, "it is a link or leads through one; name what it leads to")
            }
            other => refused(path, &std::io::Error::from(other).to_string()),
        })?;
        let stat = fstat(&file).map_err(|error| refused(path, &error.to_string()))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_fit = match kind {
            FileType::RegularFile | FileType::Directory => true,
            FileType::CharacterDevice => access == Access::Device,
            _ => false,
        };
        if !is_fit {
            return Err(refused(path, "it is neither a file nor a directory"));
        }
        Ok(Self {
            path: path.to_owned(),
            access,
            file,
            identity: Identity { device: stat.st_dev, inode: stat.st_ino },
            is_directory: kind == FileType::Directory,
        })
    }
}

/// Opens `path` without following a link anywhere in it. It can then be asked about, not read.
pub(super) fn open_plain(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Something was renamed meanwhile.
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(file) if is_link(&file) => return Err(Errno::LOOP),
            other => return other,
        }
    }
}

fn is_link(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Whether a path is absolute and says what it means.
pub(super) fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && !path.as_os_str().as_bytes().contains(&0)
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// A path for the kernel.
pub(super) fn text(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| refused(path, "it has a zero byte in it"))
}

pub(super) fn refused(path: &Path, reason: &str) -> SandboxError {
    SandboxError::Grant { path: path.to_owned(), reason: reason.to_owned() }
}
