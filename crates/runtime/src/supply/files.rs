//! The files that a skill is made of: all of them, hidden ones as well.
//!
//! One walk serves the lock file, signatures, trust and installing, so that they mean the same by
//! "the skill". Left out are what belongs to a version control system (`.git`, in any spelling), the
//! signature, which cannot cover itself, and a lock file, which cannot either.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use concertina_types::{Blob, Digest};
use serde::{Deserialize, Serialize};

use super::{LOCK_FILE, SupplyError};
use crate::sources::open_file;

/// The signature of a skill, beside its SKILL.md.
pub const SIGNATURE_FILE: &str = "SKILL.minisig";
/// Files of one skill. A tree that was made to hurt has an end, too.
const FILES: usize = 100_000;
/// Levels below its directory.
const DEPTH: usize = 32;

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    /// Where it is in the skill, with `/` between the parts.
    pub path: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// What its bytes hash to.
    pub digest: Digest,
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Link,
    /// A device, a pipe, a socket.
    Special,
}

/// One thing in the directory of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// What a walk through the directory of a skill saw.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// What is no directory, sorted by path.
    pub(crate) found: Vec<Found>,
    /// The directories, the skill's own included as the empty path.
    pub(crate) directories: Vec<PathBuf>,
    /// What was left out since it belongs to a version control system.
    pub(crate) left_out: Vec<PathBuf>,
}

/// Whether a part of a path belongs to a version control system. Git takes any spelling on systems
/// that do not tell capitals apart, and what it finds there can make it run programs.
pub(super) fn is_version_control(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Looks at everything in `directory`; opens no file and follows no link.
pub(crate) fn walk(directory: &Path) -> Result<Walk, SupplyError> {
    let mut walk = Walk { directories: vec![PathBuf::new()], ..Walk::default() };
    let mut level = vec![PathBuf::new()];
    for depth in 0.. {
        if level.is_empty() {
            break;
        }
        if depth > DEPTH || walk.found.len() > FILES {
            let message = format!(
                "{} holds more than {FILES} files or {DEPTH} levels of directories; a skill is smaller",
                directory.display()
            );
            return Err(SupplyError::refused("SKILL_TOO_LARGE", message));
        }
        let mut next = Vec::new();
        for below in std::mem::take(&mut level) {
            let full = directory.join(&below);
            let unreadable = |error| SupplyError::unreadable(&full, &error);
            for entry in fs::read_dir(&full).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let (name, path) = (entry.file_name(), below.join(entry.file_name()));
                let kind = entry.file_type().map_err(unreadable)?;
                if is_version_control(&name) {
                    walk.left_out.push(path);
                } else if kind.is_dir() {
                    next.push(path);
                } else if ![SIGNATURE_FILE, LOCK_FILE].map(Path::new).contains(&path.as_path()) {
                    let kind = if kind.is_file() {
                        Kind::File
                    } else if kind.is_symlink() {
                        Kind::Link
                    } else {
                        Kind::Special
                    };
                    walk.found.push(Found { path, kind });
                }
            }
        }
        walk.directories.extend(next.iter().cloned());
        level = next;
    }
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    walk.left_out.sort();
    Ok(walk)
}

/// The record of the file `path` in `directory`, read piece by piece.
pub(super) fn record(directory: &Path, path: &Path) -> Result<FileRecord, SupplyError> {
    let full = directory.join(path);
    let Some(shown) = path.to_str() else {
        let message = format!(
            "{} has a name that is not UTF-8, so no record could name it; rename it",
            full.display()
        );
        return Err(SupplyError::refused("PATH_NOT_TEXT", message));
    };
    let unreadable = |error| SupplyError::unreadable(&full, &error);
    let mut file = open_file(&full).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        let message = format!("{} is not a file", full.display());
        return Err(SupplyError::refused("SPECIAL_FILE", message));
    }
    let blob =
        Blob::of_written(|out| std::io::copy(&mut file, out).map(drop)).map_err(unreadable)?;
    Ok(FileRecord { path: shown.to_owned(), bytes: blob.bytes, digest: blob.digest })
}

/// The records of every file of the skill in `directory`, sorted by path.
///
/// # Errors
/// It holds a link or a device: what that leads to could change without a trace.
pub(super) fn records(directory: &Path) -> Result<Vec<FileRecord>, SupplyError> {
    let mut records = Vec::new();
    for found in walk(directory)?.found {
        if found.kind != Kind::File {
            let what = if found.kind == Kind::Link { "a link" } else { "no plain file" };
            let message = format!(
                "{} is {what}, and what it leads to could change without a trace; put a file in its place",
                directory.join(&found.path).display()
            );
            return Err(SupplyError::refused("SPECIAL_FILE", message));
        }
        records.push(record(directory, &found.path)?);
    }
    records.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(records)
}
