//! Events in a SQLite database.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use concertina_types::{Draft, Event, SessionId, Timestamp};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row, TransactionBehavior, params};

use crate::audit::{CHECKPOINTS, Due, Heads, Keys, Unsigned, sign_again, sign_end};
use crate::files::{absolute, create_private_dir, create_temporary, sync_dir};
use crate::memory::{lock, seal_after};
use crate::{Durability, EventStore, SessionSummary, StoreError};

/// The format of the database, kept in `user_version`.
const FORMAT: i64 = 3;

/// How long to wait for another process to finish its write. Writes take well below a
/// millisecond, so this is only reached when another process is stuck or the disk is.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Pages of the journal before they are copied into the database, which takes some milliseconds:
/// 16 MB, so that fewer than one call in a hundred waits for it.
const JOURNAL_PAGES: i64 = 4_096;

/// The event is its canonical JSON; the columns beside it are what queries need. A table with row ids,
/// because events are far longer than the rows that `WITHOUT ROWID` is meant for.
const SCHEMA: &str = "
    CREATE TABLE events (
        session TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        event TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    ) STRICT;";

/// What format 2 added: small content beside the events that name it.
const CONTENT: &str = "
    CREATE TABLE IF NOT EXISTS content (
        digest BLOB PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;";

/// Logs in one SQLite file, which several processes may use at once.
///
/// The file is opened when it is first needed and created by the first append; reading a file
/// that does not exist finds no sessions. Every event that is read is checked against its hash,
/// its place and the event before it.
///
/// Every 256 events, with every event that an effect depends on, and when a session or this value ends,
/// the log is signed by the key in `keys/` beside the file; each signature is in the database and in the
/// file `heads` beside it.
///
/// The file with `-wal` at the end of its name is part of the log: copy both, or neither. SQLite's
/// journal needs memory shared between processes, so the directory must be on a local disk.
#[derive(Debug)]
pub struct SqliteEvents {
    path: PathBuf,
    busy_timeout: Duration,
    open: Mutex<Option<Open>>,
    keys: Keys,
    heads: Heads,
    unsigned: Mutex<Unsigned>,
}

#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) connection: Connection,
    durability: Durability,
}

/// An error that does not say yet which file it is about.
pub(crate) enum Failure {
    Sqlite(rusqlite::Error),
    Damaged(String),
    Store(StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Open {
    /// Has what is committed from here on survive what `durability` says.
    fn survive(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.durability != durability {
            self.connection.pragma_update(None, "synchronous", synchronous(durability))?;
            self.durability = durability;
        }
        Ok(())
    }
}

impl SqliteEvents {
    /// Logs in the file at `path`, in a directory that the first append creates.
    pub fn new(path: &Path) -> Self {
        let path = absolute(path);
        let home = path.parent().unwrap_or(Path::new("."));
        let (keys, heads) = (Keys::below(home), Heads::below(home));
        let (open, unsigned) = (Mutex::default(), Mutex::default());
        Self { path, busy_timeout: BUSY_TIMEOUT, open, keys, heads, unsigned }
    }

    /// The keys that sign here.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The signed checkpoints apart from the log.
    pub(crate) fn heads(&self) -> &Heads {
        &self.heads
    }

    /// Signs the end of every session that this value wrote to, as far as that was not done.
    pub(crate) fn sign_all(&self) -> Result<(), StoreError> {
        let waiting: Vec<SessionId> = lock(&self.unsigned).keys().cloned().collect();
        waiting.iter().try_for_each(|session| self.sign(session, false))
    }

    /// Signs the end of the log of `session`, or signs it once more, by the latest key.
    pub(crate) fn sign(&self, session: &SessionId, again: bool) -> Result<(), StoreError> {
        let notes = self.with(false, |open| {
            open.survive(Durability::PowerSafe)?;
            let transaction =
                open.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let sign = if again { sign_again } else { sign_end };
            let notes = sign(&transaction, &self.keys, session)?;
            transaction.commit()?;
            Ok(notes)
        })?;
        lock(&self.unsigned).remove(session);
        if notes.is_empty() { Ok(()) } else { self.heads.add(self.heads.open()?, &notes, true) }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits this long, instead of 5 seconds, while another process writes.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Runs `work` in the database. Where there is none, it is created first if `create` says
    /// so, and the answer is empty otherwise.
    pub(crate) fn with<T>(
        &self,
        create: bool,
        work: impl FnOnce(&mut Open) -> Result<Vec<T>, Failure>,
    ) -> Result<Vec<T>, StoreError> {
        let mut slot = lock(&self.open);
        let exists = self.path.try_exists().map_err(|error| StoreError::io(&self.path, error))?;
        let open = match slot.take() {
            // A file that was removed meanwhile still takes writes, and loses them.
            Some(open) if exists => open,
            _ if !exists && !create => return Ok(Vec::new()),
            _ => {
                if !exists {
                    self.create()?;
                }
                self.connect()?
            }
        };
        work(slot.insert(open)).map_err(|failure| self.located(failure))
    }

    fn located(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Sqlite(error) => StoreError::sqlite(&self.path, error),
            Failure::Damaged(what) => StoreError::corrupt(&self.path, what),
            Failure::Store(error) => error,
        }
    }

    /// Opens the file, which must exist.
    fn connect(&self) -> Result<Open, StoreError> {
        let open = || -> rusqlite::Result<_> {
            let connection = connection(&self.path)?;
            connection.busy_timeout(self.busy_timeout)?;
            connection.pragma_update(None, "wal_autocheckpoint", JOURNAL_PAGES)?;
            // Otherwise the last to close copies the journal into the database and flushes the
            // disk several times: measured, 20 ms for a command that opens, appends and closes,
            // and 0.8 ms without. Whoever brings the journal to its length copies it.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            let open = Open { connection, durability: Durability::KillSafe };
            open.connection.pragma_update(None, "synchronous", synchronous(open.durability))?;
            let format =
                open.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            Ok((open, format))
        };
        let (open, found): (_, i64) =
            open().map_err(|error| StoreError::sqlite(&self.path, error))?;
        match found {
            FORMAT => Ok(open),
            // Whoever does the same at the same time finds it done. What was written before is signed
            // with what is written next.
            1 | 2 => {
                let upgraded = open.connection.execute_batch(&format!(
                    "BEGIN IMMEDIATE; {CONTENT} {CHECKPOINTS} PRAGMA user_version = {FORMAT}; COMMIT;"
                ));
                upgraded.map_err(|error| StoreError::sqlite(&self.path, error)).map(|()| open)
            }
            0 => Err(StoreError::corrupt(&self.path, "it is not a log of concertina")),
            _ => Err(StoreError::Newer { path: self.path.clone(), found, supported: FORMAT }),
        }
    }

    /// Creates the file with its tables unless it exists.
    ///
    /// It is prepared under another name and then linked, so that it appears complete or not at
    /// all, whoever else does the same or is killed. Linking, unlike renaming, never replaces.
    fn create(&self) -> Result<(), StoreError> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        create_private_dir(dir)?;
        // SQLite would take a journal that was left behind for that of the new file. Looked for
        // in this order: another process that creates the file has it before its journal.
        let mut journal = self.path.clone().into_os_string();
        journal.push("-wal");
        let journal = PathBuf::from(journal);
        if journal.exists() && !self.path.exists() {
            return Err(StoreError::corrupt(&journal, "the log that it belongs to is gone"));
        }
        let (file, temporary) = create_temporary(&self.path)?;
        let prepared = prepare(&temporary).map_err(|error| StoreError::sqlite(&self.path, error));
        let created = prepared.and_then(|()| {
            let linked = file.sync_all().and_then(|()| fs::hard_link(&temporary, &self.path));
            match linked {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                linked => linked.map_err(|error| StoreError::io(&self.path, error)),
            }
        });
        // A second name that remains does no harm.
        let _ = fs::remove_file(&temporary);
        created?;
        sync_dir(dir)
    }
}

fn connection(path: &Path) -> rusqlite::Result<Connection> {
    // Our own lock keeps threads apart. Without CREATE, SQLite never makes an empty database.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// Whether anything in the file at `path` is signed; where there is no file, nothing is.
pub(crate) fn has_checkpoints(path: &Path) -> Result<bool, StoreError> {
    if !path.try_exists().map_err(|error| StoreError::io(path, error))? {
        return Ok(false);
    }
    let has_any = || {
        let connection = connection(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let exists = |what: &str| {
            connection
                .query_row(&format!("SELECT EXISTS (SELECT 1 FROM {what})"), [], |row| row.get(0))
        };
        // Earlier formats have no such table.
        Ok(exists("sqlite_schema WHERE name = 'checkpoints'")? && exists("checkpoints")?)
    };
    has_any().map_err(|error| StoreError::sqlite(path, error))
}

/// Makes an empty log of an empty file.
fn prepare(path: &Path) -> rusqlite::Result<()> {
    let mut connection = connection(path)?;
    // The caller flushes the file once, before anything depends on it.
    connection.pragma_update(None, "synchronous", "OFF")?;
    // Readers do not wait for a writer, and a commit is one append to a file. The mode stays
    // with the file.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.execute_batch(CONTENT)?;
    transaction.execute_batch(CHECKPOINTS)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)
}

/// In WAL mode, NORMAL leaves a commit with the operating system, FULL has the disk confirm it:
/// <https://sqlite.org/pragma.html#pragma_synchronous>.
fn synchronous(durability: Durability) -> &'static str {
    match durability {
        Durability::KillSafe => "NORMAL",
        Durability::PowerSafe => "FULL",
    }
}

/// The event in a row of `session, seq, at, event`, checked against its place and its hash.
pub(crate) fn event(row: &Row<'_>) -> Result<Event, Failure> {
    let (session, seq, at): (String, u64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let text = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
    let damaged =
        |reason: &str| Failure::Damaged(format!("session {session}, event {seq}: {reason}"));
    let event: Event = serde_json::from_str(text).map_err(|error| damaged(&error.to_string()))?;
    if event.session.as_str() != session || event.seq != seq || event.at.0 != at {
        return Err(damaged("it is not the event of this row"));
    }
    if event.hash != event.computed_hash() {
        return Err(damaged("its content does not match its hash"));
    }
    Ok(event)
}

/// The session in a row of `session, events, started, last`; none where the row was damaged beyond
/// the name or the number that a session can have.
fn summary(row: &Row<'_>) -> Option<SessionSummary> {
    Some(SessionSummary {
        session: SessionId::new(row.get::<_, String>(0).ok()?).ok()?,
        events: row.get(1).ok()?,
        started: Timestamp(row.get(2).ok()?),
        last: Timestamp(row.get(3).ok()?),
    })
}

impl Drop for SqliteEvents {
    /// What is not signed by now stays unsigned, and shows as that.
    fn drop(&mut self) {
        let _ = self.sign_all();
    }
}

impl EventStore for SqliteEvents {
    fn append(
        &self,
        session: &SessionId,
        after: u64,
        drafts: Vec<Draft>,
        durability: Durability,
    ) -> Result<Vec<Event>, StoreError> {
        let since = lock(&self.unsigned).get(session).copied();
        let due = Due::of(after, &drafts, durability, since);
        // Where the signature could not be kept, the events are not kept, either.
        let heads = (due != Due::Nothing).then(|| self.heads.open()).transpose()?;
        let mut notes = Vec::new();
        let events = self.with(true, |open| {
            // What is signed must not be lost in a power cut: it would look as if it was cut off.
            let signs = due != Due::Nothing;
            open.survive(if signs { Durability::PowerSafe } else { durability })?;
            // IMMEDIATE takes the write lock before reading, so that what was read still holds
            // when it is written. Leaving early rolls back.
            let transaction =
                open.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let events = {
                let mut last = transaction.prepare_cached(
                    "SELECT session, seq, at, event FROM events WHERE session = ?1
                     ORDER BY seq DESC LIMIT 1",
                )?;
                let mut rows = last.query([session.as_str()])?;
                let last = rows.next()?.map(event).transpose()?;
                seal_after(session, after, last.as_ref(), drafts)?
            };
            for event in &events {
                let mut insert = transaction.prepare_cached(
                    "INSERT INTO events (session, seq, at, event) VALUES (?1, ?2, ?3, ?4)",
                )?;
                let text = event.to_text();
                insert.execute(params![session.as_str(), event.seq, event.at.0, text])?;
            }
            if signs {
                notes = sign_end(&transaction, &self.keys, session)?;
            }
            transaction.commit()?;
            Ok(events)
        })?;
        let mut unsigned = lock(&self.unsigned);
        if let Some(heads) = heads {
            unsigned.remove(session);
            drop(unsigned);
            self.heads.add(heads, &notes, due == Due::Scheduled)?;
        } else if let Some(event) = events.first() {
            unsigned.entry(session.clone()).or_insert(event.at);
        }
        Ok(events)
    }

    fn read(&self, session: &SessionId, after: u64) -> Result<Vec<Event>, StoreError> {
        // Numbers beyond what SQLite can hold are beyond every log.
        let after = after.min(i64::MAX.unsigned_abs());
        self.with(false, |open| {
            let mut query = open.connection.prepare_cached(
                "SELECT session, seq, at, event FROM events WHERE session = ?1 AND seq > ?2
                 ORDER BY seq",
            )?;
            let mut rows = query.query(params![session.as_str(), after])?;
            let mut events: Vec<Event> = Vec::new();
            while let Some(row) = rows.next()? {
                let event = event(row)?;
                let follows = match events.last() {
                    Some(before) => {
                        event.seq == before.seq + 1 && event.prev_hash == Some(before.hash)
                    }
                    None => event.seq == after + 1,
                };
                if !follows {
                    return Err(Failure::Damaged(format!(
                        "session {session}, event {}: it does not follow the event before",
                        event.seq
                    )));
                }
                events.push(event);
            }
            Ok(events)
        })
    }

    fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        self.with(false, |open| {
            // The times come from two rows per session, so that the texts stay unread.
            let mut query = open.connection.prepare_cached(
                "SELECT log.session, log.last, first.at, last.at
                 FROM (SELECT session, min(seq) AS first, max(seq) AS last FROM events
                       GROUP BY session) AS log
                 JOIN events AS first ON first.session = log.session AND first.seq = log.first
                 JOIN events AS last ON last.session = log.session AND last.seq = log.last
                 ORDER BY log.session",
            )?;
            let mut rows = query.query([])?;
            let mut summaries = Vec::new();
            while let Some(row) = rows.next()? {
                summaries.extend(summary(row));
            }
            summaries.sort_by_key(|summary| Reverse(summary.last));
            Ok(summaries)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use concertina_types::{Actor, Fact};

    #[test]
    fn a_full_disk_is_named_and_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteEvents::new(&dir.path().join("events.db"));
        let session = SessionId::new("s").unwrap();
        let drafts = |count: u32| {
            let draft = |step| Draft {
                step,
                turn: None,
                at: Timestamp(0),
                actor: Actor::User,
                cause: None,
                fact: Fact::TurnStarted {},
            };
            (0..count).map(draft).collect::<Vec<_>>()
        };
        let written = store.append(&session, 0, drafts(3), Durability::KillSafe).unwrap();
        let set_max_pages = |pages: i64| {
            let slot = lock(&store.open);
            let connection = &slot.as_ref().unwrap().connection;
            connection.pragma_update(None, "max_page_count", pages).unwrap();
        };
        set_max_pages(1); // SQLite raises it to the present size.
        let error = store.append(&session, 3, drafts(500), Durability::KillSafe).unwrap_err();
        assert_eq!(error.code(), "STORE_FULL");
        assert_eq!(store.read(&session, 0).unwrap(), written);
        set_max_pages(10_000);
        store.append(&session, 3, drafts(500), Durability::PowerSafe).unwrap();
        assert_eq!(store.read(&session, 0).unwrap().len(), 503);
    }
}
