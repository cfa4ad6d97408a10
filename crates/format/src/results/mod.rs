//! Facts from what a tool produced: the closed list of ways to read it.
//!
//! A receipt carries the facts, and conditions such as `expect: {failed: 0, passed: ">=1"}` judge them. So a
//! parser never guesses: it gives figures that the text proves as far as its format allows, or it says why not.
//!
//! | parser | reads | fields | refuses |
//! |---|---|---|---|
//! | `exit` | the exit code, nothing else | `exit` | |
//! | `cargo-test` | `cargo test` with libtest's usual lines, and what cargo writes beside them | the five | a program without `running N tests`, with more or fewer results than that, or whose summary counts otherwise; more or fewer programs than cargo's `Running` lines; `--quiet`, `--nocapture`, `--show-output`, `--verbose` |
//! | `nextest` | `cargo nextest run` with its counters `(3/8)` | the five | lines that are not numbered one after another; a summary that counts otherwise; a run that was broken off without a failure; `--no-capture` |
//! | `pytest` | pytest's screen, usual, `-v` or `-q` | the five | output whose last line is not the summary; a summary with more or fewer tests than were collected (with `-q`: than the dots say); two runs, also where a test printed what looks like one; `-qq`, `-s` |
//! | `junit-xml` | one JUnit report and nothing else | the five | text that is no well-formed XML to its end; document types and entities; totals of a suite that are not those of its test cases |
//! | `tap` | TAP 12 to 14 | the five | no plan, two plans, other numbers than `1..N` in order; a failure inside of a subtest that passed; `Bail out!`; a last line without its end |
//! | `go-test-json` | `go test -json` | the five | a line that is no event; a test that ends without a start or twice; a package without an end, with two starts, or one that passed with a test that did not |
//! | `json-path` | one JSON value | its own keys, and `exit` | a path that leads nowhere or to a list, an object or `null`; numbers with a fraction |
//!
//! The five are `exit`, `passed`, `failed`, `skipped` and `total`, summed over all programs, suites and packages;
//! `total` is the sum of the three before it.
//!
//! - Errors count as failed: errors of pytest and JUnit, programs that did not start, packages of Go that did
//!   not build, an `xfail(strict)` that passed.
//! - What was left out counts as skipped: ignored, skipped, expected to fail and did (`xfail`, TAP's `not ok # TODO`).
//!   What never was part of the run is not counted: tests filtered out, deselected, not reached after a failure.
//! - Benchmarks are neither passed nor failed.
//! - A run without tests is read, and says `passed` 0. An output in which there is no sign of a run is not.
//! - TAP counts the points of the outermost level, Go every subtest beside its parent.
//! - The exit code is a fact beside the others: it is reported as it is where it seems to contradict them, and
//!   a condition names both.
//!
//! Colours and CRLF are taken away. The output ends with what the tool wrote on standard error, under a line
//! [`STANDARD_ERROR`].
//!
//! # What a text cannot prove
//!
//! A test is a program, and what it prints on the stream of the test runner can imitate the runner. Captured
//! output, the usual case, cannot change the figures of any parser from failing to passing: the parsers check
//! summaries against headers and single lines, and take what does not fit for a contradiction. But a test that
//! ends the whole process after it printed a complete and consistent report is not told from a real one in
//! `cargo-test`, `pytest` and `tap`, nor is a test that drives the markers of `go test`. Where the tests are
//! not trusted, take a runner that has a process of its own (`nextest`) or whose report is a file that is
//! printed afterwards (`junit-xml`), and always expect `exit: 0` beside the figures.
//!
//! Go prints no summary of the whole run, so the events of a package that were lost as a whole are not missed.
//! A caller that knows that bytes of the output were dropped refuses it before it is read.

use std::collections::BTreeMap;

use concertina_types::FieldValue;
use serde::Serialize;

mod cargo_test;
mod exit;
mod go_test_json;
mod json_path;
mod junit_xml;
mod lines;
mod nextest;
mod pytest;
mod tap;
mod unreadable;

pub use json_path::{JsonPath, JsonPathError};
pub use lines::{STANDARD_ERROR, holds_standard_error};
pub use unreadable::Unreadable;

/// How the output of a tool is read: a closed list.
///
/// ```
/// use concertina_format::results::ResultParser;
/// use concertina_types::FieldValue;
///
/// let tap = ResultParser::named("tap").ok_or("unknown")?;
/// let fields = tap.read(0, "1..2\nok 1 - opens\nok 2 - closes # SKIP no door\n")?;
/// assert_eq!(fields["passed"], FieldValue::Number(1));
/// assert_eq!(fields["skipped"], FieldValue::Number(1));
/// assert_eq!(tap.read(0, "1..2\nok 1 - opens\n").unwrap_err().code(), "RESULT_UNREADABLE");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultParser {
    /// The exit code alone.
    Exit,
    /// The lines of `cargo test`.
    CargoTest,
    /// The lines of `cargo nextest run`.
    Nextest,
    /// The screen of pytest.
    Pytest,
    /// A report in the XML of JUnit.
    JunitXml,
    /// The Test Anything Protocol.
    Tap,
    /// The events of `go test -json`.
    GoTestJson,
    /// Single values of a JSON text, by the names of the fields that they become.
    JsonPath(BTreeMap<String, JsonPath>),
}

impl ResultParser {
    /// The names of all parsers.
    pub const NAMES: [&str; 8] = [
        "exit",
        "cargo-test",
        "nextest",
        "pytest",
        "junit-xml",
        "tap",
        "go-test-json",
        "json-path",
    ];

    /// The parser of this name; `json-path` has no fields of its own yet.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "exit" => Self::Exit,
            "cargo-test" => Self::CargoTest,
            "nextest" => Self::Nextest,
            "pytest" => Self::Pytest,
            "junit-xml" => Self::JunitXml,
            "tap" => Self::Tap,
            "go-test-json" => Self::GoTestJson,
            "json-path" => Self::JsonPath(BTreeMap::new()),
            _ => return None,
        })
    }

    /// Its name, as settings write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::CargoTest => "cargo-test",
            Self::Nextest => "nextest",
            Self::Pytest => "pytest",
            Self::JunitXml => "junit-xml",
            Self::Tap => "tap",
            Self::GoTestJson => "go-test-json",
            Self::JsonPath(_) => "json-path",
        }
    }

    /// The fields that it yields, `exit` first.
    pub fn fields(&self) -> Vec<&str> {
        let own: Vec<&str> = match self {
            Self::Exit => Vec::new(),
            Self::JsonPath(paths) => paths.keys().map(String::as_str).collect(),
            _ => Counts::FIELDS.to_vec(),
        };
        std::iter::once(exit::FIELD)
            .chain(own.into_iter().filter(|name| *name != exit::FIELD))
            .collect()
    }

    /// Whether the field `name`, one of [`Self::fields`], is a number whatever the output says.
    pub fn is_number(&self, name: &str) -> bool {
        name == exit::FIELD || !matches!(self, Self::JsonPath(_))
    }

    /// Whether it counts tests.
    pub fn counts_tests(&self) -> bool {
        !matches!(self, Self::Exit | Self::JsonPath(_))
    }

    /// What `output` says, of a tool that ended with `exit`.
    ///
    /// The time that it takes grows with the length of the output and no faster.
    ///
    /// # Errors
    ///
    /// Where the figures cannot be relied on: see the table of the module.
    pub fn read(
        &self,
        exit: i32,
        output: &str,
    ) -> Result<BTreeMap<String, FieldValue>, Unreadable> {
        let mut fields = match self {
            Self::Exit => BTreeMap::new(),
            Self::CargoTest => cargo_test::read(output)?.fields(),
            Self::Nextest => nextest::read(output)?.fields(),
            Self::Pytest => pytest::read(output)?.fields(),
            Self::JunitXml => junit_xml::read(output)?.fields(),
            Self::Tap => tap::read(output)?.fields(),
            Self::GoTestJson => go_test_json::read(output)?.fields(),
            Self::JsonPath(paths) => json_path::read(paths, output)?,
        };
        fields.insert(exit::FIELD.to_owned(), exit::read(exit));
        Ok(fields)
    }
}

/// What became of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    const FIELDS: [&str; 4] = ["passed", "failed", "skipped", "total"];

    fn total(self) -> u64 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }

    fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }

    fn fields(self) -> BTreeMap<String, FieldValue> {
        let values = [self.passed, self.failed, self.skipped, self.total()];
        Self::FIELDS
            .into_iter()
            .zip(values)
            .map(|(name, count)| (name.to_owned(), i64::try_from(count).unwrap_or(i64::MAX).into()))
            .collect()
    }
}
