//! Reading what a server brings, and reading it again when it changed.

use std::sync::Arc;
use std::time::Duration;

use concertina_runtime::now;
use concertina_runtime::upstream::JsonText;
use serde_json::Value;
use tokio::sync::mpsc;

use super::definitions::LeftOut;
use super::failure::Failure;
use super::handshake::Hello;
use super::lists;
use super::peer::{List, Patience, Peer};
use super::records::Manifest;
use super::server::{Connection, Upstream};

/// How long prompts, resources and skills may take to be listed: tools do not wait for them.
const OTHERS: Duration = Duration::from_secs(10);

impl Upstream {
    /// Attends to a running server until it ends.
    pub(super) async fn attend(
        self: Arc<Self>,
        connection: Arc<Connection>,
        hello: Hello,
        mut manifest: Manifest,
        mut changes: mpsc::Receiver<List>,
    ) {
        let peer = &connection.peer;
        let (server, listening) = (Arc::clone(&self), Arc::clone(peer));
        tokio::spawn(async move { server.listen(&listening).await });
        self.read_others(peer, &hello, &mut manifest).await;
        self.keep(&manifest);
        self.take(&manifest, None);
        self.is_learnt();
        loop {
            let next = next_reading(&manifest);
            tokio::select! {
                failure = peer.over() => {
                    self.lost(&connection, &failure);
                    connection.stop().await;
                    return;
                }
                Some(list) = changes.recv() => {
                    tokio::time::sleep(self.shared.options.waits.settle).await;
                    let mut lists = vec![list];
                    while let Ok(list) = changes.try_recv() {
                        lists.push(list);
                    }
                    self.read_again(peer, &hello, &mut manifest, &lists).await;
                }
                () = tokio::time::sleep(next) => {
                    self.read_again(peer, &hello, &mut manifest, &[List::Tools, List::Others]).await;
                }
            }
        }
    }

    async fn read_again(
        &self,
        peer: &Arc<Peer>,
        hello: &Hello,
        manifest: &mut Manifest,
        which: &[List],
    ) {
        if which.contains(&List::Tools) {
            let mut again = manifest.clone();
            again.left_out.retain(|left| left.what != "tools");
            again.read_at = now().0;
            match self.read_tools(peer, hello, &mut again).await {
                Ok(()) => *manifest = again,
                Err(failure) => {
                    // What was known stays known, and is asked again later.
                    manifest.read_at = now().0;
                    self.state().note = Some(format!("its list is old: {}", failure.said()));
                    self.publish(false);
                }
            }
        }
        if which.contains(&List::Others) {
            self.read_others(peer, hello, manifest).await;
        }
        self.keep(manifest);
        self.take(manifest, None);
    }

    pub(super) async fn read_tools(
        &self,
        peer: &Arc<Peer>,
        hello: &Hello,
        manifest: &mut Manifest,
    ) -> Result<(), Failure> {
        let patience = self.shared.options.waits.starting();
        let listed = match lists::all(peer, "tools/list", "tools", patience).await {
            // A server without tools need not know the method.
            Err(Failure::Refused { .. }) if !hello.offers("/tools") => lists::Listed::default(),
            listed => listed?,
        };
        // After a restart some servers answer before they have found their tools again.
        let had = self.known().map_or(0, |known| known.tools.len());
        let is_fresh = self.live().is_none();
        if is_fresh && had > 0 && listed.entries.is_empty() {
            return Err(Failure::Malformed(format!("it lists no tools, and had {had}")));
        }
        manifest.tools = listed.entries;
        manifest.ttl = listed.ttl;
        manifest.left_out.extend(listed.cut.map(|why| LeftOut { what: "tools".to_owned(), why }));
        Ok(())
    }

    /// Reads what is no tool. Each list fails alone.
    async fn read_others(&self, peer: &Arc<Peer>, hello: &Hello, manifest: &mut Manifest) {
        let time = self.shared.options.waits.start.min(OTHERS);
        let patience = Patience { silent: time, whole: time };
        let read = async |offered: bool, method: &str, key: &str| {
            if !offered {
                return (Vec::new(), None);
            }
            let left_out = |why: String| Some(LeftOut { what: key.to_owned(), why });
            match lists::all(peer, method, key, patience).await {
                Ok(listed) => (listed.entries, listed.cut.and_then(left_out)),
                // Servers say that they have resources and know no templates.
                Err(Failure::Refused { code: -32601, .. }) => (Vec::new(), None),
                Err(failure) => (Vec::new(), left_out(failure.said())),
            }
        };
        let skills = hello.offers("/extensions/io.modelcontextprotocol~1skills")
            || hello.offers("/experimental/io.modelcontextprotocol~1skills");
        let resources = hello.offers("/resources");
        let (prompts, (resources, templates), skills) = futures_util::join!(
            read(hello.offers("/prompts"), "prompts/list", "prompts"),
            async {
                (
                    read(resources, "resources/list", "resources").await,
                    read(resources, "resources/templates/list", "resourceTemplates").await,
                )
            },
            read(skills, "skills/list", "skills"),
        );
        // What broke off says nothing about what there is.
        if peer.ended().is_some() {
            return;
        }
        manifest.left_out.retain(|left| left.what == "tools");
        for (place, (entries, left_out)) in [
            (&mut manifest.prompts, prompts),
            (&mut manifest.resources, resources),
            (&mut manifest.templates, templates),
            (&mut manifest.skills, skills),
        ] {
            *place = entries;
            sort(place);
            manifest.left_out.extend(left_out);
        }
    }
}

/// When the lists are read again without being told: when the server said that they are old then.
fn next_reading(manifest: &Manifest) -> Duration {
    const NEVER: Duration = Duration::from_hours(24 * 365);
    // A list that holds no time at all is read when the server says so, and at each start.
    const SHORTEST: Duration = Duration::from_secs(1);
    let ttl = manifest.ttl.filter(|ttl| *ttl > 0).map(Duration::from_millis);
    ttl.map_or(NEVER, |ttl| ttl.max(SHORTEST).min(NEVER))
}

/// By name or address, so that a restart changes no byte.
fn sort(entries: &mut [JsonText]) {
    let key = |entry: &JsonText| {
        let entry = entry.value();
        let text =
            |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        (text("name"), text("uri"), text("uriTemplate"))
    };
    entries.sort_by_cached_key(key);
}
