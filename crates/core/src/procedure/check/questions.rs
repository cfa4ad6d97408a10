//! What has to be known of a run to say what it can do next, as yes-or-no questions.

use concertina_format::procedure::{Checkpoint, Condition, Guard, Issuer, Procedure};
use concertina_types::FieldValue;

use super::super::run::WEBHOOK;
use super::sets::{Set, Sets, Variable};

/// What a receipt names as its tool where a person gave it.
const HUMAN: &str = "human";
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
    pub(super) tracked: Vec<Tracked<'p>>,
    pub(super) said: Vec<Said<'p>>,
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
        // A checkpoint and a field of the same receipt are not free of each other.
        for one in &tracked {
            let tool = speaks_as(one.checkpoint);
            for condition in &one.checkpoint.expect {
                let is_read = |(of, other): &(&str, &Condition)| {
                    *of == tool && other.field == condition.field
                };
                if asked.iter().any(is_read) && !asked.contains(&(tool, condition)) {
                    asked.push((tool, condition));
                }
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
            said.possible = possible(procedure, said.tool, &said.conditions, sets);
        }
        Some(Self { tracked, said, count })
    }

    pub(super) fn tracked(&self, name: &str) -> Option<&Tracked<'p>> {
        self.tracked.iter().find(|one| one.checkpoint.name == name)
    }

    pub(super) fn said(&self, tool: &str) -> Option<&Said<'p>> {
        self.said.iter().find(|said| said.tool == tool)
    }

    /// What a receipt has to say for `checkpoint` to be proven, as far as a guard asks.
    pub(super) fn expected(&self, checkpoint: &Checkpoint, sets: &mut Sets) -> Set {
        let Some(said) = self.said(speaks_as(checkpoint)) else { return Set::ALL };
        let wanted = said.conditions.iter().filter(|(one, _)| checkpoint.expect.contains(one));
        sets.cube(wanted.map(|(_, variable)| (*variable, true)))
    }

    /// Situations in which each checkpoint that holds was proven by the last receipt of its tool.
    pub(super) fn plain(&self, sets: &mut Sets) -> Set {
        let mut plain = Set::ALL;
        for one in &self.tracked {
            if matches!(&one.checkpoint.issuer, Issuer::Tool { args, .. } if !args.is_empty()) {
                continue;
            }
            let expected = self.expected(one.checkpoint, sets);
            let open = sets.literal(one.held, false);
            let follows = sets.or(open, expected);
            plain = sets.and(plain, follows);
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

/// Which of `conditions` can hold together: for each field, those that some value of it makes true.
fn possible(
    procedure: &Procedure,
    tool: &str,
    conditions: &[(&Condition, Variable)],
    sets: &mut Sets,
) -> Set {
    let mut fields: Vec<&str> = conditions.iter().map(|(one, _)| one.field.as_str()).collect();
    fields.sort_unstable();
    fields.dedup();
    let mut all = Set::ALL;
    for field in fields {
        let of_field = || conditions.iter().filter(|(one, _)| one.field == field);
        let is_program = !matches!(tool, WEBHOOK | HUMAN);
        let mut values: Vec<Option<FieldValue>> = Vec::new();
        // A program always ends with a number; everything else can be missing.
        if !is_program || field != "exit" {
            values.push(None);
        }
        if !is_program || can_say(procedure, tool, field) {
            for (condition, _) in of_field() {
                values.extend(around(&condition.value).into_iter().map(Some));
            }
        }
        if is_program && field == "exit" {
            values.push(Some(FieldValue::Number(0)));
            values.retain(|value| matches!(value, Some(FieldValue::Number(_))));
        }
        let each = values.iter().map(|value| {
            let holds = |one: &Condition| {
                value.as_ref().is_some_and(|value| one.compare.holds(value, &one.value))
            };
            sets.cube(of_field().map(|(one, variable)| (*variable, holds(one))))
        });
        let each: Vec<Set> = each.collect();
        let of_field = each.into_iter().fold(Set::NONE, |all, one| sets.or(all, one));
        all = sets.and(all, of_field);
    }
    all
}

/// Values at which a comparison with `value` changes, and others.
fn around(value: &FieldValue) -> Vec<FieldValue> {
    match value {
        FieldValue::Flag(_) => vec![true.into(), false.into()],
        FieldValue::Number(number) => {
            [number.saturating_sub(1), *number, number.saturating_add(1)].map(Into::into).to_vec()
        }
        FieldValue::Text(text) => {
            vec![text.as_str().into(), format!("{text}, or not").as_str().into()]
        }
    }
}

/// Whether something that is read of what `tool` produces has `field`.
fn can_say(procedure: &Procedure, tool: &str, field: &str) -> bool {
    let reads = |checkpoint: &Checkpoint| match &checkpoint.issuer {
        Issuer::Tool { tool: issuer, parse, .. } => {
            issuer == tool && parse.fields().contains(&field)
        }
        Issuer::Webhook { .. } | Issuer::Human { .. } => false,
    };
    field == "exit" || procedure.checkpoints.iter().any(reads)
}
