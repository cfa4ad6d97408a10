//! A scalar that YAML does not read, as text: which quotes belong to it and which enclose it.

use super::codes::Code;

/// What a scalar says, and what was wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) text: String,
    pub(super) code: Code,
    /// Where in the scalar.
    pub(super) at: usize,
    pub(super) message: String,
}

/// The text of a scalar without enclosing quotes.
pub(super) fn literal(value: &str) -> String {
    if reads_as_quoted(value) { read(value).text } else { value.to_owned() }
}

fn reads_as_quoted(value: &str) -> bool {
    value.starts_with(['"', '\''])
}

/// Reads a scalar that the YAML parser refused.
pub(super) fn read(value: &str) -> Reading {
    let value = value.trim();
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(value, quote),
        first => plain(value, first),
    }
}

fn plain(value: &str, first: Option<char>) -> Reading {
    let text = value.to_owned();
    let reading = |code, at, message: String| Reading { text: text.clone(), code, at, message };
    match first {
        Some('[' | '{') => {
            let close = if value.starts_with('[') { ']' } else { '}' };
            return if value.contains(close) {
                reading(
                    Code::TextAfterBracket,
                    0,
                    "text follows a bracket; all of it was taken as text".to_owned(),
                )
            } else {
                reading(
                    Code::UnclosedBracket,
                    0,
                    "a bracket is not closed; it was taken as text".to_owned(),
                )
            };
        }
        Some(
            c @ ('*' | '&' | '!' | '@' | '`' | '%' | ',' | ']' | '}' | '#' | '|' | '>' | '?' | '-'),
        ) => {
            let message = format!("`{c}` cannot begin a plain value");
            return reading(Code::ReservedStart, 0, message);
        }
        _ => {}
    }
    let colon = value.find(": ").or_else(|| value.ends_with(':').then(|| value.len() - 1));
    match colon {
        Some(at) => reading(Code::UnquotedColon, at, "an unquoted colon".to_owned()),
        None => {
            reading(Code::Yaml, 0, "the value is not valid YAML; it was taken as text".to_owned())
        }
    }
}

fn quoted(value: &str, quote: char) -> Reading {
    let inner = value.get(1..).unwrap_or_default();
    let marks = marks(inner, quote);
    let reading = |text: String, code, at, message: &str| Reading {
        text,
        code,
        at,
        message: message.to_owned(),
    };
    let Some(&last) = marks.last() else {
        // No other quote: it was never closed.
        let text = unescaped(inner.trim_end(), quote);
        return reading(text, Code::UnterminatedQuote, 0, "a quote is not closed");
    };
    let after = inner.get(last + 1..).unwrap_or_default().trim();
    let closed = after.is_empty() || after.starts_with('#');
    let first = marks.first().copied().unwrap_or(last);
    if closed {
        let mut content = inner.get(..last).unwrap_or_default();
        // The quote mark before the last one opens or closes something inside.
        let inside = marks.get(..marks.len() - 1).unwrap_or_default();
        if inside.is_empty() {
            let text = unescaped(content, quote);
            return reading(
                text,
                Code::BadEscape,
                bad_escape(content) + 1,
                "a backslash is no escape that YAML knows",
            );
        }
        // `"a" and "b"` has its marks in pairs, and the first closes: none of them encloses all.
        let paired = inside.len().is_multiple_of(2);
        if paired && closes(inner, first, quote) {
            return reading(
                value.to_owned(),
                Code::TextAfterQuote,
                first + 1,
                "text follows a closed quote",
            );
        }
        // One mark too many at the end encloses nothing.
        if !paired && inside.last().is_some_and(|&at| at + 1 == last) && quote == '"' {
            content = inner.get(..last - 1).unwrap_or_default();
        }
        return reading(
            unescaped(content, quote),
            Code::InnerQuote,
            first + 1,
            "a quote inside a quoted value is not escaped",
        );
    }
    if closes(inner, first, quote) {
        return reading(
            value.to_owned(),
            Code::TextAfterQuote,
            first + 1,
            "text follows a closed quote",
        );
    }
    if quote == '\'' && marks.iter().all(|&at| is_apostrophe(inner, at)) {
        return reading(
            unescaped(inner, quote),
            Code::UnterminatedQuote,
            0,
            "a quote is not closed",
        );
    }
    if marks.len().is_multiple_of(2) {
        return reading(
            unescaped(inner, quote),
            Code::UnterminatedQuote,
            0,
            "a quote is not closed",
        );
    }
    reading(value.to_owned(), Code::TextAfterQuote, first + 1, "text follows a closed quote")
}

/// The quote marks of `inner` that are not escaped.
fn marks(inner: &str, quote: char) -> Vec<usize> {
    let bytes = inner.as_bytes();
    inner
        .match_indices(quote)
        .map(|(at, _)| at)
        .filter(|&at| {
            let slashes = bytes
                .get(..at)
                .unwrap_or_default()
                .iter()
                .rev()
                .take_while(|&&b| b == b'\\')
                .count();
            // A path that ends with a backslash still closes its quote at the end of the value.
            quote == '\'' || slashes % 2 == 0 || at + 1 == inner.len()
        })
        .collect()
}

/// Whether the mark at `at` closes a quote: a letter or a stop before it, a blank or the end after.
fn closes(inner: &str, at: usize, quote: char) -> bool {
    let before = inner.get(..at).and_then(|text| text.chars().next_back());
    let after = inner.get(at + 1..).and_then(|text| text.chars().next());
    let ends = before
        .is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '[' | '{' | '=' | ':' | '/'));
    let free = after.is_none_or(|c| !c.is_alphanumeric() && c != quote);
    ends && free && !is_apostrophe(inner, at)
}

fn is_apostrophe(inner: &str, at: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    inner.as_bytes().get(at) == Some(&b'\'')
        && letter(inner.get(..at).and_then(|text| text.chars().next_back()))
        && letter(inner.get(at + 1..).and_then(|text| text.chars().next()))
}

/// Where the first backslash that begins no escape of YAML is.
fn bad_escape(inner: &str) -> usize {
    let bytes = inner.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' {
            if bytes.get(at + 1).is_none_or(|next| !b"0abtnvfre \"/\\N_LP".contains(next)) {
                return at;
            }
            at += 1;
        }
        at += 1;
    }
    0
}

/// Undoes the escapes that are certain: escaped quotes and doubled backslashes in double quotes,
/// doubled quotes in single ones. Other backslashes stay, since one bad escape shows that the
/// writer did not mean escapes.
fn unescaped(inner: &str, quote: char) -> String {
    let inner = inner.trim();
    if quote == '\'' {
        return inner.replace("''", "'");
    }
    let broken = inner.contains('\\') && bad_escape_exists(inner);
    let text = inner.replace("\\\"", "\"");
    if broken { text } else { text.replace("\\\\", "\\").replace("\\n", "\n").replace("\\t", "\t") }
}

fn bad_escape_exists(inner: &str) -> bool {
    let at = bad_escape(inner);
    inner.as_bytes().get(at) == Some(&b'\\')
        && inner.as_bytes().get(at + 1).is_none_or(|next| !b"0abtnvfre \"/\\N_LP".contains(next))
}
