//! Lines of an output, without what terminals do to them.

use std::borrow::Cow;

use super::Unreadable;

/// The line under which an output holds what the tool wrote on standard error, after all that it wrote on
/// standard output.
pub const STANDARD_ERROR: &str = "[standard error]";

/// The lines of `text` with their numbers from 1, without colours and carriage returns.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.lines().enumerate().map(|(before, line)| (before + 1, plain(line)))
}

/// What the tool wrote on standard output.
///
/// Who prints the line [`STANDARD_ERROR`] on either stream could choose where the first ends, so a second one
/// is refused.
pub(super) fn standard_output(output: &str) -> Result<&str, Unreadable> {
    let mut end = None;
    let mut at = 0;
    for (before, line) in output.split_inclusive('\n').enumerate() {
        if is_standard_error(line) && end.replace(at).is_some() {
            let what = format!(
                "there are two lines `{STANDARD_ERROR}`, so where standard error begins is not known"
            );
            return Err(Unreadable::new(what).at(before + 1));
        }
        at += line.len();
    }
    Ok(end.and_then(|end| output.get(..end)).unwrap_or(output))
}

/// Whether `text` holds the line [`STANDARD_ERROR`], whoever wrote it.
pub fn holds_standard_error(text: &str) -> bool {
    text.split_inclusive('\n').any(is_standard_error)
}

/// Whether nothing follows a document but what the tool wrote on standard error.
pub(super) fn ends_here(rest: &str) -> bool {
    rest.split_inclusive('\n').find(|line| !line.trim().is_empty()).is_none_or(is_standard_error)
}

fn is_standard_error(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']) == STANDARD_ERROR
}

/// `line` without colours: CSI sequences that end in `m`, and `ESC ( B`, which terminfo's `sgr0` adds.
///
/// Other sequences stay. A terminal would show another text than the line holds, so such a line must not be
/// taken for one of the test runner.
fn plain(line: &str) -> Cow<'_, str> {
    const ESCAPE: char = '\u{1b}';
    let line = line.trim_end_matches('\r');
    if !line.contains(ESCAPE) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        text.push_str(before);
        rest = coloured(after).unwrap_or_else(|| {
            text.push(ESCAPE);
            after
        });
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// What follows a colour, of what follows its escape character.
fn coloured(after: &str) -> Option<&str> {
    after.strip_prefix("(B").or_else(|| {
        let parameters = after.strip_prefix('[')?;
        parameters.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m')
    })
}

/// A count in its one spelling: digits without sign and leading zeros.
pub(super) fn count(digits: &str) -> Option<u64> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = digits == "0" || !digits.starts_with('0');
    // Who counts further than this counts no tests; sums cannot overflow.
    digits
        .parse()
        .ok()
        .filter(|&number: &u64| is_plain && is_short && u32::try_from(number).is_ok())
}
