//! A log as one file that can be checked anywhere: JSON lines.
//!
//! The first line names the session, how many records follow, and the log of keys; then come the signed
//! checkpoints, then the records, each as it was hashed and followed by the texts that it is the first to
//! name, as far as they are kept.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use concertina_types::{Digest, SessionId, SignedNote};
use serde::{Deserialize, Serialize};

use super::Against;
use super::check::{Check, Fault, Verdict};
use super::contents::{Contents, Kept, named};
use super::keys::KeyLog;
use crate::StoreError;
use crate::sqlite::Failure;

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

/// A text that records name: as it is, or in base64 where it is none.
#[derive(Debug, Serialize, Deserialize)]
struct Carried {
    content: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Carried {
    fn new(content: Digest, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { content, text: Some(text), base64: None },
            Err(bytes) => {
                Self { content, text: None, base64: Some(BASE64.encode(bytes.as_bytes())) }
            }
        }
    }

    fn bytes(self) -> Option<Vec<u8>> {
        match (self.text, self.base64) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(base64)) => BASE64.decode(base64).ok(),
            _ => None,
        }
    }
}

/// How the lines of a checkpoint and of a text begin; records begin otherwise.
const CHECKPOINT: &str = "{\"checkpoint\":";
const CONTENT: &str = "{\"content\":";

/// Writes an export, piece by piece.
pub(super) struct Export<'a> {
    out: &'a mut dyn Write,
    left: u64,
    /// What was looked for already.
    named: HashSet<Digest>,
    failed: Option<std::io::Error>,
}

impl<'a> Export<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, left: 0, named: HashSet::new(), failed: None }
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

    /// Writes the texts that `record` is the first to name, as they are kept.
    pub(super) fn contents(
        &mut self,
        record: &str,
        contents: &mut Contents<'_>,
    ) -> Result<(), Failure> {
        for digest in named(record) {
            if self.named.insert(digest)
                && let Some(bytes) = contents.bytes(&digest)?
            {
                self.write(&json(&Carried::new(digest, bytes)));
            }
        }
        Ok(())
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
    let (mut records, mut texts) = (0, Texts::default());
    while let Some(line) = lines.next()? {
        if line.starts_with(CHECKPOINT) {
            let note = serde_json::from_str::<Signed>(&line).ok();
            match note.and_then(|signed| signed.checkpoint.parse::<SignedNote>().ok()) {
                Some(note) if note.checkpoint.session == header.session => check.expect(&note),
                _ => check.fault(Fault::CheckpointForged),
            }
            continue;
        }
        if line.starts_with(CONTENT) {
            texts.take(&line, &mut check);
            continue;
        }
        records += 1;
        if !check.record(session, None, &line) {
            return Ok(check.finish(session.to_owned(), true, lines.torn));
        }
        for digest in named(&line) {
            texts.named.entry(digest).or_insert((records, Kept::Gone));
        }
    }
    for (seq, _) in texts.named.values().filter(|(_, kept)| *kept == Kept::Gone) {
        check.content(*seq, Kept::Gone);
    }
    if records != header.records {
        check.cut(records + 1);
    }
    Ok(check.finish(session.to_owned(), true, lines.torn))
}

/// The texts that records name: the first record that does, and what the file has of it.
#[derive(Default)]
struct Texts {
    named: HashMap<Digest, (u64, Kept)>,
}

impl Texts {
    fn take(&mut self, line: &str, check: &mut Check) {
        let said = serde_json::from_str::<Carried>(line).ok();
        let said = said.and_then(|content| Some((content.content, content.bytes()?)));
        let Some((digest, bytes)) = said else { return check.fault(Fault::ContentChanged) };
        // What no record names proves nothing and spoils nothing.
        if let Some((seq, kept)) = self.named.get_mut(&digest) {
            *kept = Kept::of(&digest, Some(&bytes));
            check.content(*seq, *kept);
        }
    }
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
