//! Orders of calls that nobody thought of: what an invariant forbids is never shown.

use concertina_core::procedure::{Machine, check};
use concertina_format::procedure::Issuer;
use concertina_types::Severity;

use crate::procedure_kit::{Dice, Driven, Size, asked_for, made_up};

/// Names how many sequences are run.
const SEQUENCES: &str = "CONCERTINA_SEQUENCES";
/// Sequences of a usual run: a few seconds.
const USUAL: usize = 10_000;
/// Procedures among which they are shared.
const PROCEDURES: usize = 60;
/// Steps of one sequence.
const STEPS: usize = 24;

/// Procedures with an invariant in which the check finds no error, and in which the tool of the invariant can run.
fn sound(dice: &mut Dice) -> Vec<Machine> {
    let gate = include_str!("../../../../fixtures/procedures/commit-gate.yaml");
    let mut all = vec![Machine::new(gate).unwrap()];
    while all.len() < PROCEDURES {
        let size = Size { states: 2 + dice.below(4), checkpoints: 2 + dice.below(4) };
        let Ok(machine) = Machine::new(&made_up(dice, size)) else { continue };
        let never = &machine.document().invariants[0].never;
        let is_shown = machine
            .document()
            .states
            .iter()
            .any(|state| state.show.tools.iter().any(|one| one.tool == *never));
        let found = check(machine.document());
        if is_shown && found.iter().all(|one| one.severity != Severity::Error) {
            all.push(machine);
        }
    }
    all
}

/// One sequence: what was broken, and how often what an invariant guards was shown.
fn sequence(machine: &Machine, dice: &mut Dice) -> (Option<String>, usize) {
    let mut driven = Driven::new(machine);
    let mut told = Vec::new();
    let mut shown = 0;
    let tools: Vec<String> = machine
        .document()
        .states
        .iter()
        .flat_map(|state| state.show.tools.iter().map(|one| one.tool.clone()))
        .collect();
    driven.settle();
    for _ in 0..STEPS {
        match dice.below(10) {
            // A call as a model would try it: whatever comes to mind, allowed or not.
            0..=5 => {
                let tool = dice.of(&tools).clone();
                if driven.can_call(&tool) {
                    if dice.one_in(4) {
                        driven.observe(dice.below(4) as u64);
                    }
                    if dice.one_in(8) {
                        driven.now += 40 * 60 * 1_000;
                    }
                    // A model that wants to get on fails less often than chance would have it.
                    let exit = if dice.one_in(4) { *dice.of(&[1, 2]) } else { 0 };
                    let fails = dice.below(5);
                    told.push(format!("{}: {tool} ends with {exit}", driven.run.state));
                    let names: Vec<String> =
                        machine.document().checkpoints.iter().map(|one| one.name.clone()).collect();
                    driven.receive(&tool, exit, &|one| {
                        names.iter().position(|name| *name == one.name) != Some(fails)
                    });
                    driven.settle();
                }
            }
            6 => {
                driven.observe(dice.below(4) as u64);
                told.push(format!("work {}", driven.work));
            }
            7 => {
                driven.now += 40 * 60 * 1_000;
                told.push("time".to_owned());
                if dice.one_in(2) {
                    let over: Vec<String> = machine
                        .expired(&driven.run, driven.moment())
                        .into_iter()
                        .map(str::to_owned)
                        .collect();
                    driven.expire(over);
                }
            }
            8 => {
                let people = machine.document().checkpoints.iter();
                let people: Vec<_> =
                    people.filter(|one| !matches!(one.issuer, Issuer::Tool { .. })).collect();
                if !people.is_empty() {
                    let one = *dice.of(&people);
                    let is_yes = !dice.one_in(4);
                    told.push(format!("{} {is_yes}", one.name));
                    driven.say(one, is_yes);
                    driven.settle();
                }
            }
            _ => drop(driven.settle()),
        }
        if let Some(broken) = driven.bypass() {
            return (Some(format!("{broken} in {}: {}", driven.run.state, told.join(", "))), shown);
        }
        let never = machine.document().invariants.iter();
        shown += never.filter(|one| driven.can_call(&one.never)).count();
    }
    (None, shown)
}

#[test]
fn j09_no_order_of_calls_gets_around_an_invariant() {
    let wanted = asked_for(SEQUENCES, USUAL);
    let mut dice = Dice::new(9);
    let machines = sound(&mut dice);
    // Some of them leave the tool without a guard of its own, and order alone keeps it.
    let is_bare = |machine: &Machine| {
        let never = &machine.document().invariants[0].never;
        let mut tools = machine.document().states.iter().flat_map(|state| &state.show.tools);
        tools.any(|one| one.tool == *never && one.when.is_none())
    };
    assert!(machines.iter().filter(|machine| is_bare(machine)).count() > 3);
    let mut shown = 0;
    for number in 0..wanted {
        let machine = &machines[number % machines.len()];
        let (broken, times) = sequence(machine, &mut dice);
        assert_eq!(broken, None, "{:#?}", machine.document());
        shown += times;
    }
    // What is never shown at all would prove nothing.
    assert!(shown > wanted / 10, "{shown} in {wanted}");
    eprintln!(
        "{wanted} sequences over {} procedures: 0 bypasses, shown {shown} times",
        machines.len()
    );
}

#[test]
fn j09_the_same_sequences_find_a_bypass_where_there_is_one() {
    let text = include_str!("../../../../fixtures/procedures/bypass.yaml");
    let machine = Machine::new(text).unwrap();
    let mut dice = Dice::new(9);
    let broken = (0..1_000).find_map(|_| sequence(&machine, &mut dice).0);
    assert!(broken.is_some_and(|broken| broken.starts_with("push without test.ok in push")));
}
