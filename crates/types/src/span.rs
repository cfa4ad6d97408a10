//! Places in a text.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The part of `text` that the span covers; empty where it does not fit.
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// A line and a column, both counted from one; the column counts characters.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The character in the line, from 1.
    pub column: u32,
}

/// Where each line of a text begins, so that many offsets can be turned into positions.
///
/// ```
/// use concertina_types::{LineIndex, Position};
/// let text = "ab\ncd";
/// assert_eq!(LineIndex::new(text).position(text, 4), Position { line: 2, column: 2 });
/// ```
#[derive(Debug, Clone)]
pub struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    /// Finds the lines of `text`. Lines end at `\n`.
    pub fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    /// The position of the byte `offset` of `text`, which must be the text given to [`Self::new`].
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = text.get(start..offset.min(text.len())).unwrap_or_default();
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX),
        }
    }
}
