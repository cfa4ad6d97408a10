//! What a document counts for before anything is asked: how it was used when it was found before.

use std::collections::BTreeMap;

use concertina_types::Ref;

/// The factor of a document's score, by its reference alone; it is kept within 1 / 1.15 and 1.15.
///
/// A prior is to decide between hits that the request leaves close together. Two factors differ by
/// 1.15² at most, so that what is ahead by a third is never overtaken.
pub type Prior<'a> = &'a dyn Fn(&Ref) -> f32;

/// How far from 1 a factor goes.
const REACH: f32 = 0.15;
/// Openings, made up, that are neither more nor fewer than expected: the fewer there are of the real
/// ones, the less these say. With 4, one opening moves a score by some 2 %, ten in a row by 7 %.
const SMOOTHING: f64 = 4.0;

/// `factor` within its bounds. What is no number says nothing.
pub(super) fn bounded(factor: f32) -> f32 {
    if factor.is_nan() { 1.0 } else { factor.clamp(1.0 / (1.0 + REACH), 1.0 + REACH) }
}

/// How often something was found, and what came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uses {
    /// Searches that named it.
    pub found: u32,
    /// Of these, searches after which it was opened or called.
    pub opened: u32,
}

impl Uses {
    fn add(&mut self, is_opened: bool) {
        self.found = self.found.saturating_add(1);
        self.opened = self.opened.saturating_add(u32::from(is_opened));
    }
}

/// What was opened after it was found, by reference. A part of a skill counts as the skill.
///
/// The factor of a reference compares how often it was opened with how often that was to be expected:
/// `expected` is the number of times it was found, times the share of all that was found and then
/// opened.
///
/// ```text
/// lean   = (opened - expected) / (opened + expected + 4)        between -1 and 1
/// factor = 1 + 0.15 lean               where lean is above zero
///          1 / (1 - 0.15 lean)         where it is below
/// ```
///
/// What was never found has the factor 1, and so has everything where nothing was opened. Time has no
/// part in it.
///
/// ```
/// use concertina_core::catalog::search::Usage;
/// use concertina_types::Ref;
///
/// let (tides, berths): (Ref, Ref) = ("skill:tides".parse()?, "skill:berths".parse()?);
/// let mut usage = Usage::default();
/// for _ in 0..3 {
///     usage.count(&tides, true);
///     usage.count(&berths, false);
/// }
/// assert!(usage.factor(&tides) > 1.02 && usage.factor(&berths) < 0.98);
/// assert_eq!(usage.factor(&"skill:pilots".parse()?), 1.0);
/// # Ok::<(), concertina_types::RefError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    uses: BTreeMap<Ref, Uses>,
    all: Uses,
}

impl Usage {
    /// Counts that a search named `hit`, and whether it was opened or called then. A result is not
    /// counted: its number means another one in each session.
    pub fn count(&mut self, hit: &Ref, is_opened: bool) {
        if !matches!(hit, Ref::Evidence { .. }) {
            self.uses.entry(hit.whole().into_owned()).or_default().add(is_opened);
            self.all.add(is_opened);
        }
    }

    /// How often `reference` was found and opened.
    pub fn of(&self, reference: &Ref) -> Uses {
        self.uses.get(reference.whole().as_ref()).copied().unwrap_or_default()
    }

    /// What a score of `reference` is multiplied by.
    pub fn factor(&self, reference: &Ref) -> f32 {
        let Uses { found, opened } = self.of(reference);
        let rate = f64::from(self.all.opened) / f64::from(self.all.found.max(1));
        let (opened, expected) = (f64::from(opened), f64::from(found) * rate);
        let lean = (opened - expected) / (opened + expected + SMOOTHING);
        #[expect(clippy::cast_possible_truncation, reason = "it is between -1 and 1")]
        let by = REACH * lean.abs() as f32;
        if lean < 0.0 { 1.0 / (1.0 + by) } else { 1.0 + by }
    }
}
