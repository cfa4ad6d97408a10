//! What documents say that they do not do.
//!
//! A document that is not for what was asked is lowered. Between two documents of which one says that
//! it is not for what the other does, the request is read more closely: see [`Index::settle`].

use std::sync::Arc;

use super::analyse::{Called, Row};
use super::clauses::clauses;
use super::document::Field;
use super::index::Index;
use super::postings::{Posting, Postings};
use super::rank::Candidate;
use super::terms::{Request, Term};
use super::text::{self, Stems};

/// A request that meets less of a `not_for` than this share shares a topic with it, no more.
const MET: f32 = 0.75;
/// A phrase describes a document that holds this share of it in its name, description or examples.
const DESCRIBED: f32 = 0.4;
/// The same where no document holds more of the phrase.
const POINTED: f32 = 0.2;
/// What is asked for in the words in which a rival turns it down counts so much for a document.
const TURNED_DOWN: f32 = 0.3;
/// Candidates that are compared with each other; who stands lower is read by nobody.
const RIVALS: usize = 20;
/// Phrases of one document that are looked at, and terms of one phrase. Authors write two or three
/// of a few words; what is beyond is no description any more.
const PHRASES: usize = 32;
const PHRASE_TERMS: usize = 24;
/// Documents that may hold a term by which a phrase points at one of them.
const POINTING: usize = 256;

/// All phrases of all documents.
#[derive(Debug, Default)]
pub(super) struct NotFor {
    /// Here `document` counts phrases, and the weight is the share of the phrase, so that a phrase
    /// that is fully met adds up to 1.
    shares: Postings,
    /// Ascending by document.
    phrases: Vec<Phrase>,
}

#[derive(Debug)]
struct Phrase {
    /// Whose it is.
    document: u32,
    terms: Box<[PhraseTerm]>,
    /// The document that it describes best.
    points_at: Option<u32>,
}

#[derive(Debug)]
struct PhraseTerm {
    term: u32,
    rarity: f32,
    /// Whether it tells the document from others: its own name and description lack it.
    tells: bool,
}

impl NotFor {
    /// The phrases of `rows`, which `index` holds already.
    pub(super) fn new(rows: &[Arc<Row>], index: &Index) -> Self {
        let mut phrases: Vec<Phrase> = Vec::new();
        let own = Field::Name.bit() | Field::Description.bit();
        for (document, row) in (0u32..).zip(rows) {
            for phrase in row.against.iter().take(PHRASES) {
                let holds = |term| index.postings.in_document(term, document);
                let terms: Box<[PhraseTerm]> = phrase
                    .iter()
                    .take(PHRASE_TERMS)
                    .map(|&term| PhraseTerm {
                        term,
                        rarity: index.rarity(term),
                        tells: holds(term).is_none_or(|posting| posting.fields() & own == 0),
                    })
                    .collect();
                let points_at = points_at(&terms, document, index);
                phrases.push(Phrase { document, terms, points_at });
            }
        }
        let shares = Postings::collect(index.vocabulary.len(), || {
            (0u32..).zip(&phrases).flat_map(|(number, phrase)| {
                let telling = || phrase.terms.iter().filter(|term| term.tells);
                let whole: f32 = telling().map(|term| term.rarity).sum();
                telling().map(move |term| (term.term, Posting::new(number, term.rarity / whole, 0)))
            })
        });
        Self { shares, phrases }
    }

    /// Whether some phrase holds a term that tells its document from others.
    pub(super) fn mentions(&self, term: u32) -> bool {
        !self.shares.of(term).is_empty()
    }

    fn of(&self, document: u32) -> &[Phrase] {
        let start = self.phrases.partition_point(|phrase| phrase.document < document);
        let end = self.phrases.partition_point(|phrase| phrase.document <= document);
        self.phrases.get(start..end).unwrap_or_default()
    }

    /// Lowers the documents that say they are not for this, by `most` of their score.
    pub(super) fn lower(&self, terms: &[Term], most: f32, scores: &mut [f32]) {
        let mut met = vec![0.0f32; self.phrases.len()];
        for term in terms {
            for posting in term.number.map(|number| self.shares.of(number)).unwrap_or_default() {
                if let Some(share) = met.get_mut(posting.document as usize) {
                    *share += posting.weight();
                }
            }
        }
        for (phrase, share) in self.phrases.iter().zip(met) {
            if share > MET
                && let Some(score) = scores.get_mut(phrase.document as usize)
            {
                let over = (share.min(1.0) - MET) / (1.0 - MET);
                *score *= 1.0 - most * over;
            }
        }
    }
}

/// The document that a phrase of another one describes best, by its rare terms.
fn points_at(terms: &[PhraseTerm], from: u32, index: &Index) -> Option<u32> {
    let mut scores: Vec<(u32, f32)> = terms
        .iter()
        .map(|term| (term.rarity, index.postings.of(term.term)))
        .filter(|(_, postings)| postings.len() <= POINTING)
        .flat_map(|(rarity, postings)| {
            postings.iter().map(move |p| (p.document, rarity * p.weight()))
        })
        .filter(|(document, _)| *document != from)
        .collect();
    scores.sort_by_key(|(document, _)| *document);
    let sums = scores.chunk_by(|a, b| a.0 == b.0).filter_map(|same| {
        let sum: f32 = same.iter().map(|(_, score)| score).sum();
        Some((same.first()?.0, sum))
    });
    let best = sums.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    best.map(|(document, _)| document)
}

/// How one document turns down what another one does.
struct TurnedDown {
    /// Whether it does.
    points: bool,
    /// What the request asks for in those words.
    asked: f32,
}

impl Index {
    /// Puts rivals in the order in which a closer reading of the request puts them; `candidates` are
    /// in order, best first. Of two, the one with less evidence in what is wanted (not in what is
    /// merely mentioned) goes below the other. Nothing is ever raised.
    pub(super) fn settle(&self, candidates: &mut [Candidate], request: &Request<'_>) {
        let rivals = candidates.len().min(RIVALS);
        let Some(rivals) = candidates.get_mut(..rivals) else { return };
        if rivals.iter().all(|rival| self.not_for.of(rival.document).is_empty()) {
            return;
        }
        let wanted = wanted(self, request);
        // From below, so that nobody is put below one who still falls.
        for upper in (0..rivals.len()).rev() {
            for lower in upper + 1..rivals.len() {
                let (Some(&x), Some(&y)) = (rivals.get(upper), rivals.get(lower)) else { continue };
                if x.called > Called::Not || y.called > Called::Not {
                    continue;
                }
                let (by_x, by_y) = (
                    self.turned_down(x.document, y.document, request, &wanted),
                    self.turned_down(y.document, x.document, request, &wanted),
                );
                if !by_x.points && !by_y.points {
                    continue;
                }
                // Words that only mean the same speak for what stands above, so that in doubt it stays.
                let for_y = self.closely(y.document, request, &wanted, false);
                let for_x = self.closely(x.document, request, &wanted, true);
                if for_y + TURNED_DOWN * by_x.asked > for_x + TURNED_DOWN * by_y.asked
                    && let Some(x) = rivals.get_mut(upper)
                    && x.score >= y.score
                {
                    x.score = y.score.next_down();
                    x.below = Some(y.document);
                }
            }
        }
        candidates.sort_unstable_by(Candidate::order);
    }

    /// How well a document holds what is wanted, in the words of the request or also in others.
    fn closely(&self, document: u32, request: &Request<'_>, wanted: &[f32], alike: bool) -> f32 {
        let points = request.terms.iter().zip(wanted).filter_map(|(term, wanted)| {
            let points = if alike {
                term.held(self, document)?.points
            } else {
                term.weight * term.posting(self, document)?.weight()
            };
            Some(wanted * points)
        });
        points.sum()
    }

    fn turned_down(
        &self,
        by: u32,
        rival: u32,
        request: &Request<'_>,
        wanted: &[f32],
    ) -> TurnedDown {
        let mut found = TurnedDown { points: false, asked: 0.0 };
        for phrase in self.not_for.of(by) {
            let needed = if phrase.points_at == Some(rival) { POINTED } else { DESCRIBED };
            if !self.describes(phrase, rival, needed) {
                continue;
            }
            let asked = request.terms.iter().zip(wanted).filter(|(term, _)| {
                phrase.terms.iter().any(|own| own.tells && Some(own.term) == term.number)
            });
            let asked: f32 = asked.map(|(term, wanted)| term.weight * wanted).sum();
            found.points = true;
            found.asked = found.asked.max(asked);
        }
        found
    }

    fn describes(&self, phrase: &Phrase, document: u32, needed: f32) -> bool {
        let telling = Field::Name.bit() | Field::Description.bit() | Field::Examples.bit();
        let (mut held, mut all) = (0.0, 0.0);
        for term in &phrase.terms {
            all += term.rarity;
            let posting = self.postings.in_document(term.term, document);
            if posting.is_some_and(|posting| posting.fields() & telling != 0) {
                held += term.rarity;
            }
        }
        held > 0.0 && held >= needed * all
    }
}

/// For each term how much the best clause that holds it says about the wish.
fn wanted(index: &Index, request: &Request<'_>) -> Vec<f32> {
    let stems = Stems::new();
    let mut wanted = vec![0.0f32; request.terms.len()];
    for (clause, weight) in clauses(request.text) {
        text::terms(clause, &mut |form, word| {
            let number = index.term(&stems, form, word);
            for (term, wanted) in request.terms.iter().zip(&mut wanted) {
                if term.word == word || (number.is_some() && term.number == number) {
                    *wanted = wanted.max(weight);
                }
            }
        });
    }
    wanted
}
