//! The four tools, whatever stands behind them.

use concertina_tokens::count;
use concertina_types::Tokens;
use serde_json::{Value, json};

use super::kit::{Client, Room, many_tools, text};

#[tokio::test(flavor = "multi_thread")]
async fn gateway_01_and_70_the_four_tools_are_few_and_the_same_bytes_with_any_catalogue() {
    let small = Room::new().server("small", &["--bare", "--tools", "10"]);
    let large = Room::new().server("large", &["--bare", "--tools", "5000"]);
    let (few, many) = (small.open().await, large.open().await);
    let mut lists = Vec::new();
    for gateway in [&few, &many, &many] {
        let client = Client::of(gateway).await;
        let list = client.result("tools/list", json!({})).await;
        assert!(list.get("nextCursor").is_none(), "one page");
        lists.push(serde_json::to_string(&list).unwrap());
    }
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[1], lists[2]);
    let list: Value = serde_json::from_str(&lists[0]).unwrap();
    let tokens = count(&list["tools"].to_string());
    assert!(tokens <= Tokens(500), "{tokens} tokens");
    let (code, _) = Client::of(&few).await.error("tools/list", json!({"cursor": "2"})).await;
    assert_eq!(code, -32602, "there is no second page");
}

#[tokio::test(flavor = "multi_thread")]
async fn annotations_are_honest() {
    let client = Room::new().client().await;
    let list = client.result("tools/list", json!({})).await;
    let of = |name: &str| {
        let tools = list["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap().get("annotations").cloned()
    };
    assert_eq!(of("find"), Some(json!({"readOnlyHint": true})));
    assert_eq!(of("open"), Some(json!({"readOnlyHint": true})));
    let close = json!({"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false});
    assert_eq!(of("close"), Some(close));
    assert_eq!(of("call"), None, "it depends on the tool");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_clients_add_are_no_error() {
    let client = Room::new().skill("tides", "Reads tide tables.", "Look.").client().await;
    let result =
        client.tool("find", json!({"query": "tide tables", "wait_for_previous": true})).await;
    assert_eq!(result["isError"], false);
    assert!(text(&result).contains("skill:tides"));
}

#[tokio::test(flavor = "multi_thread")]
async fn n07_and_gateway_13_a_client_that_lists_once_reaches_everything() {
    let room = Room::new()
        .skill("tides", "Reads tide tables and names the next high water.", "Look at the table.")
        .file("concertina.toml", &many_tools(40));
    let client = room.client().await;
    assert_eq!(client.names().await, ["find", "open", "call", "close"]);
    let root = client.text("open", json!({"ref": "menu:"})).await;
    assert!(root.contains("menu:harbour"), "{root}");
    let menu = client.text("open", json!({"ref": "menu:harbour"})).await;
    assert!(menu.contains("harbour/bell_001"), "{menu}");
    let schema = client.text("open", json!({"ref": "tool:harbour/bell_007"})).await;
    assert!(schema.contains("Rings bell 7."), "{schema}");
    assert!(client.call("harbour/bell_007", json!({})).await.contains("rang 7"));
    let skill = client.text("open", json!({"ref": "skill:tides"})).await;
    assert!(skill.contains("Look at the table."), "{skill}");
    let closed = client.text("close", json!({"ref": "menu:harbour"})).await;
    assert!(closed.contains("No longer callable"), "{closed}");
    let refused = client.call("harbour/bell_007", json!({})).await;
    assert!(refused.starts_with("error NOT_VISIBLE"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn known_digest_spares_a_text_that_is_still_held() {
    let client = Room::new().skill("tides", "Reads tide tables.", "Look at it.").client().await;
    let first = client.text("open", json!({"ref": "skill:tides"})).await;
    let digest = first.split("digest=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let again = client.text("open", json!({"ref": "skill:tides"})).await;
    assert!(again.contains("Look at it."), "nobody knows what a client still holds: {again}");
    let held = client.text("open", json!({"ref": "skill:tides", "known_digest": digest})).await;
    assert!(!held.contains("Look at it."), "{held}");
}
