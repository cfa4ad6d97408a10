//! One key whose YAML is broken: what a careful reader would take its value to be.

use concertina_types::Span;

use super::codes::Code;
use super::findings::Findings;
use super::keys::{Kind as KeyKind, Separator};
use super::lines::Block;
use super::quotes;
use crate::yaml::{self, Fault};
use crate::yaml::{Kind, Node};

/// The value of `block`; `None` where nobody could say. `base` is where the frontmatter begins in
/// the decoded text.
pub(super) fn value(
    block: &Block<'_>,
    base: usize,
    findings: &mut Findings,
) -> Result<Option<Node>, Fault> {
    let at = base + block.start;
    let key_at = at + block.key_at;
    separator(block, key_at, findings);
    if block.misplaced {
        let message = format!("`{}` is indented differently from the other keys", block.key);
        findings.add(Code::Indentation, key_at, message);
    }
    if block.separator == Separator::Missing {
        return Ok(None);
    }
    let raw = block.text.get(block.value_at..).unwrap_or_default();
    let value_at = at + block.value_at;
    let (text, moved) = if block.separator == Separator::Colon && !block.misplaced {
        (block.text.to_owned(), at)
    } else {
        let text = format!("{}: {}", block.key, raw.trim_start_matches([' ', '\t']));
        (text, value_at.saturating_sub(block.key.len() + 2))
    };
    let damaged_text = block.unindented.is_some() && !raw.trim_start().starts_with(['[', '{']);
    if !damaged_text {
        match single(&text, moved) {
            Ok(node) => return Ok(Some(node)),
            Err(Fault::Syntax { .. }) => {}
            Err(fault) => return Err(fault),
        }
    }
    let text = untabbed(&text, at, findings);
    if let Some(text) = &text
        && let Ok(node) = single(text, at)
    {
        return Ok(Some(placed(node, at, block)));
    }
    let known = block.known();
    let kind = known.map_or(KeyKind::Text, super::keys::Key::kind);
    let first = raw.lines().next().unwrap_or_default().trim();
    if first.is_empty() || first.starts_with('#') {
        return Ok(nested(block, at, kind, text.as_deref(), findings));
    }
    if kind != KeyKind::Text && first.starts_with(['[', '{']) {
        return Ok(bracketed(block, raw.trim(), value_at, findings));
    }
    if kind == KeyKind::Tree && raw.trim_end().contains('\n') {
        return Ok(None);
    }
    let span = Span::new(value_at, value_at + raw.trim_end().len());
    Ok(text_value(block, raw, value_at, findings).map(|text| Node::text(text, span)))
}

fn separator(block: &Block<'_>, at: usize, findings: &mut Findings) {
    let key = block.key;
    let (code, message) = match block.separator {
        Separator::Colon | Separator::Missing => return,
        Separator::ColonOnly => {
            (Code::MissingSpace, format!("the blank after `{key}:` is missing"))
        }
        Separator::FullWidth => {
            (Code::FullWidthColon, format!("a full-width colon follows `{key}`"))
        }
        Separator::Equals => (Code::EqualsSign, format!("an equals sign follows `{key}`")),
    };
    findings.add(code, at, message);
}

/// The value of a text that is exactly one key.
fn single(text: &str, base: usize) -> Result<Node, Fault> {
    let tree = yaml::parse(text, base)?;
    let none = Fault::Syntax { at: base, message: "this is not one key with one value".to_owned() };
    match tree.root.kind {
        Kind::Map(mut entries) if entries.len() == 1 => {
            entries.pop().map(|entry| entry.value).ok_or(none)
        }
        _ => Err(none),
    }
}

/// A node that was read from a changed text lies in its block; finer places are lost.
fn placed(mut node: Node, at: usize, block: &Block<'_>) -> Node {
    fn place(node: &mut Node, at: usize) {
        node.span = Span::new(at, at);
        match &mut node.kind {
            Kind::Scalar(..) => {}
            Kind::List(items) => items.iter_mut().for_each(|item| place(item, at)),
            Kind::Map(entries) => entries.iter_mut().for_each(|entry| {
                entry.at = at;
                place(&mut entry.value, at);
            }),
        }
    }
    place(&mut node, at + block.key_at);
    node
}

/// Replaces tabs that indent.
fn untabbed(text: &str, at: usize, findings: &mut Findings) -> Option<String> {
    let tab = |line: &str| {
        line.len() - line.trim_start().len() > 0
            && line.bytes().take_while(u8::is_ascii_whitespace).any(|b| b == b'\t')
    };
    let mut start = 0;
    let mut first = None;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        if tab(line) && !content.trim().is_empty() {
            first.get_or_insert(start);
            let indent = line.get(..line.len() - content.len()).unwrap_or_default();
            out.push_str(&indent.replace('\t', "  "));
            out.push_str(content);
        } else {
            out.push_str(line);
        }
        start += line.len();
    }
    let first = first?;
    findings.add(Code::TabIndent, at + first, "a tab is used for indentation".to_owned());
    Some(out)
}

/// A value on the lines below its key: each line is looked at on its own, and what YAML would not
/// read is put in quotes.
fn nested(
    block: &Block<'_>,
    at: usize,
    kind: KeyKind,
    untabbed: Option<&str>,
    findings: &mut Findings,
) -> Option<Node> {
    let text = untabbed.unwrap_or(block.text);
    let mut lines = text.split_inclusive('\n');
    let head = lines.next()?;
    let mut out = head.to_owned();
    let mut start = head.len();
    let mut quoted = Findings::default();
    let mut items = Vec::new();
    let mut only_items = true;
    for line in lines {
        let here = at + start;
        start += line.len();
        let line = line.trim_end_matches('\n');
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        match content.strip_prefix("- ") {
            Some(item) => items.push(item.trim()),
            None => only_items = false,
        }
        out.push_str(&requoted(line, here, &mut quoted));
        out.push('\n');
    }
    if let Ok(node) = single(&out, at) {
        findings.extend(quoted);
        return Some(placed(node, at, block));
    }
    if only_items && !items.is_empty() && kind == KeyKind::List {
        findings.extend(quoted);
        let message = format!("the items of `{}` are not indented alike", block.key);
        findings.add(Code::Indentation, at + block.key_at, message);
        let span = Span::new(at, at);
        let items = items.into_iter().map(|item| Node::text(quotes::literal(item), span)).collect();
        return Some(Node { span, kind: Kind::List(items) });
    }
    if kind == KeyKind::Text {
        let raw = block.text.get(block.value_at..).unwrap_or_default();
        let text = text_value(block, raw, at + block.value_at, findings)?;
        return Some(Node::text(text, Span::new(at, at + block.text.len())));
    }
    None
}

/// `line` with its value in quotes where YAML would not read it.
fn requoted(line: &str, at: usize, findings: &mut Findings) -> String {
    let mut value = line.trim_start_matches([' ', '\t']);
    while let Some(rest) = value.strip_prefix("- ") {
        value = rest.trim_start();
    }
    if let Some(found) = super::keys::key_line(value)
        && found.separator == Separator::Colon
    {
        value = value.get(found.value_at..).unwrap_or_default().trim_start();
    }
    let value = value.trim_end();
    if value.is_empty() || value.starts_with(['|', '>']) || reads_alone(value) {
        return line.to_owned();
    }
    let prefix = line.trim_end();
    let prefix = prefix.get(..prefix.len() - value.len()).unwrap_or_default();
    let reading = quotes::read(value);
    findings.add(reading.code, at + prefix.len() + reading.at, reading.message);
    format!("{prefix}{}", serde_json::Value::String(reading.text))
}

/// Whether `value` is YAML on its own and stays one value.
fn reads_alone(value: &str) -> bool {
    let plain = !value.starts_with(['"', '\'', '[', '{']);
    if plain && (value.contains(": ") || value.ends_with(':')) {
        return false;
    }
    yaml::parse(value, 0).is_ok()
}

/// A list or mapping in brackets that YAML does not read.
fn bracketed(block: &Block<'_>, value: &str, at: usize, findings: &mut Findings) -> Option<Node> {
    let span = Span::new(at, at);
    let inner = value.strip_prefix('[')?;
    let closed = inner.trim_end().strip_suffix(']');
    let security = block.known().is_some_and(super::keys::Key::is_security);
    let Some(inner) = closed else {
        let message = format!("a bracket of `{}` is not closed", block.key);
        findings.add(Code::UnclosedBracket, at, message);
        if security {
            return None;
        }
        let items = items(inner, span);
        return Some(Node { span, kind: Kind::List(items) });
    };
    // `[a] [b]` is two lists, or a text: not clear enough for a key that must be right.
    if inner.contains(['[', ']']) && security {
        return None;
    }
    let message = format!("an item of `{}` needs quotes in YAML", block.key);
    findings.add(Code::ReservedStart, at, message);
    Some(Node { span, kind: Kind::List(items(inner, span)) })
}

fn items(inner: &str, span: Span) -> Vec<Node> {
    super::split::commas(inner)
        .into_iter()
        .map(|item| Node::text(quotes::literal(item), span))
        .collect()
}

/// The value as text: the first line and those that continue it.
fn text_value(block: &Block<'_>, raw: &str, at: usize, findings: &mut Findings) -> Option<String> {
    let key = block.key;
    let lead = raw.len() - raw.trim_start_matches([' ', '\t']).len();
    let first = raw.lines().next().unwrap_or_default().trim();
    if let Some(rest) = first.strip_prefix(['|', '>']) {
        let literal = first.starts_with('|');
        return Some(damaged_block(key, raw, rest, literal, at + lead, findings));
    }
    if let Some(offset) = block.unindented {
        let message = format!("the value of `{key}` goes on in a line that is not indented");
        findings.add(Code::NotIndented, at - block.value_at + offset, message);
    }
    let joined = folded(raw);
    let reading = quotes::read(&joined);
    if reading.text.is_empty() && joined.is_empty() {
        return None;
    }
    // Folded lines keep their offsets only on the first.
    let place = if reading.at < first.len() { at + lead + reading.at } else { at + lead };
    let covered = block.unindented.is_some() && reading.code == Code::Yaml;
    if !covered {
        findings.add(reading.code, place, format!("{} in `{key}`", reading.message));
    }
    Some(reading.text)
}

/// `|` or `>` with text on the same line, or with text that is not indented.
fn damaged_block(
    key: &str,
    raw: &str,
    rest: &str,
    literal: bool,
    at: usize,
    findings: &mut Findings,
) -> String {
    let header = rest.trim_start_matches(['-', '+', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let header = header.trim();
    let mut lines: Vec<&str> = raw.lines().skip(1).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let least = lines.iter().filter(|l| !l.trim().is_empty()).map(|l| indent(l)).min().unwrap_or(0);
    for line in &mut lines {
        *line = line.get(least..).unwrap_or_default().trim_end();
    }
    if header.is_empty() || header.starts_with('#') {
        let message = format!(
            "the text of `{key}` is not indented below its `{}`",
            if literal { '|' } else { '>' }
        );
        findings.add(Code::BlockNotIndented, at, message);
    } else {
        let message =
            format!("text follows `{}` on the line of `{key}`", if literal { '|' } else { '>' });
        findings.add(Code::BlockHeaderText, at, message);
        lines.insert(0, header);
    }
    let text = lines.join("\n");
    if literal { text.trim().to_owned() } else { folded(&text) }
}

/// Lines joined by blanks; an empty line is a line break. A comment at the end of a line stays
/// only where it is not one: `#1` is text, `# note` is a comment.
fn folded(raw: &str) -> String {
    let mut out = String::new();
    let mut breaks = 0;
    for line in raw.trim().lines() {
        let line = uncommented(line.trim());
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        if !out.is_empty() {
            match breaks {
                0 => out.push(' '),
                n => out.extend(std::iter::repeat_n('\n', n)),
            }
        }
        breaks = 0;
        out.push_str(line);
    }
    out
}

fn uncommented(line: &str) -> &str {
    if line.starts_with(['"', '\'']) {
        return line;
    }
    line.find(" # ").and_then(|at| line.get(..at)).map_or(line, str::trim_end)
}
