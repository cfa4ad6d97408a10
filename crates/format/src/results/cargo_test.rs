//! `cargo test`: one block a test program on standard output, one `Running` line for each on standard error.
//!
//! A block announces how many tests there are, then has one line for each, then what failing tests printed, then
//! a summary. The output of tests stands after all single results, so those cannot be imitated where output is
//! captured; the first summary that counts as they do ends the block.

use super::lines::{count, lines};
use super::{Counts, Unreadable};

const NOISY: &str = "run `cargo test` without `--quiet`, `--nocapture` and `--show-output`";

pub(super) fn read(output: &str) -> Result<Counts, Unreadable> {
    let mut run = Run::default();
    for (number, line) in lines(output) {
        run.line(number, &line)?;
    }
    run.end()
}

/// Results of one program, as single lines or its summary count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    counts: Counts,
    measured: u64,
}

impl Tally {
    fn total(self) -> u64 {
        self.counts.total().saturating_add(self.measured)
    }
}

/// A program whose summary was not read yet.
struct Block {
    starts_at: usize,
    announced: u64,
    seen: Tally,
    /// Whether what failing tests printed has begun.
    shows_failures: bool,
}

#[derive(Default)]
struct Run {
    counts: Counts,
    block: Option<Block>,
    blocks: u64,
    /// Programs that cargo says it runs.
    programs: u64,
    /// Packages whose documentation cargo says it tests, in one block or more.
    documentations: u64,
}

impl Run {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Unreadable> {
        let Some(block) = &mut self.block else {
            return self.between(number, line);
        };
        if let Some(summary) = summary(line) {
            if block.is_closed_by(summary, number)? {
                self.counts.add(summary.counts);
                self.blocks += 1;
                self.block = None;
            }
        } else if !block.shows_failures {
            block.result(number, line)?;
        }
        Ok(())
    }

    /// A line that belongs to no test program.
    fn between(&mut self, number: usize, line: &str) -> Result<(), Unreadable> {
        if let Some(announced) = header(line) {
            let seen = Tally::default();
            self.block = Some(Block { starts_at: number, announced, seen, shows_failures: false });
        } else if summary(line).is_some() || result(line).is_some() {
            let what = "a result stands outside of the test programs' blocks `running N tests`";
            return Err(Unreadable::inconsistent(what).at(number).help(NOISY));
        } else if is_program(line) {
            self.programs += 1;
        } else if line.starts_with("   Doc-tests ") {
            self.documentations += 1;
        }
        Ok(())
    }

    fn end(self) -> Result<Counts, Unreadable> {
        if let Some(block) = self.block {
            return Err(block.broken_off());
        }
        if self.blocks == 0 {
            return Err(Unreadable::new("no test program ran: there is no line `running N tests`"));
        }
        let named = self.programs + self.documentations;
        if named == 0 {
            let what = "cargo's own lines `Running …` are missing, so whether all programs are here is not known";
            return Err(Unreadable::new(what).help(
                "keep standard error, and run `cargo test` without `--quiet` and `--verbose`",
            ));
        }
        if self.blocks < named || (self.documentations == 0 && self.blocks > named) {
            let what =
                format!("cargo names {named} test programs, and {} have results", self.blocks);
            return Err(Unreadable::inconsistent(what).help(
                "a target with `harness = false` cannot be counted: choose others with `--lib`, `--bins` or `--test`",
            ));
        }
        Ok(self.counts)
    }
}

impl Block {
    /// A line before what failing tests printed.
    fn result(&mut self, number: usize, line: &str) -> Result<(), Unreadable> {
        let is_complete = self.seen.total() == self.announced;
        match result(line) {
            Some(_) if is_complete => {
                let what = format!(
                    "there are more results than the {} that are announced",
                    self.announced
                );
                return Err(Unreadable::inconsistent(what).at(number).help(NOISY));
            }
            Some(Outcome::Passed) => self.seen.counts.passed += 1,
            Some(Outcome::Failed) => self.seen.counts.failed += 1,
            Some(Outcome::Ignored) => self.seen.counts.skipped += 1,
            Some(Outcome::Measured) => self.seen.measured += 1,
            // What passing tests printed can be anything.
            None if is_complete && line == "successes:" => {
                let what = "the output of passing tests stands among the results";
                return Err(Unreadable::new(what).at(number).help(NOISY));
            }
            None if is_complete && line == "failures:" => {
                self.shows_failures = self.seen.counts.failed > 0;
            }
            None if header(line).is_some() => return Err(self.broken_off()),
            None => {}
        }
        Ok(())
    }

    /// Whether `summary` is that of this block and not one that a failing test printed.
    fn is_closed_by(&self, summary: Tally, number: usize) -> Result<bool, Unreadable> {
        if summary == self.seen && summary.total() == self.announced {
            return Ok(true);
        }
        if self.shows_failures {
            return Ok(false);
        }
        let what = format!(
            "a test program announces {} tests, its lines give {} results and its summary {}",
            self.announced,
            self.seen.total(),
            summary.total(),
        );
        Err(Unreadable::inconsistent(what).at(number).help(NOISY))
    }

    fn broken_off(&self) -> Unreadable {
        Unreadable::new(
            "a test program has no summary that fits its results: it or its output was broken off",
        )
        .at(self.starts_at)
    }
}

enum Outcome {
    Passed,
    Failed,
    Ignored,
    Measured,
}

/// `running 3 tests`
fn header(line: &str) -> Option<u64> {
    let (digits, unit) = line.strip_prefix("running ")?.split_once(' ')?;
    count(digits).filter(|&number| unit == if number == 1 { "test" } else { "tests" })
}

/// `test NAME ... ok`
fn result(line: &str) -> Option<Outcome> {
    let (_, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some(match outcome {
        "ok" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        "ignored" => Outcome::Ignored,
        _ if outcome.starts_with("ignored, ") => Outcome::Ignored,
        _ if outcome.starts_with("bench: ") => Outcome::Measured,
        _ => return None,
    })
}

/// `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn summary(line: &str) -> Option<Tally> {
    let (verdict, figures) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut parts = figures.split("; ");
    let mut figure = |unit: &str| count(parts.next()?.strip_suffix(unit)?.strip_suffix(' ')?);
    let (passed, failed, skipped) = (figure("passed")?, figure("failed")?, figure("ignored")?);
    let measured = figure("measured")?;
    figure("filtered out")?;
    let is_told = verdict == if failed == 0 { "ok" } else { "FAILED" };
    is_told.then_some(Tally { counts: Counts { passed, failed, skipped }, measured })
}

/// `     Running tests/open.rs (target/debug/deps/open-1f2e3d)`; with `--verbose` cargo writes the same word
/// before the compiler's commands, in back quotes.
fn is_program(line: &str) -> bool {
    line.strip_prefix("     Running ").is_some_and(|program| {
        program.ends_with(')') && program.contains(" (") && !program.starts_with('`')
    })
}
