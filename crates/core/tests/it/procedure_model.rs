//! The check against every situation of small procedures, one by one, as the machine itself says what follows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use concertina_core::procedure::check::Finding;
use concertina_core::procedure::{Machine, Proof, check};
use concertina_format::procedure::{Guard, Issuer};
use concertina_types::{FieldValue, Timestamp};
use stateright::{Checker, Model, Property};

use crate::procedure_kit::{Dice, Driven, Size, asked_for, made_up, work};

/// Names how many procedures are made up.
const PROCEDURES: &str = "CONCERTINA_PROCEDURES";
/// Procedures of a usual run: a few seconds.
const USUAL: usize = 40;
/// Situations of one procedure; one that has more is passed over.
const SITUATIONS: usize = 6_000;

/// All that matters of a run and of what is around it. The workspace as it is has the number 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Situation {
    state: usize,
    /// By checkpoint: the workspace it was proven on, and whether that is too long ago.
    proofs: BTreeMap<String, (u64, bool)>,
    held: Vec<String>,
    failures: u32,
    said: BTreeMap<String, BTreeMap<String, FieldValue>>,
    /// States that the last step led through, one bit each.
    visited: u64,
    breaks: bool,
    is_restless: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Look,
    Call { tool: String, exit: i64, proves: u32, work: u64, ages: u32 },
    Change(u64),
    Age(u32),
    Say(usize, bool),
}

#[derive(Debug, Clone)]
struct Explicit(Arc<Machine>);

impl Explicit {
    fn driven(&self, from: &Situation) -> Driven<'_> {
        let mut driven = Driven::new(&self.0);
        driven.run.state.clone_from(&self.0.document().states[from.state].name);
        driven.run.held.clone_from(&from.held);
        driven.run.failures = from.failures;
        driven.run.said.clone_from(&from.said);
        for (name, (number, is_old)) in &from.proofs {
            let at = Timestamp(if *is_old { 0 } else { driven.now });
            let (inputs, tool) = (Some(work(*number)), work(0));
            let proof = Proof { receipt: work(0), event: driven.event, at, inputs, tool };
            driven.run.proofs.insert(name.clone(), proof);
        }
        driven
    }

    fn situation(&self, driven: &Driven<'_>, is_restless: bool) -> Situation {
        let document = self.0.document();
        let (state, here) = document.state(&driven.run.state).unwrap();
        let mut numbers = vec![work(driven.work)];
        let mut proofs = BTreeMap::new();
        for checkpoint in &document.checkpoints {
            let Some(proof) = driven.run.proofs.get(&checkpoint.name) else { continue };
            let inputs = proof.inputs.unwrap();
            let number = if checkpoint.binds {
                numbers.iter().position(|known| *known == inputs).unwrap_or_else(|| {
                    numbers.push(inputs);
                    numbers.len() - 1
                })
            } else {
                0
            };
            let is_old = checkpoint.max_age.is_some() && proof.at.0 == 0;
            proofs.insert(checkpoint.name.clone(), (number as u64, is_old));
        }
        let is_asked = |tool: &str| {
            let tools = document.states.iter().flat_map(|state| &state.show.tools);
            let guards = tools.filter_map(|shown| shown.when.as_ref());
            let exits = document.states.iter().flat_map(|state| &state.exits);
            let mut leaves = guards.chain(exits.map(|exit| &exit.when)).flat_map(Guard::leaves);
            leaves.any(|leaf| matches!(leaf, Guard::Receipt { tool: of, .. } if of == tool))
        };
        let mut said = driven.run.said.clone();
        said.retain(|tool, _| is_asked(tool));
        let passed = driven.run.history.iter().map(|passage| &passage.to);
        let visited = passed
            .chain([&driven.run.state])
            .fold(0, |all, name| all | 1 << document.state(name).unwrap().0);
        Situation {
            state,
            proofs,
            held: if here.on_stale.is_some() { driven.run.held.clone() } else { Vec::new() },
            failures: here.on_fail.as_ref().map_or(0, |fail| driven.run.failures.min(fail.max)),
            said,
            visited,
            breaks: !is_restless && driven.bypass().is_some(),
            is_restless,
        }
    }

    /// Fresh proofs that can get too old.
    fn aging(&self, situation: &Situation) -> u32 {
        let all = self.0.document().checkpoints.iter().enumerate();
        all.filter(|(_, one)| {
            one.max_age.is_some() && situation.proofs.get(&one.name).is_some_and(|(_, old)| !old)
        })
        .fold(0, |all, (at, _)| all | 1 << at)
    }

    fn age(&self, driven: &mut Driven<'_>, ages: u32) {
        for (at, one) in self.0.document().checkpoints.iter().enumerate() {
            if ages & (1 << at) != 0 {
                driven.run.proofs.get_mut(&one.name).unwrap().at = Timestamp(0);
            }
        }
    }

    /// Whether the work became again what something was proven on.
    fn revives(&self, from: &Situation, action: &Action) -> bool {
        let (Action::Change(number) | Action::Call { work: number, .. }) = action else {
            return false;
        };
        let mut bound = self.0.document().checkpoints.iter().filter(|one| one.binds);
        *number != 0
            && bound.any(|one| from.proofs.get(&one.name).is_some_and(|(on, _)| on == number))
    }
}

impl Model for Explicit {
    type State = Situation;
    type Action = Action;

    fn init_states(&self) -> Vec<Situation> {
        vec![self.situation(&Driven::new(&self.0), false)]
    }

    fn actions(&self, from: &Situation, actions: &mut Vec<Action>) {
        if from.is_restless {
            return;
        }
        let document = self.0.document();
        let numbers = from.proofs.values().map(|(number, _)| *number).max().unwrap_or_default();
        // Where the work is as it was, as it was before, or as it never was.
        let works = || 1..=numbers + 1;
        let aging = self.aging(from);
        let ages = || (0..=aging).filter(move |ages| ages & !aging == 0);
        actions.push(Action::Look);
        actions.extend(works().map(Action::Change));
        actions.extend(ages().filter(|ages| *ages != 0).map(Action::Age));
        for (at, one) in document.checkpoints.iter().enumerate() {
            if !matches!(one.issuer, Issuer::Tool { .. }) {
                actions.extend([Action::Say(at, true), Action::Say(at, false)]);
            }
        }
        for shown in &document.states[from.state].show.tools {
            let decided = document.checkpoints.iter().enumerate().filter(
                |(_, one)| matches!(&one.issuer, Issuer::Tool { tool, .. } if *tool == shown.tool),
            );
            let decided = decided.fold(0, |all, (at, _)| all | 1_u32 << at);
            for exit in 0..3 {
                for proves in (0..=decided).filter(|proves| proves & !decided == 0) {
                    for work in 0..=numbers + 1 {
                        actions.extend(ages().map(|ages| {
                            let tool = shown.tool.clone();
                            Action::Call { tool, exit, proves, work, ages }
                        }));
                    }
                }
            }
        }
    }

    fn next_state(&self, from: &Situation, action: Action) -> Option<Situation> {
        let mut driven = self.driven(from);
        let checkpoints = &self.0.document().checkpoints;
        let is_rest = match action {
            Action::Look => driven.settle(),
            Action::Change(number) => {
                driven.observe(number);
                true
            }
            Action::Age(ages) => {
                self.age(&mut driven, ages);
                true
            }
            Action::Say(at, is_yes) => {
                driven.say(&checkpoints[at], is_yes);
                driven.settle()
            }
            Action::Call { tool, exit, proves, work, ages } => {
                if !driven.can_call(&tool) {
                    return None;
                }
                driven.observe(work);
                self.age(&mut driven, ages);
                driven.receive(&tool, exit, &|one| {
                    checkpoints
                        .iter()
                        .position(|known| known == one)
                        .is_some_and(|at| proves & (1 << at) != 0)
                });
                driven.settle()
            }
        };
        Some(self.situation(&driven, !is_rest))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("sound", |_, one: &Situation| !one.breaks),
            Property::always("at rest", |_, one: &Situation| !one.is_restless),
            Property::sometimes("s0", |_, one: &Situation| one.visited & 1 != 0),
            Property::sometimes("s1", |_, one: &Situation| one.visited & 2 != 0),
            Property::sometimes("s2", |_, one: &Situation| one.visited & 4 != 0),
            Property::sometimes("s3", |_, one: &Situation| one.visited & 8 != 0),
        ]
    }
}

/// States from which no end is reached, however people and tools help.
fn traps(model: &Explicit) -> Option<BTreeSet<String>> {
    let document = model.0.document();
    let mut known: BTreeMap<Situation, usize> = BTreeMap::new();
    let mut all: Vec<Situation> = model.init_states();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    known.insert(all[0].clone(), 0);
    let mut at = 0;
    while at < all.len() {
        if all.len() > SITUATIONS {
            return None;
        }
        let from = all[at].clone();
        for (action, to) in model.next_steps(&from) {
            let next = *known.entry(to.clone()).or_insert_with(|| {
                all.push(to);
                all.len() - 1
            });
            if !model.revives(&from, &action) {
                edges.push((next, at));
            }
        }
        at += 1;
    }
    edges.sort_unstable();
    edges.dedup();
    let mut ends = vec![false; all.len()];
    let mut todo: Vec<usize> =
        (0..all.len()).filter(|at| document.states[all[*at].state].is_final).collect();
    while let Some(at) = todo.pop() {
        if std::mem::replace(&mut ends[at], true) {
            continue;
        }
        let first = edges.partition_point(|(to, _)| *to < at);
        todo.extend(edges[first..].iter().take_while(|(to, _)| *to == at).map(|(_, from)| *from));
    }
    let states = document.states.iter().enumerate().filter(|(number, state)| {
        let mut here =
            all.iter().zip(&ends).filter(|(one, _)| one.visited & (1 << number) != 0).peekable();
        !state.is_final && here.peek().is_some() && here.all(|(_, ends)| !ends)
    });
    Some(states.map(|(_, state)| state.name.clone()).collect())
}

fn of_code<'f>(found: &'f [Finding], code: &'f str) -> impl Iterator<Item = &'f Finding> {
    found.iter().filter(move |one| one.code == code)
}

#[test]
fn j15_the_check_says_what_trying_everything_says() {
    let wanted = asked_for(PROCEDURES, USUAL);
    let mut dice = Dice::new(15);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut done = 0;
    while done < wanted {
        let size = Size { states: 2 + dice.below(2), checkpoints: 2 + dice.below(2) };
        let text = made_up(&mut dice, size);
        let Ok(machine) = Machine::new(&text) else { continue };
        let model = Explicit(Arc::new(machine));
        let Some(traps) = traps(&model) else { continue };
        done += 1;
        let found = check(model.0.document());
        let checker = model.clone().checker().spawn_bfs().join();

        // Of several checkpoints that are bound to the work, the check takes more to come back than does.
        let bound = model.0.document().checkpoints.iter().filter(|one| one.binds).count();
        let is_exact = bound <= 1;
        let agree =
            |told: bool, is_so: bool, is_safe: bool| told == is_so || (!is_exact && is_safe);
        *seen.entry("exact").or_default() += usize::from(is_exact);

        let breaks = checker.discovery("sound").is_some();
        let told = of_code(&found, "BYPASS").count() > 0;
        assert!(agree(told, breaks, told), "BYPASS in\n{text}{found:#?}");
        let is_restless = checker.discovery("at rest").is_some();
        let loops = of_code(&found, "ENDLESS_LOOP");
        let told = loops.filter(|one| one.message.contains("never comes to rest")).count() > 0;
        assert!(agree(told, is_restless, told), "ENDLESS_LOOP in\n{text}{found:#?}");
        if told {
            // A run without rest is left where it is, so nothing more is compared.
            *seen.entry("restless").or_default() += 1;
            continue;
        }
        for state in model.0.document().states.iter().map(|state| state.name.as_str()) {
            let Some(name) = ["s0", "s1", "s2", "s3"].into_iter().find(|name| *name == state)
            else {
                continue;
            };
            let never = checker.discovery(name).is_none();
            let told = of_code(&found, "UNREACHABLE").any(|one| one.state.as_deref() == Some(name));
            assert!(agree(told, never, !told), "UNREACHABLE {name} in\n{text}{found:#?}");
            *seen.entry("unreachable").or_default() += usize::from(never);
        }
        *seen.entry("bypass").or_default() += usize::from(breaks);
        *seen.entry("no bypass").or_default() += usize::from(!breaks);
        if !is_exact {
            continue;
        }
        let dead: BTreeSet<String> =
            of_code(&found, "DEAD_END").filter_map(|one| one.state.clone()).collect();
        assert!(dead.is_subset(&traps), "DEAD_END {dead:?}, not {traps:?} in\n{text}{found:#?}");
        let circles = of_code(&found, "ENDLESS_LOOP").count();
        assert_eq!(
            traps.is_empty(),
            dead.is_empty() && circles == 0,
            "{traps:?} in\n{text}{found:#?}"
        );
        *seen.entry("trap").or_default() += usize::from(!traps.is_empty());
    }
    eprintln!("{done} procedures: {seen:?}");
    for kind in ["exact", "bypass", "no bypass", "unreachable", "trap"] {
        assert!(seen.get(kind).is_some_and(|times| *times > 0), "{kind}: {seen:?}");
    }
}
