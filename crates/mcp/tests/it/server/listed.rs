//! The mode for clients that list again: what can be opened and called stands among the tools.

use std::time::Duration;

use concertina_mcp::server::Handler;
use serde_json::{Value, json};

use super::kit::{Client, Room, many_tools, modern, text};

fn harbour() -> Room {
    Room::new()
        .skill("tides", "Reads tide tables.", "Look at the table.")
        .file("concertina.toml", &many_tools(30))
        .listed()
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_the_first_level_is_given_as_tools() {
    let client = harbour().client().await;
    let names = client.names().await;
    assert_eq!(names, ["find", "open", "call", "close", "skill__tides", "menu__harbour"]);
    let opened = client.text("skill__tides", json!({})).await;
    assert!(opened.contains("Look at the table."), "{opened}");
    let opened = client.text("menu__harbour", json!({})).await;
    assert!(opened.contains("harbour/bell_001"), "{opened}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_gateway_02_and_05_opening_a_menu_changes_the_list_and_that_is_told() {
    let client = harbour().client().await;
    client.names().await;
    client.text("open", json!({"ref": "menu:harbour"})).await;
    client.hears_method("notifications/tools/list_changed").await;
    let names = client.names().await;
    assert!(names.contains(&"harbour__bell_001".to_owned()), "{names:?}");
    assert!(client.text("harbour__bell_001", json!({})).await.contains("rang 1"));
    client.text("close", json!({"ref": "menu:harbour"})).await;
    let names = client.names().await;
    assert!(!names.contains(&"harbour__bell_001".to_owned()), "{names:?}");
    let refused = client.tool("harbour__bell_001", json!({})).await;
    assert_eq!(refused["isError"], true, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_08_a_notice_from_behind_is_not_passed_on_where_our_list_stays() {
    let room = Room::new().server("sea", &[]);
    let client = room.client().await;
    client.call("sea/announce", json!({})).await;
    // Time enough for whoever would pass it on.
    for _ in 0..5 {
        client.text("find", json!({"query": "anything"})).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let heard = client.heard();
    let told =
        heard.iter().filter(|message| message["method"] == "notifications/tools/list_changed");
    assert_eq!(told.count(), 0, "{heard:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_11_a_client_that_is_not_told_learns_from_the_answer_how_to_call() {
    let client = Room::new().file("concertina.toml", &many_tools(30)).client().await;
    let opened = client.text("open", json!({"ref": "menu:harbour"})).await;
    assert!(opened.contains("harbour/bell_001"), "{opened}");
    assert!(client.call("harbour/bell_001", json!({})).await.contains("rang 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_resources_are_told_of_too() {
    let room = harbour();
    let client = Client::of(&room.open().await).await;
    // The first look is what later ones are compared with.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let room = room.skill("moorings", "Says which berth is free.", "Look.");
    client.hears_method("notifications/prompts/list_changed").await;
    client.hears_method("notifications/resources/list_changed").await;
    let list = client.result("prompts/list", json!({})).await;
    assert!(list.to_string().contains("moorings"), "{list}");
    let _ = text(&client.tool("find", json!({"query": "berth"})).await);
    drop(room);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_changed_lists_reach_a_subscription_that_asked_for_them() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let room = Room::new();
        let file = room.path("prompts.json");
        let room = room
            .file("prompts.json", "[]")
            .server("sea", &["--revision", revision, "--prompts", file.to_str().unwrap()]);
        let gateway = room.open().await;
        let meta = modern(&json!({}));
        let asked = Client::raw(Handler::new(gateway.clone(), None));
        let wanted = json!({"promptsListChanged": true});
        asked.begin("subscriptions/listen", json!({"notifications": wanted, "_meta": meta})).await;
        asked.hears_method("notifications/subscriptions/acknowledged").await;
        let other = Client::raw(Handler::new(gateway, None));
        let other_wants = json!({"notifications": {"resourcesListChanged": true}, "_meta": meta});
        other.begin("subscriptions/listen", other_wants).await;
        other.hears_method("notifications/subscriptions/acknowledged").await;
        // A change before the first look is part of it, so there may have to be another one.
        let is_news = |message: &Value| message["method"] == "notifications/prompts/list_changed";
        for number in 0..20 {
            room.write("prompts.json", &json!([{"name": format!("prompt_{number}")}]).to_string());
            let call =
                json!({"name": "call", "arguments": {"tool": "sea/announce"}, "_meta": meta});
            other.result("tools/call", call).await;
            let heard = asked.hears(is_news);
            if tokio::time::timeout(Duration::from_secs(3), heard).await.is_ok() {
                break;
            }
        }
        assert!(asked.heard().iter().any(is_news), "{revision}: {:?}", asked.heard());
        assert!(!other.heard().iter().any(is_news), "{revision}: {:?}", other.heard());
    }
}
