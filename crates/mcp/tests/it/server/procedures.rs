//! Procedures behind one server.

use serde_json::json;

use super::kit::{Client, Room, text};

const SETTINGS: &str = r#"
[procedures]
files = ["gate.sop.yaml"]
always = "gate"

[tool.test]
argv = ["true"]
danger = "safe"
[tool.ship]
argv = ["touch", "shipped"]
"#;

const GATE: &str = r#"
sop: gate
inputs: {workspace: {ignore: [shipped]}}
checkpoints:
  test.ok: {tool: test, binds: workspace}
  ship.ok: {human: {role: owner, challenge: "ship {workspace.digest}"}, binds: workspace}
states:
  test: {show: {tools: [test]}, next: [{to: ship, when: test.ok}]}
  ship: {show: {tools: [test, {ship: {when: "test.ok && ship.ok"}}]}, on_stale: {goto: test}, next: [{to: done, when: "receipt(ship).exit == 0"}]}
  done: {final: true}
invariants:
  - {never: ship, without: ship.ok}
"#;

fn room() -> Room {
    Room::new().file("concertina.toml", SETTINGS).file("gate.sop.yaml", GATE).file("src", "one")
}

#[tokio::test]
async fn j01_a_procedure_that_is_always_followed_is_followed_from_the_first_call() {
    let room = room();
    let client = room.client().await;
    let told = client.call("ship", json!({})).await;
    assert!(told.contains("step test") && !room.path("shipped").exists(), "{told}");
    let told = client.call("test", json!({})).await;
    assert!(told.contains("procedure gate, step ship"), "{told}");
    let told = client.call("ship", json!({})).await;
    assert!(told.contains("waits for a person, asked as ask-"), "{told}");
}

#[tokio::test]
async fn j05_a_person_is_asked_through_the_client_where_their_yes_counts() {
    let room = room();
    // Whoever runs as the agent's user counts only where the administrator says so.
    room.write("../managed/concertina.toml", "[procedures]\nsame_uid_approvals = true\n");
    let can = json!({"elicitation": {"form": {}}});
    let client = Client::with(&room.open().await, "2025-11-25", can, None).await;
    client.call("test", json!({})).await;
    let params = json!({"name": "call", "arguments": {"tool": "ship"}});
    let (_, answered) = client.begin("tools/call", params).await;
    let question = client.hears_method("elicitation/create").await;
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("procedure gate waits for it") && message.contains("ship sha256:"));
    let result = json!({"action": "accept", "content": {"answer": "once"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    let told = text(&answered.await.unwrap()["result"]);
    assert!(room.path("shipped").exists(), "{told}");
}
