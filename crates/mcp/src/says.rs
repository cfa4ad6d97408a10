//! Whether a result says the same thing twice.

use concertina_types::canonical_json;
use serde_json::Value;

/// Whether `text` says what `data` says: as JSON of any spelling, alone or inside other words, or
/// because `data` only wraps the text in a field, as some frameworks do with every result.
pub(crate) fn says(text: &str, data: &Value) -> bool {
    let is_same = |data: &Value| match data {
        Value::String(inner) => inner.trim() == text.trim(),
        other => serde_json::from_str::<Value>(text).is_ok_and(|said| said == *other),
    };
    let wrapped = data.as_object().filter(|map| map.len() == 1).and_then(|map| map.values().next());
    is_same(data)
        || wrapped.is_some_and(is_same)
        || text.contains(&data.to_string())
        || text.contains(&canonical_json(data))
        || serde_json::to_string_pretty(data).is_ok_and(|pretty| text.contains(&pretty))
}

#[cfg(test)]
mod tests {
    use super::says;
    use serde_json::json;

    #[test]
    fn a_wrapper_around_the_text_says_nothing_new() {
        for (text, data) in [
            ("[DIR] src\n", json!({"content": "[DIR] src"})),
            (r#"[{"name": "Bob"}]"#, json!({"entities": [{"name": "Bob"}]})),
            (r#"{"sum": 3}"#, json!({"sum": 3})),
            (r#"Here it is: {"sum":3}"#, json!({"sum": 3})),
            ("", json!({"content": ""})),
        ] {
            assert!(says(text, &data), "{text} {data}");
        }
        for (text, data) in [
            ("3", json!({"sum": 3, "of": [1, 2]})),
            ("three", json!({"sum": 3})),
            ("[DIR] src", json!({"content": "[DIR] src", "count": 1})),
        ] {
            assert!(!says(text, &data), "{text} {data}");
        }
    }
}
