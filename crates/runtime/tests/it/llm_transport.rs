//! What can go wrong between a model and us, the same for every provider.

use std::collections::HashSet;
use std::process::Command;
use std::time::{Duration, Instant};

use concertina_runtime::llm::{ModelError, ModelSpec, Patience};
use proptest::prelude::*;
use serde_json::json;

use crate::http_server::{Answer, Server, closed_port};
use crate::llm::{REMOTE, ask, ask_showing, asking, hello, model_at, model_with, quick};

/// Asks a server that answers so, expecting an error; returns it and the number of requests.
async fn failing(spec: &str, answers: Vec<Answer>) -> (ModelError, usize) {
    let server = Server::start(answers);
    let error = ask(&*model_at(spec, &server.url()), &asking("hi")).await.unwrap_err();
    assert!(error.to_string().contains(&server.address()), "{error}");
    (error, server.requests().len())
}

fn limited() -> Answer {
    Answer::json(429, &json!({"error": {"type": "rate_limit_error", "message": "slow down"}}))
}

#[tokio::test]
async fn a_limited_rate_is_waited_out_as_long_as_the_server_asks_up_to_a_cap() {
    for spec in REMOTE {
        let server =
            Server::start([limited().header("retry-after", "1"), Answer::events(hello(spec))]);
        let patience = Patience {
            pause: Duration::ZERO,
            longest_pause: Duration::from_millis(120),
            ..quick()
        };
        let start = Instant::now();
        let reply = ask(&*model_with(spec, &server.url(), patience), &asking("hi")).await.unwrap();
        assert_eq!(reply.text, "Hello");
        assert_eq!(server.requests().len(), 2);
        let waited = start.elapsed();
        assert!(
            waited >= Duration::from_millis(120) && waited < Duration::from_secs(1),
            "{waited:?}"
        );
    }
}

#[tokio::test]
async fn a_rate_limited_for_ever_ends_in_an_error() {
    for spec in REMOTE {
        let (error, requests) = failing(spec, vec![limited()]).await;
        assert_eq!((error.code(), requests), ("MODEL_RATE_LIMITED", 5));
        assert!(error.to_string().contains("slow down"), "{error}");
    }
}

#[tokio::test]
async fn an_empty_account_is_not_asked_again() {
    let answer = json!({"error": {"type": "insufficient_quota", "code": "insufficient_quota",
        "message": "no credit left"}});
    let (error, requests) = failing(REMOTE[0], vec![Answer::json(429, &answer)]).await;
    assert_eq!((error.code(), requests), ("MODEL_REFUSED", 1));
}

#[tokio::test]
async fn a_failing_server_is_asked_again() {
    for spec in REMOTE {
        for status in [500, 503, 529] {
            let server =
                Server::start([Answer::text(status, "<h1>oh</h1>"), Answer::events(hello(spec))]);
            let reply = ask(&*model_at(spec, &server.url()), &asking("hi")).await.unwrap();
            assert_eq!((reply.text.as_str(), server.requests().len()), ("Hello", 2));
        }
        let (error, requests) = failing(spec, vec![Answer::text(502, "down\r\n\u{1b}[31m")]).await;
        assert_eq!((error.code(), requests), ("MODEL_UNAVAILABLE", 5));
        assert!(error.to_string().contains("(502): down") && !error.to_string().contains('\u{1b}'));
    }
}

#[tokio::test]
async fn a_refusal_is_told_in_the_providers_words_without_the_key() {
    let key = "sk-secret-0123456789";
    for spec in REMOTE {
        let message = format!("model not found for {key}{}", "x".repeat(5_000));
        let server = Server::start([Answer::json(400, &json!({"error": {"message": message}}))]);
        let parsed: ModelSpec = spec.parse().unwrap();
        let model = parsed.at(server.url()).connect(&|_| Some(key.to_owned())).unwrap();
        let error = ask(&*model, &asking("hi")).await.unwrap_err();
        assert_eq!(error.code(), "MODEL_REFUSED");
        let text = error.to_string();
        assert!(text.contains("model not found for [key]") && text.contains("(400)"), "{text}");
        assert!(!text.contains(key) && text.chars().count() < 800, "{text}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_is_named_and_not_followed() {
    for spec in REMOTE {
        let elsewhere = Server::start([Answer::events(hello(spec))]);
        let (error, _) =
            failing(spec, vec![Answer::text(307, "").header("location", &elsewhere.url())]).await;
        assert_eq!(error.code(), "MODEL_REFUSED");
        assert!(error.to_string().contains(&elsewhere.url()), "{error}");
        assert!(elsewhere.requests().is_empty());
    }
}

#[tokio::test]
async fn a_dead_endpoint_is_named() {
    for spec in REMOTE {
        for scheme in ["http", "https"] {
            let port = closed_port();
            let model = model_at(spec, &format!("{scheme}://127.0.0.1:{port}/v1"));
            let error = ask(&*model, &asking("hi")).await.unwrap_err();
            assert_eq!(error.code(), "MODEL_UNREACHABLE");
            assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
        }
    }
    let port = closed_port();
    let model = model_at(REMOTE[0], &format!("http://localhost:{port}/v1"));
    let error = ask(&*model, &asking("hi")).await.unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(&port.to_string(), "PORT"), @"cannot reach localhost:PORT for openai:lyra: Connection refused (os error 111); check that a server runs there, that --base-url is right and that a proxy lets it through");
}

#[tokio::test]
async fn a_server_that_hangs_up_before_it_answers_is_asked_again() {
    for spec in REMOTE {
        let server = Server::start([Answer::hang_up(), Answer::events(hello(spec))]);
        let reply = ask(&*model_at(spec, &server.url()), &asking("hi")).await.unwrap();
        assert_eq!((reply.text.as_str(), server.requests().len()), ("Hello", 2));
        let (error, requests) = failing(spec, vec![Answer::hang_up()]).await;
        assert_eq!((error.code(), requests), ("MODEL_UNREACHABLE", 5));
    }
}

proptest! {
    #[test]
    fn pauses_grow_no_faster_than_doubling_and_end_at_the_cap(
        pause in 0_u64..=u64::MAX, longest in 0_u64..=u64::MAX, attempt: u32,
        asked in prop::option::of(0_u64..=u64::MAX),
    ) {
        let [first, longest_pause] = [pause, longest].map(Duration::from_millis);
        let patience = Patience { pause: first, longest_pause, ..Patience::default() };
        let waited = patience.pause_after(attempt, asked.map(Duration::from_millis));
        prop_assert!(waited <= longest_pause);
        if let Some(asked) = asked {
            prop_assert_eq!(waited, Duration::from_millis(asked).min(longest_pause));
        } else {
            let doublings = 2_f64.powi(attempt.saturating_sub(1).min(100).cast_signed());
            prop_assert!(waited.as_secs_f64() <= first.as_secs_f64() * doublings * 1.000_001);
        }
    }
}

#[test]
fn pauses_are_random_so_that_clients_do_not_return_together() {
    let pauses: HashSet<_> = (0..20).map(|_| Patience::default().pause_after(3, None)).collect();
    assert!(pauses.len() > 10, "{pauses:?}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_unreachable_over_it() {
    let server = Server::start([Answer::events(hello(REMOTE[0]))]);
    let model = model_at(REMOTE[0], &server.url().replace("http", "https"));
    let error = ask(&*model, &asking("hi")).await.unwrap_err();
    assert_eq!(error.code(), "MODEL_UNREACHABLE", "{error}");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    for spec in REMOTE {
        let patience = Patience { idle: Duration::from_millis(150), ..quick() };
        let server = Server::start([Answer::silence()]);
        let error = ask(&*model_with(spec, &server.url(), patience), &asking("hi")).await;
        assert_eq!(error.unwrap_err().code(), "MODEL_TIMEOUT");
        assert_eq!(server.requests().len(), 1);

        let (head, tail) = hello(spec).split_at(100);
        let stalling = Answer::pieces(200, "text/event-stream", [head, tail]);
        let server = Server::start([stalling.pausing(Duration::from_secs(2))]);
        let error = ask(&*model_with(spec, &server.url(), patience), &asking("hi")).await;
        assert_eq!(error.unwrap_err().code(), "MODEL_TIMEOUT");

        // Never idle, never done.
        let drip = Answer::pieces(200, "text/event-stream", [": drip\n\n"; 100]);
        let server = Server::start([drip.pausing(Duration::from_millis(50))]);
        let patience = Patience { whole: Duration::from_millis(300), ..quick() };
        let error = ask(&*model_with(spec, &server.url(), patience), &asking("hi")).await;
        assert_eq!(error.unwrap_err().code(), "MODEL_TIMEOUT");
    }
}

#[tokio::test]
async fn a_slow_but_steady_server_is_waited_for() {
    for spec in REMOTE {
        let pieces = hello(spec).as_bytes().chunks(40);
        let slow = Answer::pieces(200, "text/event-stream", pieces);
        let server = Server::start([slow.pausing(Duration::from_millis(40))]);
        let patience = Patience { idle: Duration::from_millis(500), ..quick() };
        let model = model_with(spec, &server.url(), patience);
        assert_eq!(ask(&*model, &asking("hi")).await.unwrap().text, "Hello");
    }
}

#[tokio::test]
async fn a_truncated_stream_is_an_error_and_what_was_shown_is_not_shown_again() {
    for spec in REMOTE {
        let whole = hello(spec);
        let end = whole.find("lo\"").unwrap() + 5;
        for answer in [
            Answer::events(&whole[..end]),
            Answer::events(&whole[..end]).cut(),
            Answer::events(&whole[..whole.find("\n\n").unwrap() + 2]),
        ] {
            let server = Server::start([answer, Answer::events(whole)]);
            let model = model_at(spec, &server.url());
            let (error, shown) = ask_showing(&*model, &asking("hi")).await;
            assert_eq!(error.unwrap_err().code(), "MODEL_BAD_REPLY");
            assert!("Hello".starts_with(&shown.concat()), "{shown:?}");
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn every_proper_beginning_of_a_stream_is_an_error_or_the_whole_reply() {
    for spec in REMOTE {
        let whole = hello(spec);
        let server = Server::start((0..whole.len()).map(|end| Answer::events(&whole[..end])));
        let model = model_at(spec, &server.url());
        for end in 0..whole.len() {
            match ask(&*model, &asking("hi")).await {
                Ok(reply) => assert_eq!(reply.text, "Hello", "{end}"),
                Err(error) => assert_eq!(error.code(), "MODEL_BAD_REPLY", "{end}"),
            }
        }
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_after_text_is_not_tried_again() {
    for spec in REMOTE {
        let first = hello(spec).find("Hel").unwrap();
        let end = first + hello(spec)[first..].find("\n\n").unwrap() + 2;
        let error =
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
        let events = format!("{}data: {error}\n\n", &hello(spec)[..end]);
        let server = Server::start([Answer::events(events), Answer::events(hello(spec))]);
        let (reply, shown) = ask_showing(&*model_at(spec, &server.url()), &asking("hi")).await;
        assert_eq!(reply.unwrap_err().code(), "MODEL_UNAVAILABLE");
        assert_eq!((shown.concat().as_str(), server.requests().len()), ("Hel", 1));
    }
}

#[tokio::test]
async fn garbage_is_not_a_reply() {
    for spec in REMOTE {
        for body in [
            "",
            "<html>hello</html>",
            "{",
            "{}",
            "{\"choices\": []}",
            "[]",
            "data: {oops\n\n",
            "data: 7\n\n",
        ] {
            let (error, requests) = failing(spec, vec![Answer::text(200, body)]).await;
            assert_eq!((error.code(), requests), ("MODEL_BAD_REPLY", 1), "{body}: {error}");
        }
        let binary: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        let answer = Answer::pieces(200, "text/event-stream", [binary]);
        assert_eq!(failing(spec, vec![answer]).await.0.code(), "MODEL_BAD_REPLY");
    }
    let (error, _) = failing(REMOTE[0], vec![Answer::text(200, "<html>hello</html>")]).await;
    assert!(error.to_string().contains("<html>hello"), "{error}");
}

#[tokio::test]
async fn a_reply_without_bounds_is_cut_off() {
    let megabyte = format!(": {}\n", "x".repeat(1024 * 1024));
    for spec in REMOTE {
        let endless = vec![megabyte.as_bytes(); 20];
        let (error, _) =
            failing(spec, vec![Answer::pieces(200, "text/event-stream", endless)]).await;
        assert_eq!(error.code(), "MODEL_BAD_REPLY");
        assert!(error.to_string().contains("16777216"), "{error}");
    }
}

/// Variables of the environment concern a whole process, so the test runs itself in another one.
#[tokio::test]
async fn a_proxy_is_used_for_other_hosts_and_never_for_loopback() {
    const INNER: &str = "CONCERTINA_TEST_BEHIND_PROXY";
    let spec = REMOTE[0];
    if std::env::var_os(INNER).is_some() {
        let direct = Server::start([Answer::events(hello(spec))]);
        ask(&*model_at(spec, &direct.url()), &asking("hi")).await.unwrap();
        assert_eq!(direct.requests().len(), 1);
        ask(&*model_at(spec, "http://model.invalid/v1"), &asking("hi")).await.unwrap();
        return;
    }
    let proxy = Server::start([Answer::events(hello(spec))]);
    let name = "llm_transport::a_proxy_is_used_for_other_hosts_and_never_for_loopback";
    let inner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(INNER, "1")
        .env("HTTP_PROXY", proxy.url())
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .unwrap();
    assert!(inner.status.success(), "{}", String::from_utf8_lossy(&inner.stdout));
    let lines: Vec<_> = proxy.requests().into_iter().map(|request| request.line).collect();
    assert_eq!(lines, ["POST http://model.invalid/v1/chat/completions"]);
}
