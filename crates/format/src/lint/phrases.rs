//! Phrases in a text, whatever their case and punctuation.

use std::collections::BTreeMap;

/// A set of phrases. A phrase is a list of words with a blank between them; `a|b` is either word,
/// `…` up to three words of any kind. A phrase with letters beyond ASCII is looked for as it stands, because
/// Chinese puts no blanks between words.
#[derive(Debug)]
pub(super) struct Phrases {
    by_first_word: BTreeMap<&'static str, Vec<Vec<Slot>>>,
    verbatim: Vec<&'static str>,
}

#[derive(Debug)]
enum Slot {
    OneOf(Vec<&'static str>),
    Gap,
}

/// Words that `…` may pass over.
const GAP: usize = 3;

impl Phrases {
    pub(super) fn of(phrases: &[&'static str]) -> Self {
        let mut out = Self { by_first_word: BTreeMap::new(), verbatim: Vec::new() };
        for phrase in phrases {
            if phrase.chars().any(|c| !c.is_ascii() && c != '…') {
                out.verbatim.push(phrase);
                continue;
            }
            let (first, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
            for word in first.split('|') {
                let slots = rest.split_whitespace().map(|slot| match slot {
                    "…" => Slot::Gap,
                    words => Slot::OneOf(words.split('|').collect()),
                });
                out.by_first_word.entry(word).or_default().push(slots.collect());
            }
        }
        out
    }

    /// Where the first phrase stands in `text`: its first byte, and the words themselves.
    pub(super) fn find<'t>(&self, text: &'t str) -> Option<(usize, &'t str)> {
        let verbatim = self.verbatim.iter().filter_map(|phrase| {
            text.find(phrase).map(|at| (at, text.get(at..at + phrase.len()).unwrap_or_default()))
        });
        let words = words(text);
        let spaced = words.iter().enumerate().find_map(|(at, first)| {
            let slots = self.by_first_word.get(first.folded.as_str())?;
            let rest = words.get(at + 1..).unwrap_or_default();
            let length = slots.iter().find_map(|slots| matched(slots, rest))?;
            let end = words.get(at + length).map_or(text.len(), |word| word.end);
            Some((first.start, text.get(first.start..end).unwrap_or_default()))
        });
        verbatim.chain(spaced).min_by_key(|(at, _)| *at)
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.find(text).is_some()
    }
}

/// How many words of `words` the slots take, where they match.
fn matched(slots: &[Slot], words: &[Word]) -> Option<usize> {
    let Some((slot, later)) = slots.split_first() else { return Some(0) };
    match slot {
        Slot::OneOf(options) => {
            let (word, rest) = words.split_first()?;
            options.contains(&word.folded.as_str()).then_some(())?;
            matched(later, rest).map(|length| length + 1)
        }
        Slot::Gap => (0..=GAP.min(words.len())).find_map(|skipped| {
            let (passed, rest) = words.split_at_checked(skipped)?;
            // A gap ends with its sentence.
            passed.iter().all(|word| word.folded != ".").then_some(())?;
            matched(later, rest).map(|length| length + skipped)
        }),
    }
}

/// A word in lower case and its place; `.` stands for the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) folded: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The words of `text`. Ideographs are words of one letter.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    let mut open = false;
    for (start, c) in text.char_indices() {
        let end = start + c.len_utf8();
        if is_ideograph(c) {
            out.push(Word { folded: c.into(), start, end });
            open = false;
        } else if c.is_alphanumeric() || (open && matches!(c, '\'' | '’')) {
            if !open {
                out.push(Word { folded: String::new(), start, end });
                open = true;
            }
            if let Some(word) = out.last_mut() {
                let c = if c == '’' { '\'' } else { c };
                word.folded.extend(c.to_lowercase());
                word.end = end;
            }
        } else {
            open = false;
            let next = text.get(end..).and_then(|rest| rest.chars().next());
            let ends = matches!(c, '.' | '!' | '?' | ';') && next.is_none_or(char::is_whitespace);
            if ends || matches!(c, '。' | '！' | '？' | '；') {
                out.push(Word { folded: ".".into(), start, end });
            }
        }
    }
    out
}

/// A letter of a script that puts no blanks between words: Han, kana, Hangul is not one.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}
