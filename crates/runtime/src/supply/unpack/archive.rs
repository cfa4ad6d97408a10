//! Archives: tar, tar.gz and zip, told apart by their first bytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tar::EntryType;
use zip::ZipArchive;

use super::{ENTRIES, LeftOut, SupplyError, Unpacking, broken, refuse};

/// What kind of archive a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A tar archive.
    Tar,
    /// One packed with gzip.
    TarGz,
    /// A zip archive.
    Zip,
}

/// Headers and padding that a tar archive may have beside its content, in bytes: for each entry a header,
/// a long name, and two blocks to fill up.
const OVERHEAD: u64 = ENTRIES as u64 * 8 * 512;

impl Format {
    /// What the first bytes of a file say; none where it is no archive that can be read.
    pub fn of(beginning: &[u8]) -> Option<Self> {
        match beginning {
            [0x1f, 0x8b, ..] => Some(Self::TarGz),
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(Self::Zip),
            _ => (beginning.get(257..262) == Some(b"ustar")).then_some(Self::Tar),
        }
    }
}

/// Unpacks the archive in `file` into the empty directory `into`.
///
/// # Errors
/// `ARCHIVE_UNKNOWN`, `ARCHIVE_BROKEN`, `ARCHIVE_TOO_LARGE`, and for an entry `ENTRY_ESCAPES`,
/// `ENTRY_LINK`, `ENTRY_SPECIAL`, `ENTRY_TWICE`, `ENTRY_NAME`.
pub fn unpack_archive(mut file: File, into: &Path) -> Result<LeftOut, SupplyError> {
    let failed = |error: io::Error| broken(&format!("the archive cannot be read: {error}"));
    let packed = file.metadata().map_err(failed)?.len();
    let mut beginning = Vec::new();
    file.by_ref().take(512).read_to_end(&mut beginning).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let file = BufReader::new(file);
    let mut unpacking = Unpacking::new(into, Some(packed));
    match Format::of(&beginning) {
        // What is not packed is as large as it is.
        Some(Format::Tar) => {
            unpacking = Unpacking::new(into, None);
            tar(file, &mut unpacking)?;
        }
        Some(Format::TarGz) => tar(MultiGzDecoder::new(file), &mut unpacking)?,
        Some(Format::Zip) => zip(file, &mut unpacking)?,
        None => {
            let message =
                "it is no tar, no tar.gz and no zip archive; unpack it and name the directory";
            return Err(SupplyError::refused("ARCHIVE_UNKNOWN", message));
        }
    }
    Ok(unpacking.left_out)
}

fn tar(reader: impl Read, unpacking: &mut Unpacking<'_>) -> Result<(), SupplyError> {
    // Long names and other attributes are read into memory before anybody can look at them.
    let bounded = Bounded { reader, left: unpacking.most.saturating_add(OVERHEAD) };
    let mut archive = tar::Archive::new(bounded);
    let failed = |error: io::Error| match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(TooLarge) => SupplyError::refused("ARCHIVE_TOO_LARGE", TooLarge.to_string()),
        None => broken(&format!("the archive cannot be read: {error}")),
    };
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let name = entry.path_bytes().into_owned();
        let mode = entry.header().mode().unwrap_or_default();
        match entry.header().entry_type() {
            // An old archive writes a directory as a file whose name ends in a slash.
            EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => {
                unpacking.directory(&name)?;
            }
            EntryType::Regular | EntryType::Continuous => {
                unpacking.file(&name, &mut entry, mode & 0o111 != 0)?;
            }
            EntryType::Directory => unpacking.directory(&name)?,
            EntryType::Symlink | EntryType::Link => {
                return Err(refuse("ENTRY_LINK", &name, "is a link; a skill has none"));
            }
            // Attributes for all that follows, such as the commit that `git archive` notes.
            EntryType::XGlobalHeader => {}
            _ => {
                let why = "is a device, a pipe or something else that is no file";
                return Err(refuse("ENTRY_SPECIAL", &name, why));
            }
        }
    }
    // What is packed says at its very end whether it is whole.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(failed)?;
    Ok(())
}

fn zip(file: BufReader<File>, unpacking: &mut Unpacking<'_>) -> Result<(), SupplyError> {
    const KIND: u32 = 0o170_000;
    let failed =
        |error: zip::result::ZipError| broken(&format!("the archive cannot be read: {error}"));
    let mut archive = ZipArchive::new(file).map_err(failed)?;
    if archive.has_duplicate_names() {
        let message = "the archive has two entries of one name";
        return Err(SupplyError::refused("ENTRY_TWICE", message));
    }
    // Entries that share their bytes make a small archive hold very much.
    if archive.len() <= ENTRIES && archive.has_overlapping_entries().map_err(failed)? {
        return Err(broken("entries of the archive lie upon each other"));
    }
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(failed)?;
        let name = entry.name_raw().to_vec();
        let mode = entry.unix_mode().unwrap_or_default();
        match mode & KIND {
            0 | 0o100_000 | 0o040_000 => {}
            0o120_000 => {
                return Err(refuse("ENTRY_LINK", &name, "is a link; a skill has none"));
            }
            _ => {
                let why = "is a device, a pipe or something else that is no file";
                return Err(refuse("ENTRY_SPECIAL", &name, why));
            }
        }
        if entry.is_dir() || mode & KIND == 0o040_000 {
            unpacking.directory(&name)?;
        } else {
            unpacking.file(&name, &mut entry, mode & 0o111 != 0)?;
        }
    }
    Ok(())
}

/// What an archive that holds too much is answered.
#[derive(Debug, thiserror::Error)]
#[error("the archive holds more than so small a file should; a skill is smaller")]
struct TooLarge;

/// A reader with an end.
struct Bounded<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.left = self
            .left
            .checked_sub(length as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, TooLarge))?;
        Ok(length)
    }
}
