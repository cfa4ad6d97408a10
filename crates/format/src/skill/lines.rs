//! A frontmatter cut into its top-level keys, line by line, for when it is not YAML as a whole.

use super::keys::{Key, Separator, key_line};

/// A key and the lines that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block<'t> {
    pub(super) key: &'t str,
    pub(super) separator: Separator,
    /// The block from the beginning of its first line to the end of its last.
    pub(super) text: &'t str,
    /// Where the block begins in the frontmatter.
    pub(super) start: usize,
    /// Where its key begins in the block.
    pub(super) key_at: usize,
    /// Where its value begins in the block.
    pub(super) value_at: usize,
    /// Whether its first line is indented differently from the others.
    pub(super) misplaced: bool,
    /// Where the first line at the margin that only continues the value begins, in the block.
    pub(super) unindented: Option<usize>,
}

impl Block<'_> {
    pub(super) fn known(&self) -> Option<Key> {
        Key::of(self.key)
    }
}

/// The keys of a frontmatter, and where lines stand that belong to none.
#[derive(Debug, Default)]
pub(super) struct Blocks<'t> {
    pub(super) blocks: Vec<Block<'t>>,
    pub(super) stray: Vec<usize>,
}

/// Cuts `source` at the lines that begin a key.
pub(super) fn split(source: &str) -> Blocks<'_> {
    let mut out = Blocks::default();
    let mut margin = None;
    let mut start = 0;
    for raw in source.split_inclusive('\n') {
        let at = start;
        start += raw.len();
        let line = raw.trim_end_matches('\n');
        let content = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - content.len();
        let comment = content.starts_with('#');
        if content.trim().is_empty() {
            extend(source, &mut out.blocks, start);
            continue;
        }
        // The end of the document is no part of a value.
        if line.trim_end() == "..." && source.get(start..).is_some_and(|s| s.trim().is_empty()) {
            break;
        }
        let margin = if comment { margin.unwrap_or(indent) } else { *margin.get_or_insert(indent) };
        let found = key_line(content)
            .filter(|found| begins(found.key, found.separator, indent, margin, &out.blocks));
        match found {
            Some(found) => out.blocks.push(Block {
                key: found.key,
                separator: found.separator,
                text: source.get(at..start).unwrap_or_default(),
                start: at,
                key_at: indent,
                value_at: indent + found.value_at,
                misplaced: indent != margin,
                unindented: None,
            }),
            None if comment && indent <= margin && !continues_text(&out.blocks) => {
                extend(source, &mut out.blocks, start);
            }
            None => {
                // `- ` at the margin is the usual way to write a list below a key.
                let listed =
                    content.starts_with("- ") || content == "-" || content.starts_with([']', '}']);
                match out.blocks.last_mut() {
                    None => out.stray.push(at),
                    Some(block) if indent <= margin && !listed => {
                        let offset = at - block.start;
                        block.unindented.get_or_insert(offset);
                    }
                    _ => {}
                }
                extend(source, &mut out.blocks, start);
            }
        }
    }
    out
}

/// Whether the last block is a text that went on at the margin, where `#` may be part of it.
fn continues_text(blocks: &[Block<'_>]) -> bool {
    blocks.last().is_some_and(|block| block.unindented.is_some())
}

fn extend<'t>(source: &'t str, blocks: &mut [Block<'t>], end: usize) {
    if let Some(block) = blocks.last_mut() {
        block.text = source.get(block.start..end).unwrap_or_default();
    }
}

/// Whether a line that looks like a key begins one.
fn begins(
    key: &str,
    separator: Separator,
    indent: usize,
    margin: usize,
    blocks: &[Block<'_>],
) -> bool {
    let known = Key::of(key);
    let last = blocks.last();
    if indent > margin {
        // A known key below a value that is already complete has slipped.
        let Some(known) = known else { return false };
        let taken = blocks.iter().any(|block| block.known() == Some(known));
        let complete = last.is_some_and(|block| {
            let value = block.text.get(block.value_at..).unwrap_or_default();
            let first = value.lines().next().unwrap_or_default().trim();
            block.known().is_some_and(|key| key.kind() == super::keys::Kind::Text)
                && !first.is_empty()
                && !first.starts_with(['|', '>', '"', '\'', '[', '{'])
                && block.text.trim_end().lines().count() == 1
        });
        return separator == Separator::Colon && complete && !taken && indent <= margin + 2;
    }
    // In a text that is not indented, a word and a colon may belong to the text.
    let in_text = last.is_some_and(|block| {
        let value = block.text.get(block.value_at..).unwrap_or_default().trim_start();
        block.unindented.is_some() || value.starts_with(['|', '>'])
    });
    known.is_some()
        || !in_text
        || (key.starts_with(|c: char| c.is_ascii_lowercase()) && separator == Separator::Colon)
}

/// Keys that an editor took for a heading: `## name: x`, sometimes with the description on the
/// same line. YAML takes the line for a comment.
pub(super) fn heading(source: &str) -> Vec<(Key, usize, &str)> {
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let Some(value) = line.strip_prefix("## name:") else { continue };
        let value = value.trim_end();
        let offset = at + "## name:".len();
        let Some((name, rest)) = value.split_once(" description:") else {
            return vec![(Key::Name, offset, value)];
        };
        let description = rest.split(" metadata:").next().unwrap_or(rest);
        let behind = offset + name.len() + " description:".len();
        return vec![(Key::Name, offset, name), (Key::Description, behind, description)];
    }
    Vec::new()
}

/// Lines of `name X` and `description X`, without a colon.
pub(super) fn bare(source: &str) -> Vec<(Key, usize, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let at = start;
        start += line.len();
        for key in [Key::Name, Key::Description] {
            if let Some(value) = line.strip_prefix(key.canonical())
                && value.starts_with([' ', '\t'])
            {
                found.push((key, at + key.canonical().len(), value));
            }
        }
    }
    found
}
