//! Words that people use for one another.
//!
//! `thesaurus.txt` has one group a line, English and Chinese side by side, about everyday matters.

use std::collections::HashMap;

use super::index::Index;
use super::text::{Form, Stems};

/// One group a line.
const THESAURUS: &str = include_str!("thesaurus.txt");

/// A word that stands for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Other {
    /// As the thesaurus writes it.
    pub(super) word: &'static str,
    pub(super) term: u32,
    pub(super) form: Form,
}

/// For each stem the words that mean about the same and that some document holds.
#[derive(Debug, Default)]
pub(super) struct Alike(HashMap<Box<str>, Box<[Other]>>);

impl Alike {
    pub(super) fn new(index: &Index) -> Self {
        let stems = Stems::new();
        let mut alike: HashMap<Box<str>, Vec<Other>> = HashMap::new();
        for line in THESAURUS.lines().filter(|line| !line.starts_with('#')) {
            let held: Vec<Other> = line
                .split_whitespace()
                .filter_map(|word| {
                    let form = if word.is_ascii() { Form::Word } else { Form::Pair };
                    Some(Other { word, term: index.term(&stems, form, word)?, form })
                })
                .collect();
            if held.is_empty() {
                continue;
            }
            for word in line.split_whitespace() {
                let others = alike.entry(stems.stem(word).into()).or_default();
                for other in &held {
                    if others.iter().all(|known| known.term != other.term) {
                        others.push(other.clone());
                    }
                }
            }
        }
        Self(alike.into_iter().map(|(stem, others)| (stem, others.into())).collect())
    }

    /// The words that mean about what `stem` means; it may be one of them.
    pub(super) fn of(&self, stem: &str) -> &[Other] {
        self.0.get(stem).map(AsRef::as_ref).unwrap_or_default()
    }
}

/// What people whose script has no blanks say for the word with the stem `stem`.
pub(super) fn translations(stem: &str) -> Vec<&'static str> {
    let stems = Stems::new();
    let lines = THESAURUS.lines().filter(|line| !line.starts_with('#'));
    let groups = lines.filter(|line| line.split(' ').any(|word| stems.stem(word) == stem));
    groups.flat_map(|line| line.split(' ').filter(|word| !word.is_ascii())).collect()
}
