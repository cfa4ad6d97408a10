//! `sop check` and `sop graph`.

use serde_json::json;

use crate::kit::{Place, repository};

/// A place that has the procedure `name` of the fixtures as `FILE.yaml`.
fn with(names: &[&str]) -> Place {
    let place = Place::new();
    for name in names {
        let from = repository(&format!("fixtures/procedures/{name}.yaml"));
        std::fs::copy(from, place.work().join(format!("{name}.yaml"))).unwrap();
    }
    place
}

#[test]
fn j01_a_procedure_is_checked_as_a_file() {
    let place = with(&["commit-gate"]);
    let found = place.json(&["sop", "check", "commit-gate.yaml"]);
    assert_eq!(found, json!({"ok": true, "findings": []}));
    let said = place.run(&["sop", "check", "commit-gate.yaml"]).exits(0);
    assert_eq!(said.out, "commit-gate.yaml: it can be followed\n");
}

#[test]
fn j15_a_finding_has_its_place_its_state_and_the_way_there() {
    let place = with(&["bypass"]);
    let found = place.run(&["sop", "check", "bypass.yaml", "--json"]).exits(1).json();
    assert_eq!(found["ok"], false);
    let bypass = &found["findings"][0];
    assert_eq!((&bypass["code"], &bypass["state"]), (&json!("BYPASS"), &json!("push")));
    assert_eq!(
        bypass["path"],
        json!([
            "test: run test → passes",
            "go to push",
            "push: run test → fails",
            "push: run push"
        ])
    );
    let said = place.run(&["sop", "check", "bypass.yaml"]).exits(1);
    insta::assert_snapshot!(said.out, @r#"
    error: `push` can run without `test.ok`: in `push`
      --> bypass.yaml:10:5
        1. test: run test → passes
        2. go to push
        3. push: run test → fails
        4. push: run push
      help: guard the tool itself there: `push: {when: "test.ok"}` [BYPASS]
    bypass.yaml: 1 error
    "#);
}

#[test]
fn j08_what_cannot_be_read_is_a_finding_of_its_state() {
    let place = with(&["free_text"]);
    let found = place.run(&["sop", "check", "free_text.yaml", "--json"]).exits(1).json();
    let first = &found["findings"][0];
    assert_eq!(first["code"], "FREE_TEXT");
    assert_eq!((&first["state"], &first["path"]), (&json!("test"), &json!([])));
    assert_eq!((&first["line"], &first["column"]), (&json!(5), &json!(57)));
}

#[test]
fn j15_warnings_alone_do_not_fail_a_check() {
    let place = with(&["unused_checkpoint", "bypass"]);
    let found = place.json(&["sop", "check", "unused_checkpoint.yaml"]);
    assert_eq!(found["ok"], true);
    assert_eq!(found["findings"][0]["severity"], "warning");
    // Of several files each finding names its own.
    let both = ["sop", "check", "unused_checkpoint.yaml", "bypass.yaml", "--json"];
    let found = place.run(&both).exits(1).json();
    assert_eq!(found["findings"][0]["file"], "unused_checkpoint.yaml");
    assert_eq!(found["findings"][1]["file"], "bypass.yaml");
}

#[test]
fn a_file_that_is_no_text_costs_the_others_nothing() {
    let place = with(&["commit-gate", "bypass"]);
    std::fs::write(place.work().join("noise.yaml"), b"sop: a\nversion: \xff\n").unwrap();
    let files = ["sop", "check", "commit-gate.yaml", "noise.yaml", "bypass.yaml"];
    let said = place.run(&files).exits(1);
    said.shows(&["commit-gate.yaml: it can be followed", "NOT_UTF8", "noise.yaml:2:10", "BYPASS"]);
    let found = place.run(&[&files[..], &["--json"]].concat()).exits(1).json();
    assert_eq!(found["ok"], false);
    let findings = found["findings"].as_array().unwrap();
    let told = findings.iter().map(|one| (one["file"].as_str().unwrap(), &one["code"]));
    let expected = [("noise.yaml", &json!("NOT_UTF8")), ("bypass.yaml", &json!("BYPASS"))];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    place.run(&["sop", "graph", "noise.yaml"]).exits(1).says(&["NOT_UTF8", "NO_PROCEDURE"]);
}

#[test]
fn a_file_that_is_not_there_is_not_found() {
    let place = with(&[]);
    place.run(&["sop", "check", "none.yaml"]).exits(4).fails_clearly("UNREADABLE");
    place.run(&["sop", "graph", "none.yaml"]).exits(4).fails_clearly("UNREADABLE");
}

#[test]
fn a_procedure_is_drawn_to_standard_output_or_to_a_file() {
    let place = with(&["commit-gate", "free_text"]);
    place.run(&["sop", "graph", "commit-gate.yaml"]).exits(0).shows(&["stateDiagram-v2"]);
    let svg = ["sop", "graph", "commit-gate.yaml", "--format", "svg"];
    let shown = place.run(&svg).exits(0);
    assert!(shown.out.starts_with("<svg "));
    let to_file = [&svg[..], &["--output", "gate.svg"]].concat();
    assert_eq!(place.run(&to_file).exits(0).out, "");
    assert_eq!(std::fs::read_to_string(place.work().join("gate.svg")).unwrap(), shown.out);
    place.run(&["sop", "graph", "free_text.yaml"]).exits(1).says(&[
        "FREE_TEXT",
        "NO_PROCEDURE",
        "concertina sop check",
    ]);
}

const GATE: &str = "sop: gate\nversion: 1\ncheckpoints: {ok: {tool: check}}\nstates:\n  work: {show: {tools: [check]}, next: {to: ship, when: ok}}\n  ship: {show: {tools: [{ship: {when: ok}}]}, next: {to: done, when: receipt(ship).exit == 0}}\n  done: {final: true}\n";

/// A workspace with the procedure `gate` and its two tools.
fn gated(more: &str) -> Place {
    let place = Place::new();
    let tool = |name: &str| format!("[tool.{name}]\nargv = ['true']\ndanger = 'safe'\n");
    let settings = format!("{more}{}{}", tool("check"), tool("ship"));
    std::fs::write(place.work().join("concertina.toml"), settings).unwrap();
    std::fs::write(place.work().join("gate.sop.yaml"), GATE).unwrap();
    place.run(&["trust", "."]).exits(0);
    place
}

#[test]
fn j02_j12_a_started_procedure_shows_its_step_from_one_command_to_the_next() {
    let place = gated("");
    let started = place.json(&["sop", "start", "gate.sop.yaml", "--client", "codex"]);
    assert_eq!(started["card"]["state"], "work");
    assert_eq!(
        started["assurance"][0],
        json!({"tool": "ship", "level": "advisory", "why": "codex can start the same program itself"})
    );
    let id = started["session"].as_str().unwrap().to_owned();
    let tools = |place: &Place| {
        let list = place.json(&["tool", "list", "--session", &id]);
        let names = list["tools"].as_array().unwrap().iter();
        names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(&place), ["check"]);
    place.run(&["call", "ship", "--session", &id]).exits(3);
    place.run(&["call", "check", "--session", &id]).exits(0);
    assert_eq!(tools(&place), ["ship"]);
    let status = place.json(&["sop", "status", "--session", &id]);
    assert_eq!(status["card"]["done"], json!(["ok"]));
    assert_eq!((&status["receipts"], &status["history"][0]["to"]), (&json!(1), &json!("ship")));
    place.run(&["sop", "leave", "--session", &id]).exits(0);
    assert!(place.json(&["sop", "status", "--session", &id])["card"].is_null());
}

#[test]
fn j01_a_procedure_that_is_always_followed_is_started_already() {
    let place = gated("[procedures]\nfiles = ['gate.sop.yaml']\nalways = 'gate'\n");
    let started = place.json(&["sop", "start", "gate", "--client", "run"]);
    assert_eq!(started["card"]["state"], "work");
    assert_eq!(started["assurance"][0]["level"], "enforced");
    let stricter = GATE.replace("version: 1", "version: 1\nrequire: enforced");
    std::fs::write(place.work().join("gate.sop.yaml"), stricter).unwrap();
    let refused = place.run(&["sop", "start", "gate", "--client", "codex", "--json"]).exits(3);
    assert_eq!(refused.json()["error"]["code"], "ASSURANCE_TOO_LOW");
}

#[test]
fn j18_no_effect_is_doubled_or_without_its_intent_wherever_the_process_is_killed() {
    const ROUNDS: usize = 60;
    let place = Place::new();
    let settings = "[tool.count]\nargv = ['sh', '-c', 'echo \"$1\" >> out/log', 'sh', '${n}']\nparameters = {type = 'object', required = ['n'], properties = {n = {type = 'integer'}}}\n";
    let gate = "sop: gate\ninputs: {workspace: {ignore: ['out/**']}}\ncheckpoints: {ok: {tool: count, binds: workspace}}\nstates:\n  one: {show: {tools: [count]}, next: {to: two, when: ok}}\n  two: {show: {tools: [count]}, next: {to: done, when: receipt(count).exit == 1}}\n  done: {final: true}\n";
    std::fs::write(place.work().join("concertina.toml"), settings).unwrap();
    std::fs::write(place.work().join("gate.sop.yaml"), gate).unwrap();
    std::fs::create_dir(place.work().join("out")).unwrap();
    place.run(&["trust", "."]).exits(0);
    let started = place.json(&["sop", "start", "gate.sop.yaml"]);
    let id = started["session"].as_str().unwrap().to_owned();
    for round in 0..ROUNDS {
        let args = format!("{{\"n\":{round}}}");
        let mut command = place.command(&["call", "count", &args, "--session", &id]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut running = command.spawn().unwrap();
        // From before its first event to after its last one.
        std::thread::sleep(std::time::Duration::from_millis((round as u64 * 7) % 90));
        let _ = running.kill();
        running.wait().unwrap();
    }
    // What was under way when its process went is settled, and the next call goes on from there.
    place.run(&["session", "resume", &id]).exits(0);
    place.run(&["call", "count", "{\"n\":1000}", "--session", &id]).exits(0);
    let log = std::fs::read_to_string(place.work().join("out/log")).unwrap();
    let mut effects: Vec<&str> = log.lines().collect();
    let all = effects.len();
    effects.sort_unstable();
    effects.dedup();
    assert_eq!(effects.len(), all, "none twice");
    let shown = place.json(&["audit", "show", &id, "--kind", "call.admitted"]);
    let intents = shown["records"].as_array().unwrap();
    for effect in &effects {
        let has =
            |one: &serde_json::Value| one.to_string().contains(&format!("\\\"n\\\":{effect}}}"));
        assert!(intents.iter().any(has), "{effect} has no intent: {shown}");
    }
    assert!(all > 1 && intents.len() < ROUNDS + 2, "some were killed before, some after: {all}");
    let audit = place.json(&["audit", "verify", &id]);
    assert_eq!(audit["ok"], true, "{audit}");
    // The receipts are those of one run in their order, and lead to where it stands.
    let receipts = place.run(&["receipt", "export", "--session", &id]).exits(0).out;
    std::fs::write(place.work().join("out/receipts"), receipts).unwrap();
    place.run(&["receipt", "verify", "out/receipts"]).exits(0);
    let status = place.json(&["sop", "status", "--session", &id]);
    assert_eq!(status["card"]["state"], "two", "{status}");
}
