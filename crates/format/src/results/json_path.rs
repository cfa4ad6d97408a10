//! Single values of a JSON text.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use concertina_types::FieldValue;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::error::Category;

use super::lines::ends_here;
use super::{Unreadable, exit};

/// Texts that are longer are no facts: receipts are kept and shown.
const TEXT_CHARACTERS: usize = 1_000;

/// Whole numbers beyond this have more than one spelling in canonical JSON (RFC 8785).
const LARGEST: i64 = (1 << 53) - 1;

/// The way to one value of a JSON text: a subset of [RFC 9535](https://www.rfc-editor.org/rfc/rfc9535).
///
/// | part | means |
/// |---|---|
/// | `$` | the whole text; every path begins with it |
/// | `.name` | the member of an object: a letter or `_`, then letters, digits and `_`; all beyond ASCII are letters |
/// | `['any name']` | the same for any name, in `'` or `"`; inside, `\` stands before itself and before quotes |
/// | `[3]` | the element of a list, from 0 |
///
/// What can lead to several values is refused: `*`, `..`, slices, filters, and indexes from the end.
///
/// ```
/// use concertina_format::results::JsonPath;
/// let path: JsonPath = r#"$.suites[0]["passed tests"]"#.parse()?;
/// assert_eq!(path.to_string(), "$.suites[0]['passed tests']");
/// assert!("$.suites[*]".parse::<JsonPath>().is_err());
/// # Ok::<(), concertina_format::results::JsonPathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Member(String),
    Element(usize),
}

impl JsonPath {
    /// The value that it leads to in `root`.
    pub fn find<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(root, |value, step| match step {
            Step::Member(name) => value.as_object()?.get(name),
            Step::Element(index) => value.as_array()?.get(*index),
        })
    }
}

/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at character {column} of the path; write `$`, `.name`, `['name']` and `[0]`")]
pub struct JsonPathError {
    what: &'static str,
    column: usize,
}

impl JsonPathError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        "JSON_PATH_INVALID"
    }
}

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        let failed = |what, rest: &str| {
            let column = text.chars().count().saturating_sub(rest.chars().count()) + 1;
            JsonPathError { what, column }
        };
        let mut rest = text.strip_prefix('$').ok_or_else(|| failed("`$` is missing", text))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = step(rest).map_err(|what| failed(what, rest))?;
            steps.push(step);
            rest = after;
        }
        Ok(Self(steps))
    }
}

/// The step that `text` begins with, and what follows it.
fn step(text: &str) -> Result<(Step, &str), &'static str> {
    if let Some(text) = text.strip_prefix('.') {
        let end = text.find(|c| !is_in_name(c)).unwrap_or(text.len());
        let (name, after) = text.split_at_checked(end).unwrap_or((text, ""));
        if !name.starts_with(|c: char| !c.is_ascii_digit()) {
            return Err("a name that can stand without quotes is missing");
        }
        return Ok((Step::Member(name.to_owned()), after));
    }
    let text = text.strip_prefix('[').ok_or("a step begins with neither `.` nor `[`")?;
    let (step, after) = match text.chars().next() {
        Some(quote @ ('\'' | '"')) => quoted(text, quote)?,
        _ => index(text)?,
    };
    Ok((step, after.strip_prefix(']').ok_or("`]` is missing")?))
}

fn is_in_name(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || character == '_'
        || !(character.is_ascii() || character.is_control())
}

fn quoted(text: &str, quote: char) -> Result<(Step, &str), &'static str> {
    let mut name = String::new();
    let mut characters = text.chars();
    characters.next();
    loop {
        match characters.next().ok_or("the closing quote is missing")? {
            end if end == quote => return Ok((Step::Member(name), characters.as_str())),
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | '\'' | '"')) => name.push(escaped),
                _ => return Err("an escape other than those of quotes and `\\` stands in a name"),
            },
            control if control.is_control() => return Err("a control character stands in a name"),
            other => name.push(other),
        }
    }
}

fn index(text: &str) -> Result<(Step, &str), &'static str> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, after) = text.split_at_checked(end).unwrap_or((text, ""));
    let index = super::lines::count(digits).and_then(|index| usize::try_from(index).ok());
    Ok((Step::Element(index.ok_or("an index from 0 or a quoted name is missing")?), after))
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Element(index) => write!(f, "[{index}]"),
            Step::Member(name)
                if name.starts_with(|c: char| !c.is_ascii_digit())
                    && name.chars().all(is_in_name) =>
            {
                write!(f, ".{name}")
            }
            Step::Member(name) => {
                write!(f, "['{}']", name.replace('\\', r"\\").replace('\'', r"\'"))
            }
        })
    }
}

impl From<JsonPath> for String {
    fn from(path: JsonPath) -> Self {
        path.to_string()
    }
}

impl TryFrom<String> for JsonPath {
    type Error = JsonPathError;

    fn try_from(text: String) -> Result<Self, JsonPathError> {
        text.parse()
    }
}

/// A JSON value in which no object has two members of one name: readers differ in which of them counts.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut members = serde_json::Map::new();
        while let Some((name, Strict(value))) = object.next_entry::<String, _>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("two members have one name"));
            }
        }
        Ok(members.into())
    }
}

/// The fields at `paths` of the JSON text `output`.
pub(super) fn read(
    paths: &BTreeMap<String, JsonPath>,
    output: &str,
) -> Result<BTreeMap<String, FieldValue>, Unreadable> {
    let mut values = serde_json::Deserializer::from_str(output).into_iter::<Strict>();
    let root = match values.next() {
        None => return Err(Unreadable::new("there is no JSON")),
        Some(Err(error)) => {
            let what = match error.classify() {
                Category::Eof => "the JSON has no end: it was broken off",
                Category::Data => "an object has two members of one name",
                Category::Syntax | Category::Io => "this is no JSON",
            };
            return Err(Unreadable::new(what).at(error.line()));
        }
        Some(Ok(Strict(root))) => root,
    };
    if !output.get(values.byte_offset()..).is_some_and(ends_here) {
        return Err(Unreadable::new("something follows the JSON"));
    }
    paths
        .iter()
        .map(|(name, path)| match field(path.find(&root)) {
            _ if name == exit::FIELD => {
                let what =
                    format!("`{name}` is the exit code; give the value at `{path}` another name");
                Err(Unreadable::new(what))
            }
            Ok(value) => Ok((name.clone(), value)),
            Err((what, help)) => {
                Err(Unreadable::new(format!("`{name}`: {what} at `{path}`")).help(help))
            }
        })
        .collect()
}

fn field(value: Option<&Value>) -> Result<FieldValue, (&'static str, &'static str)> {
    const SINGLE: &str = "take a path to a whole number, a text, `true` or `false`";
    match value {
        None => Err(("there is nothing", SINGLE)),
        Some(Value::Null) => Err(("there is `null`", SINGLE)),
        Some(Value::Array(_)) => Err(("there is a list", SINGLE)),
        Some(Value::Object(_)) => Err(("there is an object", SINGLE)),
        Some(Value::Bool(flag)) => Ok(FieldValue::Flag(*flag)),
        Some(Value::Number(number)) => match number.as_i64() {
            Some(whole) if (-LARGEST..=LARGEST).contains(&whole) => Ok(FieldValue::Number(whole)),
            None if number.is_f64() => Err((
                "there is a number with a fraction or an exponent",
                "let the tool write a whole number, in a smaller unit such as per mille",
            )),
            _ => Err(("there is a number beyond 2^53", "let the tool write it as a text")),
        },
        Some(Value::String(text)) if text.chars().nth(TEXT_CHARACTERS).is_some() => {
            Err(("there is a text of more than 1,000 characters", "take a path to a shorter one"))
        }
        Some(Value::String(text)) => Ok(FieldValue::Text(text.clone())),
    }
}
