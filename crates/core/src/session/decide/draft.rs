//! A decision in the making.
//!
//! Whatever a decision keeps, records or says goes through here, and leaves its secrets here: before it
//! is hashed, counted, stored or shown.

use std::borrow::Cow;

use concertina_types::{
    Actor, Blob, Disclosed, Draft, Fact, Moved, SkillId, Subject, Timestamp, ToolName, limits,
};

use super::super::answer::{Answer, Details, Refusal};
use super::super::command::Origin;
use super::super::state::State;
use super::super::world::World;
use super::Decision;
use crate::context::disarm;
use crate::procedure::{Machine, Run, follow};

pub(super) struct Deciding<'a> {
    pub(super) state: &'a State,
    pub(super) world: &'a World<'a>,
    pub(super) now: Timestamp,
    step: u32,
    turn: u32,
    /// Procedures that begin with this decision.
    pub(super) machines: Vec<Machine>,
    /// The run of a procedure, as what was decided so far leaves it.
    run: Cow<'a, Option<Run>>,
    /// Texts that are not kept as they came.
    moved: Moved,
    pub(super) decision: Decision,
}

impl<'a> Deciding<'a> {
    pub(super) fn new(state: &'a State, world: &'a World<'a>, now: Timestamp) -> Self {
        let (step, turn) = (state.step, state.turn);
        let (moved, decision) = (Moved::new(), Decision::default());
        let (machines, run) = (Vec::new(), Cow::Borrowed(&state.run));
        Self { state, world, now, step, turn, machines, run, moved, decision }
    }

    /// The run of a procedure as it is after what was decided so far.
    pub(super) fn run(&self) -> Option<&Run> {
        self.run.as_ref().as_ref()
    }

    pub(super) fn into_decision(self) -> Decision {
        self.decision
    }

    /// Keeps a text beside the log and gives its address. Facts may also name it by the address that it
    /// had when it came.
    pub(super) fn keep(&mut self, text: impl Into<String>) -> Blob {
        let text = text.into();
        let (blob, kept) = match self.world.redactor.redact(&text) {
            Cow::Borrowed(_) => (Blob::of(&text), text),
            Cow::Owned(redacted) => {
                let blob = Blob::of(&redacted);
                self.moved.insert(Blob::of(&text).digest, blob);
                (blob, redacted)
            }
        };
        self.decision.content.push(kept);
        blob
    }

    /// The text without its secrets.
    pub(super) fn redacted(&self, text: String) -> String {
        match self.world.redactor.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(redacted) => redacted,
        }
    }

    /// How many events were decided so far.
    pub(super) fn drafted(&self) -> u64 {
        u64::try_from(self.decision.drafts.len()).unwrap_or(u64::MAX)
    }

    /// Adds an event.
    pub(super) fn fact(&mut self, actor: Actor, fact: Fact) {
        // What cannot be said without a secret is not said: an intent that is missing admits nothing.
        let fact = match self.world.redactor.redact_fact(fact, &self.moved) {
            Ok(fact) => fact,
            Err(unfit) => refused(unfit.kind, &Refusal::new("NOT_RECORDED", unfit.to_string())),
        };
        match fact {
            Fact::TaskGiven { .. } => self.step += 1,
            Fact::TurnStarted {} => self.turn += 1,
            Fact::ProcedureStarted { .. }
            | Fact::ProcedureObserved { .. }
            | Fact::ReceiptIssued { .. }
            | Fact::ProcedureMoved { .. }
            | Fact::ProcedureLeft { .. } => {
                let event = self.state.seq + 1 + self.drafted();
                follow(self.run.to_mut(), &fact, event);
            }
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
        let text = within(self.redacted(text.into()));
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
        refusal.message = self.redacted(disarm(&refusal.message));
        let details = &mut *refusal.details;
        if let (None, Some(tool)) = (&details.skill, &details.tool) {
            details.skill = self.asking_skill(tool);
        }
        self.fact(actor(origin), refused(request, &refusal));
        self.decision.refusal = Some(refusal);
    }

    /// The skill for which `tool` is called: the one opened last that claims it, or the only one that is
    /// open.
    fn asking_skill(&self, tool: &ToolName) -> Option<SkillId> {
        let open = &self.state.open;
        let only = || open.first().filter(|_| open.len() == 1);
        let skill = open.iter().rev().find(|open| open.claims(tool)).or_else(only);
        skill.map(|open| open.opened.id.clone())
    }

    /// Refuses what was asked for, on the record, and says so.
    pub(super) fn refuse(&mut self, origin: &Origin, request: impl Into<String>, refusal: Refusal) {
        let text = disarm(&format!("error {}: {}", refusal.code, refusal.message));
        self.decline(origin, request, refusal);
        self.answer(origin, text, true, Vec::new());
    }
}

/// The fact that `request` was refused.
fn refused(request: impl Into<String>, refusal: &Refusal) -> Fact {
    let Details { rule, object, skill, tool } = (*refusal.details).clone();
    Fact::RequestRefused {
        request: request.into(),
        code: refusal.code.clone(),
        reason: refusal.message.clone(),
        source: rule,
        object: object.and_then(|request| serde_json::to_value(request).ok()),
        skill,
        tool,
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
