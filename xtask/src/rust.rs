//! Just enough of Rust's grammar to see which paths a file mentions and which tests it holds.
//!
//! Comments, strings and character literals are left out, so a rule cannot be broken by prose.

/// A piece of source, with its line counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) line: usize,
    pub(crate) kind: Kind<'a>,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// An identifier, a keyword or a number.
    Word(&'a str),
    /// `::`
    Separator,
    /// Any other character.
    Mark(char),
}

/// A path such as `std::fs::read`, also where it is written as a group or continues with `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention<'a> {
    pub(crate) line: usize,
    pub(crate) path: Vec<&'a str>,
}

/// A function marked as a test that runs by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test<'a> {
    pub(crate) line: usize,
    pub(crate) name: &'a str,
}

/// Splits source into tokens.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut rest = source;
    let mut line = 1;
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (length, kind) = lex(rest, first);
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if let Some(kind) = kind {
            let kind = match kind {
                Kind::Word(_) => Kind::Word(text.strip_prefix("r#").unwrap_or(text)),
                other => other,
            };
            tokens.push(Token { line, kind });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

/// The length in bytes of what `rest` starts with, and its kind unless it is to be left out.
fn lex(rest: &str, first: char) -> (usize, Option<Kind<'_>>) {
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), None)
    } else if rest.starts_with("/*") {
        (block_comment(rest), None)
    } else if let Some(length) = string(rest) {
        (length, None)
    } else if first == '\'' {
        (quote(rest), None)
    } else if rest.starts_with("::") {
        (2, Some(Kind::Separator))
    } else if is_word(first) {
        let raw = if rest.starts_with("r#") { 2 } else { 0 };
        let word = rest.get(raw..).unwrap_or_default();
        (raw + word.find(|c| !is_word(c)).unwrap_or(word.len()), Some(Kind::Word("")))
    } else {
        (first.len_utf8(), (!first.is_whitespace()).then_some(Kind::Mark(first)))
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of the string literal that `rest` starts with: plain, byte, C, raw.
fn string(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        rest.strip_prefix(prefix)
            .is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let body = rest.strip_prefix(prefix)?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let raw = prefix.ends_with('r');
    if hashes > 0 && !raw {
        return None;
    }
    let start = prefix.len() + hashes + 1;
    let content = rest.get(start..)?;
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(content.find(&end).map_or(rest.len(), |at| start + at + end.len()));
    }
    let mut escaped = false;
    for (at, c) in content.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(start + at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// The length of a character literal; of the quote alone when it starts a lifetime.
fn quote(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // Whatever is escaped comes first, so that `'\''` does not end too early.
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(rest.len(), |(at, _)| at + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// Every path that a file mentions, from its root on.
pub(crate) fn mentions<'a>(tokens: &[Token<'a>]) -> Vec<Mention<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        at = if starts_path(tokens, at) { path(tokens, at, &[], &mut found) } else { at + 1 };
    }
    found
}

fn kind<'a>(tokens: &[Token<'a>], at: usize) -> Option<Kind<'a>> {
    tokens.get(at).map(|token| token.kind)
}

/// Keywords after which `::` starts a path of its own, as in `use ::std::fs`.
const KEYWORDS: &[&str] = &[
    "as", "break", "dyn", "else", "for", "if", "impl", "in", "match", "mut", "ref", "return",
    "use", "where", "while",
];

fn starts_path(tokens: &[Token<'_>], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|at| kind(tokens, at));
    let name = |kind| matches!(kind, Some(Kind::Word(word)) if !KEYWORDS.contains(&word));
    name(kind(tokens, at))
        && match before(1) {
            Some(Kind::Mark('.')) => false,
            Some(Kind::Separator) => !name(before(2)) && before(2) != Some(Kind::Mark('>')),
            _ => true,
        }
}

/// Reads one path at `at`, below `prefix`; returns where it ends.
fn path<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &[&'a str],
    found: &mut Vec<Mention<'a>>,
) -> usize {
    let mut path = prefix.to_vec();
    let line = tokens.get(at).map_or(0, |token| token.line);
    loop {
        match kind(tokens, at) {
            Some(Kind::Word("self")) if !path.is_empty() => {}
            Some(Kind::Word(word)) => path.push(word),
            Some(Kind::Mark('*')) => path.push("*"),
            Some(Kind::Mark('{')) => {
                at += 1;
                while !matches!(kind(tokens, at), None | Some(Kind::Mark('}'))) {
                    let end = self::path(tokens, at, &path, found);
                    // A renamed import or a comma: on to the next element.
                    at = end.max(at + 1);
                    while !matches!(kind(tokens, at), None | Some(Kind::Mark(',' | '}'))) {
                        at += 1;
                    }
                    if kind(tokens, at) == Some(Kind::Mark(',')) {
                        at += 1;
                    }
                }
                return at + 1;
            }
            _ => return at,
        }
        at += 1;
        let more = kind(tokens, at) == Some(Kind::Separator)
            && matches!(kind(tokens, at + 1), Some(Kind::Word(_) | Kind::Mark('{' | '*')));
        if !more {
            found.push(Mention { line, path });
            return at;
        }
        at += 1;
    }
}

/// Every test that runs by default: marked `#[test]` or `#[…::test]`, and not `#[ignore]`.
pub(crate) fn tests<'a>(tokens: &[Token<'a>]) -> Vec<Test<'a>> {
    let mut found = Vec::new();
    let (mut test, mut ignored) = (false, false);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.kind {
            Kind::Mark('#') if kind(tokens, at + 1) == Some(Kind::Mark('[')) => {
                let (end, name) = attribute(tokens, at + 2);
                test |= name == Some("test");
                ignored |= name == Some("ignore");
                at = end;
                continue;
            }
            Kind::Word("fn") => {
                if let (true, false, Some(Kind::Word(name))) = (test, ignored, kind(tokens, at + 1))
                {
                    found.push(Test { line: token.line, name });
                }
                (test, ignored) = (false, false);
            }
            Kind::Word("pub" | "async" | "const" | "unsafe" | "extern") => {}
            _ => (test, ignored) = (false, false),
        }
        at += 1;
    }
    found
}

/// Where the attribute whose content starts at `at` ends, and the last word of its path.
fn attribute<'a>(tokens: &[Token<'a>], at: usize) -> (usize, Option<&'a str>) {
    let mut paths = Vec::new();
    path(tokens, at, &[], &mut paths);
    let name = paths.first().and_then(|mention| mention.path.last().copied());
    let mut depth = 1_usize;
    let mut end = at;
    while depth > 0 && end < tokens.len() {
        match kind(tokens, end) {
            Some(Kind::Mark('[')) => depth += 1,
            Some(Kind::Mark(']')) => depth -= 1,
            _ => {}
        }
        end += 1;
    }
    (end, name)
}

#[cfg(test)]
mod test {
    use super::*;

    fn paths(source: &str) -> Vec<String> {
        mentions(&tokens(source)).iter().map(|mention| mention.path.join("::")).collect()
    }

    fn names(source: &str) -> Vec<String> {
        tests(&tokens(source)).iter().map(|test| test.name.to_owned()).collect()
    }

    #[test]
    fn prose_is_not_source() {
        let source = r##"
            // std::fs  /* std::fs
            /* std::fs /* nested */ std::fs */
            let a = "std::fs \" std::fs"; let b = r#"std::fs " std::fs"#; let c = b"std::fs";
            let d = '"'; let e = '\''; let f = '\u{1F600}'; fn g<'a>(x: &'a str) {}
            last
        "##;
        let found = paths(source);
        assert!(!found.iter().any(|path| path.contains("std")), "{found:?}");
        assert!(found.contains(&"last".to_owned()), "{found:?}");
        assert!(found.contains(&"a".to_owned()), "lifetimes end at their quote: {found:?}");
    }

    #[test]
    fn groups_are_spelt_out() {
        let found = paths("use std::{fs, io::{self, Read as _}, time::*}; use a as b;");
        for path in ["std::fs", "std::io", "std::io::Read", "std::time::*", "a"] {
            assert!(found.contains(&path.to_owned()), "{path}: {found:?}");
        }
    }

    #[test]
    fn only_roots_start_a_path() {
        assert_eq!(paths("::std::fs::read(x)"), ["std::fs::read", "x"]);
        assert_eq!(paths("use ::std::fs; return ::a"), ["std::fs", "a"]);
        assert_eq!(paths("x.std"), ["x"]);
        assert_eq!(paths("<T>::fs"), ["T"]);
        assert_eq!(paths("Vec::<u8>::new()"), ["Vec", "u8"]);
        assert_eq!(paths("r#fn::x"), ["fn::x"]);
    }

    #[test]
    fn lines_count_through_everything() {
        let found = tokens("a /* \n\n */ \"\n\" b");
        assert_eq!(found.iter().map(|token| token.line).collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn truncated_source_ends() {
        for source in
            ["/* a", "\"a", "r#\"a", "'", "'\\", "use a::{", "use a::{b", "#[", "#[test] fn"]
        {
            let tokens = tokens(source);
            let _ = (mentions(&tokens), tests(&tokens));
        }
    }

    #[test]
    fn tests_are_marked_and_run() {
        let source = "
            #[test] fn one() {}
            #[tokio::test(flavor = \"x\")] async fn two() {}
            proptest! { #[test] fn three(x in 0..3) {} }
            #[test] #[ignore = \"slow\"] fn ignored() {}
            #[ignore] #[test] fn ignored_too() {}
            #[cfg(test)] mod tests {}
            fn plain() {}
            // #[test] fn commented() {}
        ";
        assert_eq!(names(source), ["one", "two", "three"]);
    }
}
