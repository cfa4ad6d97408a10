//! A log as one file that can be checked anywhere: JSON lines.
//!
//! The first line names the session, how many records follow, and the log of keys; then come the signed
//! checkpoints, then the records, each as it was hashed.

use std::io::{BufRead, Write};
use std::path::Path;

use concertina_types::{SessionId, SignedNote};
use serde::{Deserialize, Serialize};

use super::Against;
use super::check::{Check, Fault, Verdict};
use super::keys::KeyLog;
use crate::StoreError;

/// The format of the file.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    concertina_export: u32,
    session: SessionId,
    records: u64,
    keys: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Signed {
    checkpoint: String,
}

/// How the line of a checkpoint begins; records begin otherwise.
const CHECKPOINT: &str = "{\"checkpoint\":";

/// Writes an export, piece by piece.
pub(super) struct Export<'a> {
    out: &'a mut dyn Write,
    left: u64,
    failed: Option<std::io::Error>,
}

impl<'a> Export<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, left: 0, failed: None }
    }

    pub(super) fn begin(&mut self, session: &SessionId, records: u64, keys: String) {
        let session = session.clone();
        self.left = records;
        self.write(&json(&Header { concertina_export: FORMAT, session, records, keys }));
    }

    pub(super) fn checkpoint(&mut self, note: &str) {
        self.write(&json(&Signed { checkpoint: note.to_owned() }));
    }

    /// Writes a record; false where no more are wanted.
    pub(super) fn record(&mut self, text: &str) -> bool {
        let is_wanted = self.left > 0 && self.failed.is_none();
        if is_wanted {
            self.left -= 1;
            self.write(text);
        }
        is_wanted
    }

    fn write(&mut self, line: &str) {
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{line}").err();
        }
    }

    pub(super) fn finish(self) -> Result<(), StoreError> {
        match self.failed {
            Some(error) => Err(StoreError::io(Path::new("the export"), error)),
            None => Ok(()),
        }
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Checks an export by itself: its keys are those that it brings, so `against` should name the one that is
/// expected.
///
/// # Errors
/// The file cannot be read. What is wrong in it is no error but a finding.
pub fn verify_export(from: &mut dyn BufRead, against: &Against) -> Result<Verdict, StoreError> {
    let mut lines = Lines { from, torn: false };
    let header = lines.next()?.and_then(|line| serde_json::from_str::<Header>(&line).ok());
    let Some(header) = header.filter(|header| header.concertina_export == FORMAT) else {
        let mut check = Check::new(KeyLog::default(), None);
        check.fault(Fault::Unreadable);
        return Ok(check.finish(String::new(), true, lines.torn));
    };
    let (keys, fault) = match KeyLog::parse(&header.keys) {
        Ok(keys) if against.accepts(&keys) => (keys, None),
        Ok(keys) => (keys, Some(Fault::KeyUnknown)),
        Err(_) => (KeyLog::default(), Some(Fault::KeyChanged)),
    };
    let mut check = Check::new(keys, against.head);
    if let Some(fault) = fault {
        check.fault(fault);
    }
    let session = header.session.as_str();
    let mut records = 0;
    while let Some(line) = lines.next()? {
        if line.starts_with(CHECKPOINT) {
            let note = serde_json::from_str::<Signed>(&line).ok();
            match note.and_then(|signed| signed.checkpoint.parse::<SignedNote>().ok()) {
                Some(note) if note.checkpoint.session == header.session => check.expect(&note),
                _ => check.fault(Fault::CheckpointForged),
            }
            continue;
        }
        records += 1;
        if !check.record(session, None, &line) {
            return Ok(check.finish(session.to_owned(), true, lines.torn));
        }
    }
    if records != header.records {
        check.cut(records + 1);
    }
    Ok(check.finish(session.to_owned(), true, lines.torn))
}

struct Lines<'a> {
    from: &'a mut dyn BufRead,
    torn: bool,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<String>, StoreError> {
        let mut bytes = Vec::new();
        let read = self.from.read_until(b'\n', &mut bytes);
        read.map_err(|error| StoreError::io(Path::new("the export"), error))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else {
            self.torn = true;
        }
        // What is no text is no record, and is found to be none.
        Ok(Some(String::from_utf8(bytes).unwrap_or_default()))
    }
}
