//! Calls under way: what is said during them, how they end, and those that wait for a person.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use concertina_core::session::{Origin, Ticket};
use concertina_runtime::tools::{Outcome, Running};
use concertina_runtime::upstream::Caller;
use concertina_runtime::{Cancel, Reply, RuntimeError};
use concertina_types::limits;
use rmcp::ErrorData;
use rmcp::model::InputResponses;
use tokio::sync::{mpsc, oneshot};

use super::answer::Extra;
use super::asked::Asked;
use super::caller::{Notes, Said, Talker};
use super::desk::Desk;
use super::gateway::Gateway;
use super::notes::Lead;
use crate::lock;

/// How a call ended.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) reply: Reply,
    pub(super) extra: Extra,
    /// The error that the server refused with, in its own words.
    pub(super) error: Option<ErrorData>,
}

/// Where it lands.
pub(super) type Landing = oneshot::Sender<Result<Landed, RuntimeError>>;

/// A call under way. It runs to its end on the record, whoever waits for it; where nobody waits any
/// more, it is told to stop.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) said: mpsc::Receiver<Said>,
    pub(super) landed: oneshot::Receiver<Result<Landed, RuntimeError>>,
    /// What stands before the answer.
    pub(super) lead: Lead,
    /// Answers that came before their questions: a client may send them with the first request.
    pub(super) given: InputResponses,
    notes: Notes,
    cancel: Cancel,
}

impl Flight {
    /// Everything that stands before the answer, once the call has ended.
    pub(super) fn take_lead(&mut self) -> Lead {
        let mut lead = std::mem::take(&mut self.lead);
        for note in lock(&self.notes).drain(..) {
            lead.say(note);
        }
        lead
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.cancel.stop();
    }
}

/// Starts the call that `ticket` admits.
pub(super) fn launch(
    gateway: &Arc<Gateway>,
    desk: Arc<Desk>,
    origin: Origin,
    ticket: Ticket,
) -> Flight {
    let (flight, talker, land, cancel) = set_out();
    let gateway = Arc::clone(gateway);
    gateway.under_way.send_modify(|calls| *calls += 1);
    // Started before anything is waited for.
    let carried = start(&gateway, desk, origin, ticket, &cancel, Arc::new(talker));
    tokio::spawn(async move {
        // Nobody may be waiting any more; the record has it.
        let _ = land.send(carried.await);
        gateway.under_way.send_modify(|calls| *calls = calls.saturating_sub(1));
    });
    flight
}

/// A flight, and what whoever carries it out needs: a way to talk back, a place to land, a stop.
pub(super) fn set_out() -> (Flight, Talker, Landing, Cancel) {
    let cancel = Cancel::default();
    let (say, said) = mpsc::channel(limits::SAID_AT_ONCE);
    let (land, landed) = oneshot::channel();
    let notes = Notes::default();
    let talker = Talker { said: say, notes: Arc::clone(&notes) };
    let (lead, given) = (Lead::default(), InputResponses::new());
    (Flight { said, landed, lead, given, notes, cancel: cancel.clone() }, talker, land, cancel)
}

/// Runs the call that `ticket` admits to its end, on the record.
pub(super) fn start(
    gateway: &Arc<Gateway>,
    desk: Arc<Desk>,
    origin: Origin,
    ticket: Ticket,
    cancel: &Cancel,
    caller: Arc<dyn Caller>,
) -> impl Future<Output = Result<Landed, RuntimeError>> + Send + use<> {
    let id = ticket.id();
    let server = ticket.tool().as_str().split_once('/').map(|(server, _)| server.to_owned());
    let running = gateway.toolbox().start(ticket, cancel, caller);
    let gateway = Arc::clone(gateway);
    async move {
        let outcome = run(&gateway, running).await;
        let finished = desk.work(move |seat| {
            // What goes on beside the record is without secrets, as the record is.
            let mut outcome = seat.session.without_secrets(outcome);
            let (extra, error) = apart(&mut outcome);
            if let Some(server) = server {
                for uri in extra.links() {
                    gateway.remember_link(uri, &server);
                }
            }
            let reply = seat.session.finish(origin, id, outcome)?;
            Ok(Landed { reply, extra, error })
        });
        finished.await
    }
}

/// What an outcome holds besides its text: the other pieces, and the error as the protocol has it.
fn apart(outcome: &mut Outcome) -> (Extra, Option<ErrorData>) {
    match outcome {
        Outcome::Done { output, attached: Some(attached), .. } => {
            (Extra::of(std::mem::take(attached), output), None)
        }
        Outcome::Done { .. } => (Extra::default(), None),
        Outcome::Failed { error, .. } => {
            let error = error.take().and_then(|error| serde_json::from_value(*error).ok());
            (Extra::default(), error)
        }
    }
}

async fn run(gateway: &Gateway, running: Running) -> Outcome {
    match running {
        Running::Elsewhere(outcome) => outcome.await,
        Running::Here(run) => {
            let _place = gateway.local_runs.acquire().await;
            match tokio::task::spawn_blocking(run).await {
                Ok(outcome) => outcome,
                Err(error) => Outcome::failed("INTERNAL", format!("the tool broke off: {error}")),
            }
        }
    }
}

/// A call that waits for a person's answers, which come with another request.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) flight: Flight,
    pub(super) asked: Asked,
    /// Who may bring the answers.
    pub(super) principal: String,
    /// The session that the call belongs to.
    pub(super) desk: Arc<Desk>,
}

/// All calls that wait, by the handle that the client was given.
#[derive(Debug, Default)]
pub(super) struct Parking(Mutex<HashMap<String, Parked>>);

impl Parking {
    /// Keeps a call for a bounded time, and gives its handle.
    ///
    /// # Errors
    /// The call, where too many wait already or the system gives no random bits.
    pub(super) fn park(self: &Arc<Self>, parked: Parked) -> Result<String, Box<Parked>> {
        let mut bytes = [0_u8; 16];
        if getrandom::fill(&mut bytes).is_err() {
            return Err(Box::new(parked));
        }
        let handle = format!("q-{:032x}", u128::from_be_bytes(bytes));
        {
            let mut waiting = lock(&self.0);
            if waiting.len() >= limits::PARKED_CALLS {
                return Err(Box::new(parked));
            }
            waiting.insert(handle.clone(), parked);
        }
        let (parking, key) = (Arc::clone(self), handle.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(limits::QUESTION_SECONDS)).await;
            // Dropped here: the question counts as cancelled, and the call is told to stop.
            let late = lock(&parking.0).remove(&key);
            drop(late);
        });
        Ok(handle)
    }

    /// The call that `principal` was given `handle` for, once.
    pub(super) fn fetch(&self, handle: &str, principal: &str) -> Option<Parked> {
        let mut waiting = lock(&self.0);
        waiting.get(handle).filter(|parked| parked.principal == principal)?;
        waiting.remove(handle)
    }

    /// Gives up every call that waits.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *lock(&self.0));
        drop(all);
    }
}
