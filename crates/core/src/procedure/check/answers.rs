//! What one result can say: answers to all that is asked of it, and verdicts on all that it decides on.
//!
//! What is asked of one value has the answers that one value can give. So no run proves both of two checkpoints of its
//! tool that exclude each other, and no count is below zero.

use concertina_format::procedure::{Checkpoint, Condition, Issuer, Procedure};
use concertina_format::results::ResultParser;
use concertina_types::FieldValue;

use super::super::run::WEBHOOK;
use super::questions::HUMAN;
use super::sets::{Set, Sets, Variable};

/// Counts of tests that are summed up…
const PARTS: [&str; 3] = ["passed", "failed", "skipped"];
/// …and their sum.
const TOTAL: &str = "total";
/// Combinations of counts that are looked at together. Where there are more, the sum is taken to be free of its parts:
/// more is possible then than can happen.
const COMBINATIONS: usize = 4_000;

/// Where the field of a receipt comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source<'p> {
    /// Every program has an exit code.
    Exit,
    /// One way to read the result.
    Reading(&'p ResultParser, Option<&'p str>),
    /// Several, of which the last counts that gives the field; and whether all of them count tests.
    Several(bool),
    /// Somebody says so.
    Statement,
    /// Nothing gives it.
    Nowhere,
}

impl<'p> Source<'p> {
    /// Where guards find `field` of the receipt of `tool`.
    fn of_receipt(procedure: &'p Procedure, tool: &str, field: &str) -> Self {
        let readings = procedure.checkpoints.iter().filter_map(|one| match &one.issuer {
            Issuer::Tool { tool: issuer, parse, from, .. } if issuer == tool => {
                parse.fields().contains(&field).then_some((parse, from.as_deref()))
            }
            _ => None,
        });
        let mut readings: Vec<_> = readings.collect();
        readings.dedup();
        match readings.as_slice() {
            _ if matches!(tool, WEBHOOK | HUMAN) => Self::Statement,
            _ if field == "exit" => Self::Exit,
            [] => Self::Nowhere,
            [(parse, from)] => Self::Reading(parse, *from),
            several => Self::Several(several.iter().all(|(parse, _)| parse.counts_tests())),
        }
    }

    /// Where `checkpoint` finds `field`.
    fn of_checkpoint(checkpoint: &'p Checkpoint, field: &str) -> Self {
        match &checkpoint.issuer {
            Issuer::Tool { .. } if field == "exit" => Self::Exit,
            Issuer::Tool { parse, from, .. } => Self::Reading(parse, from.as_deref()),
            Issuer::Webhook { .. } | Issuer::Human { .. } => Self::Statement,
        }
    }

    fn counts_tests(self) -> bool {
        match self {
            Self::Reading(parse, _) => parse.counts_tests(),
            Self::Several(counts) => counts,
            Self::Exit | Self::Statement | Self::Nowhere => false,
        }
    }
}

/// A condition on a value, and what follows from whether it holds.
#[derive(Debug, Clone, Copy)]
struct Claim<'p> {
    source: Source<'p>,
    condition: &'p Condition,
    follows: Follows,
}

#[derive(Debug, Clone, Copy)]
enum Follows {
    /// This question is answered so.
    Answer(Variable),
    /// Where it does not hold, this checkpoint is not proven. Where it does, something else can be wrong.
    Verdict(Variable),
}

/// Everything that one receipt of `tool` can say of what is `asked`, with the verdicts on what it has `decided`.
pub(super) fn possible<'p>(
    procedure: &'p Procedure,
    tool: &str,
    asked: &[(&'p Condition, Variable)],
    decided: &[(&'p Checkpoint, Variable)],
    sets: &mut Sets,
) -> Set {
    let answers = asked.iter().map(|(condition, variable)| Claim {
        source: Source::of_receipt(procedure, tool, &condition.field),
        condition,
        follows: Follows::Answer(*variable),
    });
    let verdicts = decided.iter().flat_map(|(checkpoint, variable)| {
        checkpoint.expect.iter().map(|condition| Claim {
            source: Source::of_checkpoint(checkpoint, &condition.field),
            condition,
            follows: Follows::Verdict(*variable),
        })
    });
    let mut rest: Vec<Claim<'_>> = answers.chain(verdicts).collect();
    let mut all = Set::ALL;
    // Values that do not depend on each other are looked at one after the other.
    while let Some(Claim { source, condition, .. }) = rest.first().copied() {
        let belongs = |one: &Claim<'_>| {
            one.source == source
                && (source.counts_tests() || one.condition.field == condition.field)
        };
        let (together, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(belongs);
        let some = if source.counts_tests() {
            counts(&together, sets)
        } else {
            values(source, &together, sets)
        };
        all = sets.and(all, some);
        rest = others;
    }
    all
}

/// What follows where the value of all `claims` is `value`, or is not there.
fn where_it_is(value: Option<&FieldValue>, claims: &[Claim<'_>], sets: &mut Sets) -> Set {
    let follows = claims.iter().filter_map(|claim| {
        let Condition { compare, value: other, .. } = claim.condition;
        let holds = value.is_some_and(|value| compare.holds(value, other));
        match claim.follows {
            Follows::Answer(question) => Some((question, holds)),
            Follows::Verdict(verdict) => (!holds).then_some((verdict, false)),
        }
    });
    sets.cube(follows)
}

/// What follows from each value that a single field can have.
fn values(source: Source<'_>, claims: &[Claim<'_>], sets: &mut Sets) -> Set {
    let mut values: Vec<Option<FieldValue>> = Vec::new();
    if source != Source::Nowhere {
        values.extend(claims.iter().flat_map(|one| around(&one.condition.value)).map(Some));
    }
    if source == Source::Exit {
        values.push(Some(FieldValue::Number(0)));
        values.retain(|value| matches!(value, Some(FieldValue::Number(_))));
    } else {
        values.push(None);
    }
    values.iter().fold(Set::NONE, |all, value| {
        let one = where_it_is(value.as_ref(), claims, sets);
        sets.or(all, one)
    })
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

/// Counts from `least` to `most`, all of which answer alike.
#[derive(Debug, Clone, Copy)]
struct Counts {
    least: i128,
    most: i128,
    answers: Set,
}

/// What follows from each set of counts that a run of tests can have: none is below zero, and the total is their sum.
fn counts(claims: &[Claim<'_>], sets: &mut Sets) -> Set {
    // Where the result could not be read there are none at all.
    let nothing = where_it_is(None, claims, sets);
    let total = counts_of(TOTAL, claims, sets);
    let parts = PARTS.map(|part| counts_of(part, claims, sets));
    let combinations = parts.iter().map(Vec::len).fold(total.len(), usize::saturating_mul);
    let mut sums = vec![Counts { least: 0, most: 0, answers: Set::ALL }];
    for part in &parts {
        let is_free = total.len() == 1 || combinations > COMBINATIONS;
        let part = if is_free { vec![either(part, sets)] } else { part.clone() };
        let mut next = Vec::new();
        for (sum, one) in sums.iter().flat_map(|sum| part.iter().map(move |one| (sum, one))) {
            let answers = sets.and(sum.answers, one.answers);
            next.push(Counts { least: sum.least + one.least, most: sum.most + one.most, answers });
        }
        sums = next;
    }
    let fits = |sum: &Counts, total: &Counts| sum.least <= total.most && total.least <= sum.most;
    let mut all = nothing;
    for sum in &sums {
        for total in total.iter().filter(|total| fits(sum, total)) {
            let both = sets.and(sum.answers, total.answers);
            all = sets.or(all, both);
        }
    }
    all
}

/// The counts that `field` can have, by what is asked of it.
fn counts_of(field: &str, claims: &[Claim<'_>], sets: &mut Sets) -> Vec<Counts> {
    let claims: Vec<Claim<'_>> =
        claims.iter().filter(|one| one.condition.field == field).copied().collect();
    let limits = claims.iter().filter_map(|one| match one.condition.value {
        FieldValue::Number(number) if number >= 0 => Some(i128::from(number)),
        _ => None,
    });
    // Each limit by itself, what lies between two of them, and what lies before and behind all.
    let mut starts: Vec<i128> = limits.flat_map(|limit| [limit, limit + 1]).collect();
    starts.push(0);
    starts.sort_unstable();
    starts.dedup();
    let mut all = Vec::new();
    for (number, least) in starts.iter().enumerate() {
        let Ok(value) = i64::try_from(*least) else { continue };
        let most = starts.get(number + 1).map_or(i128::from(i64::MAX), |next| next - 1);
        let answers = where_it_is(Some(&value.into()), &claims, sets);
        all.push(Counts { least: *least, most, answers });
    }
    all
}

/// What follows from any of `counts`.
fn either(counts: &[Counts], sets: &mut Sets) -> Counts {
    let answers = counts.iter().fold(Set::NONE, |all, one| sets.or(all, one.answers));
    Counts { least: 0, most: i128::from(i64::MAX), answers }
}
