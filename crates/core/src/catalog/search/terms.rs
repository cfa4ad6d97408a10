//! A request, cut into the terms that are looked up.

use std::collections::HashSet;
use std::fmt;

use super::alike::Other;
use super::document::Field;
use super::index::Index;
use super::names;
use super::postings::Posting;
use super::rank::Query;
use super::text::{self, Form, Stems};

/// Characters of a request that are read.
const QUERY_CHARACTERS: usize = 4_000;
/// Terms of one request that are looked up; a pasted page must not take a page's time.
const QUERY_TERMS: usize = 256;
/// Words of one request that are compared with names letter by letter.
const MISSPELT_WORDS: usize = 8;
/// Names that one misspelt word may stand for.
const READINGS: usize = 3;

/// A request as the index sees it.
pub(super) struct Request<'q> {
    /// The part of it that is read.
    pub(super) text: &'q str,
    pub(super) terms: Vec<Term>,
    /// The numbers of all its terms, stop words included, each once.
    pub(super) style: Vec<u32>,
}

/// A term of the request.
pub(super) struct Term {
    /// As written, folded.
    pub(super) word: String,
    /// The name it was read as, where it was misspelt.
    pub(super) read_as: Option<String>,
    /// Its number in the index.
    pub(super) number: Option<u32>,
    pub(super) form: Form,
    /// Its weight: rarity, form and spelling.
    pub(super) weight: f32,
    /// Words that mean about the same, with their weights.
    pub(super) alike: Vec<(Other, f32)>,
}

/// How a document holds a term.
#[derive(Clone, Copy)]
pub(super) struct Held {
    /// What it adds to the score.
    pub(super) points: f32,
    /// What the term counts, or the word in its place.
    pub(super) weight: f32,
    /// A bit per [`Field`].
    pub(super) fields: u8,
    /// The word that it holds in its place.
    pub(super) like: Option<&'static str>,
}

impl Term {
    fn counts(&self, posting: Posting) -> bool {
        // A misspelt word is read as a name, so it has to stand in one.
        self.read_as.is_none() || posting.fields() & Field::Name.bit() != 0
    }

    /// The postings of the term itself.
    pub(super) fn postings<'i>(&self, index: &'i Index) -> impl Iterator<Item = &'i Posting> {
        let all = self.number.map(|number| index.postings.of(number)).unwrap_or_default();
        all.iter().filter(|posting| self.counts(**posting))
    }

    /// How `document` holds the term itself.
    pub(super) fn posting(&self, index: &Index, document: u32) -> Option<Posting> {
        index.postings.in_document(self.number?, document).filter(|posting| self.counts(*posting))
    }

    /// How `document` holds the term or a word like it. What counts is whichever counts most; what is
    /// told of it is the term itself, where it is there.
    pub(super) fn held(&self, index: &Index, document: u32) -> Option<Held> {
        let own = self.posting(index, document).map(|posting| Held {
            points: self.weight * posting.weight(),
            weight: self.weight,
            fields: posting.fields(),
            like: None,
        });
        let alike = self.alike.iter().filter_map(|(other, weight)| {
            let posting = index.postings.in_document(other.term, document)?;
            let points = weight * posting.weight();
            Some(Held { points, weight: *weight, fields: posting.fields(), like: Some(other.word) })
        });
        let alike = alike.max_by(|a, b| a.points.total_cmp(&b.points));
        match (own, alike) {
            (Some(own), Some(alike)) => Some(Held { points: own.points.max(alike.points), ..own }),
            (own, alike) => own.or(alike),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.read_as {
            Some(name) => write!(f, "{} (read as {name})", self.word),
            None => f.write_str(&self.word),
        }
    }
}

impl Index {
    /// A request as the index sees it. A misspelt word is read as a name of a document in scope only:
    /// what is out of scope must neither show nor stand in the way.
    pub(super) fn request<'q>(&self, query: &Query<'q>) -> Request<'q> {
        let text = head(query.text);
        let stems = Stems::new();
        let mut terms: Vec<Term> = Vec::new();
        let mut style: Vec<u32> = Vec::new();
        let mut guesses = MISSPELT_WORDS;
        text::terms(text, &mut |form, word| {
            let is_stop = text::is_stop(form, word);
            if is_stop {
                style.extend(text::stop_number(word));
            }
            if is_stop || terms.len() >= QUERY_TERMS {
                return;
            }
            let number = self.term(&stems, form, word);
            // `price` and `prices` are one wish, and so is a word that is said twice.
            let says_it =
                |term: &Term| term.word == word || (number.is_some() && term.number == number);
            if terms.iter().any(says_it) {
                return;
            }
            // An identifier in one piece is another way to say what its words already said.
            if number.is_none() && form == Form::Joined {
                return;
            }
            style.extend(number.filter(|_| form != Form::Joined));
            let alike = self.alike.of(&stems.stem(word));
            if number.is_none() && alike.is_empty() && names::may_be_misspelt(word) && guesses > 0 {
                guesses -= 1;
                let readings = self.readings(word, query);
                if !readings.is_empty() {
                    terms.extend(readings);
                    return;
                }
            }
            let mut rarity = self.rarity(number.unwrap_or(u32::MAX));
            if text::is_frame(word) {
                rarity = rarity.min(self.weights.frame);
            }
            let weight = self.weight_of(form) * rarity;
            let alike = if matches!(form, Form::Word | Form::Pair) {
                alike
                    .iter()
                    .map(|other| (other.clone(), self.weight_like(other, number.map(|_| weight))))
                    .collect()
            } else {
                Vec::new()
            };
            terms.push(Term { word: word.into(), read_as: None, number, form, weight, alike });
        });
        // A word that is asked for itself does not stand for another one.
        let asked: Vec<u32> = terms.iter().filter_map(|term| term.number).collect();
        for term in &mut terms {
            term.alike.retain(|(other, _)| !asked.contains(&other.term));
        }
        // In the order of the request, so that sums do not depend on how terms are numbered.
        let mut seen = HashSet::new();
        style.retain(|term| seen.insert(*term));
        Request { text, terms, style }
    }

    fn weight_of(&self, form: Form) -> f32 {
        match form {
            Form::Word => 1.0,
            Form::Joined => self.weights.joined,
            Form::Character => self.weights.character,
            Form::Pair => self.weights.pair,
        }
    }

    /// What a word counts that stands for one of weight `asked`: never more than that.
    fn weight_like(&self, other: &Other, asked: Option<f32>) -> f32 {
        let own = match other.form {
            // The pair is the whole word here, and not a half of a longer one.
            Form::Pair => 1.0,
            form => self.weight_of(form),
        };
        let own = own * self.rarity(other.term);
        self.weights.alike * asked.map_or(own, |asked| own.min(asked))
    }

    /// The words of names that a word unknown to the index may have meant.
    fn readings(&self, word: &str, query: &Query<'_>) -> Vec<Term> {
        let letters = names::letters(word);
        let mut allowed = names::errors_allowed(word);
        let mut readings: Vec<Term> = Vec::new();
        for name in &self.name_words {
            if (name.letters ^ letters).count_ones() as usize > 2 * allowed {
                continue;
            }
            let Some(errors) = names::errors(word, &name.word, allowed) else { continue };
            if !name.documents.iter().any(|document| self.is_in_scope(*document, query)) {
                continue;
            }
            if errors < allowed {
                allowed = errors;
                readings.clear();
            }
            let kept = (0..errors).fold(1.0, |kept, _| kept * self.weights.typo);
            if readings.len() < READINGS
                && readings.iter().all(|known| known.number != Some(name.term))
            {
                readings.push(Term {
                    word: word.into(),
                    read_as: Some(name.word.to_string()),
                    number: Some(name.term),
                    form: Form::Word,
                    weight: kept * self.rarity(name.term),
                    alike: Vec::new(),
                });
            }
        }
        readings
    }
}

/// The part of a request that is read.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(QUERY_CHARACTERS).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}
