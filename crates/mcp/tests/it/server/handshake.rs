//! What a client is told when it connects, by revision.

use concertina_tokens::count;
use concertina_types::Tokens;
use serde_json::json;

use super::kit::{Client, Room, modern};
use concertina_mcp::server::Handler;

fn harbour() -> Room {
    Room::new()
        .skill("tides", "Reads tide tables and names the next high water.", "Look at the table.")
        .skill("pilots", "Plans which pilot takes which ship.", "Ask the pilots.")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_revision_in_use_is_served_as_itself() {
    let room = harbour();
    let gateway = room.open().await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = Client::with(&gateway, revision, json!({}), None).await;
        assert_eq!(client.hello["protocolVersion"], revision);
        assert_eq!(client.names().await, ["find", "open", "call", "close"], "{revision}");
        let list = client.result("tools/list", json!({})).await;
        assert!(list.get("ttlMs").is_none(), "{revision} knows no time to keep: {list}");
        assert!(list.get("resultType").is_none(), "{revision}: {list}");
    }
    // One that nobody knows is answered with one that we speak.
    let client = Client::with(&gateway, "2031-01-01", json!({}), None).await;
    assert_eq!(client.hello["protocolVersion"], "2025-11-25");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_14_and_71_a_request_that_stands_for_itself_says_how_long_its_answer_holds() {
    let room = harbour();
    let gateway = room.open().await;
    let client = Client::raw(Handler::new(gateway, None));
    let meta = modern(&json!({}));
    let found = client.result("server/discover", json!({"_meta": meta})).await;
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert!(found["instructions"].as_str().unwrap().contains("tides"));
    assert_eq!(found["cacheScope"], "private");
    assert!(found["ttlMs"].as_u64().unwrap() > 0);
    // Our own four tools are the same for everybody and for long.
    let list = client.result("tools/list", json!({"_meta": meta})).await;
    assert_eq!(list["cacheScope"], "public");
    assert!(list["ttlMs"].as_u64().unwrap() >= 3_600_000);
    // What depends on who asks is nobody else's.
    for method in ["prompts/list", "resources/list", "resources/templates/list", "skills/list"] {
        let list = client.result(method, json!({"_meta": meta})).await;
        assert_eq!(list["cacheScope"], "private", "{method}");
    }
    let called = json!({"name": "find", "arguments": {"query": "tides"}, "_meta": meta});
    let result = client.result("tools/call", called).await;
    assert_eq!(result["resultType"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_47_and_49_the_words_at_connecting_hold_what_there_is_and_how_to_get_it() {
    let mut room = harbour();
    for number in 0..300 {
        room = room.skill(
            &format!("skill-{number}"),
            &format!("Does the thing with number {number}, and several others beside it."),
            "Do it.",
        );
    }
    let client = Client::of(&room.open().await).await;
    let words = client.hello["instructions"].as_str().unwrap();
    let first = words.split_inclusive(". ").next().unwrap().split('\n').next().unwrap();
    assert!(first.len() <= 240, "{} bytes: {first}", first.len());
    for tool in ["`find`", "`open`", "`call`", "`close`"] {
        assert!(first.contains(tool), "{tool} in: {first}");
    }
    assert!(count(words) <= Tokens(400), "{} tokens: {words}", count(words));
    assert!(words.contains("This list is partial"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_41_what_is_not_served_is_answered_as_such() {
    let client = harbour().client().await;
    for (method, params) in [
        ("tasks/get", json!({"taskId": "1"})),
        ("resources/subscribe", json!({"uri": "skill://tides/SKILL.md"})),
        ("resources/unsubscribe", json!({"uri": "skill://tides/SKILL.md"})),
        ("sampling/createMessage", json!({})),
        ("roots/list", json!({})),
        ("no/such/method", json!({})),
    ] {
        let (code, _) = client.error(method, params).await;
        assert_eq!(code, -32601, "{method}");
    }
    assert_eq!(client.result("ping", json!({})).await, json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_are_those_that_are_kept() {
    let four = harbour().client().await;
    assert!(four.hello["capabilities"]["tools"].get("listChanged").is_none());
    assert!(four.hello["capabilities"]["extensions"]["io.modelcontextprotocol/skills"].is_object());
    let listed = harbour().listed().client().await;
    assert_eq!(listed.hello["capabilities"]["tools"]["listChanged"], true);
}
