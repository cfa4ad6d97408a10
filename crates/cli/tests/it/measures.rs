//! What is measured and held against the log: `eval` and `audit`.

use crate::kit::{Place, write};

/// Words that name the same things in every way, and words that mislead menus.
const ROWS: &str = r#"//- rows.jsonl
{"id": "a", "name": "mail/send", "description": "Sends a letter to somebody."}
{"id": "b", "name": "mail/read", "description": "Shows the letters that came in."}
{"id": "c", "name": "clock/now", "description": "Says the time.", "params": "zone where the clock hangs"}
{"id": "d", "name": "set_alarm", "description": "Rings at a given time.", "category": "clock"}
//- asked.jsonl
{"query": "send a letter", "relevant": ["a"]}
{"query": "what is the time", "relevant": ["c"], "kind": "time"}
{"query": "ring the alarm", "relevant": ["d"], "kind": "time"}
{"query": "play chess", "relevant": []}
"#;

#[test]
fn i11_menus_and_a_search_are_measured_against_the_flat_list() {
    let place = Place::with(ROWS);
    let command = ["eval", "tools", "--catalog", "rows.jsonl", "--queries", "asked.jsonl"];
    let ways = place.json(&command);
    assert_eq!(
        (&ways["tools"], &ways["categories"], &ways["queries"]),
        (&4.into(), &2.into(), &3.into())
    );
    for way in ["flat", "menu", "search"] {
        assert_eq!(ways[way]["hit_at_1"], 1.0, "{ways}");
        assert!(ways[way]["tokens"].as_f64().unwrap() > 0.0, "{ways}");
    }
    place.run(&command).exits(0).shows(&["flat", "menu", "search", "hit@1"]);
    // Each figure says how far it can be trusted, on three requests not far.
    let interval = &ways["menu"]["hit_at_1_ci95"];
    assert!(interval[0].as_f64() < Some(0.5) && interval[1] == 1.0, "{ways}");
    assert_eq!(ways["menu_over_flat"]["value"], 0.0);
    assert_eq!(ways["per_kind"]["time"]["queries"], 2);
    // With many tools the flat list costs what all of them take, whatever is asked.
    let many: Vec<String> = (0..300)
        .map(|at| format!("{{\"id\": \"x{at}\", \"name\": \"other-{}/tool-{at}\", \"description\": \"Turns wheel {at}.\"}}\n", at % 20))
        .collect();
    let rows = ROWS.replace("//- asked", &format!("{}//- asked", many.concat()));
    let ways = Place::with(&rows).json(&command);
    let tokens = |way: &str| ways[way]["tokens"].as_f64().unwrap();
    assert!(
        tokens("flat") > 3_000.0 && tokens("menu") < 600.0 && tokens("search") < 200.0,
        "{ways}"
    );
}

#[test]
fn rows_that_cannot_be_measured_are_named() {
    let place = Place::with(ROWS);
    for (text, says) in [
        ("", "has no line"),
        ("{\"id\": \"a\"}\n", "bad.jsonl:1: missing field `name`"),
        (
            "{\"id\": \"a\", \"name\": \"x\"}\n\n{\"id\": \"a\", \"name\": \"y\"}\n",
            "for the second time",
        ),
        ("not json\n", "bad.jsonl:1"),
    ] {
        std::fs::write(place.work().join("bad.jsonl"), text).unwrap();
        let done =
            place.run(&["eval", "tools", "--catalog", "bad.jsonl", "--queries", "asked.jsonl"]);
        done.exits(1).says(&[says]).fails_clearly("BAD_DATA");
    }
    place
        .run(&["eval", "tools", "--catalog", "none.jsonl", "--queries", "asked.jsonl"])
        .exits(4)
        .fails_clearly("UNREADABLE");
}

fn worked(said: &[&str]) -> Place {
    let place = Place::harbour();
    let turns: Vec<String> = said.iter().map(|text| format!("{{\"say\": \"{text}\"}}")).collect();
    let open = r#"{"calls": [{"name": "open", "arguments": {"ref": "skill:tides", "args": {"port": "north"}}}]}"#;
    let call = r#"{"say": "I run `clock` now.", "calls": [{"name": "call", "arguments": {"tool": "clock"}}]}"#;
    let turns = match turns.as_slice() {
        [only] => only.clone(),
        _ => format!("{open}, {call}, {}", turns.last().unwrap()),
    };
    let script = format!(r#"{{"script": "v1", "dialogues": [{{"turns": [{turns}]}}]}}"#);
    write(&place.work(), &format!("//- model.json\n{script}\n"));
    place.run(&["run", ".", "What time is it?", "--model", "scripted:model.json"]).exits(0);
    place
}

#[test]
fn i09_a_claim_without_a_call_is_found() {
    let place = worked(&["I called `clock` and it returned 06:00."]);
    let found = place.run(&["audit", "claims", "last", "--json"]).exits(1).json();
    assert_eq!(found["unbacked"], 1, "{found}");
    assert_eq!(found["claims"][0]["tool"], "clock");
    assert_eq!(found["claims"][0]["standing"], "no_call");
    place.run(&["audit", "claims", "last"]).exits(1).shows(&["never called"]);
}

#[test]
fn i09_a_claim_with_its_call_is_backed() {
    let place = worked(&["", "I called `clock` and it returned 06:00."]);
    let found = place.run(&["audit", "claims", "last", "--all", "--json"]).exits(0).json();
    assert_eq!((&found["unbacked"], &found["checked"]), (&0.into(), &1.into()), "{found}");
    assert_eq!(found["claims"][0]["call"], 1);
}

#[test]
fn i09_that_tests_passed_wants_a_receipt() {
    let place = Place::new();
    let settings =
        "[tool.test]\nargv = ['true']\ndanger = 'safe'\n[procedures]\nfiles = ['gate.sop.yaml']\n";
    let gate = "sop: gate\ncheckpoints: {test.ok: {tool: test, binds: workspace}}\nstates:\n  work: {show: {tools: [test]}, next: {to: done, when: test.ok}}\n  done: {final: true}\n";
    std::fs::write(place.work().join("concertina.toml"), settings).unwrap();
    std::fs::write(place.work().join("gate.sop.yaml"), gate).unwrap();
    place.run(&["trust", "."]).exits(0);
    let id = place.json(&["sop", "start", "gate"])["session"].as_str().unwrap().to_owned();
    let log = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"All tests passed?\"}}\n{\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"All tests passed.\"}]}}\n{\"cut";
    std::fs::write(place.work().join("said.jsonl"), log).unwrap();
    let claims = ["audit", "claims", &id, "--transcript", "said.jsonl", "--all", "--json"];
    let found = place.run(&claims).exits(1).json();
    assert_eq!(found["checked"], 1, "{found}");
    assert_eq!(found["claims"][0]["checkpoint"], "test.ok");
    assert_eq!(found["claims"][0]["standing"], "not_proven");
    place.run(&["call", "test", "--session", &id]).exits(0);
    let found = place.run(&claims).exits(0).json();
    assert_eq!(found["claims"][0]["standing"], "backed");
    let receipt = place.json(&["receipt", "list", "--session", &id]);
    assert_eq!(found["claims"][0]["receipt"], receipt["receipts"][0]["digest"], "{receipt}");
}

#[test]
fn i09_what_another_client_s_model_says_is_held_against_the_log() {
    let place = worked(&["Good morning."]);
    std::fs::write(place.work().join("said.txt"), "The clock tool: `clock` returned 06:00.\n")
        .unwrap();
    let said = ["audit", "claims", "last", "--transcript", "said.txt", "--json"];
    assert_eq!(place.run(&said).exits(1).json()["claims"][0]["turn"], serde_json::Value::Null);
    std::fs::write(place.work().join("said.txt"), "I will call `clock` next.\n").unwrap();
    assert_eq!(place.run(&said).exits(0).json()["checked"], 0);
}
