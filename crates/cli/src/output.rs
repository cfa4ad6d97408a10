//! Data on standard output, words on standard error.

pub(crate) mod page;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};

use concertina_types::{Diagnostic, Severity, Tokens};
use serde::Serialize;

use crate::error::{CliError, Exit};

/// Where a command writes.
pub(crate) struct Output {
    json: bool,
    out: anstream::AutoStream<io::Stdout>,
    err: anstream::AutoStream<io::Stderr>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, out: anstream::stdout(), err: anstream::stderr() }
    }

    /// Whether data is wanted as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Writes one line of data. It stays one, whatever a model, a tool or a file put into it.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), CliError> {
        Self::settle(writeln!(self.out, "{}", shown(text.as_ref(), "\t")))
    }

    /// Writes lines: a document that was asked for, or words with styles of ours, in which what others wrote
    /// has gone through [`told`] or [`clip`].
    pub(crate) fn lines(&mut self, text: impl AsRef<str>) -> Result<(), CliError> {
        Self::settle(writeln!(self.out, "{}", harmless(text.as_ref())))
    }

    /// Writes a piece of data as it is, and at once.
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), CliError> {
        Self::settle(self.out.write_all(harmless(text).as_bytes()).and_then(|()| self.out.flush()))
    }

    /// Writes bytes whose digest counts: as they are, except to a terminal.
    pub(crate) fn exact(&mut self, text: &str) -> Result<(), CliError> {
        if io::stdout().is_terminal() {
            return self.raw(text);
        }
        let mut out = io::stdout().lock();
        Self::settle(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Writes one JSON document.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value).map_err(|error| {
            CliError::new(
                Exit::Internal,
                "INTERNAL",
                format!("the result cannot be written: {error}"),
            )
        })?;
        self.lines(plain_json(&text))
    }

    /// Says something beside the data.
    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        self.say_styled(&told(text.as_ref()));
    }

    /// Says something with styles of ours, see [`Self::lines`].
    pub(crate) fn say_styled(&mut self, text: &str) {
        // Words are worth less than the data: a closed standard error stops nothing.
        let _ = writeln!(self.err, "{}", harmless(text));
    }

    /// Puts a question; the answer follows on the same line.
    pub(crate) fn question(&mut self, text: &str) {
        let _ = write!(self.err, "{}", told(text));
    }

    /// Says how far long work is, where a person watches.
    pub(crate) fn progress(&mut self, text: &str) {
        if io::stderr().is_terminal() {
            self.say(text);
        }
    }

    /// Says that a part of the work failed, while the rest goes on.
    pub(crate) fn warn(&mut self, error: &CliError) {
        let (message, help) = (&error.message, error.help.as_deref());
        self.say_styled(&notice(Severity::Warning, message, None, help, &error.code));
    }

    /// Reports an error in the form that was asked for, and gives the exit code.
    pub(crate) fn fail(&mut self, error: &CliError) -> u8 {
        if error.code == CLOSED {
            return 0;
        }
        if self.json {
            let _ = self.json(&error.as_json());
        }
        let (message, help) = (&error.message, error.help.as_deref());
        self.say_styled(&notice(Severity::Error, message, None, help, &error.code));
        error.exit as u8
    }

    /// A reader that went away (`concertina … | head`) has what it wanted.
    fn settle(result: io::Result<()>) -> Result<(), CliError> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(CliError::new(Exit::Environment, CLOSED, "nobody reads the output any more"))
            }
            result => Ok(result?),
        }
    }
}

const CLOSED: &str = "OUTPUT_CLOSED";

/// Columns that a line takes at most, where its text can be cut.
pub(crate) const COLUMNS: usize = 100;

/// What happened, where, what to do, and the code to look it up by.
pub(crate) fn notice(
    severity: Severity,
    message: &str,
    place: Option<&str>,
    help: Option<&str>,
    code: &str,
) -> String {
    let colour = match severity {
        Severity::Error => "\u{1b}[1;31m",
        Severity::Warning => "\u{1b}[1;33m",
        Severity::Info => "\u{1b}[1m",
    };
    // What follows a line end in a message is set in: it cannot pass for a notice of its own.
    let inner = |text: &str| told(text).replace('\n', "\n  ");
    let mut text = format!("{colour}{severity}\u{1b}[0m: {}", inner(message));
    if let Some(place) = place {
        let _ = write!(text, "\n  --> {}", told(place));
    }
    if let Some(help) = help {
        let _ = write!(text, "\n  help: {}", inner(help));
    }
    let _ = write!(text, " [{}]", told(code));
    text
}

/// A finding in `file`, for a person.
pub(crate) fn finding(file: &str, found: &Diagnostic) -> String {
    let place = match found.line {
        Some(line) => format!("{file}:{line}:{}", found.column.unwrap_or(1)),
        None => file.to_owned(),
    };
    notice(found.severity, &found.message, Some(&place), found.help.as_deref(), &found.code)
}

/// A number for people: `8,000`.
pub(crate) fn thousands(number: usize) -> String {
    Tokens(number as u64).to_string()
}

/// `1 skill`, `2 skills`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// A table whose last column is cut so that every line fits.
pub(crate) fn fitting_table(mut rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let before = |row: &Vec<String>| row.len().saturating_sub(1);
    let columns = rows.iter().map(before).max().unwrap_or_default();
    let taken: usize = (0..columns)
        .map(|at| {
            rows.iter()
                .filter_map(|row| row.get(at))
                .map(|cell| width(cell))
                .max()
                .unwrap_or_default()
                + 2
        })
        .sum();
    // However long the names are, a few words about each stay.
    let room = COLUMNS.saturating_sub(taken).max(20);
    for row in &mut rows {
        if let Some(last) = row.last_mut() {
            *last = clip(last, room);
        }
    }
    table(&rows, right)
}

/// Lines up the columns of a table, one line for each row, whatever is in its cells. Numbers are
/// right-aligned: columns named in `right`.
pub(crate) fn table(rows: &[Vec<String>], right: &[usize]) -> String {
    let cell = |cell: &String| shown(cell, "").into_owned();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|at| {
            rows.iter()
                .filter_map(|row| row.get(at))
                .map(|cell| width(cell))
                .max()
                .unwrap_or_default()
        })
        .collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let room = widths.get(at).copied().unwrap_or_default().saturating_sub(width(cell));
            let pad = " ".repeat(room);
            let last = at + 1 == row.len();
            if at > 0 {
                line.push_str("  ");
            }
            if right.contains(&at) {
                line.push_str(&pad);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                if !last {
                    line.push_str(&pad);
                }
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Columns that a text takes on a terminal: wide scripts take two each.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
}

/// Cuts a text to `most` columns, on one line.
pub(crate) fn clip(text: &str, most: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat = shown(&flat, "").into_owned();
    if width(&flat) <= most {
        return flat;
    }
    let mut kept = String::new();
    for c in flat.chars() {
        if width(&kept) + if is_wide(c) { 2 } else { 1 } + 1 > most {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// The text in lines of at most `most` columns, cut between words; a word that is longer stands alone.
pub(crate) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && width(&line) + 1 + width(word) > most {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Words that may hold what others wrote, as a person may read them: line ends and tabs stay, styles do not.
pub(crate) fn told(text: &str) -> Cow<'_, str> {
    shown(text, "\n\t")
}

/// The text with every character spelt out that would drive a terminal or turn the direction of what is read,
/// those in `kept` apart: it may come from anybody's file.
fn shown<'a>(text: &'a str, kept: &str) -> Cow<'a, str> {
    let is_spelt = |c: char| (c.is_control() || turns(c)) && !kept.contains(c);
    if !text.contains(is_spelt) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_spelt(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether it changes the direction of the text around it, or ends a line without being a control. Joiners
/// and the like, which scripts need, do neither.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text without anything that could move a terminal's cursor, set its title or type for its
/// user: what is shown may come from anybody's file. Line ends, tabs and styles stay.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_control) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let style = style_length(from);
        let length =
            style.or_else(|| from.chars().next().map(char::len_utf8)).unwrap_or(from.len());
        let (control, after) = from.split_at_checked(length).unwrap_or((from, ""));
        match (style, control.chars().next()) {
            (Some(_), _) => out.push_str(control),
            (None, Some('\r') | None) => {}
            (None, Some(c)) => out.extend(c.escape_default()),
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// JSON without the controls that JSON lets stand as they are: what [`harmless`] makes of them is no JSON, and
/// who reads it on a terminal reads what is there.
fn plain_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '\u{7f}'..='\u{9f}') || turns(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The length of the colour or weight that `text` starts with: `ESC [ digits m`.
fn style_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    inner.get(end..)?.starts_with('m').then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use concertina_types::Severity;

    use super::{clip, fitting_table, harmless, notice, plain_json, shown, table, told};

    const HOSTILE: &str = "a\n9x\tb\u{1b}[8mc\u{202e}d\u{2028}e";

    #[test]
    fn k12_a_row_stays_one_row_whatever_is_in_it() {
        let rows = || vec![vec![HOSTILE.to_owned(), HOSTILE.to_owned()]];
        for text in [table(&rows(), &[]), fitting_table(rows(), &[0]), shown(HOSTILE, "").into()] {
            assert_eq!(text.trim_end().lines().count(), 1, "{text}");
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{2028}', '\t']), "{text:?}");
            assert!(text.contains("a\\n9x\\tb\\u{1b}[8mc\\u{202e}d\\u{2028}e"), "{text}");
        }
        assert_eq!(clip(HOSTILE, 100), "a 9x b\\u{1b}[8mc\\u{202e}d e");
        let joined = "\u{1f469}\u{200d}\u{1f4bb} \u{645}\u{6cc}\u{200c}\u{62e}";
        assert_eq!(shown(joined, ""), joined, "what scripts need stays");
        assert_eq!(told(&told(HOSTILE)), told(HOSTILE));
    }

    #[test]
    fn k12_a_notice_is_one_notice_whatever_is_in_it() {
        let message = "it says x\nerror: \u{1b}[2mall is fine\u{202e}";
        let text = notice(Severity::Error, message, Some("a\u{7}"), Some("b\nc"), "CODE");
        let expected = "\u{1b}[1;31merror\u{1b}[0m: it says x\n  error: \\u{1b}[2mall is fine\\u{202e}\n  --> a\\u{7}\n  help: b\n  c [CODE]";
        assert_eq!(text, expected);
    }

    #[test]
    fn k12_json_is_the_same_value_and_shows_what_is_there() {
        let json = serde_json::to_string(HOSTILE).unwrap();
        let plain = plain_json(&json);
        assert!(!plain.contains(['\u{202e}', '\u{2028}']), "{plain}");
        assert_eq!(serde_json::from_str::<String>(&plain).unwrap(), HOSTILE);
    }

    #[test]
    fn what_is_shown_cannot_drive_a_terminal() {
        for (text, shown) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("\u{9b}2Jgone", "\\u{9b}2Jgone"),
            ("over\rwritten", "overwritten"),
            ("end\u{1b}[", "end\\u{1b}["),
        ] {
            assert_eq!(harmless(text), shown);
        }
    }
}
