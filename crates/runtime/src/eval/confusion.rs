//! Which document won in place of which, and by which words.

use std::collections::BTreeMap;

use concertina_core::catalog::search::{Answer, Hit, Index, Query, SearchDocumentMeta};
use concertina_types::Ref;
use serde::Serialize;

use super::figures::Outcome;
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
    /// The words that made it win, those that did so most often first.
    pub words: Vec<WinningWord>,
    /// The first of the requests.
    pub requests: Vec<String>,
}

/// A word that the winner of a [`Confusion`] holds and the right document does not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WinningWord {
    /// The word, as the requests have it.
    pub word: String,
    /// In how many of the requests.
    pub times: usize,
}

#[derive(Default)]
struct Tally<'a> {
    times: usize,
    words: BTreeMap<String, usize>,
    requests: Vec<&'a str>,
}

/// Every confusion, the most frequent first.
pub(super) fn confusions<'a>(
    set: &LabelledSet,
    index: &Index,
    asked: impl Iterator<Item = (&'a Asked, &'a Outcome)>,
) -> Vec<Confusion> {
    let mut tallies: BTreeMap<(usize, Option<usize>), Tally<'_>> = BTreeMap::new();
    for (asked, outcome) in asked {
        let is_none = asked.serving.is_empty();
        let Some(&won) = outcome.ranking.first() else { continue };
        if (is_none && !outcome.enough) || outcome.is_hit(asked) {
            continue;
        }
        let query = asked.request.query.as_str();
        // Where no word leads to any of the right documents, the first of them stands for all.
        let right = nearest(index, query, &asked.serving).or(asked.serving.first().copied());
        let held = right.map(|right| words(index, query, right)).unwrap_or_default();
        let tally = tallies.entry((won, right)).or_default();
        tally.times += 1;
        tally.requests.push(query);
        for word in words(index, query, won) {
            if !held.contains(&word) {
                *tally.words.entry(word).or_default() += 1;
            }
        }
    }
    let mut found: Vec<Confusion> = tallies
        .into_iter()
        .map(|((won, over), tally)| Confusion {
            won: set.id(won).to_owned(),
            over: over.map(|over| set.id(over).to_owned()),
            times: tally.times,
            words: most_frequent(tally.words),
            requests: tally.requests.into_iter().take(REQUESTS).map(quoted).collect(),
        })
        .collect();
    // The sort is stable, so equal ones stay in the order of their ids.
    found.sort_by_key(|confusion| std::cmp::Reverse(confusion.times));
    found
}

fn most_frequent(words: BTreeMap<String, usize>) -> Vec<WinningWord> {
    let mut words: Vec<_> =
        words.into_iter().map(|(word, times)| WinningWord { word, times }).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.times));
    words.truncate(WORDS);
    words
}

/// Of the documents at `places`, the one that the request ranks highest.
fn nearest(index: &Index, query: &str, places: &[usize]) -> Option<usize> {
    let best = best(index, query, places)?;
    place_of(&best.reference)
}

/// The words of the request that count for the document at `place`.
fn words(index: &Index, query: &str, place: usize) -> Vec<String> {
    best(index, query, &[place]).map(|hit| hit.matched).unwrap_or_default()
}

/// The best hit among the documents at `places`.
fn best(index: &Index, query: &str, places: &[usize]) -> Option<Hit> {
    let keys: Vec<Ref> = places.iter().filter_map(|place| key_of(*place)).collect();
    let within = |meta: &SearchDocumentMeta| keys.contains(&meta.key);
    let Answer { hits, nearest, .. } =
        index.find(&Query { text: query, limit: 1, kind: None, within: &within });
    hits.into_iter().chain(nearest).next()
}
