//! Which document won in place of which, and by what.

use std::collections::BTreeMap;

use concertina_core::catalog::search::{Explained, Index, Query, SearchDocumentMeta};
use concertina_types::Ref;
use serde::Serialize;

use super::figures::Outcome;
use super::interval::number;
use super::labelled::{Asked, LabelledSet, key_of, place_of};
use super::quoted;

/// The words that a confusion names.
const WORDS: usize = 5;
/// The requests that a confusion quotes.
const REQUESTS: usize = 3;

/// A document that stood first for requests that it does not serve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confusion {
    /// The id of the document that won.
    pub won: String,
    /// The id of the one that should have: of several, the one that came nearest. None (`null`) where
    /// nothing serves the requests and they were answered nevertheless.
    pub over: Option<String>,
    /// How often that happened.
    pub times: usize,
    /// The words that gave the winner more than the other, those that did most first.
    pub words: Vec<WinningWord>,
    /// How much more the winner got for the likeness to its examples, in a request on average.
    pub examples: f64,
    /// In how many of the requests a `not_for` put the other one lower.
    pub not_for: usize,
    /// The first of the requests.
    pub requests: Vec<String>,
}

/// A word that gave the winner of a [`Confusion`] more than the document that should have won.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WinningWord {
    /// The word as the requests have it, and what it was taken for where it is another.
    pub word: String,
    /// In how many of the requests it did.
    pub times: usize,
    /// How much more, in such a request on average. Scores are made of these points.
    pub points: f64,
}

/// What is known of one confusion so far.
#[derive(Default)]
struct Tally<'a> {
    requests: Vec<&'a str>,
    words: BTreeMap<String, (usize, f64)>,
    examples: f64,
    not_for: usize,
}

/// Every confusion, the most frequent first.
pub(super) fn confusions<'a>(
    set: &LabelledSet,
    index: &Index,
    asked: impl Iterator<Item = (&'a Asked, &'a Outcome)>,
) -> Vec<Confusion> {
    let mut tallies: BTreeMap<(usize, Option<usize>), Tally<'_>> = BTreeMap::new();
    for (asked, outcome) in asked {
        let is_turned_away = asked.serving.is_empty() && !outcome.enough;
        let Some(&won) = outcome.ranking.first() else { continue };
        if is_turned_away || outcome.is_hit(asked) {
            continue;
        }
        let query = asked.request.query.as_str();
        let ranked = explained(index, query, won, &asked.serving);
        let of = |place: usize| ranked.iter().find(|(known, _)| *known == place).map(|(_, e)| e);
        let right = ranked.iter().find(|(place, _)| asked.is_served_by(*place));
        // Where no word leads to any of the right documents, the first of them stands for all.
        let over = right.map(|(place, _)| *place).or(asked.serving.first().copied());
        let tally = tallies.entry((won, over)).or_default();
        tally.requests.push(query);
        if let Some(winner) = of(won) {
            tally.add(winner, right.map(|(_, right)| right));
        }
    }
    let confusion = |((won, over), tally): ((usize, Option<usize>), Tally<'_>)| {
        let over = over.map(|over| set.id(over).to_owned());
        tally.confusion(set.id(won).to_owned(), over)
    };
    let mut found: Vec<Confusion> = tallies.into_iter().map(confusion).collect();
    // The sort is stable, so equal ones stay in the order of their ids.
    found.sort_by_key(|confusion| std::cmp::Reverse(confusion.times));
    found
}

/// How the documents at `won` and at `serving` come to their scores, best first.
fn explained(index: &Index, query: &str, won: usize, serving: &[usize]) -> Vec<(usize, Explained)> {
    let places = std::iter::once(won).chain(serving.iter().copied());
    let keys: Vec<Ref> = places.filter_map(key_of).collect();
    let within = |meta: &SearchDocumentMeta| keys.contains(&meta.key);
    let query = Query { limit: keys.len(), within: &within, ..Query::new(query) };
    let ranked = index.explain(&query).ranked.into_iter();
    ranked.filter_map(|one| Some((place_of(&one.reference)?, one))).collect()
}

impl Tally<'_> {
    /// Adds what made `winner` win over `right`.
    fn add(&mut self, winner: &Explained, right: Option<&Explained>) {
        let held = right.map(|right| right.points.as_slice()).unwrap_or_default();
        for points in &winner.points {
            let other = held.iter().find(|other| other.word == points.word);
            let more = points.points - other.map_or(0.0, |other| other.points);
            if more > 0.0 {
                let word = match points.like {
                    Some(like) => format!("{} (like {like})", points.word),
                    None => points.word.clone(),
                };
                let (times, sum) = self.words.entry(word).or_default();
                *times += 1;
                *sum += f64::from(more);
            }
        }
        let likeness = right.map_or(0.0, |right| right.likeness);
        self.examples += f64::from(winner.likeness - likeness);
        self.not_for += usize::from(right.is_some_and(|right| {
            right.below.as_ref() == Some(&winner.reference) || right.lowered > winner.lowered
        }));
    }

    fn confusion(self, won: String, over: Option<String>) -> Confusion {
        let times = self.requests.len();
        let mut words: Vec<_> = self.words.into_iter().collect();
        words.sort_by(|(_, (_, a)), (_, (_, b))| b.total_cmp(a));
        let word = |(word, (times, sum)): (String, (usize, f64))| WinningWord {
            word,
            times,
            points: rounded(sum / number(times)),
        };
        Confusion {
            won,
            over,
            times,
            words: words.into_iter().take(WORDS).map(word).collect(),
            examples: rounded(self.examples / number(times)),
            not_for: self.not_for,
            requests: self.requests.into_iter().take(REQUESTS).map(quoted).collect(),
        }
    }
}

/// Points are read to three digits. Adding zero makes of `-0` what people write.
fn rounded(points: f64) -> f64 {
    (points * 1_000.0).round() / 1_000.0 + 0.0
}
