use concertina_mcp::server::Handler;
use serde_json::{Value, json};

use super::kit::*;

fn is_update(message: &Value, uri: &str) -> bool {
    message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
}

/// Waits until the server behind was asked so often.
async fn comes_to(client: &Client, uri: &str, count: &str) {
    let wait = async {
        let asked = format!("asked {count} times");
        while !client.call("sea/touch", json!({"uri": uri})).await.contains(&asked) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(LONG, wait).await.is_ok(), "never {count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i07_a_client_is_told_of_the_resources_that_it_subscribed_to_and_of_no_other() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let room = Room::new().server("sea", &["--revision", revision]);
        let gateway = room.open().await;
        let (client, other) = (Client::of(&gateway).await, Client::of(&gateway).await);
        assert_eq!(client.hello["capabilities"]["resources"]["subscribe"], true);
        let one = json!({"uri": "note://one"});
        client.result("resources/subscribe", one.clone()).await;
        other.result("resources/subscribe", json!({"uri": "note://blob"})).await;
        comes_to(&client, "note://one", "1").await;
        client.hears(|message| is_update(message, "note://one")).await;
        comes_to(&client, "note://blob", "1").await;
        other.hears(|message| is_update(message, "note://blob")).await;
        assert!(!client.heard().iter().any(|message| is_update(message, "note://blob")));
        assert!(!other.heard().iter().any(|message| is_update(message, "note://one")));
        client.result("resources/unsubscribe", one).await;
        comes_to(&client, "note://one", "0").await;
        let (code, words) =
            client.error("resources/subscribe", json!({"uri": "nowhere://x"})).await;
        assert!(code == -32002 && words.contains("nowhere://x"), "{code}: {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i07_a_client_that_listens_is_told_as_long_as_its_request_is_open() {
    let room = Room::new().server("sea", &[]);
    let gateway = room.open().await;
    let client = Client::raw(Handler::new(gateway, None));
    let meta = modern(&json!({}));
    let filter = json!({"resourceSubscriptions": ["note://one", "nowhere://x"]});
    let listen = json!({"notifications": filter, "_meta": meta});
    let (id, _open) = client.begin("subscriptions/listen", listen).await;
    let agreed = client.hears_method("notifications/subscriptions/acknowledged").await;
    let agreed = &agreed["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(agreed, &json!(["note://one"]));
    let touch = json!({"tool": "sea/touch", "args": {"uri": "note://one"}});
    let call = json!({"name": "call", "arguments": touch, "_meta": meta});
    let comes_to = async |count: &str| {
        let wait = async {
            let asked = format!("asked {count} times");
            while !text(&client.result("tools/call", call.clone()).await).contains(&asked) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(LONG, wait).await.is_ok(), "never {count}");
    };
    comes_to("1").await;
    let told = client.hears(|message| is_update(message, "note://one")).await;
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{told}");
    client.notify("notifications/cancelled", json!({"requestId": id})).await;
    comes_to("0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i07_without_a_server_that_tells_of_changes_nothing_is_promised() {
    let client = Room::new().client().await;
    assert!(client.hello["capabilities"]["resources"].get("subscribe").is_none());
}
