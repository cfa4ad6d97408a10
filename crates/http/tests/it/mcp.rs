//! MCP over HTTP, as clients speak it.

use std::sync::Arc;

use futures_util::StreamExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::peer::{ANN, BOB, service};

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
    let port = service.at.rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
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

// Clients have threads of their own; on that of the service they would hold up what they wait for.
#[tokio::test(flavor = "multi_thread")]
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
    // More connections than this would have to send their first line before a busy machine reads it.
    let answered = futures_util::stream::iter(calls).buffer_unordered(200).count().await;
    assert_eq!(answered, 1_000);
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
