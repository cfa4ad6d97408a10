//! Vectors that were made before, by the digest of model and text.
//!
//! One SQLite file below the state directory, for this person's eyes. It is a cache: what cannot be
//! read is made again, a damaged file is begun anew, and no failure here is anybody's error.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use concertina_types::Digest;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use crate::files::{absolute, create_private_dir};

/// A vector of an encoder.
pub type Vector = Arc<[f32]>;

/// Vectors that are kept: several large catalogues, and 80 MB at 1,024 numbers each.
const VECTORS: i64 = 20_000;
/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_millis(500);
/// The first bytes of the digest of a vector, by which a damaged one is known.
const SEAL: usize = 8;

/// A table with row ids, which count up: the lowest are the oldest.
const SCHEMA: &str = "
    PRAGMA synchronous = OFF;
    CREATE TABLE IF NOT EXISTS vectors (
        id INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        vector BLOB NOT NULL
    ) STRICT;";

/// Vectors in one SQLite file, which several processes may use at once.
///
/// ```
/// use concertina_store::VectorCache;
/// use concertina_types::Digest;
/// # let home = tempfile::tempdir()?;
/// # let home = home.path();
/// let key = Digest::of(b"a model, and a text");
/// VectorCache::below(home).write(&[(key, [0.6, 0.8].into())]);
/// assert_eq!(VectorCache::below(home).read(&[key])[&key].as_ref(), [0.6, 0.8]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct VectorCache {
    path: PathBuf,
    open: Option<Connection>,
}

impl VectorCache {
    /// The cache below the state directory `home`. Nothing is opened before it is needed.
    pub fn below(home: &Path) -> Self {
        Self { path: absolute(&home.join("vectors.db")), open: None }
    }

    /// Those of `keys` that are known, each with its vector.
    pub fn read(&mut self, keys: &[Digest]) -> HashMap<Digest, Vector> {
        let read = self.with(|connection| {
            let mut query = connection.prepare("SELECT vector FROM vectors WHERE key = ?1")?;
            let mut found = HashMap::new();
            for key in keys {
                let mut rows = query.query([key.as_bytes()])?;
                if let Some(row) = rows.next()?
                    && let Some(vector) = unsealed(row.get_ref(0)?.as_blob()?)
                {
                    found.insert(*key, vector);
                }
            }
            Ok(found)
        });
        read.unwrap_or_default()
    }

    /// Keeps `vectors`, and lets go of the oldest where there are too many.
    pub fn write(&mut self, vectors: &[(Digest, Vector)]) {
        self.with(|connection| {
            let transaction = connection.transaction()?;
            for (key, vector) in vectors {
                transaction.execute(
                    "INSERT OR REPLACE INTO vectors (key, vector) VALUES (?1, ?2)",
                    params![key.as_bytes(), sealed(vector)],
                )?;
            }
            transaction.execute(
                "DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?1",
                [VECTORS],
            )?;
            transaction.commit()
        });
    }

    /// Does something with the database. One that is damaged is begun anew; none where that fails, too.
    fn with<T>(
        &mut self,
        mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> Option<T> {
        match self.attempt(&mut work) {
            Err(error) if is_damage(&error) => {
                fs::remove_file(&self.path).ok()?;
                self.attempt(&mut work).ok()
            }
            done => done.ok(),
        }
    }

    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => open(&self.path)?,
        };
        let done = work(&mut connection)?;
        self.open = Some(connection);
        Ok(done)
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    create(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// An empty file that nobody else may read: SQLite keeps its mode, also for its journal. What goes
/// wrong here shows when the file is opened.
fn create(path: &Path) {
    if let Some(directory) = path.parent() {
        let _ = create_private_dir(directory);
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
        // Another table of the same name, or another type in it.
        None => !matches!(error, rusqlite::Error::InvalidPath(_)),
    }
}

fn sealed(vector: &[f32]) -> Vec<u8> {
    let numbers: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    let seal = Digest::of(&numbers);
    seal.as_bytes().iter().take(SEAL).copied().chain(numbers).collect()
}

/// The vector; none where a single bit is another than it was.
fn unsealed(bytes: &[u8]) -> Option<Vector> {
    let (seal, numbers) = bytes.split_at_checked(SEAL)?;
    let (numbers, rest) = numbers.as_chunks::<4>();
    let vector: Vector = numbers.iter().map(|four| f32::from_le_bytes(*four)).collect();
    let is_whole = rest.is_empty() && !vector.is_empty();
    (is_whole && sealed(&vector).get(..SEAL)? == seal).then_some(vector)
}
