//! One spelling for one value.

use serde_json::Value;

/// JSON with sorted keys and no blanks, so that equal values have equal bytes and one digest.
///
/// This is RFC 8785 (JCS) for the values we use: integers, never floating point numbers.
///
/// ```
/// use concertina_types::canonical_json;
/// assert_eq!(canonical_json(&serde_json::json!({"b": 1, "a": [true]})), r#"{"a":[true],"b":1}"#);
/// ```
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            // RFC 8785 orders keys by UTF-16 code units; bytes differ only past U+FFFF.
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
