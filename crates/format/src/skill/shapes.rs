//! The shapes that the values of single keys take.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{Example, Parameter, Requirement};
use super::split;
use crate::yaml::{Entry, Kind, Node};

/// Names, or one text with blanks or commas.
pub(super) fn names(node: &Node) -> Vec<String> {
    match &node.kind {
        Kind::Scalar(text, _) if !node.is_null() => {
            split::words(text.trim_matches(['[', ']'])).into_iter().map(str::to_owned).collect()
        }
        Kind::Scalar(..) => Vec::new(),
        Kind::List(items) => items.iter().filter_map(name).collect(),
        Kind::Map(entries) => entries.iter().map(|entry| entry.key.clone()).collect(),
    }
}

/// `topic`, `{name: topic}` or `topic: what it is`.
fn name(node: &Node) -> Option<String> {
    let Kind::Map(entries) = &node.kind else { return node.scalar().map(str::to_owned) };
    match entries.iter().find(|entry| entry.key == "name") {
        Some(named) => named.value.scalar().map(str::to_owned),
        None => entries.first().filter(|_| entries.len() == 1).map(|entry| entry.key.clone()),
    }
}

/// Any value but nothing.
pub(super) fn tree(node: &Node) -> Option<Value> {
    (!node.is_null()).then(|| node.json())
}

pub(super) fn parameter(name: &str, schema: Value) -> Parameter {
    let mut schema = match schema {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    };
    // `required` with a list is JSON Schema's own, for the members of an object.
    let required = match schema.get("required") {
        Some(Value::Bool(required)) => {
            let required = *required;
            schema.remove("required");
            required
        }
        _ => false,
    };
    let default = schema.remove("default");
    let description = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    Parameter {
        name: name.trim().to_owned(),
        required,
        default,
        description,
        schema: Value::Object(schema),
    }
}

pub(super) fn is_type(word: &str) -> bool {
    matches!(word, "string" | "integer" | "number" | "boolean" | "array" | "object" | "null")
}

pub(super) fn example(entries: &[Entry]) -> Option<Example> {
    let get = |names: &[&str]| {
        let found =
            entries.iter().find(|e| names.iter().any(|name| e.key.eq_ignore_ascii_case(name)));
        found.map(|e| &e.value)
    };
    let text = |node: Option<&Node>| node.and_then(Node::scalar).map(|text| text.trim().to_owned());
    let tags = match get(&["tags"]).map(|node| &node.kind) {
        Some(Kind::List(items)) => {
            items.iter().filter_map(Node::scalar).map(str::to_owned).collect()
        }
        Some(Kind::Scalar(text, _)) => split::commas(text).into_iter().map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    // `- show it: now` is a text whose colon YAML reads as a mapping.
    let query = text(get(&["query", "user", "request", "input", "prompt"]));
    let query = query.or_else(|| (entries.len() == 1).then(|| pair(entries)).flatten())?;
    Some(Example { query, text: text(get(&["text", "answer", "output", "response"])), tags })
}

pub(super) fn requirement(entries: &[Entry]) -> Option<Requirement> {
    let get = |name: &str| entries.iter().find(|e| e.key == name).map(|e| &e.value);
    let skill = get("skill").or_else(|| get("name"))?.scalar()?.trim().to_owned();
    let pass = match get("pass").map(|node| &node.kind) {
        Some(Kind::Map(pairs)) => pairs
            .iter()
            .filter_map(|e| Some((e.key.clone(), e.value.scalar()?.to_owned())))
            .collect(),
        _ => BTreeMap::new(),
    };
    Some(Requirement { skill, when: get("when").and_then(Node::scalar).map(str::to_owned), pass })
}

/// A mapping of one pair, as the text that its writer meant: `Note: later`.
pub(super) fn pairs(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Map(entries) if entries.len() == 1 => pair(entries),
        _ => None,
    }
}

fn pair(entries: &[Entry]) -> Option<String> {
    let entry = entries.first()?;
    Some(format!("{}: {}", entry.key, entry.value.scalar()?))
}

/// True and false, and the words that YAML 1.1 had for them.
pub(super) fn flag(node: &Node) -> Option<bool> {
    let is = |words: &[&str], text: &str| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match node.scalar()?.trim() {
        text if is(&["true", "yes", "on"], text) => Some(true),
        text if is(&["false", "no", "off"], text) => Some(false),
        _ => None,
    }
}

/// The tools of a text or a list, the same for both; `None` where it is neither.
pub(super) fn tools(node: &Node, source: &str) -> Option<Vec<String>> {
    let split = |text: &str| -> Option<Vec<String>> {
        let words = split::words(text);
        let balanced = |word: &str| word.matches('(').count() == word.matches(')').count();
        words.iter().all(|word| balanced(word)).then(|| words.into_iter().map(unquoted).collect())
    };
    match &node.kind {
        _ if node.is_null() => Some(Vec::new()),
        Kind::Scalar(text, _) => {
            let text = text.trim();
            let listed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            split(listed.unwrap_or(text))
        }
        Kind::List(items) => {
            let mut out = Vec::new();
            for item in items {
                if let Kind::Scalar(text, _) = &item.kind {
                    out.extend(split(text)?);
                    continue;
                }
                // `Bash(git: *)` is a mapping to YAML.
                let written = item.span.of(source).trim();
                let text = if written.is_empty() { pairs(item)? } else { written.to_owned() };
                if text.contains('\n') || !text.contains('(') {
                    return None;
                }
                out.extend(split(&text)?);
            }
            Some(out)
        }
        Kind::Map(_) => None,
    }
}

fn unquoted(word: &str) -> String {
    let inner = |quote| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(word).to_owned()
}

pub(super) fn path_patterns(node: &Node) -> Option<Vec<String>> {
    match &node.kind {
        Kind::Scalar(text, _) => {
            let text = text.trim();
            let text = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
            Some(split::commas(text).into_iter().map(unquoted).collect())
        }
        Kind::List(items) => {
            items.iter().map(|item| item.scalar().map(|text| text.trim().to_owned())).collect()
        }
        Kind::Map(_) => None,
    }
}

/// Alternatives that one pattern may spell out, multiplied over its groups.
const PATTERN_ALTERNATIVES: usize = 1_000;

/// What is wrong with a pattern.
pub(crate) fn pattern_fault(pattern: &str) -> Option<&'static str> {
    let mut product = 1_usize;
    for group in pattern.split('{').skip(1) {
        let inside = group.split('}').next().unwrap_or_default();
        product = product.saturating_mul(inside.matches(',').count() + 1);
    }
    if product > PATTERN_ALTERNATIVES {
        return Some("spells out too many alternatives");
    }
    globset::Glob::new(pattern).is_err().then_some("cannot be read")
}
