//! The whole service over a workspace and a store, and clients of it.

use std::sync::atomic::{AtomicU64, Ordering};

use concertina_http::{Approvers, Guard, Listening, Names, Tokens, routes};
use concertina_mcp::server::{Gateway, GatewayOptions, http};
use concertina_runtime::approval::Inbox;
use concertina_runtime::{Workspace, WorkspaceOptions};
use concertina_store::Store;
use concertina_types::Event;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::guard::private;

/// In one session a number stands for one request.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// Leaves one more mark in a file.
pub(crate) const MARK: &str = "echo marked >> \"$1\"\n";

/// Clients of two principals.
pub(crate) const ANN: &str = "0123456789abcdef-ann";
pub(crate) const BOB: &str = "0123456789abcdef-bob";
/// Approvers: for everybody, and for the sessions of one principal.
pub(crate) const VERA: &str = "0123456789abcdef-vera";
pub(crate) const BEN: &str = "0123456789abcdef-ben";

pub(crate) struct Service {
    pub(crate) at: String,
    client: reqwest::Client,
    home: tempfile::TempDir,
    store: Store,
}

/// What came back: the status, the session, and the message.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) session: Option<String>,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        self.body["result"]["content"][0]["text"].as_str().unwrap_or_default()
    }
}

pub(crate) async fn service() -> Service {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    std::fs::create_dir_all(work.join("skills/tides")).unwrap();
    std::fs::write(
        work.join("skills/tides/SKILL.md"),
        "---\nname: tides\ndescription: Read the tide tables.\n---\nLook at the moon first.\n",
    )
    .unwrap();
    let settings = "[tool.clock]\nkind = 'exec'\nargv = ['echo', '${say}']\ndanger = 'safe'\ndescription = 'Says the time.'\n\
                    parameters = {type = 'object', properties = {say = {type = 'string'}}, required = ['say']}\n\
                    [tool.slow]\nkind = 'exec'\nargv = ['sh', '-c', 'sleep 0.5; echo $0', '${say}']\ndanger = 'safe'\n\
                    parameters = {type = 'object', properties = {say = {type = 'string'}}, required = ['say']}\n\
                    [tool.mark]\nargv = ['sh', 'mark.sh', '${path}']\n\
                    parameters = {type = 'object', properties = {path = {type = 'string'}}, required = ['path']}\n\
                    [tool.wipe]\nargv = ['sh', 'mark.sh', '${path}']\ndanger = 'destructive'\n\
                    parameters = {type = 'object', properties = {path = {type = 'string'}}, required = ['path']}\n\
                    [policy]\nask = ['tool:mark', 'tool:wipe']\n";
    std::fs::write(work.join("mark.sh"), MARK).unwrap();
    std::fs::write(work.join("concertina.toml"), settings).unwrap();
    let write = |name: &str, lines: String| {
        let file = home.path().join(name);
        std::fs::write(&file, lines).unwrap();
        private(&file, 0o600);
        file
    };
    let tokens = Tokens::read(&write("tokens", format!("ann {ANN}\nbob {BOB}\n"))).unwrap();
    let file = write("approvers", format!("vera {VERA}\nben {BEN} bob\n"));
    let approvers = Approvers::read(&file, Some(&tokens)).unwrap();
    let state = home.path().join("state");
    let path = std::env::var("PATH").unwrap_or_default();
    let options_variable = move |name: &str| (name == "PATH").then(|| path.clone());
    let options = WorkspaceOptions::only(state.clone(), &options_variable);
    let workspace = Workspace::open(&work, options).unwrap();
    let store = Store::open(&state).unwrap();
    let inbox = Inbox::new(store.clone(), state);
    let gateway = Gateway::new(workspace, store.clone(), None, GatewayOptions::default());
    let listening = Listening::on("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listening.address();
    let guard = Guard { names: Names::of(address), tokens: Some(tokens), approvers };
    let end = CancellationToken::new();
    let routes = routes(guard, http(&gateway, end.clone()), inbox);
    tokio::spawn(listening.serve(routes, end));
    // A connection for each request: one that idles may be closed by the service at the moment it is
    // used again.
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    Service { at: format!("http://{address}"), client, home, store }
}

impl Service {
    pub(crate) async fn send(
        &self,
        method: Method,
        token: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        let mut request = self
            .client
            .request(method, format!("{}/mcp", self.at))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.body(body).send().await.unwrap();
        let status = response.status();
        let session = response.headers().get("mcp-session-id");
        let session = session.map(|value| value.to_str().unwrap().to_owned());
        let text = response.text().await.unwrap_or_default();
        // The last event of a stream is the answer.
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        let body = serde_json::from_str(data.unwrap_or(&text)).unwrap_or(Value::Null);
        Answer { status, session, body }
    }

    pub(crate) async fn rpc(
        &self,
        token: &str,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Answer {
        let headers: Vec<(&str, &str)> =
            session.map(|session| ("mcp-session-id", session)).into_iter().collect();
        let id = NUMBER.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.send(Method::POST, token, &headers, body.to_string()).await;
        assert!(answer.body["id"] == id || answer.status != StatusCode::OK, "{answer:?}");
        answer
    }

    pub(crate) async fn connect(&self, token: &str) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        });
        let answer = self.rpc(token, None, "initialize", params).await;
        assert_eq!(answer.body["result"]["protocolVersion"], "2025-11-25", "{answer:?}");
        answer.session.unwrap()
    }

    /// A call of 2026-07-28, which knows no connections.
    pub(crate) async fn alone(&self, token: &str, name: &str, arguments: Value) -> Answer {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": name, "arguments": arguments, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }},
        });
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
        ];
        self.send(Method::POST, token, &headers, body.to_string()).await
    }

    /// One of the four tools, called in a session.
    pub(crate) async fn tool(&self, token: &str, session: &str, arguments: Value) -> Answer {
        let params = json!({"name": "call", "arguments": arguments});
        self.rpc(token, Some(session), "tools/call", params).await
    }

    /// A request below `/v1`.
    pub(crate) async fn rest(
        &self,
        method: Method,
        token: &str,
        path: &str,
        body: impl Into<reqwest::Body>,
    ) -> (u16, Value) {
        let request = self.client.request(method, format!("{}/v1/{path}", self.at));
        let request = request.header("authorization", format!("Bearer {token}")).body(body);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap_or_default();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The questions that wait, as `token` sees them.
    pub(crate) async fn questions(&self, token: &str) -> Vec<Value> {
        let (status, list) = self.rest(Method::GET, token, "approvals", "").await;
        assert_eq!(status, 200, "{list}");
        list["approvals"].as_array().unwrap().clone()
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, token: &str, id: &str, answer: Value) -> (u16, Value) {
        self.rest(Method::POST, token, &format!("approvals/{id}"), answer.to_string()).await
    }

    /// The workspace, as another process opens it.
    pub(crate) fn workspace(&self) -> Workspace {
        let path = std::env::var("PATH").unwrap_or_default();
        let variable = move |name: &str| (name == "PATH").then(|| path.clone());
        let options = WorkspaceOptions::only(self.home.path().join("state"), &variable);
        Workspace::open(&self.home.path().join("work"), options).unwrap()
    }

    pub(crate) fn store(&self) -> Store {
        self.store.clone()
    }

    /// A file of the workspace.
    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.home.path().join("work").join(name)
    }

    /// Every event of every session.
    pub(crate) fn events(&self) -> Vec<Event> {
        let sessions = self.store.events.sessions().unwrap();
        sessions.iter().flat_map(|one| self.store.verify(&one.session).unwrap()).collect()
    }
}
