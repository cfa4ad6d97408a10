//! Where the procedure stands that a session follows, and what it hides.

use concertina_types::{Timestamp, ToolName};

use super::settings::Settings;
use super::state::State;
use super::visibility::visible_tools;
use super::world::World;
use crate::catalog::Danger;
use crate::policy::{Decision, Effect, Pattern, Reason};
use crate::procedure::{Lack, Machine, Run, TaskCard};

/// The card of the procedure that is followed; none where none is.
pub fn task_card(state: &State, world: &World<'_>) -> Option<TaskCard> {
    let run = state.run.as_ref()?;
    card_of(world.machine(run)?, run, state, world)
}

/// The card of `run`, with the questions about it that are open.
pub(super) fn card_of(
    machine: &Machine,
    run: &Run,
    state: &State,
    world: &World<'_>,
) -> Option<TaskCard> {
    let moment = world.moment(state);
    let question = |name: &str| open_question(state, name, moment.now).map(str::to_owned);
    TaskCard::of(machine, run, moment, &question)
}

/// The question about `checkpoint` that is open, by its name.
pub(super) fn open_question<'s>(
    state: &'s State,
    checkpoint: &str,
    now: Timestamp,
) -> Option<&'s str> {
    let mut of_it = state
        .approvals
        .iter()
        .filter(|(_, one)| one.checkpoint.as_deref() == Some(checkpoint) && one.is_open(now));
    of_it.next().map(|(id, _)| id.as_str())
}

/// The run whose step decides what can be used now. One that reached its end decides nothing any more, unless it
/// stopped where a person has to act.
pub(super) fn deciding_run<'s>(state: &'s State, world: &World<'_>) -> Option<&'s Run> {
    let run = state.run.as_ref()?;
    let stopped = || {
        let state = world.machine(run).and_then(|machine| machine.state(run));
        state.is_none_or(|state| state.needs.is_some())
    };
    (!run.ended || stopped()).then_some(run)
}

/// Whether the step shows the tool `name`, which only reads where it is `safe`.
pub(super) fn step_of_tool(
    state: &State,
    world: &World<'_>,
    name: &ToolName,
    danger: Danger,
) -> Decision {
    let Some(run) = deciding_run(state, world) else { return outside(world, name) };
    let Some(machine) = world.machine(run) else { return unknown() };
    let moment = world.moment(state);
    let source = format!("procedure {}", machine.document().name);
    let deny = |code: &str, text: String| {
        Decision::because(Effect::Deny, Reason::new(code, text, source.as_str()))
    };
    let here = &run.state;
    match machine.shows(run, name.as_str(), moment) {
        Some((_, true)) => Decision::allow(),
        Some((shown, false)) => {
            let guard = shown.when.as_ref();
            let names =
                guard.map(concertina_format::procedure::Guard::checkpoints).unwrap_or_default();
            let lacking = names.into_iter().filter_map(|checkpoint| {
                let checkpoint = machine.document().checkpoint(checkpoint)?;
                let lack = machine.holds(run, checkpoint, moment).err()?;
                let why = match lack {
                    Lack::Open => "is not proven",
                    Lack::Stale => "is stale, the work changed since",
                    Lack::Unseen => "cannot be checked, since the workspace cannot be looked at",
                    Lack::Expired => "is too old",
                    Lack::Refused(_) => "was refused",
                };
                Some(format!("{} {why}", checkpoint.name))
            });
            let lacking: Vec<String> = lacking.collect();
            let guard = guard.map(ToString::to_string).unwrap_or_default();
            let why = if lacking.is_empty() { guard } else { lacking.join(", ") };
            deny("STEP_WAITS", format!("tool:{name} waits in step {here}: {why}"))
        }
        None if danger == Danger::Safe && is_evidence(machine, run, name) => Decision::allow(),
        None => {
            let gate = machine.gate_of(name.as_str()).map(|(at, shown)| match &shown.when {
                Some(guard) => format!("; it appears in step {} when {guard}", at.name),
                None => format!("; it appears in step {}", at.name),
            });
            let gate = gate.unwrap_or_default();
            deny("NOT_IN_STEP", format!("step {here} does not show tool:{name}{gate}"))
        }
    }
}

/// Whether results of the tool `name` are evidence of the step.
fn is_evidence(machine: &Machine, run: &Run, name: &ToolName) -> bool {
    let shown = machine.state(run).and_then(|state| state.show.evidence.as_ref());
    let names = |one: &concertina_format::procedure::ShownEvidence| one.tool == name.as_str();
    shown.is_some_and(|all| all.iter().any(names))
}

/// Whether a tool that a procedure stands before can be called outside of it.
fn outside(world: &World<'_>, name: &ToolName) -> Decision {
    match world.settings.procedures.gated.get(name.as_str()) {
        None => Decision::allow(),
        Some(procedure) => {
            let text = format!(
                "tool:{name} can be called within procedure {procedure} only; a person begins it: concertina sop start {procedure}"
            );
            let source = format!("procedure {procedure}");
            Decision::because(Effect::Deny, Reason::new("NEEDS_PROCEDURE", text, source))
        }
    }
}

/// Whether the step shows the skill called `id`.
pub(super) fn step_of_skill(state: &State, world: &World<'_>, id: &str) -> Decision {
    let Some(run) = deciding_run(state, world) else { return Decision::allow() };
    let Some(machine) = world.machine(run) else { return unknown() };
    let shown = machine.state(run).and_then(|state| state.show.skills.as_ref());
    if shown.is_none_or(|shown| shown.iter().any(|one| one == id)) {
        return Decision::allow();
    }
    let text = format!("step {} does not show skill:{id}", run.state);
    let source = format!("procedure {}", machine.document().name);
    Decision::because(Effect::Deny, Reason::new("NOT_IN_STEP", text, source))
}

/// How much the step shows of what call `id` produced: 1 its place, 2 a fragment, 3 everything; 0 nothing.
pub(super) fn step_of_evidence(state: &State, world: &World<'_>, id: u64) -> u8 {
    let run = deciding_run(state, world);
    let here = run.and_then(|run| world.machine(run)?.state(run));
    let Some(here) = here.filter(|here| here.show.evidence.is_some()) else { return 3 };
    let Some(tool) = state.produced_by.get(&id) else { return 3 };
    let named = here.show.evidence.iter().flatten().find(|one| one.tool == tool.as_str());
    let is_shown = here.show.tools.iter().any(|shown| shown.tool == tool.as_str());
    match named {
        Some(named) => named.level,
        None if is_shown => 3,
        None => 0,
    }
}

/// Narrows what a session is given that this one forks: a step lends what it shows, and nothing that it guards.
pub fn lend(state: &State, world: &World<'_>, settings: &mut Settings) {
    let Some(run) = deciding_run(state, world) else { return };
    let procedure = world.machine(run).map(Machine::document);
    let gated = procedure.map(|procedure| procedure.gated_tools());
    let lent = visible_tools(state, world).into_iter().map(|tool| tool.name.as_str());
    let lent = lent.filter(|tool| !gated.iter().flatten().any(|gated| gated == tool));
    let lent = lent.filter_map(|tool| Pattern::new(tool).ok()).collect();
    settings.grant = settings.grant.narrowed(lent);
    let name = procedure.map(|procedure| procedure.name.clone()).unwrap_or_default();
    let gated = gated.into_iter().flatten().map(|tool| (tool.to_owned(), name.clone()));
    settings.procedures.gated.extend(gated);
    settings.procedures.always = false;
}

fn unknown() -> Decision {
    let text = "the procedure that this session follows cannot be read; a person leaves it: concertina sop leave";
    Decision::because(Effect::Deny, Reason::new("PROCEDURE_UNREADABLE", text, "procedure"))
}
