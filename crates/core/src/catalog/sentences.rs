//! Cutting a description where a reader would.

/// Words that open or mark a clause about what something is *not* for. Losing such a clause sends
/// the model to the wrong skill, so it is the last part of a description to go.
const NEGATIVE: &[&str] = &[
    "not for",
    "not to be used",
    "do not use",
    "don't use",
    "don’t use",
    "never use",
    "should not be used",
    "not intended for",
    "not suitable for",
    "unless",
    "except for",
    "avoid using",
    "instead use",
    "不适用",
    "不要用",
    "不用于",
    "不能用于",
    "请勿",
    "不适合",
    "不处理",
    "不负责",
    "勿用",
];

/// The sentences of `text`, each with its closing mark.
///
/// A full stop ends a sentence only before a blank or the end, so `v1.2` and `e.g.` in the middle
/// of a word stay whole; Chinese and Japanese marks always do.
///
/// ```
/// use concertina_core::catalog::sentences;
/// let found: Vec<_> = sentences("Reads v1.2 logs. Not for metrics! 读取日志。不适用于指标。").collect();
/// assert_eq!(found, ["Reads v1.2 logs.", "Not for metrics!", "读取日志。", "不适用于指标。"]);
/// ```
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = sentence_end(rest);
        let (sentence, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = tail.trim_start();
        Some(sentence.trim_end())
    })
}

/// What closes around a sentence and belongs to it.
const CLOSING: [char; 12] = ['"', '\'', ')', ']', '}', '”', '’', '」', '』', '）', '】', '»'];

fn sentence_end(text: &str) -> usize {
    let mut word_start = 0;
    for (at, c) in text.char_indices() {
        let after = at + c.len_utf8();
        let rest = text.get(after..).unwrap_or_default();
        let closed = rest.trim_start_matches(CLOSING);
        let before_blank = closed.chars().next().is_none_or(char::is_whitespace);
        let ends = match c {
            '。' | '！' | '？' | '；' => true,
            '!' | '?' => before_blank,
            '.' => before_blank && !is_abbreviation(text.get(word_start..at).unwrap_or_default()),
            // An empty line, or the next point of a list.
            '\n' => {
                let next = rest.trim_start_matches([' ', '\t']);
                next.starts_with('\n')
                    || ["- ", "* ", "• "].iter().any(|mark| next.starts_with(mark))
            }
            _ => false,
        };
        if ends {
            return text.len() - closed.len();
        }
        if c.is_whitespace() {
            word_start = after;
        }
    }
    text.len()
}

fn is_abbreviation(word: &str) -> bool {
    let word = word.trim_start_matches(['(', '"', '\'']).to_lowercase();
    matches!(word.as_str(), "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "incl" | "no" | "dr" | "mr" | "ms")
        // Initials, such as the J of `J. Smith`.
        || (word.chars().count() == 1 && word.chars().all(char::is_alphabetic))
}

/// Where `sentence` begins to say what something is not for.
fn negative_mark(sentence: &str) -> Option<usize> {
    // Only ASCII letters change, so places stay the same.
    let lower = sentence.to_ascii_lowercase();
    let inside_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let whole = |at: usize, mark: &str| {
        let before = lower.get(..at).and_then(|before| before.chars().next_back());
        let after = lower.get(at + mark.len()..).and_then(|after| after.chars().next());
        !mark.is_ascii() || !(inside_word(before) || inside_word(after))
    };
    NEGATIVE
        .iter()
        .filter_map(|mark| lower.match_indices(mark).find(|(at, _)| whole(*at, mark)))
        .map(|(at, _)| at)
        .min()
}

/// Whether `sentence` says what something is not for.
pub(crate) fn is_negative(sentence: &str) -> bool {
    negative_mark(sentence).is_some()
}

/// Cuts `sentence` before the clause that says what something is not for, where there is one and
/// something before it.
pub(crate) fn negative_clause(sentence: &str) -> Option<(&str, &str)> {
    let mark = negative_mark(sentence)?;
    let before = sentence.get(..mark)?;
    // The clause begins after a mark such as a comma where one is near, else at its own words.
    let start = before
        .rfind([',', ';', ':', '(', '，', '：', '、', '（', '—', '–'])
        .filter(|at| mark - at <= 40)
        .and_then(|at| before.get(at..)?.chars().next().map(|c| at + c.len_utf8()))
        .unwrap_or(mark);
    let (head, clause) = sentence.split_at_checked(start)?;
    (!head.trim().is_empty()).then_some((head.trim(), clause.trim()))
}

/// The part of a description that routing cannot do without: its first sentence and every
/// sentence that says what it is not for.
///
/// ```
/// use concertina_core::catalog::essence;
/// let text = "Draws charts. Supports SVG and PNG. Not for maps.";
/// assert_eq!(essence(text), "Draws charts. Not for maps.");
/// ```
pub fn essence(text: &str) -> String {
    sentences(text)
        .enumerate()
        .filter(|(i, sentence)| *i == 0 || is_negative(sentence))
        .map(|(_, sentence)| sentence)
        .collect::<Vec<_>>()
        .join(" ")
}
