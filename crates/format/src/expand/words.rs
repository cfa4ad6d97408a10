//! Arguments as a shell would split them.

/// Splits `text` at blanks. `'…'` keeps everything, `"…"` keeps everything but `\"`, `\\` and
/// `\$`, a backslash outside quotes keeps the next character. Nothing is expanded. A quote without
/// a partner is a letter like any other: `it's late` is two words.
///
/// ```
/// use concertina_format::expand::split_words;
/// assert_eq!(split_words(r#"a "b c" 'd "e"' f\ g """#), ["a", "b c", "d \"e\"", "f g", ""]);
/// assert_eq!(split_words("it's late"), ["it's", "late"]);
/// ```
pub fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            blank if blank.is_whitespace() => words.extend(word.take()),
            quote @ ('\'' | '"') => match quoted(rest.as_str(), quote) {
                Some((inside, after)) => {
                    word.get_or_insert_default().push_str(&inside);
                    rest = after.chars();
                }
                None => word.get_or_insert_default().push(quote),
            },
            '\\' => word.get_or_insert_default().push(rest.next().unwrap_or('\\')),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

/// What stands before the closing `quote`, and what follows it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut inside = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == quote {
            return Some((inside, rest.as_str()));
        }
        let escaped = (c == '\\' && quote == '"')
            .then(|| rest.as_str().chars().next())
            .flatten()
            .filter(|next| matches!(next, '"' | '\\' | '$'));
        if escaped.is_some() {
            rest.next();
        }
        inside.push(escaped.unwrap_or(c));
    }
    None
}

/// `word` so that [`split_words`] gives it back as one word.
pub(super) fn quote_word(word: &str) -> String {
    let plain = !word.is_empty()
        && !word.chars().any(|c| c.is_whitespace() || matches!(c, '\'' | '"' | '\\'));
    if plain {
        word.to_owned()
    } else {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
