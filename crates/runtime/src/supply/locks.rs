//! The lock files that count for skills: those in the directories above each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use concertina_core::catalog::Loaded;

use super::Manifest;
use super::files::walk;
use super::lock::{LOCK_FILE, Lock, differences, path_in};
use crate::sources::Stamp;

/// How far above a skill's file a lock may lie: `.claude/skills/GROUP/NAME/SKILL.md` and some.
const LEVELS: usize = 8;

/// What lock files say of skills, and what would have to change for them to say something else.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// The lock of each directory that was looked at, or why it cannot be used.
    known: HashMap<PathBuf, Result<Option<Lock>, String>>,
    watched: HashMap<PathBuf, Option<Stamp>>,
}

impl Locks {
    /// Why the skill whose file is at `path` may not be used: it is not what a lock above it says. None
    /// where no lock speaks of it, or all that do say what it is.
    pub(crate) fn objection(&mut self, path: &Path, kind: Loaded) -> Option<String> {
        if kind == Loaded::Bundled {
            return None;
        }
        let mut manifest = None;
        for directory in path.ancestors().skip(1).take(LEVELS).filter(|at| at.is_absolute()) {
            let lock = match self.lock(directory) {
                Ok(None) => continue,
                Ok(Some(lock)) => lock,
                Err(why) => return Some(why.clone()),
            };
            let Some(at) = path_in(directory, path, kind) else { continue };
            let locked = lock.at(&at).to_vec();
            let Some(first) = locked.first() else { continue };
            let now = manifest.get_or_insert_with(|| {
                self.watch_skill(path, kind);
                Manifest::of(path, kind).map(|(manifest, _)| (manifest.digest(), manifest))
            });
            let file = directory.join(LOCK_FILE);
            match now {
                Err(error) => {
                    return Some(format!("it is locked in {} and {error}", file.display()));
                }
                Ok((digest, now)) if locked.iter().all(|entry| entry.digest != *digest) => {
                    let words = differences(first, now);
                    let what = if words.is_empty() {
                        "what it is called".to_owned()
                    } else {
                        words.join(", ")
                    };
                    return Some(format!("it is not what {} says: {what}", file.display()));
                }
                Ok(_) => {}
            }
        }
        None
    }

    /// Whether something changed that was looked at.
    pub(crate) fn is_stale(&self) -> bool {
        self.watched.iter().any(|(path, stamp)| match stamp {
            Some(stamp) => !stamp.still_holds(path),
            None => path.exists(),
        })
    }

    fn lock(&mut self, directory: &Path) -> &Result<Option<Lock>, String> {
        if !self.known.contains_key(directory) {
            self.watch(directory.join(LOCK_FILE));
        }
        self.known
            .entry(directory.to_owned())
            .or_insert_with(|| Lock::read(directory).map_err(|error| error.to_string()))
    }

    /// Watches all that the skill at `path` is made of.
    pub(crate) fn watch_skill(&mut self, path: &Path, kind: Loaded) {
        self.watch(path.to_owned());
        let Some(directory) = path.parent().filter(|_| kind == Loaded::Skills) else { return };
        // What cannot be walked is an objection anyway, and the walk is tried again with the next look.
        let seen = walk(directory).unwrap_or_default();
        let files = seen.found.into_iter().map(|found| found.path);
        for path in files.chain(seen.directories) {
            self.watch(directory.join(path));
        }
    }

    /// Remembers how things stand at `path`, before they are read.
    fn watch(&mut self, path: PathBuf) {
        let now = SystemTime::now();
        let stamp = std::fs::metadata(&path).ok().map(|meta| Stamp::of(&meta, now));
        self.watched.insert(path, stamp);
    }
}
