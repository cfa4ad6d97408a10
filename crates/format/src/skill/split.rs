//! Lists written as text: `Read, Bash(git log:*)`.

/// The parts of `text` between commas that stand outside brackets and quotes, trimmed, without
/// empty ones.
pub(super) fn commas(text: &str) -> Vec<&str> {
    parts(text, |c| c == ',' || c == '\n')
}

/// The parts of `text` between commas or blanks that stand outside brackets and quotes.
pub(super) fn words(text: &str) -> Vec<&str> {
    parts(text, |c| c == ',' || c.is_whitespace())
}

fn parts(text: &str, separates: impl Fn(char) -> bool) -> Vec<&str> {
    let mut out = Vec::new();
    let mut depth = 0_usize;
    let mut quote = None;
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) => {
                if c == open {
                    quote = None;
                }
            }
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            // An apostrophe inside a word is none.
            (None, '"' | '\'')
                if text.get(start..at).is_some_and(|part| part.trim().is_empty()) =>
            {
                quote = Some(c);
            }
            (None, c) if depth == 0 && separates(c) => {
                out.push(text.get(start..at).unwrap_or_default().trim());
                start = at + c.len_utf8();
            }
            (None, _) => {}
        }
    }
    out.push(text.get(start..).unwrap_or_default().trim());
    out.retain(|part| !part.is_empty());
    out
}
