//! What all connections share: the workspace, the store, the servers behind it, and the sessions.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use concertina_core::catalog::Snapshot;
use concertina_core::policy::Effect;
use concertina_core::session::visible_skills;
use concertina_runtime::tools::Toolbox;
use concertina_runtime::upstream::{Offer, Upstreams};
use concertina_runtime::{RuntimeError, Session, Started, Workspace};
use concertina_store::Store;
use concertina_types::{Blob, SessionMode, Subject, limits};
use tokio::sync::{Semaphore, watch};

use super::brought::Brought;
use super::desk::Desks;
use super::flight::Parking;
use crate::lock;
use crate::upstream::Pool;

/// Which tools a client is told of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exposure {
    /// The four, whatever the catalogue.
    #[default]
    Four,
    /// The four, and the tools that are visible now. For clients that list again when they are told.
    Listed,
}

/// How a gateway works.
#[derive(Debug, Clone, Copy, Default)]
pub struct GatewayOptions {
    /// Which tools a client is told of.
    pub exposure: Exposure,
}

/// One workspace with its servers, for any number of clients.
pub struct Gateway {
    workspace: Mutex<Workspace>,
    root: PathBuf,
    toolbox: Toolbox,
    store: Store,
    pool: Option<Arc<Pool>>,
    brought: Mutex<Arc<Brought>>,
    /// Which server returned a link to an address.
    links: Mutex<HashMap<String, String>>,
    options: GatewayOptions,
    snapshot: Mutex<Arc<Snapshot>>,
    looked: Mutex<Option<Instant>>,
    /// The revision of the offer that the snapshot was made with.
    revision: AtomicU64,
    began: Instant,
    glances: Mutex<BTreeMap<String, Arc<Glance>>>,
    pub(super) desks: Desks,
    pub(super) parking: Arc<Parking>,
    pub(super) local_runs: Arc<Semaphore>,
    /// How many calls are under way.
    pub(super) under_way: watch::Sender<usize>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("root", &self.root).finish_non_exhaustive()
    }
}

/// What somebody sees of the catalogue before they have a session.
#[derive(Debug)]
pub(super) struct Glance {
    /// A session that is nobody's: nothing is ever done in it.
    pub(super) session: Session,
    /// The root of the index, as a first turn shows it.
    pub(super) root: String,
    /// The mark of the list of prompts.
    pub(super) prompts: Blob,
    /// The mark of the list of resources.
    pub(super) resources: Blob,
    of: Arc<Snapshot>,
}

impl Glance {
    /// Whether it shows what `server` brings under `name`, which counts as a tool of that name.
    pub(super) fn allows(&self, server: &str, name: &str) -> bool {
        let (policy, principal) =
            (&self.session.settings().policy, &self.session.state().principal);
        policy.decide(principal, &format!("tool:{server}/{name}")).effect == Effect::Allow
    }
}

impl Gateway {
    /// A gateway to `workspace`, whose servers are those of `pool`. Sessions are kept in `store`.
    pub fn new(
        mut workspace: Workspace,
        store: Store,
        pool: Option<Arc<Pool>>,
        options: GatewayOptions,
    ) -> Arc<Self> {
        if let Some(pool) = pool.clone() {
            workspace.attach(pool);
        }
        Arc::new(Self {
            root: workspace.root().to_owned(),
            toolbox: workspace.toolbox().clone(),
            snapshot: Mutex::new(Arc::clone(workspace.snapshot())),
            workspace: Mutex::new(workspace),
            store,
            pool,
            brought: Mutex::default(),
            links: Mutex::default(),
            options,
            looked: Mutex::new(None),
            revision: AtomicU64::new(0),
            began: Instant::now(),
            glances: Mutex::default(),
            desks: Desks::default(),
            parking: Arc::default(),
            local_runs: Arc::new(Semaphore::new(limits::LOCAL_RUNS)),
            under_way: watch::Sender::new(0),
        })
    }

    pub(super) fn exposure(&self) -> Exposure {
        self.options.exposure
    }

    pub(super) fn root(&self) -> &std::path::Path {
        &self.root
    }

    pub(super) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// The catalogue as it was last seen.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.snapshot))
    }

    /// Does something with the workspace. Never on a thread that serves others: reading files
    /// takes its time.
    pub(super) fn with_workspace<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        let mut workspace = lock(&self.workspace);
        let result = work(&mut workspace);
        *lock(&self.snapshot) = Arc::clone(workspace.snapshot());
        result
    }

    /// What the servers behind offer.
    pub(super) fn offer(&self) -> Option<Arc<Offer>> {
        self.pool.as_ref().map(|pool| pool.offer())
    }

    /// Takes up what changed in the workspace, where some time has passed since the last look, and
    /// what changed behind it at once.
    pub(super) async fn look(self: &Arc<Self>) {
        let revision = self.offer().map_or(0, |offer| offer.revision);
        let every = Duration::from_millis(limits::LOOK_MILLISECONDS);
        {
            let mut looked = lock(&self.looked);
            let is_fresh = looked.is_some_and(|at| at.elapsed() < every);
            if is_fresh && self.revision.load(Ordering::Relaxed) == revision {
                return;
            }
            *looked = Some(Instant::now());
        }
        let gateway = Arc::clone(self);
        let looking = tokio::task::spawn_blocking(move || {
            // Whoever holds it looks for themselves.
            let mut workspace = match gateway.workspace.try_lock() {
                Ok(workspace) => workspace,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            workspace.refresh();
            *lock(&gateway.snapshot) = Arc::clone(workspace.snapshot());
            gateway.revision.store(revision, Ordering::Relaxed);
        });
        let _ = looking.await;
    }

    /// Waits until the servers that were never seen have said what they bring, for a bounded time
    /// from the start of this process.
    pub(super) async fn settle(&self) {
        let whole = Duration::from_secs(limits::SETTLE_SECONDS);
        let left = whole.saturating_sub(self.began.elapsed());
        if let Some(pool) = self.pool.as_ref().filter(|_| !left.is_zero()) {
            pool.settled(left).await;
        }
    }

    /// Returns when something changed behind this gateway, or a while later.
    pub(super) async fn stirs(&self) {
        let while_later = tokio::time::sleep(Duration::from_secs(limits::WATCH_SECONDS));
        match &self.pool {
            None => while_later.await,
            Some(pool) => {
                let mut changes = pool.changes();
                tokio::select! {
                    () = while_later => {}
                    _ = changes.changed() => {}
                }
            }
        }
    }

    pub(super) fn pool(&self) -> Option<&Arc<Pool>> {
        self.pool.as_ref()
    }

    /// What servers bring besides tools.
    pub(super) fn brought(&self) -> Arc<Brought> {
        let Some(pool) = &self.pool else { return Arc::default() };
        let revision = *pool.changes().borrow();
        let mut brought = lock(&self.brought);
        if brought.revision != revision || brought.prompts_mark.is_none() {
            *brought = Arc::new(Brought::by(pool, revision));
        }
        Arc::clone(&brought)
    }

    /// Remembers which server returned a link to `uri`, so that it is asked when that is read.
    pub(super) fn remember_link(&self, uri: &str, server: &str) {
        let mut links = lock(&self.links);
        if links.len() >= limits::LINKS_HELD {
            links.clear();
        }
        links.insert(uri.to_owned(), server.to_owned());
    }

    /// The server that serves `uri`.
    pub(super) fn server_of(&self, uri: &str) -> Option<String> {
        let named = self.brought().server_of(uri).map(str::to_owned);
        named.or_else(|| lock(&self.links).get(uri).cloned())
    }

    /// Ends what is behind this gateway, once calls under way had a moment to end.
    pub async fn close(&self) {
        self.parking.clear();
        self.drain().await;
        if let Some(pool) = &self.pool {
            pool.close().await;
        }
    }

    /// What `principal` sees of the catalogue as it is now. Takes its time when something changed.
    pub(super) fn glance(&self, principal: &str) -> Result<Arc<Glance>, RuntimeError> {
        let now = self.snapshot();
        if let Some(glance) = lock(&self.glances).get(principal)
            && Arc::ptr_eq(&glance.of, &now)
        {
            return Ok(Arc::clone(glance));
        }
        let glance = self.with_workspace(|workspace| {
            let started = Self::started(principal);
            let mut session = Session::create(workspace, Store::fleeting(), started)?;
            let root = session.turn(workspace)?.unwrap_or_default();
            let mark = |subject| Blob::of(&skills_for(&session, subject));
            let (prompts, resources) = (mark(Subject::User), mark(Subject::Model));
            let of = Arc::clone(workspace.snapshot());
            Ok::<_, RuntimeError>(Glance { session, root, prompts, resources, of })
        })?;
        let glance = Arc::new(glance);
        let mut glances = lock(&self.glances);
        // Principals are configured, so there are few; an error in that costs a look each time.
        if glances.len() >= limits::SESSIONS_HELD {
            glances.clear();
        }
        glances.insert(principal.to_owned(), Arc::clone(&glance));
        Ok(glance)
    }

    /// How a session begins here.
    pub(super) fn started(principal: &str) -> Started {
        Started {
            principal: Some(principal.to_owned()),
            mode: SessionMode::Blind,
            ..Started::default()
        }
    }

    /// Waits until no call is under way, for a bounded time.
    pub async fn drain(&self) {
        let grace = Duration::from_millis(limits::GRACE_MILLISECONDS);
        let mut under_way = self.under_way.subscribe();
        let _ = tokio::time::timeout(grace, under_way.wait_for(|calls| *calls == 0)).await;
    }
}

/// The skills that `subject` may open, as the lists of prompts and resources show them.
fn skills_for(session: &Session, subject: Subject) -> String {
    let world = session.world();
    let shown = visible_skills(session.state(), &world, subject);
    let lines = shown.map(|entry| format!("{} {} {}", entry.id, entry.head, entry.bytes));
    lines.collect::<Vec<_>>().join("\n")
}
