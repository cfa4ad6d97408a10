//! Large things are shown in parts, and the part says what it is a part of.

use concertina_types::{LineRange, Tokens, limits};
use serde::Serialize;

/// How a skill of a given size is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeClass {
    /// Below 1,000 tokens: may stand in the index itself.
    Small,
    /// Opened as a whole when it is needed.
    Medium,
    /// Above 10,000 tokens, or above a twentieth of the window: opened by section or page.
    Large,
}

impl SizeClass {
    /// The class of a skill whose body takes `tokens`, in a window of `window` tokens.
    pub fn of(tokens: Tokens, window: u64) -> Self {
        if tokens.0 < limits::SMALL_SKILL_TOKENS {
            Self::Small
        } else if tokens.0 > limits::LARGE_SKILL_TOKENS || tokens.0 > window / 20 {
            Self::Large
        } else {
            Self::Medium
        }
    }

    /// What the class means, in words.
    pub fn method(self) -> &'static str {
        match self {
            Self::Small => "opened whole; may be inlined in the index",
            Self::Medium => "opened whole, on demand",
            Self::Large => "opened by section or by page",
        }
    }
}

/// A part of a longer text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// Whole lines.
    pub text: &'a str,
    /// Which lines they are.
    pub lines: LineRange,
    /// How many lines there are in all.
    pub total: u64,
}

impl Excerpt<'_> {
    /// The lines after this part, where there are any.
    pub fn next(&self) -> Option<LineRange> {
        let first = self.lines.last + 1;
        (first <= self.total).then_some(LineRange { first, last: self.total })
    }

    /// Whether this is all there is.
    pub fn is_whole(&self) -> bool {
        self.lines.first <= 1 && self.next().is_none()
    }
}

/// The lines of `text` with their ends. A line longer than [`limits::LINE_BYTES`] counts as
/// several, so that every part of a text can be addressed and none is too large to show.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let mut ends = (0..=limits::LINE_BYTES.min(rest.len())).rev();
            let (piece, tail) = ends.find_map(|end| rest.split_at_checked(end))?;
            rest = tail;
            (!piece.is_empty()).then_some(piece)
        })
    })
}

/// The part of `text` that starts at line `wanted.first`, ends by `wanted.last` and takes at most
/// `max_bytes`, but at least one line. Page by page, the parts are the text, byte for byte.
pub fn excerpt(text: &str, wanted: Option<LineRange>, max_bytes: usize) -> Excerpt<'_> {
    let (from, to) = wanted.map_or((1, u64::MAX), |range| (range.first.max(1), range.last));
    let (mut start, mut end, mut number, mut last) = (0, 0, 0, from - 1);
    for line in lines(text) {
        number += 1;
        if number < from {
            start += line.len();
            end = start;
            continue;
        }
        let next = last + 1 == number && number <= to;
        if next && (number == from || end - start + line.len() <= max_bytes) {
            end += line.len();
            last = number;
        }
    }
    Excerpt {
        text: text.get(start..end).unwrap_or_default(),
        lines: LineRange { first: from, last },
        total: number,
    }
}

/// As [`excerpt`], for a part that is wrapped: the longest one that `render` turns into at most
/// `max_bytes`, but at least one line.
pub fn excerpt_within(
    text: &str,
    wanted: Option<LineRange>,
    max_bytes: usize,
    render: impl Fn(&Excerpt<'_>) -> String,
) -> String {
    let mut room = max_bytes;
    loop {
        let page = excerpt(text, wanted, room);
        let rendered = render(&page);
        let over = rendered.len().saturating_sub(max_bytes);
        if over == 0 || page.lines.last <= page.lines.first {
            return rendered;
        }
        room = page.text.len().saturating_sub(over);
    }
}
