//! Where the frontmatter ends and the body begins.

use concertina_types::{Span, limits};

use super::codes::Code;
use super::findings::Findings;
use super::{decode, keys};

/// The language of a frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Yaml,
    Toml,
    Json,
}

/// The two parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The text between the fences; `None` where there is no frontmatter.
    pub(super) frontmatter: Option<(Span, Language)>,
    pub(super) body: Span,
}

/// What can be said of the text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Layout(Layout),
    /// The text stops before the frontmatter does.
    NeedMore,
    /// The frontmatter is larger than it may be.
    TooLarge,
}

/// A line without its end, and where it is.
#[derive(Debug, Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    start: usize,
    /// The first byte of the next line.
    next: usize,
}

fn line_at(text: &str, start: usize) -> Option<Line<'_>> {
    let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
    let (line, next) = match rest.split_once('\n') {
        Some((line, _)) => (line, start + line.len() + 1),
        None => (rest, text.len()),
    };
    Some(Line { text: line, start, next })
}

fn lines_from(text: &str, start: usize) -> impl Iterator<Item = Line<'_>> {
    std::iter::successors(line_at(text, start), |line| line_at(text, line.next))
}

/// Lines of other text that may stand before the opening fence.
const PREAMBLE_LINES: usize = 40;

/// Finds the frontmatter of `text`, which is all of the file if it is `complete`.
pub(super) fn find(text: &str, complete: bool, findings: &mut Findings) -> Found {
    let first = line_at(text, 0);
    // The usual case, and the only one that costs nothing.
    if let Some(first) = first
        && is_fence(first.text)
        && let Some(close) = lines_from(text, first.next).find(|line| is_dashes(line.text))
        && is_fence(close.text)
        && plausible(span_text(text, first.next, close.start))
    {
        return bounded(Layout {
            frontmatter: Some((Span::new(first.next, close.start), Language::Yaml)),
            body: Span::new(close.next, text.len()),
        });
    }
    // Everything else may depend on what follows.
    if !complete && text.len() <= limits::FRONTMATTER_BYTES {
        return Found::NeedMore;
    }
    let mut seen = Findings::default();
    let found = open(text, &mut seen);
    findings.extend(seen);
    match found {
        Some(layout) => bounded(layout),
        None if first.is_some_and(|line| is_fence(line.text))
            && text.len() > limits::FRONTMATTER_BYTES =>
        {
            Found::TooLarge
        }
        None => Found::Layout(Layout { frontmatter: None, body: Span::new(0, text.len()) }),
    }
}

fn bounded(layout: Layout) -> Found {
    match layout.frontmatter {
        Some((span, _)) if span.end - span.start > limits::FRONTMATTER_BYTES => Found::TooLarge,
        _ => Found::Layout(layout),
    }
}

/// How the frontmatter was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Dashes,
    Toml,
    Json,
    CodeFence,
    None,
}

fn open(text: &str, findings: &mut Findings) -> Option<Layout> {
    let mut wrapped = None;
    let mut heading = None;
    let mut blank = false;
    let mut comment = None;
    let mut in_comment = false;
    for line in lines_from(text, 0).take(PREAMBLE_LINES) {
        let trimmed = bare(line.text);
        if in_comment {
            in_comment = !trimmed.contains("-->");
            continue;
        }
        if trimmed.is_empty() {
            blank |= line.start == 0 || heading.is_none();
            continue;
        }
        let opening = opening(text, line, heading.is_some());
        if let Some((opening, start)) = opening {
            let layout = close(text, line, opening, start, wrapped.is_some(), findings)?;
            if let Some(at) = wrapped {
                let message = "the file is wrapped in a code fence";
                findings.add(Code::CodeFence, at, message.to_owned());
            } else if let Some(at) = heading {
                let message = "the frontmatter is not at the start of the file";
                findings.add(Code::LeadingText, at, message.to_owned());
            } else if let Some(at) = comment {
                let message = "a comment stands before the frontmatter";
                findings.add(Code::LeadingComment, at, message.to_owned());
            } else if blank {
                let message = "blank lines stand before the frontmatter";
                findings.add(Code::LeadingBlankLines, 0, message.to_owned());
            }
            return Some(layout);
        }
        if trimmed.starts_with("<!--") {
            comment = comment.or(Some(line.start));
            in_comment = !trimmed.contains("-->");
        } else if is_code_fence(trimmed) && wrapped.is_none() && heading.is_none() {
            wrapped = Some(line.start);
        } else {
            heading = heading.or(Some(line.start));
        }
    }
    None
}

/// Whether `line` opens a frontmatter, and where its text begins.
fn opening(text: &str, line: Line<'_>, after_text: bool) -> Option<(Opening, usize)> {
    let trimmed = bare(line.text);
    let follows = |at: usize| {
        let next = lines_from(text, at).find(|next| {
            let next = bare(next.text);
            !next.is_empty() && !next.starts_with('#')
        });
        next.map(|next| bare(next.text))
    };
    let key_follows = || {
        follows(line.next).is_some_and(|next| keys::looks_like_key(next) || next.starts_with('{'))
    };
    if trimmed == "+++" {
        return (!after_text).then_some((Opening::Toml, line.next));
    }
    if trimmed == ";;;" {
        return (!after_text).then_some((Opening::Json, line.next));
    }
    if is_fence(line.text) && line.start == 0 {
        return Some((Opening::Dashes, line.next));
    }
    if is_dashes(trimmed) {
        let known = || follows(line.next).is_some_and(keys::begins_with_known_key);
        let opens = if after_text { known() } else { key_follows() };
        return opens.then_some((Opening::Dashes, line.next));
    }
    if after_text {
        return None;
    }
    if let Some(rest) = trimmed.strip_prefix("---") {
        // Three dashes with the language or the first key on the same line.
        let rest = rest.trim_start_matches('-').trim();
        if matches!(rest, "yaml" | "yml") || rest.starts_with('#') {
            return Some((Opening::Dashes, line.next));
        }
        if keys::begins_with_known_key(rest) {
            let at = line.text.find(rest).unwrap_or_default();
            return Some((Opening::Dashes, line.start + at));
        }
    }
    if let Some(language) = code_language(trimmed) {
        let is_data = matches!(language, "yaml" | "yml" | "frontmatter" | "toml" | "json");
        let direct = follows(line.next).is_some_and(keys::begins_with_known_key);
        if direct && (is_data || language.is_empty()) {
            return Some((Opening::CodeFence, line.next));
        }
        return None;
    }
    if trimmed.starts_with('{') && json_begins(span_text(text, line.start, text.len())) {
        return Some((Opening::Json, line.start));
    }
    let known = || follows(line.next).is_some_and(keys::begins_with_known_key);
    if is_rule(trimmed) && known() {
        return Some((Opening::Dashes, line.next));
    }
    begins_keys(text, line.start).then_some((Opening::None, line.start))
}

/// Whether a name or a description is among the keys that begin at `start`.
fn begins_keys(text: &str, start: usize) -> bool {
    if keys::begins_with_known_key(bare(line_at(text, start).map_or("", |line| line.text))) {
        return true;
    }
    let keys = lines_from(text, start).map(|line| bare(line.text));
    let mut keys = keys.take_while(|line| keys::looks_like_key(line)).take(PREAMBLE_LINES);
    keys.any(|line| line.starts_with("name:") || line.starts_with("description:"))
}

fn close(
    text: &str,
    line: Line<'_>,
    opening: Opening,
    start: usize,
    wrapped: bool,
    findings: &mut Findings,
) -> Option<Layout> {
    let end = if wrapped { unwrapped_end(text) } else { text.len() };
    let layout = |from: usize, to: usize, body: usize, language| Layout {
        frontmatter: Some((Span::new(from, to), language)),
        body: Span::new(body.min(end), end),
    };
    match opening {
        Opening::Toml | Opening::Json => {
            let toml = opening == Opening::Toml;
            let (code, language, name) = if toml {
                (Code::Toml, Language::Toml, "TOML")
            } else {
                (Code::Json, Language::Json, "JSON")
            };
            let message = format!("the frontmatter is {name}; it was read as such");
            findings.add(code, line.start, message);
            if start == line.start {
                let length = json_length(span_text(text, start, end))?;
                let mut after = start + length;
                // A fence below bare JSON belongs to it.
                if let Some(next) = lines_from(text, after).find(|next| !bare(next.text).is_empty())
                    && is_dashes(bare(next.text))
                {
                    after = next.next;
                }
                return Some(layout(start, start + length, after, language));
            }
            let fence = bare(line.text);
            if let Some(close) =
                lines_from(text, start).find(|next| bare(next.text) == fence || is_fence(next.text))
            {
                return Some(layout(start, close.start, close.next, language));
            }
            findings.add(
                Code::NoClosingFence,
                line.start,
                format!("the closing `{fence}` is missing"),
            );
            let stop = natural_end(text, start, end);
            Some(layout(start, stop, stop, language))
        }
        Opening::CodeFence => {
            findings.add(
                Code::CodeFence,
                line.start,
                "the frontmatter is wrapped in a code fence instead of `---`".to_owned(),
            );
            let close = lines_from(text, start)
                .find(|next| is_code_fence(bare(next.text)) || is_dashes(bare(next.text)));
            let Some(close) = close else {
                findings.add(
                    Code::NoClosingFence,
                    line.start,
                    "the closing fence is missing".to_owned(),
                );
                let stop = natural_end(text, start, end);
                return Some(layout(start, stop, stop, Language::Yaml));
            };
            Some(layout(start, close.start, close.next, Language::Yaml))
        }
        Opening::Dashes | Opening::None => {
            if opening == Opening::None {
                let message = "the opening `---` is missing";
                findings.add(Code::NoOpeningFence, line.start, message.to_owned());
            } else if !is_fence(line.text) {
                let message =
                    format!("the opening fence is `{}`, not `---`", short(bare(line.text)));
                findings.add(Code::OddFence, line.start, message);
            }
            let (to, body, closed) = closing(text, start, end);
            match closed {
                Closed::Exactly => {}
                Closed::Oddly(at, fence) => {
                    let message = format!("the closing fence is `{}`, not `---`", short(fence));
                    findings.add(Code::OddFence, at, message);
                }
                Closed::Not => {
                    if to - start > limits::FRONTMATTER_BYTES {
                        return None;
                    }
                    let message =
                        "the closing `---` is missing; the frontmatter ends where its keys do";
                    findings.add(Code::NoClosingFence, to, message.to_owned());
                }
            }
            // A rule at the top of a text without any key is no frontmatter.
            let inside = span_text(text, start, to);
            let empty = matches!(closed, Closed::Not)
                && !inside.lines().any(|l| keys::looks_like_key(bare(l)));
            (!empty).then(|| layout(start, to, body, Language::Yaml))
        }
    }
}

enum Closed<'t> {
    Exactly,
    Oddly(usize, &'t str),
    Not,
}

/// Where the frontmatter that begins at `start` ends, where the body begins, and how it is closed.
fn closing(text: &str, start: usize, end: usize) -> (usize, usize, Closed<'_>) {
    let limit = start + limits::FRONTMATTER_BYTES + 1;
    let mut indented = None;
    for line in lines_from(text, start).take_while(|line| line.start < end.min(limit)) {
        let trimmed = bare(line.text);
        let at_margin = !line.text.starts_with([' ', '\t']);
        if is_fence(line.text) || (at_margin && closes(trimmed)) {
            let inside = span_text(text, start, line.start);
            if !plausible(inside) {
                // The line is a rule of the body.
                if let Some(indented) = indented {
                    return indented;
                }
                break;
            }
            if is_fence(line.text) {
                return (line.start, line.next, Closed::Exactly);
            }
            // Text behind the dashes is the first of the body.
            let behind = trimmed.trim_start_matches('-');
            let comment = behind.trim_start().starts_with('#') && behind.starts_with(' ');
            let behind = behind.trim_start();
            let begins_body = trimmed.starts_with("---") && !behind.is_empty() && !comment;
            let body = if begins_body {
                line.start + line.text.find(behind).unwrap_or_default()
            } else {
                line.next
            };
            return (line.start, body, Closed::Oddly(line.start, trimmed));
        }
        if !at_margin && indented.is_none() && is_dashes(trimmed) {
            indented = Some((line.start, line.next, Closed::Oddly(line.start, trimmed)));
        }
    }
    if let Some(indented) = indented {
        return indented;
    }
    let stop = natural_end(text, start, end);
    (stop, stop, Closed::Not)
}

/// Whether text between fences can be a frontmatter: a heading at its top or below a blank line,
/// with prose and no key after it, belongs to a body.
fn plausible(inside: &str) -> bool {
    if !inside.contains('#') {
        return true;
    }
    let mut after_blank = true;
    let mut heading = false;
    let mut prose = false;
    for line in inside.lines() {
        let trimmed = bare(line);
        if trimmed.is_empty() {
            after_blank = true;
            continue;
        }
        heading |= after_blank && line.starts_with('#');
        after_blank = false;
        if heading && keys::begins_with_known_key(line.trim_start_matches(['#', ' '])) {
            return true;
        }
        prose |= heading && !line.starts_with([' ', '\t', '#', '-']) && !keys::looks_like_key(line);
    }
    !prose
}

/// The end of the keys where no fence says so: a blank line that something other than a key
/// follows, or a heading.
fn natural_end(text: &str, start: usize, end: usize) -> usize {
    let mut blank: Option<usize> = None;
    let mut seen_key = false;
    for line in lines_from(text, start).take_while(|line| line.start < end) {
        let trimmed = bare(line.text);
        if trimmed.is_empty() {
            blank = blank.or(Some(line.start));
            continue;
        }
        let indented = line.text.starts_with([' ', '\t']);
        let key = !indented && keys::looks_like_key(trimmed);
        let heading =
            line.text.starts_with('#') && trimmed.trim_start_matches('#').starts_with(' ');
        if seen_key && (blank.is_some() || heading || is_code_fence(trimmed)) && !key && !indented {
            return blank.unwrap_or(line.start);
        }
        seen_key |= key;
        blank = None;
    }
    end
}

/// The end of a file wrapped in a code fence: before the last fence line.
fn unwrapped_end(text: &str) -> usize {
    let trimmed = text.trim_end();
    let last = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let line = trimmed.get(last..).unwrap_or_default();
    if is_code_fence(line.trim()) { last } else { text.len() }
}

fn span_text(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

fn unseen(c: char) -> bool {
    decode::is_hidden(c) || decode::is_bidi(c)
}

/// A line without blanks and invisible characters at its ends.
fn bare(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || unseen(c))
}

/// Exactly `---`, blanks after it allowed.
fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.bytes().all(|b| b == b' ' || b == b'\t'))
}

/// Nothing but three or more dashes of any kind.
fn is_dashes(line: &str) -> bool {
    if line.contains(unseen) {
        // What cannot be seen does not change what a reader sees.
        return is_dashes(&line.replace(unseen, ""));
    }
    let dash = |c: char| matches!(c, '-' | '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '－');
    let mut count = 0;
    for c in line.trim_end().chars() {
        match c {
            // An em dash is what editors make of two or three hyphens.
            '—' | '―' => count += 2,
            c if dash(c) => count += 1,
            ' ' if count > 0 => {}
            _ => return false,
        }
    }
    count >= 3 || line.trim_end() == "--"
}

/// A line at the margin that ends a frontmatter, though not in the way it should.
fn closes(trimmed: &str) -> bool {
    is_dashes(trimmed) || trimmed == "..." || trimmed.starts_with("---") || is_rule(trimmed)
}

/// Another rule of Markdown: `***`, `___`, `===`.
fn is_rule(trimmed: &str) -> bool {
    ["*", "_", "=", "~"].iter().any(|mark| {
        trimmed.len() >= 3
            && trimmed.starts_with(mark)
            && trimmed.trim_start_matches(mark).is_empty()
    })
}

fn is_code_fence(trimmed: &str) -> bool {
    code_language(trimmed).is_some()
}

fn code_language(trimmed: &str) -> Option<&str> {
    let mark = ['`', '~']
        .into_iter()
        .find(|&mark| trimmed.starts_with([mark; 3].iter().collect::<String>().as_str()))?;
    let rest = trimmed.trim_start_matches(mark).trim();
    (!rest.contains(['`', ' '])).then_some(rest)
}

fn json_begins(text: &str) -> bool {
    text.trim_start_matches('{').trim_start().starts_with('"')
}

/// How long the JSON value at the beginning of `text` is.
fn json_length(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

fn short(text: &str) -> String {
    text.chars().take(20).collect()
}
