//! Which situations a run can come into, which lead to an end, and by which steps.

use std::collections::{BTreeSet, VecDeque};

use concertina_format::procedure::Issuer;

use super::model::{Model, Step, What};
use super::sets::{Point, Set};

/// Steps that are tried in looking for the shortest way to a situation: some tenths of a second.
const TRIES: usize = 20_000;

/// Nodes of diagrams for what is still said where the way to the end could not be explored.
const MORE: usize = 200_000;

/// Situations by state.
pub(super) type Situations = Vec<Set>;

/// A model with what was found out about it.
#[derive(Debug)]
pub(super) struct Explored<'p> {
    pub(super) model: Model<'p>,
    /// What can be reached.
    pub(super) reached: Situations,
    /// What of that goes on by itself for ever.
    pub(super) restless: Situations,
    /// What can lead to an end without the work being as it once was. None where that is too much to say.
    pub(super) ending: Option<Situations>,
    /// Steps that can be taken, by the state they start from.
    from: Vec<Vec<Step<'p>>>,
    /// Situations by the number of steps that they take, each where it is reached first.
    rings: Vec<Situations>,
    seen: Situations,
    tries: usize,
}

impl<'p> Explored<'p> {
    /// Explores `model`.
    pub(super) fn of(mut model: Model<'p>) -> Self {
        let states = model.procedure.states.len();
        let steps = std::mem::take(&mut model.steps);
        let mut from = vec![Vec::new(); states];
        for step in steps {
            if let Some(list) = from.get_mut(step.from) {
                list.push(step);
            }
        }
        let mut reached = vec![Set::NONE; states];
        let mut ring = reached.clone();
        if let (Some(first), Some(inner)) = (reached.first_mut(), ring.first_mut()) {
            (*first, *inner) = (model.start, model.start);
        }
        let seen = ring.clone();
        let (restless, ending, rings) = (Vec::new(), None, vec![ring]);
        let mut all = Self { model, reached, restless, ending, from, rings, seen, tries: 0 };
        all.forwards();
        all.restless();
        if !all.model.sets.is_full() {
            all.backwards();
            if all.model.sets.is_full() {
                all.ending = None;
                all.model.sets.give_up(MORE);
            }
        }
        all
    }

    /// The steps from the state at `at`.
    pub(super) fn steps(&self, at: usize) -> &[Step<'p>] {
        self.from.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    /// Situations in the state at `at` in which tools can be called.
    pub(super) fn calling(&mut self, at: usize) -> Set {
        let calling = self.model.calling(at);
        self.model.sets.and(of(&self.reached, at), calling)
    }

    fn forwards(&mut self) {
        let mut todo = Todo::default();
        todo.push(0);
        while let Some(at) = todo.pop() {
            // A state is settled before what comes after it is looked at.
            let mut is_settled = false;
            while !is_settled {
                is_settled = true;
                for step in self.from.get(at).into_iter().flatten().filter(|step| step.to == at) {
                    is_settled &= !Self::reach(&mut self.model, &mut self.reached, step);
                }
            }
            for step in self.from.get(at).into_iter().flatten().filter(|step| step.to != at) {
                if Self::reach(&mut self.model, &mut self.reached, step) {
                    todo.push(step.to);
                }
            }
        }
    }

    /// Takes `step`; says whether it led to anything new.
    fn reach(model: &mut Model<'p>, reached: &mut [Set], step: &Step<'p>) -> bool {
        let after = model.after(of(reached, step.from), step);
        let Some(known) = reached.get_mut(step.to) else { return false };
        let all = model.sets.or(*known, after);
        let is_new = all != *known;
        *known = all;
        is_new
    }

    fn backwards(&mut self) {
        let states = &self.model.procedure.states;
        let mut ending = vec![Set::NONE; states.len()];
        let mut into: Vec<Vec<Step<'p>>> = vec![Vec::new(); states.len()];
        for step in self.from.iter().flatten() {
            // Nobody is asked to undo work so that an old proof holds again.
            if !matches!(step.what, What::Returns)
                && let Some(list) = into.get_mut(step.to)
            {
                list.push(step.alone());
            }
        }
        let mut todo = Todo::default();
        for (at, _) in states.iter().enumerate().filter(|(_, state)| state.is_final) {
            if let Some(ending) = ending.get_mut(at) {
                *ending = of(&self.reached, at);
            }
            todo.push(at);
        }
        while let Some(at) = todo.pop() {
            let into = into.get(at).map(Vec::as_slice).unwrap_or_default();
            let mut is_settled = false;
            while !is_settled {
                is_settled = true;
                for step in into.iter().filter(|step| step.from == at) {
                    is_settled &= !Self::lead(&mut self.model, &self.reached, &mut ending, step);
                }
            }
            for step in into.iter().filter(|step| step.from != at) {
                if Self::lead(&mut self.model, &self.reached, &mut ending, step) {
                    todo.push(step.from);
                }
            }
        }
        self.ending = Some(ending);
    }

    /// Takes `step` backwards; says whether it led to anything new.
    fn lead(model: &mut Model<'p>, reached: &[Set], ending: &mut [Set], step: &Step<'p>) -> bool {
        let before = model.before(of(ending, step.to), step);
        let before = model.sets.and(before, of(reached, step.from));
        let Some(known) = ending.get_mut(step.from) else { return false };
        let all = model.sets.or(*known, before);
        let is_new = all != *known;
        *known = all;
        is_new
    }

    fn restless(&mut self) {
        let mut restless = self.reached.clone();
        let states = self.from.len();
        loop {
            let mut is_stable = true;
            for at in (0..states).rev() {
                let now = of(&restless, at);
                if now.is_empty() {
                    continue;
                }
                let mut still = Set::NONE;
                for step in self.from.get(at).into_iter().flatten() {
                    if step.what.is_move() {
                        let before = self.model.before(of(&restless, step.to), step);
                        still = self.model.sets.or(still, before);
                    }
                }
                let still = self.model.sets.and(now, still);
                if still != now {
                    is_stable = false;
                    if let Some(now) = restless.get_mut(at) {
                        *now = still;
                    }
                }
            }
            if is_stable {
                self.restless = restless;
                return;
            }
        }
    }

    /// Where a run goes by itself from `point` in the state at `at`, until it comes to a state for the second time.
    pub(super) fn rounds(&mut self, at: usize, point: Point) -> Vec<usize> {
        let mut states = vec![at];
        let (mut at, mut point) = (at, point);
        loop {
            let Some(next) = self.goes_on(at, &point) else { return Vec::new() };
            (at, point) = next;
            if let Some(first) = states.iter().position(|known| *known == at) {
                return states.split_off(first);
            }
            states.push(at);
        }
    }

    /// The states that a run goes through by itself when it begins, each with what is so in it, until it comes to rest
    /// or to a state for the second time.
    pub(super) fn beginning(&mut self) -> Vec<(usize, Point)> {
        let first = self.model.sets.pick(self.model.start, self.model.questions.count);
        let mut states: Vec<(usize, Point)> = first.map(|point| (0, point)).into_iter().collect();
        while let Some((at, point)) = states.last().cloned()
            && let Some(next) = self.goes_on(at, &point)
            && states.iter().all(|(known, _)| *known != next.0)
        {
            states.push(next);
        }
        states
    }

    /// Where a run goes by itself from `point` in the state at `at`.
    fn goes_on(&mut self, at: usize, point: &[bool]) -> Option<(usize, Point)> {
        let is_due =
            |step: &&Step<'p>| step.what.is_move() && self.model.sets.contains(step.when, point);
        let step = self.steps(at).iter().find(is_due).cloned()?;
        let here = self.point(point);
        let after = self.model.after(here, &step);
        Some((step.to, self.model.sets.pick(after, self.model.questions.count)?))
    }

    fn point(&mut self, point: &[bool]) -> Set {
        let literals = (0..).zip(point.iter().copied());
        self.model.sets.cube(literals)
    }

    /// The nearest of some situations, each with its state, and the shortest way from the start to it, in words. None
    /// where it is not found in time.
    pub(super) fn way(&mut self, wanted: &[(usize, Set)]) -> Option<(usize, Vec<String>)> {
        for depth in 0.. {
            let ring = self.ring(depth)?;
            for (number, (at, set)) in wanted.iter().enumerate() {
                let found = self.model.sets.and(of(&ring, *at), *set);
                if let Some(point) = self.model.sets.pick(found, self.model.questions.count) {
                    return Some((number, self.walk(depth, *at, point)));
                }
            }
        }
        None
    }

    /// The situations that take `depth` steps and no fewer.
    fn ring(&mut self, depth: usize) -> Option<Situations> {
        while self.rings.len() <= depth {
            let last = self.rings.last()?.clone();
            let mut next = vec![Set::NONE; last.len()];
            for (at, set) in last.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
                for step in self.from.get(at).into_iter().flatten() {
                    self.tries += 1;
                    if self.tries > TRIES || self.model.sets.is_full() {
                        return None;
                    }
                    let after = self.model.after(*set, step);
                    let new = self.model.sets.without(after, of(&self.seen, step.to));
                    if let (Some(seen), Some(next)) =
                        (self.seen.get_mut(step.to), next.get_mut(step.to))
                    {
                        *seen = self.model.sets.or(*seen, new);
                        *next = self.model.sets.or(*next, new);
                    }
                }
            }
            if next.iter().all(|set| set.is_empty()) {
                return None;
            }
            self.rings.push(next);
        }
        self.rings.get(depth).cloned()
    }

    /// The steps to `point`, which takes `depth` of them.
    fn walk(&mut self, depth: usize, mut at: usize, mut point: Point) -> Vec<String> {
        let mut words = VecDeque::new();
        for ring in self.rings.get(..depth).unwrap_or_default().to_vec().iter().rev() {
            let here = self.point(&point);
            let into = self.from.iter().flatten().filter(|step| step.to == at);
            for step in into {
                let before = self.model.before(here, step);
                let before = self.model.sets.and(before, of(ring, step.from));
                if let Some(earlier) = self.model.sets.pick(before, point.len()) {
                    words.push_front(self.words(step, &earlier, &point));
                    (at, point) = (step.from, earlier);
                    break;
                }
            }
        }
        words.into()
    }

    /// A step from one situation to another, in words.
    fn words(&self, step: &Step<'_>, before: &[bool], after: &[bool]) -> String {
        let name = |at: usize| {
            self.model.procedure.states.get(at).map(|state| state.name.as_str()).unwrap_or_default()
        };
        let questions = &self.model.questions;
        let holds = |name: &str, point: &[bool]| {
            let one = questions.tracked(name);
            one.is_some_and(|one| point.get(one.held as usize) == Some(&true))
        };
        match &step.what {
            What::Run(tool, arguments, decided) => {
                let with = if arguments.is_empty() {
                    String::new()
                } else {
                    format!(" {}", serde_json::Value::Object(arguments.clone()))
                };
                let (good, bad): (Vec<_>, Vec<_>) =
                    decided.iter().partition(|one| holds(&one.name, after));
                let names = |list: &[&&concertina_format::procedure::Checkpoint]| {
                    list.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
                };
                let outcome = match (good.is_empty(), bad.is_empty()) {
                    (true, true) => questions.words(tool, after).join(", "),
                    (false, true) => "passes".to_owned(),
                    (true, false) => "fails".to_owned(),
                    (false, false) => format!("{} passes, {} fails", names(&good), names(&bad)),
                };
                let arrow = if outcome.is_empty() { "" } else { " → " };
                let lost = questions.tracked.iter().filter(|one| {
                    let name = one.checkpoint.name.as_str();
                    let is_decided = decided.iter().any(|decided| decided.name == name);
                    !is_decided && holds(name, before) && !holds(name, after)
                });
                let lost: Vec<&str> = lost.map(|one| one.checkpoint.name.as_str()).collect();
                let meanwhile = if lost.is_empty() {
                    String::new()
                } else {
                    format!(", and {} holds no longer", lost.join(", "))
                };
                format!("{}: run {tool}{with}{arrow}{outcome}{meanwhile}", name(step.from))
            }
            What::Say(checkpoint) => {
                let says = if holds(&checkpoint.name, after) { "yes" } else { "no" };
                let who = match &checkpoint.issuer {
                    Issuer::Human { role, .. } => role.as_str(),
                    _ => "the webhook",
                };
                format!("{who} says {says} to {}", checkpoint.name)
            }
            What::Changes => "work changes".to_owned(),
            What::Returns => "work changes back".to_owned(),
            What::Time => {
                let over = questions.tracked.iter().filter(|one| {
                    holds(&one.checkpoint.name, before) && !holds(&one.checkpoint.name, after)
                });
                let over: Vec<&str> = over.map(|one| one.checkpoint.name.as_str()).collect();
                match over.as_slice() {
                    [one] => format!("{one} runs out"),
                    [] => "time passes".to_owned(),
                    several => format!("{} run out", several.join(", ")),
                }
            }
            What::Next => format!("go to {}", name(step.to)),
            What::Stale => format!("go to {}, since something went stale", name(step.to)),
            What::Fail(fail) if fail.max == 1 => {
                format!("go to {}, since a check failed", name(step.to))
            }
            What::Fail(fail) => {
                format!("go to {} after {} failures", name(step.to), fail.max)
            }
        }
    }
}

/// The set of the state at `at`.
pub(super) fn of(situations: &[Set], at: usize) -> Set {
    situations.get(at).copied().unwrap_or(Set::NONE)
}

/// States to be looked at, each once at a time.
#[derive(Debug, Default)]
struct Todo {
    queue: VecDeque<usize>,
    waiting: BTreeSet<usize>,
}

impl Todo {
    fn push(&mut self, at: usize) {
        if self.waiting.insert(at) {
            self.queue.push_back(at);
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let at = self.queue.pop_front()?;
        self.waiting.remove(&at);
        Some(at)
    }
}
