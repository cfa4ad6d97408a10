//! Security keys that ended up inside the value of another key, where they would say nothing.

use super::keys::{Key, Kind as KeyKind, Separator, key_line};
use crate::yaml::{Entry, Kind, Node};

/// Security keys at the margin of a frontmatter that is YAML: a value in quotes can run over lines
/// that look like keys.
pub(super) fn at_margin(source: &str) -> Vec<(Key, usize)> {
    let mut found = Vec::new();
    for (at, line) in lines(source) {
        if let Some(key) = key_line(line).and_then(|line| security(line.key)) {
            found.push((key, at));
        }
    }
    found
}

/// Security keys in a text that had to be repaired, past the marks that may stand before them:
/// `- paths: x`, `**paths**: x`, `> paths: x`. In a mapping in braces commas separate keys too.
pub(super) fn in_repaired(text: &str, braces: bool) -> Vec<(Key, usize)> {
    let mut found = Vec::new();
    for (start, line) in lines(text) {
        let marks = line.len() - line.trim_start_matches(is_mark).len();
        let braces = braces || line.get(..marks).is_some_and(|marks| marks.contains('{'));
        let mut at = start;
        for part in line.split_inclusive(|c| braces && matches!(c, ',' | '{')) {
            let content = part.trim_start_matches(is_mark);
            let place = at + part.len() - content.len();
            at += part.len();
            let plain = content.replace(['*', '`'], "");
            let key = key_line(&plain)
                .filter(|line| line.separator != Separator::Missing)
                .and_then(|line| security(line.key));
            found.extend(key.map(|key| (key, place)));
        }
    }
    found
}

/// Security keys on a line that holds several keys behind `## name:`.
pub(super) fn in_headings(source: &str) -> Vec<(Key, usize)> {
    let headings = lines(source).filter(|(_, line)| line.starts_with("## name:"));
    headings
        .flat_map(|(at, line)| {
            let keys = line.split_whitespace().filter_map(|word| word.strip_suffix(':'));
            keys.filter_map(security).map(move |key| (key, at))
        })
        .collect()
}

/// Security keys of mappings that are read as texts, and of mappings that `<<` merges.
pub(super) fn in_values(entries: &[Entry]) -> Vec<(Key, usize)> {
    let own: Vec<Key> = entries.iter().filter_map(|entry| security(&entry.key)).collect();
    let mut found = Vec::new();
    for entry in entries {
        let merged = entry.key == "<<";
        let text = Key::of(&entry.key)
            .is_some_and(|key| key.kind() != KeyKind::Tree && key != Key::Arguments);
        if !merged && !text {
            continue;
        }
        each_key(&entry.value, &mut |inner| {
            // `{paths}` is a placeholder, and a merged key gives way to one that is there.
            let speaks = if merged {
                !security(&inner.key).is_some_and(|key| own.contains(&key))
            } else {
                !inner.value.is_null()
            };
            if let Some(key) = security(&inner.key).filter(|_| speaks) {
                found.push((key, entry.at));
            }
        });
    }
    found
}

/// The security keys of mappings inside `node`, each once.
pub(super) fn held(node: &Node) -> Vec<Key> {
    let mut held = Vec::new();
    each_key(node, &mut |entry| {
        held.extend(security(&entry.key).filter(|key| !held.contains(key)));
    });
    held
}

fn each_key(node: &Node, visit: &mut impl FnMut(&Entry)) {
    match &node.kind {
        Kind::Scalar(..) => {}
        Kind::List(items) => items.iter().for_each(|item| each_key(item, visit)),
        Kind::Map(entries) => {
            for entry in entries {
                visit(entry);
                each_key(&entry.value, visit);
            }
        }
    }
}

fn security(key: &str) -> Option<Key> {
    Key::of(key).filter(|key| key.is_security())
}

/// What may stand before a key on its line. A `#` makes it a comment.
fn is_mark(c: char) -> bool {
    !c.is_alphanumeric() && !matches!(c, '#' | '"' | '\'' | '_')
}

/// The lines of `text` and where they begin.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive('\n').map(move |line| {
        let at = next;
        next += line.len();
        (at, line.trim_end_matches('\n'))
    })
}
