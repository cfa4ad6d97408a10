//! TOML and JSON frontmatter, as nodes.

use concertina_types::{Span, limits};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::yaml::Fault;
use crate::yaml::{Entry, Kind, Node};

/// Reads TOML. Numbers keep their spelling.
pub(super) fn toml(source: &str, base: usize) -> Result<Node, Fault> {
    let table = DeTable::parse(source).map_err(|error| Fault::Syntax {
        at: base + error.span().map_or(0, |span| span.start),
        message: error.message().to_owned(),
    })?;
    let span = table.span();
    table_node(table.get_ref(), Span::new(base + span.start, base + span.end), base, 0)
}

fn table_node(table: &DeTable<'_>, span: Span, base: usize, depth: usize) -> Result<Node, Fault> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let at = base + key.span().start;
        let range = value.span();
        let span = Span::new(base + range.start, base + range.end);
        let value = toml_node(value.get_ref(), span, base, depth + 1)?;
        entries.push(Entry { key: key.get_ref().to_string(), at, value });
    }
    entries.sort_by_key(|entry| entry.at);
    Ok(Node { span, kind: Kind::Map(entries) })
}

fn toml_node(value: &DeValue<'_>, span: Span, base: usize, depth: usize) -> Result<Node, Fault> {
    if depth > limits::FRONTMATTER_DEPTH {
        return Err(Fault::TooComplex { at: span.start });
    }
    Ok(match value {
        DeValue::String(text) => Node::text(text.to_string(), span),
        DeValue::Integer(number) => Node::plain(number.as_str(), span),
        DeValue::Float(number) => Node::plain(number.as_str(), span),
        DeValue::Boolean(flag) => Node::plain(flag.to_string(), span),
        DeValue::Datetime(date) => Node::plain(date.to_string(), span),
        DeValue::Array(items) => {
            let mut nodes = Vec::new();
            for item in items {
                let range = item.span();
                let span = Span::new(base + range.start, base + range.end);
                nodes.push(toml_node(item.get_ref(), span, base, depth + 1)?);
            }
            Node { span, kind: Kind::List(nodes) }
        }
        DeValue::Table(table) => table_node(table, span, base, depth)?,
    })
}

/// Reads JSON. Most JSON is YAML; this is for what is not.
pub(super) fn json(source: &str, base: usize) -> Result<Node, Fault> {
    let value: Value = serde_json::from_str(source.trim())
        .map_err(|error| Fault::Syntax { at: base, message: error.to_string() })?;
    json_node(value, Span::new(base, base + source.len()), 0)
}

fn json_node(value: Value, span: Span, depth: usize) -> Result<Node, Fault> {
    if depth > limits::FRONTMATTER_DEPTH {
        return Err(Fault::TooComplex { at: span.start });
    }
    // Finer places are not known.
    let here = Span::new(span.start, span.start);
    Ok(match value {
        Value::Null => Node::plain("", span),
        Value::Bool(flag) => Node::plain(flag.to_string(), span),
        Value::Number(number) => Node::plain(number.to_string(), span),
        Value::String(text) => Node::text(text, span),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| json_node(item, here, depth + 1));
            Node { span, kind: Kind::List(items.collect::<Result<_, _>>()?) }
        }
        Value::Object(map) => {
            let entries = map.into_iter().map(|(key, value)| {
                json_node(value, here, depth + 1).map(|value| Entry { key, at: span.start, value })
            });
            Node { span, kind: Kind::Map(entries.collect::<Result<_, _>>()?) }
        }
    })
}
