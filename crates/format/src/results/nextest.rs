//! `cargo nextest run`: a numbered line for each test, then a summary.
//!
//! All of it is on standard error, where the output of tests is indented; a test can still print a line that
//! is a runner's once it is indented. The numbers tell: each is there once, in order, and the summary counts
//! as they do.

use super::lines::{count, lines};
use super::{Counts, Unreadable};

const USUAL: &str = "run `cargo nextest run` with `--status-level pass --show-progress counter` and without `--no-capture`";

pub(super) fn read(output: &str) -> Result<Counts, Unreadable> {
    let mut announced = None;
    let mut run = Run::default();
    for (number, line) in lines(output) {
        match announced {
            None => announced = starting(&line),
            Some(announced) => run.line(announced, number, &line)?,
        }
    }
    let Some(announced) = announced else {
        return Err(Unreadable::new("no test ran: there is no line `Starting N tests`"));
    };
    run.end(announced)
}

#[derive(Default)]
struct Run {
    counts: Counts,
    /// The summary that counts as the lines before it do.
    summary: Option<Counts>,
    /// A summary that does not: that of the run, or what a failing test printed.
    other: Option<usize>,
}

impl Run {
    fn line(&mut self, announced: u64, number: usize, line: &str) -> Result<(), Unreadable> {
        let is_over = self.summary.is_some();
        if let Some(summary) = summary(line) {
            let counted = Counts { skipped: 0, ..summary.counts } == self.counts;
            match counted && summary.announced == announced && summary.run == self.counts.total() {
                _ if is_over => return Err(two_runs(number)),
                true => self.summary = Some(summary.counts),
                false => self.other = Some(number),
            }
        } else if let Some(status) = status(line)
            && status.announced == announced
        {
            if status.starts {
                let what = "tests print among the results";
                return Err(Unreadable::new(what).at(number).help(USUAL));
            }
            let next = self.counts.total() + 1;
            // After the summary the lines of failing tests are repeated.
            if status.number == next && !is_over {
                let counted =
                    if status.passed { &mut self.counts.passed } else { &mut self.counts.failed };
                *counted += 1;
            } else if !is_over || status.number >= next {
                let what =
                    format!("result {} of {announced} stands where {next} is due", status.number);
                return Err(Unreadable::inconsistent(what).at(number).help(USUAL));
            }
        } else if (is_over || self.counts.total() == 0) && starting(line).is_some() {
            // Between results it is what a failing test printed.
            return Err(two_runs(number));
        }
        Ok(())
    }

    fn end(self, announced: u64) -> Result<Counts, Unreadable> {
        let seen = self.counts.total();
        match (self.summary, self.other) {
            (None, Some(line)) => {
                let what =
                    format!("the summary does not count the {seen} results that stand before it");
                Err(Unreadable::inconsistent(what).at(line).help(USUAL))
            }
            (None, None) => {
                Err(Unreadable::new("the summary is missing: the run or its output was broken off"))
            }
            (Some(counts), _) if seen < announced && counts.failed == 0 => {
                let what = format!(
                    "{seen} of {announced} tests ran and none failed: the run was broken off"
                );
                Err(Unreadable::new(what))
            }
            (Some(counts), _) => Ok(counts),
        }
    }
}

fn two_runs(number: usize) -> Unreadable {
    Unreadable::inconsistent("a second run stands in the output").at(number)
}

/// `    Starting 8 tests across 3 binaries (3 tests skipped)`
fn starting(line: &str) -> Option<u64> {
    let (digits, rest) = line.strip_prefix("    Starting ")?.split_once(' ')?;
    count(digits).filter(|_| rest.starts_with("tests across ") || rest.starts_with("test across "))
}

struct Status {
    passed: bool,
    starts: bool,
    number: u64,
    announced: u64,
}

/// `        PASS [   0.021s] (1/8) lamp tests::one`
///
/// Words that are not known count as failed; were one of them a success, the summary would contradict.
fn status(line: &str) -> Option<Status> {
    let (word, rest) = entry(line)?;
    let (time, rest) = rest.split_once("] (")?;
    let (number, announced) = rest.split_once(") ")?.0.split_once('/')?;
    let starts = word == "START";
    let is_timed = starts || is_seconds(time);
    let passed =
        ["PASS", "LEAK"].contains(&word) || (word.starts_with("TRY ") && word.ends_with(" PASS"));
    let (number, announced) = (count(number.trim_start())?, count(announced)?);
    (is_timed && !word.starts_with("SETUP")).then_some(Status { passed, starts, number, announced })
}

struct Summary {
    run: u64,
    announced: u64,
    counts: Counts,
}

/// `     Summary [   0.263s] 6/8 tests run: 4 passed (1 slow), 2 failed, 3 skipped`
fn summary(line: &str) -> Option<Summary> {
    let (word, rest) = entry(line)?;
    let (time, rest) = rest.split_once("] ")?;
    let (run, figures) = rest.split_once(" run: ")?;
    let run = run.strip_suffix(" tests").or_else(|| run.strip_suffix(" test"))?;
    let (run, announced) = run.split_once('/').unwrap_or((run, run));
    let (run, announced) = (count(run)?, count(announced)?);
    let (passed, rest) = figures.split_once(" passed")?;
    let (rest, skipped) =
        without_notes(rest)?.strip_suffix(" skipped")?.rsplit_once(", ").map(owned)?;
    let mut failed: u64 = 0;
    for figure in rest.split(", ").filter(|figure| !figure.is_empty()) {
        let (digits, unit) = figure.split_once(' ')?;
        ["failed", "exec failed", "timed out"].contains(&unit).then_some(())?;
        failed = failed.checked_add(count(digits)?)?;
    }
    let counts = Counts { passed: count(passed)?, failed, skipped: count(&skipped)? };
    (word == "Summary" && is_seconds(time)).then_some(Summary { run, announced, counts })
}

fn owned((left, right): (&str, &str)) -> (String, String) {
    (left.to_owned(), right.to_owned())
}

/// The word of a line, which ends in its twelfth column, and what follows the bracket behind it.
fn entry(line: &str) -> Option<(&str, &str)> {
    const COLUMNS: usize = 12;
    let (word, rest) = line.split_once(" [")?;
    (word.len() == COLUMNS).then(|| (word.trim_start(), rest))
}

fn is_seconds(time: &str) -> bool {
    let digits = time.trim_start().strip_suffix('s');
    digits.is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

/// `figures` without what stands in parentheses; none where those do not match.
fn without_notes(figures: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = figures;
    while let Some((before, after)) = rest.split_once(" (") {
        text.push_str(before);
        rest = after.split_once(')')?.1;
    }
    text.push_str(rest);
    Some(text)
}
