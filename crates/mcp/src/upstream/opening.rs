//! Opening a connection: which first words a server is told, and which then.

use std::sync::Arc;
use std::time::Duration;

use concertina_runtime::upstream::Reach;
use concertina_types::limits;
use serde_json::Map;
use tokio::sync::mpsc;

use super::failure::Failure;
use super::handshake::{self, Hello};
use super::link::Link;
use super::peer::{List, Patience, Peer};
use super::server::Upstream;

type Opened = (Arc<Peer>, Link, Hello);

impl Upstream {
    /// Opens a connection and says the first words.
    pub(super) async fn open(&self, changed: mpsc::Sender<List>) -> Result<Opened, Failure> {
        if matches!(self.definition.reach, Reach::Program { .. }) {
            return self.open_program(changed).await;
        }
        let is_old = self.known().is_some_and(|known| !known.hello.is_stateless());
        if is_old { self.open_known(changed).await } else { self.open_address(changed).await }
    }

    /// A program that refuses the words of the revisions up to 2025-11-25 is told those of the one
    /// after. Not the other way round: one may ignore what it does not know, and cost a time-out.
    async fn open_program(&self, changed: mpsc::Sender<List>) -> Result<Opened, Failure> {
        let patience = self.shared.options.waits.starting();
        let (peer, link) = self.reach(changed).await?;
        let refused = match handshake::initialize(&peer, patience).await {
            Ok(hello) => return Ok((peer, link, hello)),
            Err(refused) => refused,
        };
        if matches!(refused, Failure::Refused { .. })
            && let Ok(hello) = handshake::discover(&peer, patience).await
        {
            return Ok((peer, link, hello));
        }
        link.stop().await;
        Err(with_noise(refused, &peer))
    }

    /// A server at an address that may be of the newest revision is told its words first: they come
    /// with the headers that it wants, and an older one refuses them at once.
    async fn open_address(&self, changed: mpsc::Sender<List>) -> Result<Opened, Failure> {
        let patience = self.shared.options.waits.starting();
        let short = Duration::from_secs(limits::DISCOVER_SECONDS).min(patience.silent);
        let (peer, link) = self.reach(changed.clone()).await?;
        let tried = Patience { silent: short, whole: short };
        let (peer, link) = match handshake::discover(&peer, tried).await {
            Ok(hello) => return Ok((peer, link, hello)),
            Err(failure @ Failure::NeedsLogin(_)) => {
                link.stop().await;
                return Err(failure);
            }
            Err(Failure::Refused { .. }) => {
                peer.always_send(Map::new());
                (peer, link)
            }
            // The transport allows one beginning, and this one is not over.
            Err(_) => {
                link.stop().await;
                self.reach(changed).await?
            }
        };
        match handshake::initialize(&peer, patience).await {
            Ok(hello) => Ok((peer, link, hello)),
            Err(failure) => {
                link.stop().await;
                Err(failure)
            }
        }
    }

    /// One that is known to begin with `initialize`, unless it has become another since.
    async fn open_known(&self, changed: mpsc::Sender<List>) -> Result<Opened, Failure> {
        let patience = self.shared.options.waits.starting();
        let (peer, link) = self.reach(changed.clone()).await?;
        let refused = match handshake::initialize(&peer, patience).await {
            Ok(hello) => return Ok((peer, link, hello)),
            Err(refused) => refused,
        };
        link.stop().await;
        if matches!(refused, Failure::NeedsLogin(_)) {
            return Err(refused);
        }
        let (peer, link) = self.reach(changed).await?;
        match handshake::discover(&peer, patience).await {
            Ok(hello) => Ok((peer, link, hello)),
            Err(failure) => {
                link.stop().await;
                Err(if matches!(failure, Failure::NeedsLogin(_)) { failure } else { refused })
            }
        }
    }

    async fn reach(&self, changed: mpsc::Sender<List>) -> Result<(Arc<Peer>, Link), Failure> {
        let options = &self.shared.options;
        let root = self.definition.roots.then_some(options.root.as_path());
        let (peer, outgoing) = Peer::new(root, changed, self.updates());
        let household = &self.shared.household;
        let link = Link::open(&self.definition, options, &peer, outgoing, household).await?;
        Ok((peer, link))
    }
}

/// A program that answers nothing and prints something else is often not the server that was meant.
fn with_noise(failure: Failure, peer: &Peer) -> Failure {
    let noise = peer.noise.load(std::sync::atomic::Ordering::Relaxed);
    match failure {
        Failure::Late { .. } if noise > 0 => Failure::Start(format!(
            "{failure}; it wrote {noise} lines on standard output that are no messages"
        )),
        other => other,
    }
}
