//! Which documents hold a term.

/// How many of the low bits of a weight give way to the fields.
const FIELD_BITS: u32 = 6;
const FIELD_MASK: u32 = (1 << FIELD_BITS) - 1;

/// That a term occurs in a document. There are millions, so weight and fields share four bytes: the
/// weight keeps 17 of its 23 binary digits, far more than its figures are worth.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Posting {
    pub(super) document: u32,
    weight_and_fields: u32,
}

impl Posting {
    pub(super) fn new(document: u32, weight: f32, fields: u8) -> Self {
        let weight = weight.to_bits() & !FIELD_MASK;
        Self { document, weight_and_fields: weight | (u32::from(fields) & FIELD_MASK) }
    }

    /// The saturated BM25F weight, without the rarity of the term.
    pub(super) fn weight(self) -> f32 {
        f32::from_bits(self.weight_and_fields & !FIELD_MASK)
    }

    /// A bit per [`Field`](super::Field).
    pub(super) fn fields(self) -> u8 {
        u8::try_from(self.weight_and_fields & FIELD_MASK).unwrap_or_default()
    }
}

/// The postings of every term, one after another.
#[derive(Debug, Default)]
pub(super) struct Postings {
    starts: Vec<u32>,
    entries: Vec<Posting>,
}

impl Postings {
    /// The documents that hold `term`, ascending.
    pub(super) fn of(&self, term: u32) -> &[Posting] {
        let term = term as usize;
        let (Some(&start), Some(&end)) = (self.starts.get(term), self.starts.get(term + 1)) else {
            return &[];
        };
        self.entries.get(start as usize..end as usize).unwrap_or_default()
    }

    /// How `document` holds `term`.
    pub(super) fn in_document(&self, term: u32, document: u32) -> Option<Posting> {
        let all = self.of(term);
        let at = all.binary_search_by_key(&document, |posting| posting.document).ok()?;
        all.get(at).copied()
    }

    /// Sorts what `found` gives (pairs of a term and a posting, documents ascending) by term. It is
    /// asked twice, to count and to place, so that nothing is held twice.
    pub(super) fn collect<I: Iterator<Item = (u32, Posting)>>(
        terms: usize,
        found: impl Fn() -> I,
    ) -> Self {
        let mut starts = vec![0u32; terms + 1];
        for (term, _) in found() {
            if let Some(slot) = starts.get_mut(term as usize + 1) {
                *slot += 1;
            }
        }
        let mut sum = 0;
        for slot in &mut starts {
            sum += *slot;
            *slot = sum;
        }
        let mut next = starts.clone();
        let mut entries = vec![Posting::default(); sum as usize];
        for (term, posting) in found() {
            if let Some(at) = next.get_mut(term as usize) {
                if let Some(entry) = entries.get_mut(*at as usize) {
                    *entry = posting;
                }
                *at += 1;
            }
        }
        Self { starts, entries }
    }
}
