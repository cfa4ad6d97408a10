//! Whether the best hit is good enough to be called an answer.
//!
//! Scores grow with the number of documents, because rare words become rarer. They are therefore
//! measured in words: one word that a single document holds once, in its description, scores 1.

use super::document::Field;
use super::index::Index;
use super::rank::Candidate;
use super::terms::Request;

/// The least confidence of an answer in a large index: about two rare words, or one in the name.
///
/// It was set on one half of the requests for 2,573 functions: it keeps 95 % of those that something
/// serves and turns away a third of those that nothing serves.
const FLOOR: f32 = 2.46;
/// The floor of an index of one document: one word in common is telling there.
const FLOOR_OF_ONE: f32 = 1.3;
/// What the floor gains from there each time the index grows by a factor of e.
const FLOOR_GROWTH: f32 = 0.15;
/// What a request of two words counts in addition where the document holds both, one of them in its
/// name: nobody who says so little means something else.
const KEYWORDS: f32 = 1.5;
/// What a word counts in addition where the name holds it.
const NAMED: f32 = 0.5;
/// What every matching term counts in addition, however common: many small signs agree.
const AGREEING: f32 = 0.15;
/// What the rarest matching term counts at most.
const RAREST: f32 = 1.2;

/// Why the best hit is, or is not, an answer. Everything is measured in words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    /// The score, likeness to examples left out.
    pub score: f32,
    /// The weight of the terms that the name holds.
    pub named: f32,
    /// The weight of the rarest term that it holds.
    pub rarest: f32,
    /// How many terms of the request it holds.
    pub matched: u16,
    /// The share of the request's weight that these are, from 0 to 1.
    pub share: f32,
    /// What all of it amounts to.
    pub reached: f32,
    /// What is asked for.
    pub needed: f32,
}

impl Confidence {
    /// Whether the hit is an answer.
    pub fn is_enough(&self) -> bool {
        self.reached >= self.needed
    }
}

impl Index {
    /// The confidence in the first of `candidates`. Where a rival was put below it, what speaks for
    /// that one speaks for the answer, too: it was only found to be meant for the other.
    pub(super) fn confidence_in(
        &self,
        candidates: &[Candidate],
        request: &Request<'_>,
    ) -> Option<Confidence> {
        let first = candidates.first()?;
        let behind = |one: &&Candidate| one.below == Some(first.document);
        let judged = candidates.iter().filter(behind).chain([first]);
        judged
            .map(|candidate| self.confidence(candidate, request))
            .max_by(|a, b| a.reached.total_cmp(&b.reached))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^24")]
    fn confidence(&self, best: &Candidate, request: &Request<'_>) -> Confidence {
        let word = self.rarity_of(1).max(f32::MIN_POSITIVE);
        let (mut named, mut rarest, mut matched, mut held, mut all) = (0.0, 0.0f32, 0u16, 0.0, 0.0);
        for term in &request.terms {
            all += term.weight;
            let Some(found) = term.held(self, best.document) else { continue };
            matched = matched.saturating_add(1);
            held += found.weight;
            rarest = rarest.max(found.weight / word);
            if found.fields & Field::Name.bit() != 0 {
                named += found.weight / word;
            }
        }
        let score = best.words / word;
        let is_keywords = request.style.len() == 2 && held >= 0.99 * all && named > 0.0;
        let keywords = if is_keywords { KEYWORDS } else { 0.0 };
        let reached =
            keywords + score + NAMED * named + AGREEING * f32::from(matched) + rarest.min(RAREST);
        let growth = FLOOR_GROWTH * (self.len() as f32).max(1.0).ln();
        let needed = (FLOOR_OF_ONE + growth).min(FLOOR);
        let share = if all > 0.0 { held / all } else { 0.0 };
        Confidence { score, named, rarest, matched, share, reached, needed }
    }
}
