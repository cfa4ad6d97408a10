//! What is kept of the documents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use concertina_types::Ref;

use super::alike::Alike;
use super::analyse::{Analyser, Called, FIELDS, Row, Vocabulary};
use super::document::{SearchDocument, SearchDocumentMeta};
use super::likeness::Likeness;
use super::names;
use super::not_for::NotFor;
use super::postings::{Posting, Postings};
use super::text::{self, Form, Stems};
use super::weights::Weights;

/// Numbers of words that nobody holds any more are kept up to twice those in use, and so many more.
const SPARE_TERMS: usize = 10_000;

/// A word of some name, for typing errors.
#[derive(Debug, Clone)]
pub(super) struct NameWord {
    pub(super) word: Box<str>,
    pub(super) letters: u32,
    pub(super) term: u32,
    /// The documents in whose names it stands, ascending.
    pub(super) documents: Vec<u32>,
}

/// An immutable index. Searching takes no lock; a changed document makes a new index, which shares
/// with the old one all that was learned of the others.
#[derive(Debug)]
pub struct Index {
    pub(super) weights: Weights,
    /// The documents, ascending by key.
    pub(super) rows: Vec<Arc<Row>>,
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) postings: Postings,
    pub(super) likeness: Likeness,
    pub(super) not_for: NotFor,
    pub(super) alike: Alike,
    pub(super) name_words: Vec<NameWord>,
    /// The documents that each name calls, ascending.
    pub(super) by_name: HashMap<Arc<str>, Vec<(u32, Called)>>,
}

impl Index {
    /// Indexes `documents`. Of two with the same key the later one counts.
    pub fn build(documents: impl IntoIterator<Item = SearchDocument>) -> Self {
        Self::build_with(documents, Weights::default())
    }

    /// Indexes `documents` with other weights.
    pub fn build_with(
        documents: impl IntoIterator<Item = SearchDocument>,
        weights: Weights,
    ) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut analyser = Analyser::new(&mut vocabulary);
        let rows = documents.into_iter().map(|document| Arc::new(analyser.row(document)));
        let rows = distinct(rows.collect());
        Self::assemble(rows, Arc::new(vocabulary), weights)
    }

    /// An index in which `changed` replace the documents with their keys, or are added, and `gone`
    /// are left out. Only `changed` are cut into terms; the result is what [`Self::build`] makes of
    /// the same documents.
    ///
    /// ```
    /// use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument};
    ///
    /// let skill = |name: &str| {
    ///     format!("skill:{name}").parse().map(|key| SearchDocument::new(key, Kind::Skill, name))
    /// };
    /// let index = Index::build([skill("refunds")?, skill("stock")?]);
    /// let index = index.updated([skill("letters")?], &["skill:stock".parse()?]);
    /// assert_eq!(index.len(), 2);
    /// assert_eq!(index.find(&Query::new("letters")).hits.len(), 1);
    /// # Ok::<(), concertina_types::RefError>(())
    /// ```
    #[must_use]
    pub fn updated(&self, changed: impl IntoIterator<Item = SearchDocument>, gone: &[Ref]) -> Self {
        let mut vocabulary = Vocabulary::clone(&self.vocabulary);
        let mut analyser = Analyser::new(&mut vocabulary);
        let gone: BTreeSet<&Ref> = gone.iter().collect();
        let kept = self.rows.iter().filter(|row| !gone.contains(&row.meta.key)).cloned();
        let mut rows: Vec<_> = kept.collect();
        rows.extend(changed.into_iter().map(|document| Arc::new(analyser.row(document))));
        let (rows, vocabulary) = compacted(distinct(rows), vocabulary);
        Self::assemble(rows, Arc::new(vocabulary), self.weights.clone())
    }

    /// Whether one of these is among the documents.
    pub fn holds_any(&self, keys: &[Ref]) -> bool {
        keys.iter().any(|key| self.rows.binary_search_by(|row| row.meta.key.cmp(key)).is_ok())
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn meta(&self, document: u32) -> Option<&SearchDocumentMeta> {
        self.rows.get(document as usize).map(|row| &row.meta)
    }

    /// The number of a term that some document holds or turns down. A word of which only a number is
    /// left is as unknown as any other.
    pub(super) fn term(&self, stems: &Stems, form: Form, text: &str) -> Option<u32> {
        let number = self.vocabulary.term(stems, form, text)?;
        (!self.postings.of(number).is_empty() || self.not_for.mentions(number)).then_some(number)
    }

    /// How rare a term is.
    pub(super) fn rarity(&self, term: u32) -> f32 {
        self.rarity_of(self.postings.of(term).len())
    }

    /// How rare a term is that so many documents hold: from near 0 (all of them) upwards. This is
    /// the inverse document frequency of BM25 in the form that is never negative.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^24")]
    pub(super) fn rarity_of(&self, holding: usize) -> f32 {
        let (all, holding) = (self.len() as f32, holding as f32);
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
    }

    fn assemble(rows: Vec<Arc<Row>>, vocabulary: Arc<Vocabulary>, weights: Weights) -> Self {
        let mut by_name: HashMap<Arc<str>, Vec<(u32, Called)>> = HashMap::new();
        for (number, row) in (0u32..).zip(&rows) {
            for (name, called) in &row.called {
                by_name.entry(Arc::clone(name)).or_default().push((number, *called));
            }
        }
        let mut index = Self {
            postings: postings(&rows, vocabulary.len(), &weights),
            likeness: Likeness::new(&rows, vocabulary.len()),
            not_for: NotFor::default(),
            alike: Alike::default(),
            name_words: name_words(&rows),
            by_name,
            rows,
            vocabulary,
            weights,
        };
        index.not_for = NotFor::new(&index.rows, &index);
        index.alike = Alike::new(&index);
        index
    }
}

/// The rows ascending by key; of two with the same key the later one.
fn distinct(mut rows: Vec<Arc<Row>>) -> Vec<Arc<Row>> {
    // The sort is stable, so the later of two rows with one key stands behind.
    rows.sort_by(|a, b| a.meta.key.cmp(&b.meta.key));
    rows.reverse();
    rows.dedup_by(|a, b| a.meta.key == b.meta.key);
    rows.reverse();
    rows
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^24")]
fn postings(rows: &[Arc<Row>], terms: usize, weights: &Weights) -> Postings {
    let fields: [(f32, f32); FIELDS] = [
        (weights.name, weights.b_short),
        (weights.description, weights.b_short),
        (weights.tags, weights.b_short),
        (weights.parameters, weights.b),
        (weights.body, weights.b),
        (weights.examples, weights.b),
    ];
    let averages: [f32; FIELDS] = std::array::from_fn(|field| {
        let lengths =
            || rows.iter().filter_map(|row| row.lengths.get(field)).filter(|length| **length > 0);
        lengths().sum::<u32>() as f32 / lengths().count().max(1) as f32
    });
    let per_time = |row: &Row| {
        let mut per_time = [0.0f32; FIELDS];
        for (((per_time, length), average), (weight, b)) in
            per_time.iter_mut().zip(row.lengths).zip(averages).zip(fields)
        {
            // A single character has no length, and counts all the same.
            let length = length.max(1) as f32;
            *per_time = weight / (1.0 - b + b * length / average.max(1.0));
        }
        per_time
    };
    Postings::collect(terms, || {
        (0u32..).zip(rows).flat_map(|(document, row)| {
            let per_time = per_time(row);
            row.counts.chunk_by(|a, b| a.term == b.term).filter_map(move |counts| {
                let term = counts.first()?.term;
                if text::is_stop_number(term) {
                    return None;
                }
                let (mut sum, mut fields) = (0.0, 0);
                for count in counts {
                    let per_time = per_time.get(usize::from(count.field)).copied();
                    sum += per_time.unwrap_or_default() * f32::from(count.times);
                    fields |= 1 << count.field;
                }
                let weight = sum * (weights.k1 + 1.0) / (weights.k1 + sum);
                Some((term, Posting::new(document, weight, fields)))
            })
        })
    })
}

/// Words of names that are long enough to be misspelt, in alphabetical order.
fn name_words(rows: &[Arc<Row>]) -> Vec<NameWord> {
    let mut words: BTreeMap<&str, NameWord> = BTreeMap::new();
    for (number, row) in (0u32..).zip(rows) {
        for (word, term) in &row.name_words {
            let known = words.entry(word).or_insert_with(|| NameWord {
                word: word.clone(),
                letters: names::letters(word),
                term: *term,
                documents: Vec::new(),
            });
            known.documents.push(number);
        }
    }
    words.into_values().collect()
}

/// Lets the words go that only documents had which are gone, once they are the greater part: what
/// changes for a long time must not grow for ever.
fn compacted(rows: Vec<Arc<Row>>, vocabulary: Vocabulary) -> (Vec<Arc<Row>>, Vocabulary) {
    if vocabulary.len() <= SPARE_TERMS {
        return (rows, vocabulary);
    }
    let mut used = vec![false; vocabulary.len()];
    for term in rows.iter().flat_map(|row| row.terms()) {
        if let Some(used) = used.get_mut(term as usize) {
            *used = true;
        }
    }
    if vocabulary.len() <= SPARE_TERMS + 2 * used.iter().filter(|used| **used).count() {
        return (rows, vocabulary);
    }
    let is_used = |term: u32| used.get(term as usize).copied().unwrap_or_default();
    let (vocabulary, became) = vocabulary.without(is_used);
    let number = |term: u32| became.get(&term).copied().unwrap_or(term);
    let rows = rows.iter().map(|row| Arc::new(row.renumbered(number))).collect();
    (rows, vocabulary)
}
