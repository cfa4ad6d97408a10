//! A look at one file: by its stamp where that is known, else by all of its bytes.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::SystemTime;

use concertina_types::{Blob, Digest};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::cache::{Known, Stamp, is_racy};
use super::entry::{Entry, Kind};

/// How often a file is read that changes meanwhile.
const ATTEMPTS: usize = 5;

/// What a look found.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) entry: Entry,
    /// How the file is recognised the next time; none where it must be read again.
    pub(super) stamp: Option<Stamp>,
    /// How many bytes were read; none where what was known held.
    pub(super) read: Option<u64>,
}

/// Why a look found nothing.
#[derive(Debug)]
pub(super) enum Failure {
    Io(io::Error),
    /// It was something else each time.
    Changing,
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// What `name` in `directory` is, with `path` as its path; none where it is gone.
pub(super) fn look(
    directory: BorrowedFd<'_>,
    name: &CStr,
    path: &[u8],
    known: &Known,
    now: SystemTime,
) -> Result<Option<Look>, Failure> {
    for _ in 0..ATTEMPTS {
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let entry = |kind, content| Entry { path: path.into(), kind, content };
        let special = |kind| {
            let entry = entry(kind, Digest::from_bytes([0; 32]));
            Ok(Some(Look { entry, stamp: None, read: None }))
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let executable = Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR);
                let kind = if executable { Kind::Executable } else { Kind::File };
                let stamp = Stamp::of(&stat);
                let kept = |stat| (!is_racy(stat, now)).then_some(stamp);
                if let Some(content) = known.get(&stamp) {
                    let entry = entry(kind, content);
                    return Ok(Some(Look { entry, stamp: kept(&stat), read: None }));
                }
                if let Some(blob) = read(directory, name, &stamp)? {
                    let entry = entry(kind, blob.digest);
                    return Ok(Some(Look { entry, stamp: kept(&stat), read: Some(blob.bytes) }));
                }
            }
            FileType::Symlink => match readlinkat(directory, name, Vec::new()) {
                Ok(target) => {
                    let entry = entry(Kind::Link, Digest::of(target.as_bytes()));
                    return Ok(Some(Look { entry, stamp: None, read: None }));
                }
                // It is gone, or no link any more.
                Err(Errno::NOENT | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            },
            FileType::Fifo => return special(Kind::Pipe),
            FileType::Socket => return special(Kind::Socket),
            FileType::BlockDevice => return special(Kind::Block),
            FileType::CharacterDevice => return special(Kind::Character),
            // It was a file when its directory was read.
            FileType::Directory | FileType::Unknown => return Err(Failure::Changing),
        }
    }
    Err(Failure::Changing)
}

/// What the file `name` holds; none where it is not, or did not stay, what has this stamp.
fn read(directory: BorrowedFd<'_>, name: &CStr, stamp: &Stamp) -> Result<Option<Blob>, Failure> {
    let mut file = match open(directory, name) {
        Ok(file) => file,
        // Gone, a link by now, or a pipe or device without another side.
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_still = |stat: Stat| Stamp::of(&stat) == *stamp;
    if !is_still(fstat(&file)?) {
        return Ok(None);
    }
    let blob = Blob::of_written(|out| io::copy(&mut file, out).map(drop)).map_err(Failure::Io)?;
    Ok(is_still(fstat(&file)?).then_some(blob))
}

/// Opens `name` itself, never what a link leads to, and waits for nobody.
pub(super) fn open(directory: BorrowedFd<'_>, name: &CStr) -> Result<File, Errno> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    openat(directory, name, flags, Mode::empty()).map(File::from)
}
