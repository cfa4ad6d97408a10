//! Two configurations on the same requests.

use std::collections::BTreeMap;

use serde::Serialize;

use super::figures::Outcome;
use super::interval::PairedDifference;
use super::labelled::{Asked, Request};
use super::lines::Place;
use super::options::RouteOptions;
use super::route::{Route, RouteReport};
use super::{Capped, NAMED, quoted};

/// A second configuration held against the first one. Every difference is the second less the first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How the second configuration did.
    pub report: RouteReport,
    /// How they differ in `hit_at_1`; none where no request is answerable.
    pub hit_at_1: Option<PairedDifference>,
    /// How they differ in answering what something serves.
    pub answerable_kept: Option<PairedDifference>,
    /// How they differ in turning away what nothing serves.
    pub abstained: Option<PairedDifference>,
    /// How they differ in `hit_at_1` on each kind of request that has answerable ones.
    pub per_kind: BTreeMap<String, PairedDifference>,
    /// Requests whose first document serves them with the second configuration only.
    pub won: Capped<Decided>,
    /// Requests whose first document serves them with the first configuration only.
    pub lost: Capped<Decided>,
}

/// A request that one of two configurations met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Where it was read.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// Its beginning.
    pub query: String,
    /// What sort of request it is.
    pub kind: Option<String>,
}

impl From<&Request> for Decided {
    fn from(request: &Request) -> Self {
        let (place, kind) = (request.place.clone(), request.kind.clone());
        Self { place, query: quoted(&request.query), kind }
    }
}

/// A request with what came of it under the first and under the second configuration.
type Pair<'a> = (&'a Asked, &'a Outcome, &'a Outcome);

impl Route<'_> {
    /// Puts the same requests to a search with other `options`.
    pub fn compare(&self, options: &RouteOptions) -> Comparison {
        self.against(&Route::of(self.set, options))
    }

    /// Holds another search against this one. Both must have been asked the requests of one set.
    pub fn against(&self, second: &Route<'_>) -> Comparison {
        let pairs: Vec<Pair<'_>> = self
            .pairs()
            .zip(&second.outcomes)
            .map(|((a, first), second)| (a, first, second))
            .collect();
        let (answerable, rest): (Vec<Pair<'_>>, Vec<_>) =
            pairs.into_iter().partition(|(asked, _, _)| !asked.serving.is_empty());
        let mut of_kind: BTreeMap<&str, Vec<Pair<'_>>> = BTreeMap::new();
        for pair in &answerable {
            if let Some(kind) = &pair.0.request.kind {
                of_kind.entry(kind).or_default().push(*pair);
            }
        }
        let difference = |(kind, pairs): (&str, Vec<_>)| {
            Some((kind.to_owned(), paired(&pairs, |asked, outcome| outcome.is_hit(asked))?))
        };
        let decided = |by_second: bool| {
            let is_decided = |(asked, first, second): &&Pair<'_>| {
                first.is_hit(asked) != by_second && second.is_hit(asked) == by_second
            };
            let requests = answerable.iter().filter(is_decided);
            Capped::of(requests.map(|(asked, _, _)| (&asked.request).into()).collect(), NAMED)
        };
        Comparison {
            hit_at_1: paired(&answerable, |asked, outcome| outcome.is_hit(asked)),
            answerable_kept: paired(&answerable, |_, outcome| outcome.enough),
            abstained: paired(&rest, |_, outcome| !outcome.enough),
            per_kind: of_kind.into_iter().filter_map(difference).collect(),
            won: decided(true),
            lost: decided(false),
            report: second.report(),
        }
    }
}

fn paired(
    pairs: &[Pair<'_>],
    is_met: impl Fn(&Asked, &Outcome) -> bool,
) -> Option<PairedDifference> {
    let met = |(asked, first, second): &Pair<'_>| (is_met(asked, first), is_met(asked, second));
    PairedDifference::of(&pairs.iter().map(met).collect::<Vec<_>>())
}
