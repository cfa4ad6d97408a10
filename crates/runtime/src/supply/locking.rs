//! Locking skills as they are, and checking that they are still so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use concertina_core::catalog::{Loaded, Skipped};
use concertina_types::Digest;
use serde::Serialize;

use super::lock::{LOCK_FILE, Lock, LockEntry, differences, path_in};
use super::stage::Held;
use super::{Manifest, PublicKey, SupplyError, signing};
use crate::sources::{FileSystem, Place, Source as _};

/// How a skill stands to a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LockStanding {
    /// It is what was locked.
    Same,
    /// It is another than what was locked.
    Changed,
    /// It is there and was not locked.
    Added,
    /// It was locked and is not there.
    Gone,
}

/// What became of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LockedSkill {
    /// Its name.
    pub name: String,
    /// Where it is, relative to the lock file.
    pub path: String,
    /// How it stands to what was locked before.
    pub standing: LockStanding,
    /// The digest of all of it as it is now; none where it is gone.
    pub digest: Option<Digest>,
    /// What is different, in words.
    pub differences: Vec<String>,
}

/// What a look at a lock file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockReport {
    /// The lock file.
    pub file: PathBuf,
    /// The skills, sorted by path.
    pub skills: Vec<LockedSkill>,
    /// Skills that cannot be locked, and why. What was locked of them before stays locked.
    pub skipped: Vec<Skipped>,
}

impl LockReport {
    /// Whether everything is what the lock file says.
    pub fn is_same(&self) -> bool {
        let is_same = |skill: &LockedSkill| skill.standing == LockStanding::Same;
        self.skills.iter().all(is_same) && self.skipped.is_empty()
    }
}

/// Whether a lock is written or only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// What is there now is locked.
    Write,
    /// Nothing is written.
    Check,
}

/// Holds the skills at or below `paths` against the lock file in `directory`, and locks them as they are
/// now where `mode` says so. Entries of skills elsewhere stay as they are.
///
/// # Errors
/// A skill lies outside `directory`, or the lock file cannot be read or written.
pub fn lock_skills(
    directory: &Path,
    paths: &[PathBuf],
    mode: LockMode,
) -> Result<LockReport, SupplyError> {
    let _held = (mode == LockMode::Write).then(|| Held::take(directory)).transpose()?;
    let known = Lock::read(directory)?.unwrap_or_default();
    let mut lock = known.clone();
    let (mut skills, mut skipped) = (BTreeMap::new(), BTreeMap::new());
    for (file, kind) in skill_files(paths)? {
        let Some(path) = path_in(directory, &file, kind) else {
            let message = format!(
                "{} does not lie below {}, where the lock file is; name the directory that holds both with --lock",
                file.display(),
                directory.display()
            );
            return Err(SupplyError::usage("LOCK_ELSEWHERE", message));
        };
        match compare(&known, path.clone(), &file, kind) {
            Ok((entry, skill)) => {
                lock.set(entry);
                skills.insert(path, skill);
            }
            // One that cannot be locked costs no other its lock.
            Err(error) => {
                let (code, reason) = (error.code().to_owned(), error.to_string());
                let shown = file.display().to_string();
                skipped.insert(path, Skipped { path: shown, code, reason });
            }
        }
    }
    for entry in known.entries() {
        let place = directory.join(&entry.path);
        let is_meant =
            paths.iter().any(|path| place.starts_with(path) || *path == place.join("SKILL.md"));
        let is_there = skills.contains_key(&entry.path) || skipped.contains_key(&entry.path);
        if is_meant && !is_there {
            lock.remove(&entry.path);
            let skill = LockedSkill {
                name: entry.name.clone(),
                path: entry.path.clone(),
                standing: LockStanding::Gone,
                digest: None,
                differences: Vec::new(),
            };
            skills.insert(entry.path.clone(), skill);
        }
    }
    if mode == LockMode::Write && (lock != known || !directory.join(LOCK_FILE).exists()) {
        lock.write(directory)?;
    }
    Ok(LockReport {
        file: directory.join(LOCK_FILE),
        skills: skills.into_values().collect(),
        skipped: skipped.into_values().collect(),
    })
}

/// The entry of the skill in `file`, which a lock calls `path`, and how it stands to what is `known`.
fn compare(
    known: &Lock,
    path: String,
    file: &Path,
    kind: Loaded,
) -> Result<(LockEntry, LockedSkill), SupplyError> {
    let (manifest, _) = Manifest::of(file, kind)?;
    let digest = manifest.digest();
    let before = known.at(&path);
    let same = before.iter().find(|entry| entry.digest == digest);
    let (standing, differences) = match (same, before.first()) {
        (Some(_), _) => (LockStanding::Same, Vec::new()),
        (None, Some(before)) => (LockStanding::Changed, differences(before, &manifest)),
        (None, None) => (LockStanding::Added, Vec::new()),
    };
    let name = manifest.name.clone();
    let mut entry = LockEntry::new(path.clone(), manifest);
    if let Some(before) = same.or(before.first()) {
        entry.source.clone_from(&before.source);
        entry.key.clone_from(&before.key);
    }
    check_key(file, &entry)?;
    let digest = Some(digest);
    Ok((entry, LockedSkill { name, path, standing, digest, differences }))
}

/// The skill files at or below `paths`.
fn skill_files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Loaded)>, SupplyError> {
    for path in paths {
        std::fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                let message = format!("there is no {}; check the path", path.display());
                SupplyError::not_found("NOT_FOUND", message)
            }
            _ => SupplyError::unreadable(path, &error),
        })?;
    }
    let mut source = FileSystem::new(paths.iter().cloned().map(Place::named).collect());
    source.scan();
    Ok(source.files())
}

/// Whoever locked a signature does not lock its absence by the way.
fn check_key(file: &Path, entry: &LockEntry) -> Result<(), SupplyError> {
    let Some(key) = &entry.key else { return Ok(()) };
    let directory = file.parent().unwrap_or(Path::new("."));
    signing::require(directory, &entry.manifest(), &PublicKey::parse(key)?).map(drop).map_err(|error| {
        let message = format!(
            "{error}; its entry in {LOCK_FILE} wants that signature: have it signed again, or remove the entry's `key`"
        );
        SupplyError::Refused { code: error.code(), message }
    })
}
