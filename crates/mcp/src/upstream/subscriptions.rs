//! Telling that a resource became another one. However many ask for an address, its server is asked
//! once; whoever is gone is counted out, and a server that comes back is asked again.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use concertina_types::limits;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use super::Pool;
use super::failure::Failure;
use super::handshake;
use super::peer::Peer;
use super::server::Upstream;

/// A resource of a server became another one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Update {
    server: Arc<str>,
    uri: String,
}

/// Where updates of one server go.
#[derive(Debug, Clone)]
pub(super) struct Updates {
    server: Arc<str>,
    to: broadcast::Sender<Update>,
}

impl Updates {
    pub(super) fn say(&self, uri: &str) {
        // Nobody may be listening.
        let _ = self.to.send(Update { server: Arc::clone(&self.server), uri: uri.to_owned() });
    }

    /// The same for another server.
    pub(super) fn of(&self, server: &str) -> Self {
        Self { server: server.into(), to: self.to.clone() }
    }
}

impl Default for Updates {
    fn default() -> Self {
        Self { server: "".into(), to: broadcast::Sender::new(limits::UPDATES_HELD) }
    }
}

/// What is asked of one server.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// How many want to be told of an address.
    wanted: BTreeMap<String, usize>,
    /// The connection on which the server was asked.
    asked: Weak<Peer>,
    /// The request that stays open, where the revision has it so.
    listening: Option<JoinHandle<()>>,
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

impl Subscriptions {
    /// Puts one open request in the place of another, the new one first so that nothing is missed.
    async fn listen(&mut self, peer: &Arc<Peer>) {
        let uris: Vec<&String> = self.wanted.keys().collect();
        let listening = handshake::listen(peer, &uris).await;
        if let Some(before) = self.listening.replace(listening) {
            before.abort();
        }
    }
}

/// Somebody's wish to be told of a resource. It ends with this value.
#[derive(Debug)]
pub struct Subscription {
    upstream: Arc<Upstream>,
    uri: String,
    updates: broadcast::Receiver<Update>,
}

impl Subscription {
    /// Returns when the resource became another one, or may have.
    pub async fn updated(&mut self) {
        loop {
            match self.updates.recv().await {
                Ok(update) if update.uri == self.uri && *update.server == *self.upstream.name() => {
                    return;
                }
                Ok(_) => {}
                // Among what was missed may have been this one.
                Err(broadcast::error::RecvError::Lagged(_)) => return,
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let (upstream, uri) = (Arc::clone(&self.upstream), std::mem::take(&mut self.uri));
        let handle = upstream.shared.options.handle.clone();
        handle.spawn(async move { upstream.unsubscribe(&uri).await });
    }
}

impl Pool {
    /// Whether `server` is known to tell of changes of its resources.
    pub fn tells_of_resources(&self, server: &str) -> bool {
        self.servers.get(server).is_some_and(|upstream| upstream.tells_of_resources())
    }

    /// Whether any server is.
    pub fn any_tells_of_resources(&self) -> bool {
        self.servers.values().any(|upstream| upstream.tells_of_resources())
    }

    /// Asks to be told when the resource `uri` of `server` becomes another one. The server is started
    /// where it does not run.
    pub async fn subscribe(&self, server: &str, uri: &str) -> Result<Subscription, Failure> {
        let upstream = self.server(server)?;
        let updates = self.shared.updates.to.subscribe();
        // Whoever stops waiting must not leave it half done.
        let (server, wanted) = (Arc::clone(&upstream), uri.to_owned());
        let asking = self.shared.options.handle.spawn(async move {
            server.subscribe(&wanted).await?;
            Ok(Subscription { upstream: server, uri: wanted, updates })
        });
        asking.await.unwrap_or(Err(Failure::Closed))
    }
}

impl Upstream {
    fn tells_of_resources(&self) -> bool {
        let known = self.known();
        known.is_some_and(|known| known.hello.tells_of_resources())
    }

    async fn subscribe(self: &Arc<Self>, uri: &str) -> Result<(), Failure> {
        let connection = self.connect().await?;
        if !self.tells_of_resources() {
            let words = "the server does not tell of changes of its resources";
            return Err(Failure::Unknown(words.to_owned()));
        }
        let mut subscriptions = self.subscriptions.lock().await;
        self.ask_anew(&mut subscriptions, &connection.peer).await;
        if let Some(count) = subscriptions.wanted.get_mut(uri) {
            *count += 1;
            return Ok(());
        }
        if subscriptions.wanted.len() >= limits::SUBSCRIPTIONS {
            let limit = limits::SUBSCRIPTIONS;
            return Err(Failure::Unknown(format!(
                "{limit} resources of the server are subscribed to already, which is the limit"
            )));
        }
        if self.is_stateless() {
            subscriptions.wanted.insert(uri.to_owned(), 1);
            subscriptions.listen(&connection.peer).await;
        } else {
            self.ask_about("resources/subscribe", uri, &connection.peer).await?;
            subscriptions.wanted.insert(uri.to_owned(), 1);
        }
        Ok(())
    }

    async fn unsubscribe(&self, uri: &str) {
        let mut subscriptions = self.subscriptions.lock().await;
        let Some(count) = subscriptions.wanted.get_mut(uri) else { return };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return;
        }
        subscriptions.wanted.remove(uri);
        // One that was lost forgets by itself.
        let Some(peer) = subscriptions.asked.upgrade().filter(|peer| peer.ended().is_none()) else {
            return;
        };
        if self.is_stateless() {
            subscriptions.listen(&peer).await;
        } else {
            let _ = self.ask_about("resources/unsubscribe", uri, &peer).await;
        }
    }

    /// The server runs: it is asked for everything that somebody wants to be told of.
    pub(super) async fn listen(&self, peer: &Arc<Peer>) {
        let mut subscriptions = self.subscriptions.lock().await;
        self.ask_anew(&mut subscriptions, peer).await;
    }

    async fn ask_anew(&self, subscriptions: &mut Subscriptions, peer: &Arc<Peer>) {
        if std::ptr::eq(subscriptions.asked.as_ptr(), Arc::as_ptr(peer)) {
            return;
        }
        subscriptions.asked = Arc::downgrade(peer);
        if self.is_stateless() {
            subscriptions.listen(peer).await;
        }
        for uri in subscriptions.wanted.keys() {
            if !self.is_stateless() {
                // A refusal now is as good as silence: what it held may have changed.
                let _ = self.ask_about("resources/subscribe", uri, peer).await;
            }
            // It may have changed while the server was away.
            self.updates().say(uri);
        }
    }

    async fn ask_about(&self, method: &str, uri: &str, peer: &Arc<Peer>) -> Result<Value, Failure> {
        let patience = self.shared.options.waits.starting();
        peer.request(method, json!({"uri": uri}), patience, None).await
    }

    fn is_stateless(&self) -> bool {
        self.known().is_some_and(|known| known.hello.is_stateless())
    }

    pub(super) fn updates(&self) -> Updates {
        self.shared.updates.of(self.name())
    }
}
