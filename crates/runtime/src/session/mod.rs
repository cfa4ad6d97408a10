//! A session that lives: its log in a store, its state in memory, and the four verbs on it.

mod commands;
mod consent;
mod dispatch;
mod handover;
mod opening;
mod part;
mod procedure;
mod quiet;
mod secrets;
mod small;
mod statement;
mod tools;
mod touched;
mod verbs;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use concertina_core::catalog::Snapshot;
use concertina_core::policy::OWNER;
use concertina_core::session::{
    Answer, Ask, Command, Origin, PreparedSkill, Refusal, Settings, Shelf, State, Ticket, View,
    World, decide, evolve, menus, project,
};
use concertina_store::{Durability, Store, StoreError};
use concertina_tokens::O200k;
use concertina_types::{
    Blob, Digest, Event, Fact, Notary, Redactor, SessionId, SessionMode, limits,
};

use crate::approval::{Approver, NoApprover, Standing};
use crate::clock::{new_session_id, now};
use crate::error::RuntimeError;
use crate::stats::Learned;
use crate::workspace::Workspace;

pub use commands::{CommandPolicy, NeedsApproval};
pub use opening::{Opening, ReadySkill};
pub(crate) use part::is_taken;
pub use statement::STATEMENT_TYPE;
pub use touched::Touched;
pub use verbs::{OpenOptions, ReadySearch};

/// How a session begins.
#[derive(Debug, Clone, Default)]
pub struct Started {
    /// Its id, where the asker has a reason to choose it; a new one that nobody can guess otherwise.
    pub id: Option<SessionId>,
    /// On whose behalf; the name of nobody in particular where none is given.
    pub principal: Option<String>,
    /// The session that forks it, and its depth.
    pub parent: Option<(SessionId, u32)>,
    /// What it runs under, where that is not what the workspace says.
    pub settings: Option<Settings>,
    /// How what is opened reaches the model.
    pub mode: SessionMode,
    /// Where earlier sessions are kept, where that is not where this one is.
    pub earlier: Option<Store>,
}

/// What a request led to.
#[derive(Debug, Default)]
pub struct Reply {
    /// What whoever asked is told; none where the answer waits for a fork.
    pub answer: Option<Answer>,
    /// Why the request was not met, where it was not.
    pub refusal: Option<Refusal>,
    /// The skill that was opened, with its text and what was replaced in it.
    pub opened: Option<Box<PreparedSkill>>,
    /// The question that nobody answered, where one is open.
    pub ask: Option<Box<Ask>>,
    /// Commands in the skill's text that did not run for want of a permission.
    pub needs_approval: Vec<NeedsApproval>,
    /// The skill that is to run apart; the caller runs it and joins the result.
    pub fork: Option<Box<PreparedSkill>>,
}

/// What became of a request to run a tool.
#[derive(Debug)]
#[must_use = "an admitted call without an outcome stays under way"]
pub enum Admission {
    /// It may run, once.
    Admitted(Ticket),
    /// It may not: what the asker is told.
    Answered(Box<Reply>),
    /// It waits for a person, whom nobody here could ask. Once they have answered with
    /// [`Session::agree`] it is asked for again, else [`Session::unanswered`] tells the asker.
    Asked(Box<Ask>),
}

/// A session that lives.
pub struct Session {
    id: SessionId,
    store: Store,
    state: State,
    shelf: Shelf,
    settings: Arc<Settings>,
    snapshot: Arc<Snapshot>,
    listed: Option<Arc<Snapshot>>,
    earlier: Store,
    /// Takes out secrets: what looks like one, and what tools and servers were given.
    redactor: Redactor,
    traced: secrets::Traced,
    /// Whether it has its key: looking back needs none.
    keyed: bool,
    /// What earlier sessions say of what is found; read by the first search that wants to know.
    learned: OnceLock<Learned>,
    /// Who can be asked at once.
    approver: Arc<dyn Approver>,
    /// What was agreed to for good, as it was when this session began or went on; and where it is kept.
    standing: BTreeSet<Digest>,
    agreed: Option<Standing>,
    /// What it keeps at hand while it follows a procedure.
    following: procedure::Following,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What one command led to, once it is in the log.
pub(crate) struct Applied {
    pub(crate) reply: Reply,
    pub(crate) ticket: Option<Ticket>,
    /// The question that a person has to answer first.
    pub(crate) ask: Option<Ask>,
    /// Questions about checkpoints that were asked with it.
    pub(crate) waits: Vec<Ask>,
    /// What was shown of the index.
    pub(crate) shown: Option<String>,
}

impl Session {
    /// Begins a session in `workspace`.
    pub fn create(
        workspace: &mut Workspace,
        store: Store,
        started: Started,
    ) -> Result<Self, RuntimeError> {
        let settings = started.settings.unwrap_or_else(|| workspace.settings().clone());
        let text = json(&settings)?;
        let id = started.id.map_or_else(new_session_id, Ok)?;
        let earlier = started.earlier.unwrap_or_else(|| store.clone());
        let mut session = Self {
            earlier,
            settings: Arc::new(settings),
            snapshot: Arc::clone(workspace.snapshot()),
            ..Self::blank(store, id)
        };
        session.learn_from(workspace);
        session.apply(&Command::Start {
            principal: started.principal.unwrap_or_else(|| OWNER.to_owned()),
            parent: started.parent,
            mode: started.mode,
            settings: text,
        })?;
        session.take_consent(workspace);
        session.take_note(workspace)?;
        if session.state.parent.is_none()
            && let Some(texts) = workspace.always()?
            && let Some(refusal) = session.follow(Origin::user(), texts)?.refusal
        {
            return Err(RuntimeError::ProcedureUnsound(refusal.message));
        }
        // Where the text of a skill stands in an answer, there is none yet that could hold it.
        if session.state.parent.is_none() && session.state.mode == SessionMode::Owned {
            session.open_small(workspace)?;
        }
        Ok(session)
    }

    /// Takes up the session `id` where its log ends.
    pub fn resume(store: Store, id: SessionId) -> Result<Self, RuntimeError> {
        Self::at(store, id, u64::MAX)
    }

    /// The session as it was after event `seq`, for looking back.
    pub fn at(store: Store, id: SessionId, seq: u64) -> Result<Self, RuntimeError> {
        let events = store.verify(&id)?;
        let state =
            events.iter().take_while(|event| event.seq <= seq).fold(State::default(), evolve);
        if state.session.is_none() {
            return Err(RuntimeError::NoSession(id));
        }
        let mut session = Self { state, ..Self::blank(store, id) };
        session.fetch(None)?;
        session.take_machines()?;
        Ok(session)
    }

    /// The session `id`, of which nothing is known yet.
    fn blank(store: Store, id: SessionId) -> Self {
        Self {
            id,
            earlier: store.clone(),
            learned: OnceLock::new(),
            approver: Arc::new(NoApprover),
            standing: BTreeSet::new(),
            agreed: None,
            redactor: Redactor::new([0; 32]),
            traced: secrets::Traced::default(),
            keyed: false,
            store,
            state: State::default(),
            shelf: Shelf::default(),
            settings: Arc::default(),
            snapshot: Arc::default(),
            listed: None,
            following: procedure::Following::default(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Its state: the fold of its log.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What it runs under.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The catalogue it sees.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The material of decisions.
    pub fn world(&self) -> World<'_> {
        World {
            settings: &self.settings,
            snapshot: &self.snapshot,
            listed: self.listed.as_deref(),
            standing: &self.standing,
            machines: &self.following.machines,
            notary: self.following.notary.as_ref().map(|notary| notary as &dyn Notary),
            now: None,
            counter: &O200k,
            redactor: &self.redactor,
        }
    }

    /// What the model sees now.
    pub fn view(&self) -> View {
        project(&self.state, &self.world(), &self.shelf)
    }

    /// The menus that can be opened next: name, title, number of tools.
    pub fn menus(&self) -> Vec<(String, String, usize)> {
        menus(&self.state, &self.world())
            .into_iter()
            .map(|(name, (category, tools))| {
                let title = category.map(|category| category.title.clone()).unwrap_or_default();
                (name.to_owned(), title, tools)
            })
            .collect()
    }

    /// All its events.
    pub fn events(&self) -> Result<Vec<Event>, RuntimeError> {
        Ok(self.store.verify(&self.id)?)
    }

    /// The text behind a digest in its log.
    pub fn text(&self, blob: &Blob) -> Result<String, RuntimeError> {
        if let Some(text) = self.shelf.get(&blob.digest) {
            return Ok(text.to_string());
        }
        content(&self.store, &self.id, &blob.digest)
    }

    /// Where it is kept.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A person gives a task.
    pub fn task(&mut self, text: impl Into<String>) -> Result<(), RuntimeError> {
        self.apply(&Command::Task { text: text.into() }).map(drop)
    }

    /// Begins a turn: looks for changes in the workspace and shows what is new. Gives what was
    /// shown, where something was.
    pub fn turn(&mut self, workspace: &mut Workspace) -> Result<Option<String>, RuntimeError> {
        workspace.refresh();
        self.take_note(workspace)?;
        self.look()?;
        Ok(self.apply(&Command::Turn)?.shown)
    }

    /// Folds the conversation; the index is shown again, once.
    pub fn compact(&mut self) -> Result<Reply, RuntimeError> {
        Ok(self.apply(&Command::Compact)?.reply)
    }

    /// Settles what a crash or a break left open. What another process has under way is not, and stays as it is.
    pub fn recover(&mut self) -> Result<(), RuntimeError> {
        if self.is_under_way_elsewhere() {
            return Ok(());
        }
        self.apply(&Command::Recover).map(drop)
    }

    /// Records that a server is about to be asked for something that is no tool.
    pub fn note_ask(&mut self, server: &str, method: &str, what: &str) -> Result<(), RuntimeError> {
        let (server, method, what) = (server.to_owned(), method.to_owned(), what.to_owned());
        self.observe(Fact::ServerAsked { server, method, what }, Vec::new())
    }

    /// Records something that was observed, with the texts it names.
    pub(crate) fn observe(&mut self, fact: Fact, texts: Vec<String>) -> Result<(), RuntimeError> {
        self.apply(&Command::Observe(Box::new(fact), texts)).map(drop)
    }

    /// Brings the session up to the catalogue that `workspace` has now.
    pub fn take_note(&mut self, workspace: &mut Workspace) -> Result<(), RuntimeError> {
        workspace.add_nested(&self.state.nested);
        if Arc::ptr_eq(&self.snapshot, workspace.snapshot()) && self.state.snapshot.is_some() {
            return Ok(());
        }
        self.learn_from(workspace);
        self.take_key()?;
        let blob = workspace.stored_snapshot(&self.store)?;
        let before = std::mem::replace(&mut self.snapshot, Arc::clone(workspace.snapshot()));
        if self.state.snapshot != Some(blob)
            && let Err(error) = self.apply(&Command::Index { snapshot: blob })
        {
            // What is not in the log is not known.
            self.snapshot = before;
            return Err(error);
        }
        // Another process may have noted another catalogue meanwhile.
        self.snapshot = Arc::clone(workspace.snapshot());
        Ok(())
    }

    /// Takes note of who can be asked in `workspace`, and of what was agreed to there for good.
    fn take_consent(&mut self, workspace: &Workspace) {
        let agreed = workspace.standing();
        self.standing = agreed.keys();
        self.agreed = Some(agreed);
        self.digests_below(workspace.home());
        if let Some(hook) = workspace.hook() {
            self.approver = Arc::new(hook);
        }
    }

    /// Goes on in `workspace`, under the rules that hold there now and with the catalogue that it has
    /// now. What the session was granted, and the size of its window, stay.
    pub fn take_up(&mut self, workspace: &mut Workspace) -> Result<(), RuntimeError> {
        self.take_consent(workspace);
        self.take_rules(workspace)?;
        self.take_note(workspace)?;
        self.look()
    }

    fn take_rules(&mut self, workspace: &Workspace) -> Result<(), RuntimeError> {
        let now = workspace.settings();
        let same = self.settings.policy == now.policy
            && self.settings.procedures == now.procedures
            && self.settings.listing.exclude == now.listing.exclude;
        if same || self.state.settings.is_none() {
            return Ok(());
        }
        let mut settings = self.settings.as_ref().clone();
        settings.policy.clone_from(&now.policy);
        settings.procedures.clone_from(&now.procedures);
        settings.listing.exclude.clone_from(&now.listing.exclude);
        let text = json(&settings)?;
        self.apply(&Command::Settings { settings: text })?;
        self.settings = Arc::new(settings);
        Ok(())
    }

    /// Decides, records, and takes the state forward. Where another process was quicker, decides
    /// again on what it left.
    pub(crate) fn apply(&mut self, command: &Command) -> Result<Applied, RuntimeError> {
        self.take_key()?;
        if let Some(run) = &self.state.run {
            let is_under_way = !run.ended;
            self.take_machines()?;
            if is_under_way {
                self.take_notary()?;
            }
        }
        self.learn_said(command);
        self.keep_traces()?;
        for _ in 0..limits::APPEND_ATTEMPTS {
            let decision = decide(&self.state, &self.world(), now(), command.clone());
            let reply = |answer, refusal, fork| Reply { answer, refusal, fork, ..Reply::default() };
            // It may have been answered from elsewhere.
            if decision.ask.is_some() && self.catch_up()? {
                continue;
            }
            if decision.drafts.is_empty() {
                let reply = reply(decision.answer, decision.refusal, decision.fork);
                let (ask, waits) = (decision.ask, decision.waits);
                return Ok(Applied { reply, ticket: None, ask, waits, shown: None });
            }
            for text in &decision.content {
                self.store.content.put(text.as_bytes())?;
            }
            let writes = decision
                .drafts
                .iter()
                .any(|draft| matches!(draft.fact, Fact::CallAdmitted { writes: true, .. }));
            // An effect that may change the world must not outlive its record.
            let durability = if writes { Durability::PowerSafe } else { Durability::KillSafe };
            match self.store.append(&self.id, self.state.seq, decision.drafts, durability) {
                Err(StoreError::Conflict { .. }) => drop(self.catch_up()?),
                Err(error) => return Err(error.into()),
                Ok(events) => {
                    // What is never rendered here is fetched when it is asked for.
                    if self.mode_after(&events) == SessionMode::Owned {
                        for text in decision.content {
                            self.shelf.put(text);
                        }
                    }
                    let ticket = decision.intent.map(|intent| intent.admit(&events)).transpose()?;
                    self.advance(&events);
                    self.take_machines()?;
                    let reply = reply(decision.answer, decision.refusal, decision.fork);
                    let (ask, waits, shown) = (decision.ask, decision.waits, decision.shown);
                    return Ok(Applied { reply, ticket, ask, waits, shown });
                }
            }
        }
        Err(RuntimeError::Contended(self.id.clone()))
    }

    /// The mode once `events` have happened: the first of a session says it.
    fn mode_after(&self, events: &[Event]) -> SessionMode {
        match events.first().map(|event| &event.fact) {
            Some(Fact::SessionStarted { mode, .. }) => *mode,
            _ => self.state.mode,
        }
    }

    fn advance(&mut self, events: &[Event]) {
        for event in events {
            self.state = evolve(std::mem::take(&mut self.state), event);
        }
        if self.state.listed.is_none() {
            self.listed = None;
        } else if self.state.listed == self.state.snapshot {
            self.listed = Some(Arc::clone(&self.snapshot));
        }
    }

    /// Reads what another process wrote; says whether there was something.
    fn catch_up(&mut self) -> Result<bool, RuntimeError> {
        let events = self.store.events.read(&self.id, self.state.seq)?;
        if events.is_empty() {
            return Ok(false);
        }
        let before = self.state.clone();
        for event in events {
            self.state = evolve(std::mem::take(&mut self.state), &event);
        }
        self.fetch(Some(&before))?;
        self.take_machines()?;
        Ok(true)
    }

    /// Fetches the content that the state names and `before` did not.
    fn fetch(&mut self, before: Option<&State>) -> Result<(), RuntimeError> {
        let is_new = |blob: &dyn Fn(&State) -> Option<Blob>| {
            blob(&self.state).filter(|now| before.is_none_or(|before| blob(before) != Some(*now)))
        };
        let settings = is_new(&|state| state.settings);
        let snapshot = is_new(&|state| state.snapshot);
        let listed = is_new(&|state| state.listed);
        if let Some(blob) = settings {
            self.settings = Arc::new(self.parsed(&blob)?);
        }
        if let Some(blob) = snapshot {
            self.snapshot = Arc::new(self.parsed(&blob)?);
        }
        if self.state.listed.is_none() {
            self.listed = None;
        } else if self.state.listed == self.state.snapshot {
            self.listed = Some(Arc::clone(&self.snapshot));
        } else if let Some(blob) = listed {
            self.listed = Some(Arc::new(self.parsed(&blob)?));
        }
        let held = [self.state.settings, self.state.snapshot, self.state.listed];
        for digest in self.state.contents() {
            let is_held = held.iter().flatten().any(|blob| blob.digest == digest);
            if !is_held && self.shelf.get(&digest).is_none() {
                let text = content(&self.store, &self.id, &digest)?;
                self.shelf.put(text);
            }
        }
        Ok(())
    }

    /// What is kept as JSON behind `blob`.
    fn parsed<T: serde::de::DeserializeOwned>(&self, blob: &Blob) -> Result<T, RuntimeError> {
        let text = content(&self.store, &self.id, &blob.digest)?;
        serde_json::from_str(&text).map_err(|error| RuntimeError::Environment {
            code: "CONTENT_UNREADABLE",
            message: format!(
                "what session {} keeps as {} is of another version: {error}; use the version of concertina that wrote it, or begin a new session",
                self.id, blob.digest
            ),
        })
    }
}

/// The text behind `digest`.
fn content(store: &Store, session: &SessionId, digest: &Digest) -> Result<String, RuntimeError> {
    let bytes = store.content.get(digest)?;
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| RuntimeError::ContentMissing {
        session: session.clone(),
        digest: digest.to_string(),
    })
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, RuntimeError> {
    serde_json::to_string(value)
        .map_err(|error| RuntimeError::Internal(format!("settings cannot be stored: {error}")))
}
