//! The split of a text into the pieces that are merged on their own.
//!
//! `o200k_base` defines the pieces by a regular expression for a backtracking engine. In the words
//! of [`crate::layout::class`], with a *contraction* being `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or
//! `'d` in either case, a piece is the first of these that matches:
//!
//! 1. a word that has lower case: any character but a letter, number or line end, or none;
//!    UPPER, CASELESS and MARK, any number; LOWER, CASELESS and MARK, one or more; a contraction
//! 2. a word in upper case: the same, but one or more of the former and any number of the latter
//! 3. one to three NUMBER
//! 4. a space or none; OTHER and MARK, one or more; line ends and slashes
//! 5. white space up to and with its last line end
//! 6. white space without its last character, unless the text ends there
//! 7. white space
//!
//! The matcher below finds the same pieces without backtracking, in one pass over each piece and
//! at most one over what follows it.

use crate::layout::BLOCKS;
use crate::layout::class::{BLANK, CASELESS, LINE_END, LOWER, MARK, NUMBER, OTHER, UPPER};

const TABLE: &[u8] = include_bytes!("../data/classes.bin");
static BLOCK_OF: &[u8] = TABLE.split_at(BLOCKS).0;
static CLASSES: &[[u8; 256]] = TABLE.split_at(BLOCKS).1.as_chunks().0;

/// The class of a character.
fn class(character: char) -> u8 {
    let code = character as usize;
    let block = BLOCK_OF.get(code >> 8).and_then(|block| CLASSES.get(usize::from(*block)));
    block.and_then(|block| block.get(code & 0xFF)).copied().unwrap_or(OTHER)
}

/// The pieces of a text, in order; together they are the text.
#[derive(Debug, Clone)]
pub(crate) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// What has not been split yet.
    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let length = first_piece(self.rest, first);
        let (piece, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(piece)
    }
}

/// The length in bytes of the first piece of `text`, which begins with `first`.
fn first_piece(text: &str, first: char) -> usize {
    let class = class(first);
    if class & (UPPER | LOWER | CASELESS | MARK) != 0 {
        // A mark may stand before the letters or be the first of them: the end is the same.
        return word(text, 0).unwrap_or(first.len_utf8());
    }
    if class == NUMBER {
        return text.chars().take(3).take_while(is(NUMBER)).map(char::len_utf8).sum();
    }
    if class & (OTHER | BLANK) != 0
        && let Some(length) = word(text, first.len_utf8())
    {
        return length;
    }
    let symbols_start = usize::from(first == ' ');
    let symbols = run(text, symbols_start, OTHER | MARK);
    if symbols > symbols_start {
        let tail = text.bytes().skip(symbols);
        return symbols + tail.take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/')).count();
    }
    white_space(text)
}

fn is(set: u8) -> impl Fn(&char) -> bool {
    move |character| class(*character) & set != 0
}

/// Where the characters of the classes `set` that begin at `start` end.
fn run(text: &str, start: usize, set: u8) -> usize {
    let tail = text.get(start..).unwrap_or_default();
    start + tail.chars().take_while(is(set)).map(char::len_utf8).sum::<usize>()
}

/// Where the word whose letters begin at `start` ends, with its contraction.
fn word(text: &str, start: usize) -> Option<usize> {
    // Letters that may be upper case are taken first. If no lower case follows, a caseless letter
    // must take its place: the word ends after the last of them, where there is one.
    let mut upper_end = start;
    let mut caseless_end = None;
    let mut next_is_lower = false;
    for character in text.get(start..)?.chars() {
        let class = class(character);
        if class & (UPPER | CASELESS | MARK) == 0 {
            next_is_lower = class == LOWER;
            break;
        }
        upper_end += character.len_utf8();
        if class != UPPER {
            caseless_end = Some(upper_end);
        }
    }
    let end = if next_is_lower {
        run(text, upper_end, LOWER | CASELESS | MARK)
    } else {
        caseless_end.unwrap_or(upper_end)
    };
    (end > start).then(|| end + contraction(text.as_bytes().get(end..).unwrap_or_default()))
}

/// The length of the contraction that `bytes` begin with.
fn contraction(bytes: &[u8]) -> usize {
    let Some((b'\'', letters)) = bytes.split_first() else { return 0 };
    match letters {
        [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
        // U+017F, the long s, is an s in another case, of two bytes.
        [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..]
        | [b'l' | b'L', b'l' | b'L', ..]
        | [0xC5, 0xBF, ..] => 3,
        _ => 0,
    }
}

/// The length of the first piece of a text that begins with white space and not with a word.
fn white_space(text: &str) -> usize {
    let mut end = 0;
    let mut last_start = 0;
    let mut lines_end = 0;
    for character in text.chars().take_while(is(BLANK | LINE_END)) {
        last_start = end;
        end += character.len_utf8();
        if matches!(character, '\r' | '\n') {
            lines_end = end;
        }
    }
    if lines_end > 0 {
        lines_end
    } else if end < text.len() && last_start > 0 {
        last_start
    } else {
        end
    }
}
