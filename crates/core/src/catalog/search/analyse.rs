//! A document, cut into terms.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::document::{Field, SearchDocument, SearchDocumentMeta};
use super::names;
use super::text::{self, Form, Stems};

pub(super) const FIELDS: usize = Field::ALL.len();

/// Whether a request is a name, and of which sort. Later ones call more surely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Called {
    /// It is no name of the document.
    Not,
    /// The name without its plugin or group.
    Partly,
    /// The name or the reference.
    Name,
}

/// One document, cut into terms once; it never changes, so indexes share it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) meta: SearchDocumentMeta,
    /// Terms are ascending, and within a term the fields.
    pub(super) counts: Box<[Count]>,
    pub(super) lengths: [u32; FIELDS],
    /// How many example requests it has.
    pub(super) examples: usize,
    /// The terms of each `not_for`.
    pub(super) against: Box<[Box<[u32]>]>,
    /// The words of its name that are long enough to be misspelt.
    pub(super) name_words: Box<[(Box<str>, u32)]>,
    /// What calls the document, in one piece each.
    pub(super) called: Box<[(Arc<str>, Called)]>,
}

impl Row {
    /// The numbers of its terms; some several times.
    pub(super) fn terms(&self) -> impl Iterator<Item = u32> {
        let counted = self.counts.iter().map(|count| count.term);
        let against = self.against.iter().flatten().copied();
        counted.chain(against).chain(self.name_words.iter().map(|(_, term)| *term))
    }

    /// The same with other numbers, ascending as before.
    pub(super) fn renumbered(&self, number: impl Fn(u32) -> u32) -> Self {
        Self {
            meta: self.meta.clone(),
            counts: self.counts.iter().map(|c| Count { term: number(c.term), ..*c }).collect(),
            lengths: self.lengths,
            examples: self.examples,
            against: self
                .against
                .iter()
                .map(|phrase| phrase.iter().map(|term| number(*term)).collect())
                .collect(),
            name_words: self
                .name_words
                .iter()
                .map(|(word, term)| (word.clone(), number(*term)))
                .collect(),
            called: self.called.clone(),
        }
    }
}

/// How often a term stands in a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    pub(super) term: u32,
    pub(super) field: u8,
    pub(super) times: u16,
}

/// Numbers for terms. The first ones are those of the stop words, which only example requests are
/// asked for: how somebody puts a request is a sign of what it is about.
#[derive(Debug, Default, Clone)]
pub(super) struct Vocabulary {
    terms: HashMap<Box<str>, u32>,
}

impl Vocabulary {
    /// How many numbers are taken.
    pub(super) fn len(&self) -> usize {
        text::STOP_WORDS.len() + self.terms.len()
    }

    /// The number of a term, where some document holds it.
    pub(super) fn term(&self, stems: &Stems, form: Form, text: &str) -> Option<u32> {
        self.terms.get(term_of(stems, form, text).as_ref()).copied()
    }

    /// The same terms without those that `is_used` lets go, numbered anew in the same order, and what
    /// the number of each became.
    pub(super) fn without(&self, is_used: impl Fn(u32) -> bool) -> (Self, HashMap<u32, u32>) {
        let mut kept: Vec<(&Box<str>, u32)> =
            self.terms.iter().map(|(term, number)| (term, *number)).collect();
        kept.retain(|(_, number)| is_used(*number));
        kept.sort_unstable_by_key(|(_, number)| *number);
        let (mut fewer, mut became) = (Self::default(), HashMap::new());
        for (term, number) in kept {
            let next = u32::try_from(fewer.len()).unwrap_or(u32::MAX);
            became.insert(number, next);
            fewer.terms.insert(term.clone(), next);
        }
        (fewer, became)
    }

    fn intern(&mut self, stems: &Stems, form: Form, text: &str) -> u32 {
        let next = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let term = term_of(stems, form, text);
        match self.terms.get(term.as_ref()) {
            Some(&known) => known,
            None => *self.terms.entry(term.into()).or_insert(next),
        }
    }
}

fn term_of<'a>(stems: &Stems, form: Form, text: &'a str) -> Cow<'a, str> {
    match form {
        Form::Word | Form::Joined => stems.stem(text),
        Form::Character | Form::Pair => text.into(),
    }
}

/// Cuts documents into terms, remembering each word that it has seen.
pub(super) struct Analyser<'v> {
    stems: Stems,
    vocabulary: &'v mut Vocabulary,
    /// Every word as written to its term; `None` for words without a subject.
    words: HashMap<Box<str>, Option<u32>>,
}

impl<'v> Analyser<'v> {
    pub(super) fn new(vocabulary: &'v mut Vocabulary) -> Self {
        Self { stems: Stems::new(), vocabulary, words: HashMap::new() }
    }

    fn term(&mut self, form: Form, text: &str) -> Option<u32> {
        if let Some(&known) = self.words.get(text) {
            return known;
        }
        let term =
            (!text::is_stop(form, text)).then(|| self.vocabulary.intern(&self.stems, form, text));
        self.words.insert(text.into(), term);
        term
    }

    /// The terms of a text in its order, each once.
    fn set(&mut self, text: &str) -> Box<[u32]> {
        let (mut terms, mut seen) = (Vec::new(), HashSet::new());
        text::terms(text, &mut |form, text| {
            if form != Form::Joined {
                terms.extend(self.term(form, text).filter(|term| seen.insert(*term)));
            }
        });
        terms.into()
    }

    fn name_words(&mut self, name: &str) -> Box<[(Box<str>, u32)]> {
        let mut words = Vec::new();
        text::terms(name, &mut |form, word| {
            if matches!(form, Form::Word | Form::Joined)
                && names::may_be_misspelt(word)
                && let Some(term) = self.term(form, word)
            {
                words.push((word.into(), term));
            }
        });
        words.into()
    }

    pub(super) fn row(&mut self, document: SearchDocument) -> Row {
        let mut seen: Vec<(u32, u8)> = Vec::new();
        let mut lengths = [0u32; FIELDS];
        let name_key = text::key(&document.name);
        let with_stop_words = !document.examples.is_empty();
        let parts = std::iter::once((Field::Name, &document.name))
            .chain([(Field::Description, &document.description)])
            .chain(document.tags.iter().map(|tag| (Field::Tags, tag)))
            .chain([
                (Field::Tags, &document.group),
                (Field::Parameters, &document.parameters),
                (Field::Body, &document.body),
            ])
            .chain(document.examples.iter().map(|example| (Field::Examples, example)));
        for (field, text) in parts {
            text::terms(text, &mut |form, text| {
                if let Some(term) = self.term(form, text) {
                    seen.push((term, field as u8));
                    // Joined pieces and single characters repeat what other terms already count.
                    if let (Form::Word | Form::Pair, Some(length)) =
                        (form, lengths.get_mut(field as usize))
                    {
                        *length += 1;
                    }
                } else if with_stop_words {
                    seen.extend(text::stop_number(text).map(|stop| (stop, field as u8)));
                }
            });
        }
        // A name of several words is found in one piece too.
        if let Some(term) = self.term(Form::Joined, &name_key) {
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
        let name_words = self.name_words(&document.name);
        let against = document.not_for.iter().map(|phrase| self.set(phrase)).collect();
        let called = called(&document, name_key);
        let SearchDocument { key, kind, title, name, group, examples, .. } = document;
        Row {
            meta: SearchDocumentMeta { key, kind, title, name, group },
            counts,
            lengths,
            examples: examples.len(),
            against,
            name_words,
            called,
        }
    }
}

/// What calls a document, each piece once, as the surest sort that it is.
fn called(document: &SearchDocument, name_key: String) -> Box<[(Arc<str>, Called)]> {
    let last = document.name.rsplit('/').next().unwrap_or_default();
    let mut called = vec![
        (name_key, Called::Name),
        (text::key(&document.key.to_string()), Called::Name),
        (text::key(last), Called::Partly),
    ];
    called.retain(|(name, _)| !name.is_empty());
    called.sort_by(|(a, x), (b, y)| a.cmp(b).then(y.cmp(x)));
    called.dedup_by(|(a, _), (b, _)| a == b);
    called.into_iter().map(|(name, called)| (name.into(), called)).collect()
}
