//! What is known of one file, how all of them become one digest, and what differs between two looks.

use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::path::PathBuf;

use concertina_types::{Blob, Digest};

use super::rules::path_of;

/// What the digest of inputs begins with. Another way to count gets another word, since a receipt must
/// not hold for what was counted otherwise.
const WORD: &[u8] = b"concertina inputs 1\n";

/// What kind of thing a path names. Of a mode only this counts: the rest of it depends on who made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    File = b'f',
    Executable = b'x',
    Link = b'l',
    Pipe = b'p',
    Socket = b's',
    Block = b'b',
    Character = b'c',
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Seen from the root of the inputs.
    pub(super) path: Box<[u8]>,
    pub(super) kind: Kind,
    /// Of a file's content or a link's target. Of other things there is nothing to read.
    pub(super) content: Digest,
}

/// The inputs as they were at one moment.
#[derive(Debug, Clone)]
pub struct InputsDigest {
    /// Of all inputs: equal on every machine where paths, kinds and contents are equal.
    pub digest: Digest,
    /// How many inputs there are.
    pub files: u64,
    /// How many of them had to be read, since nothing was known of them as they are.
    pub read: u64,
    /// Why what was read could not be kept for the next look, which will take as long as this one.
    pub note: Option<String>,
    entries: Vec<Entry>,
}

impl InputsDigest {
    /// The digest of `entries`, which are in the order of their paths.
    pub(super) fn of(entries: Vec<Entry>, read: u64) -> io::Result<Self> {
        let digest = Blob::of_written(|out| {
            out.write_all(WORD)?;
            // Each part says how long it is, so no two lists are written alike.
            entries.iter().try_for_each(|entry| {
                let length = u64::try_from(entry.path.len()).map_err(io::Error::other)?;
                out.write_all(&length.to_le_bytes())?;
                out.write_all(&entry.path)?;
                out.write_all(&[entry.kind as u8])?;
                out.write_all(entry.content.as_bytes())
            })
        })?
        .digest;
        let files = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        Ok(Self { digest, files, read, note: None, entries })
    }
}

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It holds something else, or is another kind of thing.
    Modified,
    /// It can be executed now, or not any more.
    Mode,
}

/// An input that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Which one, seen from the root of the inputs.
    pub path: PathBuf,
    /// What became of it.
    pub how: How,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            How::Added => "added",
            How::Removed => "removed",
            How::Modified => "modified",
            How::Mode => "its mode changed",
        };
        // Quoted, since a name can hold line breaks.
        fmt::Debug::fmt(&self.path, f)?;
        write!(f, " ({how})")
    }
}

/// The first of what changed, and how much more there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the order of their paths.
    pub shown: Vec<Changed>,
    /// How many are not shown.
    pub more: u64,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.shown.iter().map(Changed::to_string).collect();
        f.write_str(&shown.join(", "))?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Changes that are shown at once: what a person or a model takes in.
const SHOWN: usize = 20;

/// What differs between two looks at the same inputs, the first few and a count.
pub fn changed(before: &InputsDigest, after: &InputsDigest) -> Changes {
    let mut all = differences(before, after);
    let shown = all.by_ref().take(SHOWN).collect();
    Changes { shown, more: u64::try_from(all.count()).unwrap_or(u64::MAX) }
}

/// All that differs between two looks at the same inputs, in the order of paths: for whoever allows some
/// of it.
pub fn differences(before: &InputsDigest, after: &InputsDigest) -> impl Iterator<Item = Changed> {
    let mut before = before.entries.iter().peekable();
    let mut after = after.entries.iter().peekable();
    std::iter::from_fn(move || {
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.path.cmp(&new.path),
            };
            let old = if order.is_le() { before.next() } else { None };
            let new = if order.is_ge() { after.next() } else { None };
            let (entry, how) = match (old, new) {
                (Some(old), Some(new)) if old == new => continue,
                (Some(old), Some(new)) => (new, how(old, new)),
                (Some(old), None) => (old, How::Removed),
                (None, new) => (new?, How::Added),
            };
            return Some(Changed { path: path_of(&entry.path).to_owned(), how });
        }
    })
}

fn how(old: &Entry, new: &Entry) -> How {
    let is_file = |entry: &Entry| matches!(entry.kind, Kind::File | Kind::Executable);
    if is_file(old) && is_file(new) && old.content == new.content {
        How::Mode
    } else {
        How::Modified
    }
}
