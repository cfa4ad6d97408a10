//! Questions of consent over HTTP: who sees them, who answers, and what an answer does.

use concertina_types::{Answerer, Fact, Means};
use reqwest::Method;
use serde_json::{Value, json};

use crate::peer::{ANN, BEN, BOB, MARK, Service, VERA, service};

fn mark(path: &str) -> Value {
    json!({"tool": "mark", "args": {"path": path}})
}

fn grant() -> Value {
    json!({"decision": "grant"})
}

/// Asks for something that waits for a person, and gives the name of the question.
async fn asked(service: &Service, token: &str, session: &str, call: Value) -> String {
    let answer = service.tool(token, session, call).await;
    let text = answer.text();
    assert!(text.starts_with("error APPROVAL_NEEDED"), "{answer:?}");
    let id = text.split_whitespace().find(|word| word.starts_with("ask-"));
    id.unwrap_or_else(|| panic!("no question in {text}")).to_owned()
}

fn marks(service: &Service, path: &str) -> usize {
    std::fs::read_to_string(service.file(path)).unwrap_or_default().lines().count()
}

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["error"]["code"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn k08_a_yes_over_http_lets_exactly_that_happen_and_only_once() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let id = asked(&service, ANN, &session, mark("a")).await;
    for token in [ANN, VERA] {
        let questions = service.questions(token).await;
        assert_eq!(questions.len(), 1, "{questions:?}");
        let question = &questions[0];
        assert_eq!(question["id"], id);
        assert_eq!((&question["principal"], &question["state"]), (&json!("ann"), &json!("waits")));
        assert_eq!(
            (&question["request"], &question["phrase"]),
            (&json!("call mark"), &Value::Null)
        );
        let action = question["action"].as_str().unwrap();
        assert!(action.contains("path: a") && action.contains("mark.sh"), "{action}");
        assert!(!question["why"].as_str().unwrap().is_empty(), "{question}");
    }
    let (status, answered) = service.answer(VERA, &id, grant()).await;
    assert_eq!((status, &answered["state"]), (200, &json!("agreed once")), "{answered}");
    assert!(service.questions(VERA).await.is_empty());
    assert_eq!(marks(&service, "a"), 0, "nothing runs because somebody agreed");
    // s62: other arguments are another action.
    let other = asked(&service, ANN, &session, mark("b")).await;
    assert_ne!(other, id);
    let ran = service.tool(ANN, &session, mark("a")).await;
    assert!(ran.text().contains("ev:1"), "{ran:?}");
    let third = asked(&service, ANN, &session, mark("a")).await;
    assert_ne!(third, id, "once is once");
    assert_eq!((marks(&service, "a"), marks(&service, "b")), (1, 0));
}

#[tokio::test]
async fn an_answer_names_who_gave_it_in_the_log() {
    let service = service().await;
    let session = service.connect(BOB).await;
    let first = asked(&service, BOB, &session, mark("a")).await;
    let second = asked(&service, BOB, &session, mark("b")).await;
    assert_eq!(service.answer(VERA, &first, grant()).await.0, 200);
    let denied = service.answer(BEN, &second, json!({"decision": "deny"})).await;
    assert_eq!((denied.0, &denied.1["state"]), (200, &json!("refused")));
    let told = service.tool(BOB, &session, mark("b")).await;
    assert!(told.text().starts_with("error APPROVAL_REFUSED"), "{told:?}");
    let by: Vec<Answerer> = service
        .events()
        .into_iter()
        .filter_map(|event| match event.fact {
            Fact::ApprovalGiven { by, .. } | Fact::ApprovalRefused { by, .. } => Some(by),
            _ => None,
        })
        .collect();
    let named = |who| Answerer::named(Means::Http, who);
    assert_eq!(by, [named("vera"), named("ben")]);
}

#[tokio::test]
async fn s59_security_89_what_asks_never_answers() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let id = asked(&service, ANN, &session, mark("a")).await;
    for (token, id) in [(ANN, id.as_str()), (BOB, id.as_str()), (ANN, "ask-0000000000"), (BOB, "x")]
    {
        for body in [grant(), json!({"decision": "deny"}), json!("?")] {
            let answer = service.answer(token, id, body).await;
            assert_eq!(code(&answer), (403, "NOT_AN_APPROVER"), "{id}: {answer:?}");
        }
    }
    // Nor does an approver ask: neither in a session of their own nor in somebody's.
    let begin = service.rpc(VERA, None, "initialize", json!({})).await;
    assert_eq!(
        (begin.status.as_u16(), &begin.body["error"]["code"]),
        (403, &json!("NOT_A_CLIENT"))
    );
    let call = service.tool(VERA, &session, mark("a")).await;
    assert_eq!(call.status.as_u16(), 403, "{call:?}");
    let alone = service.alone(VERA, "call", mark("a")).await;
    assert_eq!(alone.status.as_u16(), 403, "{alone:?}");
    for token in ["", "0123456789abcdef-eve"] {
        assert_eq!(code(&service.answer(token, &id, grant()).await), (401, "NO_TOKEN"));
        assert_eq!(service.rest(Method::GET, token, "approvals", "").await.0, 401);
    }
    assert_eq!(service.questions(ANN).await.len(), 1, "it still waits");
    assert_eq!(marks(&service, "a"), 0);
}

#[tokio::test]
async fn security_89_questions_of_somebody_else_are_not_there() {
    let service = service().await;
    let (anns, bobs) = (service.connect(ANN).await, service.connect(BOB).await);
    let ann = asked(&service, ANN, &anns, mark("a")).await;
    let bob = asked(&service, BOB, &bobs, mark("b")).await;
    let ids = async |token| {
        let questions = service.questions(token).await;
        let ids = questions.iter().map(|one| one["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    for (token, seen) in
        [(ANN, vec![&ann]), (BOB, vec![&bob]), (BEN, vec![&bob]), (VERA, vec![&ann, &bob])]
    {
        assert_eq!(ids(token).await.iter().collect::<Vec<_>>(), seen, "{token}, the oldest first");
    }
    let missing = "ask-0000000000";
    for answer in [grant(), json!({"decision": "deny"})] {
        let foreign = service.answer(BEN, &ann, answer.clone()).await;
        let unknown = service.answer(BEN, missing, answer).await;
        assert_eq!(code(&foreign), (404, "NOT_FOUND"));
        assert_eq!(foreign.1.to_string().replace(&ann, missing), unknown.1.to_string());
    }
    assert_eq!(ids(ANN).await, [ann], "nothing was answered");
    assert_eq!(service.answer(BEN, &bob, grant()).await.0, 200);
    assert!(service.tool(BOB, &bobs, mark("b")).await.text().contains("ev:1"));
    // A yes for one is none for the other.
    asked(&service, ANN, &anns, mark("b")).await;
    assert_eq!(marks(&service, "b"), 1);
}

#[tokio::test]
async fn s61_a_yes_for_good_holds_in_other_sessions_until_a_byte_changes() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let id = asked(&service, ANN, &session, mark("a")).await;
    let answer = json!({"decision": "grant", "scope": "digest"});
    let (status, answered) = service.answer(VERA, &id, answer).await;
    assert_eq!((status, &answered["state"]), (200, &json!("agreed for these bytes")));
    let next = service.connect(ANN).await;
    for session in [&session, &session, &next] {
        let ran = service.tool(ANN, session, mark("a")).await;
        assert!(ran.text().contains("ev:"), "{ran:?}");
    }
    std::fs::write(service.file("mark.sh"), format!("{MARK}#")).unwrap();
    for session in [&session, &next] {
        asked(&service, ANN, session, mark("a")).await;
    }
    assert_eq!(marks(&service, "a"), 3);
}

#[tokio::test]
async fn k08_what_destroys_wants_its_words_typed_and_is_agreed_to_once() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let call = || json!({"tool": "wipe", "args": {"path": "a"}});
    let id = asked(&service, ANN, &session, call()).await;
    let phrase = service.questions(VERA).await[0]["phrase"].as_str().unwrap().to_owned();
    assert_eq!(phrase, "wipe a");
    for typed in [Value::Null, json!(""), json!("wipe b"), json!("WIPE A")] {
        let answer = json!({"decision": "grant", "typed": typed});
        assert_eq!(code(&service.answer(VERA, &id, answer).await), (403, "PHRASE_NEEDED"));
    }
    let often = json!({"decision": "grant", "scope": "session", "typed": phrase});
    assert_eq!(code(&service.answer(VERA, &id, often).await), (403, "ONCE_ONLY"));
    asked(&service, ANN, &session, call()).await;
    assert_eq!(marks(&service, "a"), 0);
    let right = json!({"decision": "grant", "typed": phrase});
    assert_eq!(service.answer(VERA, &id, right.clone()).await.0, 200);
    assert_eq!(code(&service.answer(VERA, &id, right).await), (409, "APPROVAL_ANSWERED"));
    assert!(service.tool(ANN, &session, call()).await.text().contains("ev:1"));
    assert_eq!(marks(&service, "a"), 1);
}

#[tokio::test]
async fn of_answers_at_once_exactly_one_counts() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let id = asked(&service, ANN, &session, mark("a")).await;
    let answers = (0..16).map(|n| {
        let decision = if n % 2 == 0 { "grant" } else { "deny" };
        service.answer(VERA, &id, json!({"decision": decision}))
    });
    let answers = futures_util::future::join_all(answers).await;
    let (counted, late): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.0 == 200);
    assert_eq!(counted.len(), 1, "{answers:?}");
    assert!(late.iter().all(|answer| code(answer) == (409, "APPROVAL_ANSWERED")), "{late:?}");
    let records = service.events().into_iter().filter(|event| {
        matches!(event.fact, Fact::ApprovalGiven { .. } | Fact::ApprovalRefused { .. })
    });
    assert_eq!(records.count(), 1);
    let agreed = counted[0].1["state"] == "agreed once";
    let told = service.tool(ANN, &session, mark("a")).await;
    assert_eq!(told.text().contains("ev:1"), agreed, "{told:?}");
    assert_eq!(marks(&service, "a"), usize::from(agreed));
}

#[tokio::test]
async fn security_88_an_answer_that_is_none_is_refused_and_changes_nothing() {
    let service = service().await;
    let session = service.connect(ANN).await;
    let id = asked(&service, ANN, &session, mark("a")).await;
    let path = format!("approvals/{id}");
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for body in [
        "",
        "yes",
        "{}",
        "[]",
        r#"{"decision": "Grant"}"#,
        r#"{"decision": "grant", "scope": "always"}"#,
        r#"{"decision": "grant", "scope": null}"#,
        r#"{"decision": "grant", "phrase": "x"}"#,
        r#"{"decision": "deny", "decision": "grant"}"#,
        r#"{"decision": "grant"} {}"#,
        &deep,
    ] {
        let answer = service.rest(Method::POST, VERA, &path, body.to_owned()).await;
        assert_eq!(code(&answer), (400, "BAD_ANSWER"), "{body:.40}: {answer:?}");
    }
    let long = json!({"decision": "grant", "typed": "x".repeat(20_000)}).to_string();
    let answer = service.rest(Method::POST, VERA, &path, long).await;
    assert_eq!(code(&answer), (413, "TOO_LARGE"));
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        assert_eq!(service.rest(method, VERA, &path, grant().to_string()).await.0, 405);
    }
    for id in ["..", "%2e%2e%2fask", "%00", "ask-%F0%9F%94%94", &"a".repeat(5_000)] {
        let (status, answer) = service.answer(VERA, id, grant()).await;
        assert!(matches!(status, 404 | 405), "{id:.20}: {status} {answer}");
    }
    assert_eq!(service.questions(VERA).await.len(), 1);
    assert_eq!(service.answer(VERA, &id, grant()).await.0, 200);
}
