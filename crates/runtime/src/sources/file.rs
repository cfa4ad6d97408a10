//! Opening files that others put there: nothing is waited for, nothing is read without a limit.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use concertina_core::catalog::Loaded;
use concertina_types::limits;
use rustix::fs::OFlags;

use super::SourceError;

/// Opens `path` for reading. A pipe without a writer would otherwise be waited for.
pub(crate) fn open(path: &Path) -> std::io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// All bytes of the file at `path`, at most [`limits::SKILL_BYTES`].
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    let shown = || path.display().to_string();
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => SourceError::Gone { path: shown() },
        _ => SourceError::Unreadable { path: shown(), source },
    };
    let file = open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(failed(std::io::Error::new(ErrorKind::InvalidInput, "it is not a file")));
    }
    let mut bytes = Vec::new();
    file.take(limits::SKILL_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > limits::SKILL_BYTES {
        let bytes = meta.len().max(size);
        return Err(SourceError::TooLarge { path: shown(), bytes, limit: limits::SKILL_BYTES });
    }
    Ok(bytes)
}

/// What a skill file is called by its place: as its directory, or as the file itself where
/// directories only group.
pub(crate) fn name_by_place(path: &Path, kind: Loaded) -> String {
    let directory = |path: &Path| path.parent().and_then(Path::file_name).map(OsStr::to_owned);
    let name = match kind {
        Loaded::Commands => path.file_stem().map(OsStr::to_owned),
        // A relative path such as SKILL.md says nothing of its directory.
        Loaded::Skills => directory(path).or_else(|| directory(&std::path::absolute(path).ok()?)),
        Loaded::Bundled => {
            path.to_str().and_then(|path| path.strip_prefix("bundled:")).map(Into::into)
        }
    };
    name.as_deref().and_then(OsStr::to_str).unwrap_or("skill").to_owned()
}

/// The name of the file, as far as it says something about the skill: a command is called as it
/// likes.
pub(crate) fn file_name(path: &Path, kind: Loaded) -> &str {
    match kind {
        Loaded::Commands => None,
        Loaded::Skills | Loaded::Bundled => path.file_name().and_then(OsStr::to_str),
    }
    .unwrap_or("SKILL.md")
}
