//! SKILL.md: bytes in, a document and findings out.
//!
//! Reading goes in steps, each in a file of its own: bytes to text (`decode`), text to
//! frontmatter and body (`fence`), frontmatter to keys (`frontmatter`: as YAML where it is,
//! else cut into keys by `lines` and read one at a time by `repair`), keys to a document
//! (`typed`). What is found on the way has a code of the table in [`codes`].

pub mod codes;
mod decode;
mod document;
mod fence;
mod findings;
mod foreign;
mod frontmatter;
mod keys;
mod lines;
mod lint;
mod permissions;
mod quotes;
mod repair;
mod sections;
mod shapes;
mod simple;
mod split;
mod swallowed;
mod typed;

use concertina_types::{Diagnostic, Digest, LineIndex, Span, limits};

use codes::{Code, Effect};
pub use document::{Document, Example, Mode, Origin, Parameter, Places, Requirement, Status};
use fence::{Found, Layout};
use findings::Findings;
pub use sections::{Section, first_paragraph, sections};
pub(crate) use shapes::pattern_fault;

/// A document and what was found while reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// What the file says; `None` where nothing of it can be used.
    pub document: Option<Document>,
    /// The decoded text that spans refer to: UTF-8, lines ended by `\n`.
    pub text: String,
    /// Where the frontmatter is in `text`, without its fences; `None` where there is none or the
    /// file was rejected.
    pub frontmatter: Option<Span>,
    /// What was found, in the order of the file; findings about the whole of it come last.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// The instructions below the frontmatter; empty where the file was rejected.
    pub fn body(&self) -> &str {
        self.document.as_ref().map_or("", |document| document.body.of(&self.text))
    }

    /// How the document came to be usable, or that it did not.
    pub fn status(&self) -> Status {
        self.document.as_ref().map_or(Status::Rejected, |document| document.status)
    }
}

/// What the beginning of a file tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Head {
    /// The frontmatter is not complete: read further and ask again.
    NeedMore,
    /// What could be read, without the body.
    Parsed(Box<Parsed>),
}

/// The keys of a frontmatter that mean something, spelled as in the documentation.
pub fn known_keys() -> impl Iterator<Item = &'static str> {
    keys::Key::ALL.iter().map(|key| key.canonical())
}

/// Reads a whole SKILL.md.
///
/// ```
/// use concertina_format::skill::{Mode, Origin, Status, parse};
/// let file = b"---\nname: tides\ndescription: Reads tables. Use when: asked\n---\nLook it up.\n";
/// let parsed = parse(file, Origin { directory: "tides", file: "SKILL.md" }, Mode::Lenient);
/// let document = parsed.document.as_ref().unwrap();
/// assert_eq!(document.description.as_deref(), Some("Reads tables. Use when: asked"));
/// assert_eq!(document.status, Status::Repaired);
/// assert_eq!(parsed.diagnostics[0].code, "UNQUOTED_COLON");
/// assert_eq!(parsed.body(), "Look it up.\n");
/// ```
pub fn parse(bytes: &[u8], origin: Origin<'_>, mode: Mode) -> Parsed {
    match read(bytes, Extent::Whole, origin, mode) {
        Head::Parsed(parsed) => *parsed,
        // A whole file has no more to give.
        Head::NeedMore => rejected(Findings::default(), String::new(), mode),
    }
}

/// Reads the beginning of a SKILL.md, for an index that never reads bodies.
///
/// `bytes` is a prefix of the file, all of it where `complete`; of a longer file, fewer than 515
/// bytes are never enough, because they do not tell its encoding. The document is the one that
/// [`parse`] gives, except that its body is empty, its digest is that of `bytes`, and findings
/// about the body are missing.
pub fn parse_head(bytes: &[u8], complete: bool, origin: Origin<'_>, mode: Mode) -> Head {
    read(bytes, Extent::Head { complete }, origin, mode)
}

/// How much of a file is at hand, and how much of it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Head { complete: bool },
}

impl Extent {
    const fn complete(self) -> bool {
        matches!(self, Self::Whole | Self::Head { complete: true })
    }
}

/// Bytes of a prefix beyond which nothing more is asked for: a frontmatter in UTF-16, what may
/// stand before it, and the first paragraph below it.
const HEAD_BYTES: usize = 4 * limits::FRONTMATTER_BYTES;

fn read(bytes: &[u8], extent: Extent, origin: Origin<'_>, mode: Mode) -> Head {
    let mut findings = Findings::default();
    let parsed = |parsed| Head::Parsed(Box::new(parsed));
    if bytes.len() as u64 > limits::SKILL_BYTES {
        let message =
            format!("the file has {} bytes; the limit is {}", bytes.len(), limits::SKILL_BYTES);
        findings.add(Code::FileTooLarge, None, message);
        return parsed(rejected(findings, String::new(), mode));
    }
    let complete = extent.complete() || bytes.len() >= HEAD_BYTES;
    if !complete && bytes.len() < decode::DECISIVE {
        return Head::NeedMore;
    }
    let Some(text) = decode::text(bytes, complete, &mut findings) else {
        return parsed(rejected(findings, String::new(), mode));
    };
    if text.trim().is_empty() {
        if !complete {
            return Head::NeedMore;
        }
        findings.add(Code::FileEmpty, None, "the file is empty".to_owned());
        return parsed(rejected(findings, text, mode));
    }
    let layout = match fence::find(&text, complete, &mut findings) {
        Found::Layout(layout) => layout,
        Found::NeedMore => return Head::NeedMore,
        Found::TooLarge => {
            let message =
                format!("the frontmatter is larger than {} bytes", limits::FRONTMATTER_BYTES);
            findings.add(Code::FrontmatterTooLarge, 0, message);
            return parsed(rejected(findings, text, mode));
        }
    };
    let (text, layout) = without_hidden(text, layout, &mut findings);
    let mut document = typed::blank(Digest::of(bytes));
    let mut places = typed::Offsets::default();
    if let Some((span, language)) = layout.frontmatter {
        let Some(fields) = frontmatter::read(&text, span, language, &mut findings) else {
            return parsed(rejected(findings, text, mode));
        };
        places = typed::fill(&mut document, fields, &text, &mut findings);
    } else {
        let message = "there is no frontmatter; name and description are derived";
        findings.add(Code::NoFrontmatter, 0, message.to_owned());
    }
    let body = layout.body.of(&text);
    if document.name.is_empty() {
        document.name = typed::default_name(origin);
        document.derived = true;
        if layout.frontmatter.is_some() {
            let message = format!("there is no usable name; `{}` is used", document.name);
            findings.add(Code::NameMissing, None, message);
        }
    }
    if document.description.is_none() {
        if !complete && !paragraph_complete(body) {
            return Head::NeedMore;
        }
        document.derived = true;
        document.description = first_paragraph(body);
        if document.description.is_none() {
            let message = "there is no description anywhere; only a person can open the skill";
            findings.add(Code::NoDescription, None, message.to_owned());
        } else if layout.frontmatter.is_some() {
            let message = "there is no description; the first paragraph of the body is used";
            findings.add(Code::DescriptionMissing, None, message.to_owned());
        }
    }
    if extent == Extent::Whole {
        document.body = layout.body;
        look_at_body(body, layout, &mut findings);
    }
    let position = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        LineIndex::new(before).position(before, at)
    };
    document.places = Places {
        name: places.name.map(position),
        description: places.description.map(position),
        body: if extent == Extent::Whole { position(layout.body.start).line } else { 0 },
    };
    lint::look(&document, origin, places, &mut findings);
    document.status = if findings.any(Effect::Repair) {
        Status::Repaired
    } else if document.derived {
        Status::Derived
    } else {
        Status::Ok
    };
    let document = findings.acceptable(mode).then_some(document);
    let diagnostics = findings.finish(&text, mode);
    let frontmatter = layout.frontmatter.map(|(span, _)| span);
    parsed(Parsed { document, text, frontmatter, diagnostics })
}

fn rejected(findings: Findings, text: String, mode: Mode) -> Parsed {
    let diagnostics = findings.finish(&text, mode);
    Parsed { document: None, text, frontmatter: None, diagnostics }
}

/// Takes hidden characters out of the frontmatter; the body moves up.
fn without_hidden(text: String, layout: Layout, findings: &mut Findings) -> (String, Layout) {
    let Some((span, language)) = layout.frontmatter else { return (text, layout) };
    let source = span.of(&text);
    let clean = decode::hidden(source, span.start, findings);
    let gone = source.len() - clean.len();
    if gone == 0 {
        return (text, layout);
    }
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    let moved = [before, clean.as_ref(), after].concat();
    let layout = Layout {
        frontmatter: Some((Span::new(span.start, span.end - gone), language)),
        body: Span::new(layout.body.start - gone, layout.body.end - gone),
    };
    (moved, layout)
}

/// Whether the first paragraph of a body that may go on has ended.
fn paragraph_complete(body: &str) -> bool {
    // The last block may go on; what comes before it is as it will be.
    let settled = body.rfind("\n\n").and_then(|at| body.get(..at)).unwrap_or_default();
    first_paragraph(settled).is_some()
}

fn look_at_body(body: &str, layout: Layout, findings: &mut Findings) {
    let start = layout.body.start;
    if layout.frontmatter.is_some() && body.trim().is_empty() {
        findings.add(Code::BodyEmpty, None, "the body is empty".to_owned());
    }
    let next = body.trim_start();
    if layout.frontmatter.is_some()
        && next.lines().next().is_some_and(|line| line.trim_end() == "---")
        && next.lines().nth(1).is_some_and(keys::looks_like_key)
    {
        let at = start + body.len() - next.len();
        let message = "a second frontmatter follows; it stays in the body";
        findings.add(Code::SecondFrontmatter, at, message.to_owned());
    }
    decode::hidden_in_body(body, start, findings);
}

/// Whether a person does not see `c`, or sees what is around it in another order.
pub fn is_invisible(c: char) -> bool {
    decode::is_hidden(c) || decode::is_bidi(c)
}
