//! What a body consists of, read once for all rules.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A text of the body and the byte where it begins.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) at: usize,
}

/// The parts of a body that rules look at.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Piece>,
    /// Paragraphs and the first texts of list items, without their markup; code spans
    /// stand in them between back quotes.
    pub(super) prose: Vec<Piece>,
    /// Code spans.
    pub(super) spans: Vec<Piece>,
    /// Code blocks, fenced or indented.
    pub(super) blocks: Vec<Piece>,
    /// HTML comments.
    pub(super) comments: Vec<Piece>,
    /// Where links and images lead.
    pub(super) links: Vec<Piece>,
    /// Items of numbered lists.
    pub(super) numbered: usize,
    /// Items of other lists.
    pub(super) bullets: usize,
    /// Tables.
    pub(super) tables: usize,
}

impl Outline {
    pub(super) fn of(body: &str) -> Self {
        let mut out = Self::default();
        let mut lists: Vec<bool> = Vec::new();
        let mut text: Option<Piece> = None;
        let mut code: Option<Piece> = None;
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
        for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
            let at = range.start;
            let begin = || Some(Piece { text: String::new(), at });
            match event {
                Event::Start(Tag::List(first)) => {
                    out.prose.extend(text.take());
                    lists.push(first.is_some());
                }
                Event::End(TagEnd::List(_)) => {
                    lists.pop();
                }
                Event::Start(Tag::Item) => {
                    text = begin();
                    match lists.last() {
                        Some(true) => out.numbered += 1,
                        _ => out.bullets += 1,
                    }
                }
                Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::TableCell) => {
                    out.prose.extend(text.take());
                    text = begin();
                }
                Event::End(TagEnd::Heading(_)) => out.headings.extend(text.take()),
                Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => {
                    out.prose.extend(text.take());
                }
                Event::Start(Tag::Table(_)) => out.tables += 1,
                Event::Start(Tag::CodeBlock(kind)) => {
                    // The fence itself is a line of its own.
                    let skip = match kind {
                        CodeBlockKind::Fenced(_) => {
                            let block = body.get(range).unwrap_or_default();
                            block.find('\n').map_or(0, |end| end + 1)
                        }
                        CodeBlockKind::Indented => 0,
                    };
                    code = Some(Piece { text: String::new(), at: at + skip });
                }
                Event::End(TagEnd::CodeBlock) => out.blocks.extend(code.take()),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    out.links.push(Piece { text: dest_url.into_string(), at });
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    // A comment of several lines comes line by line.
                    match out.comments.last_mut() {
                        Some(last) if last.at + last.text.len() == at => last.text.push_str(&html),
                        _ => out.comments.push(Piece { text: html.into_string(), at }),
                    }
                }
                Event::Text(part) => {
                    if let Some(piece) = code.as_mut().or(text.as_mut()) {
                        piece.text.push_str(&part);
                    }
                }
                Event::Code(part) => {
                    if let Some(piece) = &mut text {
                        piece.text.extend(["`", &part, "`"]);
                    }
                    out.spans.push(Piece { text: part.into_string(), at });
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(piece) = &mut text {
                        piece.text.push('\n');
                    }
                }
                _ => {}
            }
        }
        out.prose.retain(|piece| !piece.text.trim().is_empty());
        out.comments.retain(|piece| piece.text.trim_start().starts_with("<!--"));
        out
    }

    /// Headings and prose in the order of the body.
    pub(super) fn words(&self) -> impl Iterator<Item = &Piece> {
        self.headings.iter().chain(&self.prose)
    }
}
