//! Skills that are easily mistaken for each other.

use std::collections::{BTreeMap, BTreeSet};

use concertina_types::Diagnostic;
use serde::Serialize;

use super::names::skeleton;
use super::phrases::{is_ideograph, words};
use crate::skill::codes::Code;

/// What is compared of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary<'a> {
    /// How it is addressed.
    pub name: &'a str,
    /// What the model is told of it.
    pub description: &'a str,
}

/// Two skills that can be mistaken for each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// `SIMILAR_DESCRIPTIONS` or `SIMILAR_NAMES`.
    pub code: &'static str,
    /// The index of the earlier one.
    pub first: usize,
    /// The index of the later one.
    pub second: usize,
    /// From 0 (nothing in common) to 1 (the same words, or names that look the same).
    pub score: f64,
}

/// Descriptions with at least this score are reported: 6 of 10 words that either has are in both.
pub const SIMILAR: f64 = 0.6;
/// Descriptions of fewer words are alike only when they are equal: `Reads PDF files` and `Writes PDF
/// files` share most of too little.
const COMPARED_WORDS: usize = 4;
/// Earlier skills that one skill is compared with. Where thousands are alike, the first of them tell.
const CANDIDATES: usize = 200;
/// Pairs reported for one skill, the most similar first.
const PARTNERS: usize = 5;

impl Pair {
    /// The pair as a finding that names both.
    pub fn diagnostic(&self, skills: &[Summary<'_>]) -> Diagnostic {
        let name = |at: usize| skills.get(at).map_or("?", |skill| skill.name);
        let (first, second) = (name(self.first), name(self.second));
        let (code, message) = if self.code == Code::SimilarNames.as_str() {
            let letters = match differing(first, second) {
                Some((one, other)) => format!(
                    ": `{one}` (U+{:04X}) and `{other}` (U+{:04X})",
                    u32::from(one),
                    u32::from(other)
                ),
                None => String::new(),
            };
            (Code::SimilarNames, format!("the names `{first}` and `{second}` look alike{letters}"))
        } else {
            let message = format!(
                "`{first}` and `{second}` have similar descriptions: score {:.2} of 1",
                self.score
            );
            (Code::SimilarDescriptions, message)
        };
        Diagnostic::new(code.as_str(), code.severity(), message).help(code.help())
    }
}

/// The first letters in which two names differ.
fn differing(first: &str, second: &str) -> Option<(char, char)> {
    first.chars().zip(second.chars()).find(|(one, other)| one != other)
}

/// Finds pairs whose descriptions say nearly the same, and pairs whose names look alike.
///
/// The score of two descriptions is the share of words that both have among the words that either
/// has (Jaccard), without words that every description has. A pair above [`SIMILAR`] must share one
/// of its rarest words, so only those are looked up (prefix filtering: Chaudhuri, Ganti and Kaushik,
/// "A primitive operator for similarity joins in data cleaning", 2006). The work grows with the number of skills,
/// not with its square: at most 200 candidates each, at most five pairs each.
///
/// ```
/// use concertina_format::lint::{Summary, compare};
/// let skills = [
///     Summary { name: "tides", description: "Reads tide tables and plots the water level of a harbour." },
///     Summary { name: "water", description: "Reads tide tables and plots water level of the harbour." },
///     Summary { name: "bread", description: "Scales recipes for sourdough bread to a number of loaves." },
/// ];
/// let pairs = compare(&skills);
/// assert_eq!((pairs.len(), pairs[0].first, pairs[0].second, pairs[0].score), (1, 0, 1, 1.0));
/// ```
pub fn compare(skills: &[Summary<'_>]) -> Vec<Pair> {
    let mut pairs = similar_descriptions(skills);
    pairs.extend(similar_names(skills));
    pairs.sort_by_key(|pair| (pair.first, pair.second, pair.code));
    pairs
}

fn similar_names(skills: &[Summary<'_>]) -> Vec<Pair> {
    let mut seen: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (second, skill) in skills.iter().enumerate() {
        let group = seen.entry(skeleton(skill.name)).or_default();
        let named = |at: usize| skills.get(at).map_or("", |skill| skill.name);
        // Equal names are a collision, which discovery reports; each look-alike counts once.
        if group.iter().all(|&first| named(first) != skill.name) {
            if let Some(&first) = group.first() {
                pairs.push(Pair { code: Code::SimilarNames.as_str(), first, second, score: 1.0 });
            }
            group.push(second);
        }
    }
    pairs
}

fn similar_descriptions(skills: &[Summary<'_>]) -> Vec<Pair> {
    let sets = ranked(skills);
    let mut index: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (second, set) in sets.iter().enumerate() {
        let prefix = set.get(..prefix_length(set.len())).unwrap_or_default();
        let mut candidates = BTreeSet::new();
        for word in prefix {
            let known = index.entry(*word).or_default();
            candidates.extend(known.iter().copied());
            // Beyond that nobody would compare them by hand either.
            if known.len() < CANDIDATES {
                known.push(second);
            }
        }
        let mut partners: Vec<Pair> = candidates
            .into_iter()
            .take(CANDIDATES)
            .filter_map(|first| {
                let score = jaccard(sets.get(first)?, set);
                let needed = if set.len() < COMPARED_WORDS { 1.0 } else { SIMILAR };
                (score >= needed).then_some(Pair {
                    code: Code::SimilarDescriptions.as_str(),
                    first,
                    second,
                    score,
                })
            })
            .collect();
        partners.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.first.cmp(&b.first)));
        partners.truncate(PARTNERS);
        pairs.extend(partners);
    }
    pairs
}

/// The words of each description as numbers, the rarest first.
fn ranked(skills: &[Summary<'_>]) -> Vec<Vec<u32>> {
    let sets: Vec<BTreeSet<String>> =
        skills.iter().map(|skill| meaningful(skill.description)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in sets.iter().flatten() {
        *counts.entry(word).or_default() += 1;
    }
    let mut order: Vec<(usize, &str)> =
        counts.into_iter().map(|(word, count)| (count, word)).collect();
    order.sort_unstable();
    let ranks: BTreeMap<&str, u32> =
        order.into_iter().zip(0..).map(|((_, word), rank)| (word, rank)).collect();
    sets.iter()
        .map(|set| {
            let mut set: Vec<u32> =
                set.iter().filter_map(|word| ranks.get(word.as_str()).copied()).collect();
            set.sort_unstable();
            set
        })
        .collect()
}

/// Words that say nothing about what a skill does.
const COMMON: &[&str] = &[
    "a", "an", "and", "or", "the", "of", "for", "to", "in", "on", "with", "by", "from", "at", "as",
    "is", "are", "be", "it", "its", "this", "that", "when", "whenever", "if", "use", "used",
    "using", "skill", "user", "users", "you", "your", "asks", "wants", "needs", "can", "any",
    "all", "about", "into", "such", "e", "g", ".",
];

/// The set of words that tell a description from others: plural and singular are one word, Chinese
/// goes by pairs of letters.
pub(super) fn meaningful(description: &str) -> BTreeSet<String> {
    let words = words(description);
    let mut out = BTreeSet::new();
    let mut before: Option<(char, usize)> = None;
    for word in &words {
        let letter = word.folded.chars().next().filter(|c| is_ideograph(*c));
        if let Some(letter) = letter {
            if let Some((first, _)) = before.filter(|(_, end)| *end == word.start) {
                out.insert(String::from_iter([first, letter]));
            }
            before = Some((letter, word.end));
            continue;
        }
        let text = word.folded.as_str();
        if !COMMON.contains(&text) {
            let stem = text.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(text);
            out.insert(stem.to_owned());
        }
    }
    out
}

/// How many of the rarest of `length` words two sets above [`SIMILAR`] cannot both lack.
fn prefix_length(length: usize) -> usize {
    // 6 of 10, in integers: length - ceil(0.6 * length) + 1.
    length - (length * 6).div_ceil(10) + 1
}

/// The share of two sets that they have in common; 0 as soon as it cannot reach [`SIMILAR`].
#[allow(clippy::cast_precision_loss, reason = "a description has far fewer than 2^52 words")]
fn jaccard(left: &[u32], right: &[u32]) -> f64 {
    let all = left.len() + right.len();
    // both / (all - both) >= 6 / 10
    let needed = (all * 6).div_ceil(16);
    let (mut a, mut b, mut both) = (left, right, 0_usize);
    while let (Some((x, later_a)), Some((y, later_b))) = (a.split_first(), b.split_first()) {
        if both + a.len().min(b.len()) < needed {
            return 0.0;
        }
        both += usize::from(x == y);
        if x <= y {
            a = later_a;
        }
        if y <= x {
            b = later_b;
        }
    }
    both as f64 / (all - both).max(1) as f64
}
