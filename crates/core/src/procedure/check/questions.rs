//! What has to be known of a run to say what it can do next, as yes-or-no questions.

use concertina_format::procedure::{Checkpoint, Condition, Guard, Issuer, Procedure};

use super::super::run::WEBHOOK;
use super::answers;
use super::sets::{Set, Sets, Variable};

/// What a receipt names as its tool where a person gave it.
pub(super) const HUMAN: &str = "human";
/// More of them are not explored: a diagram is as deep as there are questions.
const QUESTIONS: usize = 400;

/// A check failed, and what follows of that is due.
pub(super) const FAILED: Variable = 0;
/// The work or the time went on, and the run was not looked at since.
pub(super) const LOOSE: Variable = 1;
const FIRST: Variable = 2;

/// A checkpoint whose standing matters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tracked<'p> {
    pub(super) checkpoint: &'p Checkpoint,
    /// It holds.
    pub(super) held: Variable,
    /// It was proven on some state of the work, and holds again when that returns.
    pub(super) proven: Option<Variable>,
    /// It held when the present state was entered.
    pub(super) entered: Option<Variable>,
}

/// What the last receipt of a tool says, as far as a guard asks.
#[derive(Debug)]
pub(super) struct Said<'p> {
    pub(super) tool: &'p str,
    conditions: Vec<(&'p Condition, Variable)>,
    /// The questions, to be forgotten together.
    pub(super) all: Set,
    /// Answers that one receipt can give.
    pub(super) possible: Set,
    /// Answers while there is none.
    pub(super) nothing: Set,
}

/// All questions.
#[derive(Debug)]
pub(super) struct Questions<'p> {
    procedure: &'p Procedure,
    pub(super) tracked: Vec<Tracked<'p>>,
    pub(super) said: Vec<Said<'p>>,
    /// Whether the other checkpoints were proven, which is asked only while a result is judged.
    passing: Vec<(&'p Checkpoint, Variable)>,
    /// The same as a cube, to be forgotten together.
    pub(super) passed: Set,
    /// How many there are.
    pub(super) count: usize,
}

impl<'p> Questions<'p> {
    /// What matters in `procedure`; none where it is too much.
    pub(super) fn of(procedure: &'p Procedure, sets: &mut Sets) -> Option<Self> {
        let leaves: Vec<&Guard> = guards(procedure).flat_map(Guard::leaves).collect();
        let is_named = |name: &str| {
            leaves.iter().any(|leaf| matches!(leaf, Guard::Holds(named) if named == name))
        };
        // What goes stale leads back, whether or not a guard names it.
        let looks_back = procedure.states.iter().any(|state| state.on_stale.is_some());
        let mut next = FIRST;
        let mut ask = || {
            next += 1;
            next - 1
        };
        let matters = procedure.checkpoints.iter().filter(|one| looks_back || is_named(&one.name));
        let tracked = matters.map(|checkpoint| Tracked {
            checkpoint,
            held: ask(),
            proven: checkpoint.binds.then(&mut ask),
            entered: looks_back.then(&mut ask),
        });
        let tracked: Vec<_> = tracked.collect();

        let mut asked: Vec<(&'p str, &'p Condition)> = Vec::new();
        for leaf in leaves {
            if let Guard::Receipt { tool, condition } = leaf
                && !asked.contains(&(tool, condition))
            {
                asked.push((tool, condition));
            }
        }
        let mut said: Vec<Said<'p>> = Vec::new();
        for (tool, condition) in asked {
            let variable = ask();
            match said.iter_mut().find(|said| said.tool == tool) {
                Some(said) => said.conditions.push((condition, variable)),
                None => said.push(Said {
                    tool,
                    conditions: vec![(condition, variable)],
                    all: Set::ALL,
                    possible: Set::ALL,
                    nothing: Set::ALL,
                }),
            }
        }
        let count = usize::try_from(next).ok().filter(|count| *count <= QUESTIONS)?;
        for said in &mut said {
            let variables = || said.conditions.iter().map(|(_, variable)| *variable);
            said.all = sets.cube(variables().map(|variable| (variable, true)));
            said.nothing = sets.cube(variables().map(|variable| (variable, false)));
            said.possible = answers::possible(procedure, said.tool, &said.conditions, &[], sets);
        }
        let others = procedure.checkpoints.iter();
        let others = others.filter(|one| !tracked.iter().any(|known| known.checkpoint == *one));
        let passing: Vec<_> = others.zip(next..).collect();
        let passed = sets.cube(passing.iter().map(|(_, variable)| (*variable, true)));
        Some(Self { procedure, tracked, said, passing, passed, count })
    }

    pub(super) fn tracked(&self, name: &str) -> Option<&Tracked<'p>> {
        self.tracked.iter().find(|one| one.checkpoint.name == name)
    }

    pub(super) fn said(&self, tool: &str) -> Option<&Said<'p>> {
        self.said.iter().find(|said| said.tool == tool)
    }

    /// Whether `checkpoint` is proven by the result that is judged.
    pub(super) fn verdict(&self, checkpoint: &Checkpoint) -> Option<Variable> {
        let tracked = self.tracked(&checkpoint.name).map(|one| one.held);
        let passing = || self.passing.iter().find(|(one, _)| *one == checkpoint);
        tracked.or_else(|| passing().map(|(_, variable)| *variable))
    }

    /// What one receipt of `tool` can say that decides on `decided`, and its verdicts on them.
    pub(super) fn judged(&self, tool: &str, decided: &[&'p Checkpoint], sets: &mut Sets) -> Set {
        let asked = self.said(tool).map(|said| said.conditions.as_slice()).unwrap_or_default();
        let verdicts = decided.iter().filter_map(|one| Some((*one, self.verdict(one)?)));
        let verdicts: Vec<_> = verdicts.collect();
        answers::possible(self.procedure, tool, asked, &verdicts, sets)
    }

    /// Situations in which all that holds was proven by the last receipt that could prove it.
    pub(super) fn plain(&self, sets: &mut Sets) -> Set {
        let mut rest: Vec<&Tracked<'p>> = self.tracked.iter().collect();
        let mut plain = Set::ALL;
        while let Some(first) = rest.first().map(|one| one.checkpoint) {
            let is_with = |one: &&Tracked<'p>| {
                one.checkpoint == first || are_decided_together(one.checkpoint, first)
            };
            let (together, others): (Vec<&Tracked<'p>>, Vec<_>) =
                rest.into_iter().partition(is_with);
            let decided: Vec<&Checkpoint> = together.iter().map(|one| one.checkpoint).collect();
            let tool = speaks_as(first);
            let mut judged = self.judged(tool, &decided, sets);
            let mut nothing = sets.cube(together.iter().map(|one| (one.held, false)));
            match self.said(tool) {
                // A call with other arguments may have come later.
                Some(said) if has_arguments(first) => judged = sets.forget(judged, said.all),
                Some(said) => nothing = sets.and(nothing, said.nothing),
                None => {}
            }
            let either = sets.or(judged, nothing);
            plain = sets.and(plain, either);
            rest = others;
        }
        plain
    }

    /// Where `guard` holds.
    pub(super) fn guard(&self, guard: &Guard, sets: &mut Sets) -> Set {
        match guard {
            Guard::Constant(true) => Set::ALL,
            Guard::Constant(false) => Set::NONE,
            Guard::Holds(name) => match self.tracked(name) {
                Some(one) => sets.literal(one.held, true),
                None => Set::NONE,
            },
            Guard::Receipt { tool, condition } => {
                let conditions = self.said(tool).map(|said| said.conditions.as_slice());
                let known = conditions.unwrap_or_default().iter();
                match known.clone().find(|(one, _)| *one == condition) {
                    Some((_, variable)) => sets.literal(*variable, true),
                    None => Set::NONE,
                }
            }
            Guard::Not(inner) => {
                let inner = self.guard(inner, sets);
                sets.not(inner)
            }
            Guard::All(parts) => parts.iter().fold(Set::ALL, |all, part| {
                let part = self.guard(part, sets);
                sets.and(all, part)
            }),
            Guard::Any(parts) => parts.iter().fold(Set::NONE, |all, part| {
                let part = self.guard(part, sets);
                sets.or(all, part)
            }),
        }
    }

    /// What the receipt of `tool` says at `point`, in words.
    pub(super) fn words(&self, tool: &str, point: &[bool]) -> Vec<String> {
        let conditions = self.said(tool).map(|said| said.conditions.as_slice());
        let holds = |variable: Variable| point.get(variable as usize) == Some(&true);
        let known = conditions.unwrap_or_default().iter();
        known.filter(|(_, variable)| holds(*variable)).map(|(one, _)| one.to_string()).collect()
    }
}

/// Every guard of a procedure.
pub(super) fn guards(procedure: &Procedure) -> impl Iterator<Item = &Guard> {
    let in_states = procedure.states.iter().flat_map(|state| {
        let tools = state.show.tools.iter().filter_map(|shown| shown.when.as_ref());
        tools.chain(state.exits.iter().map(|exit| &exit.when))
    });
    in_states.chain(procedure.invariants.iter().map(|invariant| &invariant.without))
}

/// What receipts for `checkpoint` name as their tool.
pub(super) fn speaks_as(checkpoint: &Checkpoint) -> &str {
    match &checkpoint.issuer {
        Issuer::Tool { tool, .. } => tool,
        Issuer::Webhook { .. } => WEBHOOK,
        Issuer::Human { .. } => HUMAN,
    }
}

/// Whether every call that decides on one of them decides on the other.
pub(super) fn are_decided_together(one: &Checkpoint, other: &Checkpoint) -> bool {
    match (&one.issuer, &other.issuer) {
        (Issuer::Tool { tool, args, .. }, Issuer::Tool { tool: other, args: others, .. }) => {
            (tool, args) == (other, others)
        }
        _ => false,
    }
}

fn has_arguments(checkpoint: &Checkpoint) -> bool {
    matches!(&checkpoint.issuer, Issuer::Tool { args, .. } if !args.is_empty())
}
