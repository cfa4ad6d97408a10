//! Whether a run comes to an end.

use std::collections::BTreeSet;

use super::explore::{Explored, Situations, of};
use super::sets::Set;
use super::structure::has_end;
use super::{Draft, Finding, too_large};

pub(super) fn check(explored: &mut Explored<'_>) -> Vec<Draft> {
    let mut found = unreachable(explored);
    let mut told = BTreeSet::new();
    found.extend(restless(explored, &mut told));
    let is_restless = !told.is_empty();
    if has_end(explored.model.procedure) {
        match explored.ending.take() {
            Some(ending) => found.extend(trapped(explored, &ending, told)),
            // With an endless loop there is enough to mend first.
            None if is_restless => {}
            None => found.push(too_large(explored.model.procedure).into()),
        }
    }
    found.extend(never_stale(explored));
    found.extend(unproven_end(explored));
    found
}

/// An end to which a run comes before anything ran.
fn unproven_end(explored: &mut Explored<'_>) -> Option<Draft> {
    let states = &explored.model.procedure.states;
    let passed = explored.beginning();
    let (last, before) = passed.split_last()?;
    // Where a person has to act, nothing is released.
    let end = states.get(last.0).filter(|end| end.is_final && end.needs.is_none())?;
    let Some((from, point)) = before.last() else {
        let message = "the procedure ends where it begins, with nothing proven".to_owned();
        let help = "let another state be the first, with an exit that asks for a checkpoint";
        let finding = Finding::warning("NOTHING_PROVEN", end.at, message);
        return Some(finding.of_state(&end.name).help(help).into());
    };
    let from = states.get(*from)?;
    let open = from.exits.iter().find(|exit| {
        let open = explored.model.exit(exit);
        explored.model.sets.contains(open, point)
    })?;
    let message = format!(
        "a run comes to its end `{}` with nothing proven: `{}` holds in `{}` before anything ran",
        end.name, open.when, from.name
    );
    let help = "let the exit ask for something that was proven, such as `when: test.ok`";
    let finding = Finding::warning("NOTHING_PROVEN", open.at, message);
    let through = passed.iter().skip(1).filter_map(|(at, _)| states.get(*at));
    Some(Draft {
        finding: finding.of_state(&from.name).help(help),
        to: None,
        then: through.map(|state| format!("go to {}", state.name)).collect(),
    })
}

fn unreachable(explored: &Explored<'_>) -> Vec<Draft> {
    let procedure = explored.model.procedure;
    let states = procedure.states.iter().zip(&explored.reached);
    let never = states.filter(|(_, reached)| reached.is_empty()).map(|(state, _)| {
        let leads = |other: &&concertina_format::procedure::State| {
            other.name != state.name
                && (other.exits.iter().any(|exit| exit.to == state.name)
                    || other.on_stale.as_deref() == Some(state.name.as_str())
                    || other.on_fail.as_ref().is_some_and(|fail| fail.to == state.name))
        };
        let before: Vec<String> =
            procedure.states.iter().filter(leads).map(|one| format!("`{}`", one.name)).collect();
        let why = if before.is_empty() {
            "nothing leads there".to_owned()
        } else {
            format!("no run gets there from {}", before.join(", "))
        };
        let message = format!("`{}` is never entered: {why}", state.name);
        let help = if before.is_empty() {
            "add an exit that leads there, or remove the state"
        } else {
            "make what leads there possible, or remove the state"
        };
        Finding::error("UNREACHABLE", state.at, message).of_state(&state.name).help(help).into()
    });
    never.collect()
}

/// Exits that are open one after the other for ever.
fn restless(explored: &mut Explored<'_>, told: &mut BTreeSet<usize>) -> Vec<Draft> {
    let procedure = explored.model.procedure;
    let restless = explored.restless.clone();
    let mut found: Vec<Draft> = Vec::new();
    for (at, state) in procedure.states.iter().enumerate() {
        let count = explored.model.questions.count;
        let Some(point) = explored.model.sets.pick(of(&restless, at), count) else { continue };
        let rounds = explored.rounds(at, point);
        if rounds.is_empty() || rounds.iter().any(|one| told.contains(one)) {
            continue;
        }
        told.extend(&rounds);
        let names = names(explored, &rounds);
        let message = match rounds.as_slice() {
            [_] => format!(
                "{} leads to itself while its exit is open, so a run never comes to rest",
                names.join("")
            ),
            _ => format!(
                "the exits of {} are open one after the other, so a run never comes to rest",
                names.join(", ")
            ),
        };
        let help = "let one of them ask for something that the states before it do not prove";
        let first = rounds.first().and_then(|first| procedure.states.get(*first)).unwrap_or(state);
        let finding = Finding::error("ENDLESS_LOOP", first.at, message);
        let then = rounds.iter().cycle().skip(1).take(rounds.len());
        let then = then.filter_map(|one| procedure.states.get(*one));
        found.push(Draft {
            finding: finding.of_state(&first.name).help(help),
            to: first_of(&rounds, &restless),
            then: then.map(|state| format!("go to {}", state.name)).collect(),
        });
    }
    found
}

fn first_of(rounds: &[usize], situations: &Situations) -> Option<(usize, Set)> {
    rounds.first().map(|first| (*first, of(situations, *first)))
}

fn names(explored: &Explored<'_>, states: &[usize]) -> Vec<String> {
    let states = states.iter().filter_map(|at| explored.model.procedure.states.get(*at));
    states.map(|state| format!("`{}`", state.name)).collect()
}

/// States from which no end is reached, and situations that lead to none. Of those in `told` enough was said.
fn trapped(explored: &mut Explored<'_>, ending: &[Set], mut told: BTreeSet<usize>) -> Vec<Draft> {
    let procedure = explored.model.procedure;
    let mut found: Vec<Draft> = Vec::new();
    let is_trap = |at: usize| !of(&explored.reached, at).is_empty() && of(ending, at).is_empty();
    let traps: BTreeSet<usize> = (0..procedure.states.len()).filter(|at| is_trap(*at)).collect();
    let leads: Vec<BTreeSet<usize>> =
        (0..procedure.states.len()).map(|at| leads_to(explored, at)).collect();
    let next: Vec<BTreeSet<usize>> =
        leads.iter().map(|all| all.intersection(&traps).copied().collect()).collect();
    for at in &traps {
        let Some(state) = procedure.states.get(*at).filter(|_| !told.contains(at)) else {
            continue;
        };
        let all = beyond(*at, &next);
        let is_circle = all.len() > 1 && all.iter().all(|other| beyond(*other, &next).contains(at));
        if is_circle {
            told.extend(&all);
            let circle: Vec<usize> = all.into_iter().collect();
            let message = format!(
                "{} lead to each other and never to an end",
                names(explored, &circle).join(", ")
            );
            let help = "add an exit to a final state, and see that its guard can hold";
            let finding = Finding::error("ENDLESS_LOOP", state.at, message);
            found.push(Draft {
                finding: finding.of_state(&state.name).help(help),
                to: Some((*at, of(&explored.reached, *at))),
                then: Vec::new(),
            });
            continue;
        }
        let others: Vec<usize> = leads.get(*at).into_iter().flatten().copied().collect();
        let why = match (state.exits.is_empty(), others.is_empty()) {
            (true, true) => "it is not final and has no exits".to_owned(),
            (false, true) => "none of its exits opens".to_owned(),
            (_, false) => format!(
                "it leads to {}, and a run that comes from here does not end there",
                names(explored, &others).join(", ")
            ),
        };
        let message = format!("no end is reached from `{}`: {why}", state.name);
        let help = "add an exit that can open, or `final: true`";
        let finding = Finding::error("DEAD_END", state.at, message);
        found.push(Draft {
            finding: finding.of_state(&state.name).help(help),
            to: Some((*at, of(&explored.reached, *at))),
            then: Vec::new(),
        });
    }
    found.extend(stuck(explored, ending, &traps));
    found
}

/// The states that a run goes on to from the state at `at`.
fn leads_to(explored: &mut Explored<'_>, at: usize) -> BTreeSet<usize> {
    let moves: Vec<(usize, Set)> = explored
        .steps(at)
        .iter()
        .filter(|step| step.what.is_move())
        .map(|step| (step.to, step.when))
        .collect();
    let here = of(&explored.reached, at);
    let sets = &mut explored.model.sets;
    moves
        .into_iter()
        .filter(|(_, when)| !sets.and(here, *when).is_empty())
        .map(|(to, _)| to)
        .collect()
}

/// Everything that can be come to from `at`.
fn beyond(at: usize, next: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![at];
    while let Some(one) = todo.pop() {
        for other in next.get(one).into_iter().flatten() {
            if seen.insert(*other) {
                todo.push(*other);
            }
        }
    }
    seen
}

/// States that lead to an end, and in which a run can come to where they do not.
fn stuck(explored: &mut Explored<'_>, ending: &[Set], traps: &BTreeSet<usize>) -> Vec<Draft> {
    let procedure = explored.model.procedure;
    let mut found = Vec::new();
    for (at, state) in procedure.states.iter().enumerate() {
        if traps.contains(&at) || state.is_final {
            continue;
        }
        let lost = explored.model.sets.without(of(&explored.reached, at), of(ending, at));
        // A state is told about only where the run is stuck in it, not where it goes on to be stuck.
        let moves: Vec<_> =
            explored.steps(at).iter().filter(|one| one.what.is_move()).cloned().collect();
        let mut rest = lost;
        for step in moves {
            rest = explored.model.sets.without(rest, step.when);
        }
        if rest.is_empty() {
            continue;
        }
        let message = format!(
            "a run can get stuck in `{}`: what its exits ask for can be lost there, and nothing it shows proves it again",
            state.name
        );
        let help = "add `on_stale: {goto: STATE}`, or show the tools that prove it";
        let finding = Finding::warning("CAN_GET_STUCK", state.at, message);
        found.push(Draft {
            finding: finding.of_state(&state.name).help(help),
            to: Some((at, rest)),
            then: Vec::new(),
        });
    }
    found
}

/// `on_stale` where nothing that held on entering is ever lost.
fn never_stale(explored: &mut Explored<'_>) -> Vec<Draft> {
    let procedure = explored.model.procedure;
    let mut found = Vec::new();
    for (at, state) in procedure.states.iter().enumerate() {
        let reached = of(&explored.reached, at);
        if state.on_stale.is_none() || reached.is_empty() {
            continue;
        }
        let when = explored.model.places.get(at).map_or(Set::NONE, |place| place.stale);
        if explored.model.sets.and(reached, when).is_empty() {
            let message = format!(
                "`{}` has `on_stale`, and nothing that holds on entering can be lost in it",
                state.name
            );
            let help = "add `binds: workspace` to what must not go stale, or remove `on_stale`";
            let finding = Finding::warning("STALE_WITHOUT_BINDING", state.at, message);
            found.push(finding.of_state(&state.name).help(help).into());
        }
    }
    found
}
