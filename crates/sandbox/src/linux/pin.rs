//! Files as they were approved.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use concertina_types::Digest;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use super::grant::refused;
use crate::{Pin, SandboxError};

/// An approved file, in bytes: it is held in memory while the program runs.
const BYTES: u64 = 64_000_000;

/// The bytes that were approved, and how they are to be given to the program.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) is_executable: bool,
}

impl Pinned {
    /// Reads a file once. What was read is compared, and what was compared is what is run.
    pub(super) fn read(pin: &Pin) -> Result<Self, SandboxError> {
        let failed = |error: &std::io::Error| refused(&pin.path, &error.to_string());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat2(CWD, &pin.path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
            .map_err(|error| failed(&error.into()))?;
        let stat = fstat(&file).map_err(|error| failed(&error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(refused(&pin.path, "only files can be approved"));
        }
        let mut bytes = Vec::new();
        File::from(file).take(BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > BYTES {
            let reason = format!("an approved file may have {} MB", BYTES / 1_000_000);
            return Err(refused(&pin.path, &reason));
        }
        let found = Digest::of(&bytes);
        if found != pin.digest {
            let path = pin.path.clone();
            return Err(SandboxError::Changed { path, approved: pin.digest, found });
        }
        Ok(Self { path: pin.path.clone(), bytes, is_executable: stat.st_mode & 0o111 != 0 })
    }
}
