//! The check of one log, record by record: nothing of it is held.

use std::collections::BTreeMap;

use concertina_types::{Digest, Event, MerkleTree, Sealed, SignedNote};
use serde::Serialize;

use super::contents::Kept;
use super::keys::KeyLog;
use super::seal::CHECKPOINT_EVENTS;

/// What is wrong with a log. The codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Fault {
    /// A record is not what its hash says, or cannot be read.
    RecordChanged,
    /// A number is missing, or there is one too many.
    RecordMissing,
    /// A record does not name the hash of the one before: others stood here.
    ChainBroken,
    /// A signed checkpoint says something else of the log: it was written anew, by somebody without the
    /// key.
    CheckpointMismatch,
    /// A checkpoint is not one, or its signature is wrong.
    CheckpointForged,
    /// A checkpoint is signed by a key that the log of keys does not know.
    KeyUnknown,
    /// The latest checkpoint is signed by a key that another one replaced.
    KeyRetired,
    /// The log of keys, or the key itself, is not as it was written.
    KeyChanged,
    /// More records than there can be are without a signature.
    CheckpointMissing,
    /// A checkpoint tells of more records than there are.
    Truncated,
    /// The head that was expected is not in the log.
    HeadMissing,
    /// The file of heads, or the anchor, has a line that is no checkpoint.
    HeadsChanged,
    /// A text that a record names by its digest is kept, and is another.
    ContentChanged,
    /// The file that holds the log cannot be read.
    Unreadable,
}

impl Fault {
    /// The fault in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::RecordChanged => "its content is not what its hash says",
            Self::RecordMissing => "the record that belongs here is missing",
            Self::ChainBroken => "it does not follow the record before it",
            Self::CheckpointMismatch => {
                "a signed checkpoint tells of another record here: the log was written anew"
            }
            Self::CheckpointForged => "a checkpoint was not signed by the key that it names",
            Self::KeyUnknown => "a checkpoint is signed by a key that is not in the log of keys",
            Self::KeyRetired => {
                "the latest checkpoint is signed by a key that was replaced; if a rotation was \
                 broken off, rotate once more"
            }
            Self::KeyChanged => "the log of keys, or the key that signs, was changed",
            Self::CheckpointMissing => {
                "from here on there should be a checkpoint, and there is none"
            }
            Self::Truncated => "a signed checkpoint tells of more records: the end was cut off",
            Self::HeadMissing => "the head that is expected is not in the log: its end was cut off",
            Self::HeadsChanged => "a file of heads has a line that is no checkpoint",
            Self::ContentChanged => "what is kept of a text that it names is another text",
            Self::Unreadable => "what is stored cannot be read from here on",
        }
    }
}

/// What the check of one log found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Which session; as it is written, if that is no name.
    pub session: String,
    /// Whether nothing is wrong.
    pub ok: bool,
    /// Records that were read and are in order.
    pub records: u64,
    /// How many of them the latest checkpoint covers.
    pub signed: u64,
    /// The first record that is wrong or missing.
    pub first_bad: Option<u64>,
    /// What is wrong.
    pub reason: Option<Fault>,
    /// The hash of the last record in order.
    pub head: Option<Digest>,
    /// The key that signed the latest checkpoint.
    pub key: Option<String>,
    /// Whether a file of heads ends within a line: a writer was stopped there, which loses nothing.
    pub torn: bool,
    /// How many texts its records name that are not kept any more, which retention allows.
    pub not_kept: u64,
}

impl Verdict {
    /// Takes back that `fault` is what is wrong.
    pub(super) fn forgive(&mut self, fault: Fault) {
        if self.reason == Some(fault) {
            (self.ok, self.first_bad, self.reason) = (true, None, None);
        }
    }
}

/// A checkpoint that the log has to agree with.
#[derive(Debug)]
struct Expected {
    root: Digest,
    head: Digest,
}

/// Checks a log while its records pass.
pub(crate) struct Check {
    keys: KeyLog,
    expected: BTreeMap<u64, Vec<Expected>>,
    wanted_head: Option<Digest>,
    tree: MerkleTree,
    head: Option<Digest>,
    /// The checkpoint that was agreed with last, and where its key stands.
    signed: u64,
    signer: Option<usize>,
    wrong: Option<(u64, Fault)>,
    /// Faults without a place among the records.
    apart: Option<Fault>,
    not_kept: u64,
}

impl Check {
    pub(crate) fn new(keys: KeyLog, wanted_head: Option<Digest>) -> Self {
        Self {
            keys,
            expected: BTreeMap::new(),
            wanted_head,
            tree: MerkleTree::default(),
            head: None,
            signed: 0,
            signer: None,
            wrong: None,
            apart: None,
            not_kept: 0,
        }
    }

    /// Takes a checkpoint that the log has to agree with. Its signature is checked here.
    pub(crate) fn expect(&mut self, note: &SignedNote) {
        let signer = self.keys.signer(note);
        if signer.is_none() && self.apart != Some(Fault::KeyChanged) {
            let known = self.keys.keys().iter().any(|key| key.id == note.key);
            let fault = if known { Fault::CheckpointForged } else { Fault::KeyUnknown };
            return self.is_wrong(note.checkpoint.count, fault);
        }
        let checkpoint = &note.checkpoint;
        // Of two for the same records, the later key counts.
        let latest = (self.signed, self.signer);
        (self.signed, self.signer) = latest.max((checkpoint.count, signer));
        let expected = Expected { root: checkpoint.root, head: checkpoint.head };
        self.expected.entry(checkpoint.count).or_default().push(expected);
    }

    /// Takes note that the log ends before record `seq`, which it is said to have.
    pub(crate) fn cut(&mut self, seq: u64) {
        self.is_wrong(seq, Fault::Truncated);
    }

    /// Takes note of a checkpoint, said to be that of `count`, that cannot be read.
    pub(crate) fn forged(&mut self, count: u64) {
        self.is_wrong(count, Fault::CheckpointForged);
    }

    /// Takes note of a fault that has no place among the records.
    pub(crate) fn fault(&mut self, fault: Fault) {
        self.apart = self.apart.or(Some(fault));
    }

    /// Takes the next record. False where nothing after it can be trusted.
    pub(crate) fn record(&mut self, session: &str, place: Option<(u64, i64)>, text: &str) -> bool {
        let next = self.tree.count() + 1;
        let before;
        let record = if let Some(record) = Sealed::read(text) {
            record
        } else if let Some(event) = of_before(text) {
            before = event;
            frame(&before)
        } else {
            self.is_wrong(next, Fault::RecordChanged);
            return false;
        };
        let is_placed = place.is_none_or(|place| place == (record.seq, record.at));
        let fault = if record.session != session || !is_placed {
            Fault::RecordChanged
        } else if record.seq != next {
            Fault::RecordMissing
        } else if record.prev_hash != self.head {
            Fault::ChainBroken
        } else {
            return self.follows(&record);
        };
        self.is_wrong(next, fault);
        false
    }

    /// Takes what is kept of a text that record `seq` is the first to name.
    pub(crate) fn content(&mut self, seq: u64, kept: Kept) {
        match kept {
            Kept::Whole => {}
            Kept::Changed => self.is_wrong(seq, Fault::ContentChanged),
            Kept::Gone => self.not_kept += 1,
        }
    }

    fn follows(&mut self, record: &Sealed<'_>) -> bool {
        self.tree.push(&record.hash);
        self.head = Some(record.hash);
        if self.wanted_head == self.head {
            self.wanted_head = None;
        }
        let Some(expected) = self.expected.remove(&record.seq) else { return true };
        let agrees = |one: &Expected| one.head == record.hash && one.root == self.tree.root();
        if expected.iter().all(agrees) {
            return true;
        }
        // Up to the checkpoint before, the log was agreed with.
        self.is_wrong(record.seq, Fault::CheckpointMismatch);
        false
    }

    fn is_wrong(&mut self, seq: u64, fault: Fault) {
        if self.wrong.is_none_or(|(known, _)| seq < known) {
            self.wrong = Some((seq, fault));
        }
    }

    /// The records ended, by themselves or by a fault of what holds them.
    pub(crate) fn finish(mut self, session: String, is_whole: bool, torn: bool) -> Verdict {
        let records = self.tree.count();
        if !is_whole {
            self.is_wrong(records + 1, Fault::Unreadable);
        } else if !self.expected.is_empty() {
            self.is_wrong(records + 1, Fault::Truncated);
        } else if self.wanted_head.is_some() {
            self.is_wrong(records + 1, Fault::HeadMissing);
        } else if records - self.signed.min(records) >= CHECKPOINT_EVENTS {
            self.is_wrong(self.signed + CHECKPOINT_EVENTS, Fault::CheckpointMissing);
        } else if self.signer.is_some_and(|signer| signer + 1 != self.keys.keys().len()) {
            self.fault(Fault::KeyRetired);
        }
        let signer = self.signer.and_then(|at| self.keys.keys().get(at));
        Verdict {
            session,
            ok: self.wrong.is_none() && self.apart.is_none(),
            records,
            signed: self.signed.min(records),
            first_bad: self.wrong.map(|(seq, _)| seq),
            reason: self.wrong.map(|(_, fault)| fault).or(self.apart),
            head: self.head,
            key: signer.map(|key| key.id.to_string()),
            torn,
            not_kept: self.not_kept,
        }
    }
}

/// An event in the format of before canonical texts, whose fields stand in another order.
fn of_before(text: &str) -> Option<Event> {
    let event: Event = serde_json::from_str(text).ok()?;
    // One spelling only.
    let is_plain = serde_json::to_string(&event).ok()? == text;
    (is_plain && event.hash == event.computed_hash()).then_some(event)
}

fn frame(event: &Event) -> Sealed<'_> {
    let Event { session, seq, at, prev_hash, hash, .. } = event;
    let (session, at) = (session.as_str(), at.0);
    Sealed { session, seq: *seq, at, prev_hash: *prev_hash, hash: *hash }
}
