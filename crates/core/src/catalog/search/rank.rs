//! From a request to the documents that serve it.

use std::cmp::Ordering;
use std::fmt;

use concertina_types::{Ref, limits};

use super::Kind;
use super::analyse::Called;
use super::document::{Field, SearchDocumentMeta};
use super::index::Index;
use super::terms::{Held, Request, Term};
use super::text::{self, Form};

/// Terms that a reason names.
const WHY_TERMS: usize = 8;
/// Candidates that are put in order even where fewer are wanted, so that rivals meet.
const ORDERED: usize = 20;

/// A request.
pub struct Query<'a> {
    /// What is wanted, in the words of whoever asks.
    pub text: &'a str,
    /// How many hits at most.
    pub limit: usize,
    /// Only documents of this kind.
    pub kind: Option<Kind>,
    /// Only documents for which this holds. They are chosen before anything is ranked, so that
    /// what is out of scope takes no place among the hits.
    pub within: &'a dyn Fn(&SearchDocumentMeta) -> bool,
}

impl<'a> Query<'a> {
    /// A request over everything, for [`limits::FIND_HITS`] hits.
    pub fn new(text: &'a str) -> Self {
        Self { text, limit: limits::FIND_HITS, kind: None, within: &|_| true }
    }
}

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("text", &self.text)
            .field("limit", &self.limit)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The documents that serve the request, best first. Empty where nothing fits.
    pub hits: Vec<Hit>,
    /// Whether something fits.
    pub enough: bool,
    /// Where nothing fits: what comes nearest, best first.
    pub nearest: Vec<Hit>,
}

impl Answer {
    /// The hits, or what comes nearest.
    pub fn ranking(&self) -> &[Hit] {
        if self.enough { &self.hits } else { &self.nearest }
    }
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// How it is opened or called.
    pub reference: Ref,
    /// What it is.
    pub kind: Kind,
    /// What people read.
    pub title: String,
    /// Whether the request is what it is called.
    pub called: bool,
    /// How well it fits; comparable within one answer only.
    pub score: f32,
    /// The words of the request that it holds, in the order of the request.
    pub matched: Vec<String>,
    /// Where they were found.
    pub fields: Vec<Field>,
    /// Both, in words.
    pub why: String,
}

/// A document in scope, with its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) document: u32,
    pub(super) called: Called,
    pub(super) score: f32,
    /// The part of the score that words make, without the likeness to examples.
    pub(super) words: f32,
    /// The part that the likeness to examples makes.
    pub(super) likeness: f32,
    /// The rival below which it was put.
    pub(super) below: Option<u32>,
}

impl Candidate {
    pub(super) fn order(&self, other: &Self) -> Ordering {
        other
            .called
            .cmp(&self.called)
            .then(other.score.total_cmp(&self.score))
            .then(self.document.cmp(&other.document))
    }
}

impl Index {
    /// The documents that serve a request. A request without a word finds nothing: show the
    /// categories instead.
    pub fn find(&self, query: &Query<'_>) -> Answer {
        let request = self.request(query.text);
        let candidates = self.ranking(query, &request);
        let is_called = candidates.first().is_some_and(|best| best.called > Called::Not);
        let confidence = self.confidence_in(&candidates, &request);
        let enough = is_called || confidence.is_some_and(|confidence| confidence.is_enough());
        let hits =
            candidates.iter().take(query.limit).filter_map(|c| self.hit(c, &request)).collect();
        if enough {
            Answer { hits, enough, nearest: Vec::new() }
        } else {
            Answer { hits: Vec::new(), enough, nearest: hits }
        }
    }

    /// The best candidates in order, at least as many as are wanted where there are so many.
    pub(super) fn ranking(&self, query: &Query<'_>, request: &Request<'_>) -> Vec<Candidate> {
        let mut candidates = self.candidates(query, request);
        let ordered = query.limit.max(ORDERED);
        if ordered < candidates.len() {
            candidates.select_nth_unstable_by(ordered, Candidate::order);
            candidates.truncate(ordered);
        }
        candidates.sort_unstable_by(Candidate::order);
        self.settle(&mut candidates, request);
        candidates
    }

    /// Every document in scope that holds a term or bears the name, with its score.
    fn candidates(&self, query: &Query<'_>, request: &Request<'_>) -> Vec<Candidate> {
        let mut words = vec![0.0f32; self.len()];
        let mut best = Best::default();
        for term in &request.terms {
            if term.alike.is_empty() {
                for posting in term.postings(self) {
                    if let Some(score) = words.get_mut(posting.document as usize) {
                        *score += term.weight * posting.weight();
                    }
                }
            } else {
                best.start(self.len());
                term.postings(self).for_each(|p| best.meet(p.document, term.weight * p.weight()));
                for (other, weight) in &term.alike {
                    for posting in self.postings.of(other.term) {
                        best.meet(posting.document, weight * posting.weight());
                    }
                }
                best.drain(&mut words);
            }
        }
        self.not_for.lower(&request.terms, self.weights.not_for, &mut words);
        let mut scores = words.clone();
        self.likeness.add(&request.style, self.weights.likeness, &mut scores);
        let named =
            self.by_name.get(text::key(request.text).as_str()).map_or(&[][..], Vec::as_slice);
        let called = |document: u32| {
            let at = named.binary_search_by_key(&document, |&(number, _)| number).ok();
            at.and_then(|at| named.get(at)).map_or(Called::Not, |&(_, called)| called)
        };
        (0u32..)
            .zip(words.iter().zip(&scores))
            .map(|(document, (&words, &score))| {
                // Stop words alone are no sign.
                let score = if words > 0.0 { score } else { 0.0 };
                let likeness = score - words;
                Candidate {
                    document,
                    called: called(document),
                    score,
                    words,
                    likeness,
                    below: None,
                }
            })
            .filter(|found| found.score > 0.0 || found.called > Called::Not)
            .filter(|found| {
                self.meta(found.document).is_some_and(|meta| {
                    query.kind.is_none_or(|kind| kind == meta.kind) && (query.within)(meta)
                })
            })
            .collect()
    }

    fn hit(&self, candidate: &Candidate, request: &Request<'_>) -> Option<Hit> {
        let meta = self.meta(candidate.document)?;
        let mut fields = 0;
        let mut held: Vec<(&Term, Held)> = Vec::new();
        for term in &request.terms {
            if let Some(found) = term.held(self, candidate.document) {
                fields |= found.fields;
                held.push((term, found));
            }
        }
        // A character says nothing that a pair with it does not say.
        let pairs: String = held
            .iter()
            .filter(|(t, _)| t.form == Form::Pair)
            .map(|(t, _)| t.word.as_str())
            .collect();
        held.retain(|(t, _)| t.form != Form::Character || !pairs.contains(&t.word));
        Some(Hit {
            reference: meta.key.clone(),
            kind: meta.kind,
            title: meta.title.clone(),
            called: candidate.called > Called::Not,
            score: candidate.score,
            matched: held.iter().map(|(term, _)| term.word.clone()).collect(),
            fields: fields_of(fields),
            why: why(candidate.called, &held),
        })
    }
}

/// The best of several scores of each document, in one array for all.
#[derive(Default)]
struct Best {
    scores: Vec<f32>,
    met: Vec<u32>,
}

impl Best {
    fn start(&mut self, documents: usize) {
        self.scores.resize(documents, 0.0);
    }

    fn meet(&mut self, document: u32, score: f32) {
        if let Some(best) = self.scores.get_mut(document as usize) {
            if *best == 0.0 {
                self.met.push(document);
            }
            *best = best.max(score);
        }
    }

    /// Adds what was met to `sums` and forgets it.
    fn drain(&mut self, sums: &mut [f32]) {
        for document in self.met.drain(..) {
            let document = document as usize;
            if let (Some(sum), Some(best)) = (sums.get_mut(document), self.scores.get_mut(document))
            {
                *sum += std::mem::take(best);
            }
        }
    }
}

pub(super) fn fields_of(bits: u8) -> Vec<Field> {
    Field::ALL.into_iter().filter(|field| bits & field.bit() != 0).collect()
}

/// The reason in words, one group of terms for each set of fields, heaviest first.
fn why(called: Called, held: &[(&Term, Held)]) -> String {
    let mut parts: Vec<String> = Vec::new();
    if called > Called::Not {
        parts.push("is called that".into());
    }
    let mut by_weight = held.to_vec();
    by_weight.sort_by(|(a, _), (b, _)| b.weight.total_cmp(&a.weight));
    by_weight.truncate(WHY_TERMS);
    while let Some(&(_, first)) = by_weight.first() {
        let (same, other): (Vec<_>, Vec<_>) =
            by_weight.into_iter().partition(|(_, held)| held.fields == first.fields);
        by_weight = other;
        let words: Vec<String> = same
            .iter()
            .map(|(term, held)| match held.like {
                Some(word) => format!("{term} (like {word})"),
                None => term.to_string(),
            })
            .collect();
        let places: Vec<_> = fields_of(first.fields).into_iter().map(Field::as_str).collect();
        parts.push(format!("{} in {}", words.join(", "), places.join(" and ")));
    }
    parts.join("; ")
}
