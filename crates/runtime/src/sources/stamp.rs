//! Whether something on disk changed, without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file written this shortly before a look at it may be written again within the same tick of
/// the file system's clock (10 ms at most), so its stamp proves nothing.
pub(crate) const RACY: Duration = Duration::from_millis(50);

/// What tells a file or a directory apart from its next version. The time of change, which unlike
/// the time of modification no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    changed: (i64, i64),
    inode: u64,
    bytes: u64,
    /// Changed so recently that an equal stamp proves nothing.
    racy: bool,
}

impl Stamp {
    /// The stamp of `meta`, looked at not before `now`.
    pub(crate) fn of(meta: &Metadata, now: SystemTime) -> Self {
        let since = Duration::new(
            u64::try_from(meta.ctime()).unwrap_or_default(),
            u32::try_from(meta.ctime_nsec()).unwrap_or_default(),
        );
        // A clock that was set back proves nothing either.
        let settled = now.duration_since(UNIX_EPOCH + since).is_ok_and(|age| age >= RACY);
        Self {
            changed: (meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
            bytes: meta.len(),
            racy: !settled,
        }
    }

    /// Whether what is at `path` now is certainly what had this stamp.
    pub(crate) fn still_holds(&self, path: &Path) -> bool {
        !self.racy
            && std::fs::metadata(path).is_ok_and(|meta| {
                (meta.ctime(), meta.ctime_nsec()) == self.changed
                    && meta.ino() == self.inode
                    && meta.len() == self.bytes
            })
    }
}
