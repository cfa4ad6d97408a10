//! What a client may not send, and too much of what it may.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kit::{Client, Room, text};

fn harbour() -> Room {
    Room::new().skill("tides", "Reads tide tables.", "Look at the table.")
}

/// The connection lives, and answers.
async fn lives(client: &Client) {
    let found = client.text("find", json!({"query": "tide tables"})).await;
    assert!(found.contains("skill:tides"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn g_lines_that_are_no_messages_cost_only_themselves() {
    let client = harbour().client().await;
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let deep_call = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{{\"name\":\"find\",\"arguments\":{{\"query\":{deep}}}}}}}"
    );
    for (line, code) in [
        ("not json", -32700),
        ("\"a text\"", -32600),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (deep_call.as_str(), -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":{\"a\":1},\"method\":\"ping\"}", -32600),
    ] {
        client.send_line(line).await;
        lives(&client).await;
        let heard = client.heard().pop().unwrap();
        assert_eq!(
            (&heard["id"], &heard["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{line:.60}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g_bytes_that_are_no_utf8_cost_only_their_line() {
    let client = harbour().client().await;
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"\xff\xfe\"}").await;
    let heard = client.hears(|message| message["error"]["code"] == -32700).await;
    assert!(heard["error"]["message"].as_str().unwrap().contains("UTF-8"), "{heard}");
    lives(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g_a_line_of_64_mb_is_refused_and_the_next_one_served() {
    let client = harbour().client().await;
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{{\"name\":\"find\",\"arguments\":{{\"query\":\"{}\"}}}}}}",
        "x".repeat(64 * 1024 * 1024)
    );
    client.send_line(&line).await;
    let heard = client.hears(|message| message["error"]["code"] == -32600).await;
    assert!(heard["error"]["message"].as_str().unwrap().contains("4194304 bytes"), "{heard}");
    lives(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g_a_second_request_with_an_id_under_way_is_refused() {
    let client = Room::new().server("sea", &[]).client().await;
    let call = |ms: u64| {
        json!({"jsonrpc": "2.0", "id": 500, "method": "tools/call", "params": {
            "name": "call", "arguments": {"tool": "sea/wait", "args": {"ms": ms, "steps": 1}}}})
    };
    client.send(&call(400)).await;
    client.send(&call(1)).await;
    client.hears(|message| message["error"]["code"] == -32600).await;
    let answered = client.hears(|message| message["id"] == 500).await;
    assert!(text(&answered["result"]).contains("waited"), "{answered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn g_ten_thousand_calls_at_once_are_all_answered_with_what_they_asked() {
    let room = Room::new().server("sea", &[]);
    let client = Arc::new(room.client().await);
    let mut waiting = Vec::new();
    for number in 0..10_000 {
        let call = json!({"name": "call", "arguments": {"tool": "sea/echo", "args": {"text": format!("call {number};")}}});
        waiting.push((number, client.begin("tools/call", call).await.1));
    }
    for (number, answered) in waiting {
        let answer = answered.await.unwrap();
        let said = text(&answer["result"]);
        assert!(said.contains(&format!("call {number};")), "{number}: {said}");
    }
}
