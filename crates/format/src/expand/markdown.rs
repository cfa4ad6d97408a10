//! Which parts of a body are prose, code and commands, as `CommonMark` (with tables) reads it.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// What a part of a body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Prose,
    /// A code span or a code block, delimiters included.
    Code,
    /// A command whose output belongs into the text, with the command as written.
    Command(String),
}

/// A part of a body. Parts cover it without gaps, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

/// Cuts `body` into parts.
pub(super) fn parts(body: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut done = 0;
    for Part { kind, range } in special(body) {
        // A parser may report nested or touching ranges; parts never overlap.
        if range.start < done || range.end < range.start {
            continue;
        }
        if range.start > done {
            parts.push(Part { kind: Kind::Prose, range: done..range.start });
        }
        done = range.end;
        parts.push(Part { kind, range });
    }
    if done < body.len() {
        parts.push(Part { kind: Kind::Prose, range: done..body.len() });
    }
    parts
}

/// Code and commands, in order.
fn special(body: &str) -> Vec<Part> {
    let mut found = Vec::new();
    // The content of the fenced block marked `!` that is being read.
    let mut script: Option<String> = None;
    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Code(content) => found.push(if opens_command(body, range.start) {
                Part {
                    kind: Kind::Command(content.trim().into()),
                    range: range.start - 1..range.end,
                }
            } else {
                Part { kind: Kind::Code, range }
            }),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if info.trim() == "!" => {
                script = Some(String::new());
            }
            Event::Start(Tag::CodeBlock(_)) => found.push(Part { kind: Kind::Code, range }),
            Event::Text(text) => {
                if let Some(script) = &mut script {
                    script.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some(script) = script.take() {
                    found.push(Part { kind: Kind::Command(script.trim().into()), range });
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether the code span at `start` is a command: a `!` right before it that begins a line or
/// follows a blank or an opening bracket. `\!` and `wow!` do not open one.
fn opens_command(body: &str, start: usize) -> bool {
    body.get(..start).and_then(|before| before.strip_suffix('!')).is_some_and(|before| {
        before
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '|' | '>' | '"'))
    })
}
