//! One spelling for one value.

use std::cmp::Ordering;

use serde::Serialize;
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
    let mut out = Vec::with_capacity(1_024);
    write(value, &mut out);
    // JSON is text.
    String::from_utf8(out).unwrap_or_default()
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|(a, _), (b, _)| in_order(a, b));
            out.push(b'{');
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                scalar(key, out);
                out.push(b':');
                write(item, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        other => scalar(other, out),
    }
}

fn scalar(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, value);
}

/// RFC 8785 orders keys by UTF-16 code units; bytes differ only past U+FFFF.
fn in_order(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}
