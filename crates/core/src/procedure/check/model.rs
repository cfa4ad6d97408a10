//! Everything that can happen to a run, as steps between sets of situations.
//!
//! The steps are those of [`Machine::next`](super::super::Machine::next) and of [`Run`](super::super::Run), seen from
//! the safe side:
//!
//! - the work may change, and change back, at any time, and so may time run out, also while a tool runs. A tool may
//!   be called before the run was looked at again, but not where `on_stale` leads back: whatever is called is held
//!   against that first;
//! - work that returns to where it was may bring back any of the proofs of another state of the work, as if each
//!   receipt had a state of the work for itself: with several tools that is more than can happen;
//! - people and webhooks may prove and refuse at any time, whether or not a guard waits for them;
//! - where `on_fail` allows several failures, each of them may be the last.
//!
//! One call runs at a time, and its result arrives in the state in which it was called: a session keeps whatever writes
//! away from a call that a guard opened, and a result counts only in the passage through a state in which its call
//! began.

use concertina_format::procedure::{
    Age, Checkpoint, Exit, Issuer, OnFail, Procedure, ShownTool, State,
};
use serde_json::{Map, Value};

use super::questions::{FAILED, LOOSE, Questions, are_decided_together, speaks_as};
use super::sets::{Set, Sets, Variable};

/// Different calls of one tool, by what they decide: more of them are not explored.
const CALLS: usize = 64;

/// Something that can happen in a state.
#[derive(Debug, Clone)]
pub(super) struct Step<'p> {
    /// The state, by its place.
    pub(super) from: usize,
    /// Where the run is then.
    pub(super) to: usize,
    /// Where it can happen.
    pub(super) when: Set,
    /// What may go on meanwhile.
    meanwhile: Meanwhile,
    /// Questions that it answers anew…
    forget: Set,
    /// …and how.
    then: Set,
    pub(super) what: What<'p>,
}

impl Step<'_> {
    /// The same where nothing else happens meanwhile.
    pub(super) fn alone(&self) -> Self {
        let meanwhile = match self.meanwhile {
            Meanwhile::All => Meanwhile::Nothing,
            other => other,
        };
        Self { meanwhile, ..self.clone() }
    }
}

/// What goes on while something else happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// Checkpoints get too old.
    Time,
    /// Checkpoints get too old whose age is a number of events.
    Events,
    /// The work changes, or is again what it was, and checkpoints get too old.
    All,
}

/// What happens.
#[derive(Debug, Clone)]
pub(super) enum What<'p> {
    /// A tool runs, with these arguments, and decides on these checkpoints.
    Run(&'p str, Map<String, Value>, Vec<&'p Checkpoint>),
    /// Somebody says something of a checkpoint.
    Say(&'p Checkpoint),
    /// The work changes.
    Changes,
    /// The work is again what it once was.
    Returns,
    /// Checkpoints get too old.
    Time,
    /// A guard opened.
    Next,
    /// What held on entering holds no longer.
    Stale,
    /// Checks failed.
    Fail(&'p OnFail),
}

impl What<'_> {
    /// Whether the run goes on by itself.
    pub(super) fn is_move(&self) -> bool {
        matches!(self, Self::Next | Self::Stale | Self::Fail(_))
    }
}

/// What a state asks and allows.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Where its exits are asked: neither `on_stale` nor `on_fail` comes first.
    pub(super) exits: Set,
    /// Where what held on entering holds no longer.
    pub(super) stale: Set,
    /// Where something can happen by itself: nothing is due, or nobody looked since it is.
    ready: Set,
    /// Where tools can be called: besides, the state is not gone back from.
    calling: Set,
}

/// A procedure as steps.
#[derive(Debug)]
pub(super) struct Model<'p> {
    pub(super) procedure: &'p Procedure,
    pub(super) questions: Questions<'p>,
    pub(super) sets: Sets,
    pub(super) places: Vec<Place>,
    pub(super) steps: Vec<Step<'p>>,
    /// The situations in which a run begins.
    pub(super) start: Set,
    /// Situations that receipts can bring about at all.
    pub(super) possible: Set,
    lasting: Lasting,
}

/// How long what was proven lasts.
#[derive(Debug)]
struct Lasting {
    /// What holds for one state of the work only, to be forgotten together.
    bound: Set,
    /// Nothing holds that was not proven.
    sound: Set,
    /// What gets too old.
    aging: Set,
    /// What gets too old by events.
    counted: Set,
}

impl<'p> Model<'p> {
    /// The model of `procedure`; none where it is too much.
    pub(super) fn of(procedure: &'p Procedure, mut sets: Sets) -> Option<Self> {
        let questions = Questions::of(procedure, &mut sets)?;
        let all = 0..u32::try_from(questions.count).ok()?;
        let start = sets.cube(all.filter(|one| *one != LOOSE).map(|one| (one, false)));
        let mut possible = Set::ALL;
        for said in &questions.said {
            let some = sets.or(said.nothing, said.possible);
            possible = sets.and(possible, some);
        }
        let lasting = Lasting::of(&questions, &mut sets);
        let (places, steps) = (Vec::new(), Vec::new());
        let mut model =
            Self { procedure, questions, sets, places, steps, start, possible, lasting };
        for (at, state) in procedure.states.iter().enumerate() {
            // In this order, of two ways that are equally short the plainer one is told.
            model.moves(at, state);
            model.drift(at);
            model.calls(at, state)?;
            model.statements(at, state);
        }
        Some(model)
    }

    /// The situations after `step`, where `set` holds those before.
    pub(super) fn after(&mut self, set: Set, step: &Step<'_>) -> Set {
        let set = self.sets.and(set, step.when);
        let set = self.meanwhile(set, step.meanwhile);
        let set = self.sets.forget(set, step.forget);
        self.sets.and(set, step.then)
    }

    /// The situations before `step` from which it can lead into `set`.
    pub(super) fn before(&mut self, set: Set, step: &Step<'_>) -> Set {
        let set = self.sets.and(set, step.then);
        let set = self.sets.forget(set, step.forget);
        let set = self.previously(set, step.meanwhile);
        self.sets.and(set, step.when)
    }

    fn meanwhile(&mut self, set: Set, meanwhile: Meanwhile) -> Set {
        let Lasting { bound, sound, .. } = self.lasting;
        let set = match meanwhile {
            Meanwhile::All => {
                let set = self.sets.forget(set, bound);
                self.sets.and(set, sound)
            }
            _ => set,
        };
        match self.lasting.passing(meanwhile) {
            None => set,
            Some(aging) => {
                let set = self.sets.lowered(set, aging);
                self.sets.and(set, sound)
            }
        }
    }

    fn previously(&mut self, set: Set, meanwhile: Meanwhile) -> Set {
        let Lasting { bound, sound, .. } = self.lasting;
        let set = match self.lasting.passing(meanwhile) {
            None => set,
            Some(aging) => {
                let set = self.sets.and(set, sound);
                self.sets.raised(set, aging)
            }
        };
        match meanwhile {
            Meanwhile::All => {
                let set = self.sets.and(set, sound);
                self.sets.forget(set, bound)
            }
            _ => set,
        }
    }

    /// Where a tool that is shown as `shown` can be called in the state at `at`, nothing else considered.
    pub(super) fn open(&mut self, shown: &ShownTool) -> Set {
        let guard = shown.when.as_ref();
        guard.map_or(Set::ALL, |guard| self.questions.guard(guard, &mut self.sets))
    }

    /// Where something can happen by itself in the state at `at`.
    fn ready(&self, at: usize) -> Set {
        self.places.get(at).map_or(Set::NONE, |place| place.ready)
    }

    /// Where tools can be called in the state at `at`.
    pub(super) fn calling(&self, at: usize) -> Set {
        self.places.get(at).map_or(Set::NONE, |place| place.calling)
    }

    /// What an exit asks for.
    pub(super) fn exit(&mut self, exit: &Exit) -> Set {
        self.questions.guard(&exit.when, &mut self.sets)
    }

    fn place_of(&self, name: &str) -> usize {
        self.procedure.state(name).map_or(0, |(at, _)| at)
    }

    /// How the run goes on by itself.
    fn moves(&mut self, at: usize, state: &'p State) {
        let mut stale = Set::NONE;
        if state.on_stale.is_some() {
            for one in self.questions.tracked.clone() {
                let Some(entered) = one.entered else { continue };
                let lost = self.sets.cube([(entered, true), (one.held, false)]);
                stale = self.sets.or(stale, lost);
            }
        }
        let failed = self.sets.literal(FAILED, true);
        let mut calm = self.sets.not(stale);
        if let Some(to) = &state.on_stale {
            self.go(at, to, stale, What::Stale);
        }
        if let Some(fail) = &state.on_fail {
            let when = self.sets.and(calm, failed);
            self.go(at, &fail.to, when, What::Fail(fail));
        }
        calm = self.sets.without(calm, failed);
        let exits = calm;
        for exit in &state.exits {
            let guard = self.exit(exit);
            let when = self.sets.and(calm, guard);
            self.go(at, &exit.to, when, What::Next);
            calm = self.sets.without(calm, guard);
        }
        let loose = self.sets.literal(LOOSE, true);
        let unseen = self.sets.without(loose, failed);
        let ready = self.sets.or(calm, unseen);
        let calling = self.sets.without(ready, stale);
        self.places.push(Place { exits, stale, ready, calling });
    }

    fn go(&mut self, from: usize, to: &str, when: Set, what: What<'p>) {
        if when.is_empty() {
            return;
        }
        let to = self.place_of(to);
        let Some(target) = self.procedure.states.get(to) else { return };
        let mut change = Change::new();
        for one in &self.questions.tracked {
            let Some(entered) = one.entered else { continue };
            if target.on_stale.is_some() {
                change.forget.push(entered);
                let (entered, held) =
                    (self.sets.literal(entered, true), self.sets.literal(one.held, true));
                let same = self.sets.same(entered, held);
                change.and(same, &mut self.sets);
            } else {
                change.set(entered, false);
            }
        }
        for shown in &target.show.tools {
            if let Some(said) = self.questions.said(&shown.tool) {
                change.forgets = self.sets.and(change.forgets, said.all);
                change.and(said.nothing, &mut self.sets);
            }
        }
        change.set(FAILED, false);
        change.set(LOOSE, false);
        self.push((from, to), when, Meanwhile::Nothing, change, what);
    }

    /// Calls of the tools that a state shows.
    fn calls(&mut self, at: usize, state: &'p State) -> Option<()> {
        for (number, shown) in state.show.tools.iter().enumerate() {
            let before = state.show.tools.get(..number).unwrap_or_default();
            if before.iter().any(|earlier| earlier.tool == shown.tool) {
                continue;
            }
            let open = self.open(shown);
            let calling = self.calling(at);
            let when = self.sets.and(calling, open);
            // Where the same before the call does not keep it from being made, it is a step of its own.
            let is_kept = shown.when.is_some() || state.on_stale.is_some();
            let meanwhile = if is_kept { Meanwhile::All } else { Meanwhile::Nothing };
            for (arguments, decided) in calls(self.procedure, &shown.tool)? {
                if decided.is_empty() && self.questions.said(&shown.tool).is_none() {
                    continue;
                }
                let change = self.result(state, &shown.tool, &decided);
                let what = What::Run(&shown.tool, arguments, decided);
                self.push((at, at), when, meanwhile, change, what);
            }
        }
        Some(())
    }

    /// What a result brings that decides on `decided`: each is proven or not.
    fn result(&mut self, state: &State, tool: &str, decided: &[&'p Checkpoint]) -> Change {
        let mut change = Change::new();
        if let Some(said) = self.questions.said(tool) {
            change.forgets = said.all;
        }
        change.then = self.questions.judged(tool, decided, &mut self.sets);
        let mut all = Set::ALL;
        for checkpoint in decided {
            let Some(verdict) = self.questions.verdict(checkpoint) else { continue };
            let passes = self.sets.literal(verdict, true);
            all = self.sets.and(all, passes);
            let Some(one) = self.questions.tracked(&checkpoint.name) else { continue };
            change.forget.push(one.held);
            if let Some(proven) = one.proven {
                change.forget.push(proven);
                let proven = self.sets.literal(proven, true);
                let same = self.sets.same(passes, proven);
                change.and(same, &mut self.sets);
            }
        }
        let missed = self.sets.not(all);
        self.fails(state, missed, &mut change);
        // Whether what no guard asks for was proven matters for nothing but the count of failures.
        change.then = self.sets.forget(change.then, self.questions.passed);
        change
    }

    /// A check failed in the situations `missed`: whether `on_fail` is due.
    fn fails(&mut self, state: &State, missed: Set, change: &mut Change) {
        change.set(LOOSE, false);
        let Some(fail) = &state.on_fail else { return change.set(FAILED, false) };
        change.forget.push(FAILED);
        let failed = self.sets.literal(FAILED, true);
        let counts = if fail.max == 1 {
            self.sets.same(failed, missed)
        } else {
            let quiet = self.sets.not(failed);
            self.sets.or(quiet, missed)
        };
        change.and(counts, &mut self.sets);
    }

    /// What people and webhooks say.
    fn statements(&mut self, at: usize, state: &State) {
        for one in self.questions.tracked.clone() {
            if matches!(one.checkpoint.issuer, Issuer::Tool { .. }) {
                continue;
            }
            let ready = self.ready(at);
            let change = self.result(state, speaks_as(one.checkpoint), &[one.checkpoint]);
            let what = What::Say(one.checkpoint);
            self.push((at, at), ready, Meanwhile::Nothing, change, what);
            if matches!(one.checkpoint.issuer, Issuer::Human { .. }) {
                // A refusal is no receipt: what the last one said stays.
                let mut change = Change::new();
                for variable in std::iter::once(one.held).chain(one.proven) {
                    change.set(variable, false);
                }
                self.fails(state, Set::ALL, &mut change);
                let what = What::Say(one.checkpoint);
                self.push((at, at), ready, Meanwhile::Nothing, change, what);
            }
        }
    }

    /// What happens by itself: the work changes, time passes.
    fn drift(&mut self, at: usize) {
        let ready = self.ready(at);
        let Lasting { bound, sound, aging, counted } = self.lasting;
        if bound != Set::ALL {
            let mut change = Change::new();
            change.set(LOOSE, true);
            for one in self.questions.tracked.iter().filter(|one| one.proven.is_some()) {
                change.set(one.held, false);
            }
            self.push((at, at), ready, Meanwhile::Nothing, change, What::Changes);
            let mut change = Change::new();
            change.set(LOOSE, true);
            (change.forgets, change.then) = (bound, sound);
            self.push((at, at), ready, Meanwhile::Nothing, change, What::Returns);
        }
        if aging != Set::ALL {
            let mut change = Change::new();
            change.set(LOOSE, true);
            self.push((at, at), ready, Meanwhile::Time, change, What::Time);
        }
        if counted != Set::ALL {
            // Going on is an event as well.
            let moving = self.sets.not(ready);
            self.push((at, at), moving, Meanwhile::Events, Change::new(), What::Time);
        }
    }

    fn push(
        &mut self,
        (from, to): (usize, usize),
        when: Set,
        meanwhile: Meanwhile,
        change: Change,
        what: What<'p>,
    ) {
        let then = self.sets.cube(change.set);
        let then = self.sets.and(change.then, then);
        let forget = self.sets.cube(change.forget.into_iter().map(|variable| (variable, true)));
        let forget = self.sets.and(change.forgets, forget);
        if !when.is_empty() && !then.is_empty() {
            self.steps.push(Step { from, to, when, meanwhile, forget, then, what });
        }
    }
}

/// Answers that a step changes.
#[derive(Debug)]
struct Change {
    /// Questions that are answered anew…
    forget: Vec<Variable>,
    /// …and more of them, as a cube…
    forgets: Set,
    /// …with these answers…
    set: Vec<(Variable, bool)>,
    /// …or with any of these.
    then: Set,
}

impl Change {
    fn new() -> Self {
        Self { forget: Vec::new(), forgets: Set::ALL, set: Vec::new(), then: Set::ALL }
    }

    fn set(&mut self, variable: Variable, is: bool) {
        self.forget.push(variable);
        self.set.push((variable, is));
    }

    fn and(&mut self, then: Set, sets: &mut Sets) {
        self.then = sets.and(self.then, then);
    }
}

impl Lasting {
    fn of(questions: &Questions<'_>, sets: &mut Sets) -> Self {
        let (mut bound, mut aging, mut counted) = (Vec::new(), Vec::new(), Vec::new());
        let mut sound = Set::ALL;
        for one in &questions.tracked {
            let both = std::iter::once(one.held).chain(one.proven);
            match one.checkpoint.max_age {
                None => {}
                Some(Age::Time(_)) => aging.extend(both),
                Some(Age::Events(_)) => {
                    counted.extend(both.clone());
                    aging.extend(both);
                }
            }
            let Some(proven) = one.proven else { continue };
            bound.push(one.held);
            let held = sets.literal(one.held, false);
            let proven = sets.literal(proven, true);
            let holds = sets.or(held, proven);
            sound = sets.and(sound, holds);
        }
        // What the same receipt proved was proven on the same work.
        for (number, one) in questions.tracked.iter().enumerate() {
            for other in questions.tracked.iter().skip(number + 1) {
                let (Some(proven), Some(other_proven)) = (one.proven, other.proven) else {
                    continue;
                };
                if !are_decided_together(one.checkpoint, other.checkpoint) {
                    continue;
                }
                let unequal = [
                    [(proven, true), (other_proven, true), (one.held, true), (other.held, false)],
                    [(proven, true), (other_proven, true), (one.held, false), (other.held, true)],
                ];
                for unequal in unequal {
                    let unequal = sets.cube(unequal);
                    sound = sets.without(sound, unequal);
                }
            }
        }
        let mut all = |variables: Vec<Variable>| {
            sets.cube(variables.into_iter().map(|variable| (variable, true)))
        };
        Self { bound: all(bound), sound, aging: all(aging), counted: all(counted) }
    }

    /// What gets too old.
    fn passing(&self, meanwhile: Meanwhile) -> Option<Set> {
        match meanwhile {
            Meanwhile::Nothing => None,
            Meanwhile::Time | Meanwhile::All => Some(self.aging),
            Meanwhile::Events => Some(self.counted),
        }
    }
}

/// A call: its arguments, as far as checkpoints ask for them, and what it decides on.
type Call<'p> = (Map<String, Value>, Vec<&'p Checkpoint>);

/// The different calls of `tool`; none where there are too many.
fn calls<'p>(procedure: &'p Procedure, tool: &str) -> Option<Vec<Call<'p>>> {
    let of_tool = procedure.checkpoints.iter().filter_map(|one| match &one.issuer {
        Issuer::Tool { tool: issuer, args, .. } if issuer == tool => Some((one, args)),
        _ => None,
    });
    let of_tool: Vec<_> = of_tool.collect();
    let mut all: Vec<Map<String, Value>> = vec![Map::new()];
    for (_, args) in &of_tool {
        for known in all.clone() {
            let fits =
                args.iter().all(|(name, value)| known.get(name).is_none_or(|it| it == value));
            if !fits {
                continue;
            }
            let mut more = known;
            more.extend(args.iter().map(|(name, value)| (name.clone(), value.clone())));
            if !all.contains(&more) {
                all.push(more);
            }
        }
        if all.len() > CALLS {
            return None;
        }
    }
    let decides = |arguments: &Map<String, Value>| {
        let fits = |args: &std::collections::BTreeMap<String, Value>| {
            args.iter().all(|(name, value)| arguments.get(name) == Some(value))
        };
        of_tool.iter().filter(|(_, args)| fits(args)).map(|(one, _)| *one).collect()
    };
    Some(all.into_iter().map(|arguments| (arguments.clone(), decides(&arguments))).collect())
}
