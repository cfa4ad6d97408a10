//! A room with a workspace, servers behind it, a gateway, and clients that write JSON by hand.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use concertina_mcp::server::{Exposure, Gateway, GatewayOptions, Handler};
use concertina_mcp::upstream::{Pool, PoolOptions};
use concertina_mcp::wire::Wire;
use concertina_runtime::upstream::{Definition, Reach};
use concertina_runtime::{Session, Workspace, WorkspaceOptions};
use concertina_store::Store;
use concertina_types::{ApprovalScope, Means, SessionId};
use rmcp::service::serve_server;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, WriteHalf};
use tokio::sync::{Notify, oneshot};

/// Longer than anything that is expected to happen takes.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// The server for tests.
pub(crate) fn fixture() -> PathBuf {
    concertina_fixture_server::program().unwrap()
}

/// A workspace and what stands behind it.
pub(crate) struct Room {
    directory: Arc<tempfile::TempDir>,
    servers: Vec<(String, Vec<String>)>,
    exposure: Exposure,
    store: Store,
}

impl Room {
    pub(crate) fn new() -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        std::fs::create_dir(directory.path().join("work")).unwrap();
        Self { directory, servers: Vec::new(), exposure: Exposure::Four, store: Store::memory() }
    }

    /// A file of the workspace.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn skill(self, name: &str, description: &str, body: &str) -> Self {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n");
        self.file(&format!("skills/{name}/SKILL.md"), &text)
    }

    /// A fixture server behind the gateway, with words on its command line.
    pub(crate) fn server(mut self, name: &str, words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        self.servers.push((name.to_owned(), words));
        self
    }

    pub(crate) fn listed(mut self) -> Self {
        self.exposure = Exposure::Listed;
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("work").join(path)
    }

    fn definitions(&self) -> Vec<Definition> {
        let definition = |(name, words): &(String, Vec<String>)| {
            let mut argv = vec![fixture().to_str().unwrap().to_owned()];
            argv.extend(words.iter().cloned());
            Definition {
                name: name.clone(),
                reach: Reach::Program {
                    argv,
                    environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
                    directory: self.path(""),
                },
                from: self.path("concertina.toml"),
                by: "concertina".to_owned(),
                trusted: true,
                timeout_s: None,
                roots: false,
            }
        };
        self.servers.iter().map(definition).collect()
    }

    /// A gateway to this room, once its servers have said what they bring.
    pub(crate) async fn open(&self) -> Arc<Gateway> {
        let pool = self.pool();
        pool.settled(LONG).await;
        self.gateway(pool)
    }

    pub(crate) fn pool(&self) -> Arc<Pool> {
        let handle = tokio::runtime::Handle::current();
        let options = PoolOptions {
            learn: true,
            ..PoolOptions::new(self.path("../state"), self.path(""), handle)
        };
        Pool::new(self.definitions(), options)
    }

    pub(crate) fn gateway(&self, pool: Arc<Pool>) -> Arc<Gateway> {
        let config = self.path("../config").to_str().unwrap().to_owned();
        let variable = |name: &str| (name == "XDG_CONFIG_HOME").then(|| config.clone());
        let managed = Some(self.path("../managed")).filter(|path| path.exists());
        let options = WorkspaceOptions {
            managed,
            ..WorkspaceOptions::only(self.path("../state"), &variable)
        };
        let workspace = Workspace::open(&self.path(""), options).unwrap();
        let options = GatewayOptions { exposure: self.exposure };
        Gateway::new(workspace, self.store.clone(), Some(pool), options)
    }

    /// A person agrees to whatever was asked, from elsewhere.
    pub(crate) fn agree(&self) {
        for known in self.store.events.sessions().unwrap() {
            let mut session = Session::resume(self.store.clone(), known.session).unwrap();
            let questions: Vec<String> = session.state().approvals.keys().cloned().collect();
            for question in questions {
                let (scope, by) = (ApprovalScope::Session, Means::Command);
                assert_eq!(session.agree(&question, scope, by, None).unwrap(), None);
            }
        }
    }

    /// A client of a gateway of its own, which has shaken hands.
    pub(crate) async fn client(&self) -> Client {
        let mut client = Client::of(&self.open().await).await;
        client.room = Some(Arc::clone(&self.directory));
        client
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

/// A client that writes JSON by hand.
pub(crate) struct Client {
    write: Arc<tokio::sync::Mutex<WriteHalf<DuplexStream>>>,
    next: AtomicU64,
    waiting: Waiting,
    heard: Arc<Mutex<Vec<Value>>>,
    news: Arc<Notify>,
    /// Stays as long as the client does.
    room: Option<Arc<tempfile::TempDir>>,
    /// What `initialize` was answered.
    pub(crate) hello: Value,
}

impl Client {
    pub(crate) async fn of(gateway: &Arc<Gateway>) -> Self {
        Self::with(gateway, "2025-11-25", json!({}), None).await
    }

    /// A client of a revision that shakes hands, with `capabilities`, in `session`.
    pub(crate) async fn with(
        gateway: &Arc<Gateway>,
        revision: &str,
        capabilities: Value,
        session: Option<SessionId>,
    ) -> Self {
        let handler = Handler::in_session(Arc::clone(gateway), None, session);
        let mut client = Self::raw(handler);
        let params = json!({
            "protocolVersion": revision, "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        client.hello = client.result("initialize", params).await;
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// A client that has said nothing yet.
    pub(crate) fn raw(handler: Handler) -> Self {
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(async move {
            if let Ok(running) = serve_server(handler, Wire::server(read, write)).await {
                let _ = running.waiting().await;
            }
        });
        let (read, write) = tokio::io::split(ours);
        let waiting = Waiting::default();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let news = Arc::new(Notify::new());
        let (waits, hears, tells) = (Arc::clone(&waiting), Arc::clone(&heard), Arc::clone(&news));
        tokio::spawn(async move {
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).expect("a line is JSON");
                let id = message.get("id").and_then(Value::as_u64);
                let answers = message.get("method").is_none();
                match id.filter(|_| answers).and_then(|id| waits.lock().unwrap().remove(&id)) {
                    Some(waits) => {
                        let _ = waits.send(message);
                    }
                    None => hears.lock().unwrap().push(message),
                }
                tells.notify_waiters();
            }
        });
        Self {
            write: Arc::new(tokio::sync::Mutex::new(write)),
            next: AtomicU64::new(1),
            waiting,
            heard,
            news,
            room: None,
            hello: Value::Null,
        }
    }

    pub(crate) async fn send(&self, message: &Value) {
        self.send_line(&message.to_string()).await;
    }

    pub(crate) async fn send_line(&self, line: &str) {
        self.send_bytes(line.as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&self, line: &[u8]) {
        let mut write = self.write.lock().await;
        write.write_all(line).await.unwrap();
        write.write_all(b"\n").await.unwrap();
    }

    /// Closes the client's side.
    pub(crate) async fn hang_up(&self) {
        self.write.lock().await.shutdown().await.unwrap();
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request; the answer comes through what is given back.
    pub(crate) async fn begin(
        &self,
        method: &str,
        params: Value,
    ) -> (u64, oneshot::Receiver<Value>) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id, answer);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        (id, answered)
    }

    /// The whole answer to a request.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let (_, answered) = self.begin(method, params).await;
        tokio::time::timeout(LONG, answered).await.expect("an answer in time").unwrap()
    }

    /// The result of a request that is met.
    pub(crate) async fn result(&self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// The code and words of a request that is not met.
    pub(crate) async fn error(&self, method: &str, params: Value) -> (i64, String) {
        let answer = self.ask(method, params).await;
        let error = answer.get("error").unwrap_or_else(|| panic!("no error: {answer}"));
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// The result of a tool call.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// The text of a tool call, whether it is an error or not.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        text(&self.tool(name, arguments).await)
    }

    /// The text of a tool of the catalogue, called by `call`.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> String {
        self.text("call", json!({"tool": tool, "args": args})).await
    }

    /// Everything that came without being asked for.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    /// Waits for something that comes without being asked for.
    pub(crate) async fn hears(&self, what: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            loop {
                let news = self.news.notified();
                if let Some(found) = self.heard().into_iter().find(|message| what(message)) {
                    return found;
                }
                news.await;
            }
        };
        let found = tokio::time::timeout(LONG, wait).await;
        found.unwrap_or_else(|_| panic!("never heard among {:?}", self.heard()))
    }

    pub(crate) async fn hears_method(&self, method: &str) -> Value {
        self.hears(|message| message["method"] == method).await
    }

    /// The names of `tools/list`.
    pub(crate) async fn names(&self) -> Vec<String> {
        let list = self.result("tools/list", json!({})).await;
        let tools = list["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// The first text of a tool's result.
pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}")).to_owned()
}

/// So many tools of the workspace itself in the menu `harbour`, in settings.
pub(crate) fn many_tools(number: usize) -> String {
    let tools = (1..=number).map(|n| {
        format!(
            "[tool.\"harbour/bell_{n:03}\"]\ndescription = \"Rings bell {n}.\"\nargv = [\"/bin/echo\", \"rang {n}\"]\n"
        )
    });
    format!(
        "[menu.harbour]\ntitle = \"The harbour\"\ntools = [\"harbour/*\"]\n{}",
        tools.collect::<String>()
    )
}

/// The `_meta` of a request that stands for itself.
pub(crate) fn modern(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}
