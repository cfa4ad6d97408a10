//! The parts of a body: what `skill:NAME#PART` opens.

use std::collections::{HashMap, HashSet};

use concertina_types::Span;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A heading of a body and everything up to the next heading of its level or above.
///
/// ```
/// let body = "# Setup\n\nRun it.\n\n## Linux\n\nAs root.\n";
/// let parts = concertina_format::skill::sections(body);
/// assert_eq!(parts[1].slug, "linux");
/// assert_eq!(parts[0].span.of(body), body);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// 1 for `#` up to 6.
    pub level: u8,
    /// The heading as text, without markup.
    pub title: String,
    /// The heading as an anchor: lower case, blanks as hyphens, repeated ones numbered (`-1`, `-2`).
    pub slug: String,
    /// Where it is in the body: the heading, its text and its subsections.
    pub span: Span,
}

/// The sections of `body`, in its order. Headings inside code, quotes and lists do not count.
pub fn sections(body: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut slugs = Slugs::default();
    let mut heading: Option<(u8, usize, String)> = None;
    let mut containers = 0_usize;
    for (event, range) in Parser::new_ext(body, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) => containers += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
                containers = containers.saturating_sub(1);
            }
            Event::Start(Tag::Heading { level, .. }) if containers == 0 => {
                heading = Some((number(level), range.start, String::new()));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, _, title)) = &mut heading {
                    title.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, _, title)) = &mut heading {
                    title.push(' ');
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, start, title)) = heading.take() {
                    let title = title.trim().to_owned();
                    let slug = slugs.unique(slug(&title));
                    let span = Span::new(start, body.len());
                    found.push(Section { level, title, slug, span });
                }
            }
            _ => {}
        }
    }
    close(&mut found);
    found
}

/// Ends each section where the next one of its level or above begins.
fn close(sections: &mut [Section]) {
    let mut open: Vec<(u8, usize)> = Vec::new();
    let starts: Vec<(u8, usize)> = sections.iter().map(|s| (s.level, s.span.start)).collect();
    for (at, (level, start)) in starts.into_iter().enumerate() {
        while let Some(&(above, section)) = open.last()
            && above >= level
        {
            open.pop();
            if let Some(section) = sections.get_mut(section) {
                section.span.end = start;
            }
        }
        open.push((level, at));
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// The anchor that Markdown viewers give a heading.
fn slug(title: &str) -> String {
    title
        .chars()
        .filter_map(|c| match c {
            ' ' | '-' => Some('-'),
            '_' => Some('_'),
            c if c.is_alphanumeric() => Some(c),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Slugs that were given, and the number to try next for each.
#[derive(Default)]
struct Slugs {
    given: HashSet<String>,
    next: HashMap<String, usize>,
}

impl Slugs {
    /// `slug`, or where it was given already, the first free `slug-1`, `slug-2` and so on.
    fn unique(&mut self, slug: String) -> String {
        if self.given.insert(slug.clone()) {
            return slug;
        }
        let next = self.next.entry(slug.clone()).or_insert(1);
        loop {
            let candidate = format!("{slug}-{next}");
            *next += 1;
            if self.given.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// The first paragraph of `body` as plain text on one line, without markup. Headings, code,
/// tables, quotes and lists are passed over where a paragraph follows.
///
/// ```
/// use concertina_format::skill::first_paragraph;
/// assert_eq!(first_paragraph("# Bread\n\nMix *flour*\nand water.\n").as_deref(), Some("Mix flour and water."));
/// ```
pub fn first_paragraph(body: &str) -> Option<String> {
    let mut text = String::new();
    let mut inside = false;
    for event in Parser::new_ext(body, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Paragraph) => inside = true,
            Event::End(TagEnd::Paragraph) => {
                let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                if !line.is_empty() {
                    return Some(line);
                }
                text.clear();
                inside = false;
            }
            Event::Text(part) | Event::Code(part) if inside => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak if inside => text.push(' '),
            _ => {}
        }
    }
    None
}
