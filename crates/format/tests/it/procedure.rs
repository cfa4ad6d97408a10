//! Procedures as they are written: what is read, and what is said of the rest.

use concertina_format::procedure::parse;
use concertina_types::Severity;

const GATE: &str = r#"sop: gate
version: 1.0.0
checkpoints:
  test.ok: {tool: test, parse: tap, expect: {exit: 0, passed: ">=1"}, binds: workspace}
  ship.ok: {human: {role: owner, challenge: "ship {workspace.digest}"}, binds: workspace}
states:
  test: {show: {tools: [test]}, next: [{to: ship, when: test.ok}]}
  ship: {show: {tools: [{ship: {when: "test.ok && ship.ok"}}]}, on_stale: {goto: test}, next: [{to: done, when: "receipt(ship).exit == 0"}]}
  done: {final: true}
"#;

/// What is said of the text, one code for each finding.
fn codes(text: &str) -> Vec<(Severity, String)> {
    let found = parse(text).diagnostics;
    for one in &found {
        let help = one.help.as_deref().unwrap_or_default();
        assert!(one.line.is_some() && !help.is_empty(), "where, and what to do: {one:?}");
    }
    found.into_iter().map(|one| (one.severity, one.code.to_string())).collect()
}

#[test]
fn j01_a_procedure_is_read_without_a_word() {
    let read = parse(GATE);
    assert_eq!(read.diagnostics, []);
    let procedure = read.procedure.unwrap();
    assert_eq!(procedure.gated_tools(), ["ship"]);
    assert!(procedure.decides("test") && procedure.decides("ship") && !procedure.decides("lint"));
    assert_eq!(procedure.unbound().count(), 0);
}

#[test]
fn j01_each_fault_of_a_text_has_its_code_its_place_and_its_help() {
    let long = "x".repeat(201);
    let table: &[(&str, &str, &str)] = &[
        ("sop: gate", "sop: \"a\\u202Eb\"", "BAD_NAME"),
        ("sop: gate", "sop: \"a\\u0007b\"", "BAD_NAME"),
        ("sop: gate", &format!("sop: {long}"), "BAD_NAME"),
        ("tool: test,", "tool: \"te\\u001bst\",", "BAD_NAME"),
        ("tools: [test]", "tools: [test, {test: {when: ship.ok}}]", "DUPLICATE_TOOL"),
        ("{workspace.digest}", "{workspace.hash}", "UNKNOWN_PLACEHOLDER"),
        ("exit: 0", "exit: \"0\"", "WRONG_TYPE"),
        ("passed: \">=1\"", "passed: \"=1\"", "WRONG_TYPE"),
        ("passed: \">=1\"", "passed: true", "WRONG_TYPE"),
        ("receipt(ship).exit == 0", "receipt(ship).exit == '0'", "WRONG_TYPE"),
        ("receipt(ship).exit == 0", "receipt(test).passed == 'all'", "WRONG_TYPE"),
        ("done: {final: true}", "done: {final: true, needs: human, then: next}", "NEEDS_AND_THEN"),
        ("parse: tap", "parse: taps", "UNKNOWN_PARSER"),
        ("when: test.ok", "when: the tests passed", "FREE_TEXT"),
        ("to: ship", "to: shop", "UNKNOWN_STATE"),
        ("test.ok && ship.ok", "test.ok && ships.ok", "UNKNOWN_CHECKPOINT"),
        ("passed: \">=1\"", "passes: \">=1\"", "UNKNOWN_FIELD"),
        ("binds: workspace}\n  ship", "binds: disk}\n  ship", "UNKNOWN_INPUT"),
        ("tool: test, parse", "tool: test, webhook: {key: K}, parse", "TWO_ISSUERS"),
        ("tool: test, ", "", "NO_ISSUER"),
    ];
    for (from, to, code) in table {
        let text = GATE.replacen(from, to, 1);
        assert_ne!(text, GATE, "{from}");
        let found = codes(&text);
        // What names a checkpoint that could not be read says so as well.
        let follows = |named: &str| named == "UNKNOWN_CHECKPOINT" && *code != named;
        let errors: Vec<&str> = found
            .iter()
            .filter(|(severity, named)| *severity == Severity::Error && !follows(named))
            .map(|(_, code)| code.as_str())
            .collect();
        assert_eq!(errors, [*code], "{to}");
        assert!(parse(&text).procedure.is_none(), "{to}");
    }
}

#[test]
fn j08_a_run_that_proves_nothing_is_said_to() {
    let weak = |expect: &str| {
        let text = GATE.replacen("expect: {exit: 0, passed: \">=1\"}", expect, 1);
        codes(&text).into_iter().filter(|(_, code)| code == "WEAK_EXPECT").count()
    };
    assert_eq!(weak("expect: {exit: 0, passed: \">=1\"}"), 0);
    assert_eq!(weak("expect: {exit: 0, total: \">=1\"}"), 0);
    assert_eq!(weak("expect: {exit: 0, failed: 0}"), 1, "zero tests");
    assert_eq!(weak("expect: {passed: \">=1\"}"), 1, "whatever the exit code");
    assert_eq!(weak("expect: {failed: 0}"), 2);
    let exit =
        GATE.replacen("parse: tap, expect: {exit: 0, passed: \">=1\"}", "expect: {exit: 0}", 1);
    assert_eq!(codes(&exit), [], "a linter has no tests");
}

#[test]
fn a_tool_that_is_listed_twice_alike_does_no_harm() {
    let text = GATE.replacen("tools: [test]", "tools: [test, test]", 1);
    assert_eq!(codes(&text), [(Severity::Warning, "DUPLICATE_TOOL".to_owned())]);
    assert_eq!(parse(&text).procedure.unwrap().states[0].show.tools.len(), 1);
}

#[test]
fn j10_a_checkpoint_that_nothing_takes_back_is_known() {
    let names = |text: &str| -> Vec<String> {
        let procedure = parse(text).procedure.unwrap();
        procedure.unbound().map(|one| one.name.clone()).collect()
    };
    assert_eq!(names(&GATE.replacen(", binds: workspace", "", 1)), ["test.ok"]);
    assert!(names(&GATE.replacen("binds: workspace", "max_age: 5m", 1)).is_empty());
}
