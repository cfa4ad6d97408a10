//! A text as the numbers that BERT and its relatives read.
//!
//! The algorithm is that of `tokenization.py` in google-research/bert: control characters go, Chinese
//! characters and punctuation stand alone, and every word is cut into the longest pieces that the
//! vocabulary has, from left to right. Pieces that go on with a word begin with `##`.

use std::collections::HashMap;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

/// Words longer than this, in characters, are not cut: the time is quadratic. The figure is the one of
/// Hugging Face's `transformers`.
const WORD: usize = 100;

/// The punctuation of Unicode, what ASCII has besides, and the blocks of Chinese characters.
const ALONE: &str = r"\p{P}$+<=>^`|~\u{3400}-\u{4DBF}\u{4E00}-\u{9FFF}\u{F900}-\u{FAFF}\u{20000}-\u{2A6DF}\u{2A700}-\u{2CEAF}\u{2F800}-\u{2FA1F}";

/// A vocabulary, and how texts are cut by it.
#[derive(Debug)]
pub(super) struct WordPiece {
    pieces: HashMap<String, i32>,
    unknown: i32,
    begin: i32,
    end: i32,
    lowercase: bool,
    control: Regex,
    accents: Regex,
    words: Regex,
}

impl WordPiece {
    /// The vocabulary in `text`: a piece on each line, whose number is the line's, from 0.
    pub(super) fn new(text: &str, lowercase: bool) -> Result<Self, String> {
        let pieces: HashMap<String, i32> = text
            .lines()
            .zip(0..)
            .map(|(piece, number)| (piece.trim_end().to_owned(), number))
            .collect();
        let special = |name: &str| {
            pieces.get(name).copied().ok_or_else(|| format!("the vocabulary has no {name}"))
        };
        let (unknown, begin, end) = (special("[UNK]")?, special("[CLS]")?, special("[SEP]")?);
        let regex = |pattern: &str| Regex::new(pattern).map_err(|why| why.to_string());
        Ok(Self {
            unknown,
            begin,
            end,
            lowercase,
            control: regex(r"[\p{C}\u{FFFD}&&[^\t\n\r]]")?,
            accents: regex(r"\p{Mn}")?,
            words: regex(&format!(r"[{ALONE}]|[^\s{ALONE}]+"))?,
            pieces,
        })
    }

    /// The numbers of `text`, at most `limit`, with those for its begin and its end.
    pub(super) fn encode(&self, text: &str, limit: usize) -> Vec<i32> {
        let mut text = self.control.replace_all(text, "").into_owned();
        if self.lowercase {
            let decomposed: String = text.nfd().collect();
            text = self.accents.replace_all(&decomposed, "").to_lowercase();
        }
        let mut numbers = vec![self.begin];
        for word in self.words.find_iter(&text) {
            if numbers.len() >= limit {
                break;
            }
            self.cut(word.as_str(), &mut numbers);
        }
        numbers.truncate(limit.saturating_sub(1));
        numbers.push(self.end);
        numbers
    }

    fn cut(&self, word: &str, numbers: &mut Vec<i32>) {
        let ends: Vec<usize> = word.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        if ends.len() > WORD {
            return numbers.push(self.unknown);
        }
        let before = numbers.len();
        let mut start = 0;
        while start < word.len() {
            let longest = ends.iter().rev().take_while(|end| **end > start).find_map(|end| {
                let piece = word.get(start..*end)?;
                let number = if start == 0 {
                    self.pieces.get(piece)
                } else {
                    self.pieces.get(&format!("##{piece}"))
                };
                number.map(|number| (*number, *end))
            });
            let Some((number, end)) = longest else {
                // A word with a part that has no piece is unknown as a whole.
                numbers.truncate(before);
                return numbers.push(self.unknown);
            };
            numbers.push(number);
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n##a\nrefund\n,\n退\n款\n##退\n$\ncafe\nCafe\n";

    fn cut(text: &str, lowercase: bool) -> Vec<i32> {
        WordPiece::new(VOCABULARY, lowercase).unwrap().encode(text, 256)
    }

    #[test]
    fn texts_become_the_numbers_of_their_pieces() {
        for (text, numbers) in [
            ("", vec![2, 3]),
            ("unaffable", vec![2, 4, 5, 6, 3]),
            ("Refund, REFUND", vec![2, 8, 9, 8, 3]),
            ("refund退款", vec![2, 8, 10, 11, 3]),
            ("Café", vec![2, 14, 3]),
            ("$ refund\u{0}\u{200b}", vec![2, 13, 8, 3]),
            ("unaffx refund", vec![2, 1, 8, 3]),
            (&"a".repeat(101), vec![2, 1, 3]),
        ] {
            assert_eq!(cut(text, true), numbers, "{text:?}");
        }
        assert_eq!(cut("Cafe Café", false), [2, 15, 1, 3]);
    }

    #[test]
    fn a_text_is_cut_to_its_limit() {
        let pieces = WordPiece::new(VOCABULARY, true).unwrap();
        assert_eq!(pieces.encode("unaffable refund refund", 4), [2, 4, 5, 3]);
        assert_eq!(pieces.encode(&"refund ".repeat(1_000), 256).len(), 256);
    }

    #[test]
    fn a_vocabulary_without_its_signs_is_none() {
        assert_eq!(
            WordPiece::new("[UNK]\n[CLS]\n", true).unwrap_err(),
            "the vocabulary has no [SEP]"
        );
    }
}
