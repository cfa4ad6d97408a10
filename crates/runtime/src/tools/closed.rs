//! What rules close to a program, as the sandbox is told of it.
//!
//! The kernel was given directories and cannot be told to leave something in them out. Where only reading is
//! given, the other entries of a directory are given one by one: nothing can be made there anyway. Where
//! something may be written, the directory is given whole and what is closed in it is hidden by a mount.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use concertina_core::policy::{FilePath, PathPattern};

/// The paths that rules close: to reading and, second, to writing.
pub(super) struct Rules<'a> {
    unreadable: &'a [PathPattern],
    unwritable: &'a [PathPattern],
}

/// What rules leave of a path, from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Open,
    /// It may be read.
    Unwritable,
    /// Neither read nor written.
    Unreadable,
}

impl<'a> Rules<'a> {
    pub(super) fn new([unreadable, unwritable]: &'a [Vec<PathPattern>; 2]) -> Self {
        Self { unreadable, unwritable }
    }

    /// What they say of exactly `path`. What is no text cannot be judged, so it is closed.
    fn judge(&self, path: &Path) -> Verdict {
        if self.is_empty() {
            return Verdict::Open;
        }
        let path = path.to_str().and_then(|path| FilePath::new(path).ok());
        let is_in = |patterns: &[PathPattern]| {
            path.as_ref().is_none_or(|path| patterns.iter().any(|pattern| pattern.matches(path)))
        };
        match (is_in(self.unreadable), is_in(self.unwritable)) {
            (true, _) => Verdict::Unreadable,
            (false, true) => Verdict::Unwritable,
            (false, false) => Verdict::Open,
        }
    }

    /// What they say of `place` and the directories that it is in: whoever closes one closes all of it.
    pub(super) fn judge_place(&self, place: &Path) -> Verdict {
        place.ancestors().map(|path| self.judge(path)).max().unwrap_or(Verdict::Open)
    }

    fn is_empty(&self) -> bool {
        self.unreadable.is_empty() && self.unwritable.is_empty()
    }

    /// What of `places` may be read. Instead of a directory that holds something closed its other entries
    /// are given.
    pub(super) fn readable(&self, places: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        if self.unreadable.is_empty() {
            return places;
        }
        let open = places.into_iter().filter(|at| self.judge_place(at) != Verdict::Unreadable);
        open.flat_map(|place| self.readable_parts(place).0).collect()
    }

    /// What of `place` may be read, and whether that is all of it. A directory in which nothing is closed is
    /// given as a whole.
    fn readable_parts(&self, place: PathBuf) -> (Vec<PathBuf>, bool) {
        if self.judge(&place) == Verdict::Unreadable {
            return (Vec::new(), false);
        }
        let is_directory = place.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let Ok(entries) = std::fs::read_dir(&place) else { return (vec![place], true) };
        if !is_directory {
            return (vec![place], true);
        }
        let (mut parts, mut whole) = (Vec::new(), true);
        for entry in entries.filter_map(Result::ok) {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let (inside, is_whole) = self.readable_parts(entry.path());
            whole &= is_whole;
            parts.extend(inside.into_iter().filter(|_| !is_link));
        }
        if whole { (vec![place], true) } else { (parts, false) }
    }

    /// The paths that they name outright.
    fn named(&self) -> impl Iterator<Item = &Path> {
        let patterns = self.unreadable.iter().chain(self.unwritable);
        let bases = patterns.map(|pattern| (pattern, pattern.base()));
        bases.filter(|(pattern, base)| pattern.matches(base)).map(|(_, base)| base.as_path())
    }
}

/// What is closed in directories that may be written.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// Neither read nor changed.
    pub(super) closed: BTreeSet<PathBuf>,
    /// Read, and not changed.
    pub(super) kept: BTreeSet<PathBuf>,
}

impl Closed {
    /// What `rules` close within `write`, where `read` may be read.
    pub(super) fn within(
        write: &BTreeSet<PathBuf>,
        read: &BTreeSet<PathBuf>,
        rules: &Rules<'_>,
    ) -> Self {
        let mut closed = Self::default();
        if rules.is_empty() {
            return closed;
        }
        for place in write {
            closed.look(place, read, rules, false);
        }
        // What is not there yet: only where its directory is, since nobody could make that otherwise.
        for path in rules.named().filter(|path| path.symlink_metadata().is_err()) {
            let is_real = path.parent().is_some_and(|parent| {
                parent.canonicalize().is_ok_and(|real| real == parent && real.is_dir())
            });
            if is_real && write.iter().any(|place| path.starts_with(place)) {
                closed.add(path, read, rules);
            }
        }
        closed
    }

    /// Looks for what is closed below `place`; where nothing can be written, only for what cannot be read.
    fn look(&mut self, place: &Path, read: &BTreeSet<PathBuf>, rules: &Rules<'_>, is_kept: bool) {
        if !place.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return;
        }
        let entries = match std::fs::read_dir(place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            // What cannot be looked into cannot be judged; its owner could open it.
            Err(_) => {
                self.closed.insert(place.to_owned());
                return;
            }
        };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            let verdict = rules.judge(&path);
            if verdict == Verdict::Unreadable || (verdict == Verdict::Unwritable && !is_kept) {
                self.add(&path, read, rules);
            }
            let is_kept = is_kept || self.kept.contains(&path);
            if verdict != Verdict::Unreadable && !self.closed.contains(&path) {
                self.look(&path, read, rules, is_kept);
            }
        }
    }

    fn add(&mut self, path: &Path, read: &BTreeSet<PathBuf>, rules: &Rules<'_>) {
        // A link cannot be held open; what it leads to is judged by itself.
        let may_read = rules.judge(path) != Verdict::Unreadable
            && read.iter().any(|place| path.starts_with(place))
            && !path.is_symlink();
        let list = if may_read { &mut self.kept } else { &mut self.closed };
        list.insert(path.to_owned());
    }
}
