//! A value of a document, with its spelling and its place.

use concertina_types::Span;
use serde_json::{Map, Number, Value};

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without quotes: YAML may read it as a number, a boolean or nothing.
    Plain,
    /// In quotes or as a block: always text.
    Text,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Scalar(String, Style),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A value and the bytes of the decoded text that it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The first byte of the key.
    pub(crate) at: usize,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn text(text: impl Into<String>, span: Span) -> Self {
        Self { span, kind: Kind::Scalar(text.into(), Style::Text) }
    }

    pub(crate) fn plain(text: impl Into<String>, span: Span) -> Self {
        Self { span, kind: Kind::Scalar(text.into(), Style::Plain) }
    }

    /// Nothing, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar(text, Style::Plain) if is_null(text))
    }

    /// The scalar as written; `None` for lists, mappings and nothing.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(text, _) if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Whether YAML reads the scalar as something other than text.
    pub(crate) fn is_typed_scalar(&self) -> bool {
        match &self.kind {
            Kind::Scalar(text, Style::Plain) => {
                is_null(text) || !matches!(typed(text), Value::String(_)) || is_old_boolean(text)
            }
            _ => false,
        }
    }

    /// The value with scalars as text, spelled as written.
    pub(crate) fn lexemes(&self) -> Value {
        self.value(&|text, _| Value::String(text.to_owned()))
    }

    /// The value with the types of the YAML 1.2 core schema.
    pub(crate) fn json(&self) -> Value {
        self.value(&|text, style| match style {
            Style::Plain => typed(text),
            Style::Text => Value::String(text.to_owned()),
        })
    }

    fn value(&self, scalar: &impl Fn(&str, Style) -> Value) -> Value {
        match &self.kind {
            Kind::Scalar(text, style) => scalar(text, *style),
            Kind::List(items) => items.iter().map(|item| item.value(scalar)).collect(),
            Kind::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|e| (e.key.clone(), e.value.value(scalar)))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// The words that YAML 1.1 reads as booleans and YAML 1.2 does not.
fn is_old_boolean(text: &str) -> bool {
    ["yes", "no", "on", "off", "y", "n"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A plain scalar by the core schema of YAML 1.2.2, section 10.3.2. Numbers that JSON cannot hold
/// stay text.
fn typed(text: &str) -> Value {
    if is_null(text) {
        return Value::Null;
    }
    match text {
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(Number::from);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        return text
            .parse::<i64>()
            .map(Number::from)
            .or_else(|_| text.parse::<u64>().map(Number::from))
            .ok();
    }
    let float_like = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !unsigned.chars().all(float_like) {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}
