//! Skills in directories.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use concertina_core::catalog::{Loaded, SkillEntry, Skipped};

use super::places::Place;
use super::stamp::Stamp;
use super::walk::walk;
use super::{Scan, SkillFile, Source, SourceError, file};

/// What is known of one file from the last scan.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) stamp: Stamp,
    pub(super) kind: Loaded,
    pub(super) found: Result<SkillEntry, Skipped>,
}

/// What the last scan saw.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Skill files, usable or not.
    pub(super) files: HashMap<PathBuf, Known>,
    /// What else would be looked at again if it changed: directories, things that are no skill
    /// file, and places where nothing was.
    pub(super) others: HashMap<PathBuf, Option<Stamp>>,
    /// What came of it.
    pub(super) scan: Scan,
}

/// Skills in a list of directories.
#[derive(Debug, Default)]
pub struct FileSystem {
    places: Vec<Place>,
    last: Option<Seen>,
}

impl FileSystem {
    /// The source of the skills in `places`.
    pub fn new(places: Vec<Place>) -> Self {
        Self { places, last: None }
    }

    /// The skill files that the last scan found, usable or not, sorted.
    pub fn files(&self) -> Vec<(PathBuf, Loaded)> {
        let files = self.last.iter().flat_map(|seen| &seen.files);
        let mut files: Vec<_> = files.map(|(path, known)| (path.clone(), known.kind)).collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files
    }
}

impl Source for FileSystem {
    fn scan(&mut self) -> Scan {
        if let Some(last) = &self.last
            && !self.is_stale()
        {
            return Scan { bytes_read: 0, fresh: Vec::new(), ..last.scan.clone() };
        }
        let known = self.last.take().map(|seen| seen.files).unwrap_or_default();
        let seen = walk(&self.places, known);
        let scan = seen.scan.clone();
        self.last = Some(seen);
        scan
    }

    fn is_stale(&self) -> bool {
        let Some(last) = &self.last else { return true };
        last.others.iter().any(|(path, stamp)| match stamp {
            Some(stamp) => !stamp.still_holds(path),
            None => path.exists(),
        }) || last.files.iter().any(|(path, known)| !known.stamp.still_holds(path))
    }

    fn read(&self, entry: &SkillEntry) -> Option<Result<SkillFile, SourceError>> {
        let path = Path::new(entry.path.as_ref());
        self.last.as_ref()?.files.get(path)?;
        let directory = entry.directory().map(Arc::from);
        Some(file::read(path).map(|bytes| SkillFile { bytes, directory }))
    }
}

/// Whether two entries come from files with the same bytes.
pub(crate) fn same_bytes(a: &SkillEntry, b: &SkillEntry) -> bool {
    let read = |entry: &SkillEntry| file::read(Path::new(entry.path.as_ref()));
    a.head == b.head && a.bytes == b.bytes && matches!((read(a), read(b)), (Ok(a), Ok(b)) if a == b)
}
