//! What of a workspace a receipt is bound to: one digest of the files that git tracks, and of those it
//! would track if asked to.
//!
//! An input is what git tracks, also where a pattern ignores it, and what no `.gitignore` at any level and
//! no `info/exclude` ignores. What a person's own settings of git ignore counts, and so does what `.ignore`
//! files name: the same commit has one digest on every machine. Without a repository `.gitignore` files
//! alone decide. `.git` is left out at any depth, and so is Concertina's own state. A repository inside,
//! submodule or not, has its own index and its own `.gitignore` files, and its files are inputs by their content; so a
//! submodule that is not checked out adds nothing, and which commit it is at counts by its files alone. A
//! `.git` in a directory of which the outer repository tracks something makes no repository.
//!
//! Of each input count: its path, whether it is a file, an executable one (by its owner's bit), a link, a
//! pipe, a socket or a device, and what a file holds or a link says. A link to a file of the workspace that is
//! no input counts with what that file holds, too; no other link is followed, and nothing opens what is not a
//! file. Empty directories are no inputs. Content is what lies in the working tree:
//! where git converts line ends or applies filters, trees that differ in that have other digests.
//!
//! Where anything cannot be read the answer is an error: fewer files would pass for fewer inputs.

mod cache;
mod entry;
mod index;
mod links;
mod look;
mod repository;
mod rules;
mod walk;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use concertina_types::Digest;
use ignore::gitignore::Gitignore;

pub use cache::DigestCache;
pub use entry::{Changed, Changes, How, InputsDigest, changed, differences};

use crate::inside::{inside, leads_to};
use crate::touch;

/// Inputs of one procedure. Larger repositories exist; each file takes some 200 bytes of memory, and a
/// procedure that needs so many names a root inside.
const FILES: usize = 1_000_000;

/// What of a workspace counts as input of a procedure.
#[derive(Debug, Clone)]
pub struct Inputs {
    root: PathBuf,
    ignore: Gitignore,
    patterns: Vec<String>,
}

impl Inputs {
    /// The inputs below `root`, seen from `workspace`, without those that `ignore` names. Its patterns mean
    /// what they would mean in a `.gitignore` in `root`, and outweigh what git tracks.
    pub fn new(workspace: &Path, root: &str, ignore: &[String]) -> Result<Self, InputsError> {
        let real = inside(workspace, root).and_then(|path| path.canonicalize().ok());
        let real = real.filter(|path| path.is_dir());
        let root = real.ok_or_else(|| InputsError::Root { root: root.to_owned() })?;
        for pattern in ignore {
            let refused = |why: String| InputsError::Pattern { pattern: pattern.clone(), why };
            let alone = touch::compile(std::slice::from_ref(pattern)).map_err(refused)?;
            if alone.is_empty() {
                return Err(refused("it names nothing".into()));
            }
        }
        let refused = |why| InputsError::Pattern { pattern: ignore.join(", "), why };
        let patterns = ignore.to_vec();
        Ok(Self { root, ignore: touch::compile(ignore).map_err(refused)?, patterns })
    }

    /// The digest of the inputs as they are now. Files of which `cache` knows how they are, are not read.
    pub fn digest(&self, cache: &DigestCache) -> Result<InputsDigest, InputsError> {
        self.digest_at(cache, SystemTime::now())
    }

    /// [`Self::digest`], begun at the moment `now` of the clock by which files are dated.
    pub fn digest_at(
        &self,
        cache: &DigestCache,
        now: SystemTime,
    ) -> Result<InputsDigest, InputsError> {
        let key = self.key();
        let known = cache.load(&key, now);
        let home = cache.home().map(leads_to);
        let found = walk::walk(&self.root, &self.ignore, home.as_deref(), &known, now)?;
        let looks = found.looks;
        let files = u64::try_from(looks.len()).unwrap_or(u64::MAX);
        let saved = if cache::is_worth_saving(files, found.fresh, found.fresh_bytes) {
            let settled = |look: &look::Look| look.stamp.map(|stamp| (stamp, look.entry.content));
            cache.save(&key, now, looks.iter().filter_map(settled))
        } else {
            Ok(())
        };
        let mut entries: Vec<entry::Entry> = looks.into_iter().map(|look| look.entry).collect();
        links::count_hidden(&self.root, &mut entries)?;
        let digest = InputsDigest::of(entries, found.read);
        let mut digest = digest.map_err(|error| InputsError::unreadable(&self.root, error))?;
        digest.note = saved.err().map(|error| format!("digests of files are not kept: {error}"));
        Ok(digest)
    }

    /// What tells these inputs apart from others that are kept in the same place.
    fn key(&self) -> Digest {
        let patterns = self.patterns.iter().flat_map(|pattern| [b"\0", pattern.as_bytes()]);
        Digest::of_parts([self.root.as_os_str().as_encoded_bytes()].into_iter().chain(patterns))
    }
}

/// Why there is no digest of inputs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputsError {
    /// The root is not inside.
    #[error(
        "`{root}` is no directory inside the workspace; name one by its path from there, without `..` and links that lead out"
    )]
    Root {
        /// The root, as it was written.
        root: String,
    },
    /// A pattern cannot be used.
    #[error("the pattern `{pattern}` cannot be used: {why}; write it as in a `.gitignore`")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        why: String,
    },
    /// Something cannot be read.
    #[error("{} cannot be read: {why}; make it readable, or have the procedure ignore it", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file did not stay as it was while it was read.
    #[error("{} changes while it is read; try again when nothing writes to it", path.display())]
    Changing {
        /// Which one.
        path: PathBuf,
    },
    /// There is more than can be counted.
    #[error("{} has {what}; the limit is {limit}; have the procedure ignore a part of it", path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// What there is too much of.
        what: &'static str,
        /// How much of it there may be.
        limit: usize,
    },
}

impl InputsError {
    fn unreadable(path: &Path, why: impl fmt::Display) -> Self {
        Self::Unreadable { path: path.to_owned(), why: why.to_string() }
    }

    fn too_large(path: &Path, what: &'static str, limit: usize) -> Self {
        Self::TooLarge { path: path.to_owned(), what, limit }
    }

    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Root { .. } => "INPUTS_ROOT",
            Self::Pattern { .. } => "INPUTS_PATTERN",
            Self::Unreadable { .. } => "INPUTS_UNREADABLE",
            Self::Changing { .. } => "INPUTS_CHANGING",
            Self::TooLarge { .. } => "INPUTS_TOO_LARGE",
        }
    }
}
