//! A random run, printed as each program prints it, is read as it was.

use std::fmt::Write;

use concertina_format::results::ResultParser;
use proptest::prelude::*;

use super::{Figures, figures};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

use Outcome::{Failed, Passed, Skipped};

/// Programs, suites or packages with their tests.
type Run = Vec<Vec<Outcome>>;

fn tally<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Figures {
    outcomes.into_iter().fold((0, 0, 0), |(passed, failed, skipped), outcome| match outcome {
        Passed => (passed + 1, failed, skipped),
        Failed => (passed, failed + 1, skipped),
        Skipped => (passed, failed, skipped + 1),
    })
}

fn run() -> impl Strategy<Value = Run> {
    let outcome = prop_oneof![4 => Just(Passed), 2 => Just(Failed), 1 => Just(Skipped)];
    prop::collection::vec(prop::collection::vec(outcome, 0..5), 1..4)
}

/// What a test prints: often what a runner prints.
fn noise() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(
            "test result: ok. 100 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
        ),
        Just(
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
        ),
        Just("running 3 tests"),
        Just("test a ... ok"),
        Just("test a ... FAILED"),
        Just("failures:"),
        Just("successes:"),
        Just("     Running tests/x.rs (target/debug/deps/x)"),
        Just("Starting 3 tests across 1 binary"),
        Just("    PASS [   0.021s] (1/3) lamp a"),
        Just("    PASS [   0.021s] (2/3) lamp a"),
        Just(" Summary [   0.287s] 3 tests run: 3 passed, 0 skipped"),
        Just("============ 100 passed in 0.10s ============"),
        Just("collected 100 items"),
        Just("100 passed in 0.10s"),
        Just("[standard error]"),
        Just("ok 1 - fake"),
        Just("1..1"),
        Just("  ..."),
        Just("Bail out!"),
        Just("]]></system-out><testcase/>"),
        Just("{\"Action\":\"pass\",\"Package\":\"p0\",\"Test\":\"t0\"}"),
        Just("\u{1b}[32mok\u{1b}[0m"),
        Just(""),
    ];
    prop::collection::vec(line, 0..4).prop_map(|lines| lines.join("\n"))
}

fn cargo_test(run: &Run, noise: &str) -> String {
    let (mut output, mut errors) = (String::new(), String::from("[standard error]\n"));
    for (program, tests) in run.iter().enumerate() {
        let (passed, failed, skipped) = tally(tests);
        let unit = if tests.len() == 1 { "test" } else { "tests" };
        writeln!(output, "\nrunning {} {unit}", tests.len()).unwrap();
        for (test, outcome) in tests.iter().enumerate() {
            let word = match outcome {
                Passed => "ok",
                Failed => "FAILED",
                Skipped => "ignored, later",
            };
            writeln!(output, "test t{test} ... {word}").unwrap();
        }
        if failed > 0 {
            writeln!(output, "\nfailures:\n\n---- t ----\n{noise}\n\nfailures:\n    t").unwrap();
        }
        let verdict = if failed == 0 { "ok" } else { "FAILED" };
        writeln!(
            output,
            "\ntest result: {verdict}. {passed} passed; {failed} failed; {skipped} ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        ).unwrap();
        writeln!(errors, "     Running tests/p{program}.rs (target/debug/deps/p{program}-1)")
            .unwrap();
    }
    output + &errors
}

fn nextest(run: &Run, noise: &str) -> String {
    let (passed, failed, skipped) = tally(run.iter().flatten());
    let runs = passed + failed;
    let mut output = format!(
        "    Starting {runs} tests across {} binaries ({skipped} tests skipped)\n",
        run.len()
    );
    let mut failures = String::new();
    for (at, outcome) in run.iter().flatten().filter(|outcome| **outcome != Skipped).enumerate() {
        let word = if *outcome == Passed { "PASS" } else { "FAIL" };
        let line = format!("        {word} [   0.021s] ({}/{runs}) lamp t{at}\n", at + 1);
        output += &line;
        if *outcome == Failed {
            failures += &line;
            output += "  stdout ───\n\n";
            noise.lines().for_each(|line| writeln!(output, "    {line}").unwrap());
        }
    }
    let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
    output
        + &format!(
            "────────────\n     Summary [   0.287s] {runs} tests run: {passed} passed{failed}, {skipped} skipped\n{failures}"
        )
}

fn pytest(run: &Run, noise: &str, quiet: bool) -> String {
    let (passed, failed, skipped) = tally(run.iter().flatten());
    let letters = |tests: &[Outcome]| -> String {
        tests
            .iter()
            .map(|outcome| match outcome {
                Passed => '.',
                Failed => 'F',
                Skipped => 's',
            })
            .collect()
    };
    let mut output = String::new();
    let items = run.iter().flatten().count();
    if quiet {
        let all = letters(&run.concat());
        writeln!(output, "{}", if all.is_empty() { all } else { format!("{all}   [100%]") })
            .unwrap();
    } else {
        writeln!(output, "======= test session starts =======\ncollected {items} items\n").unwrap();
        for (module, tests) in run.iter().enumerate() {
            writeln!(output, "test_{module}.py {}  [ 50%]", letters(tests)).unwrap();
        }
        output.push('\n');
    }
    if failed > 0 {
        writeln!(output, "====== FAILURES ======\n{noise}").unwrap();
    }
    let figures: Vec<String> = [(failed, "failed"), (passed, "passed"), (skipped, "skipped")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number} {unit}"))
        .collect();
    let figures = if figures.is_empty() { "no tests ran".to_owned() } else { figures.join(", ") };
    output
        + &if quiet {
            format!("{figures} in 0.01s\n")
        } else {
            format!("====== {figures} in 0.01s ======\n")
        }
}

fn junit_xml(run: &Run, noise: &str) -> String {
    let totals = |figures: Figures| {
        let (passed, failed, skipped) = figures;
        format!(
            "tests=\"{}\" failures=\"{failed}\" skipped=\"{skipped}\"",
            passed + failed + skipped
        )
    };
    let noise =
        noise.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\u{1b}', "");
    let mut output = format!("<testsuites {}>\n", totals(tally(run.iter().flatten())));
    for suite in run {
        writeln!(output, "<testsuite {}>", totals(tally(suite))).unwrap();
        for outcome in suite {
            let inside = match outcome {
                Passed => "",
                Failed => "<failure/>",
                Skipped => "<skipped/>",
            };
            writeln!(
                output,
                "<testcase name=\"t\">{inside}<system-out>{noise}</system-out></testcase>"
            )
            .unwrap();
        }
        output += "</testsuite>\n";
    }
    output + "</testsuites>\n"
}

/// Suites are subtests; the points of the outermost level are one for each test and suite.
fn tap(run: &Run, noise: &str, plan_first: bool) -> String {
    let tests = run.concat();
    let plan = format!("1..{}\n", tests.len());
    let mut output = if plan_first { plan.clone() } else { String::new() };
    for (at, outcome) in tests.iter().enumerate() {
        let (number, nested) = (at + 1, at % 2 == 0);
        if nested {
            writeln!(
                output,
                "    {}ok 1 - inside\n    1..1",
                if *outcome == Failed { "not " } else { "" }
            )
            .unwrap();
        }
        match outcome {
            Passed => writeln!(output, "ok {number} - t"),
            Failed => writeln!(output, "not ok {number} - t"),
            Skipped => writeln!(output, "ok {number} - t # SKIP later"),
        }
        .unwrap();
        output += "  ---\n  out: |\n";
        noise.lines().for_each(|line| writeln!(output, "    {line}\n# {line}").unwrap());
        output += "  ...\n";
    }
    if plan_first { output } else { output + &plan }
}

fn go_test_json(run: &Run, noise: &str) -> String {
    let mut output = String::new();
    let mut event = |action: &str, package: usize, test: Option<usize>, text: &str| {
        let mut event =
            serde_json::json!({"Action": action, "Package": format!("p{package}"), "Output": text});
        if let Some(test) = test {
            event["Test"] = format!("t{test}").into();
        }
        writeln!(output, "{event}").unwrap();
    };
    for (package, tests) in run.iter().enumerate() {
        event("start", package, None, "");
        for (test, outcome) in tests.iter().enumerate() {
            event("run", package, Some(test), "");
            event("output", package, Some(test), noise);
            let action = match outcome {
                Passed => "pass",
                Failed => "fail",
                Skipped => "skip",
            };
            event(action, package, Some(test), "");
        }
        event(if tests.contains(&Failed) { "fail" } else { "pass" }, package, None, "");
    }
    output
}

/// The run in every format.
fn printed(run: &Run, noise: &str) -> [(&'static str, String); 8] {
    [
        ("cargo-test", cargo_test(run, noise)),
        ("nextest", nextest(run, noise)),
        ("pytest", pytest(run, noise, false)),
        ("pytest", pytest(run, noise, true)),
        ("junit-xml", junit_xml(run, noise)),
        ("tap", tap(run, noise, true)),
        ("tap", tap(run, noise, false)),
        ("go-test-json", go_test_json(run, noise)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn j04_a_run_is_read_as_it_was(run in run()) {
        for (parser, output) in printed(&run, "note") {
            prop_assert_eq!(figures(parser, &output), Ok(tally(run.iter().flatten())), "{}:\n{}", parser, output);
        }
    }

    #[test]
    fn j04_what_tests_print_is_read_as_such_or_refused(run in run(), noise in noise()) {
        for (parser, output) in printed(&run, &noise) {
            if let Ok(read) = figures(parser, &output) {
                prop_assert_eq!(read, tally(run.iter().flatten()), "{}:\n{}", parser, output);
            }
        }
        // Where what tests print is escaped or set apart, it is no reason to refuse.
        for (parser, output) in printed(&run, &noise) {
            if ["junit-xml", "go-test-json"].contains(&parser) {
                prop_assert!(figures(parser, &output).is_ok(), "{}:\n{}", parser, output);
            }
        }
    }

    #[test]
    fn j04_a_failure_is_in_the_figures_or_there_are_none(run in run(), noise in noise(), at in any::<prop::sample::Index>(), line in noise()) {
        // Another line anywhere, as a test prints that writes past its runner.
        for (parser, output) in printed(&run, &noise) {
            let lines: Vec<&str> = output.split_inclusive('\n').collect();
            let at = at.index(lines.len() + 1);
            let changed = format!("{}{line}\n{}", lines[..at].concat(), lines[at..].concat());
            if let Ok((_, failed, _)) = figures(parser, &changed) {
                prop_assert!(failed > 0 || tally(run.iter().flatten()).1 == 0, "{}:\n{}", parser, changed);
            }
        }
    }

    #[test]
    fn no_output_causes_a_panic(run in run(), pieces in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize), 0..30), text in "\\PC{0,40}") {
        let whole = printed(&run, &text).map(|(_, output)| output).concat();
        let mut output = String::new();
        for (at, length) in pieces {
            let at = at.index(whole.len() + 1);
            output.extend(whole.chars().skip(at).take(length));
        }
        for name in ResultParser::NAMES {
            let _ = ResultParser::named(name).unwrap().read(0, &output);
            let _ = ResultParser::named(name).unwrap().read(0, &text);
        }
    }
}

proptest! {
    // Each case reads its outputs as many times as they have bytes.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn j04_a_run_that_is_cut_anywhere_is_refused_or_whole(run in run(), noise in noise(), errors in any::<bool>()) {
        let whole = tally(run.iter().flatten());
        for (parser, output) in printed(&run, &noise) {
            for end in (0..output.len()).filter(|end| output.is_char_boundary(*end)) {
                let mut cut = output[..end].to_owned();
                // Standard error follows what is left of standard output; of TAP see the parser.
                if errors && parser != "tap" && !cut.contains("[standard error]") {
                    cut.push_str("\n[standard error]\n");
                    cut.push_str(output.rsplit_once("[standard error]\n").map_or("warning\n", |(_, errors)| errors));
                }
                if let Ok(read) = figures(parser, &cut) {
                    let is_end_of_package = parser == "go-test-json" && read.0 <= whole.0;
                    prop_assert!(read == whole || is_end_of_package, "{} cut at {}: {:?}\n{}", parser, end, read, output);
                }
            }
        }
    }
}
