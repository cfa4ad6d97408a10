//! The Test Anything Protocol, versions 12 to 14.
//!
//! <https://testanything.org/tap-version-14-specification.html>. The points of the outermost level are counted.
//! Subtests, four columns further in, are checked in the same way, and against the point that closes them.

use super::lines::{count, lines, standard_output};
use super::{Counts, Unreadable};

const INDENT: usize = 4;

pub(super) fn read(output: &str) -> Result<Counts, Unreadable> {
    let output = standard_output(output)?;
    // A cut behind `ok 2` could have taken away ` # SKIP`.
    if !output.ends_with('\n') {
        return Err(Unreadable::new("the last line has no end: the output was broken off"));
    }
    let mut document = Document::default();
    for (number, line) in lines(output) {
        document.line(&line).map_err(|error| error.at(number))?;
    }
    document.end()
}

/// One level of subtests, the outermost among them.
#[derive(Default)]
struct Level {
    counts: Counts,
    plan: Option<u64>,
    /// Whether points stood before the plan; then none may follow.
    plan_is_last: bool,
}

#[derive(Default)]
struct Document {
    outermost: Level,
    /// Open subtests, each inside of the one before.
    subtests: Vec<Level>,
    /// The column in which the YAML under a point began.
    yaml: Option<usize>,
    /// The depth of the point in the line before.
    point: Option<usize>,
    /// Whether anything was read.
    began: bool,
}

impl Document {
    fn line(&mut self, line: &str) -> Result<(), Unreadable> {
        let text = line.trim_start_matches(' ');
        let column = line.len() - text.len();
        if let Some(yaml) = self.yaml {
            if column == yaml && text.trim_end() == "..." {
                self.yaml = None;
            }
            return Ok(());
        }
        let point = self.point.take();
        if text.trim_end() == "---" && point.is_some_and(|depth| column == depth * INDENT + 2) {
            self.yaml = Some(column);
            return Ok(());
        }
        if text.starts_with("Bail out!") {
            return Err(Unreadable::new("the tests gave up: `Bail out!`"));
        }
        let depth = column / INDENT;
        // A line that is no deeper than one level further in, at a column where levels begin.
        if !column.is_multiple_of(INDENT) || depth > self.subtests.len() + 1 {
            return Ok(());
        }
        if depth == 0 && text.starts_with("TAP version ") {
            if std::mem::replace(&mut self.began, true) {
                return Err(Unreadable::inconsistent("a second document begins"));
            }
        } else if let Some(plan) = plan(text) {
            self.began = true;
            self.plan(depth, plan)?;
        } else if let Some(read) = Point::read(text) {
            self.began = true;
            self.point(depth, &read)?;
            self.point = Some(depth);
        }
        Ok(())
    }

    fn plan(&mut self, depth: usize, plan: u64) -> Result<(), Unreadable> {
        if depth < self.subtests.len() {
            return Err(unclosed());
        }
        let level = self.level(depth);
        if level.plan.replace(plan).is_some() {
            return Err(Unreadable::inconsistent("there are two plans `1..N`"));
        }
        level.plan_is_last = level.counts.total() > 0;
        Ok(())
    }

    fn point(&mut self, depth: usize, point: &Point) -> Result<(), Unreadable> {
        if depth < self.subtests.len() {
            self.close(depth, point)?;
        }
        let level = self.level(depth);
        let next = level.counts.total() + 1;
        if level.plan_is_last {
            return Err(Unreadable::inconsistent(
                "a result follows the plan, which stood behind others",
            ));
        }
        if point.number.is_some_and(|number| number != next) {
            let what = format!("a result has another number than {next}, which is due");
            return Err(Unreadable::inconsistent(what));
        }
        let counted = match (point.ok, point.directive) {
            (true, Some(Directive::Skip)) | (false, Some(Directive::Todo)) => {
                &mut level.counts.skipped
            }
            (true, _) => &mut level.counts.passed,
            (false, _) => &mut level.counts.failed,
        };
        *counted += 1;
        Ok(())
    }

    /// Takes away the subtests that `point` closes.
    fn close(&mut self, depth: usize, point: &Point) -> Result<(), Unreadable> {
        let subtests = self.subtests.pop().unwrap_or_default();
        if self.subtests.len() != depth {
            return Err(unclosed());
        }
        let counts = subtests.end()?;
        if counts.failed > 0 && point.ok && point.directive != Some(Directive::Todo) {
            return Err(Unreadable::inconsistent("a test passed, and one of its subtests failed"));
        }
        Ok(())
    }

    /// The level of `depth`, which is at most one further in than what is open.
    fn level(&mut self, depth: usize) -> &mut Level {
        if depth > self.subtests.len() {
            self.subtests.push(Level::default());
        }
        self.subtests.last_mut().unwrap_or(&mut self.outermost)
    }

    fn end(self) -> Result<Counts, Unreadable> {
        if self.yaml.is_some() {
            return Err(Unreadable::new("a diagnostic has no end: the output was broken off"));
        }
        if !self.subtests.is_empty() {
            return Err(unclosed());
        }
        self.outermost.end()
    }
}

fn unclosed() -> Unreadable {
    Unreadable::inconsistent(
        "subtests are not followed by the result of the test that they belong to",
    )
}

impl Level {
    fn end(self) -> Result<Counts, Unreadable> {
        let seen = self.counts.total();
        match self.plan {
            None => {
                let what =
                    "there is no plan `1..N`: these are no results in TAP, or they were broken off";
                Err(Unreadable::new(what))
            }
            Some(plan) if seen < plan => {
                let what =
                    format!("{seen} of {plan} planned tests have a result: the run was broken off");
                Err(Unreadable::new(what))
            }
            Some(plan) if seen > plan => {
                let what = format!("{plan} tests are planned, and {seen} have a result");
                Err(Unreadable::inconsistent(what))
            }
            Some(_) => Ok(self.counts),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Directive {
    Skip,
    Todo,
}

/// `not ok 3 - opens # TODO later`
struct Point {
    ok: bool,
    number: Option<u64>,
    directive: Option<Directive>,
}

impl Point {
    fn read(text: &str) -> Option<Self> {
        let (ok, rest) = match text.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, text.strip_prefix("ok")?),
        };
        (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(())?;
        let rest = rest.trim_start();
        let (word, described) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        let number = count(word);
        let description = if number.is_some() { described } else { rest };
        Some(Self { ok, number, directive: directive(description) })
    }
}

/// What stands behind the first `#` that is not escaped and begins a word.
fn directive(description: &str) -> Option<Directive> {
    let mut before = ' ';
    let mut escaped = false;
    for (at, character) in description.char_indices() {
        if character == '#' && !escaped && before.is_whitespace() {
            let word = description.get(at + 1..)?.trim_start();
            let starts = |name: &str| {
                word.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            };
            return match () {
                () if starts("SKIP") => Some(Directive::Skip),
                () if starts("TODO") => Some(Directive::Todo),
                () => None,
            };
        }
        escaped = character == '\\' && !escaped;
        before = character;
    }
    None
}

/// `1..3` or `1..0 # SKIP no display`
fn plan(text: &str) -> Option<u64> {
    let rest = text.strip_prefix("1..")?;
    let (digits, comment) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let comment = comment.trim();
    count(digits).filter(|_| comment.is_empty() || comment.starts_with('#'))
}
