//! Taking an archive or a directory apart into a staging directory that nobody looks into.
//!
//! Nothing is executed, no link is made or followed, and nothing is written anywhere else. An archive in
//! which one entry is refused is refused as a whole.

mod archive;
mod directory;
mod names;

use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

pub use archive::{Format, unpack_archive};
pub use directory::copy_directory;
use names::{Names, What, shown};

use super::SupplyError;
use crate::private::create;

/// Entries of one archive. The largest real skill seen has a few hundred.
pub const ENTRIES: usize = 10_000;
/// Everything that an archive holds, in bytes.
pub const UNPACKED_BYTES: u64 = 256 * 1024 * 1024;
/// How many times larger than the archive its content may be; text is seldom packed to a fiftieth.
pub const RATIO: u64 = 200;
/// Below so many bytes no ratio counts: a small file of blanks is no attack.
pub(super) const RATIO_FREE_BYTES: u64 = 1024 * 1024;

/// What was left out of a skill on the way in, so that nobody misses it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Entries that belong to a version control system.
    pub version_control: usize,
}

/// The way into a staging directory: every entry of every kind of source takes it.
struct Unpacking<'a> {
    into: &'a Path,
    names: Names,
    entries: usize,
    bytes: u64,
    /// What the content may come to, in bytes.
    most: u64,
    left_out: LeftOut,
}

impl<'a> Unpacking<'a> {
    /// Into the empty directory `into`, from a source of `packed` bytes; none where it is not packed.
    fn new(into: &'a Path, packed: Option<u64>) -> Self {
        let by_ratio = packed.map(|packed| packed.saturating_mul(RATIO).max(RATIO_FREE_BYTES));
        let most = by_ratio.unwrap_or(UNPACKED_BYTES).min(UNPACKED_BYTES);
        Self {
            into,
            names: Names::default(),
            entries: 0,
            bytes: 0,
            most,
            left_out: LeftOut::default(),
        }
    }

    /// Counts an entry, and gives its path below the staging directory; none where it is left out.
    fn entry(&mut self, name: &[u8], what: What) -> Result<Option<PathBuf>, SupplyError> {
        self.entries += 1;
        if self.entries > ENTRIES {
            let message = format!("there are more than {ENTRIES} entries; a skill has fewer");
            return Err(SupplyError::refused("ARCHIVE_TOO_LARGE", message));
        }
        let path = self.names.accept(name, what)?;
        if path.is_none() && what == What::File {
            self.left_out.version_control += 1;
        }
        Ok(path.map(|path| self.into.join(path)))
    }

    fn directory(&mut self, name: &[u8]) -> Result<(), SupplyError> {
        match self.entry(name, What::Directory)? {
            Some(path) => {
                fs::create_dir_all(&path).map_err(|error| SupplyError::not_written(&path, &error))
            }
            None => Ok(()),
        }
    }

    /// Writes a file with what `content` gives. Of its mode only `is_executable` is kept.
    fn file(
        &mut self,
        name: &[u8],
        content: &mut dyn Read,
        is_executable: bool,
    ) -> Result<(), SupplyError> {
        let Some(path) = self.entry(name, What::File)? else { return Ok(()) };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| SupplyError::not_written(parent, &error))?;
        }
        let mode = if is_executable { 0o755 } else { 0o644 };
        let mut file =
            create(&path, mode).map_err(|error| SupplyError::not_written(&path, &error))?;
        let mut piece = vec![0; 64 * 1024];
        loop {
            let length = content.read(&mut piece).map_err(|error| {
                // What a reader of ours refused says so by itself.
                broken(&format!("the entry {} cannot be read: {error}", shown(name)))
            })?;
            if length == 0 {
                break;
            }
            self.bytes += length as u64;
            if self.bytes > self.most {
                let message = format!(
                    "at the entry {} the content comes to more than {} bytes, which is more than so small an archive should hold",
                    shown(name),
                    self.most
                );
                return Err(SupplyError::refused("ARCHIVE_TOO_LARGE", message));
            }
            let bytes = piece.get(..length).unwrap_or_default();
            file.write_all(bytes).map_err(|error| SupplyError::not_written(&path, &error))?;
        }
        Ok(())
    }
}

fn refuse(code: &'static str, name: &[u8], why: &str) -> SupplyError {
    SupplyError::refused(code, format!("the entry {} {why}", shown(name)))
}

fn broken(why: &str) -> SupplyError {
    SupplyError::refused("ARCHIVE_BROKEN", format!("{why}; take it from its source again"))
}
