//! A decision in the making.

use concertina_types::{Actor, Blob, Disclosed, Draft, Fact, Subject, Timestamp, limits};

use super::super::answer::{Answer, Refusal};
use super::super::command::Origin;
use super::super::state::State;
use super::super::world::World;
use super::Decision;
use crate::context::disarm;

pub(super) struct Deciding<'a> {
    pub(super) state: &'a State,
    pub(super) world: &'a World<'a>,
    pub(super) now: Timestamp,
    step: u32,
    turn: u32,
    pub(super) decision: Decision,
}

impl<'a> Deciding<'a> {
    pub(super) fn new(state: &'a State, world: &'a World<'a>, now: Timestamp) -> Self {
        let (step, turn) = (state.step, state.turn);
        Self { state, world, now, step, turn, decision: Decision::default() }
    }

    pub(super) fn into_decision(self) -> Decision {
        self.decision
    }

    /// Keeps a text beside the log and gives its address.
    pub(super) fn keep(&mut self, text: impl Into<String>) -> Blob {
        let text = text.into();
        let blob = Blob::of(&text);
        self.decision.content.push(text);
        blob
    }

    /// Adds an event.
    pub(super) fn fact(&mut self, actor: Actor, fact: Fact) {
        match fact {
            Fact::TaskGiven { .. } => self.step += 1,
            Fact::TurnStarted {} => self.turn += 1,
            _ => {}
        }
        // What follows in one decision is caused by what the decision was made on.
        let cause = (self.state.seq > 0).then_some(self.state.seq);
        let turn = (self.turn > 0).then_some(self.turn);
        self.decision.drafts.push(Draft {
            step: self.step,
            turn,
            at: self.now,
            actor,
            cause,
            fact,
        });
    }

    /// Answers whoever asked.
    pub(super) fn answer(
        &mut self,
        origin: &Origin,
        text: impl Into<String>,
        error: bool,
        disclosed: Vec<Disclosed>,
    ) {
        let text = within(text.into());
        let tokens = self.world.counter.count(&text);
        let blob = self.keep(text.clone());
        let fact = Fact::RequestAnswered {
            call: origin.call.clone(),
            text: blob,
            tokens,
            error,
            disclosed: disclosed.clone(),
        };
        self.fact(Actor::System, fact);
        self.decision.answer = Some(Answer { text, tokens, error, disclosed });
    }

    /// Declines a part of a request, on the record. The request as a whole gets its answer later.
    pub(super) fn decline(
        &mut self,
        origin: &Origin,
        request: impl Into<String>,
        mut refusal: Refusal,
    ) {
        // The words may quote names that somebody else chose.
        refusal.message = disarm(&refusal.message);
        let fact = Fact::RequestRefused {
            request: request.into(),
            code: refusal.code.clone(),
            reason: refusal.message.clone(),
        };
        self.fact(actor(origin), fact);
        self.decision.refusal = Some(refusal);
    }

    /// Refuses what was asked for, on the record, and says so.
    pub(super) fn refuse(&mut self, origin: &Origin, request: impl Into<String>, refusal: Refusal) {
        let text = disarm(&format!("error {}: {}", refusal.code, refusal.message));
        self.decline(origin, request, refusal);
        self.answer(origin, text, true, Vec::new());
    }
}

/// Who acts when `origin` asks.
pub(super) fn actor(origin: &Origin) -> Actor {
    match origin.subject {
        Subject::User => Actor::User,
        Subject::Model => Actor::Model,
    }
}

/// An answer that every client shows whole. What pages itself stays below the limit anyway; this
/// holds for the rest, such as the result of a fork or an enormous schema.
fn within(text: String) -> String {
    if text.len() <= limits::RESULT_BYTES {
        return text;
    }
    let note = format!("[cut: the first part of {} bytes]\n", text.len());
    let room = text.floor_char_boundary(limits::RESULT_BYTES.saturating_sub(note.len()));
    note + text.get(..room).unwrap_or_default()
}
