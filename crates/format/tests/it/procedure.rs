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
        ("test.ok && ship.ok", "test.ok || receipt(shop).exit == 0", "UNKNOWN_TOOL"),
        ("test.ok && ship.ok", "test.ok && !(receipt(shop).exit == 0)", "UNKNOWN_TOOL"),
        ("test.ok && ship.ok", "test.ok || receipt(webhook).status == 'ok'", "UNKNOWN_TOOL"),
        ("test.ok && ship.ok", "test.ok || receipt(test).passd >= 1", "UNKNOWN_FIELD"),
        ("test.ok && ship.ok", "test.ok || receipt(ship).passed >= 1", "UNKNOWN_FIELD"),
        ("test.ok && ship.ok", "test.ok || receipt(human).role == 'owner'", "UNKNOWN_FIELD"),
        ("tools: [test]", "tools: [test], evidence: [\"te\\u001bst@L2\"]", "BAD_NAME"),
        ("tools: [test]", "tools: [test], skills: [\"a\\u202Eb\"]", "BAD_NAME"),
        ("parse: tap", "parse: tap, from: /etc/passwd", "OUTSIDE_WORKSPACE"),
        ("parse: tap", "parse: tap, from: a/../../b", "OUTSIDE_WORKSPACE"),
        ("version: 1.0.0", "inputs: {workspace: {root: /etc}}", "OUTSIDE_WORKSPACE"),
        ("version: 1.0.0", "inputs: {workspace: {root: ../..}}", "OUTSIDE_WORKSPACE"),
        ("version: 1.0.0", "inputs: {workspace: {ignore: ['a/**', '[']}}", "BAD_GLOB"),
        ("version: 1.0.0", "inputs: {workspace: {ignore: ['{a']}}", "BAD_GLOB"),
        ("version: 1.0.0", "inputs: {workspace: {ignore: ['/']}}", "BAD_GLOB"),
        ("parse: tap", "parse: tap, writes: ['[']", "BAD_GLOB"),
        ("{human:", "{parse: tap, human:", "UNKNOWN_KEY"),
        ("{human:", "{from: a, human:", "UNKNOWN_KEY"),
        ("{human:", "{args: {x: 1}, human:", "UNKNOWN_KEY"),
        ("{human:", "{writes: [a], human:", "UNKNOWN_KEY"),
        ("{human: {role:", "{max_age: 5m, human: {ttl: 5m, role:", "DUPLICATE"),
        ("exit: 0", "exit: 99999999999999999999", "WRONG_TYPE"),
        ("passed: \">=1\"", "passed: \">=99999999999999999999\"", "WRONG_TYPE"),
        ("receipt(ship).exit == 0", "receipt(ship).exit == 99999999999999999999", "FREE_TEXT"),
        ("sop: gate", "sop:", "MISSING_KEY"),
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
fn j15_what_a_receipt_can_say_is_known_to_be_so() {
    for guard in [
        "receipt(test).total >= 1",
        "receipt(test).exit == 0",
        "receipt(ship).exit == 1",
        "receipt(human).approved == true",
    ] {
        let text = GATE.replacen("when: test.ok}", &format!("when: {guard}}}"), 1);
        assert_eq!(codes(&text), [], "{guard}");
    }
    // Whoever signs a statement chooses its fields.
    let webhook = GATE.replacen("tool: test, parse: tap", "webhook: {key: K}", 1);
    let webhook = webhook.replacen("when: test.ok}", "when: receipt(webhook).colour == 'red'}", 1);
    assert_eq!(codes(&webhook), []);
    // What could not be read at all is said once.
    let unread = GATE.replacen("parse: tap", "parse: taps", 1);
    let unread = unread.replacen("when: test.ok}", "when: receipt(test).passed >= 1}", 1);
    assert_eq!(codes(&unread), [(Severity::Error, "UNKNOWN_PARSER".to_owned())]);
}

#[test]
fn j06_what_means_nothing_is_said() {
    for (from, to, code) in [
        ("version: 1.0.0", "inputs: {workspace: {ignore: ['**']}}", "NOTHING_BOUND"),
        ("version: 1.0.0", "inputs: {workspace: {ignore: [target, '/*']}}", "NOTHING_BOUND"),
        ("parse: tap", "parse: tap, writes: ['**/*']", "NOTHING_BOUND"),
        ("done: {final: true}", "done: {final: true, needs: robot}", "UNKNOWN_NEED"),
    ] {
        let text = GATE.replacen(from, to, 1);
        assert_eq!(codes(&text), [(Severity::Warning, code.to_owned())], "{to}");
    }
    for (from, to) in [
        // Everything but what is named behind it.
        ("version: 1.0.0", "inputs: {workspace: {root: ./src/, ignore: ['*', '!keep/**']}}"),
        ("done: {final: true}", "done: {final: true, needs: human}"),
    ] {
        assert_eq!(codes(&GATE.replacen(from, to, 1)), [], "{to}");
    }
    let unbound = GATE.replace(", binds: workspace", "");
    let unbound = unbound.replacen("version: 1.0.0", "inputs: {workspace: {ignore: ['**']}}", 1);
    assert_eq!(codes(&unbound), [], "nothing is bound anyway");
}

#[test]
fn a_message_says_what_stands_there() {
    let table = [
        (
            "challenge: \"ship {workspace.digest}\"",
            "challenge: \"\"",
            "has to be a text, and is empty",
        ),
        ("role: owner", "role: ' '", "has to be a text, and is empty"),
        ("tool: test,", "tool: [],", "and is an empty list"),
        ("final: true", "final: 0.5", "and is `0.5`"),
        ("exit: 0", "exit: 99999999999999999999", "`99999999999999999999` for `exit`"),
        ("receipt(ship).exit == 0", "receipt(ship).exit == 99999999999999999999", "is too large"),
    ];
    for (from, to, said) in table {
        let text = GATE.replacen(from, to, 1);
        let found = parse(&text).diagnostics;
        assert!(found.iter().any(|one| one.message.contains(said)), "{to}: {found:?}");
    }
    let found = parse("sop: s\nstates: {}\n").diagnostics;
    let expected = "states has to be a mapping of names to states, and is an empty mapping";
    assert_eq!(found[0].message, expected);
}

#[test]
fn j01_a_finding_knows_its_state() {
    let text = GATE.replacen("to: ship", "to: shop", 1).replacen("receipt(ship)", "a receipt", 1);
    let text = text.replacen("parse: tap", "parse: taps", 1);
    let read = parse(&text);
    let states: Vec<_> =
        read.diagnostics.iter().map(|found| (found.code.as_ref(), read.state_of(found))).collect();
    assert_eq!(
        states,
        [("UNKNOWN_PARSER", None), ("UNKNOWN_STATE", Some("test")), ("FREE_TEXT", Some("ship"))]
    );
    let block = "sop: s\nstates:\n  one:\n    next:\n      - to: nowhere\n        when: nothing\n  two:\n    final: 3\nversoin: 1\n";
    let read = parse(block);
    let states: Vec<_> = read.diagnostics.iter().map(|found| read.state_of(found)).collect();
    assert_eq!(states, [Some("one"), Some("one"), Some("two"), None], "{:?}", read.diagnostics);
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
