//! What a result says, in numbers and words.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One value that was read from what a tool produced: what conditions are about.
///
/// There are no fractions: a receipt is signed as canonical JSON, in which only whole numbers have one
/// spelling.
///
/// ```
/// use concertina_types::FieldValue;
/// let value: FieldValue = serde_json::from_str("3")?;
/// assert_eq!(value, FieldValue::Number(3));
/// assert_eq!(FieldValue::from("ok").to_string(), "\"ok\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A word.
    Text(String),
}

impl From<i64> for FieldValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for FieldValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for FieldValue {
    /// As conditions write it: words in quotes, escaped as in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&serde_json::Value::from(text.as_str()).to_string()),
        }
    }
}
