//! Outputs that pretend, contradict themselves or attack the reader.

use std::fmt::Write;

use super::{Figures, INCONSISTENT, UNREADABLE, figures, read};

const OK_LINE: &str =
    "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
const RUNNING: &str = "[standard error]\n     Running tests/a.rs (target/debug/deps/a-1)\n";

/// A block of libtest without what stands around it.
fn cargo(lines: &str) -> String {
    format!("\n{lines}\n\n{RUNNING}")
}

#[test]
fn j08_a_run_without_tests_has_passed_none() {
    for (parser, output) in [
        (
            "cargo-test",
            cargo(
                "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.00s",
            ),
        ),
        ("junit-xml", "<testsuites/>".to_owned()),
        ("junit-xml", "<testsuite tests=\"0\"></testsuite>".to_owned()),
        ("tap", "1..0 # SKIP no display\n".to_owned()),
        (
            "go-test-json",
            "{\"Action\":\"start\",\"Package\":\"a\"}\n{\"Action\":\"skip\",\"Package\":\"a\"}\n"
                .to_owned(),
        ),
        ("pytest", "\nno tests ran in 0.01s\n".to_owned()),
    ] {
        assert_eq!(figures(parser, &output), Ok((0, 0, 0)), "{parser}");
    }
}

#[test]
fn j04_cargo_test_believes_no_summary_that_the_results_do_not_bear_out() {
    let failed = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    let failing =
        "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n";
    let cases: &[(&str, String, Result<Figures, &str>)] = &[
        (
            "fits",
            cargo(&format!("running 2 tests\ntest a ... ok\ntest b ... ok\n\n{OK_LINE}")),
            Ok((2, 0, 0)),
        ),
        (
            "more than ran",
            cargo(&format!("running 1 test\ntest a ... ok\n\n{OK_LINE}")),
            INCONSISTENT,
        ),
        (
            "fewer results",
            cargo(&format!("running 2 tests\ntest a ... ok\n\n{OK_LINE}")),
            INCONSISTENT,
        ),
        (
            "a result too many",
            cargo(&format!(
                "running 2 tests\ntest a ... ok\ntest b ... ok\ntest c ... ok\n\n{OK_LINE}"
            )),
            INCONSISTENT,
        ),
        (
            "a failure not told",
            cargo(&format!("running 2 tests\ntest a ... ok\ntest b ... FAILED\n\n{OK_LINE}")),
            INCONSISTENT,
        ),
        ("no block", cargo(OK_LINE), INCONSISTENT),
        (
            "after the block",
            cargo(&format!(
                "running 2 tests\ntest a ... ok\ntest b ... ok\n\n{OK_LINE}\n{OK_LINE}"
            )),
            INCONSISTENT,
        ),
        (
            "printed by a failing test",
            cargo(&format!("{failing}{OK_LINE}\nrunning 9 tests\n\nfailures:\n    b\n\n{failed}")),
            Ok((1, 1, 0)),
        ),
        (
            "the real summary, early",
            cargo(&format!("{failing}{failed}\n\nfailures:\n    b\n\n{failed}")),
            INCONSISTENT,
        ),
        (
            "a whole block printed",
            cargo(&format!(
                "{failing}{failed}\n\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n    b\n\n{failed}"
            )),
            INCONSISTENT,
        ),
        ("ended by a test", cargo("running 2 tests\ntest a ... ok"), UNREADABLE),
        (
            "ended, then another",
            cargo(&format!(
                "running 2 tests\ntest a ... ok\n\nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\n{OK_LINE}"
            )),
            UNREADABLE,
        ),
        ("not compiled", "[standard error]\nerror: could not compile `a`\n".to_owned(), UNREADABLE),
        (
            "one program silent",
            format!(
                "{}     Running tests/b.rs (target/debug/deps/b-1)\n",
                cargo(&format!("running 2 tests\ntest a ... ok\ntest b ... ok\n\n{OK_LINE}"))
            ),
            INCONSISTENT,
        ),
        (
            "cargo silent",
            format!("running 2 tests\ntest a ... ok\ntest b ... ok\n\n{OK_LINE}\n"),
            UNREADABLE,
        ),
        (
            "benchmarks",
            cargo(
                "running 1 test\ntest a ... bench:           1 ns/iter (+/- 0)\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 1 measured; 3 filtered out; finished in 0.00s",
            ),
            Ok((0, 0, 0)),
        ),
        (
            "hidden by a cursor",
            cargo(&format!("running 2 tests\ntest a ... ok\n\u{1b}[2Ktest b ... ok\n\n{OK_LINE}")),
            INCONSISTENT,
        ),
        (
            "a huge number",
            cargo(
                "running 99999999999999999999 tests\n\ntest result: ok. 99999999999999999999 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            ),
            UNREADABLE,
        ),
    ];
    for (case, output, expected) in cases {
        assert_eq!(figures("cargo-test", output), *expected, "{case}");
    }
}

const STARTING: &str = "────────────\n    Starting 2 tests across 1 binary\n";
const PASS_1: &str = "        PASS [   0.021s] (1/2) lamp a\n";
const PASS_2: &str = "        PASS [   0.021s] (2/2) lamp b\n";
const FAIL_2: &str = "        FAIL [   0.021s] (2/2) lamp b\n";
const BOTH: &str = "     Summary [   0.287s] 2 tests run: 2 passed, 0 skipped\n";
const ONE: &str = "     Summary [   0.287s] 2 tests run: 1 passed, 1 failed, 0 skipped\n";

#[test]
fn j04_nextest_believes_no_summary_that_the_results_do_not_bear_out() {
    let cases: &[(&str, &[&str], Result<Figures, &str>)] = &[
        ("fits", &[STARTING, PASS_1, PASS_2, BOTH], Ok((2, 0, 0))),
        ("a result is missing", &[STARTING, PASS_1, BOTH], INCONSISTENT),
        ("a result twice", &[STARTING, PASS_1, PASS_1, PASS_2, BOTH], INCONSISTENT),
        ("a failure not told", &[STARTING, PASS_1, FAIL_2, BOTH], INCONSISTENT),
        (
            "printed by a failing test",
            &[STARTING, PASS_1, FAIL_2, BOTH, ONE, FAIL_2],
            Ok((1, 1, 0)),
        ),
        ("printed before a failure", &[STARTING, PASS_1, PASS_2, BOTH, FAIL_2, ONE], INCONSISTENT),
        ("two summaries", &[STARTING, PASS_1, PASS_2, BOTH, BOTH], INCONSISTENT),
        (
            "two runs",
            &[STARTING, PASS_1, PASS_2, BOTH, STARTING, PASS_1, FAIL_2, ONE],
            INCONSISTENT,
        ),
        ("no summary", &[STARTING, PASS_1, PASS_2], UNREADABLE),
        ("no start", &[PASS_1, PASS_2, BOTH], UNREADABLE),
        (
            "its own sum",
            &[
                STARTING,
                PASS_1,
                PASS_2,
                "     Summary [   0.287s] 1/2 tests run: 2 passed, 0 skipped\n",
            ],
            INCONSISTENT,
        ),
        (
            "flaky and slow",
            &[
                STARTING,
                "  TRY 1 FAIL [   0.021s] (───) lamp a\n",
                "  TRY 2 PASS [   0.021s] (1/2) lamp a\n",
                PASS_2,
                "     Summary [   0.287s] 2 tests run: 2 passed (1 slow, 1 flaky), 0 skipped\n",
            ],
            Ok((2, 0, 0)),
        ),
        (
            "interrupted",
            &[STARTING, PASS_1, "     Summary [   0.287s] 1/2 tests run: 1 passed, 0 skipped\n"],
            UNREADABLE,
        ),
        (
            "stopped",
            &[
                STARTING,
                "        FAIL [   0.021s] (1/2) lamp a\n",
                "     Summary [   0.287s] 1/2 tests run: 0 passed, 1 failed, 0 skipped\n",
            ],
            Ok((0, 1, 0)),
        ),
        (
            "timed out",
            &[
                STARTING,
                PASS_1,
                "     TIMEOUT [  60.000s] (2/2) lamp b\n",
                "     Summary [  61.000s] 2 tests run: 1 passed, 1 timed out, 0 skipped\n",
            ],
            Ok((1, 1, 0)),
        ),
        (
            "an unknown success",
            &[STARTING, PASS_1, "     SHRUGGED [  60.000s] (2/2) lamp b\n", BOTH],
            INCONSISTENT,
        ),
    ];
    for (case, lines, expected) in cases {
        assert_eq!(figures("nextest", &lines.concat()), *expected, "{case}");
    }
}

#[test]
fn j04_pytest_believes_no_summary_that_was_not_collected() {
    const START: &str =
        "============================= test session starts ==============================\n";
    let cases: &[(&str, &str, Result<Figures, &str>)] = &[
        (
            "fits",
            "collected 2 items\n\na.py ..  [100%]\n\n===== 2 passed in 0.02s =====\n",
            Ok((2, 0, 0)),
        ),
        (
            "more than collected",
            "collected 2 items\n\n===== 100 passed in 0.02s =====\n",
            INCONSISTENT,
        ),
        (
            "fewer than collected",
            "collected 2 items\n\n===== 1 passed in 0.02s =====\n",
            UNREADABLE,
        ),
        (
            "not the last line",
            "collected 2 items\n\n===== 2 passed in 0.02s =====\nbye\n",
            UNREADABLE,
        ),
        ("printed, then ended", "collected 2 items\n\na.py .100 passed in 0.1s\n", UNREADABLE),
        ("without frame", "collected 2 items\n\n2 passed in 0.02s\n", UNREADABLE),
        (
            "named twice",
            "collected 2 items\n\n===== 2 passed, 0 failed, 0 failed in 0.02s =====\n",
            UNREADABLE,
        ),
        (
            "an unknown figure",
            "collected 2 items\n\n===== 2 passed, 1 shrugged in 0.02s =====\n",
            UNREADABLE,
        ),
        ("nothing collected", "\n===== 2 passed in 0.02s =====\n", UNREADABLE),
        (
            "collected twice",
            "collected 2 items\ncollected 100 items\n\n===== 100 passed in 0.02s =====\n",
            INCONSISTENT,
        ),
        (
            "errors",
            "collected 2 items\n\n===== 2 passed, 1 warning, 2 errors in 75.02s (0:01:15) =====\n",
            Ok((2, 2, 0)),
        ),
        (
            "strict",
            "collected 2 items\n\n===== 1 failed, 1 xpassed in 0.02s =====\n",
            Ok((1, 1, 0)),
        ),
        (
            "standard error forged",
            "collected 2 items\n\n===== 2 passed in 0.02s =====\n[standard error]\n== 2 failed in 0.02s ==\n[standard error]\nwarning\n",
            UNREADABLE,
        ),
    ];
    for (case, output, expected) in cases {
        assert_eq!(figures("pytest", &format!("{START}{output}")), *expected, "{case}");
    }
    for (case, output, expected) in [
        ("letters fit", "..s  [100%]\n2 passed, 1 skipped in 0.01s\n", Ok((2, 0, 1))),
        ("letters do not", ".F  [100%]\n2 passed in 0.01s\n", INCONSISTENT),
        ("no letters", "2 passed in 0.01s\n", INCONSISTENT),
        ("a collected line does not help", "collected 2 items\n2 passed in 0.01s\n", INCONSISTENT),
    ] {
        assert_eq!(figures("pytest", output), expected, "{case}");
    }
}

#[test]
fn j04_a_run_that_failed_is_not_undone_by_one_that_passed_behind_it() {
    let start = "===== test session starts =====\ncollected 1 item\n\n";
    let go = |package: &str, result: &str| {
        format!(
            "{{\"Action\":\"start\",\"Package\":\"{package}\"}}\n{{\"Action\":\"run\",\"Package\":\"{package}\",\"Test\":\"T\"}}\n{{\"Action\":\"{result}\",\"Package\":\"{package}\",\"Test\":\"T\"}}\n{{\"Action\":\"{result}\",\"Package\":\"{package}\"}}\n"
        )
    };
    let broken_off =
        |run: &str| run.lines().take(2).fold(String::new(), |all, line| all + line + "\n");
    let block = |result: &str, verdict: &str, passed: u8, failed: u8| {
        format!(
            "running 1 test\ntest a ... {result}\n\ntest result: {verdict}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        )
    };
    let junit = |body: &str, failures: u8| {
        format!(
            "<testsuite tests=\"1\" failures=\"{failures}\"><testcase>{body}</testcase></testsuite>\n"
        )
    };
    let nextest = |word: &str, passed: u8, failed: u8| {
        format!(
            "    Starting 1 test across 1 binary\n        {word} [   0.021s] (1/1) lamp a\n     Summary [   0.263s] 1 test run: {passed} passed, {failed} failed, 0 skipped\n"
        )
    };
    let framed =
        |figures: &str| format!("{start}a.py .  [100%]\n\n===== {figures} in 0.02s =====\n");
    let quiet = |letter: &str, figures: &str| format!("{letter}  [100%]\n{figures} in 0.01s\n");
    let cases: &[(&str, &str, String, Result<Figures, &str>)] = &[
        ("pytest", "framed", framed("1 failed") + &framed("1 passed"), INCONSISTENT),
        ("pytest", "broken off", format!("{start}a.py \n") + &framed("1 passed"), INCONSISTENT),
        ("pytest", "quiet", quiet("F", "1 failed") + &quiet(".", "1 passed"), INCONSISTENT),
        (
            "pytest",
            "quiet, with a failed run between two that are alike",
            quiet(".", "1 passed") + &quiet("F", "1 failed") + &quiet(".", "1 passed"),
            INCONSISTENT,
        ),
        (
            "pytest",
            "of both kinds",
            quiet(".", "1 passed") + &framed("1 failed") + &quiet(".", "1 passed"),
            INCONSISTENT,
        ),
        ("pytest", "framed, then quiet", framed("1 failed") + &quiet(".", "1 passed"), UNREADABLE),
        ("go-test-json", "one package", go("a", "fail") + &go("a", "pass"), INCONSISTENT),
        ("go-test-json", "two packages", go("a", "fail") + &go("b", "pass"), Ok((1, 1, 0))),
        (
            "go-test-json",
            "broken off before a test",
            "{\"Action\":\"start\",\"Package\":\"a\"}\n".to_owned() + &go("a", "pass"),
            INCONSISTENT,
        ),
        (
            "go-test-json",
            "broken off",
            broken_off(&go("a", "fail")) + &go("a", "pass"),
            INCONSISTENT,
        ),
        ("junit-xml", "documents", junit("<failure/>", 1) + &junit("", 0), UNREADABLE),
        ("tap", "documents", "1..1\nnot ok 1\n1..1\nok 1\n".to_owned(), INCONSISTENT),
        ("tap", "plans behind", "not ok 1\n1..1\nok 1\n1..1\n".to_owned(), INCONSISTENT),
        ("tap", "without plan", "not ok 1\nok 1\n1..1\n".to_owned(), INCONSISTENT),
        (
            "cargo-test",
            "blocks",
            cargo(&(block("FAILED", "FAILED", 0, 1) + &block("ok", "ok", 1, 0)))
                + "     Running tests/a.rs (target/debug/deps/a-1)\n",
            Ok((1, 1, 0)),
        ),
        (
            "nextest",
            "broken off",
            "    Starting 1 test across 1 binary\n".to_owned() + &nextest("PASS", 1, 0),
            INCONSISTENT,
        ),
        ("nextest", "runs", nextest("FAIL", 0, 1) + &nextest("PASS", 1, 0), INCONSISTENT),
    ];
    for (parser, case, output, expected) in cases {
        assert_eq!(figures(parser, output), *expected, "{parser}: {case}");
    }
}

#[test]
fn j04_tap_believes_no_result_that_is_not_planned_and_numbered() {
    for (case, output, expected) in [
        ("fits", "TAP version 14\n1..2\nok 1 - a\nok 2 - b\n", Ok((2, 0, 0))),
        ("without numbers", "1..2\nok\nnot ok - b\n", Ok((1, 1, 0))),
        ("printed", "1..2\nok 1 - a\nok 1 - fake\nok 2 - b\n", INCONSISTENT),
        ("printed ahead", "1..2\nok 1 - a\nok 2 - fake\nnot ok 2 - b\n", INCONSISTENT),
        ("a second plan", "1..1\nok 1 - a\n1..1\n", INCONSISTENT),
        ("a plan in the middle", "ok 1 - a\n1..2\nok 2 - b\n", INCONSISTENT),
        (
            "a second document",
            "TAP version 14\n1..1\nok 1\nTAP version 14\n1..1\nok 1\n",
            INCONSISTENT,
        ),
        ("fewer than planned", "1..3\nok 1\nok 2\n", UNREADABLE),
        ("more than planned", "1..1\nok 1\nok 2\n", INCONSISTENT),
        ("no plan", "ok 1\nok 2\n", UNREADABLE),
        ("given up", "1..2\nok 1\nBail out! no database\n", UNREADABLE),
        ("given up inside", "1..2\nok 1\n    1..2\n    Bail out!\n", UNREADABLE),
        ("a cut directive", "1..1\nok 1", UNREADABLE),
        (
            "skipped",
            "1..3\nok 1 # skip slow\nok 2 - a # SKIP\nnot ok 3 # TODO later\n",
            Ok((0, 0, 3)),
        ),
        ("a failure skipped", "1..1\nnot ok 1 # SKIP\n", Ok((0, 1, 0))),
        (
            "an escaped directive",
            "1..2\nnot ok 1 - a \\# TODO\nnot ok 2 - issue#TODO\n",
            Ok((0, 2, 0)),
        ),
        (
            "a nested failure hidden",
            "1..1\n    1..2\n    ok 1\n    not ok 2\nok 1 - parent\n",
            INCONSISTENT,
        ),
        (
            "a nested failure told",
            "1..1\n    1..2\n    ok 1\n    not ok 2\nnot ok 1 - parent\n",
            Ok((0, 1, 0)),
        ),
        ("a nested plan broken", "1..1\n    1..2\n    ok 1\nok 1 - parent\n", UNREADABLE),
        ("nested and unclosed", "    ok 1\n    1..1\n1..0\n", INCONSISTENT),
        (
            "nested twice",
            "1..1\n    1..1\n        ok 1\n        1..1\n    ok 1\nok 1\n",
            Ok((1, 0, 0)),
        ),
        ("nested, a level left out", "1..1\n        ok 1\n    1..0\nok 1\n", Ok((1, 0, 0))),
        (
            "printed in a diagnostic",
            "1..1\nnot ok 1\n  ---\n  out: |\n    ok 1\n    1..1\n  ...\n",
            Ok((0, 1, 0)),
        ),
        ("a diagnostic without end", "1..1\nok 1\n  ---\n  out: 1\n", UNREADABLE),
        ("a comment", "1..1\n# ok 2\nok 1\n", Ok((1, 0, 0))),
    ] {
        assert_eq!(figures("tap", output), expected, "{case}");
    }
}

/// Events as `go test` writes them: `action package test`, with `-` for no test.
fn events(events: &[&str]) -> String {
    let mut text = String::new();
    for event in events {
        let mut words = event.split(' ');
        let (action, package, test) =
            (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let test = if test == "-" { String::new() } else { format!(",\"Test\":\"{test}\"") };
        writeln!(text, "{{\"Action\":\"{action}\",\"Package\":\"{package}\"{test}}}").unwrap();
    }
    text
}

#[test]
fn j04_go_events_are_believed_only_in_an_order_that_go_gives_them() {
    let cases: &[(&str, &[&str], Result<Figures, &str>)] = &[
        ("fits", &["start p -", "run p A", "pass p A", "pass p -"], Ok((1, 0, 0))),
        ("run again", &["run p A", "pass p A", "run p A", "pass p A", "pass p -"], Ok((2, 0, 0))),
        ("ends twice", &["run p A", "pass p A", "pass p A", "pass p -"], INCONSISTENT),
        ("ends without a start", &["pass p A", "pass p -"], INCONSISTENT),
        ("starts twice", &["run p A", "run p A", "pass p A", "pass p -"], INCONSISTENT),
        ("the package passes, a test does not", &["run p A", "fail p A", "pass p -"], INCONSISTENT),
        ("a test has no end", &["run p A", "pass p -"], INCONSISTENT),
        ("a panic", &["run p A", "run p B", "fail p A", "fail p -"], Ok((0, 2, 0))),
        ("a package that fails alone", &["run p A", "pass p A", "fail p -"], Ok((1, 1, 0))),
        ("no end of the package", &["run p A", "pass p A"], UNREADABLE),
        ("more after the end", &["run p A", "pass p A", "pass p -", "run p B"], INCONSISTENT),
        (
            "two packages",
            &["run p A", "run q A", "pass q A", "fail p A", "pass q -", "fail p -"],
            Ok((1, 1, 0)),
        ),
        ("nothing built", &["build-fail p -"], INCONSISTENT),
        ("a benchmark", &["run p B", "bench p B", "pass p -"], Ok((0, 0, 0))),
    ];
    for (case, lines, expected) in cases {
        assert_eq!(figures("go-test-json", &events(lines)), *expected, "{case}");
    }
    for (case, line) in [
        ("two actions", "{\"Action\":\"fail\",\"Action\":\"pass\",\"Package\":\"p\"}"),
        ("text between", "ok  \tp\t0.1s"),
        ("no action", "{\"Package\":\"p\"}"),
    ] {
        let output = format!("{line}\n{}", events(&["pass p -"]));
        assert_eq!(figures("go-test-json", &output), UNREADABLE, "{case}");
    }
}

#[test]
fn j04_a_junit_report_is_believed_whole_and_alone_and_as_its_totals_say() {
    for (case, output, expected) in [
        (
            "fits",
            "<?xml version='1.0'?>\n<testsuite tests='2' failures='1'><testcase/><testcase><failure/></testcase></testsuite>\n",
            Ok((1, 1, 0)),
        ),
        (
            "failure and skip",
            "<testsuite><testcase><skipped/><failure/></testcase></testsuite>",
            Ok((0, 1, 0)),
        ),
        (
            "failure twice",
            "<testsuite><testcase><error/><failure/></testcase></testsuite>",
            Ok((0, 1, 0)),
        ),
        (
            "a suite that failed",
            "<testsuite tests='1' errors='1'><error/><testcase/></testsuite>",
            Ok((1, 1, 0)),
        ),
        (
            "flaky",
            "<testsuite tests='1' failures='0'><testcase><flakyFailure/></testcase></testsuite>",
            Ok((1, 0, 0)),
        ),
        (
            "not run",
            "<testsuite><testcase status='notrun'/><testcase status='run'/></testsuite>",
            Ok((1, 0, 1)),
        ),
        ("a case added", "<testsuite tests='1'><testcase/><testcase/></testsuite>", INCONSISTENT),
        ("a failure not shown", "<testsuite failures='1'><testcase/></testsuite>", INCONSISTENT),
        (
            "a failure not told",
            "<testsuite failures='0'><testcase><failure/></testcase></testsuite>",
            INCONSISTENT,
        ),
        (
            "errors elsewhere",
            "<testsuites errors='1'><testsuite><testcase/></testsuite></testsuites>",
            INCONSISTENT,
        ),
        (
            "a failing suite inside of none",
            "<testsuite failures='0'><testsuite><testcase><failure/></testcase></testsuite></testsuite>",
            INCONSISTENT,
        ),
        ("a total that is none", "<testsuite tests='many'><testcase/></testsuite>", UNREADABLE),
        (
            "printed",
            "<testsuite><testcase><failure/><system-out>&lt;testcase/&gt;<![CDATA[<testcase/>]]></system-out></testcase></testsuite>",
            Ok((0, 1, 0)),
        ),
        ("cut", "<testsuite><testcase/>", UNREADABLE),
        ("a case in a case", "<testsuite><testcase><testcase/></testcase></testsuite>", UNREADABLE),
        (
            "a case in a text",
            "<testsuite><properties><testcase/></properties></testsuite>",
            UNREADABLE,
        ),
        ("another root", "<html><testcase/></html>", UNREADABLE),
        ("a case alone", "<testcase/>", UNREADABLE),
        ("a second report", "<testsuite/><testsuite/>", UNREADABLE),
        ("text behind", "<testsuite/>\npassed", UNREADABLE),
        ("text before", "passed\n<testsuite/>", UNREADABLE),
        ("standard error", "<testsuite/>\n[standard error]\n<oops>\n", Ok((0, 0, 0))),
        ("crossed", "<testsuite><testcase></testsuite></testcase>", UNREADABLE),
        ("an attribute twice", "<testsuite tests='1' tests='0'/>", UNREADABLE),
        ("an entity", "<testsuite><testcase name='&lol;'/></testsuite>", UNREADABLE),
        (
            "an entity in a text",
            "<testsuite><system-out>&lol;</system-out></testsuite>",
            UNREADABLE,
        ),
        (
            "entities of XML",
            "<testsuite><system-out>&amp;&#10;&#x1F4A1;</system-out></testsuite>",
            Ok((0, 0, 0)),
        ),
        (
            "a document type",
            "<!DOCTYPE testsuite SYSTEM 'file:///etc/passwd'><testsuite/>",
            UNREADABLE,
        ),
    ] {
        assert_eq!(figures("junit-xml", output), expected, "{case}");
    }
    let laughs = "<!DOCTYPE a [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><testsuite name='&b;'/>";
    assert_eq!(figures("junit-xml", laughs), UNREADABLE);
    let deep = "<testsuite>".repeat(100_000);
    assert_eq!(figures("junit-xml", &deep), UNREADABLE);
}

#[test]
fn j07_a_run_of_which_one_test_failed_never_reads_as_passed() {
    let failing = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nnote\n\nfailures:\n    b\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    for word in ["ok", "FAILED", "ignored", "1", "0", "2", "failures:", "\n\n", "running", "test "]
    {
        for replacement in ["ok", "FAILED", "0", "1", "2", "\n", ""] {
            let output = cargo(&failing.replacen(word, replacement, 1));
            if let Ok((_, failed, _)) = read("cargo-test", &output) {
                assert!(failed > 0, "{word} as {replacement}");
            }
        }
    }
}

#[test]
fn megabytes_are_read() {
    const TESTS: usize = 50_000;
    let noise = "x".repeat(40);
    let lines = |line: &dyn Fn(usize) -> String| (1..=TESTS).map(line).collect::<String>();
    let outputs = [
        (
            "cargo-test",
            cargo(&format!(
                "running {TESTS} tests\n{}\ntest result: ok. {TESTS} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
                lines(&|at| format!("test {noise}{at} ... ok\n")),
            )),
        ),
        (
            "nextest",
            format!(
                "    Starting {TESTS} tests across 1 binary\n{}     Summary [   1.000s] {TESTS} tests run: {TESTS} passed, 0 skipped\n",
                lines(&|at| format!("        PASS [   0.021s] ({at:>5}/{TESTS}) {noise}\n")),
            ),
        ),
        ("pytest", format!("{}\n{TESTS} passed in 0.01s\n", ".".repeat(TESTS))),
        (
            "junit-xml",
            format!(
                "<testsuite tests='{TESTS}'>{}</testsuite>",
                lines(&|at| format!("<testcase name='{noise}{at}'/>\n"))
            ),
        ),
        ("tap", format!("{}1..{TESTS}\n", lines(&|at| format!("ok {at} - {noise}\n")))),
        (
            "go-test-json",
            format!(
                "{}{}",
                lines(&|at| events(&[
                    &format!("run p {noise}{at}"),
                    &format!("pass p {noise}{at}")
                ])),
                events(&["pass p -"]),
            ),
        ),
    ];
    for (parser, output) in &outputs {
        assert_eq!(figures(parser, output), Ok((TESTS.try_into().unwrap(), 0, 0)), "{parser}");
    }
    // What could make a careless reader go over the same text again and again.
    for piece in [
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}[31m",
        "(",
        " (",
        "[standard error]\n",
        "&amp;",
        "<a>",
        "<",
        "[",
        "{\"a\":",
        "# ",
        "\\",
        "    ok\n",
        "running 1 test\n",
        "1, ",
    ] {
        let output = piece.repeat(2_000_000 / piece.len());
        for (parser, _) in &outputs {
            let _ = figures(parser, &output);
            let _ = figures(parser, &format!("<testsuite>ok {output}"));
        }
    }
}
