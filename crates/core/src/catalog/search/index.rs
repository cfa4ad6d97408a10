//! What is kept of the documents.

use std::collections::HashMap;

use concertina_types::Ref;

use super::Kind;
use super::names;
use super::text::{self, Form, Stems};
use super::weights::Weights;

/// One thing that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchDocument {
    /// How it is opened or called; unique in an index.
    pub key: Ref,
    /// What it is.
    pub kind: Kind,
    /// What people read.
    pub title: String,
    /// What it is called by; a request that is this name finds it first.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Words it was filed under.
    pub tags: Vec<String>,
    /// Names and descriptions of its parameters.
    pub parameters: String,
    /// Its text. It is searched, though it is not listed.
    pub body: String,
    /// Requests that it serves.
    pub examples: Vec<String>,
    /// What it does not do. A match here lowers the document.
    pub not_for: Vec<String>,
    /// The category, plugin or server that it belongs to.
    pub group: String,
}

impl SearchDocument {
    /// A document with nothing but its name.
    pub fn new(key: Ref, kind: Kind, name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            key,
            kind,
            title: name.clone(),
            name,
            description: String::new(),
            tags: Vec::new(),
            parameters: String::new(),
            body: String::new(),
            examples: Vec::new(),
            not_for: Vec::new(),
            group: String::new(),
        }
    }
}

/// What is kept of a document as it was given; a scope decides by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchDocumentMeta {
    /// How it is opened or called.
    pub key: Ref,
    /// What it is.
    pub kind: Kind,
    /// What people read.
    pub title: String,
    /// What it is called by.
    pub name: String,
    /// The category, plugin or server that it belongs to.
    pub group: String,
}

/// A part of a document in which words are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// The name.
    Name,
    /// The title, where it differs from the name, and the description.
    Description,
    /// Tags and group.
    Tags,
    /// Parameters.
    Parameters,
    /// The body.
    Body,
    /// Example requests.
    Examples,
}

impl Field {
    /// All fields, in order.
    pub const ALL: [Self; 6] =
        [Self::Name, Self::Description, Self::Tags, Self::Parameters, Self::Body, Self::Examples];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Tags => "tags",
            Self::Parameters => "parameters",
            Self::Body => "body",
            Self::Examples => "examples",
        }
    }

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}

const FIELDS: usize = Field::ALL.len();

/// Whether a request is a name, and of which sort. Later ones call more surely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Called {
    /// It is no name of the document.
    Not,
    /// The name without its plugin or group, or the title.
    Partly,
    /// The name or the reference.
    Name,
}

/// One document, cut into terms once. Terms are ascending, and within a term the fields.
#[derive(Debug)]
struct Analysed {
    counts: Box<[Count]>,
    lengths: [u32; FIELDS],
    /// The terms of each `not_for`, ascending.
    against: Box<[Box<[u32]>]>,
    /// What calls the document, in one piece each.
    called: Box<[(String, Called)]>,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    term: u32,
    field: u8,
    times: u16,
}

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

    /// Sorts `found` (pairs of a term and a posting, documents ascending) by term.
    fn collect(terms: usize, found: &[(u32, Posting)]) -> Self {
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

/// A word of some name, for typing errors.
#[derive(Debug, Clone)]
pub(super) struct NameWord {
    pub(super) word: Box<str>,
    pub(super) letters: u32,
    pub(super) term: u32,
}

/// Numbers for terms, and what was learned about words on the way.
#[derive(Debug, Default, Clone)]
struct Vocabulary {
    /// Stems to numbers.
    terms: HashMap<Box<str>, u32>,
    /// Every word as written to its term; `None` for words without a subject.
    words: HashMap<Box<str>, Option<u32>>,
}

impl Vocabulary {
    fn intern(&mut self, stems: &Stems, form: Form, text: &str) -> Option<u32> {
        if let Some(&known) = self.words.get(text) {
            return known;
        }
        let term = (!text::is_stop(form, text)).then(|| {
            let stem = term_of(stems, form, text);
            let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
            *self.terms.entry(stem.into()).or_insert(next)
        });
        self.words.insert(text.into(), term);
        term
    }
}

fn term_of<'a>(stems: &Stems, form: Form, text: &'a str) -> std::borrow::Cow<'a, str> {
    match form {
        Form::Word | Form::Joined => stems.stem(text),
        Form::Character | Form::Pair => text.into(),
    }
}

/// An immutable index. Searching takes no lock; a changed document makes a new index.
#[derive(Debug)]
pub struct Index {
    pub(super) weights: Weights,
    pub(super) documents: Vec<SearchDocumentMeta>,
    pub(super) postings: Postings,
    /// The terms of every `not_for`. Here `document` counts phrases, and the weight is the share
    /// of the phrase, so that a phrase that is fully met adds up to 1.
    pub(super) against: Postings,
    /// The document of each phrase.
    pub(super) against_documents: Vec<u32>,
    pub(super) name_words: Vec<NameWord>,
    /// The documents that each name calls, ascending.
    pub(super) by_name: HashMap<String, Vec<(u32, Called)>>,
    vocabulary: Vocabulary,
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
        let stems = Stems::new();
        let mut vocabulary = Vocabulary::default();
        let mut rows: Vec<_> =
            documents.into_iter().map(|document| row(document, &stems, &mut vocabulary)).collect();
        // The sort is stable, so the later of two rows with one key stands behind.
        rows.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
        rows.reverse();
        rows.dedup_by(|(a, _), (b, _)| a.key == b.key);
        rows.reverse();
        let (documents, analysed): (_, Vec<Analysed>) = rows.into_iter().unzip();
        Self::assemble(documents, &analysed, vocabulary, weights)
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The number of a term, where some document holds it.
    pub(super) fn term(&self, stems: &Stems, form: Form, text: &str) -> Option<u32> {
        self.vocabulary.terms.get(term_of(stems, form, text).as_ref()).copied()
    }

    /// How rare a term is.
    pub(super) fn rarity(&self, term: u32) -> f32 {
        self.rarity_of(self.postings.of(term).len())
    }

    /// How rare a term is that so many documents hold: from near 0 (all of them) upwards. This is
    /// the inverse document frequency of BM25 in the form that is never negative.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^24")]
    pub(super) fn rarity_of(&self, holding: usize) -> f32 {
        let (all, holding) = (self.documents.len() as f32, holding as f32);
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^24")]
    fn assemble(
        documents: Vec<SearchDocumentMeta>,
        analysed: &[Analysed],
        mut vocabulary: Vocabulary,
        weights: Weights,
    ) -> Self {
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
                || analysed.iter().filter_map(|a| a.lengths.get(field)).filter(|l| **l > 0);
            lengths().sum::<u32>() as f32 / lengths().count().max(1) as f32
        });
        let mut found = Vec::with_capacity(analysed.iter().map(|a| a.counts.len()).sum());
        for (number, document) in (0u32..).zip(analysed) {
            let mut per_time = [0.0f32; FIELDS];
            for (((per_time, length), average), (weight, b)) in
                per_time.iter_mut().zip(document.lengths).zip(averages).zip(fields)
            {
                *per_time = weight / (1.0 - b + b * length as f32 / average.max(1.0));
            }
            for counts in document.counts.chunk_by(|a, b| a.term == b.term) {
                let Some(term) = counts.first().map(|count| count.term) else { continue };
                let (mut sum, mut fields) = (0.0, 0);
                for count in counts {
                    let per_time = per_time.get(usize::from(count.field)).copied();
                    sum += per_time.unwrap_or_default() * f32::from(count.times);
                    fields |= 1 << count.field;
                }
                let weight = sum * (weights.k1 + 1.0) / (weights.k1 + sum);
                found.push((term, Posting { document: number, weight, fields }));
            }
        }
        let terms = vocabulary.terms.len();
        let postings = Postings::collect(terms, &found);
        let mut by_name: HashMap<String, Vec<(u32, Called)>> = HashMap::new();
        for (number, document) in (0u32..).zip(analysed) {
            for (name, called) in &document.called {
                by_name.entry(name.clone()).or_default().push((number, *called));
            }
        }
        let name_words = name_words(&documents, &vocabulary);
        // What the words were is needed to build and not to search.
        vocabulary.words = HashMap::new();
        let mut index = Self {
            name_words,
            against: Postings::default(),
            against_documents: Vec::new(),
            postings,
            by_name,
            weights,
            documents,
            vocabulary,
        };
        index.weigh_against(analysed);
        index
    }

    /// Gives each term of each `not_for` its share of the phrase. Words that the name or the
    /// description holds as well do not tell the document from its sibling: they have none.
    fn weigh_against(&mut self, analysed: &[Analysed]) {
        let mut found = Vec::new();
        let mut phrases = Vec::new();
        for (document, analysed) in (0u32..).zip(analysed) {
            for phrase in &analysed.against {
                let own = Field::Name.bit() | Field::Description.bit();
                let telling: Vec<_> = phrase
                    .iter()
                    .filter(|&&term| {
                        self.posting(term, document).is_none_or(|p| p.fields & own == 0)
                    })
                    .map(|&term| (term, self.rarity(term)))
                    .collect();
                let whole: f32 = telling.iter().map(|(_, rarity)| rarity).sum();
                let number = u32::try_from(phrases.len()).unwrap_or(u32::MAX);
                found.extend(telling.into_iter().map(|(term, rarity)| {
                    (term, Posting { document: number, weight: rarity / whole, fields: 0 })
                }));
                phrases.push(document);
            }
        }
        self.against = Postings::collect(self.vocabulary.terms.len(), &found);
        self.against_documents = phrases;
    }

    /// How `document` holds `term`.
    pub(super) fn posting(&self, term: u32, document: u32) -> Option<&Posting> {
        let all = self.postings.of(term);
        all.get(all.binary_search_by_key(&document, |posting| posting.document).ok()?)
    }
}

/// Words of names that are long enough to be misspelt, in alphabetical order.
fn name_words(documents: &[SearchDocumentMeta], vocabulary: &Vocabulary) -> Vec<NameWord> {
    let mut words = Vec::new();
    for document in documents {
        text::terms(&document.name, &mut |form, word| {
            let term = vocabulary.words.get(word).copied().flatten();
            if let (Form::Word | Form::Joined, Some(term)) = (form, term)
                && names::may_be_misspelt(word)
            {
                words.push(NameWord { word: word.into(), letters: names::letters(word), term });
            }
        });
    }
    words.sort_by(|a, b| a.word.cmp(&b.word));
    words.dedup_by(|a, b| a.word == b.word);
    words
}

fn row(
    document: SearchDocument,
    stems: &Stems,
    vocabulary: &mut Vocabulary,
) -> (SearchDocumentMeta, Analysed) {
    let mut seen: Vec<(u32, u8)> = Vec::new();
    let mut lengths = [0u32; FIELDS];
    let mut add = |field: u8, text: &str| {
        text::terms(text, &mut |form, text| {
            if let Some(term) = vocabulary.intern(stems, form, text) {
                seen.push((term, field));
                // Joined pieces and single characters repeat what other terms already count.
                if let (Form::Word | Form::Pair, Some(length)) =
                    (form, lengths.get_mut(usize::from(field)))
                {
                    *length += 1;
                }
            }
        });
    };
    let name_key = text::key(&document.name);
    add(Field::Name as u8, &document.name);
    if text::key(&document.title) != name_key {
        add(Field::Description as u8, &document.title);
    }
    add(Field::Description as u8, &document.description);
    document.tags.iter().for_each(|tag| add(Field::Tags as u8, tag));
    add(Field::Tags as u8, &document.group);
    add(Field::Parameters as u8, &document.parameters);
    add(Field::Body as u8, &document.body);
    document.examples.iter().for_each(|example| add(Field::Examples as u8, example));
    let against = document
        .not_for
        .iter()
        .map(|phrase| {
            let mut terms = Vec::new();
            text::terms(phrase, &mut |form, text| {
                if form != Form::Joined {
                    terms.extend(vocabulary.intern(stems, form, text));
                }
            });
            terms.sort_unstable();
            terms.dedup();
            terms.into_boxed_slice()
        })
        .collect();
    // A name of several words is found in one piece too.
    if let Some(term) = vocabulary.intern(stems, Form::Joined, &name_key) {
        let whole = (term, Field::Name as u8);
        if !seen.contains(&whole) {
            seen.push(whole);
        }
    }
    seen.sort_unstable();
    let counts = seen
        .chunk_by(|a, b| a == b)
        .filter_map(|same| {
            let (term, field) = *same.first()?;
            Some(Count { term, field, times: u16::try_from(same.len()).unwrap_or(u16::MAX) })
        })
        .collect();
    let last = document.name.rsplit('/').next().unwrap_or_default();
    let mut called = vec![
        (name_key, Called::Name),
        (text::key(&document.key.to_string()), Called::Name),
        (text::key(last), Called::Partly),
        (text::key(&document.title), Called::Partly),
    ];
    called.retain(|(name, _)| !name.is_empty());
    called.sort_by(|(a, x), (b, y)| a.cmp(b).then(y.cmp(x)));
    called.dedup_by(|(a, _), (b, _)| a == b);
    let called = called.into();
    let SearchDocument { key, kind, title, name, group, .. } = document;
    (
        SearchDocumentMeta { key, kind, title, name, group },
        Analysed { counts, lengths, against, called },
    )
}
