use std::time::Duration;

use concertina_mcp::upstream::{Pool, Subscription};
use serde_json::json;

use super::kit::*;

async fn touch(pool: &Pool, uri: &str) -> String {
    said(pool, "one/touch", json!({"uri": uri})).await
}

async fn is_told(subscription: &mut Subscription) {
    tokio::time::timeout(LONG, subscription.updated()).await.expect("it is told");
}

/// How often the server was asked comes to be `count`.
async fn comes_to(pool: &Pool, uri: &str, count: &str) {
    let wait = async {
        while touch(pool, uri).await != format!("asked {count} times") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(LONG, wait).await.is_ok(), "never {count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i07_a_change_of_a_resource_is_told_to_those_who_asked_and_the_server_is_asked_once() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let bench = Bench::new().with("one", &["--revision", revision]);
        let pool = bench.settled().await;
        assert!(pool.tells_of_resources("one") && pool.any_tells_of_resources());
        assert_eq!(touch(&pool, "note://one").await, "asked 0 times", "{revision}");
        let mut first = pool.subscribe("one", "note://one").await.unwrap();
        let mut second = pool.subscribe("one", "note://one").await.unwrap();
        comes_to(&pool, "note://one", "1").await;
        is_told(&mut first).await;
        is_told(&mut second).await;
        let mut other = pool.subscribe("one", "note://two").await.unwrap();
        comes_to(&pool, "note://two", "1").await;
        is_told(&mut other).await;
        drop(first);
        comes_to(&pool, "note://one", "1").await;
        drop(second);
        comes_to(&pool, "note://one", "0").await;
        comes_to(&pool, "note://two", "1").await;
        pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i07_a_server_that_comes_back_is_asked_again_and_what_it_holds_counts_as_changed() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let bench = Bench::new().with("one", &["--revision", revision]);
        let pool = bench.settled().await;
        let mut wanted = pool.subscribe("one", "note://one").await.unwrap();
        assert_eq!(failed(&pool, "one/die", json!({})).await.0, "UPSTREAM_LOST");
        // The first call starts it again.
        assert_eq!(said(&pool, "one/echo", json!({"text": "back"})).await, "back");
        is_told(&mut wanted).await;
        comes_to(&pool, "note://one", "1").await;
        is_told(&mut wanted).await;
        pool.close().await;
    }
}
