//! How well a skill will serve: what its author can do better, and what other skills and programs
//! will make of it.
//!
//! Reading ([`crate::skill::parse`]) says what is broken; this says what works and could work
//! better, so no finding here is an error and none keeps a skill from being used. Each rule would
//! rather miss a case than call a good skill bad: rules about words fire on phrases, not on single
//! words, and rules about files only where a path can be nothing but a file of the skill.
//!
//! ```
//! use concertina_format::{lint, skill::{Mode, Origin, parse}};
//! let file = b"---\nname: tides\ndescription: Helps with things.\n---\nSee [tables](tables.md).\n";
//! let parsed = parse(file, Origin { directory: "tides", file: "SKILL.md" }, Mode::Lenient);
//! let files = ["SKILL.md".to_owned()];
//! let found = lint::lint(parsed.document.as_ref().unwrap(), parsed.body(), &files);
//! assert!(found.iter().any(|found| found.code == "DESCRIPTION_VAGUE" && found.line == Some(3)));
//! assert!(found.iter().any(|found| found.code == "REFERENCE_MISSING" && found.line == Some(5)));
//! ```

mod body;
mod clients;
mod contract;
mod danger;
mod description;
mod likeness;
mod names;
mod outline;
mod phrases;
mod references;
mod shadow;
mod synonyms;
mod tools;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use concertina_types::{Diagnostic, LineIndex, Position};

use crate::skill::Document;
use crate::skill::codes::Code;
pub use likeness::{Pair, SIMILAR, Summary, compare};
use outline::Outline;
pub use shadow::{Claimed, Shadow, shadows};
pub use synonyms::{SYNONYMS, Synonyms, synonyms};
pub use tools::{TOOL_DESCRIPTION_CHARS, Tool, ToolFinding, lint_tools};

/// Looks at one skill. `body` is the body of `document`; `files` are the paths of the files beside
/// SKILL.md, SKILL.md itself among them, relative to its directory and separated by `/`. Where
/// `files` is empty they are not known, and no reference is called missing.
///
/// The findings stand in the order of the file; those about the whole of it come last.
pub fn lint(document: &Document, body: &str, files: &[String]) -> Vec<Diagnostic> {
    let outline = Outline::of(body);
    let mut report = Report::new(document, body);
    description::look(document, &mut report);
    names::look(document, &mut report);
    contract::look(document, &outline, &mut report);
    body::look(document, &outline, &mut report);
    danger::look(document, &outline, &mut report);
    references::look(&outline, files, &mut report);
    clients::look(document, &mut report);
    report.finish()
}

/// Findings of one code in one document; the rest is counted.
const SHOWN: usize = 20;

/// The findings so far. Places in the body become places in the file here.
struct Report<'a> {
    document: &'a Document,
    body: &'a str,
    lines: LineIndex,
    found: Vec<Diagnostic>,
    counts: BTreeMap<&'static str, usize>,
}

impl<'a> Report<'a> {
    fn new(document: &'a Document, body: &'a str) -> Self {
        Self {
            document,
            body,
            lines: LineIndex::new(body),
            found: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// A finding about the whole document.
    fn whole(&mut self, code: Code, message: impl Into<String>) {
        self.add(code, None, message);
    }

    /// A finding about the description.
    fn description(&mut self, code: Code, message: impl Into<String>) {
        self.add(code, self.document.places.description, message);
    }

    /// A finding about the name.
    fn name(&mut self, code: Code, message: impl Into<String>) {
        self.add(code, self.document.places.name, message);
    }

    /// A finding about the byte `at` of the body.
    fn body(&mut self, code: Code, at: usize, message: impl Into<String>) {
        let mut position = self.lines.position(self.body, at);
        position.line += self.document.places.body.max(1) - 1;
        self.add(code, Some(position), message);
    }

    fn add(&mut self, code: Code, position: Option<Position>, message: impl Into<String>) {
        let count = self.counts.entry(code.as_str()).or_default();
        *count += 1;
        if *count > SHOWN {
            return;
        }
        let found = Diagnostic::new(code.as_str(), code.severity(), message).help(code.help());
        self.found.push(match position {
            Some(position) => found.at(position),
            None => found,
        });
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        for found in self.found.iter_mut().rev() {
            // The last of a code that was counted further tells the rest.
            if let Some(more) = self
                .counts
                .remove(found.code.as_ref())
                .and_then(|n| n.checked_sub(SHOWN))
                .filter(|more| *more > 0)
            {
                let _ = write!(found.message, "; {more} more of this kind are not shown");
            }
        }
        self.found.sort_by_key(|found| (found.line.unwrap_or(u32::MAX), found.column));
        self.found
    }
}
