//! What is counted, over any group of requests.

use serde::Serialize;

use super::interval::{Estimate, Interval, number};
use super::labelled::Asked;

/// What came of one request.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// The places of the first documents, best first, also where the index says that none fits.
    pub(super) ranking: Vec<usize>,
    /// Whether the index says that something fits.
    pub(super) enough: bool,
}

impl Outcome {
    /// Whether the first document serves `asked`.
    pub(super) fn is_hit(&self, asked: &Asked) -> bool {
        self.ranking.first().is_some_and(|place| asked.is_served_by(*place))
    }

    /// The rank, from 1, of the first document that serves `asked`.
    pub(super) fn first_rank(&self, asked: &Asked) -> Option<usize> {
        self.ranking.iter().position(|place| asked.is_served_by(*place)).map(|at| at + 1)
    }
}

/// How well a group of requests was met. Every figure is from 0 to 1, and none (`null`) where the
/// group has no request that it speaks of: of no request nothing is known.
///
/// The ranking counts also where the index says that nothing fits, so that `hit_at_1`, the recalls
/// and `ndcg_at_10` say how well the search ranks, and `answerable_kept`, `abstained` and
/// `wrongly_answered` how well it knows when to answer.
///
/// A group is its *answerable* requests, which some document serves, and the others,
/// which *nothing serves*. Requests whose documents are not in the catalogue belong to no group.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Requests: the answerable ones and those that nothing serves.
    pub queries: usize,
    /// Requests that something serves.
    pub answerable: usize,
    /// Requests that nothing serves.
    pub unanswerable: usize,
    /// The share of the answerable requests whose first document serves them.
    pub hit_at_1: Option<f64>,
    /// The mean, over the answerable requests, of the share of their documents that is among the
    /// first 5. A request that more than 5 documents serve stays below 1.
    pub recall_at_5: Option<f64>,
    /// The same among the first 10.
    pub recall_at_10: Option<f64>,
    /// The same among the first `k`, which is 10 where nothing else was asked for.
    pub recall_at_k: Option<f64>,
    /// The mean, over the answerable requests, of the normalised discounted cumulative gain of the
    /// first 10, where a document serves a request or does not: each that does counts
    /// 1 / log2(rank + 1), and the sum is divided by that of the best order there could be
    /// (Järvelin and Kekäläinen, "Cumulated Gain-Based Evaluation of IR Techniques", ACM Transactions
    /// on Information Systems 20, 2002).
    pub ndcg_at_10: Option<f64>,
    /// The share of the answerable requests that were answered; the others were turned away although
    /// something serves them.
    pub answerable_kept: Option<f64>,
    /// The share of the requests that nothing serves that were rightly turned away.
    pub abstained: Option<f64>,
    /// The share of the requests that nothing serves that were answered: 1 - `abstained`.
    pub wrongly_answered: Option<f64>,
    /// What each figure may be.
    pub ci95: Intervals,
}

/// The interval of each of the [`Figures`] at 95 %; [`Estimate::of`] says how it is found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields are those of `Figures`")]
pub struct Intervals {
    pub hit_at_1: Option<Interval>,
    pub recall_at_5: Option<Interval>,
    pub recall_at_10: Option<Interval>,
    pub recall_at_k: Option<Interval>,
    pub ndcg_at_10: Option<Interval>,
    pub answerable_kept: Option<Interval>,
    pub abstained: Option<Interval>,
    pub wrongly_answered: Option<Interval>,
}

/// How often something had which rank: of how many answerable requests the first document that serves
/// them, of how many searches the hit that was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ranks {
    /// How many have rank 1, 2, and so on, up to 10.
    pub ranks: Vec<usize>,
    /// How many have a greater one, or none.
    pub beyond: usize,
}

/// How far [`Ranks`] go.
const RANKS: usize = 10;

impl Figures {
    /// The figures of a group; `k` is the k of `recall_at_k`.
    pub(super) fn of<'a>(group: impl Iterator<Item = (&'a Asked, &'a Outcome)>, k: usize) -> Self {
        let (answerable, rest): (Vec<_>, Vec<_>) =
            group.partition(|(asked, _)| !asked.serving.is_empty());
        let mean = |of: &dyn Fn(&Asked, &Outcome) -> f64| {
            let values: Vec<f64> = answerable.iter().map(|(a, o)| of(a, o)).collect();
            part(Estimate::of(&values))
        };
        let share = |of: &dyn Fn(&Asked, &Outcome) -> bool| mean(&|a, o| f64::from(of(a, o)));
        let share_of_rest = |of: &dyn Fn(&Outcome) -> bool| {
            let values: Vec<f64> = rest.iter().map(|(_, o)| f64::from(of(o))).collect();
            part(Estimate::of(&values))
        };
        let (hit_at_1, hit_ci) = share(&|asked, outcome| outcome.is_hit(asked));
        let (recall_at_5, five_ci) = mean(&|asked, outcome| recall(asked, outcome, 5));
        let (recall_at_10, ten_ci) = mean(&|asked, outcome| recall(asked, outcome, 10));
        let (recall_at_k, k_ci) = mean(&|asked, outcome| recall(asked, outcome, k));
        let (ndcg_at_10, ndcg_ci) = mean(&|asked, outcome| ndcg(asked, outcome, 10));
        let (answerable_kept, kept_ci) = share(&|_, outcome| outcome.enough);
        let (abstained, abstained_ci) = share_of_rest(&|outcome| !outcome.enough);
        let (wrongly_answered, wrongly_ci) = share_of_rest(&|outcome| outcome.enough);
        Self {
            queries: answerable.len() + rest.len(),
            answerable: answerable.len(),
            unanswerable: rest.len(),
            hit_at_1,
            recall_at_5,
            recall_at_10,
            recall_at_k,
            ndcg_at_10,
            answerable_kept,
            abstained,
            wrongly_answered,
            ci95: Intervals {
                hit_at_1: hit_ci,
                recall_at_5: five_ci,
                recall_at_10: ten_ci,
                recall_at_k: k_ci,
                ndcg_at_10: ndcg_ci,
                answerable_kept: kept_ci,
                abstained: abstained_ci,
                wrongly_answered: wrongly_ci,
            },
        }
    }
}

impl Ranks {
    pub(super) fn of<'a>(group: impl Iterator<Item = (&'a Asked, &'a Outcome)>) -> Self {
        let answerable = group.filter(|(asked, _)| !asked.serving.is_empty());
        Self::count(answerable.map(|(asked, outcome)| outcome.first_rank(asked)))
    }

    /// Counts ranks, from 1; none is beyond all of them.
    pub(crate) fn count(ranks: impl Iterator<Item = Option<usize>>) -> Self {
        let mut counted = Self { ranks: vec![0; RANKS], beyond: 0 };
        for rank in ranks {
            let at = rank.and_then(|rank| rank.checked_sub(1));
            let slot = at.and_then(|at| counted.ranks.get_mut(at));
            *slot.unwrap_or(&mut counted.beyond) += 1;
        }
        counted
    }
}

fn part(estimate: Option<Estimate>) -> (Option<f64>, Option<Interval>) {
    (estimate.map(|found| found.value), estimate.map(|found| found.interval))
}

fn recall(asked: &Asked, outcome: &Outcome, k: usize) -> f64 {
    let found = outcome.ranking.iter().take(k).filter(|place| asked.is_served_by(**place)).count();
    number(found) / number(asked.serving.len().max(1))
}

fn ndcg(asked: &Asked, outcome: &Outcome, k: usize) -> f64 {
    let gain = |at: usize| 1.0 / number(at + 2).log2();
    let found = outcome.ranking.iter().take(k).enumerate();
    let gains = found.filter(|(_, place)| asked.is_served_by(**place)).map(|(at, _)| gain(at));
    // From zero, since the sum of nothing is -0.
    let found = gains.fold(0.0, |sum, gain| sum + gain);
    let best: f64 = (0..asked.serving.len().min(k)).map(gain).sum();
    if best > 0.0 { found / best } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(serving: &[usize]) -> Asked {
        Asked { request: super::super::Request::default(), serving: serving.to_vec() }
    }

    fn outcome(ranking: &[usize], enough: bool) -> Outcome {
        Outcome { ranking: ranking.to_vec(), enough }
    }

    fn near(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    #[test]
    fn figures_are_what_a_reader_computes_by_hand() {
        let group = [
            // First.
            (asked(&[7]), outcome(&[7, 1, 2], true)),
            // Two documents, at ranks 2 and 4, and turned away.
            (asked(&[3, 4]), outcome(&[0, 3, 1, 4], false)),
            // Two documents, one at rank 6, one nowhere.
            (asked(&[8, 9]), outcome(&[0, 1, 2, 3, 4, 8], true)),
            // Nothing found.
            (asked(&[5]), outcome(&[], false)),
            // Nothing serves these.
            (asked(&[]), outcome(&[1], true)),
            (asked(&[]), outcome(&[1], false)),
            (asked(&[]), outcome(&[], false)),
        ];
        let group = || group.iter().map(|(asked, outcome)| (asked, outcome));
        let figures = Figures::of(group(), 3);
        assert_eq!((figures.answerable, figures.unanswerable), (4, 3));
        assert!(near(figures.hit_at_1, 0.25));
        assert!(near(figures.recall_at_5, (1.0 + 1.0 + 0.0 + 0.0) / 4.0));
        assert!(near(figures.recall_at_10, (1.0 + 1.0 + 0.5 + 0.0) / 4.0));
        assert!(near(figures.recall_at_k, (1.0 + 0.5 + 0.0 + 0.0) / 4.0));
        let best_of_two = 1.0 + 1.0 / 3f64.log2();
        let second = (1.0 / 3f64.log2() + 1.0 / 5f64.log2()) / best_of_two;
        let third = 1.0 / 7f64.log2() / best_of_two;
        assert!(near(figures.ndcg_at_10, (1.0 + second + third) / 4.0));
        assert!(near(figures.answerable_kept, 0.5));
        assert!(near(figures.abstained, 2.0 / 3.0) && near(figures.wrongly_answered, 1.0 / 3.0));
        let ranks = Ranks::of(group());
        assert_eq!((ranks.ranks[0], ranks.ranks[1], ranks.ranks[5], ranks.beyond), (1, 1, 1, 1));
        assert_eq!(ranks.ranks.iter().sum::<usize>() + ranks.beyond, figures.answerable);
    }

    #[test]
    fn of_no_request_nothing_is_known() {
        let none = Figures::of(std::iter::empty(), 10);
        assert_eq!(none, Figures::default());
        let only_none = [(asked(&[]), outcome(&[], false))];
        let figures = Figures::of(only_none.iter().map(|(a, o)| (a, o)), 10);
        assert_eq!((figures.hit_at_1, figures.abstained), (None, Some(1.0)));
    }
}
