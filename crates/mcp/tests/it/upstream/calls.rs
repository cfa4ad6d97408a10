use std::sync::Arc;
use std::time::Duration;

use concertina_mcp::upstream::Pool;
use concertina_runtime::Cancel;
use concertina_runtime::tools::Outcome;
use concertina_runtime::upstream::{Caller, Nobody, Upstreams as _};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};

use super::kit::*;

#[tokio::test(flavor = "multi_thread")]
async fn i05_a_call_returns_text_structure_and_meta_as_the_server_wrote_them() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    assert_eq!(said(&pool, "one/echo", json!({"text": "a\nb"})).await, "a\nb");
    let outcome = call(&pool, "one/add", json!({"a": 2, "b": 0.5})).await;
    let Outcome::Done { output, .. } = &outcome else { panic!("{outcome:?}") };
    assert_eq!(output, r#"{"sum":2.5}"#);
    let attached = attached(outcome);
    assert_eq!(attached.structured, Some(json!({"sum": 2.5})));
    assert_eq!(attached.meta, Some(json!({"unit": "none"})));
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i05_every_kind_of_content_has_a_text_and_stays_whole() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let outcome = call(&pool, "one/picture", json!({})).await;
    let Outcome::Done { output, .. } = &outcome else { panic!("{outcome:?}") };
    assert_eq!(
        output.lines().collect::<Vec<_>>(),
        [
            "a picture, a sound, a link and a note",
            "[image: image/png, about 9 bytes]",
            "[audio: audio/wav, about 6 bytes]",
            "one: note://one (the first note)",
            "the second note",
            "[note://blob: application/octet-stream, about 3 bytes]",
        ]
    );
    let content = attached(outcome).content;
    assert_eq!(content.len(), 6);
    assert_eq!(content[1]["data"], "iVBORw0KGgo=");
    // A kind that no revision has goes on unchanged, and says itself.
    let outcome = call(&pool, "one/strange", json!({})).await;
    let Outcome::Done { output, .. } = &outcome else { panic!("{outcome:?}") };
    assert_eq!(output, "{\"type\":\"hologram\",\"data\":{\"depth\":3}}\n{\"b\":1,\"a\":2}");
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i05_the_ways_to_fail_are_told_apart() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let outcome = call(&pool, "one/fail", json!({})).await;
    assert!(
        matches!(&outcome, Outcome::Done { exit: 1, output, .. } if output == "it did not work")
    );
    let (code, words) = failed(&pool, "one/refuse", json!({})).await;
    assert_eq!(code, "UPSTREAM_REFUSED");
    assert!(words.contains("internal trouble (-32603)"), "{words}");
    let (_, words) = failed(&pool, "one/refuse", json!({"bytes": 100_000})).await;
    assert!(words.contains("!!! [cut: 100016 bytes in all] (-32603)"), "{words}");
    assert!(words.len() < 2_100, "{}", words.len());
    assert_eq!(failed(&pool, "one/nothing", json!({})).await.0, "UPSTREAM_UNKNOWN");
    assert_eq!(failed(&pool, "two/echo", json!({})).await.0, "UPSTREAM_UNKNOWN");
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_43_progress_reaches_whoever_called() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let ears = Arc::new(Ears::default());
    let arguments = json!({"ms": 40, "steps": 4});
    let outcome = pool.call(a_call("one/wait", arguments, ears.clone(), Cancel::default())).await;
    assert!(matches!(outcome, Outcome::Done { exit: 0, .. }), "{outcome:?}");
    let heard = ears.progress.lock().unwrap().clone();
    assert_eq!(heard.len(), 4);
    assert_eq!(heard[3], (4.0, Some(4.0), Some("step 4".to_owned())));
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_43_a_call_that_tells_how_far_it_is_gets_more_time() {
    let mut bench = Bench::new().with("one", &[]);
    bench.options.waits.silent = Duration::from_millis(600);
    let pool = bench.settled().await;
    let outcome = call(&pool, "one/wait", json!({"ms": 1800, "steps": 12})).await;
    assert!(matches!(outcome, Outcome::Done { exit: 0, .. }), "{outcome:?}");
    let (code, words) = failed(&pool, "one/wait", json!({"ms": 60_000, "steps": 1})).await;
    assert_eq!(code, "UPSTREAM_TIMEOUT", "{words}");
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_44_a_cancelled_call_is_cancelled_at_its_server_under_its_own_id() {
    let mut bench = Bench::new();
    let words = bench.word("log");
    bench.add("one", &["--log", &words]);
    bench.add("two", &[]);
    let pool = bench.settled().await;
    let cancel = Cancel::default();
    let running = pool.call(a_call(
        "one/wait",
        json!({"ms": 600_000, "steps": 6_000}),
        Arc::new(Nobody),
        cancel.clone(),
    ));
    let running = tokio::spawn(running);
    let sent = || {
        let call = bench.log("log").into_iter().find(|line| line["method"] == "tools/call");
        call.map(|call| call["id"].clone())
    };
    until("the call is at the server", || sent().is_some()).await;
    cancel.stop();
    let outcome = tokio::time::timeout(LONG, running).await.unwrap().unwrap();
    assert!(matches!(&outcome, Outcome::Failed { code, .. } if code == "CANCELLED"), "{outcome:?}");
    until("the server hears of it", || {
        let log = bench.log("log");
        let cancelled = log.iter().find(|line| line["method"] == "notifications/cancelled");
        cancelled.is_some_and(|line| Some(&line["params"]["requestId"]) == sent().as_ref())
    })
    .await;
    assert_eq!(said(&pool, "one/echo", json!({"text": "alive"})).await, "alive");
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_44_a_call_that_waits_for_its_place_is_cancelled_without_being_sent() {
    let mut bench = Bench::new();
    let words = bench.word("log");
    bench.add("one", &["--log", &words]);
    let pool = bench.settled().await;
    let blocking = Cancel::default();
    let wait = json!({"ms": 600_000, "steps": 600});
    let all: Vec<_> = (0..64)
        .map(|_| pool.call(a_call("one/wait", wait.clone(), Arc::new(Nobody), blocking.clone())))
        .map(tokio::spawn)
        .collect();
    let calls = || bench.log("log").iter().filter(|line| line["method"] == "tools/call").count();
    until("every place is taken", || calls() == 64).await;
    let cancel = Cancel::default();
    let waiting = tokio::spawn(pool.call(a_call(
        "one/echo",
        json!({"text": "x"}),
        Arc::new(Nobody),
        cancel.clone(),
    )));
    cancel.stop();
    let outcome = tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Failed { code, .. } if code == "CANCELLED"));
    assert_eq!(calls(), 64);
    blocking.stop();
    for one in all {
        let outcome = tokio::time::timeout(LONG, one).await.unwrap().unwrap();
        assert!(matches!(outcome, Outcome::Failed { code, .. } if code == "CANCELLED"));
    }
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_a_call_that_nobody_waits_for_is_cancelled() {
    let mut bench = Bench::new();
    let words = bench.word("log");
    bench.add("one", &["--log", &words]);
    let pool = bench.settled().await;
    let wait = json!({"ms": 600_000, "steps": 600});
    let running =
        tokio::spawn(pool.call(a_call("one/wait", wait, Arc::new(Nobody), Cancel::default())));
    let has = |method: &str| bench.log("log").iter().any(|line| line["method"] == method);
    until("the call is at the server", || has("tools/call")).await;
    running.abort();
    until("the server hears of it", || has("notifications/cancelled")).await;
    pool.close().await;
}

async fn asks(pool: &Pool) -> (String, Vec<Value>) {
    asks_with(pool, &Arc::default()).await
}

async fn asks_with(pool: &Pool, ears: &Arc<Ears>) -> (String, Vec<Value>) {
    let outcome = pool.call(a_call("one/ask", json!({}), ears.clone(), Cancel::default())).await;
    let Outcome::Done { exit: 0, output, .. } = outcome else { panic!("{outcome:?}") };
    let asked = ears.asked.lock().unwrap().clone();
    (output, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_40_a_server_asks_whoever_called_in_both_revisions() {
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let bench = Bench::new().with("one", &["--revision", revision]);
        let pool = bench.settled().await;
        let (answer, asked) = asks(&pool).await;
        let given = r#"{"action":"accept","content":{"colour":"blue"}}"#;
        assert!(answer.contains(given), "{revision}: {answer}");
        assert_eq!(asked.len(), 1, "{revision}");
        assert_eq!(asked[0]["message"], "Which colour?");
        assert_eq!(asked[0]["requestedSchema"]["required"], json!(["colour"]));
        pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_41_what_a_server_may_not_have_is_refused() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let sampled = said(&pool, "one/sample", json!({})).await;
    assert!(sampled.contains("-32601"), "{sampled}");
    let ears = Arc::new(Ears::default());
    let log = a_call("one/log", json!({"text": "hello"}), ears.clone(), Cancel::default());
    pool.call(log).await;
    assert_eq!(ears.logged.lock().unwrap()[0], json!({"level": "info", "data": "hello"}));
    pool.close().await;
}

/// A server that is told roots drops the directories that a person wrote into its arguments.
#[tokio::test(flavor = "multi_thread")]
async fn i04_roots_are_declared_and_told_only_where_the_settings_say_so() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let mut bench = Bench::new();
        let (plain, rooted) = (bench.word("plain"), bench.word("rooted"));
        bench.add("plain", &["--revision", revision, "--log", &plain]);
        bench.add("rooted", &["--revision", revision, "--log", &rooted]);
        bench.definitions[1].roots = true;
        let pool = bench.settled().await;
        let declares = |log: &str| {
            let first = bench.log(log).into_iter().find(|line| {
                let method =
                    if revision == "2026-07-28" { "server/discover" } else { "initialize" };
                line["method"] == method
            });
            let params = first.unwrap()["params"].clone();
            let stateless = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            let can =
                if params["capabilities"].is_null() { stateless } else { &params["capabilities"] };
            assert!(can["elicitation"].is_object(), "{params}");
            can.get("roots").is_some()
        };
        assert!(!declares("plain"), "{revision}");
        assert!(declares("rooted"), "{revision}");
        if revision == "2025-11-25" {
            let refused = said(&pool, "plain/roots", json!({})).await;
            assert!(refused.contains("-32601"), "{refused}");
            let told = said(&pool, "rooted/roots", json!({})).await;
            assert!(told.contains("file:///"), "{told}");
        }
        pool.close().await;
    }
}

/// On one pair of streams nothing says whose call a question belongs to.
#[tokio::test(flavor = "multi_thread")]
async fn i06_a_question_during_several_calls_is_put_to_nobody_and_all_are_told() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let other = Cancel::default();
    let ears = Arc::new(Ears::default());
    let wait = json!({"ms": 600_000, "steps": 60_000});
    let running = tokio::spawn(pool.call(a_call("one/wait", wait, ears.clone(), other.clone())));
    until("the other call is under way", || !ears.progress.lock().unwrap().is_empty()).await;
    let asker = Arc::new(Ears::default());
    let (answer, asked) = asks_with(&pool, &asker).await;
    assert_eq!(answer, r#"{"action":"decline"}"#);
    assert!(asked.is_empty());
    assert!(ears.asked.lock().unwrap().is_empty());
    for told in [&asker, &ears] {
        let notes = told.notes.lock().unwrap();
        assert!(matches!(&notes[..], [note] if note.contains("could not be told")), "{notes:?}");
        assert!(!notes[0].contains("colour"), "it may be another's: {notes:?}");
    }
    other.stop();
    let _ = running.await;
    pool.close().await;
}

/// One whose own question waits for a person is not asked for the next one.
#[tokio::test(flavor = "multi_thread")]
async fn gateway_40_a_question_that_waits_keeps_no_other_from_being_asked() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let late = Arc::new(tokio::sync::Notify::new());
    let first = Arc::new(Ears { late: Some(Arc::clone(&late)), ..Ears::default() });
    let waiting =
        tokio::spawn(pool.call(a_call("one/ask", json!({}), first.clone(), Cancel::default())));
    until("the first is asked", || !first.asked.lock().unwrap().is_empty()).await;
    let second = Arc::new(Ears::default());
    let (answer, asked) = asks_with(&pool, &second).await;
    assert!(answer.contains("blue"), "{answer}");
    assert_eq!(asked.len(), 1);
    late.notify_one();
    let outcome = tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
    assert!(matches!(&outcome, Outcome::Done { output, .. } if output.contains("blue")));
    assert_eq!(first.asked.lock().unwrap().len(), 1);
    for ears in [&first, &second] {
        assert!(ears.notes.lock().unwrap().is_empty());
    }
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn x_ten_thousand_parallel_calls_to_one_server_are_all_answered_rightly() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let mut calls = FuturesUnordered::new();
    for number in 0..10_000 {
        let pool = Arc::clone(&pool);
        calls.push(async move {
            let text = format!("number {number}");
            (said(&pool, "one/echo", json!({"text": text})).await, text)
        });
    }
    let mut count = 0;
    while let Some((said, wanted)) = calls.next().await {
        assert_eq!(said, wanted);
        count += 1;
    }
    assert_eq!(count, 10_000);
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn x_a_huge_answer_is_cut_with_a_count_and_a_monstrous_one_costs_that_call_alone() {
    let bench = Bench::new().with("one", &[]);
    let pool = bench.settled().await;
    let outcome = call(&pool, "one/huge", json!({"bytes": 9_000_000})).await;
    let Outcome::Done { output, dropped, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(output.len(), concertina_types::limits::OUTPUT_BYTES);
    assert_eq!(usize::try_from(dropped).unwrap(), 9_000_000 - output.len());
    let (code, words) = failed(&pool, "one/huge", json!({"bytes": 64_000_000})).await;
    assert_eq!(code, "UPSTREAM_MALFORMED");
    assert!(words.contains("longer than 33554432 bytes"), "{words}");
    assert_eq!(said(&pool, "one/echo", json!({"text": "alive"})).await, "alive");
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_noise_between_the_messages_is_skipped() {
    let bench = Bench::new().with("one", &["--noise"]);
    let pool = bench.settled().await;
    assert_eq!(said(&pool, "one/echo", json!({"text": "heard"})).await, "heard");
    pool.close().await;
}

/// A caller whose person is away until the test lets them answer.
struct Away(Arc<tokio::sync::Semaphore>);

impl Caller for Away {
    fn progress(&self, _: f64, _: Option<f64>, _: Option<String>) {}

    fn note(&self, _: String) {}

    fn log(&self, _: Value) {}

    fn elicit(&self, _: Value) -> BoxFuture<'static, Value> {
        let back = Arc::clone(&self.0);
        Box::pin(async move {
            let _back = back.acquire().await.unwrap();
            json!({"action": "accept", "content": {}})
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_40_a_server_has_a_few_questions_open_and_the_rest_is_declined() {
    let mut bench = Bench::new();
    let log = bench.word("log");
    bench.add("one", &["--log", &log]);
    let pool = bench.settled().await;
    let back = Arc::new(tokio::sync::Semaphore::new(0));
    let caller = Arc::new(Away(Arc::clone(&back)));
    let call = a_call("one/ask", json!({"times": 10}), caller, Cancel::default());
    let running = tokio::spawn(pool.call(call));
    let declined = || {
        let log = bench.log("log");
        log.iter().filter(|line| line["result"]["action"] == "decline").count()
    };
    until("six are declined", || declined() == 6).await;
    back.add_permits(1);
    let Outcome::Done { output, .. } = running.await.unwrap() else { panic!("it failed") };
    let accepted = ["accept"; 4].join(" ");
    assert_eq!(output, format!("{accepted} {}", ["decline"; 6].join(" ")));
    pool.close().await;
}
