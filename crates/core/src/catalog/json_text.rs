//! A JSON value as it was written.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON value such as a schema, kept as text: its keys stay in their order, and thousands of them
/// take a tenth of what they would take as values. Clones share the text.
///
/// ```
/// use concertina_core::catalog::JsonText;
/// let schema = JsonText::from(serde_json::json!({"type": "object", "required": ["b", "a"]}));
/// assert_eq!(schema.text(), r#"{"type":"object","required":["b","a"]}"#);
/// assert_eq!(schema.value()["required"][0], "b");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Arc<str>);

impl JsonText {
    /// Its text, without blanks between its parts.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// As a value. It was one when it was made, so this does not fail.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}
