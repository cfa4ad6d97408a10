//! Sessions as they are held here, and who may sit down at which.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use concertina_core::session::Refusal;
use concertina_runtime::{RuntimeError, Session, Started};
use concertina_types::{Blob, Digest, SessionId, SessionMode, limits};

use super::gateway::Gateway;
use crate::lock;

/// A session and whose it is.
#[derive(Debug)]
pub(super) struct Desk {
    /// Its id, which is its handle.
    pub(super) id: SessionId,
    /// On whose behalf it acts.
    pub(super) principal: String,
    seat: Arc<tokio::sync::Mutex<Seat>>,
}

/// What only one request at a time may touch.
#[derive(Debug)]
pub(super) struct Seat {
    /// The session.
    pub(super) session: Session,
    /// The client's name for its window, where it gives one.
    window: Option<String>,
    /// The catalogue of which the client was told.
    told: Option<Blob>,
}

impl Desk {
    fn new(session: Session) -> Self {
        Self {
            id: session.id().clone(),
            principal: session.state().principal.clone(),
            seat: Arc::new(tokio::sync::Mutex::new(Seat { session, window: None, told: None })),
        }
    }

    /// Does something with the session, away from the threads that serve others. Requests wait for
    /// each other here, and none waits for a tool.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Seat) -> Result<T, RuntimeError> + Send + 'static,
    ) -> Result<T, RuntimeError> {
        let mut seat = Arc::clone(&self.seat).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || work(&mut seat)).await;
        done.map_err(|error| RuntimeError::Internal(format!("a request broke off: {error}")))?
    }
}

impl Seat {
    /// Brings the session up to the catalogue as it is now, without a word to the client.
    pub(super) fn take_note(&mut self, gateway: &Gateway) -> Result<(), RuntimeError> {
        if std::ptr::eq(self.session.snapshot(), Arc::as_ptr(&gateway.snapshot())) {
            return Ok(());
        }
        gateway.with_workspace(|workspace| self.session.take_note(workspace))
    }

    /// The same, and gives what is new in it for the client: the root at first, later what changed.
    pub(super) fn bring_up(&mut self, gateway: &Gateway) -> Result<Option<String>, RuntimeError> {
        self.take_note(gateway)?;
        if self.told.is_some() && self.told == self.session.state().snapshot {
            return Ok(None);
        }
        let is_first = self.told.is_none();
        let shown = gateway.with_workspace(|workspace| self.session.turn(workspace))?;
        self.told = self.session.state().snapshot;
        // Later, each change of the step brings it.
        let step = if is_first { self.session.step_shown() } else { None };
        Ok(match (shown, step) {
            (Some(shown), Some(step)) => Some(format!("{shown}\n{step}")),
            (shown, step) => shown.or(step),
        })
    }

    /// Takes note of the window that the client's model sees now. Where it is another one, what was
    /// shown is forgotten: the index is shown again, and what is open is named.
    pub(super) fn enter(&mut self, window: &str) -> Result<Option<String>, RuntimeError> {
        if self.window.as_deref() == Some(window) {
            return Ok(None);
        }
        // In a session that another process left, windows tell by their number: they are counted from
        // 0, like epochs.
        let count = window.rsplit(':').next().and_then(|number| number.parse::<u32>().ok());
        let is_later = count.is_some_and(|count| count > self.session.state().epoch);
        let is_new = self.window.is_some() || is_later;
        if is_new && self.session.compact()?.refusal.is_some() {
            // A call is under way: the next request tries again.
            return Ok(None);
        }
        self.window = Some(window.to_owned());
        if !is_new {
            return Ok(None);
        }
        let index = self.session.state().index;
        let index = index.map(|blob| self.session.text(&blob)).transpose()?.unwrap_or_default();
        let open = self.session.state().open_references();
        let open = match open.as_slice() {
            [] => "Nothing is open.".to_owned(),
            open => format!("Still open: {}; open again what you need to read.", open.join(", ")),
        };
        Ok(Some(format!("A new context began. {open}\n{index}")))
    }
}

/// The sessions in memory, by id.
#[derive(Debug, Default)]
pub(super) struct Desks {
    held: Mutex<HashMap<SessionId, (u64, Arc<Desk>)>>,
    clock: AtomicU64,
}

impl Desks {
    fn get(&self, id: &SessionId) -> Option<Arc<Desk>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut held = lock(&self.held);
        let (used, desk) = held.get_mut(id)?;
        *used = now;
        Some(Arc::clone(desk))
    }

    /// Keeps `desk`, or gives the one that another request was quicker to keep.
    fn keep(&self, desk: Desk) -> Arc<Desk> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut held = lock(&self.held);
        if held.len() >= limits::SESSIONS_HELD {
            let idle = held.iter().filter(|(_, (_, desk))| Arc::strong_count(desk) == 1);
            let oldest = idle.min_by_key(|(_, (used, _))| *used).map(|(id, _)| id.clone());
            if let Some(oldest) = oldest {
                held.remove(&oldest);
            }
        }
        let (_, kept) = held.entry(desk.id.clone()).or_insert_with(|| (now, Arc::new(desk)));
        Arc::clone(kept)
    }
}

impl Gateway {
    /// Begins a session for `principal`. Takes its time.
    pub(super) fn begin(
        &self,
        principal: &str,
        id: Option<SessionId>,
    ) -> Result<Arc<Desk>, RuntimeError> {
        let started = Started { id, ..Self::started(principal) };
        let store = self.store().clone();
        let session =
            self.with_workspace(|workspace| Session::create(workspace, store, started))?;
        Ok(self.desks.keep(Desk::new(session)))
    }

    /// The session `id`, where it is one that `principal` may use here. Whether there is another one
    /// of that name is not told. Takes its time.
    pub(super) fn take_up(
        &self,
        principal: &str,
        id: &SessionId,
    ) -> Result<Result<Arc<Desk>, Refusal>, RuntimeError> {
        let unknown = || {
            let text = format!(
                "there is no session {id} for you; leave `session` out to go on without it"
            );
            Ok(Err(Refusal::new("SESSION_UNKNOWN", text)))
        };
        if let Some(desk) = self.desks.get(id) {
            return if desk.principal == principal { Ok(Ok(desk)) } else { unknown() };
        }
        let mut session = match Session::resume(self.store().clone(), id.clone()) {
            Ok(session) => session,
            Err(RuntimeError::NoSession(_)) => return unknown(),
            Err(error) => return Err(error),
        };
        if session.state().principal != principal {
            return unknown();
        }
        if session.state().mode != SessionMode::Blind {
            let text = format!(
                "session {id} belongs to a conversation that Concertina composes itself; begin one with: concertina session new --mode blind"
            );
            return Ok(Err(Refusal::new("SESSION_OTHER_MODE", text)));
        }
        if session.settings().site.workspace != self.root().to_string_lossy() {
            let text = format!(
                "session {id} was begun in {}, and this server works in {}",
                session.settings().site.workspace,
                self.root().display()
            );
            return Ok(Err(Refusal::new("SESSION_ELSEWHERE", text)));
        }
        // A call that another process left under way has no outcome to wait for.
        if !session.state().pending.is_empty() {
            session.recover()?;
        }
        self.with_workspace(|workspace| session.take_up(workspace))?;
        Ok(Ok(self.desks.keep(Desk::new(session))))
    }

    /// The session of the conversation that a client on this machine calls `thread`: the same one
    /// also after the client began again. Takes its time.
    pub(super) fn of_thread(
        &self,
        principal: &str,
        thread: &str,
    ) -> Result<Result<Arc<Desk>, Refusal>, RuntimeError> {
        let id = thread_session(&format!("{}\0{principal}\0{thread}", self.root().display()))?;
        match self.take_up(principal, &id)? {
            Err(refusal) if refusal.code == "SESSION_UNKNOWN" => {
                self.begin(principal, Some(id)).map(Ok)
            }
            taken => Ok(taken),
        }
    }
}

fn thread_session(key: &str) -> Result<SessionId, RuntimeError> {
    let digits: String = Digest::of(key.as_bytes()).hex().chars().take(32).collect();
    SessionId::new(format!("s-{digits}"))
        .map_err(|error| RuntimeError::Internal(format!("a session id is malformed: {error}")))
}
