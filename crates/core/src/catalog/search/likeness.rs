//! How much a request reads like the example requests of a document.
//!
//! Of a document with examples one vector is kept: the terms of its texts and its examples, stop
//! words included, each weighed by how often it stands there and how rare it is, and the whole set to
//! length 1 (Salton and Buckley, "Term-Weighting Approaches in Automatic Text Retrieval",
//! Information Processing & Management 24(5), 1988, the weighting `tfc`). Unlike a score by single
//! words it grows with every further example that is put alike.

use std::sync::Arc;

use super::analyse::{FIELDS, Row};
use super::postings::{Posting, Postings};

/// How a term counts by the field that it stands in: name, description, tags, parameters, body,
/// examples.
const FIELD_WEIGHTS: [f32; FIELDS] = [3.0, 1.0, 0.0, 0.5, 1.0, 1.0];
/// So many examples show what requests look like. Fewer are trusted less: by the share that is
/// there, to the power of [`TRUST`].
const EXAMPLES: f32 = 5.0;
/// See [`EXAMPLES`].
const TRUST: f32 = 1.5;

/// The vectors, by term.
#[derive(Debug, Default)]
pub(super) struct Likeness {
    postings: Postings,
    /// How rare each term is among documents with examples.
    rarity: Vec<f32>,
}

impl Likeness {
    /// The vectors of `rows`; there are `terms` terms.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^24")]
    #[expect(clippy::cast_possible_truncation, reason = "a length of a few words")]
    pub(super) fn new(rows: &[Arc<Row>], terms: usize) -> Self {
        let exemplary = || (0u32..).zip(rows).filter(|(_, row)| row.examples > 0);
        let all = exemplary().count() as f32;
        if all == 0.0 {
            return Self::default();
        }
        let mut holding = vec![0u32; terms];
        for (_, row) in exemplary() {
            for (term, _) in vector(row) {
                if let Some(holding) = holding.get_mut(term as usize) {
                    *holding += 1;
                }
            }
        }
        // Never below 1, so that even a stop word counts a little.
        let rarity: Vec<f32> = holding
            .into_iter()
            .map(|holding| 1.0 + ((1.0 + all) / (1.0 + holding as f32)).ln())
            .collect();
        let rare = |term: u32| rarity.get(term as usize).copied().unwrap_or_default();
        let scale = |row: &Row| {
            // Exact enough that the order of the terms does not show.
            let squares: f64 =
                vector(row).map(|(term, weight)| f64::from(weight * rare(term)).powi(2)).sum();
            let length = squares.sqrt().max(f64::MIN_POSITIVE) as f32;
            let trust = (row.examples as f32 / EXAMPLES).min(1.0).powf(TRUST);
            trust / length
        };
        let scales: Vec<f32> = exemplary().map(|(_, row)| scale(row)).collect();
        let postings = Postings::collect(terms, || {
            exemplary().zip(&scales).flat_map(|((document, row), scale)| {
                vector(row).map(move |(term, weight)| {
                    (term, Posting::new(document, scale * weight * rare(term), 0))
                })
            })
        });
        Self { postings, rarity }
    }

    /// Adds `weight` times the likeness of a request of these terms to the score of each document.
    pub(super) fn add(&self, terms: &[u32], weight: f32, scores: &mut [f32]) {
        for &term in terms {
            let rarity = self.rarity.get(term as usize).copied().unwrap_or_default();
            for posting in self.postings.of(term) {
                if let Some(score) = scores.get_mut(posting.document as usize) {
                    *score += weight * rarity * posting.weight();
                }
            }
        }
    }
}

/// The terms of a document with what they weigh.
fn vector(row: &Row) -> impl Iterator<Item = (u32, f32)> {
    row.counts.chunk_by(|a, b| a.term == b.term).filter_map(|counts| {
        let weight = counts.iter().map(|count| {
            let weight = FIELD_WEIGHTS.get(usize::from(count.field)).copied();
            weight.unwrap_or_default() * f32::from(count.times)
        });
        let weight: f32 = weight.sum();
        (weight > 0.0).then_some((counts.first()?.term, weight))
    })
}
