//! Opening, calling and closing.

use serde_json::Value;

use crate::kit::Place;

const NORTH: &str = r#"{"port": "north"}"#;

fn total(place: &Place, session: &str) -> u64 {
    place.json(&["session", "context", session])["tokens"]["total"].as_u64().unwrap()
}

fn open_tides(place: &Place, session: &str) -> Value {
    place.json(&["open", "skill:tides", "--args", NORTH, "--session", session])
}

#[test]
fn e01_a_body_is_in_the_context_only_once_the_skill_is_open() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session]).exits(0);
    let part = |part| place.json(&["session", "render", &session, "--layer", part]);
    assert_eq!(part("skills")["tokens"], 0);
    open_tides(&place, &session);
    assert!(part("skills")["text"].as_str().unwrap().contains("never from memory"));
}

#[test]
fn e02_each_check_before_opening_has_a_code_of_its_own() {
    let place = Place::harbour();
    for (open, code, exit) in [
        (&["skill:nosuch"][..], "NOT_FOUND", 4),
        (&["skill:berths", "--as", "model"], "MODEL_DISABLED", 3),
        (&["skill:inspection"], "USER_DISABLED", 3),
        (&["skill:tides"], "BAD_ARGUMENTS", 2),
        (&["skill:"], "BAD_REF", 2),
        (&["skill:logbook#nowhere"], "NO_SUCH_PART", 4),
    ] {
        place.run(&[&["open"], open].concat()).exits(exit).fails_clearly(code);
    }
    place.run(&["open", "/logbook"]).exits(0).shows(&["Enter:"]);
}

#[test]
fn e04_the_answer_is_short_and_the_text_comes_as_context() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session]).exits(0);
    let before = place.json(&["session", "render", &session, "--layer", "evidence"]);
    open_tides(&place, &session);
    let after = place.json(&["session", "render", &session, "--layer", "evidence"]);
    let answer = after["tokens"].as_u64().unwrap() - before["tokens"].as_u64().unwrap();
    assert!(answer <= 60, "the answer takes {answer} tokens: {after}");
    place.run(&["session", "render", &session]).exits(0).shows(&["high water at north"]);
}

#[test]
fn e06_the_answer_says_how_the_skill_runs() {
    let place = Place::harbour();
    assert_eq!(place.json(&["open", "skill:logbook"])["mode"], "inline");
    let apart = place.json(&["open", "skill:pilots"]);
    assert_eq!(apart["mode"], "delegate", "no model is at hand that it could fork to");
    assert!(apart["prompt"].as_str().unwrap().starts_with("Plan the pilots"), "{apart}");
}

#[test]
fn e07_an_open_skill_outlives_a_fold() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session, "When is high water?"]).exits(0);
    open_tides(&place, &session);
    let folded = place.json(&["session", "compact", &session]);
    assert_eq!(folded["kept"], serde_json::json!(["skill:tides"]));
    place.run(&["session", "render", &session]).exits(0).shows(&["high water at north"]);
    place.run(&["call", "clock", "--session", &session]).exits(0);
}

#[test]
fn e08_text_tools_and_hooks_leave_together() {
    let place = Place::harbour();
    let session = place.session();
    let tools = || place.json(&["tool", "list", "--session", &session]);
    let hooks = || place.json(&["session", "hooks", &session]);
    let (no_tools, no_hooks) = (tools(), hooks());
    open_tides(&place, &session);
    assert_eq!(tools()["tools"][0]["name"], "clock");
    assert_eq!(hooks()["hooks"][0]["from"], "skill:tides");
    place.run(&["close", "skill:tides", "--session", &session]).exits(0);
    let shown = place.run(&["session", "render", &session]).exits(0);
    assert!(!shown.out.contains("never from memory"), "{}", shown.out);
    assert_eq!((tools(), hooks()), (no_tools, no_hooks));
}

#[test]
fn e10_a_skill_brings_text_tools_and_knowledge_at_once() {
    let place = Place::harbour();
    let session = place.session();
    let opened = open_tides(&place, &session);
    assert!(opened["text"].as_str().unwrap().contains("# Tides"));
    assert_eq!(opened["tools"], serde_json::json!(["clock"]));
    assert_eq!(opened["knowledge"], serde_json::json!(["references/tables.md"]));
    let part = ["open", "skill:tides#references/tables.md", "--session", &session];
    place.run(&part).exits(0).shows(&["north 06:10 18:32"]);
}

#[test]
fn e11_opening_again_adds_next_to_nothing() {
    let place = Place::harbour();
    let session = place.session();
    open_tides(&place, &session);
    let before = total(&place, &session);
    open_tides(&place, &session);
    let grown = total(&place, &session) - before;
    assert!(grown <= 30, "{grown} tokens");
}

#[test]
fn e16_a_hidden_tool_called_by_its_name_is_refused_with_the_way_in() {
    let place = Place::harbour();
    let session = place.session();
    let call = || place.run(&["call", "clock", "--session", &session]);
    call().exits(3).fails_clearly("NOT_VISIBLE").says(&["skill:tides", "open it first"]);
    open_tides(&place, &session);
    call().exits(0).shows(&["06:00"]);
    place.run(&["close", "skill:tides", "--session", &session]).exits(0);
    call().exits(3);
}

#[test]
fn a15_hooks_are_in_force_only_while_their_skill_is_open() {
    let place = Place::harbour();
    let session = place.session();
    let hooks = || place.json(&["session", "hooks", &session])["hooks"].clone();
    assert_eq!(hooks(), serde_json::json!([]));
    open_tides(&place, &session);
    assert_eq!(hooks(), serde_json::json!([{"event": "PostToolUse", "from": "skill:tides"}]));
    place.run(&["session", "resume", &session]).exits(0);
    assert_eq!(hooks().as_array().unwrap().len(), 1);
    place.run(&["close", "skill:tides", "--session", &session]).exits(0);
    assert_eq!(hooks(), serde_json::json!([]));
}
