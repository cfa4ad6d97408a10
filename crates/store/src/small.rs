//! Small content beside the events that name it.
//!
//! A file for every text of a few hundred bytes costs more than the text, and a flush of the disk
//! for each: in the database, one flush of the journal holds the texts and the events together.

use std::path::Path;
use std::sync::Arc;

use concertina_types::{Blob, Digest};
use rusqlite::{OptionalExtension as _, params};

use crate::{ContentStore, FileContent, SqliteEvents, StoreError, Writing};

/// Content up to this size, in bytes, is kept in the database: what most arguments, results and
/// answers stay below. Rows beyond a few pages make a database slower than files.
const SMALL: usize = 16 * 1024;

/// Small content in the database of the events, large content in files.
#[derive(Debug)]
pub(crate) struct BySize {
    pub(crate) small: Arc<SqliteEvents>,
    pub(crate) large: FileContent,
}

impl BySize {
    /// Both below `home`.
    pub(crate) fn below(home: &Path, small: Arc<SqliteEvents>) -> Self {
        Self { small, large: FileContent::new(&home.join("content")) }
    }
}

impl ContentStore for BySize {
    fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        if bytes.len() > SMALL {
            return self.large.put(bytes);
        }
        let digest = Digest::of(bytes);
        self.small.with(true, |open| {
            // Putting content again mends a damaged row; an equal one is not written.
            let mut insert = open.connection.prepare_cached(
                "INSERT INTO content (digest, bytes) VALUES (?1, ?2)
                 ON CONFLICT (digest) DO UPDATE SET bytes = ?2 WHERE bytes <> ?2",
            )?;
            insert.execute(params![digest.as_bytes(), bytes])?;
            Ok(Vec::<()>::new())
        })?;
        Ok(digest)
    }

    fn put_written(&self, blob: &Blob, write: Writing<'_>) -> Result<(), StoreError> {
        if blob.bytes > SMALL as u64 {
            return self.large.put_written(blob, write);
        }
        let mut bytes = Vec::new();
        write(&mut bytes).map_err(|source| StoreError::io(self.small.path(), source))?;
        self.put(&bytes).map(drop)
    }

    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.small.with(false, |open| {
            let mut query =
                open.connection.prepare_cached("SELECT bytes FROM content WHERE digest = ?1")?;
            let row = query.query_row([digest.as_bytes()], |row| row.get::<_, Vec<u8>>(0));
            Ok(row.optional()?.into_iter().collect())
        })?;
        let Some(bytes) = rows.into_iter().next() else { return self.large.get(digest) };
        let found = Digest::of(&bytes);
        if found == *digest {
            return Ok(Some(bytes));
        }
        let what = format!("expected {digest}, but its {} bytes are {found}", bytes.len());
        Err(StoreError::corrupt(self.small.path(), what))
    }

    /// What is in the database reaches the disk with the next events that do: the journal is
    /// flushed as a whole.
    fn sync(&self) -> Result<(), StoreError> {
        self.large.sync()
    }
}
