//! MCP over HTTP, as clients speak it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use concertina_http::{Guard, Listening, Names, Tokens, routes};
use concertina_mcp::server::{Gateway, GatewayOptions, http};
use concertina_runtime::{Workspace, WorkspaceOptions};
use concertina_store::Store;
use futures_util::StreamExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// In one session a number stands for one request.
static NUMBER: AtomicU64 = AtomicU64::new(1);

const ANN: &str = "0123456789abcdef-ann";
const BOB: &str = "0123456789abcdef-bob";

struct Service {
    url: String,
    client: reqwest::Client,
    _home: tempfile::TempDir,
}

/// What came back: the status, the session, and the message.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    session: Option<String>,
    body: Value,
}

impl Answer {
    fn text(&self) -> &str {
        self.body["result"]["content"][0]["text"].as_str().unwrap_or_default()
    }
}

async fn service() -> Service {
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
                    parameters = {type = 'object', properties = {say = {type = 'string'}}, required = ['say']}\n";
    std::fs::write(work.join("concertina.toml"), settings).unwrap();
    let file = home.path().join("tokens");
    std::fs::write(&file, format!("ann {ANN}\nbob {BOB}\n")).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let state = home.path().join("state");
    let path = std::env::var("PATH").unwrap_or_default();
    let options_variable = move |name: &str| (name == "PATH").then(|| path.clone());
    let options = WorkspaceOptions::only(state.clone(), &options_variable);
    let workspace = Workspace::open(&work, options).unwrap();
    let store = Store::open(&state).unwrap();
    let gateway = Gateway::new(workspace, store, None, GatewayOptions::default());
    let listening = Listening::on("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listening.address();
    let guard = Guard { names: Names::of(address), tokens: Some(Tokens::read(&file).unwrap()) };
    let end = CancellationToken::new();
    let routes = routes(guard, http(&gateway, end.clone()));
    tokio::spawn(listening.serve(routes, end));
    // A connection for each request: one that idles may be closed by the service at the moment it is
    // used again.
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    Service { url: format!("http://{address}/mcp"), client, _home: home }
}

impl Service {
    async fn send(
        &self,
        method: Method,
        token: &str,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        let mut request = self
            .client
            .request(method, &self.url)
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

    async fn rpc(&self, token: &str, session: Option<&str>, method: &str, params: Value) -> Answer {
        let headers: Vec<(&str, &str)> =
            session.map(|session| ("mcp-session-id", session)).into_iter().collect();
        let id = NUMBER.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.send(Method::POST, token, &headers, body.to_string()).await;
        assert!(answer.body["id"] == id || answer.status != StatusCode::OK, "{answer:?}");
        answer
    }

    async fn connect(&self, token: &str) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        });
        let answer = self.rpc(token, None, "initialize", params).await;
        assert_eq!(answer.body["result"]["protocolVersion"], "2025-11-25", "{answer:?}");
        answer.session.unwrap()
    }

    /// A call of 2026-07-28, which knows no connections.
    async fn alone(&self, token: &str, name: &str, arguments: Value) -> Answer {
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
}

#[tokio::test]
async fn a_client_finds_opens_and_calls_over_http() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let call = async |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        service.rpc(ANN, Some(&session), "tools/call", params).await
    };
    assert!(call("find", json!({"query": "tide tables"})).await.text().contains("skill:tides"));
    assert!(call("open", json!({"ref": "skill:tides"})).await.text().contains("the moon first"));
    let answer = call("call", json!({"tool": "clock", "args": {"say": "noon"}})).await;
    assert!(answer.text().contains("noon"), "{answer:?}");
    assert_eq!(answer.body["result"]["structuredContent"]["text"], answer.text());
}

#[tokio::test]
async fn advisory_40_the_protocol_answers_to_its_own_name_alone_whoever_has_the_token() {
    let service = service().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let session = service.connect(ANN).await;
    let port = service.url.split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
    let status = async |name: &'static str, value: String| {
        let headers = [("mcp-session-id", session.as_str()), (name, value.as_str())];
        service.send(Method::POST, ANN, &headers, ping).await.status
    };
    for good in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        assert_eq!(status("host", good.clone()).await, StatusCode::OK, "{good}");
    }
    for bad in ["evil.test".to_owned(), format!("evil.test:{port}"), "[::1]:1".to_owned()] {
        assert_eq!(status("host", bad.clone()).await, StatusCode::FORBIDDEN, "{bad}");
    }
    assert_eq!(status("origin", "http://evil.test".to_owned()).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn security_89_a_session_of_somebody_else_is_not_there() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let params = || json!({"name": "find", "arguments": {"query": "tide"}});
    for (token, session) in [(BOB, session.as_str()), (BOB, "none"), (ANN, "none")] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params()});
            let headers = [("mcp-session-id", session)];
            let answer = service.send(method.clone(), token, &headers, body.to_string()).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method} {answer:?}");
            assert_eq!(answer.body["error"]["code"], "NO_SESSION");
        }
    }
    // Its owner still has it, until they end it themselves.
    let answer = service.rpc(ANN, Some(&session), "tools/call", params()).await;
    assert!(answer.text().contains("skill:tides"), "{answer:?}");
    let ended = service.send(Method::DELETE, ANN, &[("mcp-session-id", &session)], "").await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT, "{ended:?}");
    let gone = service.rpc(ANN, Some(&session), "tools/call", params()).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn security_89_a_handle_of_somebody_else_is_not_there() {
    let service = service().await;
    let first = service.alone(ANN, "open", json!({"ref": "skill:tides"})).await;
    let handle = first.text().split_whitespace().nth(1).unwrap().to_owned();
    assert!(handle.starts_with("s-") && handle.len() == 34, "128 bits: {first:?}");
    let with = |session: &str| json!({"ref": "skill:tides", "session": session});
    assert!(service.alone(ANN, "close", with(&handle)).await.text().contains("Closed skill:tides"));
    let foreign = service.alone(BOB, "close", with(&handle)).await;
    let unknown = service.alone(BOB, "close", with(&format!("s-{}", "0".repeat(32)))).await;
    assert!(foreign.text().contains("SESSION_UNKNOWN"), "{foreign:?}");
    assert_eq!(
        foreign.text().replace(&handle, "X"),
        unknown.text().replace(&format!("s-{}", "0".repeat(32)), "X"),
        "the two are told alike"
    );
}

#[tokio::test]
async fn security_88_messages_that_are_too_large_too_deep_or_no_message_are_refused() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let headers = [("mcp-session-id", session.as_str())];
    let post = async |body: Vec<u8>| service.send(Method::POST, ANN, &headers, body).await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}1{}}}"#,
        r#"{"a":"#.repeat(10_000),
        "}".repeat(10_000)
    );
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (what, body) in [
        ("64 MB", vec![b' '; 64 << 20]),
        ("10,000 deep", deep.into_bytes()),
        ("a batch", format!("[{ping},{ping}]").into_bytes()),
        (
            "no UTF-8",
            [br#"{"jsonrpc":"2.0","id":1,"method":"#.as_slice(), &[0xff, 0xfe, b'}']].concat(),
        ),
        ("nothing", Vec::new()),
        ("no JSON", b"hello".to_vec()),
        ("cut off", ping.as_bytes()[..20].to_vec()),
    ] {
        let answer = post(body).await;
        assert!(answer.status.is_client_error(), "{what}: {answer:?}");
        let alive = post(ping.as_bytes().to_vec()).await;
        assert_eq!(alive.status, StatusCode::OK, "{what}: {alive:?}");
    }
}

#[tokio::test]
async fn security_88_many_calls_at_once_are_all_answered_with_their_own_result() {
    let service = Arc::new(service().await);
    let sessions = [(ANN, service.connect(ANN).await), (BOB, service.connect(BOB).await)];
    let calls = (0..1_000).map(|number| {
        let service = Arc::clone(&service);
        let (token, session) = sessions[number % 2].clone();
        async move {
            let say = format!("{}-{number}", token.rsplit('-').next().unwrap());
            let params =
                json!({"name": "call", "arguments": {"tool": "clock", "args": {"say": say}}});
            let answer = service.rpc(token, Some(&session), "tools/call", params).await;
            assert!(answer.text().contains(&format!("{say}\n")), "{say}: {answer:?}");
        }
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn advisory_43_two_sessions_with_the_same_numbers_never_get_each_others_answers() {
    const CALLS: usize = 3_000;
    let service = service().await;
    let sessions =
        [(ANN, "ann", service.connect(ANN).await), (BOB, "bob", service.connect(BOB).await)];
    let calls = (0..2 * CALLS).map(|at| {
        let (service, (token, who, session)) = (&service, &sessions[at % 2]);
        async move {
            let (id, tool) = (at / 2, format!("{who}-{at}"));
            let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
                              {"name": "call", "arguments": {"tool": tool}}});
            let headers = [("mcp-session-id", session.as_str())];
            let answer = service.send(Method::POST, token, &headers, body.to_string()).await;
            assert_eq!(answer.body["id"], id, "{answer:?}");
            assert!(answer.text().contains(&format!("there is no tool {tool};")), "{answer:?}");
        }
    });
    let answered = futures_util::stream::iter(calls).buffer_unordered(100).count().await;
    assert_eq!(answered, 2 * CALLS);
}

#[tokio::test]
async fn security_88_a_number_that_is_taken_is_refused_and_answers_stay_apart() {
    let service = Arc::new(service().await);
    let session = service.connect(ANN).await;
    let body = |say: &str| {
        json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params":
               {"name": "call", "arguments": {"tool": "slow", "args": {"say": say}}}})
    };
    let headers = [("mcp-session-id", session.as_str())];
    let send =
        async |say: &str| service.send(Method::POST, ANN, &headers, body(say).to_string()).await;
    let answers = futures_util::future::join_all((0..5).map(|at| {
        let say = format!("said-{at}");
        let send = &send;
        async move { (say.clone(), send(&say).await) }
    }))
    .await;
    let (served, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|(_, answer)| answer.status == StatusCode::OK);
    assert!(!served.is_empty() && !refused.is_empty(), "{served:?} {refused:?}");
    for (say, answer) in served {
        assert!(answer.text().contains(&say), "{say}: {answer:?}");
    }
    assert!(refused.iter().all(|(_, answer)| answer.body["error"]["code"] == -32600));
    // The number is free again.
    assert!(send("again").await.text().contains("again"));
}

#[tokio::test]
async fn one_principal_never_ends_the_sessions_of_another() {
    let service = service().await;
    let session = service.connect(ANN).await;
    for _ in 0..300 {
        service.connect(BOB).await;
    }
    let answer = service.rpc(ANN, Some(&session), "ping", json!({})).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}
