//! Where the procedure stands that a session follows, and what it hides.

use concertina_format::config::ConfigOrigin;
use concertina_types::{Timestamp, ToolName};

use super::settings::{Listed, Settings};
use super::state::State;
use super::visibility::{self, known_tool, visible_tools};
use super::world::World;
use crate::catalog::Danger;
use crate::context::{block, disarm};
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
    let mut card = TaskCard::of(machine, run, moment, &question)?;
    // What something else stands before is not callable, whatever the step says.
    let is_now = state.run.as_ref() == Some(run);
    let then = (!is_now).then(|| State { run: Some(run.clone()), ..state.clone() });
    let state = then.as_ref().unwrap_or(state);
    card.tools.retain(|name| {
        let entry = ToolName::new(name.as_str()).ok();
        let entry = entry.and_then(|name| known_tool(state, world, &name));
        entry.is_some_and(|entry| visibility::tool(state, world, entry).effect != Effect::Deny)
    });
    Some(card)
}

/// Names in one line of what is said of a step between the turns.
pub const STEP_NAMES: usize = 8;

/// `lines` about the step called `step`, as a block for a model.
pub fn step_block(step: &str, lines: &[String]) -> String {
    block("step", &[("name", step)], &disarm(&lines.join("\n")))
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
    let run = deciding_run(state, world);
    if let Some(reason) = outside(world, run, name, danger) {
        return Decision::because(Effect::Deny, reason);
    }
    let Some(run) = run else { return after_its_end(state, world, name) };
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
                    Lack::Open => match open_question(state, &checkpoint.name, moment.now) {
                        // Whoever calls could not give the answer that counts.
                        Some(id) if !world.settings.procedures.same_uid => {
                            format!("waits for a person, asked as {id}")
                        }
                        Some(id) => {
                            format!(
                                "waits for a person, asked as {id}: concertina approve grant {id}"
                            )
                        }
                        None => "is not proven".to_owned(),
                    },
                    Lack::Stale => "is stale, the work changed since".to_owned(),
                    Lack::Unseen => {
                        "cannot be checked, since the workspace cannot be looked at".to_owned()
                    }
                    Lack::Expired => "is too old".to_owned(),
                    Lack::Refused(why) => format!("was refused: {why}"),
                };
                Some(format!("{} {why}", checkpoint.name))
            });
            let lacking: Vec<String> = lacking.collect();
            let guard = guard.map(ToString::to_string).unwrap_or_default();
            let why = match machine.goes_back(run, moment) {
                Some(back) => format!(
                    "what held on entering holds no longer, so it goes back to {}; call again then",
                    back.name
                ),
                None if lacking.is_empty() => guard,
                None => lacking.join(", "),
            };
            deny("STEP_WAITS", format!("tool:{name} waits in step {here}: {why}"))
        }
        None if danger == Danger::Safe && is_evidence(machine, run, name) => Decision::allow(),
        None => {
            let gate = machine.gate_of(name.as_str()).map(|(at, shown)| match &shown.when {
                Some(guard) => format!("; it appears in step {} when {guard}", at.name),
                None => format!("; it appears in step {}", at.name),
            });
            let gate = gate.unwrap_or_default();
            let stopped = "; the procedure stopped here and needs a person: concertina sop leave";
            let gate = if run.ended { stopped.to_owned() } else { gate };
            deny("NOT_IN_STEP", format!("step {here} does not show tool:{name}{gate}"))
        }
    }
}

/// Whether the tool `name` can be called after the session's procedure reached its end: what was proven then was
/// proven for that run, so what the procedure stands before waits for the next one.
fn after_its_end(state: &State, world: &World<'_>, name: &ToolName) -> Decision {
    let run = state.run.as_ref();
    let Some((run, machine)) = run.and_then(|run| Some((run, world.machine(run)?))) else {
        return Decision::allow();
    };
    let document = machine.document();
    if !document.gated_tools().contains(&name.as_str()) {
        return Decision::allow();
    }
    let procedure = &document.name;
    let text = format!(
        "procedure {procedure} ended in {}, and tool:{name} can be called within it only; a person begins it anew: concertina sop start",
        run.state
    );
    let reason = Reason::new("NOT_IN_STEP", text, format!("procedure {procedure}"));
    Decision::because(Effect::Deny, reason)
}

/// Whether results of the tool `name` are evidence of the step.
fn is_evidence(machine: &Machine, run: &Run, name: &ToolName) -> bool {
    // What the procedure is about is called where a state shows it, and nowhere else.
    let document = machine.document();
    if document.decides(name.as_str()) || document.gated_tools().contains(&name.as_str()) {
        return false;
    }
    let shown = machine.state(run).and_then(|state| state.show.evidence.as_ref());
    let names = |one: &concertina_format::procedure::ShownEvidence| one.tool == name.as_str();
    shown.is_some_and(|all| all.iter().any(names))
}

/// Why the tool `name` cannot be called within `run`, or within none: another procedure that the settings list stands
/// before it, or may. Of two that are listed, the one of the file with more authority decides. What was listed when
/// the run began counts, so that whoever edits the file changes the next run and not this one.
fn outside(
    world: &World<'_>,
    run: Option<&Run>,
    name: &ToolName,
    danger: Danger,
) -> Option<Reason> {
    let procedures = &world.settings.procedures;
    let followed = run.and_then(|run| run.procedure);
    let now = procedures.listed.iter().find(|one| Some(one.digest) == followed);
    let own = now.map(|one| one.by).or(run.and_then(|run| run.listed_by));
    let overrides = |one: &&Listed| one.stands_before(name) && own.is_none_or(|own| one.by < own);
    if let Some(one) = procedures.listed.iter().find(overrides) {
        let procedure = &one.name;
        let text = format!(
            "tool:{name} can be called within procedure {procedure} only; a person begins it: concertina sop start {procedure}"
        );
        return Some(Reason::new("NEEDS_PROCEDURE", text, format!("procedure {procedure}")));
    }
    match procedures.unreadable.first() {
        Some(file) if own.is_none() && danger != Danger::Safe => {
            let text = format!(
                "tool:{name} may be one that the procedure in {file} stands before, which cannot be read; a person repairs it: concertina sop check {file}"
            );
            Some(Reason::new("PROCEDURE_UNREADABLE", text, "[procedures] files"))
        }
        _ => None,
    }
}

impl Listed {
    /// What the settings say of `machine`, which a file of `by` lists.
    pub fn of(machine: &Machine, by: ConfigOrigin) -> Self {
        let document = machine.document();
        let gates = document.gated_tools().into_iter().map(str::to_owned).collect();
        Self { name: document.name.clone(), digest: machine.digest(), gates, by }
    }

    fn stands_before(&self, tool: &ToolName) -> bool {
        self.gates.iter().any(|gate| gate == tool.as_str())
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
    let Some(run) = state.run.as_ref() else { return };
    let machine = world.machine(run);
    let gates = machine.map(|machine| machine.document().gated_tools()).unwrap_or_default();
    let lent = visible_tools(state, world).into_iter().map(|tool| tool.name.as_str());
    let lent = lent.filter(|tool| !gates.contains(tool));
    let lent = lent.filter_map(|tool| Pattern::new(tool).ok()).collect();
    settings.grant = settings.grant.narrowed(lent);
    // Nothing that is listed frees it in the fork.
    let held = machine.map(|machine| Listed::of(machine, ConfigOrigin::Managed));
    settings.procedures.listed.extend(held);
    settings.procedures.always = false;
}

fn unknown() -> Decision {
    let text = "the procedure that this session follows cannot be read; a person leaves it: concertina sop leave";
    Decision::because(Effect::Deny, Reason::new("PROCEDURE_UNREADABLE", text, "procedure"))
}
