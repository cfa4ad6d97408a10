//! One server: started when it is needed, attended to while it runs, left alone for a while when it
//! keeps failing. Whatever happens to it happens to no other.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use concertina_runtime::now;
use concertina_runtime::upstream::{Definition, Server, ServerState};
use concertina_types::{ToolName, limits};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::board::{Board, Part};
use super::definitions::{LeftOut, Tool};
use super::failure::Failure;
use super::known::{Known, Unseen, checked_again, known};
use super::link::Link;
use super::options::PoolOptions;
use super::peer::{Patience, Peer};
use super::program::Household;
use super::records::{Manifest, Records};
use super::skills::offered;
use super::subscriptions::{Subscriptions, Updates};
use crate::lock;

/// What all servers share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: PoolOptions,
    pub(super) board: Board,
    pub(super) household: Arc<Household>,
    /// Places for servers that are started to learn what they bring.
    pub(super) learning: Semaphore,
    pub(super) closing: CancellationToken,
    pub(super) updates: Updates,
}

/// One server.
pub(super) struct Upstream {
    pub(super) definition: Definition,
    pub(super) records: Records,
    pub(super) shared: Arc<Shared>,
    /// Places for calls.
    pub(super) places: Semaphore,
    pub(super) subscriptions: tokio::sync::Mutex<Subscriptions>,
    state: Mutex<State>,
    /// Held while the server is being started.
    starting: tokio::sync::Mutex<()>,
}

pub(super) struct State {
    standing: ServerState,
    pub(super) note: Option<String>,
    known: Option<Arc<Known>>,
    connection: Option<Arc<Connection>>,
    /// Failures in a row.
    failures: u32,
    again: Option<Instant>,
    last: Option<Failure>,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// A server that runs.
pub(super) struct Connection {
    pub(super) peer: Arc<Peer>,
    link: Mutex<Option<Link>>,
}

impl Connection {
    pub(super) async fn stop(&self) {
        let link = lock(&self.link).take();
        if let Some(link) = link {
            link.stop().await;
        }
    }
}

impl State {
    /// How a server stands before anything was started, from its records alone, and whether it is to
    /// be asked what it brings.
    pub(super) fn at_rest(definition: &Definition, records: &Records) -> (Self, bool) {
        let manifest = if definition.trusted { records.manifest() } else { None };
        let is_new = manifest.as_ref().is_none_or(|manifest| manifest.is_stale(now()));
        let known = manifest
            .map(|manifest| Arc::new(known(&definition.name, &manifest, records, Unseen::Leave)));
        let (standing, note) = match (&known, definition.trusted) {
            (_, false) => (ServerState::Untrusted, Some(Failure::Untrusted.to_string())),
            (Some(_), true) => (ServerState::Known, None),
            // One that did not serve the last time is not waited for.
            (None, true) => match records.failure() {
                Some(why) => (ServerState::Failed, Some(why)),
                None => (ServerState::Starting, Some("its tools are not known yet".to_owned())),
            },
        };
        let state =
            Self { standing, note, known, connection: None, failures: 0, again: None, last: None };
        (state, is_new && definition.trusted)
    }

    /// What others see of it.
    pub(super) fn part(&self, definition: &Definition, records: &Records) -> Part {
        let known = self.known.as_deref();
        let left_out = known.map_or(&[][..], |known| &known.left_out);
        let tools: Vec<_> = known
            .iter()
            .flat_map(|known| &known.tools)
            .map(|tool| Arc::clone(&tool.offered))
            .collect();
        let server = Server {
            name: definition.name.clone(),
            state: self.standing,
            tools: tools.len(),
            note: self.note.clone().or_else(|| said(left_out)),
            instructions: known.and_then(|known| known.hello.instructions.clone()),
        };
        let skills = known.map(|known| offered(&definition.name, &known.skills, records));
        Part { server, tools, skills: skills.unwrap_or_default() }
    }
}

/// What was left out, as a note: the first three and a count.
fn said(left_out: &[LeftOut]) -> Option<String> {
    let first: Vec<String> =
        left_out.iter().take(3).map(|left| format!("`{}`: {}", left.what, left.why)).collect();
    let more = left_out.len().saturating_sub(first.len());
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    (!first.is_empty()).then(|| format!("left out: {}{more}", first.join("; ")))
}

impl Upstream {
    pub(super) fn new(
        definition: Definition,
        records: Records,
        state: State,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            definition,
            records,
            shared,
            places: Semaphore::new(limits::CALLS_AT_ONCE),
            subscriptions: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
            starting: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.definition.name
    }

    /// How long a call may take: as its settings say, else as for all.
    pub(super) fn patience(&self) -> Patience {
        match self.definition.timeout_s.map(Duration::from_secs) {
            Some(time) => Patience { silent: time, whole: time },
            None => self.shared.options.waits.calling(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn known(&self) -> Option<Arc<Known>> {
        self.state().known.clone()
    }

    pub(super) fn tool(&self, name: &ToolName) -> Option<Tool> {
        self.known()?.tool(name).cloned()
    }

    /// Puts up how it stands now.
    pub(super) fn publish(&self, is_change: bool) {
        // Under the lock, so that an older part never replaces a newer one.
        let state = self.state();
        let part = state.part(&self.definition, &self.records);
        self.shared.board.put(part, is_change);
    }

    pub(super) fn live(&self) -> Option<Arc<Connection>> {
        self.state().connection.clone().filter(|connection| connection.peer.ended().is_none())
    }

    /// The running server; it is started where it does not run. Whoever stops waiting does not stop
    /// the start.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>, Failure> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        let server = Arc::clone(self);
        let starting = self.shared.options.handle.spawn(async move { server.start_once().await });
        starting.await.unwrap_or(Err(Failure::Closed))
    }

    async fn start_once(self: Arc<Self>) -> Result<Arc<Connection>, Failure> {
        let _starting = self.starting.lock().await;
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        if self.shared.closing.is_cancelled() {
            return Err(Failure::Closed);
        }
        if !self.definition.trusted {
            return Err(Failure::Untrusted);
        }
        self.pause().await?;
        let wait = self.shared.options.waits.start;
        let late =
            || Err(Failure::Late { method: "initialize and tools/list".to_owned(), waited: wait });
        // Each answer is waited for as long; a little more, and the words say which one was missing.
        let bound = wait + Duration::from_millis(250);
        // What is dropped half-way ends what it has begun.
        let result = tokio::select! {
            result = tokio::time::timeout(bound, self.start()) => result.unwrap_or_else(|_| late()),
            () = self.shared.closing.cancelled() => Err(Failure::Closed),
        };
        if let Err(failure) = &result {
            self.failed(failure);
        }
        result
    }

    /// Waits until it may be tried again, or says that it is left alone.
    async fn pause(&self) -> Result<(), Failure> {
        let pause = {
            let state = self.state();
            if let (ServerState::NeedsLogin, Some(last)) = (state.standing, &state.last) {
                return Err(last.clone());
            }
            let left = state.again.map(|again| again.saturating_duration_since(Instant::now()));
            let left = left.filter(|left| !left.is_zero());
            if let (Some(again), true) = (left, state.failures >= limits::START_ATTEMPTS) {
                let last = state.last.as_ref().map(Failure::said).unwrap_or_default();
                return Err(Failure::Open { failures: state.failures, again, last });
            }
            left
        };
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    /// A login took place: what was refused for the lack of one is tried again.
    pub(super) fn forget_login(&self) -> bool {
        let mut state = self.state();
        let is_waiting = state.standing == ServerState::NeedsLogin;
        if is_waiting {
            state.standing = ServerState::Failed;
            state.failures = 0;
            state.again = None;
        }
        is_waiting
    }

    fn failed(&self, failure: &Failure) {
        {
            let mut state = self.state();
            state.failures = state.failures.saturating_add(1);
            let pause = self.shared.options.waits.pause_after(state.failures);
            state.again = Some(Instant::now() + pause);
            state.standing = match failure {
                Failure::NeedsLogin(_) => ServerState::NeedsLogin,
                _ => ServerState::Failed,
            };
            let said = failure.said();
            if state.known.is_none() {
                self.records.keep_failure(Some(&said));
            }
            state.note = Some(said);
            state.last = Some(failure.clone());
            state.connection = None;
        }
        self.publish(false);
    }

    /// A call was answered: it is well.
    pub(super) fn answered(&self) {
        let mut state = self.state();
        state.failures = 0;
    }

    /// An answer said that the login holds no longer.
    pub(super) fn wants_login(&self, failure: &Failure) {
        let connection = self.state().connection.take();
        self.failed(failure);
        if let Some(connection) = connection {
            connection.peer.end(failure.clone());
        }
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Connection>, Failure> {
        let (changed, changes) = mpsc::channel(16);
        let (peer, link, hello) = self.open(changed).await?;
        let connection = Arc::new(Connection { peer, link: Mutex::new(Some(link)) });
        // Until the lists beside the tools are read again, they are what they were.
        let mut manifest = Manifest::new(&hello, now());
        if let Some(known) = self.known() {
            manifest.prompts.clone_from(&known.prompts);
            manifest.resources.clone_from(&known.resources);
            manifest.templates.clone_from(&known.templates);
            manifest.skills.clone_from(&known.skills);
        }
        if let Err(failure) = self.read_tools(&connection.peer, &hello, &mut manifest).await {
            let failure = match (failure, connection.peer.ended()) {
                (Failure::Lost(_), Some(ended)) => ended,
                (failure, _) => failure,
            };
            connection.stop().await;
            return Err(failure);
        }
        // Kept before it is shown: whoever saw a tool finds it again the next time.
        self.keep(&manifest);
        self.take(&manifest, Some(&connection));
        let attended = Arc::clone(self).attend(Arc::clone(&connection), hello, manifest, changes);
        self.shared.options.handle.spawn(attended);
        Ok(connection)
    }

    /// What the manifest says counts from now on.
    pub(super) fn take(&self, manifest: &Manifest, connection: Option<&Arc<Connection>>) {
        let known = known(self.name(), manifest, &self.records, Unseen::Approve);
        let known = Arc::new(match self.known() {
            Some(before) => known.sharing(&before),
            None => known,
        });
        let is_change = {
            let mut state = self.state();
            let is_change = state.known.as_ref() != Some(&known);
            state.known = Some(known);
            if let Some(connection) = connection {
                self.records.keep_failure(None);
                state.connection = Some(Arc::clone(connection));
                // One that was never seen is asked for more than its tools first.
                if state.standing != ServerState::Starting {
                    state.standing = ServerState::Ready;
                }
                state.note = None;
                state.last = None;
                state.again = None;
            }
            is_change
        };
        self.publish(is_change);
    }

    /// The approvals may have changed.
    pub(super) fn check_again(&self) {
        {
            let mut state = self.state();
            if let Some(known) = &state.known {
                state.known = Some(Arc::new(checked_again(known, &self.records)));
            }
        }
        self.publish(false);
    }

    pub(super) fn keep(&self, manifest: &Manifest) {
        if let Err(why) = self.records.keep(manifest) {
            self.state().note = Some(why);
            self.publish(false);
        }
    }

    /// Everything it brings is known.
    pub(super) fn is_learnt(&self) {
        {
            let mut state = self.state();
            if state.standing == ServerState::Starting && state.connection.is_some() {
                state.standing = ServerState::Ready;
            }
        }
        self.publish(false);
    }

    /// It ended by itself.
    pub(super) fn lost(&self, connection: &Arc<Connection>, failure: &Failure) {
        let is_current = self
            .state()
            .connection
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, connection));
        if is_current && !self.shared.closing.is_cancelled() {
            self.failed(failure);
        }
    }

    /// Starts it to learn what it brings, again and again until it can be learnt.
    pub(super) async fn learn(self: Arc<Self>) {
        loop {
            let result = {
                let Ok(place) = self.shared.learning.acquire().await else { return };
                let mut connecting = std::pin::pin!(self.connect());
                // One that is silent keeps trying, and keeps nobody else from it.
                let patience = Duration::from_secs(limits::STARTING_SECONDS);
                if let Ok(result) = tokio::time::timeout(patience, &mut connecting).await {
                    result
                } else {
                    drop(place);
                    connecting.await
                }
            };
            let is_over = matches!(
                result,
                Ok(_) | Err(Failure::NeedsLogin(_) | Failure::Untrusted | Failure::Closed)
            );
            if is_over {
                return;
            }
            let again = self.state().again;
            let pause = again.map(|again| again.saturating_duration_since(Instant::now()));
            tokio::time::sleep(pause.unwrap_or_default().max(Duration::from_millis(10))).await;
        }
    }

    /// Ends it.
    pub(super) async fn close(&self) {
        let connection = self.state().connection.take();
        if let Some(connection) = connection {
            connection.peer.end(Failure::Closed);
            connection.stop().await;
        }
    }
}
