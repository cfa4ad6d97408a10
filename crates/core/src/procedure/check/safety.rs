//! What must not happen, and what never does.

use concertina_format::procedure::{Exit, Guard, Invariant, Issuer, ShownTool, State};
use concertina_types::{Position, Severity};

use super::explore::{Explored, of};
use super::questions::speaks_as;
use super::sets::Set;
use super::{Draft, Finding};

pub(super) fn check(explored: &mut Explored<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    let procedure = explored.model.procedure;
    for (at, state) in procedure.states.iter().enumerate() {
        for shown in &state.show.tools {
            found.extend(closed_tool(explored, at, shown));
        }
        found.extend(exits(explored, at));
    }
    found.extend(hidden_gates(explored).into_iter().map(Draft::from));
    found.extend(never_proven(explored).into_iter().map(Draft::from));
    found
}

/// Invariants that can be broken, each with the states where.
pub(super) fn bypasses(explored: &mut Explored<'_>) -> Vec<Vec<Draft>> {
    let procedure = explored.model.procedure;
    let broken = procedure.invariants.iter().map(|invariant| {
        let without = explored.model.questions.guard(&invariant.without, &mut explored.model.sets);
        let states = procedure.states.iter().enumerate();
        let broken = states.filter_map(|(at, state)| {
            let shown = state.show.tools.iter().find(|shown| shown.tool == invariant.never)?;
            let open = explored.model.open(shown);
            let open = explored.model.sets.without(open, without);
            let calling = explored.calling(at);
            let bad = explored.model.sets.and(calling, open);
            let draft = Draft {
                finding: bypass(invariant, state, shown),
                to: Some((at, bad)),
                then: vec![format!("{}: run {}", state.name, shown.tool)],
            };
            (!bad.is_empty()).then_some(draft)
        });
        broken.collect()
    });
    broken.filter(|drafts: &Vec<Draft>| !drafts.is_empty()).collect()
}

fn bypass(invariant: &Invariant, state: &State, shown: &ShownTool) -> Finding {
    let Invariant { never, without, at } = invariant;
    let message = format!("`{never}` can run without `{without}`: in `{}`", state.name);
    let wanted = match &shown.when {
        Some(when) => Guard::All(vec![when.clone(), without.clone()]),
        None => without.clone(),
    };
    let help = format!("guard the tool itself there: `{never}: {{when: \"{wanted}\"}}`");
    Finding::error("BYPASS", *at, message).of_state(&state.name).help(help)
}

/// The situations in a state; where it is never entered, all that receipts can bring about.
fn situations(explored: &Explored<'_>, at: usize) -> Set {
    let reached = of(&explored.reached, at);
    if reached.is_empty() { explored.model.possible } else { reached }
}

/// A guard of a tool that never opens.
fn closed_tool(explored: &mut Explored<'_>, at: usize, shown: &ShownTool) -> Option<Draft> {
    let guard = shown.when.as_ref()?;
    let state = explored.model.procedure.states.get(at)?;
    let open = explored.model.open(shown);
    let here = situations(explored, at);
    if !explored.model.sets.and(here, open).is_empty() {
        return None;
    }
    let what = format!("`{}` in `{}`", shown.tool, state.name);
    Some(never_opens(explored, at, &what, guard, shown.at).of_state(&state.name).into())
}

fn never_opens(
    explored: &mut Explored<'_>,
    at: usize,
    what: &str,
    guard: &Guard,
    position: Position,
) -> Finding {
    let here = situations(explored, at);
    let mut lacking: Vec<String> = Vec::new();
    for leaf in guard.leaves() {
        let open = explored.model.questions.guard(leaf, &mut explored.model.sets);
        if explored.model.sets.and(here, open).is_empty() && !matches!(leaf, Guard::Constant(_)) {
            lacking.push(format!("`{leaf}`"));
        }
    }
    lacking.dedup();
    let (why, help) = if lacking.is_empty() {
        (
            "its parts never hold together".to_owned(),
            "write a guard that can hold, or remove what it guards",
        )
    } else {
        (
            format!("nothing shown there or before brings about {}", lacking.join(", ")),
            "show the tool that proves it in that state or on the way, or change the guard",
        )
    };
    let message = format!("{what} never opens at `{guard}`: {why}");
    Finding::error("UNSATISFIABLE_GUARD", position, message).help(help)
}

/// Exits that never open, and exits that stand in each other's way.
fn exits(explored: &mut Explored<'_>, at: usize) -> Vec<Draft> {
    let Some(state) = explored.model.procedure.states.get(at) else { return Vec::new() };
    let mut found = Vec::new();
    let here = situations(explored, at);
    let asked = explored.model.places.get(at).map_or(Set::NONE, |place| place.exits);
    let asked = explored.model.sets.and(here, asked);
    let mut before: Vec<(&Exit, Set)> = Vec::new();
    let mut earlier = Set::NONE;
    for exit in &state.exits {
        let open = explored.model.exit(exit);
        let sets = &mut explored.model.sets;
        let (ever, open) = (sets.and(here, open), sets.and(asked, open));
        let name = format!("the exit from `{}` to `{}`", state.name, exit.to);
        if ever.is_empty() {
            let finding = never_opens(explored, at, &name, &exit.when, exit.at);
            found.push(finding.of_state(&state.name).into());
        } else if !open.is_empty() && sets.is_within(open, earlier) {
            let over = before.iter().filter(|(_, other)| !sets.and(open, *other).is_empty());
            let over: Vec<&Exit> = over.map(|(one, _)| *one).collect();
            let guards: Vec<String> = over.iter().map(|one| format!("`{}`", one.when)).collect();
            let message = format!(
                "{name} is never taken: whenever `{}` holds, an exit before it is open ({})",
                exit.when,
                guards.join(", ")
            );
            // Where all of them lead to the same state, nothing is lost.
            let is_harmless = over.iter().all(|one| one.to == exit.to);
            let severity = if is_harmless { Severity::Warning } else { Severity::Error };
            let help = "put it before them, or remove it";
            let finding = Finding::new("OVERLAPPING_EXITS", severity, exit.at, message);
            found.push(finding.of_state(&state.name).help(help).into());
        } else {
            for (other, other_open) in &before {
                let both = explored.model.sets.and(open, *other_open);
                // Where the first of two is always taken at once, nothing but that keeps them apart.
                let severity = if both.is_empty() { Severity::Info } else { Severity::Warning };
                if other.to == exit.to || !may_meet(explored, other, exit) {
                    continue;
                }
                let message = format!(
                    "in `{}`, `{}` (to `{}`) and `{}` (to `{}`) do not exclude each other; the first is taken",
                    state.name, other.when, other.to, exit.when, exit.to
                );
                let help = format!(
                    "where that is not meant, let the second be `{}`",
                    and_not(&exit.when, &other.when)
                );
                let finding = Finding::new("OVERLAPPING_EXITS", severity, exit.at, message);
                found.push(finding.of_state(&state.name).help(help).into());
            }
        }
        before.push((exit, open));
        earlier = explored.model.sets.or(earlier, open);
    }
    found
}

/// Whether the guards of two exits can hold together, whatever came before.
fn may_meet(explored: &mut Explored<'_>, one: &Exit, other: &Exit) -> bool {
    let (one, other) = (explored.model.exit(one), explored.model.exit(other));
    let both = explored.model.sets.and(one, other);
    let both = explored.model.sets.and(both, explored.model.possible);
    let plain = explored.model.questions.plain(&mut explored.model.sets);
    !explored.model.sets.and(both, plain).is_empty()
}

fn and_not(guard: &Guard, other: &Guard) -> Guard {
    Guard::All(vec![guard.clone(), Guard::Not(Box::new(other.clone()))])
}

/// Checkpoints whose tool is shown in no state that a run comes to.
fn hidden_gates(explored: &Explored<'_>) -> Vec<Finding> {
    let procedure = explored.model.procedure;
    let entered = procedure.states.iter().zip(&explored.reached);
    let entered = entered.filter(|(_, reached)| !reached.is_empty()).map(|(state, _)| state);
    let shown: Vec<&str> =
        entered.flat_map(|state| &state.show.tools).map(|shown| shown.tool.as_str()).collect();
    let named: Vec<&str> =
        super::questions::guards(procedure).flat_map(Guard::checkpoints).collect();
    let mut found = Vec::new();
    for checkpoint in &procedure.checkpoints {
        let Issuer::Tool { tool, .. } = &checkpoint.issuer else { continue };
        if named.contains(&checkpoint.name.as_str()) && !shown.contains(&tool.as_str()) {
            let message = format!(
                "`{}` is proven by `{tool}`, which no state shows that a run comes to",
                checkpoint.name
            );
            let help = format!("add `{tool}` to `show.tools` of the state that waits for it");
            found.push(Finding::error("GATE_HIDDEN", checkpoint.at, message).help(help));
        }
    }
    found
}

/// Checkpoints that expect what no result says.
fn never_proven(explored: &mut Explored<'_>) -> Vec<Finding> {
    let (questions, sets) = (&explored.model.questions, &mut explored.model.sets);
    let mut found = Vec::new();
    for checkpoint in &explored.model.procedure.checkpoints {
        let Some(verdict) = questions.verdict(checkpoint) else { continue };
        let judged = questions.judged(speaks_as(checkpoint), &[checkpoint], sets);
        let proven = sets.literal(verdict, true);
        if sets.and(judged, proven).is_empty() {
            let expected = checkpoint.expect.iter().map(|one| format!("`{one}`"));
            let expected: Vec<String> = expected.collect();
            let message = format!(
                "`{}` is never proven: no result says {}",
                checkpoint.name,
                expected.join(" and ")
            );
            let help = "write what one result can say; no count is below zero, and `total` is the sum of the others";
            let finding = Finding::error("UNSATISFIABLE_EXPECT", checkpoint.at, message);
            found.push(finding.help(help));
        }
    }
    found
}
