//! The audit of a state directory: every log in it, against its checkpoints, the file of heads, and what
//! was kept elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use concertina_types::{Digest, KeyId, SessionId, SignedNote, Timestamp};
use rusqlite::OptionalExtension as _;

use super::check::{Check, Fault, Verdict};
use super::contents::{Contents, Found};
use super::export::Export;
use super::heads::{self, Notes};
use super::keys::KeyLog;
use crate::sqlite::{Failure, Open};
use crate::{FileContent, SqliteEvents, StoreError};

/// What the log is held against, beside what the state directory itself says.
#[derive(Debug, Clone, Default)]
pub struct Against {
    /// The hash of a record that has to be in the log.
    pub head: Option<Digest>,
    /// The id of a key that has to be one of those that sign or signed.
    pub key: Option<String>,
    /// A file of signed checkpoints that was kept elsewhere, as [`Audit::anchor`] writes it.
    pub anchor: Option<PathBuf>,
}

impl Against {
    pub(super) fn accepts(&self, keys: &KeyLog) -> bool {
        let is = |id: &String| keys.keys().iter().any(|key| key.id.to_string() == *id);
        self.key.as_ref().is_none_or(is)
    }
}

/// What is said of logs in other places than beside them.
#[derive(Debug, Default)]
struct Apart {
    notes: BTreeMap<String, Vec<SignedNote>>,
    is_changed: bool,
    torn: bool,
}

/// The audit of one state directory.
#[derive(Debug)]
pub struct Audit {
    log: SqliteEvents,
    /// Content that is too large for the file of the log.
    large: FileContent,
}

impl Audit {
    /// The audit of the state directory `home`.
    pub fn of(home: &Path) -> Self {
        let large = FileContent::new(&home.join("content"));
        Self { log: SqliteEvents::new(&home.join("events.db")), large }
    }

    /// Checks the log of `session`, or every one that there is or was, and what is kept of the texts that
    /// their records name.
    ///
    /// # Errors
    /// A file could not be opened. What is damaged is no error but a finding.
    pub fn verify(
        &self,
        session: Option<&SessionId>,
        against: &Against,
    ) -> Result<Vec<Verdict>, StoreError> {
        let (keys, keys_fault) = self.keys_or_fault(against)?;
        let apart = self.apart(session, against)?;
        let mut names: BTreeSet<String> = apart.notes.keys().cloned().collect();
        match session {
            Some(session) => names = [session.to_string()].into(),
            None => match self.names() {
                Ok(found) => names.extend(found),
                // Where nothing else tells of a log either, it is this one that cannot be read.
                Err(StoreError::Corrupt { .. }) if names.is_empty() => {
                    names.insert(String::new());
                }
                Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            },
        }
        let (mut verdicts, mut found) = (Vec::new(), Found::default());
        for name in names {
            let mut check = Check::new(keys.clone(), against.head);
            if let Some(fault) = keys_fault {
                check.fault(fault);
            }
            if apart.is_changed {
                check.fault(Fault::HeadsChanged);
            }
            let notes = apart.notes.get(&name).map(Vec::as_slice).unwrap_or_default();
            found.next_session();
            let is_whole = match self.check(&name, notes, &mut check, &mut found) {
                Ok(()) => true,
                Err(StoreError::Corrupt { .. }) => false,
                Err(error) => return Err(error),
            };
            verdicts.push(check.finish(name, is_whole, apart.torn));
        }
        // Of all logs, one has the head that is expected.
        if session.is_none() && verdicts.iter().any(|verdict| verdict.ok) {
            for verdict in &mut verdicts {
                verdict.forgive(Fault::HeadMissing);
            }
        }
        Ok(verdicts)
    }

    /// Passes the log of `session` through `check`, with what is `found` of its content.
    fn check(
        &self,
        session: &str,
        notes: &[SignedNote],
        check: &mut Check,
        found: &mut Found,
    ) -> Result<(), StoreError> {
        // What stands in the database too is checked once.
        let mut known = BTreeSet::new();
        let read = self.log.with(false, |open| {
            each_checkpoint(open, session, &mut |count, text| match text.parse::<SignedNote>() {
                Ok(note) if is_of(&note, session, count) => {
                    check.expect(&note);
                    known.insert(Digest::of(text.as_bytes()));
                }
                _ => check.forged(count),
            })?;
            for note in notes {
                if !known.contains(&Digest::of(note.to_string().as_bytes())) {
                    check.expect(note);
                }
            }
            let mut contents = Contents::of(&open.connection, &self.large)?;
            each_record(open, session, &mut |seq, at, text| {
                let goes_on = check.record(session, Some((seq, at)), text);
                if goes_on {
                    found.of(text, &mut contents, &mut |kept| check.content(seq, kept))?;
                }
                Ok(goes_on)
            })?;
            Ok(vec![()])
        })?;
        // Where there is no file with a log, what the heads tell of is gone.
        if read.is_empty() {
            for note in notes {
                check.expect(note);
            }
        }
        Ok(())
    }

    /// The keys that may have signed; where they cannot be trusted, none.
    fn keys_or_fault(&self, against: &Against) -> Result<(KeyLog, Option<Fault>), StoreError> {
        match self.log.keys().log() {
            Ok(keys) if !against.accepts(&keys) => Ok((keys, Some(Fault::KeyUnknown))),
            Ok(keys) if self.log.keys().is_latest_kept(&keys)? => Ok((keys, None)),
            Ok(keys) => Ok((keys, Some(Fault::KeyChanged))),
            Err(StoreError::Key { .. } | StoreError::Corrupt { .. }) => {
                Ok((KeyLog::default(), Some(Fault::KeyChanged)))
            }
            Err(error) => Err(error),
        }
    }

    /// What is said of the logs in other places.
    fn apart(&self, session: Option<&SessionId>, against: &Against) -> Result<Apart, StoreError> {
        let mut apart = Apart::default();
        let mut files = Vec::new();
        if let Some(heads) = self.log.heads().read()? {
            files.push((self.log.heads().path().to_owned(), heads));
        }
        if let Some(path) = &against.anchor {
            let file = File::open(path).map_err(|error| StoreError::io(path, error))?;
            files.push((path.clone(), BufReader::new(file)));
        }
        for (path, file) in files {
            let is_wanted =
                |note: &SignedNote| session.is_none_or(|one| *one == note.checkpoint.session);
            let notes =
                Notes::read(file, &is_wanted).map_err(|error| StoreError::io(&path, error))?;
            apart.is_changed |= notes.bad_line.is_some();
            apart.torn |= notes.torn;
            for note in notes.all {
                apart.notes.entry(note.checkpoint.session.to_string()).or_default().push(note);
            }
        }
        Ok(apart)
    }

    /// Every name under which there is a record or a checkpoint.
    fn names(&self) -> Result<Vec<String>, StoreError> {
        self.log.with(false, |open| {
            let mut query = open.connection.prepare_cached(
                "SELECT DISTINCT session FROM events UNION SELECT session FROM checkpoints",
            )?;
            let mut rows = query.query([])?;
            let mut names = Vec::new();
            while let Some(row) = rows.next()? {
                let name = row.get_ref(0)?.as_bytes().map_err(rusqlite::Error::from)?;
                names.push(String::from_utf8_lossy(name).into_owned());
            }
            Ok(names)
        })
    }

    /// The keys that sign and signed here.
    pub fn keys(&self) -> Result<KeyLog, StoreError> {
        self.log.keys().log()
    }

    /// Puts a new key in the place of the one that signs, at `at`, and signs every log with it.
    pub fn rotate(&self, at: Timestamp) -> Result<KeyId, StoreError> {
        let id = self.log.keys().rotate(at)?;
        for name in self.names()? {
            if let Ok(session) = SessionId::new(name) {
                self.log.sign(&session, true)?;
            }
        }
        Ok(id)
    }

    /// The latest signed checkpoint of `session`, or of every one, signed now where that is due: lines to
    /// be kept elsewhere.
    pub fn anchor(&self, session: Option<&SessionId>) -> Result<String, StoreError> {
        let names = match session {
            Some(session) => vec![session.to_string()],
            None => self.names()?,
        };
        let mut lines = String::new();
        for name in names {
            let Ok(session) = SessionId::new(name) else { continue };
            self.log.sign(&session, false)?;
            if let Some(note) = self.latest(&session)? {
                lines.push_str(&heads::line(&note));
            }
        }
        Ok(lines)
    }

    fn latest(&self, session: &SessionId) -> Result<Option<SignedNote>, StoreError> {
        let found = self.log.with(false, |open| {
            let mut query = open.connection.prepare_cached(
                "SELECT note FROM checkpoints WHERE session = ?1 ORDER BY count DESC LIMIT 1",
            )?;
            let note = query.query_row([session.as_str()], |row| row.get::<_, String>(0));
            Ok(note.optional()?.into_iter().collect())
        })?;
        let note = found.first().and_then(|note| note.parse().ok());
        Ok(note)
    }

    /// Writes the log of `session` with its checkpoints, the log of keys and what is kept of the texts that its
    /// records name, to be checked anywhere.
    pub fn export(&self, session: &SessionId, out: &mut dyn Write) -> Result<u64, StoreError> {
        self.log.sign(session, false)?;
        let keys = self.log.keys().log_text()?;
        let mut export = Export::new(out);
        let records = self.log.with(false, |open| {
            let mut count = open.connection.prepare_cached(
                "SELECT count FROM checkpoints WHERE session = ?1 ORDER BY count DESC LIMIT 1",
            )?;
            let count =
                count.query_row([session.as_str()], |row| row.get::<_, u64>(0)).optional()?;
            let records = count.unwrap_or_default();
            export.begin(session, records, keys);
            each_checkpoint(open, session.as_str(), &mut |count, note| {
                if count <= records {
                    export.checkpoint(note);
                }
            })?;
            let mut contents = Contents::of(&open.connection, &self.large)?;
            each_record(open, session.as_str(), &mut |_, _, text| {
                let goes_on = export.record(text);
                if goes_on {
                    export.contents(text, &mut contents)?;
                }
                Ok(goes_on)
            })?;
            Ok(vec![records])
        })?;
        export.finish()?;
        Ok(records.first().copied().unwrap_or_default())
    }
}

fn is_of(note: &SignedNote, session: &str, count: u64) -> bool {
    note.checkpoint.count == count && note.checkpoint.session.as_str() == session
}

/// Passes on the checkpoints of `session`: what the database says that each covers, and its text.
fn each_checkpoint(
    open: &Open,
    session: &str,
    each: &mut dyn FnMut(u64, &str),
) -> Result<(), Failure> {
    let mut query = open.connection.prepare_cached(
        "SELECT count, CAST(note AS BLOB) FROM checkpoints WHERE session = ?1 ORDER BY count",
    )?;
    let mut rows = query.query([session])?;
    while let Some(row) = rows.next()? {
        let note = row.get_ref(1)?.as_bytes().map_err(rusqlite::Error::from)?;
        each(row.get(0).unwrap_or_default(), std::str::from_utf8(note).unwrap_or_default());
    }
    Ok(())
}

/// Passes on the records of `session` with their place, until `each` wants no more.
fn each_record(
    open: &Open,
    session: &str,
    each: &mut dyn FnMut(u64, i64, &str) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut query = open.connection.prepare_cached(
        "SELECT seq, at, CAST(event AS BLOB) FROM events WHERE session = ?1 ORDER BY seq",
    )?;
    let mut rows = query.query([session])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(2)?.as_bytes().map_err(rusqlite::Error::from)?;
        // What is no text or has no number is found to be no record.
        let (seq, at) = (row.get(0).unwrap_or_default(), row.get(1).unwrap_or_default());
        if !each(seq, at, std::str::from_utf8(text).unwrap_or_default())? {
            break;
        }
    }
    Ok(())
}
