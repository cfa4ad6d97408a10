//! Whether the best hit is good enough to be called an answer.
//!
//! Scores grow with the number of documents, because rare words become rarer. They are therefore
//! measured in words: one word that a single document holds once, in its description, scores 1.

/// The least confidence of an answer in the smallest index: one rare word in common is telling.
const FLOOR: f32 = 0.86;
/// What the floor gains each time the index grows by a factor of e: the best of many accidental
/// scores is the higher the more of them there are.
///
/// Both figures were set on BFCL v4 (2,573 functions), where the floor is 1.5: it keeps 95 % of the
/// requests that a function serves and turns away 35 % of those that none serves.
const FLOOR_GROWTH: f32 = 0.0825;
/// What a word counts in addition where the name holds it.
const NAMED: f32 = 0.3;
/// What every matching term counts in addition, however common: many small signs agree.
const AGREEING: f32 = 0.1;

/// What is known about the best hit of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Evidence {
    /// How many documents there are.
    pub(super) documents: usize,
    /// The score.
    pub(super) score: f32,
    /// The score of one word that no other document holds.
    pub(super) word: f32,
    /// The weight of the terms that the name holds.
    pub(super) named: f32,
    /// How many terms of the request the hit holds.
    pub(super) matched: u16,
}

impl Evidence {
    /// Whether the hit is an answer.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^24")]
    pub(super) fn is_enough(self) -> bool {
        let floor = FLOOR + FLOOR_GROWTH * (self.documents as f32).max(1.0).ln();
        let words = (self.score + NAMED * self.named) / self.word.max(f32::MIN_POSITIVE);
        words + AGREEING * f32::from(self.matched) >= floor
    }
}
