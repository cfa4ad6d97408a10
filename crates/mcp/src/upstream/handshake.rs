//! The first words with a server.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use super::failure::Failure;
use super::peer::{Patience, Peer};

/// The newest revision that begins with `initialize`.
const NEWEST: &str = "2025-11-25";
/// Revisions that begin with `initialize`.
const KNOWN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST];
/// The revision without a beginning: every request says all there is to say.
const STATELESS: &str = "2026-07-28";

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Hello {
    pub(super) revision: String,
    pub(super) info: Value,
    pub(super) capabilities: Value,
    pub(super) instructions: Option<String>,
}

impl Hello {
    pub(super) fn is_stateless(&self) -> bool {
        self.revision == STATELESS
    }

    pub(super) fn tells_of_resources(&self) -> bool {
        self.capabilities.pointer("/resources/subscribe") == Some(&Value::Bool(true))
    }

    /// Whether it offers what stands at this pointer of its capabilities.
    pub(super) fn offers(&self, pointer: &str) -> bool {
        self.capabilities.pointer(pointer).is_some_and(|value| !value.is_null())
    }
}

fn client() -> Value {
    json!({"name": "concertina", "title": "Concertina", "version": env!("CARGO_PKG_VERSION")})
}

/// No sampling: Concertina has no model to lend. Roots only where the settings say so.
fn abilities(peer: &Peer) -> Value {
    let mut abilities = json!({"elicitation": {"form": {}, "url": {}}});
    if let (Some(_), Some(map)) = (peer.roots(), abilities.as_object_mut()) {
        map.insert("roots".to_owned(), json!({"listChanged": false}));
    }
    abilities
}

/// `initialize`, which almost every server in use understands.
pub(super) async fn initialize(peer: &Arc<Peer>, patience: Patience) -> Result<Hello, Failure> {
    let params = json!({
        "protocolVersion": NEWEST,
        "capabilities": abilities(peer),
        "clientInfo": client(),
    });
    let mut result = peer.request("initialize", params, patience, None).await?;
    let mut take = |key: &str| result.get_mut(key).map(Value::take).unwrap_or_default();
    let revision = take("protocolVersion").as_str().unwrap_or_default().to_owned();
    if !KNOWN.contains(&revision.as_str()) {
        return Err(Failure::Malformed(format!(
            "it chose the revision `{revision}`, which is none that begins with `initialize`"
        )));
    }
    let hello = Hello {
        revision,
        info: take("serverInfo"),
        capabilities: take("capabilities"),
        instructions: take("instructions").as_str().map(str::to_owned),
    };
    peer.notify("notifications/initialized", Value::Null)?;
    Ok(hello)
}

/// `server/discover`, the first words of the newest revision.
pub(super) async fn discover(peer: &Arc<Peer>, patience: Patience) -> Result<Hello, Failure> {
    let mut meta = Map::new();
    meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(STATELESS));
    meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client());
    meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), abilities(peer));
    peer.always_send(meta);
    let mut result = peer.request("server/discover", json!({}), patience, None).await?;
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    if !versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS)) {
        return Err(Failure::Malformed("it speaks no revision that is known here".to_owned()));
    }
    let info = result
        .get_mut("_meta")
        .and_then(|meta| meta.get_mut("io.modelcontextprotocol/serverInfo"))
        .map(Value::take)
        .unwrap_or_default();
    let mut take = |key: &str| result.get_mut(key).map(Value::take).unwrap_or_default();
    Ok(Hello {
        revision: STATELESS.to_owned(),
        info,
        capabilities: take("capabilities"),
        instructions: take("instructions").as_str().map(str::to_owned),
    })
}

/// Asks to be told when lists or the resources `uris` change, as the revision without a beginning
/// has it. The answer comes when the connection ends, so nobody waits for it.
pub(super) async fn listen(peer: &Arc<Peer>, uris: &[&String]) -> JoinHandle<()> {
    const ALWAYS: Duration = Duration::from_hours(24 * 365);
    let mut filter = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
    });
    if let (false, Some(filter)) = (uris.is_empty(), filter.as_object_mut()) {
        filter.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    let params = json!({"notifications": filter});
    let peer = Arc::clone(peer);
    let mut asking = Box::pin(async move {
        let patience = Patience { silent: ALWAYS, whole: ALWAYS };
        let _ = peer.request("subscriptions/listen", params, patience, None).await;
    });
    // It is on its way when this returns: whoever cancels another one afterwards misses nothing.
    let is_over = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_ready())).await;
    tokio::spawn(async move {
        if !is_over {
            asking.await;
        }
    })
}
