//! pytest: what was collected, a letter or a line for each test, what failing tests printed, the summary.
//!
//! The summary is the last line of standard output, so nothing that a test printed earlier is taken for it. It
//! is checked against the count of collected tests, or with `-q`, where that is not printed, against the
//! letters in the first lines. Of two runs in one output none counts: nobody knows which of them is meant.

use super::lines::{count, lines, standard_output};
use super::{Counts, Unreadable};

const USUAL: &str =
    "run pytest without `-s`, with at most one `-q`, and with nothing printed before or after it";
const ONE_RUN: &str = "run pytest once, without `-rA` and `-rP`";
const START: &str = "test session starts";

pub(super) fn read(output: &str) -> Result<Counts, Unreadable> {
    let output = standard_output(output)?;
    let mut shown = lines(output).filter(|(_, line)| !line.trim().is_empty());
    let Some(first) = shown.next() else {
        return Err(Unreadable::new("pytest printed nothing"));
    };
    let framed = frame(&first.1) == Some(START);
    let (mut end, mut last) = first;
    // With `-q` a run has no first line, so its summary tells that another one follows.
    let mut other = None;
    for (at, line) in shown {
        let is_edge = frame(&line) == Some(START) || (!framed && summary_of(&last).is_some());
        other = other.or(is_edge.then_some(at));
        (end, last) = (at, line);
    }
    let summary = if framed { frame(&last) } else { Some(last.as_ref()) };
    let Some(summary) = summary.and_then(summary_of) else {
        let what = "the last line is no summary of a run: it or its output was broken off";
        return Err(Unreadable::new(what).at(end).help(USUAL));
    };
    if let Some(other) = other {
        let what = "a second run stands in the output, or what looks like one";
        return Err(Unreadable::inconsistent(what).at(other).help(ONE_RUN));
    }
    let mismatch = if framed { summary.collected(output) } else { summary.letters(output) };
    match mismatch {
        Some(mismatch) => Err(mismatch.at(end).help(USUAL)),
        None => Ok(summary.counts()),
    }
}

#[derive(Default)]
struct Summary {
    passed: u64,
    failed: u64,
    errors: u64,
    skipped: u64,
    xfailed: u64,
    xpassed: u64,
}

impl Summary {
    fn counts(&self) -> Counts {
        Counts {
            // As in pytest's report for JUnit: what was expected to fail and passed has passed, unless that
            // is declared to be strict; then it is among the failures.
            passed: self.passed + self.xpassed,
            failed: self.failed + self.errors,
            skipped: self.skipped + self.xfailed,
        }
    }

    /// What speaks against the summary in the count of collected tests.
    ///
    /// A test passes at most once. It can fail more often (subtests, errors while tearing down), and modules
    /// that skip themselves are no tests.
    fn collected(&self, output: &str) -> Option<Unreadable> {
        let Some(collected) = lines(output).find_map(|(_, line)| selected(&line)) else {
            return Some(Unreadable::new("the line `collected N items` is missing"));
        };
        let counts = self.counts();
        if self.passed + self.xpassed + self.xfailed > collected {
            let what = format!("{collected} tests were collected, and more have passed");
            return Some(Unreadable::inconsistent(what));
        }
        let ended = counts.total();
        (ended < collected && counts.failed == 0).then(|| {
            let what = format!("{collected} tests were collected, and {ended} have a result: the run was broken off");
            Unreadable::new(what)
        })
    }

    /// What speaks against the summary in the letters of the first lines.
    ///
    /// Modules that cannot be imported or skip themselves have none, subtests have `u` whatever became of
    /// them.
    fn letters(&self, output: &str) -> Option<Unreadable> {
        let letters: String = lines(output)
            .map(|(_, line)| line)
            .skip_while(|line| line.trim().is_empty())
            .map_while(|line| progress(&line).map(str::to_owned))
            .collect();
        let letter = |wanted: char| {
            letters.chars().filter(|&letter| letter == wanted).fold(0_u64, |sum, _| sum + 1)
        };
        let fits = letter('.') == self.passed
            && letter('X') == self.xpassed
            && letter('x') == self.xfailed
            && letter('s') <= self.skipped
            && letter('E') <= self.errors
            && (letter('F')..=letter('F') + letter('u')).contains(&self.failed);
        (!fits).then(|| {
            Unreadable::inconsistent(
                "the summary does not count what the letters of the first lines say",
            )
        })
    }
}

/// `=== text ===`
fn frame(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('=')?.strip_suffix('=')?;
    inner.trim_matches('=').strip_prefix(' ')?.strip_suffix(' ')
}

/// `2 failed, 7 passed, 2 skipped, 1 warning in 0.19s`
fn summary_of(text: &str) -> Option<Summary> {
    let (figures, time) = text.rsplit_once(" in ")?;
    is_duration(time).then_some(())?;
    let mut summary = Summary::default();
    if figures == "no tests ran" {
        return Some(summary);
    }
    let mut known = Vec::new();
    for figure in figures.split(", ") {
        let (digits, unit) = figure.split_once(' ')?;
        let number = count(digits)?;
        match unit {
            "passed" => summary.passed = number,
            "failed" => summary.failed = number,
            "error" | "errors" => summary.errors = number,
            "skipped" => summary.skipped = number,
            "xfailed" => summary.xfailed = number,
            "xpassed" => summary.xpassed = number,
            "deselected" | "warning" | "warnings" | "rerun" | "reruns" | "subtests passed"
            | "subtests skipped" => {}
            _ => return None,
        }
        // One figure named twice is none that pytest prints.
        (!known.contains(&unit)).then(|| known.push(unit))?;
    }
    Some(summary)
}

/// `0.19s` or `75.32s (0:01:15)`
fn is_duration(time: &str) -> bool {
    let (seconds, rest) = time.split_once('s').unwrap_or((time, "missing"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    seconds.split_once('.').is_some_and(|(whole, part)| is_number(whole) && is_number(part))
        && (rest.is_empty() || (rest.starts_with(" (") && rest.ends_with(')')))
}

/// `collected 9 items / 1 error / 3 deselected / 6 selected`, with `-v` after `collecting ... `; or
/// `2 workers [9 items]` of pytest-xdist.
fn selected(line: &str) -> Option<u64> {
    let items = |text: &str| {
        text.strip_suffix(" items").or_else(|| text.strip_suffix(" item")).and_then(count)
    };
    if let Some((_, rest)) = line.split_once(" workers [").or_else(|| line.split_once(" worker ["))
    {
        return items(rest.strip_suffix(']')?);
    }
    let line = line.strip_prefix("collecting ... ").unwrap_or(line);
    let mut parts = line.strip_prefix("collected ")?.split(" / ");
    let mut selected = items(parts.next()?)?;
    for part in parts {
        let (digits, unit) = part.split_once(' ')?;
        match unit {
            "selected" => selected = count(digits)?,
            "deselected" | "skipped" | "error" | "errors" => {}
            _ => return None,
        }
    }
    Some(selected)
}

/// The letters of a line such as `..sx.F   [ 26%]`.
fn progress(line: &str) -> Option<&str> {
    let (letters, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let is_share = rest.is_empty() || (rest.starts_with('[') && rest.ends_with(']'));
    let are_letters =
        !letters.is_empty() && letters.chars().all(|letter| ".FEsxXRu,-".contains(letter));
    (is_share && are_letters).then_some(letters)
}
