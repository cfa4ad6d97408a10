//! What all servers offer together: each puts up its part, and whoever asks reads one shared value.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use concertina_runtime::upstream::{Offer, OfferedSkill, OfferedTool, Server};
use tokio::sync::watch;

use crate::lock;

/// One server's part.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) server: Server,
    pub(super) tools: Vec<Arc<OfferedTool>>,
    pub(super) skills: Vec<OfferedSkill>,
}

#[derive(Debug)]
pub(super) struct Board {
    parts: Mutex<BTreeMap<String, Part>>,
    offer: RwLock<Arc<Offer>>,
    /// Rises with every change, also of what is no tool.
    changes: watch::Sender<u64>,
}

impl Board {
    pub(super) fn new(parts: BTreeMap<String, Part>) -> Self {
        let offer = Arc::new(compose(&parts, 1));
        Self { parts: Mutex::new(parts), offer: RwLock::new(offer), changes: watch::Sender::new(1) }
    }

    pub(super) fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Replaces a server's part. Nothing happens where it is the same, unless something else of
    /// the server changed.
    pub(super) fn put(&self, part: Part, is_change: bool) {
        let mut parts = lock(&self.parts);
        let is_same = parts.get(&part.server.name) == Some(&part);
        if is_same && !is_change {
            return;
        }
        parts.insert(part.server.name.clone(), part);
        let mut offer = self.offer.write().unwrap_or_else(PoisonError::into_inner);
        let revision = offer.revision + 1;
        *offer = Arc::new(compose(&parts, revision));
        drop(offer);
        self.changes.send_replace(revision);
    }
}

fn compose(parts: &BTreeMap<String, Part>, revision: u64) -> Offer {
    let mut tools: Vec<_> = parts.values().flat_map(|part| part.tools.iter().cloned()).collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let skills = parts.values().flat_map(|part| part.skills.iter().cloned()).collect();
    let servers = parts.values().map(|part| part.server.clone()).collect();
    Offer { revision, tools, skills, servers }
}
