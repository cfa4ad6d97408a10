//! What files held when they were last read, so that an unchanged file is not read again.
//!
//! One file for each set of inputs, below the directory of state: a head, one record of fixed length for
//! each file, and a checksum. What is not exactly that is taken for nothing and replaced.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use concertina_types::Digest;
use flate2::Crc;
use rustix::fs::Stat;

use super::FILES;
use super::repository::bounded;
use crate::private::{create_private_directory, write_whole};
use crate::sources::{RACY, open_file};

/// What the file begins with. Another layout gets another word.
const MAGIC: &[u8; 8] = b"CTINPUT1";
/// The head: the word, when it was written (seconds, nanoseconds), and whose it is.
const HEAD_BYTES: usize = 8 + 12 + 32;
/// A stamp as it is written.
const STAMP_BYTES: usize = 52;
/// A record: a stamp and a digest.
const RECORD_BYTES: usize = STAMP_BYTES + 32;
/// The checksum behind the records. It finds what a disk did, not what a person did: whoever may write
/// this file may do more than that.
const SUM_BYTES: usize = 4;
/// How long a time must lie back where a file system knows whole seconds only, or two of them.
const RACY_SECONDS: Duration = Duration::from_secs(3);
/// What reading a file costs beside its bytes, in bytes.
const OPENING: u64 = 4096;
/// The cache is written once this times what had to be read is more than what is to be written. One
/// small file that changed is read again sooner than a hundred thousand records are written.
const WORTH: u64 = 32;

/// Where digests of files are kept between looks: below a directory of state, for this person alone.
/// Processes may share it; the last one to write wins, and loses nothing but time.
///
/// ```no_run
/// # use concertina_runtime::inputs::{DigestCache, Inputs};
/// let cache = DigestCache::below("/home/me/.local/state/concertina".as_ref());
/// let inputs = Inputs::new("/home/me/work".as_ref(), ".", &["target/**".to_owned()])?;
/// println!("{}", inputs.digest(&cache)?.digest);
/// # Ok::<(), concertina_runtime::inputs::InputsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DigestCache {
    home: Option<PathBuf>,
}

impl DigestCache {
    /// The cache below `home`, the directory of state. Nothing is made before there is something to keep.
    pub fn below(home: &Path) -> Self {
        Self { home: Some(home.to_owned()) }
    }

    /// One that keeps nothing: each look reads everything.
    pub fn none() -> Self {
        Self { home: None }
    }

    /// The directory of state, which is never an input.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Where what is known of the inputs `key` is kept.
    fn path(&self, key: &Digest) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join("cache/inputs").join(key.hex()))
    }

    /// What is known of the inputs `key` at the moment `now`.
    pub(super) fn load(&self, key: &Digest, now: SystemTime) -> Known {
        let limit = HEAD_BYTES + FILES * RECORD_BYTES + SUM_BYTES;
        let file = self.path(key).and_then(|path| open_file(&path).ok());
        let bytes = file.and_then(|file| bounded(file, limit).ok());
        bytes.and_then(|bytes| Known::parse(&bytes, key, now)).unwrap_or_default()
    }

    /// Keeps `records` of the inputs `key`, as they were not before `now`.
    pub(super) fn save(
        &self,
        key: &Digest,
        now: SystemTime,
        records: impl Iterator<Item = (Stamp, Digest)>,
    ) -> std::io::Result<()> {
        let Some(path) = self.path(key) else { return Ok(()) };
        if let Some(directory) = path.parent() {
            create_private_directory(directory)?;
        }
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut bytes = Vec::from(MAGIC);
        bytes.extend(now.as_secs().to_le_bytes());
        bytes.extend(now.subsec_nanos().to_le_bytes());
        bytes.extend(key.as_bytes());
        for (stamp, digest) in records {
            bytes.extend(stamp.0);
            bytes.extend(digest.as_bytes());
        }
        bytes.extend(checksum(&bytes));
        write_whole(&path, 0o600, |out| out.write_all(&bytes))
    }
}

/// What files held, by their stamps.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<Stamp, Digest>);

impl Known {
    pub(super) fn get(&self, stamp: &Stamp) -> Option<Digest> {
        self.0.get(stamp).copied()
    }

    fn parse(bytes: &[u8], key: &Digest, now: SystemTime) -> Option<Self> {
        let (bytes, sum) = bytes.split_last_chunk::<SUM_BYTES>()?;
        let (head, records) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let (magic, head) = head.split_first_chunk::<8>()?;
        let (seconds, head) = head.split_first_chunk::<8>()?;
        let (nanoseconds, whose) = head.split_first_chunk::<4>()?;
        if magic != MAGIC || whose != key.as_bytes() || checksum(bytes) != *sum {
            return None;
        }
        let written = Duration::new(
            u64::from_le_bytes(*seconds),
            u32::from_le_bytes(*nanoseconds) % 1_000_000_000,
        );
        // The clock was set back since: times of change that are to come are times that have been.
        if now.duration_since(UNIX_EPOCH).ok()? < written {
            return None;
        }
        let (records, rest) = records.as_chunks::<RECORD_BYTES>();
        if !rest.is_empty() {
            return None;
        }
        let mut known = HashMap::with_capacity(records.len());
        for record in records {
            let (stamp, digest) = record.split_first_chunk::<STAMP_BYTES>()?;
            known.insert(Stamp(*stamp), Digest::from_bytes(digest.try_into().ok()?));
        }
        Some(Self(known))
    }
}

fn checksum(bytes: &[u8]) -> [u8; SUM_BYTES] {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

/// Whether to write what is known of `files` files after `read` of them with `bytes` bytes had to be read.
pub(super) fn is_worth_saving(files: u64, read: u64, bytes: u64) -> bool {
    let cost = files.saturating_mul(u64::try_from(RECORD_BYTES).unwrap_or_default());
    let gain = bytes.saturating_add(read.saturating_mul(OPENING));
    read > 0 && gain.saturating_mul(WORTH) > cost
}

/// What tells a file apart from its next version: device, inode, size, time of modification, time of
/// change and mode. The time of change is one that no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp([u8; STAMP_BYTES]);

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let mut bytes = [0; STAMP_BYTES];
        let eight = [
            unsigned(stat.st_dev).to_le_bytes(),
            unsigned(stat.st_ino).to_le_bytes(),
            signed(stat.st_size).to_le_bytes(),
            signed(stat.st_mtime).to_le_bytes(),
            signed(stat.st_ctime).to_le_bytes(),
        ];
        // A nanosecond and a mode fit into four bytes.
        let four = [
            unsigned(stat.st_mtime_nsec).to_le_bytes(),
            unsigned(stat.st_ctime_nsec).to_le_bytes(),
            unsigned(stat.st_mode).to_le_bytes(),
        ];
        let parts = four.into_iter().flat_map(|number| number.into_iter().take(4));
        let parts = eight.into_iter().flatten().chain(parts);
        for (byte, part) in bytes.iter_mut().zip(parts) {
            *byte = part;
        }
        Self(bytes)
    }
}

/// Whether the file with `stat`, looked at not before `now`, may be written again within the same tick
/// of its file system's clock, so that its next version could have the same stamp. So may one whose
/// times are yet to come. Nothing is kept of such a file.
pub(super) fn is_racy(stat: &Stat, now: SystemTime) -> bool {
    let times = [
        (signed(stat.st_mtime), unsigned(stat.st_mtime_nsec)),
        (signed(stat.st_ctime), unsigned(stat.st_ctime_nsec)),
    ];
    times.iter().any(|(seconds, nanoseconds)| {
        let margin = if *nanoseconds == 0 { RACY_SECONDS } else { RACY };
        let age = u64::try_from(*seconds).ok().and_then(|seconds| {
            let since = Duration::new(seconds, u32::try_from(*nanoseconds).ok()?);
            now.duration_since(UNIX_EPOCH.checked_add(since)?).ok()
        });
        age.is_none_or(|age| age < margin)
    })
}

// The fields of a stat have other widths on other systems, none of them wider than these.

fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn unsigned(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}
