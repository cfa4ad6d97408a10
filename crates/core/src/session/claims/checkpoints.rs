//! Checkpoints that sentences speak of, and what receipts say of them.

use concertina_format::procedure::{Checkpoint, Issuer};
use concertina_types::{Blob, Digest, Event, Fact, Timestamp};

use super::Standing;
use crate::catalog::search::{Mention, Said};
use crate::procedure::{Lack, Machine, Moment, Run, follow};

/// Words of a name that say how it went, not what it is about.
const OUTCOMES: &[&str] =
    &["ok", "okay", "pass", "green", "clean", "done", "good", "ready", "success", "successful"];

/// The checkpoints of the procedures that a session followed or could follow.
pub(super) struct Checkpoints {
    machines: Vec<Machine>,
    mentions: Vec<Named>,
    /// What was proven in the session, by whichever run: a receipt holds as long as the work that it is about.
    run: Option<Run>,
    event: u64,
}

/// A checkpoint, by the words that people have for it.
struct Named {
    machine: usize,
    checkpoint: String,
    /// Where a tool proves it.
    tool: Option<String>,
    by: Vec<Mention>,
}

impl Checkpoints {
    /// Those of the procedures that `events` tell of, and of `others`.
    pub(super) fn of(
        events: &[Event],
        text: &dyn Fn(&Blob) -> Option<String>,
        others: &[Machine],
    ) -> Self {
        let followed = events.iter().rev().filter_map(|event| match &event.fact {
            Fact::ProcedureStarted { texts, .. } => Some(texts),
            _ => None,
        });
        let mut blobs: Vec<&Blob> = Vec::new();
        for blob in followed.flatten() {
            if blobs.iter().all(|known| known.digest != blob.digest) {
                blobs.push(blob);
            }
        }
        let texts = blobs.into_iter().filter_map(text);
        let mut machines: Vec<Machine> =
            texts.filter_map(|text| Machine::new(&text).ok()).collect();
        for other in others {
            if machines.iter().all(|known| known.document().name != other.document().name) {
                machines.push(other.clone());
            }
        }
        let mut mentions: Vec<Named> = Vec::new();
        for (machine, of) in machines.iter().enumerate() {
            for checkpoint in &of.document().checkpoints {
                if mentions.iter().all(|known| known.checkpoint != checkpoint.name) {
                    mentions.push(Named::new(machine, checkpoint));
                }
            }
        }
        Self { machines, mentions, run: None, event: 0 }
    }

    pub(super) fn take(&mut self, event: &Event) {
        self.event = event.seq;
        let before = self.run.clone();
        follow(&mut self.run, &event.fact, event.seq);
        match (&event.fact, before) {
            (Fact::ProcedureStarted { .. }, Some(before)) => {
                if let Some(run) = &mut self.run {
                    (run.proofs, run.refused) = (before.proofs, before.refused);
                }
            }
            (Fact::ProcedureLeft { .. }, before) => self.run = before,
            _ => {}
        }
    }

    /// The tools that prove the checkpoints of which `said` speaks.
    pub(super) fn tools_in(&self, said: &Said) -> Vec<&str> {
        self.spoken_of(said).filter_map(|named| named.tool.as_deref()).collect()
    }

    /// The checkpoints of which `said` speaks.
    pub(super) fn named_in(&self, said: &Said) -> Vec<&str> {
        self.spoken_of(said).map(|named| named.checkpoint.as_str()).collect()
    }

    /// Those of the procedure that was followed last, or of any.
    pub(super) fn all(&self) -> Vec<&str> {
        let of_first = self.mentions.iter().filter(|named| named.machine == 0);
        of_first.map(|named| named.checkpoint.as_str()).collect()
    }

    /// Who says "unit tests" does not speak of just any tests.
    fn spoken_of<'s>(&'s self, said: &Said) -> impl Iterator<Item = &'s Named> {
        let spoken = |named: &Named| -> Vec<Mention> {
            named.by.iter().filter(|mention| mention.is_in(said)).cloned().collect()
        };
        let all: Vec<(&Named, Vec<Mention>)> =
            self.mentions.iter().map(|named| (named, spoken(named))).collect();
        let every: Vec<Mention> = all.iter().flat_map(|(_, by)| by.clone()).collect();
        let is_meant = move |by: &[Mention]| {
            by.iter().any(|one| !every.iter().any(|other| other.is_more_than(one)))
        };
        all.into_iter().filter(move |(_, by)| is_meant(by)).map(|(named, _)| named)
    }

    /// What receipts say of `checkpoint` at the moment `now`, and the one that proves it.
    pub(super) fn standing(&self, checkpoint: &str, now: Timestamp) -> (Standing, Option<Digest>) {
        let named = self.mentions.iter().find(|named| named.checkpoint == checkpoint);
        let machine = named.and_then(|named| self.machines.get(named.machine));
        let known = machine.and_then(|machine| {
            Some((machine, machine.document().checkpoint(checkpoint)?, self.run.as_ref()?))
        });
        let Some((machine, known, run)) = known else { return (Standing::NotProven, None) };
        let receipt = run.proofs.get(checkpoint).map(|proof| proof.receipt);
        let standing = match machine.holds(run, known, Moment { now, event: self.event }) {
            Ok(()) => Standing::Backed,
            Err(Lack::Stale | Lack::Unseen | Lack::Expired) => Standing::Stale,
            Err(Lack::Open | Lack::Refused(_)) => Standing::NotProven,
        };
        (standing, receipt)
    }
}

impl Named {
    fn new(machine: usize, checkpoint: &Checkpoint) -> Self {
        let tool = match &checkpoint.issuer {
            Issuer::Tool { tool, .. } => Some(tool.clone()),
            Issuer::Webhook { .. } | Issuer::Human { .. } => None,
        };
        let role = match &checkpoint.issuer {
            Issuer::Human { role, .. } => Some(role.as_str()),
            Issuer::Tool { .. } | Issuer::Webhook { .. } => None,
        };
        let last = tool.as_deref().and_then(|tool| tool.rsplit('/').next());
        let names = std::iter::once(checkpoint.name.as_str()).chain(last).chain(role);
        let mut by: Vec<Mention> = Vec::new();
        for mention in names.filter_map(|name| Mention::of(name, OUTCOMES)) {
            if !by.contains(&mention) {
                by.push(mention);
            }
        }
        Self { machine, checkpoint: checkpoint.name.clone(), tool, by }
    }
}
