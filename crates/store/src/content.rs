//! Content in files named by its digest.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use concertina_types::{Blob, Digest};

use crate::files::{absolute, create_private_dir, create_temporary, sync_dir};
use crate::memory::lock;
use crate::{ContentStore, StoreError, Writing};

/// Files `DIR/ab/cdef…`, where `abcdef…` are the hexadecimal digits of the SHA-256.
///
/// A file appears under its name complete or not at all: it is written under another name in the
/// same directory and renamed. A process that is killed in between leaves a `.new-…` file that
/// nothing reads.
///
/// ```
/// # let home = tempfile::tempdir()?;
/// use concertina_store::{ContentStore, FileContent};
/// let content = FileContent::new(home.path());
/// let digest = content.put(b"hello")?;
/// assert_eq!(content.get(&digest)?.as_deref(), Some(&b"hello"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileContent {
    dir: PathBuf,
    /// What was put since the last [`ContentStore::sync`].
    unsynced: Mutex<BTreeSet<Digest>>,
}

impl FileContent {
    /// Content below `dir`, which the first `put` creates.
    pub fn new(dir: &Path) -> Self {
        Self { dir: absolute(dir), unsynced: Mutex::default() }
    }

    /// Whether anything was ever put here.
    pub(crate) fn has_any(&self) -> bool {
        self.dir.exists()
    }

    /// The file of `digest`.
    pub(crate) fn path(&self, digest: &Digest) -> PathBuf {
        let mut first = digest.hex();
        let rest = first.split_off(2);
        self.dir.join(first).join(rest)
    }

    fn write(path: &Path, write: Writing<'_>) -> Result<(), StoreError> {
        if let Some(shelf) = path.parent() {
            create_private_dir(shelf)?;
        }
        let (file, temporary) = create_temporary(path)?;
        let mut file = BufWriter::new(file);
        let written = write(&mut file)
            .and_then(|()| file.flush())
            .and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| {
            // The write failed; that the remains could not be removed adds nothing.
            let _ = fs::remove_file(&temporary);
            StoreError::io(path, error)
        })
    }
}

impl ContentStore for FileContent {
    fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let blob = Blob { digest: Digest::of(bytes), bytes: bytes.len() as u64 };
        self.put_written(&blob, &|out| out.write_all(bytes))?;
        Ok(blob.digest)
    }

    fn put_written(&self, blob: &Blob, write: Writing<'_>) -> Result<(), StoreError> {
        let path = self.path(&blob.digest);
        // Comparing, not just looking for the name: putting content again mends a damaged file.
        let kept = fs::metadata(&path).is_ok_and(|file| file.len() == blob.bytes)
            && File::open(&path)
                .and_then(|file| write(&mut Compared(BufReader::new(file))))
                .is_ok();
        if !kept {
            Self::write(&path, write)?;
        }
        // Content that was there may not be on the disk yet either.
        lock(&self.unsynced).insert(blob.digest);
        Ok(())
    }

    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(&path, error)),
        };
        let found = Digest::of(&bytes);
        if found == *digest {
            return Ok(Some(bytes));
        }
        let what = format!("expected {digest}, but its {} bytes are {found}", bytes.len());
        Err(StoreError::corrupt(&path, what))
    }

    fn sync(&self) -> Result<(), StoreError> {
        let mut unsynced = lock(&self.unsynced);
        let mut shelves = BTreeSet::new();
        for digest in unsynced.iter() {
            let path = self.path(digest);
            let flushed = File::open(&path).and_then(|file| file.sync_all());
            flushed.map_err(|error| StoreError::io(&path, error))?;
            shelves.extend(path.parent().map(Path::to_owned));
        }
        if !shelves.is_empty() {
            shelves.insert(self.dir.clone());
        }
        for shelf in &shelves {
            sync_dir(shelf)?;
        }
        unsynced.clear();
        Ok(())
    }
}

/// A file that takes what it holds, and refuses anything else.
struct Compared(BufReader<File>);

impl Write for Compared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let held = self.0.fill_buf()?;
        let length = held.len().min(bytes.len());
        if held.get(..length) != bytes.get(..length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.0.consume(length);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
