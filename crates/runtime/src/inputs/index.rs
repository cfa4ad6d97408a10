//! Which files git tracks, read from its index: versions 2, 3 and 4 of gitformat-index(5).
//!
//! Git's own program would cost a process for each look, and says what the configuration of a person
//! makes it say. Of an index only the paths are of use here: content is hashed by ourselves.

use std::cmp::Ordering;
use std::ops::Range;

use concertina_types::Digest;
use sha1::{Digest as _, Sha1};

/// What an entry begins with: times, device, inode, mode, owner, size. None of it is used.
const STAT_BYTES: usize = 40;
/// How long an object's name can be, in bytes: SHA-1 or SHA-256. Which one it is stands in the
/// repository's configuration; an index fits one of them only.
const OBJECT_BYTES: [usize; 2] = [SHA1_BYTES, 32];
const SHA1_BYTES: usize = 20;
/// Bits of an entry's flags: more flags follow; the stage of a merge; the length of the name, where it
/// is shorter than the greatest length that can be said.
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const LENGTH: u16 = 0x0fff;

/// The paths that git tracks, in the order of their bytes.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// All paths, one behind the other.
    names: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Index {
    /// The index whose file holds `bytes`; in words why it cannot be read. What is not understood as a
    /// whole is an error: a part of the paths would pass for all of them.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut failure = None;
        for object in OBJECT_BYTES {
            match parse(bytes, object) {
                Ok(index) => return Ok(index),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        Err(failure.unwrap_or_default())
    }

    /// All entries.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.ends.len()
    }

    /// Those of the entries `within` whose paths begin with `prefix`.
    pub(super) fn below(&self, prefix: &[u8], within: &Range<usize>) -> Range<usize> {
        let cut = |path: &[u8]| path.get(..prefix.len()).unwrap_or(path).cmp(prefix);
        let start = self.first(within, |path| cut(path) == Ordering::Less);
        let end = self.first(&(start..within.end), |path| cut(path) != Ordering::Greater);
        start..end
    }

    /// Whether `path` is one of the entries `within`.
    pub(super) fn holds(&self, path: &[u8], within: &Range<usize>) -> bool {
        let at = self.first(within, |other| other < path);
        at < within.end && self.path(at) == path
    }

    /// The first of the entries `within` that is not `before`, which holds for a first part of them.
    fn first(&self, within: &Range<usize>, before: impl Fn(&[u8]) -> bool) -> usize {
        let Range { mut start, mut end } = within.clone();
        while start < end {
            let middle = usize::midpoint(start, end);
            if before(self.path(middle)) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        start
    }

    fn path(&self, at: usize) -> &[u8] {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or_default();
        let start = at.checked_sub(1).map_or(0, end);
        self.names.get(start..end(at)).unwrap_or_default()
    }

    fn last(&self) -> &[u8] {
        self.ends.len().checked_sub(1).map_or(&[], |at| self.path(at))
    }

    /// Adds a path that begins as the last one does, with `keep` bytes of it. It must not come before the last one. Stages of a merge repeat a path.
    fn push(&mut self, keep: usize, rest: &[u8], stage: u16) -> Result<(), String> {
        let last = self.last();
        let is_again =
            stage != 0 && last.len() == keep + rest.len() && last.get(keep..) == Some(rest);
        if is_again {
            return Ok(());
        }
        // What is kept is equal, so the rest decides.
        if last.get(keep..) >= Some(rest) {
            return Err("its paths are not in order".into());
        }
        let start = self.names.len() - last.len();
        self.names.extend_from_within(start..start + keep);
        self.names.extend_from_slice(rest);
        self.ends.push(self.names.len());
        Ok(())
    }
}

fn parse(bytes: &[u8], object: usize) -> Result<Index, String> {
    let end = bytes.len().checked_sub(object).ok_or("it is too short")?;
    let mut file = Reader { bytes: bytes.get(..end).unwrap_or_default(), at: 0 };
    if file.take(4)? != b"DIRC" {
        return Err("it does not begin as an index does".into());
    }
    let version = file.number()?;
    if !(2..=4).contains(&version) {
        return Err(format!("it has version {version}; 2, 3 and 4 are known"));
    }
    let count = file.number()?;
    let mut index = Index::default();
    for _ in 0..count {
        entry(&mut file, version, object, &mut index)?;
    }
    extensions(&mut file)?;
    let sum = bytes.get(end..).unwrap_or_default();
    // Git can be told to write none.
    if sum.iter().any(|byte| *byte != 0) && sum != checksum(file.bytes, object) {
        return Err("its checksum is another; `git fsck` says more".into());
    }
    Ok(index)
}

/// What an index ends with, by the same function that names objects. Git itself looks at it only in
/// `fsck`; here a damaged path would be a tracked file that nobody counts.
fn checksum(bytes: &[u8], object: usize) -> Vec<u8> {
    if object == SHA1_BYTES {
        Sha1::digest(bytes).to_vec()
    } else {
        Digest::of(bytes).as_bytes().to_vec()
    }
}

fn entry(
    file: &mut Reader<'_>,
    version: u32,
    object: usize,
    index: &mut Index,
) -> Result<(), String> {
    let start = file.at;
    file.take(STAT_BYTES + object)?;
    let flags = file.short()?;
    if flags & EXTENDED != 0 {
        if version < 3 {
            return Err("an entry has flags that its version does not know".into());
        }
        file.short()?;
    }
    let keep = if version == 4 {
        index
            .last()
            .len()
            .checked_sub(file.varint()?)
            .ok_or("a path drops more than there is before it")?
    } else {
        0
    };
    let rest = file.text()?;
    let length = keep + rest.len();
    if usize::from(flags & LENGTH) != length.min(usize::from(LENGTH)) {
        return Err("a path is not as long as its entry says".into());
    }
    index.push(keep, rest, flags & STAGE)?;
    if version < 4 {
        // An entry takes a multiple of eight bytes. One zero was read with the path.
        let padding = (file.at - start).next_multiple_of(8) - (file.at - start);
        if file.take(padding)?.iter().any(|byte| *byte != 0) {
            return Err("an entry does not end as it has to".into());
        }
    }
    Ok(())
}

/// What follows the entries. An extension in lower case changes what the entries mean: only one such
/// leaves them as they are.
fn extensions(file: &mut Reader<'_>) -> Result<(), String> {
    while file.at < file.bytes.len() {
        let name = file.take(4)?;
        let bytes = usize::try_from(file.number()?).map_err(|error| error.to_string())?;
        file.take(bytes)?;
        match name {
            [b'A'..=b'Z', ..] | b"sdir" => {}
            b"link" => {
                return Err("it is split; `git update-index --no-split-index` joins it".into());
            }
            _ => return Err("it has an extension that is not known".into()),
        }
    }
    Ok(())
}

/// Bytes that are read from the front. None of it can fail but by being too short.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or("it is cut")?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        <[u8; N]>::try_from(self.take(N)?).map_err(|error| error.to_string())
    }

    fn short(&mut self) -> Result<u16, String> {
        self.array().map(u16::from_be_bytes)
    }

    fn number(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_be_bytes)
    }

    /// A number in groups of seven bits, where each group but the last adds one: so every number has one
    /// way to be written.
    fn varint(&mut self) -> Result<usize, String> {
        let mut number: usize = 0;
        loop {
            let [byte] = self.array()?;
            number = number
                .checked_shl(7)
                .filter(|_| number <= usize::MAX >> 8)
                .map(|number| number | usize::from(byte & 0x7f))
                .ok_or("a number is too large")?;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            number += 1;
        }
    }

    /// What stands before the next zero, which is read, too.
    fn text(&mut self) -> Result<&'a [u8], String> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == 0).ok_or("a path does not end")?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }
}
