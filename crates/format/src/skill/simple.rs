//! The short way for plain frontmatter: lines of `key: value` and nothing else.
//!
//! Most skills are that, and an index reads thousands of them at once. The result is exactly what
//! [`crate::yaml`] gives, or nothing; a property test compares the two.

use concertina_types::Span;

use crate::yaml::{Entry, Kind, Node};

/// Reads `source` where each line is blank or one key with one simple value.
pub(super) fn parse(source: &str, base: usize) -> Option<Node> {
    let mut entries = Vec::new();
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let at = base + start;
        start += line.len();
        let line = line.trim_end_matches([' ', '\n']);
        if !line.is_empty() {
            entries.push(entry(line, at)?);
        }
    }
    let first = entries.first()?.at;
    // A block mapping ends where the text does.
    Some(Node { span: Span::new(first, base + source.len()), kind: Kind::Map(entries) })
}

fn entry(line: &str, at: usize) -> Option<Entry> {
    let (key, value) = line.split_once(": ")?;
    let first = *key.as_bytes().first()?;
    let in_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !first.is_ascii_alphabetic() || !key.bytes().all(in_key) {
        return None;
    }
    let blanks = value.len() - value.trim_start_matches(' ').len();
    let start = at + key.len() + 2 + blanks;
    let value = value.trim_start_matches(' ');
    let span = Span::new(start, start + value.len());
    let value = match value.as_bytes().first()? {
        b'"' => {
            let inner = value.strip_prefix('"')?.strip_suffix('"')?;
            safe(inner, |byte| byte != b'"' && byte != b'\\').then(|| Node::text(inner, span))?
        }
        b'\'' => {
            let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
            safe(inner, |byte| byte != b'\'').then(|| Node::text(inner, span))?
        }
        first if first.is_ascii_alphanumeric() || !first.is_ascii() => {
            let plain = safe(value, |_| true)
                && !value.ends_with(':')
                && !value.contains(": ")
                && !value.contains(" #");
            plain.then(|| Node::plain(value, span))?
        }
        _ => return None,
    };
    Some(Entry { key: key.to_owned(), at, value })
}

/// Printable text without the characters that YAML treats as line ends or blanks.
fn safe(text: &str, also: impl Fn(u8) -> bool) -> bool {
    if text.is_ascii() {
        return text.bytes().all(|byte| matches!(byte, b' '..=b'~') && also(byte));
    }
    let odd = |c: char| {
        matches!(
            c,
            '\u{7f}'..='\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    !text.chars().any(|c| c < ' ' || odd(c)) && text.bytes().all(also)
}
