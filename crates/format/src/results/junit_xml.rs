//! One report in the XML of JUnit.
//!
//! There is no standard, only what writers agree on: `testcase` with `failure`, `error` or `skipped` inside,
//! `testsuite` with totals in its attributes. Totals are compared with what the suite holds wherever they are
//! given. A suite that holds suites counts them in one way or another, so there only none and some are told apart.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::lines::{count, ends_here};
use super::{Counts, Unreadable};

/// Reports nest a handful of elements; what is open takes memory.
const DEPTH: usize = 64;

pub(super) fn read(output: &str) -> Result<Counts, Unreadable> {
    let text = output.strip_prefix('\u{feff}').unwrap_or(output);
    let mut reader = Reader::from_str(text);
    let mut report = Report::default();
    loop {
        let step =
            reader.read_event().map_err(|_| malformed()).and_then(|event| report.event(&event));
        let position = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
        match step {
            Err(error) => return Err(error.at(line_of(text, position))),
            Ok(Some(counts)) if text.get(position..).is_some_and(ends_here) => return Ok(counts),
            Ok(Some(_)) => {
                let what = "something follows the report";
                return Err(Unreadable::new(what).at(line_of(text, position)));
            }
            Ok(None) => {}
        }
    }
}

fn line_of(text: &str, position: usize) -> usize {
    text.bytes().take(position).filter(|byte| *byte == b'\n').count() + 1
}

fn malformed() -> Unreadable {
    Unreadable::new("this is no well-formed XML")
}

/// What was found in an element, with all that is inside of it.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    cases: u64,
    failures: u64,
    errors: u64,
    skips: u64,
    counts: Counts,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skips += other.skips;
        self.counts.add(other.counts);
    }

    fn mark(&mut self, name: &str) {
        match name {
            "failure" => self.failures += 1,
            "error" => self.errors += 1,
            "skipped" => self.skips += 1,
            _ => {}
        }
    }
}

/// The totals that a suite gives in its attributes.
#[derive(Debug, Default)]
struct Totals {
    tests: Option<u64>,
    failures: Option<u64>,
    errors: Option<u64>,
    skipped: Option<u64>,
}

impl Totals {
    /// Whether `found` is what they say, or where they are not `exact` whether both are none or some.
    fn fit(&self, found: &Found, exact: bool) -> bool {
        let fits = |total: Option<u64>, found: u64| {
            total.is_none_or(
                |total| if exact { total == found } else { (total == 0) == (found == 0) },
            )
        };
        fits(self.tests, found.cases)
            && fits(self.failures, found.failures)
            && fits(self.errors, found.errors)
            && fits(self.skipped, found.skips)
    }
}

#[derive(Debug)]
enum Element {
    /// `testsuites`.
    List(Totals, Found),
    /// `testsuite`.
    Suite {
        totals: Totals,
        found: Found,
        holds_suites: bool,
    },
    /// `testcase`; some writers say in its `status` alone that it did not run.
    Case {
        found: Found,
        not_run: bool,
    },
    Other,
}

#[derive(Debug, Default)]
struct Report {
    open: Vec<Element>,
}

impl Report {
    /// The counts, once the root is closed.
    fn event(&mut self, event: &Event<'_>) -> Result<Option<Counts>, Unreadable> {
        match event {
            Event::Start(start) => self.start(start)?,
            Event::Empty(start) => {
                self.start(start)?;
                return self.end();
            }
            Event::End(_) => return self.end(),
            Event::DocType(_) => return Err(Unreadable::new("document types are not read")),
            Event::GeneralRef(entity) if !is_known(entity) => {
                return Err(Unreadable::new("only the five entities of XML itself are read"));
            }
            Event::Eof if self.open.is_empty() => {
                return Err(Unreadable::new("there is no report"));
            }
            Event::Eof => {
                return Err(Unreadable::new("the report has no end: it was broken off"));
            }
            Event::Text(text) if self.open.is_empty() && !text.trim().is_empty() => {
                return Err(Unreadable::new("something precedes the report"));
            }
            Event::CData(_) if self.open.is_empty() => return Err(malformed()),
            _ => {}
        }
        Ok(None)
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Unreadable> {
        if self.open.len() >= DEPTH {
            return Err(Unreadable::new(format!(
                "more than {DEPTH} elements are inside of each other"
            )));
        }
        let (totals, not_run) = attributes(start)?;
        let found = Found::default();
        let name = start.local_name();
        let element = match (name.as_ref(), self.open.last_mut()) {
            ("testsuites", None) => Element::List(totals, found),
            ("testsuite", None | Some(Element::List(..))) => {
                Element::Suite { totals, found, holds_suites: false }
            }
            ("testsuite", Some(Element::Suite { holds_suites, .. })) => {
                *holds_suites = true;
                Element::Suite { totals, found, holds_suites: false }
            }
            ("testcase", Some(Element::List(..) | Element::Suite { .. })) => {
                Element::Case { found, not_run }
            }
            ("testsuites" | "testsuite" | "testcase", _) => {
                return Err(Unreadable::new("a suite or a test case stands where none belongs"));
            }
            (_, None) => {
                return Err(Unreadable::new(
                    "this is no report of tests: its root is another element",
                ));
            }
            (mark, Some(Element::List(_, found) | Element::Suite { found, .. })) => {
                // A suite that could not be set up.
                found.counts.failed += u64::from(["failure", "error"].contains(&mark));
                found.mark(mark);
                Element::Other
            }
            (mark, Some(Element::Case { found, .. })) => {
                found.mark(mark);
                Element::Other
            }
            (_, Some(Element::Other)) => Element::Other,
        };
        self.open.push(element);
        Ok(())
    }

    fn end(&mut self) -> Result<Option<Counts>, Unreadable> {
        let found = match self.open.pop() {
            None => return Err(malformed()),
            Some(Element::Other) => return Ok(None),
            Some(Element::Case { mut found, not_run }) => {
                let counted = match found {
                    Found { failures: 1.., .. } | Found { errors: 1.., .. } => {
                        &mut found.counts.failed
                    }
                    Found { skips: 1.., .. } => &mut found.counts.skipped,
                    _ if not_run => &mut found.counts.skipped,
                    _ => &mut found.counts.passed,
                };
                *counted += 1;
                found.cases = 1;
                found
            }
            Some(Element::List(totals, found)) => fitting(&totals, found, true)?,
            Some(Element::Suite { totals, found, holds_suites }) => {
                fitting(&totals, found, !holds_suites)?
            }
        };
        match self.open.last_mut() {
            None => Ok(Some(found.counts)),
            Some(Element::List(_, outer) | Element::Suite { found: outer, .. }) => {
                outer.add(found);
                Ok(None)
            }
            Some(Element::Case { .. } | Element::Other) => Err(malformed()),
        }
    }
}

fn fitting(totals: &Totals, found: Found, exact: bool) -> Result<Found, Unreadable> {
    if totals.fit(&found, exact) {
        return Ok(found);
    }
    Err(Unreadable::inconsistent("the totals of a suite are not those of its test cases"))
}

fn attributes(start: &BytesStart<'_>) -> Result<(Totals, bool), Unreadable> {
    let mut totals = Totals::default();
    let mut not_run = false;
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| malformed())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| malformed())?;
        let total = match attribute.key.as_ref() {
            "tests" => &mut totals.tests,
            "failures" => &mut totals.failures,
            "errors" => &mut totals.errors,
            "skipped" => &mut totals.skipped,
            "status" => {
                not_run = value == "notrun";
                continue;
            }
            _ => continue,
        };
        *total = count(&value);
        // Only suites have totals; other elements may use the words for something else.
        let is_suite = start.local_name().as_ref().starts_with("testsuite");
        if total.is_none() && is_suite {
            return Err(Unreadable::new("a total of a suite is no count"));
        }
    }
    Ok((totals, not_run))
}

fn is_known(entity: &BytesRef<'_>) -> bool {
    resolve_xml_entity(entity).is_some()
        || entity.resolve_char_ref().is_ok_and(|resolved| resolved.is_some())
}
