//! The log: one chain of events per session, each naming the hash of the one before.

use serde::{Deserialize, Serialize};

use crate::{Digest, Fact, SessionId, Timestamp, canonical_json};

/// The version of the event format.
pub const EVENT_VERSION: u8 = 1;

/// Who caused an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// A person.
    User,
    /// The model.
    Model,
    /// Concertina itself.
    System,
    /// A tool, by its outcome.
    Tool,
}

/// An event that was decided on but has no place in a log yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The step of the task.
    pub step: u32,
    /// The turn, where turns are known.
    pub turn: Option<u32>,
    /// When, as the command said.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// The event that led to this one.
    pub cause: Option<u64>,
    /// What happened.
    pub fact: Fact,
}

/// One record of a session's log.
///
/// ```
/// use concertina_types::{Actor, Draft, Fact, SessionId, Timestamp, verify_chain};
/// let draft = |at| Draft {
///     step: 0, turn: None, at: Timestamp(at), actor: Actor::System, cause: None,
///     fact: Fact::TurnStarted {},
/// };
/// let session = SessionId::new("s-1")?;
/// let first = draft(5).seal(&session, None);
/// let second = draft(3).seal(&session, Some(&first));
/// assert_eq!(second.at, first.at, "a clock set back does not reorder the log");
/// assert!(verify_chain(&[first, second]).is_ok());
/// # Ok::<(), concertina_types::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The version of the format, [`EVENT_VERSION`].
    pub v: u8,
    /// The place in the session, from 1 without gaps.
    pub seq: u64,
    /// Which session.
    pub session: SessionId,
    /// The step of the task.
    pub step: u32,
    /// The turn, where turns are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// When; never earlier than the event before.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// The event that led to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// What happened: `kind` and `data`.
    #[serde(flatten)]
    pub fact: Fact,
    /// The hash of the event before; absent on the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev_hash: Option<Digest>,
    /// The hash of everything above, as canonical JSON.
    pub hash: Digest,
}

impl Draft {
    /// Gives the event its place after `previous`, the last event of the session.
    pub fn seal(self, session: &SessionId, previous: Option<&Event>) -> Event {
        let mut event = Event {
            v: EVENT_VERSION,
            seq: previous.map_or(1, |event| event.seq + 1),
            session: session.clone(),
            step: self.step,
            turn: self.turn,
            at: previous.map_or(self.at, |event| event.at.max(self.at)),
            actor: self.actor,
            cause: self.cause,
            fact: self.fact,
            prev_hash: previous.map(|event| event.hash),
            hash: Digest::of(b""),
        };
        event.hash = event.computed_hash();
        event
    }
}

impl Event {
    /// The hash that the event must have.
    pub fn computed_hash(&self) -> Digest {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(map) = value.as_object_mut() {
            map.remove("hash");
        }
        Digest::of(canonical_json(&value).as_bytes())
    }
}

/// Where a log stops being trustworthy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: {reason}")]
pub struct ChainError {
    /// The first bad event.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// Checks a whole session: numbers without gaps, each hash right, each naming the one before.
pub fn verify_chain(events: &[Event]) -> Result<(), ChainError> {
    let mut previous: Option<&Event> = None;
    for event in events {
        let reason = if event.seq != previous.map_or(1, |event| event.seq + 1) {
            Some("its number does not follow")
        } else if event.prev_hash != previous.map(|event| event.hash) {
            Some("it does not name the hash of the event before")
        } else if previous.is_some_and(|before| before.session != event.session) {
            Some("it belongs to another session")
        } else if event.hash != event.computed_hash() {
            Some("its content does not match its hash")
        } else {
            None
        };
        if let Some(reason) = reason {
            return Err(ChainError { seq: event.seq, reason });
        }
        previous = Some(event);
    }
    Ok(())
}
