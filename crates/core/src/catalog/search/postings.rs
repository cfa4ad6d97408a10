//! Which documents hold a term.

/// That a term occurs in a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) document: u32,
    /// The saturated BM25F weight, without the rarity of the term.
    pub(super) weight: f32,
    /// A bit per [`Field`].
    pub(super) fields: u8,
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
    pub(super) fn in_document(&self, term: u32, document: u32) -> Option<&Posting> {
        let all = self.of(term);
        all.get(all.binary_search_by_key(&document, |posting| posting.document).ok()?)
    }

    /// Sorts `found` (pairs of a term and a posting, documents ascending) by term.
    pub(super) fn collect(terms: usize, found: &[(u32, Posting)]) -> Self {
        let mut starts = vec![0u32; terms + 1];
        for (term, _) in found {
            if let Some(slot) = starts.get_mut(*term as usize + 1) {
                *slot += 1;
            }
        }
        let mut sum = 0;
        for slot in &mut starts {
            sum += *slot;
            *slot = sum;
        }
        let mut next = starts.clone();
        let mut entries = vec![Posting { document: 0, weight: 0.0, fields: 0 }; found.len()];
        for (term, posting) in found {
            if let Some(at) = next.get_mut(*term as usize) {
                if let Some(entry) = entries.get_mut(*at as usize) {
                    *entry = *posting;
                }
                *at += 1;
            }
        }
        Self { starts, entries }
    }
}
