//! What the check of a procedure finds: one seeded fault a code, the way there, and the nearest procedure without it.

use std::fmt::Write as _;

use concertina_core::procedure::check;
use concertina_core::procedure::check::Finding;
use concertina_format::procedure::parse;
use concertina_types::Severity;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../fixtures/procedures/", $name, ".yaml"))
    };
}

/// What reading and checking find.
#[track_caller]
fn found(text: &str) -> Vec<Finding> {
    let parsed = parse(text);
    match &parsed.procedure {
        Some(procedure) => check(procedure),
        None => Finding::of_reading(&parsed),
    }
}

fn codes(found: &[Finding]) -> Vec<&str> {
    let mut codes: Vec<&str> = found.iter().map(|one| one.code.as_ref()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn shown(found: &[Finding]) -> String {
    let mut text = String::new();
    for one in found {
        let state = one.state.as_deref().unwrap_or("-");
        let _ = writeln!(
            text,
            "{} {} {state} {}:{}",
            one.severity, one.code, one.at.line, one.at.column
        );
        let _ = writeln!(text, "  {}\n  help: {}", one.message, one.help);
        for step in &one.path {
            let _ = writeln!(text, "  | {step}");
        }
    }
    text
}

/// Asserts that `text` has the fault `code` and nothing else that is wrong but what is in `beside`, and that it has
/// not where `from` is replaced by `to`.
#[track_caller]
fn seeded(text: &str, code: &str, beside: &[&str], (from, to): (&str, &str)) -> Vec<Finding> {
    let with = found(text);
    let mut expected = [&[code], beside].concat();
    expected.sort_unstable();
    assert_eq!(codes(&with), expected, "{}", shown(&with));
    assert!(text.contains(from), "`{from}` is not in the text");
    let without = found(&text.replace(from, to));
    assert!(!codes(&without).contains(&code), "{}", shown(&without));
    with
}

#[test]
fn j01_the_commit_gate_is_fine() {
    assert_eq!(shown(&found(fixture!("commit-gate"))), "");
}

#[test]
fn j15_a_state_that_nothing_leads_to() {
    let mend = (
        "when: lint.ok}]}\n  review",
        "when: lint.ok}, {to: review, when: receipt(lint).exit == 4}]}\n  review",
    );
    let found = seeded(fixture!("unreachable"), "UNREACHABLE", &[], mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j15_a_state_from_which_no_end_is_reached() {
    let mend = ("repair: {show: {tools: [edit]}}", "repair: {final: true}");
    let found = seeded(fixture!("dead_end"), "DEAD_END", &[], mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j15_exits_that_are_open_one_after_the_other() {
    let mend = ("[{to: test, when: test.ok}]", "[{to: done, when: test.ok}]");
    let found = seeded(fixture!("endless_loop"), "ENDLESS_LOOP", &[], mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j15_a_circle_that_nothing_leads_out_of() {
    let mend = ("[{to: write, when: \"!draft.ok\"}]", "[{to: done, when: \"!draft.ok\"}]");
    let found = seeded(fixture!("endless_trap"), "ENDLESS_LOOP", &[], mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j15_an_exit_that_an_earlier_one_covers() {
    let mend = (
        "{to: slow, when: lint.ok}, {to: fast, when: \"lint.ok && test.ok\"}",
        "{to: fast, when: \"lint.ok && test.ok\"}, {to: slow, when: \"lint.ok && !test.ok\"}",
    );
    let found = seeded(fixture!("overlapping_exits"), "OVERLAPPING_EXITS", &[], mend);
    assert_eq!(found[0].severity, Severity::Error);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j15_exits_that_do_not_exclude_each_other() {
    let mend = ("when: test.ok}", "when: test.ok && !lint.ok}");
    let found = seeded(fixture!("overlapping_in_part"), "OVERLAPPING_EXITS", &[], mend);
    assert_eq!(found[0].severity, Severity::Warning);
    insta::assert_snapshot!(shown(&found));
    // One that is taken at once leaves nothing to the other, which is worth knowing and no more.
    let apart =
        fixture!("overlapping_in_part").replace("test.ok: {tool: check}", "test.ok: {tool: test}");
    let apart = apart.replace("tools: [check]", "tools: [check, test]");
    assert_eq!(self::found(&apart)[0].severity, Severity::Info);
    // Whoever fails has not passed.
    let same = "sop: s\ncheckpoints: {ok: {tool: t}}\nstates: {a: {show: {tools: [t]}, next: [{to: b, when: ok}, {to: c, when: receipt(t).exit != 0}]}, b: {final: true}, c: {final: true}}\n";
    assert_eq!(shown(&self::found(same)), "");
}

#[test]
fn j06_a_guard_that_nothing_can_make_true() {
    let text = fixture!("unsatisfiable_guard");
    let found = found(text);
    assert_eq!(codes(&found), ["UNSATISFIABLE_GUARD"]);
    assert_eq!(found.len(), 2);
    insta::assert_snapshot!(shown(&found));
    let text =
        text.replace("test.ok && !test.ok", "test.ok").replace("exit == 0 &&", "exit == 3 &&");
    assert_eq!(shown(&self::found(&text)), "");
}

#[test]
fn j06_a_guard_that_asks_for_what_comes_later() {
    let mend = ("{push: {when: deploy.ok}}, ", "");
    let found = seeded(fixture!("unsatisfiable_order"), "UNSATISFIABLE_GUARD", &[], mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j06_a_checkpoint_that_nothing_proves() {
    let mend = ("{expect:", "{tool: read, expect:");
    seeded(fixture!("no_issuer"), "NO_ISSUER", &["UNKNOWN_CHECKPOINT"], mend);
}

#[test]
fn j08_a_sentence_is_no_guard() {
    let mend = ("the tests look good to me", "test.ok");
    seeded(fixture!("free_text"), "FREE_TEXT", &[], mend);
}

#[test]
fn j08_a_finding_of_reading_knows_its_state() {
    let found = found(fixture!("free_text"));
    assert!(found[0].state.is_some(), "{}", shown(&found));
}

/// A procedure in which a run of `tool` leads on; `one` are its checkpoints, `exits` the exits of its first state.
fn asking(one: &str, exits: &str) -> String {
    format!(
        "sop: s\ncheckpoints: {{{one}}}\nstates:\n  a: {{show: {{tools: [t]}}, next: [{exits}]}}\n  b: {{final: true}}\n  c: {{final: true}}\n"
    )
}

const TESTS: &str = "ok: {tool: t, parse: tap, expect: {exit: 0, passed: \">=1\"}}";

#[test]
fn j15_no_run_proves_what_excludes_each_other() {
    let other = "{to: c, when: receipt(t).exit == 7}";
    for (case, checkpoints, guard) in [
        ("codes", "ok: {tool: t}, no: {tool: t, expect: {exit: 1}}", "ok && no"),
        ("ranges", "ok: {tool: t}, no: {tool: t, expect: {exit: \">=1\"}}", "ok && no"),
        (
            "counts",
            "ok: {tool: t, parse: tap, expect: {exit: 0, passed: \">=1\"}}, no: {tool: t, parse: tap, expect: {exit: 0, total: 0}}",
            "ok && no",
        ),
        (
            "arguments",
            "ok: {tool: t, args: {m: x}}, no: {tool: t, args: {m: x}, expect: {exit: 1}}",
            "ok && no",
        ),
        ("receipts", TESTS, "ok && receipt(t).total == 0"),
        ("below zero", TESTS, "ok && receipt(t).failed < 0"),
        ("more than all", TESTS, "receipt(t).passed > 3 && receipt(t).total == 3"),
        (
            "more together than all",
            TESTS,
            "receipt(t).passed >= 2 && receipt(t).failed >= 2 && receipt(t).total <= 3",
        ),
        (
            "less than all",
            TESTS,
            "receipt(t).passed == 1 && receipt(t).failed == 1 && receipt(t).skipped == 0 && receipt(t).total > 2",
        ),
    ] {
        let text = asking(checkpoints, &format!("{{to: b, when: \"{guard}\"}}, {other}"));
        let found = found(&text);
        assert!(codes(&found).contains(&"UNSATISFIABLE_GUARD"), "{case}: {}", shown(&found));
    }
    for (case, checkpoints, guard) in [
        ("codes", "ok: {tool: t}, no: {tool: t, expect: {exit: \"<=1\"}}", "ok && no"),
        // What one call proved stands while another one proves the opposite.
        (
            "arguments",
            "ok: {tool: t, args: {m: x}}, no: {tool: t, args: {m: y}, expect: {exit: 1}}",
            "ok && no",
        ),
        // Two reports, each with figures of its own.
        (
            "reports",
            "ok: {tool: t, parse: tap, from: a, expect: {exit: 0, passed: 1}}, no: {tool: t, parse: tap, from: b, expect: {exit: 0, passed: 2}}",
            "ok && no",
        ),
        ("counts", TESTS, "ok && receipt(t).passed > 3 && receipt(t).total == 5"),
        ("all", TESTS, "receipt(t).passed == 1 && receipt(t).failed == 1 && receipt(t).total == 2"),
        ("no figures", TESTS, "receipt(t).exit == 0 && !(receipt(t).passed >= 0)"),
    ] {
        let text = asking(checkpoints, &format!("{{to: b, when: \"{guard}\"}}, {other}"));
        let found = found(&text);
        assert!(!codes(&found).contains(&"UNSATISFIABLE_GUARD"), "{case}: {}", shown(&found));
    }
}

#[test]
fn j15_what_excludes_each_other_is_a_dead_end_in_turn_and_no_overlap() {
    let text = "sop: s\ncheckpoints: {ok: {tool: t}, no: {tool: t, expect: {exit: 1}}}\nstates:\n  a: {show: {tools: [t]}, next: [{to: b, when: ok}]}\n  b: {show: {tools: [t]}, next: [{to: c, when: ok && no}]}\n  c: {final: true}\n";
    let found = found(text);
    assert_eq!(codes(&found), ["DEAD_END", "UNREACHABLE", "UNSATISFIABLE_GUARD"]);
    for arguments in ["", "args: {m: x}, "] {
        let one = format!(
            "ok: {{tool: t, {arguments}expect: {{exit: 0}}}}, no: {{tool: t, {arguments}expect: {{exit: 2}}}}"
        );
        let text = asking(&one, "{to: b, when: ok}, {to: c, when: no}");
        assert_eq!(shown(&self::found(&text)), "");
    }
    // A signed statement that does not say so says something else.
    let one = "ok: {webhook: {key: K}, expect: {status: good}}";
    let text = asking(one, "{to: b, when: ok}, {to: c, when: receipt(webhook).status == 'bad'}");
    assert_eq!(shown(&self::found(&text)), "");
}

#[test]
fn j15_an_expectation_that_no_result_meets() {
    for expect in [
        "passed: \">=1\", total: 0",
        "passed: \"<0\"",
        "passed: -1",
        "passed: 2, failed: 2, total: 3",
        "passed: 9223372036854775807, failed: \">=1\", total: 1",
    ] {
        let one = format!("ok: {{tool: t, parse: tap, expect: {{exit: 0, {expect}}}}}");
        let found = found(&asking(&one, "{to: b, when: ok}, {to: c, when: receipt(t).exit == 7}"));
        assert!(codes(&found).contains(&"UNSATISFIABLE_EXPECT"), "{expect}: {}", shown(&found));
    }
    for expect in
        ["passed: \">=1\", total: \">=1\"", "passed: 1, failed: 1, total: 2", "failed: 0, total: 1"]
    {
        let one = format!("ok: {{tool: t, parse: tap, expect: {{exit: 0, {expect}}}}}");
        let found = found(&asking(&one, "{to: b, when: ok}, {to: c, when: receipt(t).exit == 7}"));
        assert!(!codes(&found).contains(&"UNSATISFIABLE_EXPECT"), "{expect}: {}", shown(&found));
    }
    // Whoever signs may count as they like.
    let webhook = "ok: {webhook: {key: K}, expect: {passed: \"<0\"}}";
    let found = found(&asking(webhook, "{to: b, when: ok}, {to: c, when: receipt(t).exit == 7}"));
    assert_eq!(codes(&found), ["OVERLAPPING_EXITS"]);
}

#[test]
fn j06_an_end_that_is_reached_with_nothing_proven() {
    for (guard, path) in [
        ("\"true\"", ["go to b"].as_slice()),
        ("\"!ok\"", &["go to b"]),
        ("\"ok || !(receipt(t).exit == 0)\"", &["go to b"]),
    ] {
        let text =
            asking("ok: {tool: t}", &format!("{{to: b, when: {guard}}}, {{to: c, when: ok}}"));
        let found = found(&text);
        let vacuous = found.iter().find(|one| one.code == "NOTHING_PROVEN").unwrap();
        assert_eq!((vacuous.severity, vacuous.state.as_deref()), (Severity::Warning, Some("a")));
        assert_eq!(vacuous.path, path, "{guard}");
    }
    let steps = "sop: s\ncheckpoints: {ok: {tool: t}}\nstates:\n  a: {show: {tools: [t]}, next: [{to: c, when: ok}, {to: b, when: \"!ok\"}]}\n  b: {show: {tools: [t]}, next: [{to: c, when: \"!ok\"}]}\n  c: {final: true}\n";
    let found = found(steps);
    let vacuous = found.iter().find(|one| one.code == "NOTHING_PROVEN").unwrap();
    assert_eq!(vacuous.path, ["go to b", "go to c"]);
    // Who stops for a person releases nothing, and one call is something that was verified.
    for (from, to) in [
        ("c: {final: true}", "c: {final: true, needs: human}"),
        ("to: c, when: \"!ok\"", "to: c, when: \"receipt(t).exit != 0\""),
    ] {
        assert!(steps.contains(from));
        let found = self::found(&steps.replacen(from, to, 1));
        assert!(!codes(&found).contains(&"NOTHING_PROVEN"), "{to}: {}", shown(&found));
    }
}

#[test]
fn j10_a_step_that_is_gone_back_from_opens_nothing() {
    let text = "sop: s\n\
        checkpoints: {a: {tool: t, binds: workspace}, b: {tool: u, binds: workspace}}\n\
        states:\n\
        \x20 one: {show: {tools: [t, e]}, next: [{to: two, when: a}]}\n\
        \x20 two: {show: {tools: [u, e, {p: {when: b}}]}, on_stale: {goto: one}, next: [{to: done, when: \"receipt(p).exit == 0\"}]}\n\
        \x20 done: {final: true}\n\
        invariants: [{never: p, without: \"a && b\"}]\n";
    assert_eq!(shown(&found(text)), "");
    let aged = text.replacen("binds: workspace", "max_age: 5m", 1).replace("a && b", "a");
    assert_eq!(shown(&found(&aged)), "");
    for text in [text, &aged] {
        let free = text.replace("on_stale: {goto: one}, ", "");
        assert!(codes(&found(&free)).contains(&"BYPASS"), "{}", shown(&found(&free)));
    }
}

#[test]
fn j15_a_gate_whose_tool_is_not_visible() {
    let mend = ("tools: [edit]", "tools: [edit, test]");
    let beside = ["DEAD_END", "UNREACHABLE", "UNSATISFIABLE_GUARD"];
    let found = seeded(fixture!("gate_hidden"), "GATE_HIDDEN", &beside, mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j15_an_invariant_that_can_be_broken() {
    let mend = ("[test, push]", "[test, {push: {when: test.ok}}]");
    let found = seeded(fixture!("bypass"), "BYPASS", &[], mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j10_work_that_goes_on_breaks_an_invariant() {
    let text = fixture!("bypass").replace("{tool: test}", "{tool: test, binds: workspace}");
    let text = text.replace("[test, push]", "[edit, push]");
    let path = ["test: run test → passes", "go to push", "work changes", "push: run push"];
    let found = found(&text);
    let bypass = found.iter().find(|one| one.code == "BYPASS").unwrap();
    assert_eq!(bypass.path, path);
    let aged = text.replace("binds: workspace", "max_age: 5m");
    let path = ["test: run test → passes", "go to push", "test.ok runs out", "push: run push"];
    assert_eq!(self::found(&aged).iter().find(|one| one.code == "BYPASS").unwrap().path, path);
    // What lasts, and cannot be tried again there, cannot be lost.
    let lasts = text.replace(", binds: workspace", "");
    assert_eq!(shown(&self::found(&lasts)), "");
}

#[test]
fn j10_work_that_returns_brings_old_proofs_back() {
    // Both of them are never proven on the same work, and yet both hold once it is as it was.
    let text = "sop: s\n\
        checkpoints: {lint.ok: {tool: lint, binds: workspace}, test.ok: {tool: test}}\n\
        states:\n\
        \x20 a: {show: {tools: [lint]}, next: [{to: b, when: lint.ok}]}\n\
        \x20 b: {show: {tools: [edit]}, next: [{to: c, when: \"!lint.ok\"}]}\n\
        \x20 c: {show: {tools: [{push: {when: lint.ok}}]}, next: [{to: d, when: receipt(push).exit == 0}]}\n\
        \x20 d: {final: true}\n\
        invariants: [{never: push, without: test.ok}]\n";
    let found = found(text);
    let bypass = found.iter().find(|one| one.code == "BYPASS").unwrap();
    assert_eq!(bypass.path[bypass.path.len() - 2..], ["work changes back", "c: run push"]);
}

#[test]
fn j10_what_one_receipt_proved_comes_back_together() {
    let text = "sop: s\n\
        checkpoints: {one: {tool: t, binds: workspace}, other: {tool: t, binds: workspace}}\n\
        states:\n\
        \x20 a: {show: {tools: [t, {push: {when: one}}]}, next: [{to: b, when: receipt(push).exit == 0}], on_fail: {then: b}}\n\
        \x20 b: {final: true}\n\
        invariants: [{never: push, without: other}]\n";
    assert_eq!(codes(&found(text)), [""; 0]);
    // A receipt of another tool is about the work as it is then.
    let apart = text.replace("other: {tool: t,", "other: {tool: u,");
    assert!(codes(&found(&apart)).contains(&"BYPASS"));
}

#[test]
fn j15_a_procedure_without_an_end() {
    let mend = ("  edit: {show", "  done: {final: true}\n  edit: {show");
    let found = seeded(fixture!("no_final"), "NO_FINAL", &[], mend);
    insta::assert_snapshot!(shown(&found));
}

#[test]
fn j15_what_is_there_for_nothing() {
    for (text, code, mend) in [
        (
            fixture!("unused_checkpoint"),
            "UNUSED_CHECKPOINT",
            ("when: lint.ok", "when: lint.ok && test.ok"),
        ),
        (fixture!("unused_invariant"), "UNUSED_INVARIANT", ("git_comit", "git_commit")),
        (
            fixture!("fail_without_check"),
            "FAIL_WITHOUT_CHECK",
            ("tools: [read]", "tools: [read, test]"),
        ),
        (
            fixture!("stale_without_binding"),
            "STALE_WITHOUT_BINDING",
            ("{tool: test}", "{tool: test, binds: workspace}"),
        ),
        (
            fixture!("can_get_stuck"),
            "CAN_GET_STUCK",
            (
                "\"receipt(push).exit == 0\"}]",
                "\"receipt(push).exit == 0\"}], on_stale: {goto: test}",
            ),
        ),
    ] {
        let found = seeded(text, code, &[], mend);
        assert!(found.iter().all(|one| one.severity == Severity::Warning), "{}", shown(&found));
        insta::assert_snapshot!(code, shown(&found));
    }
}

#[test]
fn what_is_too_much_to_prove_is_an_error() {
    // Every bit of one receipt is asked for in a guard of its own.
    let exits: Vec<String> =
        (0..450).map(|number| format!("{{to: b, when: receipt(t).exit == {number}}}")).collect();
    let text = format!(
        "sop: s\nstates: {{a: {{show: {{tools: [t]}}, next: [{}]}}, b: {{final: true}}}}\n",
        exits.join(", ")
    );
    let found = found(&text);
    assert_eq!(codes(&found), ["TOO_LARGE_TO_PROVE"]);
    assert_eq!(found[0].severity, Severity::Error);
}

#[test]
fn a_call_that_has_other_arguments_decides_on_other_checkpoints() {
    // `t` with `fix` proves the one, and without it the other; a call with both does not exist.
    let text = "sop: s\n\
        checkpoints: {one: {tool: t, args: {mode: a}}, other: {tool: t, args: {mode: b}}}\n\
        states: {a: {show: {tools: [t]}, next: [{to: b, when: one && other}]}, b: {show: {tools: [u]}, next: [{to: c, when: receipt(u).exit == 0}]}, c: {final: true}}\n\
        invariants: [{never: u, without: \"!one\"}]\n";
    let found = found(text);
    assert_eq!(
        found[0].path,
        [
            "a: run t {\"mode\":\"b\"} → passes",
            "a: run t {\"mode\":\"a\"} → passes",
            "go to b",
            "b: run u"
        ]
    );
}
