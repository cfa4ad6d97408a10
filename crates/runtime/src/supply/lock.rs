//! The lock file: which skills there are, byte for byte.
//!
//! `skills.lock` is JSON of a fixed layout, so that the same skills give the same bytes. Its paths are
//! relative to the directory that it lies in.

use std::fs;
use std::ops::Range;
use std::path::{Component, Path};

use concertina_core::catalog::Loaded;
use concertina_types::Digest;
use serde::{Deserialize, Serialize};

use super::files::FileRecord;
use super::{Manifest, SupplyError};
use crate::private::write_whole;

/// The name of the file.
pub const LOCK_FILE: &str = "skills.lock";
/// The version of its form.
const VERSION: u8 = 1;
/// Its size: ten thousand skills of fifty files each.
const LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// One locked skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockEntry {
    /// Where it is: its directory, or its file where it is a legacy command.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Its version, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where it was installed from: a path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The public key that it has to be signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The digest of its manifest: of everything below, its name and its version.
    pub digest: Digest,
    /// The digest of what it declares.
    pub permissions: Digest,
    /// Its files, sorted by path.
    pub files: Vec<FileRecord>,
}

/// The locked skills of one directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    v: u8,
    /// Sorted by path.
    skills: Vec<LockEntry>,
}

impl Default for Lock {
    fn default() -> Self {
        Self { v: VERSION, skills: Vec::new() }
    }
}

impl LockEntry {
    /// The entry of a skill that lies at `path`.
    pub fn new(path: String, manifest: Manifest) -> Self {
        let digest = manifest.digest();
        let Manifest { v: _, name, version, permissions, files } = manifest;
        Self { path, name, version, source: None, key: None, digest, permissions, files }
    }

    /// What was locked.
    pub fn manifest(&self) -> Manifest {
        Manifest {
            v: VERSION,
            name: self.name.clone(),
            version: self.version.clone(),
            permissions: self.permissions,
            files: self.files.clone(),
        }
    }
}

impl Lock {
    /// The lock file in `directory`; none where there is none.
    ///
    /// # Errors
    /// `LOCK_BROKEN` where it cannot be read or contradicts itself: then nothing below it can be judged.
    pub fn read(directory: &Path) -> Result<Option<Self>, SupplyError> {
        let path = directory.join(LOCK_FILE);
        let broken = |why: String| {
            let help = "bring it back from version control, or remove it and lock anew";
            let message = format!("{} cannot be used: {why}; {help}", path.display());
            SupplyError::refused("LOCK_BROKEN", message)
        };
        let bytes = match fs::metadata(&path) {
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(broken(error.to_string())),
            Ok(meta) if !meta.is_file() && concertina_sandbox::stands_in(&path) => return Ok(None),
            Ok(meta) if !meta.is_file() => return Err(broken("it is not a file".to_owned())),
            Ok(meta) if meta.len() > LOCK_BYTES => {
                return Err(broken(format!("it is larger than {LOCK_BYTES} bytes")));
            }
            Ok(_) => fs::read(&path).map_err(|error| broken(error.to_string()))?,
        };
        let mut lock: Self =
            serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if lock.v != VERSION {
            return Err(broken(format!(
                "it is of version {}, and this program knows {VERSION}",
                lock.v
            )));
        }
        for entry in &lock.skills {
            let mut parts = Path::new(&entry.path).components();
            if !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                return Err(broken(format!("`{}` leads out of its directory", entry.path)));
            }
            if entry.manifest().digest() != entry.digest {
                return Err(broken(format!("what it says of `{}` contradicts itself", entry.path)));
            }
        }
        // It may have been merged by hand.
        lock.skills.sort_by(|a, b| (&a.path, a.digest).cmp(&(&b.path, b.digest)));
        Ok(Some(lock))
    }

    /// What is locked, sorted by path. While an update is under way a path has two: what was there and what
    /// is coming.
    pub fn entries(&self) -> &[LockEntry] {
        &self.skills
    }

    /// Its bytes.
    pub fn render(&self) -> String {
        // A lock is plain data, which always has a text.
        format!("{}\n", serde_json::to_string_pretty(self).unwrap_or_default())
    }

    /// Writes it into `directory`, whole or not at all. Whoever calls holds the directory, so that drafts
    /// which are there were left by a program that was killed.
    pub(super) fn write(&self, directory: &Path) -> Result<(), SupplyError> {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let parts = name.to_str().and_then(|name| {
                name.strip_prefix("skills.")?.strip_suffix(".new")?.split_once('-')
            });
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if parts.is_some_and(|(process, number)| is_number(process) && is_number(number)) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let path = directory.join(LOCK_FILE);
        write_whole(&path, 0o644, |out| out.write_all(self.render().as_bytes()))
            .map_err(|error| SupplyError::not_written(&path, &error))
    }

    /// What is locked at `path`: nothing, one, or two while an update is under way.
    pub fn at(&self, path: &str) -> &[LockEntry] {
        self.skills.get(self.range(path)).unwrap_or_default()
    }

    /// Puts `entry` in place of whatever is locked at its path.
    pub fn set(&mut self, entry: LockEntry) {
        let range = self.range(&entry.path);
        self.skills.splice(range, [entry]);
    }

    /// Locks `entry` beside what is locked at its path.
    pub fn announce(&mut self, entry: LockEntry) {
        let range = self.range(&entry.path);
        self.skills.insert(range.end, entry);
    }

    /// Locks nothing at `path` any more.
    pub fn remove(&mut self, path: &str) {
        let range = self.range(path);
        self.skills.drain(range);
    }

    fn range(&self, path: &str) -> Range<usize> {
        let first = self.skills.partition_point(|entry| entry.path.as_str() < path);
        let end = self.skills.partition_point(|entry| entry.path.as_str() <= path);
        first..end
    }
}

pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// How a lock in `directory` calls the skill whose file is at `file`; none where it lies elsewhere.
pub(super) fn path_in(directory: &Path, file: &Path, kind: Loaded) -> Option<String> {
    let place = if kind == Loaded::Commands { file } else { file.parent()? };
    let path = place.strip_prefix(directory).ok()?.to_str()?;
    Some(if path.is_empty() { ".".to_owned() } else { path.to_owned() })
}

/// What is different in `now`, in words: at most a few files by name.
pub(super) fn differences(locked: &LockEntry, now: &Manifest) -> Vec<String> {
    const NAMED: usize = 5;
    let of = |files: &[FileRecord], path: &str| {
        files.iter().find(|file| file.path == path).map(|file| file.digest)
    };
    let mut words = Vec::new();
    for file in &now.files {
        match of(&locked.files, &file.path) {
            None => words.push(format!("{} was added", file.path)),
            Some(digest) if digest != file.digest => words.push(format!("{} changed", file.path)),
            Some(_) => {}
        }
    }
    let gone = locked.files.iter().filter(|file| of(&now.files, &file.path).is_none());
    words.extend(gone.map(|file| format!("{} is gone", file.path)));
    let more = words.len().saturating_sub(NAMED);
    if more > 0 {
        words.truncate(NAMED);
        words.push(format!("{more} more"));
    }
    words
}
