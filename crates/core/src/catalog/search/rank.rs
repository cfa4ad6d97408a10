//! From a request to the documents that serve it.

use std::cmp::Ordering;
use std::fmt;

use concertina_types::{Ref, limits};

use super::Kind;
use super::confidence::Evidence;
use super::index::{Called, Field, Index, Posting, SearchDocumentMeta};
use super::names;
use super::text::{self, Form, Stems};

/// Characters of a request that are read.
const QUERY_CHARACTERS: usize = 4_000;
/// Terms of one request that are looked up; a pasted page must not take a page's time.
const QUERY_TERMS: usize = 256;
/// Words of one request that are compared with names letter by letter.
const MISSPELT_WORDS: usize = 8;
/// A request that meets less of a `not_for` than this share shares a topic with it, no more.
const AGAINST_MET: f32 = 0.75;
/// Terms that a reason names.
const WHY_TERMS: usize = 8;
/// Names that one misspelt word may stand for.
const READINGS: usize = 3;

/// A request.
pub struct Query<'a> {
    /// What is wanted, in the words of whoever asks.
    pub text: &'a str,
    /// How many hits at most.
    pub limit: usize,
    /// Only documents of this kind.
    pub kind: Option<Kind>,
    /// Only documents for which this holds. They are chosen before anything is ranked, so that
    /// what is out of scope takes no place among the hits.
    pub within: &'a dyn Fn(&SearchDocumentMeta) -> bool,
}

impl<'a> Query<'a> {
    /// A request over everything, for [`limits::FIND_HITS`] hits.
    pub fn new(text: &'a str) -> Self {
        Self { text, limit: limits::FIND_HITS, kind: None, within: &|_| true }
    }
}

impl fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("text", &self.text)
            .field("limit", &self.limit)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The documents that serve the request, best first. Empty where nothing fits.
    pub hits: Vec<Hit>,
    /// Whether something fits.
    pub enough: bool,
    /// Where nothing fits: what comes nearest, best first.
    pub nearest: Vec<Hit>,
}

impl Answer {
    /// The hits, or what comes nearest.
    pub fn ranking(&self) -> &[Hit] {
        if self.enough { &self.hits } else { &self.nearest }
    }
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// How it is opened or called.
    pub reference: Ref,
    /// What it is.
    pub kind: Kind,
    /// What people read.
    pub title: String,
    /// How well it fits; comparable within one answer only.
    pub score: f32,
    /// The words of the request that it holds, in the order of the request.
    pub matched: Vec<String>,
    /// Where they were found.
    pub fields: Vec<Field>,
    /// Both, in words.
    pub why: String,
}

/// A term of the request.
struct Term {
    /// As written, folded.
    word: String,
    /// The name it was read as, where it was misspelt.
    read_as: Option<String>,
    /// Its number in the index.
    number: Option<u32>,
    form: Form,
    /// Its weight: rarity, form and spelling.
    weight: f32,
}

impl Term {
    /// The postings that count for this term.
    fn postings<'i>(&self, index: &'i Index) -> impl Iterator<Item = &'i Posting> {
        let needed = if self.read_as.is_some() { Field::Name.bit() } else { u8::MAX };
        let all = self.number.map(|number| index.postings.of(number)).unwrap_or_default();
        all.iter().filter(move |posting| posting.fields & needed != 0)
    }

    /// The posting of one document.
    fn posting<'i>(&self, index: &'i Index, document: u32) -> Option<&'i Posting> {
        let all = index.postings.of(self.number?);
        let at = all.binary_search_by_key(&document, |posting| posting.document).ok()?;
        let needed = if self.read_as.is_some() { Field::Name.bit() } else { u8::MAX };
        all.get(at).filter(|posting| posting.fields & needed != 0)
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

/// A document in scope, with its score.
#[derive(Clone, Copy)]
struct Candidate {
    document: u32,
    called: Called,
    score: f32,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        other
            .called
            .cmp(&self.called)
            .then(other.score.total_cmp(&self.score))
            .then(self.document.cmp(&other.document))
    }
}

impl Index {
    /// The documents that serve a request. A request without a word finds nothing: show the
    /// categories instead.
    pub fn find(&self, query: &Query<'_>) -> Answer {
        let terms = self.query_terms(query.text);
        let mut candidates = self.candidates(query, &terms);
        let shown = query.limit.max(1).min(candidates.len());
        if shown < candidates.len() {
            candidates.select_nth_unstable_by(shown, Candidate::order);
            candidates.truncate(shown);
        }
        candidates.sort_unstable_by(Candidate::order);
        let enough = candidates.first().is_some_and(|best| {
            best.called > Called::Not || self.evidence(best, &terms).is_enough()
        });
        let hits =
            candidates.iter().take(query.limit).filter_map(|c| self.hit(c, &terms)).collect();
        if enough {
            Answer { hits, enough, nearest: Vec::new() }
        } else {
            Answer { hits: Vec::new(), enough, nearest: hits }
        }
    }

    fn query_terms(&self, text: &str) -> Vec<Term> {
        let stems = Stems::new();
        let mut terms: Vec<Term> = Vec::new();
        let mut guesses = MISSPELT_WORDS;
        text::terms(head(text), &mut |form, word| {
            let known = terms.len() >= QUERY_TERMS
                || text::is_stop(form, word)
                || terms.iter().any(|term| term.word == word);
            if known {
                return;
            }
            let number = self.term(&stems, form, word);
            // An identifier in one piece is another way to say what its words already said.
            if number.is_none() && form == Form::Joined {
                return;
            }
            if number.is_none() && names::may_be_misspelt(word) && guesses > 0 {
                guesses -= 1;
                let readings = self.readings(word);
                if !readings.is_empty() {
                    terms.extend(readings);
                    return;
                }
            }
            let of_form = match form {
                Form::Word => 1.0,
                Form::Joined => self.weights.joined,
                Form::Character => self.weights.character,
                Form::Pair => self.weights.pair,
            };
            let mut rarity = self.rarity(number.unwrap_or(u32::MAX));
            if text::is_frame(word) {
                rarity = rarity.min(self.weights.frame);
            }
            let weight = of_form * rarity;
            terms.push(Term { word: word.into(), read_as: None, number, form, weight });
        });
        terms
    }

    /// The words of names that a word unknown to the index may have meant.
    fn readings(&self, word: &str) -> Vec<Term> {
        let letters = names::letters(word);
        let mut allowed = names::errors_allowed(word);
        let mut readings: Vec<Term> = Vec::new();
        for name in &self.name_words {
            if (name.letters ^ letters).count_ones() as usize > 2 * allowed {
                continue;
            }
            let Some(errors) = names::errors(word, &name.word, allowed) else { continue };
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
                });
            }
        }
        readings
    }

    /// Every document in scope that holds a term or bears the name, with its score.
    fn candidates(&self, query: &Query<'_>, terms: &[Term]) -> Vec<Candidate> {
        let mut scores = vec![0.0f32; self.documents.len()];
        for term in terms {
            for posting in term.postings(self) {
                if let Some(score) = scores.get_mut(posting.document as usize) {
                    *score += term.weight * posting.weight;
                }
            }
        }
        self.lower(&mut scores, terms);
        let named = self.by_name.get(&text::key(head(query.text))).map_or(&[][..], Vec::as_slice);
        let called = |document: u32| {
            let at = named.binary_search_by_key(&document, |&(number, _)| number).ok();
            at.and_then(|at| named.get(at)).map_or(Called::Not, |&(_, called)| called)
        };
        (0u32..)
            .zip(&scores)
            .map(|(document, &score)| Candidate { document, called: called(document), score })
            .filter(|found| found.score > 0.0 || found.called > Called::Not)
            .filter(|found| {
                self.documents.get(found.document as usize).is_some_and(|meta| {
                    query.kind.is_none_or(|kind| kind == meta.kind) && (query.within)(meta)
                })
            })
            .collect()
    }

    /// Lowers the documents that say they are not for this.
    fn lower(&self, scores: &mut [f32], terms: &[Term]) {
        let mut met = vec![0.0f32; self.against_documents.len()];
        for term in terms {
            for posting in term.number.map(|number| self.against.of(number)).unwrap_or_default() {
                if let Some(share) = met.get_mut(posting.document as usize) {
                    *share += posting.weight;
                }
            }
        }
        for (&document, share) in self.against_documents.iter().zip(met) {
            if share > AGAINST_MET
                && let Some(score) = scores.get_mut(document as usize)
            {
                let over = (share.min(1.0) - AGAINST_MET) / (1.0 - AGAINST_MET);
                *score *= 1.0 - self.weights.not_for * over;
            }
        }
    }

    fn evidence(&self, best: &Candidate, terms: &[Term]) -> Evidence {
        let mut evidence = Evidence {
            documents: self.len(),
            score: best.score,
            word: self.rarity_of(1),
            named: 0.0,
            matched: 0,
        };
        for term in terms {
            let Some(posting) = term.posting(self, best.document) else { continue };
            evidence.matched = evidence.matched.saturating_add(1);
            if posting.fields & Field::Name.bit() != 0 {
                evidence.named += term.weight;
            }
        }
        evidence
    }

    fn hit(&self, candidate: &Candidate, terms: &[Term]) -> Option<Hit> {
        let meta = self.documents.get(candidate.document as usize)?;
        let mut fields = 0;
        let mut held: Vec<(&Term, u8)> = Vec::new();
        for term in terms {
            if let Some(posting) = term.posting(self, candidate.document) {
                fields |= posting.fields;
                held.push((term, posting.fields));
            }
        }
        // A character says nothing that a pair with it does not say.
        let pairs: String = held
            .iter()
            .filter(|(t, _)| t.form == Form::Pair)
            .map(|(t, _)| t.word.as_str())
            .collect();
        held.retain(|(t, _)| t.form != Form::Character || !pairs.contains(&t.word));
        Some(Hit {
            reference: meta.key.clone(),
            kind: meta.kind,
            title: meta.title.clone(),
            score: candidate.score,
            matched: held.iter().map(|(term, _)| term.word.clone()).collect(),
            fields: fields_of(fields),
            why: why(candidate.called, &held),
        })
    }
}

/// The part of a request that is read.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(QUERY_CHARACTERS).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn fields_of(bits: u8) -> Vec<Field> {
    Field::ALL.into_iter().filter(|field| bits & field.bit() != 0).collect()
}

/// The reason in words, one group of terms for each set of fields, heaviest first.
fn why(called: Called, held: &[(&Term, u8)]) -> String {
    let mut parts: Vec<String> = Vec::new();
    if called > Called::Not {
        parts.push("is called that".into());
    }
    let mut by_weight = held.to_vec();
    by_weight.sort_by(|(a, _), (b, _)| b.weight.total_cmp(&a.weight));
    by_weight.truncate(WHY_TERMS);
    while let Some(&(_, bits)) = by_weight.first() {
        let (same, other): (Vec<_>, Vec<_>) =
            by_weight.into_iter().partition(|(_, fields)| *fields == bits);
        by_weight = other;
        let words: Vec<_> = same.iter().map(|(term, _)| term.to_string()).collect();
        let places: Vec<_> = fields_of(bits).into_iter().map(Field::as_str).collect();
        parts.push(format!("{} in {}", words.join(", "), places.join(" and ")));
    }
    parts.join("; ")
}
