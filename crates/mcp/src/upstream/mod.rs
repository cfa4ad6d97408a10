//! The servers whose tools are called through this one.
//!
//! A [`Pool`] knows every server that settings define. What a server brings is kept in a record, so
//! that its tools are known at once the next time and the server starts with the first call. Each
//! server is attended to alone: one that hangs, crashes or lies costs nobody else anything.

mod approvals;
mod board;
mod calls;
mod content;
mod definitions;
mod failure;
mod family;
mod guard;
mod handshake;
mod http;
mod known;
mod link;
mod lists;
mod login;
mod names;
mod opening;
mod options;
mod peer;
mod program;
mod provided;
mod prune;
mod reading;
mod records;
mod server;
mod skills;
mod subscriptions;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use concertina_runtime::tools::Outcome;
use concertina_runtime::upstream::{Call, Definition, Offer, ServerState, Upstreams};
use concertina_types::limits;
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub use approvals::{Approval, Change, approve, changes};
pub use definitions::LeftOut;
pub use failure::Failure;
pub use guard::guard;
pub use login::Login;
pub use names::tool_name;
pub use options::{PoolOptions, Waits};
pub use provided::{Ask, Provided};
pub use skills::{ServedFile, ServedSkill};
pub use subscriptions::Subscription;

use board::{Board, Part};
use program::Household;
use records::Records;
use server::{Shared, State, Upstream};
use subscriptions::Updates;

use crate::lock;

/// The servers behind a workspace.
pub struct Pool {
    servers: BTreeMap<String, Arc<Upstream>>,
    /// What they were given in confidence.
    secrets: Vec<String>,
    shared: Arc<Shared>,
    watched: Watched,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Pool {
    /// The servers of `definitions`; of several with one name the first counts. Nothing is started,
    /// unless servers that were never seen are to be learnt.
    pub fn new(definitions: Vec<Definition>, options: PoolOptions) -> Arc<Self> {
        let mut first: BTreeMap<String, Definition> = BTreeMap::new();
        for definition in definitions {
            first.entry(definition.name.clone()).or_insert(definition);
        }
        let secrets = first.values().flat_map(|definition| definition.reach.secrets()).collect();
        let mut parts: BTreeMap<String, Part> = BTreeMap::new();
        let mut found = Vec::new();
        for (name, definition) in first {
            let records = Records::of(&options.home, &definition);
            let (state, is_due) = State::at_rest(&definition, &records);
            parts.insert(name, state.part(&definition, &records));
            found.push((definition, records, state, is_due));
        }
        let shared = Arc::new(Shared {
            board: Board::new(parts),
            household: Arc::new(Household::new(options.guard.clone())),
            learning: Semaphore::new(limits::STARTING),
            closing: CancellationToken::new(),
            updates: Updates::default(),
            options,
        });
        let mut servers = BTreeMap::new();
        let mut unknown = Vec::new();
        for (definition, records, state, is_due) in found {
            let name = definition.name.clone();
            let upstream = Upstream::new(definition, records, state, Arc::clone(&shared));
            let upstream = Arc::new(upstream);
            if is_due {
                unknown.push(Arc::clone(&upstream));
            }
            servers.insert(name, upstream);
        }
        let watched = Watched::new(&shared.options, &servers);
        let pool = Arc::new(Self { servers, secrets, shared, watched });
        if pool.shared.options.learn {
            for upstream in unknown {
                pool.shared.options.handle.spawn(upstream.learn());
            }
        }
        pool
    }

    /// Rises with every change of what the servers offer: tools, prompts, resources, skills, states.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.board.changes()
    }

    /// Waits until no server that was never seen is still being asked what it brings, or until the
    /// time is over. Says whether all were heard.
    pub async fn settled(&self, time: Duration) -> bool {
        let mut changes = self.changes();
        // By what is published: a caller who was told so must find it so.
        let is_settled = || {
            let offer = self.shared.board.offer();
            offer.servers.iter().all(|server| server.state != ServerState::Starting)
        };
        let heard = async { while !is_settled() && changes.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(time, heard).await;
        is_settled()
    }

    /// Ends every server and everything it started.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.learning.close();
        join_all(self.servers.values().map(|upstream| upstream.close())).await;
        // Whatever was being started ends too.
        let grace = Duration::from_millis(2 * limits::STOP_MILLISECONDS);
        self.shared.household.close(grace).await;
    }
}

impl Upstreams for Pool {
    fn offer(&self) -> Arc<Offer> {
        self.look();
        self.shared.board.offer()
    }

    fn secrets(&self) -> Vec<String> {
        self.secrets.clone()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Outcome> {
        let offer = self.shared.board.offer();
        let offered = offer.tools.binary_search_by(|tool| tool.name.cmp(&call.tool)).ok();
        let offered = offered.and_then(|place| offer.tools.get(place));
        let upstream = offered.and_then(|tool| self.servers.get(&tool.server)).cloned();
        let Some(upstream) = upstream else {
            let words = format!("no server brings the tool `{}`", call.tool);
            return Box::pin(std::future::ready(Outcome::failed("UPSTREAM_UNKNOWN", words)));
        };
        let handle = self.shared.options.handle.clone();
        Box::pin(async move {
            let (tell, told) = oneshot::channel();
            let Call { tool, arguments, cancel, caller } = call;
            let task = handle.spawn(async move {
                let outcome = calls::call(upstream, tool, arguments, cancel, caller).await;
                let _ = tell.send(outcome);
            });
            // Whoever drops this future no longer waits, and the server is told.
            let _guard = AbortOnDrop(task.abort_handle());
            told.await.unwrap_or_else(|_| Failure::Closed.outcome("concertina"))
        })
    }
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A path, and when it was changed as far as was seen.
type Seen = (PathBuf, Mutex<Option<SystemTime>>);

/// What another process changes: approvals and logins.
#[derive(Debug)]
struct Watched {
    approvals: Seen,
    /// The approvals of each server, so that a change of one is no work for all.
    servers: BTreeMap<String, Seen>,
    tokens: Seen,
}

impl Watched {
    fn new(options: &PoolOptions, servers: &BTreeMap<String, Arc<Upstream>>) -> Self {
        let of = |path: PathBuf| {
            let seen = Mutex::new(modified(&path));
            (path, seen)
        };
        let approvals = |upstream: &Upstream| of(upstream.records.approvals().to_owned());
        Self {
            approvals: of(records::directory(&options.home).join("approved")),
            servers: servers
                .iter()
                .map(|(name, upstream)| (name.clone(), approvals(upstream)))
                .collect(),
            tokens: of(login::directory(&options.home)),
        }
    }
}

fn modified(path: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Whether it is another than the last time.
fn has_changed((path, seen): &Seen) -> bool {
    let now = modified(path);
    let mut seen = lock(seen);
    let has_changed = *seen != now;
    *seen = now;
    has_changed
}

impl Pool {
    /// Looks whether somebody approved a tool or logged in meanwhile.
    fn look(&self) {
        if has_changed(&self.watched.approvals) {
            for (name, upstream) in &self.servers {
                // An approved skill is a directory of its own.
                let is_due = self.watched.servers.get(name).is_some_and(has_changed)
                    || upstream.known().is_some_and(|known| !known.skills.is_empty());
                if is_due {
                    upstream.check_again();
                }
            }
        }
        if has_changed(&self.watched.tokens) {
            for upstream in self.servers.values() {
                if upstream.forget_login() {
                    self.shared.options.handle.spawn(Arc::clone(upstream).learn());
                }
            }
        }
    }
}
