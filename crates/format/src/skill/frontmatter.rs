//! A frontmatter to its keys: as YAML where it is, else one key at a time.

use concertina_types::Span;

use super::codes::Code;
use super::decode;
use super::fence::Language;
use super::findings::Findings;
use super::foreign;
use super::keys::{Key, Separator, key_line};
use super::lines;
use super::repair;
use super::simple;
use super::swallowed;
use crate::yaml::{self, Fault};
use crate::yaml::{Entry, Kind, Node, Style};

/// The keys of a frontmatter in the order of the file; repeated ones are still there.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) entries: Vec<Entry>,
    /// Security keys that are there and cannot be read.
    pub(super) unreadable: Vec<Key>,
}

/// Reads the frontmatter at `span` of `text`; `None` where it is refused as a whole.
pub(super) fn read(
    text: &str,
    span: Span,
    language: Language,
    findings: &mut Findings,
) -> Option<Fields> {
    let source = span.of(text);
    let fields = match language {
        Language::Yaml => match simple::parse(source, span.start) {
            Some(node) => Ok(from_node(node, source, span.start, findings)),
            None => yaml_fields(source, span.start, findings),
        },
        Language::Toml => toml_fields(source, span.start, findings),
        Language::Json => json_fields(source, span.start, findings),
    };
    match fields {
        Ok(mut fields) => {
            for entry in &mut fields.entries {
                unescape(entry, findings);
            }
            for (key, at) in swallowed::in_values(&fields.entries) {
                unreadable(key, at, &mut fields, findings);
            }
            if fields.entries.iter().all(|entry| Key::of(&entry.key) != Some(Key::Name)) {
                let found = lines::heading(source);
                let why = "is written as a heading";
                adopt(&found, Code::HeadingKey, why, span.start, &mut fields, findings);
                if !found.is_empty() {
                    for (key, at) in swallowed::in_headings(source) {
                        unreadable(key, span.start + at, &mut fields, findings);
                    }
                }
            }
            Some(fields)
        }
        Err(Fault::TooComplex { at }) => {
            let message = "the frontmatter nests too deeply or has too many parts";
            findings.add(Code::TooComplex, at, message.to_owned());
            None
        }
        Err(Fault::Syntax { .. }) => Some(Fields::default()),
    }
}

fn yaml_fields(source: &str, base: usize, findings: &mut Findings) -> Result<Fields, Fault> {
    match yaml::parse(source, base) {
        Ok(tree) if is_mapping(&tree.root, source, base) => {
            for &at in &tree.aliases {
                findings.add(Code::Alias, at, "an alias was replaced by its value".to_owned());
            }
            for &at in &tree.tags {
                findings.add(Code::Tag, at, "a tag was ignored".to_owned());
            }
            let mut fields = from_node(tree.root, source, base, findings);
            for (key, at) in swallowed::at_margin(source) {
                if !fields.entries.iter().any(|entry| entry.at == base + at) {
                    unreadable(key, base + at, &mut fields, findings);
                }
            }
            Ok(fields)
        }
        Err(Fault::TooComplex { at }) => Err(Fault::TooComplex { at }),
        Ok(tree) if tree.root.is_null() => Ok(Fields::default()),
        Ok(_) | Err(Fault::Syntax { .. }) => key_by_key(source, base, findings),
    }
}

/// Takes keys that stand in lines which are none, where the key is not given otherwise.
fn adopt(
    found: &[(Key, usize, &str)],
    code: Code,
    why: &str,
    base: usize,
    fields: &mut Fields,
    findings: &mut Findings,
) {
    for &(key, at, value) in found {
        let at = base + at;
        let name = key.canonical();
        if fields.entries.iter().any(|entry| Key::of(&entry.key) == Some(key)) {
            continue;
        }
        findings.add(code, at, format!("`{name}` {why}"));
        let value = Node::text(value.trim(), Span::new(at, at + value.len()));
        fields.entries.push(Entry { key: name.to_owned(), at, value });
    }
}

/// Whether a node is what a frontmatter should be, and no key of it hides another behind an odd
/// separator.
fn is_mapping(node: &Node, source: &str, base: usize) -> bool {
    match &node.kind {
        Kind::Map(entries) => {
            entries.iter().all(|entry| {
                // A key that is a collection, such as `{{ name }}`, is no key.
                let odd = key_line(&entry.key).is_some_and(|found| {
                    Key::of(found.key).is_some()
                        && matches!(
                            found.separator,
                            Separator::ColonOnly | Separator::FullWidth | Separator::Colon
                        )
                });
                !odd
            }) && !source
                .get(node.span.start.saturating_sub(base)..)
                .is_some_and(|s| s.starts_with("{{"))
        }
        Kind::List(items) => {
            !items.is_empty() && items.iter().all(|item| matches!(item.kind, Kind::Map(_)))
        }
        Kind::Scalar(..) => false,
    }
}

fn from_node(node: Node, source: &str, base: usize, findings: &mut Findings) -> Fields {
    let entries = match node.kind {
        Kind::Map(entries) => entries,
        Kind::List(items) => {
            let message = "the frontmatter is a list; its entries were taken together";
            findings.add(Code::ListOfKeys, node.span.start, message.to_owned());
            let maps = items.into_iter().filter_map(|item| match item.kind {
                Kind::Map(entries) => Some(entries),
                _ => None,
            });
            maps.flatten().collect()
        }
        Kind::Scalar(..) => Vec::new(),
    };
    if source.contains(" #") {
        for entry in &entries {
            comment(entry, source, base, findings);
        }
    }
    Fields { entries, unreadable: Vec::new() }
}

/// Says where a comment cuts a plain value, which its writer may not have meant.
fn comment(entry: &Entry, source: &str, base: usize, findings: &mut Findings) {
    if !matches!(entry.value.kind, Kind::Scalar(_, Style::Plain)) {
        return;
    }
    let end = entry.value.span.end.saturating_sub(base);
    let rest = source.get(end..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    let tail = line.trim_start_matches([' ', '\t']);
    if tail.starts_with('#') {
        let message = format!("text after ` #` in `{}` is a comment and not part of it", entry.key);
        findings.add(Code::CommentInValue, base + end + line.len() - tail.len(), message);
    }
}

fn unreadable(key: Key, at: usize, fields: &mut Fields, findings: &mut Findings) {
    if fields.unreadable.contains(&key) {
        return;
    }
    let message =
        format!("`{}` cannot be read; the skill is not shown to the model", key.canonical());
    findings.add(Code::SecurityKeyUnreadable, at, message);
    fields.unreadable.push(key);
}

/// Takes out of keys and values what escapes such as `\u202E` put there.
fn unescape(entry: &mut Entry, findings: &mut Findings) {
    decode::escaped(&mut entry.key, entry.at, findings);
    unescape_value(&mut entry.value, findings);
}

fn unescape_value(node: &mut Node, findings: &mut Findings) {
    match &mut node.kind {
        Kind::Scalar(text, _) => decode::escaped(text, node.span.start, findings),
        Kind::List(items) => items.iter_mut().for_each(|item| unescape_value(item, findings)),
        Kind::Map(entries) => entries.iter_mut().for_each(|entry| unescape(entry, findings)),
    }
}

/// Lines outside all keys that are reported one by one.
const STRAY_LINES: usize = 10;

fn key_by_key(source: &str, base: usize, findings: &mut Findings) -> Result<Fields, Fault> {
    if source.trim_start().starts_with('{')
        && let Ok(node) = foreign::json(source, base)
    {
        findings.add(Code::Json, base, "the frontmatter is JSON; it was read as such".to_owned());
        return Ok(from_node(node, "", base, findings));
    }
    let cut = lines::split(source);
    if !cut.blocks.is_empty()
        && cut.blocks.iter().all(|block| block.separator == Separator::Equals)
        && let Ok(node) = foreign::toml(source, base)
    {
        findings.add(Code::Toml, base, "the frontmatter is TOML; it was read as such".to_owned());
        return Ok(from_node(node, "", base, findings));
    }
    let mut fields = Fields::default();
    let braces = source.trim_start_matches([' ', '\t', '\n', '-']).starts_with('{');
    for &stray in &cut.stray {
        let line = source.get(stray..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        for (key, at) in swallowed::in_repaired(line, braces) {
            unreadable(key, base + stray + at, &mut fields, findings);
        }
    }
    if cut.blocks.is_empty() {
        let found = lines::bare(source);
        adopt(
            &found,
            Code::MissingColon,
            "is not followed by a colon",
            base,
            &mut fields,
            findings,
        );
        if !fields.entries.is_empty() {
            return Ok(fields);
        }
    }
    for &stray in cut.stray.iter().take(STRAY_LINES) {
        let message = "the line belongs to no key; it was left out";
        findings.add(Code::StrayLine, base + stray, message.to_owned());
    }
    if cut.blocks.is_empty() {
        let message = "the frontmatter holds no keys";
        findings.add(Code::NotMapping, base, message.to_owned());
    }
    let anchors = anchors(&cut.blocks);
    // What a merge brings in is not looked up here, so no block is beyond doubt.
    let merges = source.lines().any(|line| line.trim_start().starts_with("<<"));
    for block in &cut.blocks {
        let at = base + block.start + block.key_at;
        let found = findings.len();
        let value = repair::value(block, base, findings)?;
        let repaired = findings.len() > found;
        // Half a permission is none.
        let value = value.filter(|_| !repaired || block.known() != Some(Key::Permissions));
        if repaired || merges || value.is_none() {
            // What the value holds as a key of its own is where its writer put it.
            let mut nested = value.as_ref().filter(|_| !merges).map(swallowed::held);
            if block.known() == Some(Key::Permissions) {
                nested.get_or_insert_default().push(Key::Paths);
            }
            let nested = nested.unwrap_or_default();
            for (key, within) in swallowed::in_repaired(block.text, braces) {
                if within != block.key_at && !nested.contains(&key) {
                    unreadable(key, base + block.start + within, &mut fields, findings);
                }
            }
        }
        if let Some(value) = value {
            fields.entries.push(Entry { key: block.key.to_owned(), at, value });
        } else if let Some(key) = block.known().filter(|key| key.is_security()) {
            unreadable(key, at, &mut fields, findings);
        } else {
            let message =
                format!("`{}` cannot be read; the other keys are not affected", block.key);
            findings.add(Code::KeyUnreadable, at, message);
        }
    }
    resolve(&mut fields, &anchors);
    for entry in &fields.entries {
        comment(entry, source, base, findings);
    }
    Ok(fields)
}

/// Anchored one-line values, so that an alias survives a broken neighbour.
fn anchors<'t>(blocks: &[lines::Block<'t>]) -> Vec<(&'t str, &'t str)> {
    let anchored = blocks.iter().filter_map(|block| {
        let value = block.text.get(block.value_at..)?.trim();
        let (name, value) = value.strip_prefix('&')?.split_once(' ')?;
        (!value.contains('\n')).then_some((name, value.trim()))
    });
    anchored.collect()
}

fn resolve(fields: &mut Fields, anchors: &[(&str, &str)]) {
    for entry in &mut fields.entries {
        if let Kind::Scalar(text, _) = &mut entry.value.kind
            && let Some(name) = text.strip_prefix('*')
            && let Some((_, value)) = anchors.iter().rev().find(|(anchor, _)| *anchor == name)
        {
            *text = (*value).to_owned();
        }
    }
}

fn toml_fields(source: &str, base: usize, findings: &mut Findings) -> Result<Fields, Fault> {
    match foreign::toml(source, base) {
        Ok(node) => Ok(from_node(node, "", base, findings)),
        Err(Fault::Syntax { at, message }) => {
            let message =
                format!("the TOML is broken here ({})", message.lines().next().unwrap_or_default());
            findings.add(Code::Yaml, at, message);
            key_by_key(source, base, findings)
        }
        Err(fault) => Err(fault),
    }
}

fn json_fields(source: &str, base: usize, findings: &mut Findings) -> Result<Fields, Fault> {
    match foreign::json(source, base) {
        Ok(node) => Ok(from_node(node, "", base, findings)),
        Err(Fault::Syntax { at, .. }) => {
            findings.add(Code::Yaml, at, "the JSON is broken".to_owned());
            yaml_fields(source, base, findings)
        }
        Err(fault) => Err(fault),
    }
}
