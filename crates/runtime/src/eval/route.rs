//! The same requests, each put to the search of the catalogue.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use concertina_core::catalog::search::{Answer, Index, Query};
use serde::Serialize;

use super::confusion::{Confusion, confusions};
use super::figures::{Figures, Outcome, Ranks};
use super::labelled::{Asked, LabelledSet, Request, Unknown, place_of};
use super::options::{LOOKED_AT, RouteOptions};
use super::{Capped, NAMED, Skipped};

/// The confusions that a report names. The rest happened once each, as a rule.
const CONFUSIONS: usize = 100;

/// Every request of a set, put to the search.
///
/// ```
/// use concertina_runtime::eval::{LabelledSet, Request, Route, RouteOptions, Row};
///
/// let row = |id: &str, description: &str| Row {
///     id: id.into(),
///     name: id.into(),
///     description: description.into(),
///     ..Row::default()
/// };
/// let rows = vec![row("mail", "Sends a letter"), row("clock", "Says the time")];
/// let asks = |query: &str, relevant: &[&str]| Request {
///     query: query.into(),
///     relevant: relevant.iter().map(|id| (*id).to_owned()).collect(),
///     ..Request::default()
/// };
/// let requests = vec![asks("what time is it", &["clock"]), asks("play chess", &[])];
/// let set = LabelledSet::new(rows, requests)?;
/// let report = Route::of(&set, &RouteOptions::default()).report();
/// assert_eq!((report.figures.queries, report.figures.hit_at_1), (2, Some(1.0)));
/// assert_eq!(report.figures.abstained, Some(1.0));
/// # Ok::<(), concertina_runtime::eval::EvalError>(())
/// ```
#[derive(Debug)]
pub struct Route<'s> {
    pub(super) set: &'s LabelledSet,
    pub(super) outcomes: Vec<Outcome>,
    index: Index,
    k: usize,
    build: Duration,
    /// How long each request took, ascending.
    times: Vec<Duration>,
}

/// What [`Route::report`] says. All fractions are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouteReport {
    /// The figures over all requests.
    #[serde(flatten)]
    pub figures: Figures,
    /// Requests whose documents are all missing in the catalogue; they are left out of every figure.
    pub unservable: usize,
    /// The time that half of the requests took at most to search, in microseconds: the nearest rank.
    /// None where no request was asked.
    pub p50_us: Option<f64>,
    /// The same for 99 of 100.
    pub p99_us: Option<f64>,
    /// The time that it took to build the index, in milliseconds.
    pub build_ms: f64,
    /// Documents in the index.
    pub documents: usize,
    /// The k of `recall_at_k`.
    pub k: usize,
    /// The rank of the first document that serves a request.
    pub first_relevant_rank: Ranks,
    /// The figures of each kind of request, where kinds are given.
    pub per_kind: BTreeMap<String, Figures>,
    /// The figures of each language, where languages are given.
    pub per_lang: BTreeMap<String, Figures>,
    /// Which document won wrongly over which, most often first.
    pub confusions: Capped<Confusion>,
    /// Lines that were left out.
    pub skipped: Capped<Skipped>,
    /// Requests with ids that the catalogue does not have.
    pub unknown: Capped<Unknown>,
}

impl<'s> Route<'s> {
    /// Builds the index and asks every request once, in order.
    pub fn of(set: &'s LabelledSet, options: &RouteOptions) -> Self {
        Self::by(set, options, |index, query, _| index.find(query))
    }

    /// The same with `search` in place of the search by words.
    pub fn by(
        set: &'s LabelledSet,
        options: &RouteOptions,
        mut search: impl FnMut(&Index, &Query<'_>, &Request) -> Answer,
    ) -> Self {
        let documents: Vec<_> = set.documents().collect();
        let start = Instant::now();
        let index = Index::build_with(documents, options.weights.clone());
        let build = start.elapsed();
        let mut times = Vec::with_capacity(set.asked().len());
        let limit = options.k.max(LOOKED_AT);
        let ask = |asked: &Asked| {
            let query = Query { limit, ..Query::new(&asked.request.query) };
            let start = Instant::now();
            let answer = search(&index, &query, &asked.request);
            times.push(start.elapsed());
            let ranking = answer.ranking().iter().filter_map(|hit| place_of(&hit.reference));
            Outcome { ranking: ranking.collect(), enough: answer.enough }
        };
        let outcomes = set.asked().iter().map(ask).collect();
        times.sort_unstable();
        Self { set, outcomes, index, k: options.k, build, times }
    }

    /// The figures over the requests for which `belongs` holds.
    pub fn figures(&self, belongs: impl Fn(&Request) -> bool) -> Figures {
        Figures::of(self.pairs().filter(|(asked, _)| belongs(&asked.request)), self.k)
    }

    /// The ids of the documents that each request found, best first, at most ten or `k`.
    pub fn rankings(&self) -> impl Iterator<Item = (&Request, Vec<&str>)> {
        self.pairs().map(|(asked, outcome)| {
            let ids = outcome.ranking.iter().map(|place| self.set.id(*place));
            (&asked.request, ids.collect())
        })
    }

    /// Everything that is known.
    pub fn report(&self) -> RouteReport {
        let set = self.set;
        RouteReport {
            figures: self.figures(|_| true),
            unservable: set.unservable(),
            p50_us: self.percentile(50),
            p99_us: self.percentile(99),
            build_ms: rounded(self.build.as_secs_f64() * 1e3),
            documents: self.index.len(),
            k: self.k,
            first_relevant_rank: Ranks::of(self.pairs()),
            per_kind: self.groups(|request| request.kind.as_deref()),
            per_lang: self.groups(|request| request.lang.as_deref()),
            confusions: Capped::of(confusions(set, &self.index, self.pairs()), CONFUSIONS),
            skipped: Capped::of(set.skipped().to_vec(), NAMED),
            unknown: Capped::of(set.unknown().to_vec(), NAMED),
        }
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&Asked, &Outcome)> {
        self.set.asked().iter().zip(&self.outcomes)
    }

    fn groups(&self, name: impl Fn(&Request) -> Option<&str>) -> BTreeMap<String, Figures> {
        let mut members: BTreeMap<&str, Vec<(&Asked, &Outcome)>> = BTreeMap::new();
        for pair in self.pairs() {
            if let Some(name) = name(&pair.0.request) {
                members.entry(name).or_default().push(pair);
            }
        }
        let figures = |group: Vec<_>| Figures::of(group.into_iter(), self.k);
        members.into_iter().map(|(name, group)| (name.to_owned(), figures(group))).collect()
    }

    /// The time that `percent` of the requests took at most, by the nearest rank.
    fn percentile(&self, percent: usize) -> Option<f64> {
        let rank = (self.times.len() * percent).div_ceil(100);
        let time = self.times.get(rank.checked_sub(1)?)?;
        Some(rounded(time.as_secs_f64() * 1e6))
    }
}

/// Times vary from run to run by more than a tenth.
fn rounded(time: f64) -> f64 {
    (time * 10.0).round() / 10.0
}
