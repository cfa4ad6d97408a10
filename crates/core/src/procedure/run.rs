//! One passage through a procedure: a fold of events, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use concertina_types::{Blob, ConfigOrigin, Digest, Fact, FieldValue, Receipt, Timestamp};

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
    /// The tool that brought it, as it was defined.
    pub tool: Digest,
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
    /// Its text, and those of the procedures that may follow it.
    pub texts: Vec<Blob>,
    /// Whose settings listed it when it began; none where none did.
    pub listed_by: Option<ConfigOrigin>,
    /// The state it is in.
    pub state: String,
    /// The event that brought it there.
    pub entered: u64,
    /// Checkpoints that held at that moment.
    pub held: Vec<String>,
    /// Whether it ended there.
    pub ended: bool,
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

/// Why a checkpoint holds no longer whose proof grew too old.
pub(super) const EXPIRED: &str = "expired";
/// The same where the tool is another by now.
const REPLACED: &str = "the tool that proved it was changed since";

/// What `fact`, the event number `event`, makes of the run that is under way.
pub fn follow(run: &mut Option<Run>, fact: &Fact, event: u64) {
    if let Fact::ProcedureStarted { run: id, digest, texts, state, inputs, listed_by, .. } = fact {
        *run = Some(Run {
            id: id.clone(),
            procedure: Some(*digest),
            texts: texts.clone(),
            state: state.clone(),
            inputs: *inputs,
            listed_by: *listed_by,
            entered: event,
            ..Run::default()
        });
    }
    let Some(under_way) = run else { return };
    match fact {
        Fact::ProcedureObserved { inputs, expired, replaced } => {
            under_way.inputs = *inputs;
            let over = expired.iter().map(|checkpoint| (checkpoint, EXPIRED));
            for (checkpoint, why) in over.chain(replaced.iter().map(|one| (one, REPLACED))) {
                under_way.proofs.remove(checkpoint);
                under_way.refused.insert(checkpoint.clone(), why.to_owned());
            }
        }
        Fact::ReceiptIssued { receipt, decided } => {
            under_way.receive(&receipt.receipt, decided, event);
        }
        Fact::ProcedureMoved { from, to, why, held, forgets, ended } => {
            let (from, to, why) = (from.clone(), to.clone(), why.clone());
            under_way.state.clone_from(&to);
            under_way.history.push(Passage { from, to, why, event });
            under_way.entered = event;
            under_way.failures = 0;
            under_way.held.clone_from(held);
            under_way.ended = *ended;
            under_way.said.retain(|tool, _| !forgets.contains(tool));
        }
        Fact::ProcedureLeft { .. } => *run = None,
        _ => {}
    }
}

impl Run {
    /// Takes a receipt, issued by the event `event`. `decided` names every checkpoint that it decides on, with the
    /// reason where it does not prove it: what was proven before is then not proven any more.
    fn receive(
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
            let proof = Proof {
                receipt: digest,
                event,
                at: receipt.ended,
                inputs: receipt.inputs_digest,
                tool: receipt.tool_digest,
            };
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
}
