//! How long the check of a procedure takes: 200 states and 20 checkpoints, usual and of the worst kind.

#![allow(clippy::unwrap_used, reason = "a benchmark may stop")]

use std::fmt::Write as _;

use concertina_core::procedure::check;
use concertina_format::procedure::{Procedure, parse};

fn main() {
    divan::main();
}

const STATES: usize = 200;
const CHECKPOINTS: usize = 20;

fn procedure(kind: &str) -> Procedure {
    let mut text = "sop: large\ncheckpoints:\n".to_owned();
    for number in 0..CHECKPOINTS {
        let _ = writeln!(text, "  c{number}: {{tool: t{number}, binds: workspace, max_age: 1h}}");
    }
    text.push_str("states:\n");
    let all: Vec<String> = (0..CHECKPOINTS).map(|number| format!("t{number}")).collect();
    let all = all.join(", ");
    for state in 0..STATES {
        let (here, before) = (state % CHECKPOINTS, (state + CHECKPOINTS - 1) % CHECKPOINTS);
        let other = (state + 7) % CHECKPOINTS;
        let (next, back) = (state + 1, state.saturating_sub(2));
        let when = format!("c{here} && c{before}");
        let more = if [here, before].contains(&1) { "" } else { "t1, " };
        let guarded = format!("{{ship: {{when: {when} && c1}}}}");
        let line = match kind {
            // Each state has its own tools, goes back where something went stale, and counts failures.
            "usual" => format!(
                "show: {{tools: [t{here}, t{before}, {more}edit, {guarded}]}}, next: [{{to: s{next}, when: {when}}}], \
                 on_stale: {{goto: s{back}}}, on_fail: {{max: 3, then: s{back}}}"
            ),
            // Every state shows every tool.
            "everything everywhere" => format!(
                "show: {{tools: [{all}, {guarded}]}}, next: [{{to: s{next}, when: {when}}}, \
                 {{to: s{STATES}, when: \"c{other} && !c{here}\"}}]"
            ),
            // The same, and the invariant can be broken from the 20th state on.
            _ => {
                let ship = if state < 20 { &guarded } else { "ship" };
                format!("show: {{tools: [{all}, {ship}]}}, next: [{{to: s{next}, when: {when}}}]")
            }
        };
        let _ = writeln!(text, "  s{state}: {{{line}}}");
    }
    let _ = writeln!(text, "  s{STATES}: {{final: true}}");
    text.push_str("invariants: [{never: ship, without: c1}]\n");
    parse(&text).procedure.unwrap()
}

#[divan::bench(args = ["usual", "everything everywhere", "broken"], sample_count = 10)]
fn check_200_states(bencher: divan::Bencher, kind: &str) {
    let procedure = procedure(kind);
    let is_broken = check(&procedure).iter().any(|one| one.code == "BYPASS");
    assert_eq!(is_broken, kind == "broken");
    bencher.bench_local(|| check(&procedure));
}

#[divan::bench]
fn check_the_commit_gate(bencher: divan::Bencher) {
    let text = include_str!("../../../fixtures/procedures/commit-gate.yaml");
    let procedure = parse(text).procedure.unwrap();
    bencher.bench_local(|| check(&procedure));
}
