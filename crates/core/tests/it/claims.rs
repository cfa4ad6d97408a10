//! What a model says that it did, held against what was done.

use concertina_core::procedure::Machine;
use concertina_core::session::{Claim, Claimable, Standing};
use concertina_types::{Event, ToolName};

use crate::kit::{Bench, tool, tool_name};

fn tools() -> Vec<ToolName> {
    ["db/sql_query", "clock", "shell/run-tests"].map(tool_name).to_vec()
}

/// The claims about tools in `said`.
fn claims_in(said: &str, log: &[Event], tools: &[ToolName]) -> Vec<Claim> {
    let named = Claimable { tools, procedures: &[] };
    concertina_core::session::claims_in(said, log, &|_| None, named)
}

#[test]
fn i09_only_a_report_that_names_a_tool_is_a_claim() {
    let table: &[(&str, &[&str])] = &[
        ("I ran db/sql_query and got 12 rows.", &["db/sql_query"]),
        ("`sql_query` returned 12 rows.", &["db/sql_query"]),
        ("The db__sql_query tool reported nothing.", &["db/sql_query"]),
        ("I executed run-tests: all passed.", &["shell/run-tests"]),
        ("我已调用 db/sql_query，返回 12 行。", &["db/sql_query"]),
        ("执行了 run-tests，测试通过了。", &["shell/run-tests"]),
        ("I checked `clock` and ran run-tests.", &["clock", "shell/run-tests"]),
        // Plans, wishes, denials, questions, and everyday words are none.
        ("I will run db/sql_query next.", &[]),
        ("You can use db/sql_query for this.", &[]),
        ("I have not called db/sql_query.", &[]),
        ("Has db/sql_query returned anything?", &[]),
        ("Let me check what sql_query returned.", &[]),
        ("如果 db/sql_query 返回错误，我就停下。", &[]),
        ("I ran clock and it returned noon.", &["clock"]),
        ("The clock tool returned noon.", &["clock"]),
        ("I called the clock and it returned noon.", &["clock"]),
        ("我已经运行了 clock，返回了 12 点。", &["clock"]),
        ("I will run clock next.", &[]),
        ("I looked at the clock on the wall and it showed noon.", &[]),
        ("The query returned 12 rows.", &[]),
        ("mydb/sql_query_2 returned 12 rows.", &[]),
        ("", &[]),
    ];
    for (said, named) in table {
        let found = claims_in(said, &[], &tools());
        let names: Vec<&str> =
            found.iter().filter_map(|claim| Some(claim.tool.as_ref()?.as_str())).collect();
        assert_eq!(names, *named, "{said}");
        assert!(found.iter().all(|claim| claim.standing == Standing::NoCall));
    }
}

#[test]
fn i09_a_call_that_ended_well_backs_what_is_said_after_it() {
    let mut bench = Bench::of(vec![], vec![tool("clock"), tool("db/sql_query")]);
    bench.run("clock", "noon");
    let found = claims_in("`clock` returned noon. `sql_query` returned 3.", &bench.log, &tools());
    let standings: Vec<_> = found.iter().map(|claim| (claim.standing, claim.call)).collect();
    assert_eq!(standings, [(Standing::Backed, Some(1)), (Standing::NoCall, None)]);
}

#[test]
fn i09_a_call_that_failed_backs_only_that_it_failed() {
    let mut bench = Bench::of(vec![], vec![tool("clock")]);
    let (origin, mut decision) = bench.call("clock", serde_json::json!({}));
    let ticket = crate::kit::intent(&mut decision).admit(&bench.log).unwrap();
    let outcome =
        concertina_types::CallOutcome::Failed { code: "TIMEOUT".into(), message: "late".into() };
    bench.apply(concertina_core::session::Command::Done {
        origin,
        id: ticket.id(),
        outcome,
        output: String::new(),
        held: concertina_core::session::Held::default(),
    });
    let standing = |said: &str| claims_in(said, &bench.log, &tools())[0].standing;
    assert_eq!(standing("`clock` returned noon."), Standing::OnlyFailed);
    assert_eq!(standing("I called `clock`; it failed with a time-out."), Standing::Backed);
}

const PROCEDURE: &str = r#"
sop: commit-gate
version: 1.0.0
checkpoints:
  lint.ok: {tool: lint, expect: {exit: 0}, binds: workspace}
  unit_tests: {tool: run, expect: {exit: 0}, binds: workspace}
  smoke_tests: {tool: smoke, expect: {exit: 0}}
  ship.ok: {human: {role: maintainer, challenge: "commit"}}
states:
  work: {show: {tools: [lint, run, smoke]}, next: [{to: done, when: "lint.ok && unit_tests && smoke_tests && ship.ok"}]}
  done: {final: true}
"#;

#[test]
fn i09_a_sentence_says_of_a_checkpoint_that_it_holds() {
    let table: &[(&str, &[&str])] = &[
        ("Lint is clean.", &["lint.ok"]),
        ("The linter passed without errors.", &["lint.ok"]),
        ("Linting reports no errors.", &["lint.ok"]),
        ("All unit tests pass.", &["unit_tests"]),
        ("Unit test run: 12 passed, 0 failed ✅", &["unit_tests"]),
        ("Tests: ✅", &[]),
        ("The smoke tests are green and the unit tests succeeded.", &["unit_tests", "smoke_tests"]),
        ("The maintainer approved it.", &["ship.ok"]),
        ("单元 unit 测试全部通过了。", &["unit_tests"]),
        // Plans, conditions, questions and failures say no such thing.
        ("I will run the unit tests until they pass.", &[]),
        ("Once lint is clean I will commit.", &[]),
        ("Do the unit tests pass?", &[]),
        ("The unit tests failed: 3 passed, 1 failed.", &[]),
        ("Unit tests: 2 passed, 10 failed.", &[]),
        ("Lint does not pass.", &[]),
        ("I cleaned the kitchen; the light is green.", &[]),
        ("I wrote a unit test.", &[]),
        ("Unit tests passed, smoke tests failed.", &["unit_tests"]),
        ("All checks pass.", &["lint.ok", "unit_tests", "smoke_tests", "ship.ok"]),
        ("Make sure all unit tests pass.", &[]),
        ("Once the unit tests pass I commit.", &[]),
        ("The user says that the unit tests passed.", &[]),
        ("> The unit tests passed.", &[]),
    ];
    let procedures = [Machine::new(PROCEDURE).unwrap()];
    let named = Claimable { tools: &[], procedures: &procedures };
    for (said, expected) in table {
        let found = concertina_core::session::claims_in(said, &[], &|_| None, named);
        let names: Vec<&str> =
            found.iter().filter_map(|claim| claim.checkpoint.as_deref()).collect();
        assert_eq!(names, *expected, "{said}");
        assert!(found.iter().all(|claim| claim.standing == Standing::NotProven), "{said}");
    }
}
