//! Arguments that a schema declares secret, or whose name says so.

use serde_json::Value;

use super::{Redactor, named, shapes};

/// How deep a schema is followed: references may go in circles.
const DEPTH: usize = 32;

impl Redactor {
    /// The arguments with a mark for each value that `schema` declares secret (`writeOnly`, `secret`, or
    /// `format: password`) or whose name does, and without what looks like a secret elsewhere.
    ///
    /// ```
    /// use concertina_types::Redactor;
    /// use serde_json::json;
    /// let schema = json!({"properties": {"pin": {"type": "integer", "writeOnly": true}}});
    /// let recorded = Redactor::UNKEYED.redact_arguments(&schema, &json!({"pin": 1234, "n": 5}));
    /// assert_eq!(recorded["n"], 5);
    /// assert!(recorded["pin"].as_str().unwrap().starts_with("[redacted:declared:"));
    /// ```
    pub fn redact_arguments(&self, schema: &Value, arguments: &Value) -> Value {
        let mut arguments = arguments.clone();
        each_secret(schema, schema, &mut arguments, DEPTH, &mut |kind, value| {
            let mark = self.mark(kind, &spelt(value));
            *value = Value::String(mark);
        });
        self.redact_value(&mut arguments);
        arguments
    }

    /// Takes note of each argument that `schema` declares secret, so that it is found wherever else it
    /// turns up.
    pub fn learn_arguments(&mut self, schema: &Value, arguments: &Value) {
        let mut arguments = arguments.clone();
        each_secret(schema, schema, &mut arguments, DEPTH, &mut |kind, value| {
            if kind == DECLARED {
                self.learn(DECLARED, &spelt(value));
            }
        });
    }
}

/// The kind of what a schema declares secret.
pub(super) const DECLARED: &str = "declared";

fn spelt(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn each_secret(
    root: &Value,
    schema: &Value,
    value: &mut Value,
    depth: usize,
    found: &mut dyn FnMut(&'static str, &mut Value),
) {
    let is_marked = |text: &str| shapes::mark(text.as_bytes()) == Some(text.len());
    if value.is_null() || depth == 0 || value.as_str().is_some_and(is_marked) {
        return;
    }
    let says = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let is_password = schema.get("format").and_then(Value::as_str) == Some("password");
    if says("writeOnly") || says("secret") || is_password {
        return found(DECLARED, value);
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str)
        && let Some(target) = pointer.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
    {
        each_secret(root, target, value, depth - 1, found);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for schema in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            each_secret(root, schema, value, depth - 1, found);
        }
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let declared = schema.get("properties").and_then(|all| all.get(name));
                let schema = declared.or_else(|| schema.get("additionalProperties"));
                each_secret(root, schema.unwrap_or(&Value::Null), field, depth - 1, found);
                if is_named_secret(name, field) && !field.as_str().is_some_and(is_marked) {
                    found("named", field);
                }
            }
        }
        Value::Array(items) => {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            for item in items {
                each_secret(root, schema, item, depth - 1, found);
            }
        }
        _ => {}
    }
}

/// Whether the text of a field is a secret by the field's name. Here a value is a value, whatever it
/// looks like; a `token` may also be the name of something.
fn is_named_secret(name: &str, field: &Value) -> bool {
    let Some(text) = field.as_str() else { return false };
    let is_text = text.len() >= super::KNOWN_VALUE_BYTES && !text.contains(char::is_whitespace);
    is_text && named::holds_value(name, text)
}
