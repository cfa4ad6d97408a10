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
fn j08_what_cannot_be_read_is_a_finding_without_a_state() {
    let place = with(&["free_text"]);
    let found = place.run(&["sop", "check", "free_text.yaml", "--json"]).exits(1).json();
    let first = &found["findings"][0];
    assert_eq!(first["code"], "FREE_TEXT");
    assert_eq!((&first["state"], &first["path"]), (&json!(null), &json!([])));
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
