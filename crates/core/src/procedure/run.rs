//! One passage through a procedure: a fold of events, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use concertina_types::{Digest, FieldValue, Receipt, Timestamp};

/// What a receipt names as its issuer where somebody sent it.
pub const WEBHOOK: &str = "webhook";

/// What a checkpoint was proven with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The receipt.
    pub receipt: Digest,
    /// The event of the session that brought it.
    pub event: u64,
    /// When what it speaks of ended.
    pub at: Timestamp,
    /// The workspace that it is about.
    pub inputs: Option<Digest>,
}

/// A change of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// From where.
    pub from: String,
    /// To where.
    pub to: String,
    /// Why, in a word: `next`, `fail`, `stale`.
    pub why: String,
    /// The event that brought it.
    pub event: u64,
}

/// A run of a procedure at one point of its log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    /// Its name: no other run has it.
    pub id: String,
    /// The procedure, by the digest of its text.
    pub procedure: Option<Digest>,
    /// The state it is in.
    pub state: String,
    /// The event that brought it there.
    pub entered: u64,
    /// Checkpoints that held at that moment.
    pub held: Vec<String>,
    /// Checks that failed since.
    pub failures: u32,
    /// What was proven, by checkpoint. Whether that still holds is for the machine to say.
    pub proofs: BTreeMap<String, Proof>,
    /// Why checkpoints that were tried are not proven, by name.
    pub refused: BTreeMap<String, String>,
    /// What the last receipt of each tool says. Entering a state forgets those of the tools that it shows.
    pub said: BTreeMap<String, BTreeMap<String, FieldValue>>,
    /// The workspace as it was last looked at.
    pub inputs: Option<Digest>,
    /// How many receipts it has.
    pub receipts: u64,
    /// The last of them.
    pub last: Option<Digest>,
    /// Random numbers of statements from outside: none counts twice.
    pub nonces: BTreeSet<String>,
    /// How it came here.
    pub history: Vec<Passage>,
}

impl Run {
    /// A run that begins with the event `event`.
    pub fn begin(
        id: String,
        procedure: Digest,
        state: String,
        inputs: Option<Digest>,
        event: u64,
    ) -> Self {
        Self { id, procedure: Some(procedure), state, inputs, entered: event, ..Self::default() }
    }

    /// The workspace was looked at.
    pub fn observe(&mut self, inputs: Option<Digest>) {
        self.inputs = inputs;
    }

    /// A receipt was issued by the event `event`. `decided` names every checkpoint that it decides on, with the
    /// reason where it does not prove it: what was proven before is then not proven any more.
    pub fn receive(
        &mut self,
        receipt: &Receipt,
        decided: &BTreeMap<String, Option<String>>,
        event: u64,
    ) {
        self.receipts = receipt.seq;
        let digest = receipt.digest();
        self.last = Some(digest);
        for (name, why_not) in decided {
            self.proofs.remove(name);
            self.refused.remove(name);
            if let Some(why_not) = why_not {
                self.refused.insert(name.clone(), why_not.clone());
                continue;
            }
            let proof =
                Proof { receipt: digest, event, at: receipt.ended, inputs: receipt.inputs_digest };
            self.proofs.insert(name.clone(), proof);
        }
        if decided.values().any(Option::is_some) {
            self.failures += 1;
        }
        if receipt.issuer == WEBHOOK {
            self.nonces.insert(receipt.nonce.clone());
        }
        self.said.insert(receipt.tool.clone(), receipt.parsed.clone());
    }

    /// A person said no to `checkpoint`.
    pub fn refuse(&mut self, checkpoint: &str) {
        self.proofs.remove(checkpoint);
        self.refused.insert(checkpoint.to_owned(), "a person said no".to_owned());
        self.failures += 1;
    }

    /// What was proven does not hold any more.
    pub fn expire(&mut self, checkpoint: &str) {
        self.proofs.remove(checkpoint);
    }

    /// It went on to another state, in which `shown` are the tools, with `held` the checkpoints that hold there.
    pub fn go(&mut self, to: &str, why: &str, shown: &[String], held: Vec<String>, event: u64) {
        let from = std::mem::replace(&mut self.state, to.to_owned());
        self.history.push(Passage { from, to: to.to_owned(), why: why.to_owned(), event });
        self.entered = event;
        self.failures = 0;
        self.held = held;
        for tool in shown {
            self.said.remove(tool);
        }
    }
}
