//! What the test programs of `cargo test -- --show-output` say, added up.

use std::fmt;

/// How many tests did what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Reads the output line by line: counts, collects skips, and says which lines are worth showing.
///
/// A test that cannot run here prints `skipped: NAME: REASON` and returns. The test program counts
/// it as passed; here it is skipped.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    counted: Tally,
    section: Section,
    test: Option<String>,
    skips: Vec<(String, String)>,
}

/// Where in the report of one test program the reader stands. Tests may print anything, so a count
/// is only taken where the program itself speaks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Running,
    SuccessOutput,
    SuccessNames,
    FailureOutput,
    FailureNames,
}

impl Reader {
    /// Takes one line; true when it is worth showing.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        use Section::{FailureNames, FailureOutput, Running, SuccessNames, SuccessOutput};
        self.section = match (self.section, line) {
            (Running, "successes:") => SuccessOutput,
            (SuccessOutput, "successes:") => SuccessNames,
            (Running | SuccessNames, "failures:") => FailureOutput,
            (FailureOutput, "failures:") => FailureNames,
            (section, _) => section,
        };
        match self.section {
            SuccessOutput => {
                self.success_output(line);
                false
            }
            FailureOutput => true,
            Running | SuccessNames | FailureNames => {
                let Some(tally) = result(line) else { return self.section != SuccessNames };
                self.counted.passed += tally.passed;
                self.counted.failed += tally.failed;
                self.counted.skipped += tally.skipped;
                self.section = Running;
                self.test = None;
                true
            }
        }
    }

    fn success_output(&mut self, line: &str) {
        if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            self.test = Some(name.to_owned());
        } else if let Some(reason) = line.strip_prefix("skipped: ")
            && let Some(test) = self.test.take()
        {
            // Taking the name counts a test once, however many reasons it gives.
            self.skips.push((test, reason.to_owned()));
        }
    }

    /// The tests that could not run, each with what it printed.
    pub(crate) fn skips(&self) -> &[(String, String)] {
        &self.skips
    }

    /// The counts so far.
    pub(crate) fn tally(&self) -> Tally {
        Tally {
            passed: self.counted.passed.saturating_sub(self.skips.len()),
            failed: self.counted.failed,
            skipped: self.counted.skipped + self.skips.len(),
        }
    }
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`
fn result(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| {
        let number = counts.split("; ").find_map(|part| part.strip_suffix(what))?;
        number.trim().parse().ok()
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
}

#[cfg(test)]
mod test {
    use super::*;

    fn read(text: &str) -> (String, Reader) {
        let mut reader = Reader::default();
        let shown = text.lines().filter(|line| reader.line(line)).collect::<Vec<_>>().join("\n");
        (shown, reader)
    }

    const PASSING: &str = "running 3 tests
test a ... ok
test b ... ok
test c ... ignored

successes:

---- a stdout ----
skipped: a: CONCERTINA_CORPUS is not set
skipped: a: and more
test result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
noise

successes:
    a
    b

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn skipped_tests_are_not_passed() {
        let (shown, reader) = read(PASSING);
        assert_eq!(reader.tally().to_string(), "1 passed, 0 failed, 2 skipped");
        let skip = ("a".to_owned(), "a: CONCERTINA_CORPUS is not set".to_owned());
        assert_eq!(reader.skips(), [skip]);
        assert!(!shown.contains("noise") && !shown.contains("99 passed"), "{shown}");
        assert!(shown.contains("test b ... ok") && shown.contains("2 passed"), "{shown}");
    }

    #[test]
    fn failures_are_shown_in_full() {
        let text = "running 2 tests
test a ... ok
test b ... FAILED

successes:

successes:
    a

failures:

---- b stdout ----
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
boom

failures:
    b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        let (shown, reader) = read(text);
        assert_eq!(reader.tally(), Tally { passed: 1, failed: 1, skipped: 0 });
        assert!(shown.contains("boom"), "{shown}");
    }

    #[test]
    fn programs_add_up() {
        let (_, reader) = read(&PASSING.repeat(2));
        assert_eq!(reader.tally().to_string(), "2 passed, 0 failed, 4 skipped");
        assert_eq!(read("nothing").1.tally(), Tally::default());
    }
}
