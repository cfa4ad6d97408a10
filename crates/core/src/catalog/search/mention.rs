//! Whether a sentence speaks of something, by the words of its name.

use std::collections::BTreeSet;

use super::alike::translations;
use super::text::{Form, Stems, terms};

/// A sentence, ready to be asked.
pub(crate) struct Said {
    stems: BTreeSet<String>,
    text: String,
}

/// A name, to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The stem of each word, and how others say it whose script has no blanks.
    words: Vec<(String, Vec<&'static str>)>,
}

impl Said {
    /// Reads `sentence`.
    pub(crate) fn new(sentence: &str) -> Self {
        let found = stems_of(sentence);
        // Whoever lints is a linter.
        let doers = found.iter().filter_map(|stem| stem.strip_suffix("er")).map(str::to_owned);
        let doers: Vec<String> = doers.collect();
        Self { stems: found.into_iter().chain(doers).collect(), text: sentence.to_lowercase() }
    }
}

impl Mention {
    /// The words of `name` but for `without`; none where nothing is left.
    pub(crate) fn of(name: &str, without: &[&str]) -> Option<Self> {
        let mut without_stems = Vec::new();
        for word in without {
            without_stems.extend(stems_of(word));
        }
        let stems = stems_of(name).into_iter().filter(|stem| !without_stems.contains(stem));
        let words: Vec<_> = stems.map(|stem| (stem.clone(), translations(&stem))).collect();
        (!words.is_empty()).then_some(Self { words })
    }

    /// Whether all of it stands in `said`.
    pub(crate) fn is_in(&self, said: &Said) -> bool {
        self.words.iter().all(|(stem, others)| {
            let is_there = if stem.is_ascii() {
                said.stems.contains(stem)
            } else {
                said.text.contains(stem.as_str())
            };
            is_there || others.iter().any(|other| said.text.contains(other))
        })
    }

    /// Whether this says all that `other` says, and more.
    pub(crate) fn is_more_than(&self, other: &Self) -> bool {
        self.words.len() > other.words.len()
            && other.words.iter().all(|word| self.words.contains(word))
    }
}

fn stems_of(text: &str) -> Vec<String> {
    let stems = Stems::new();
    let mut found = Vec::new();
    terms(text, &mut |form, word| {
        if matches!(form, Form::Word | Form::Pair) {
            found.push(stems.stem(word).into_owned());
        }
    });
    found
}
