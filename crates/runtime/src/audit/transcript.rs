//! What a model said, from the file in which its client keeps a conversation.

use serde_json::Value;

/// What the model said in `text`: a conversation as JSON, or as one JSON value on each line, of which only what the
/// assistant said counts; anything else is taken as it is.
///
/// Clients spell a message as `{"role": "assistant", "content": …}`, alone or inside of something else, where the
/// content is a text or a list of parts with a `text`.
///
/// ```
/// use concertina_runtime::audit::said_by_model;
/// let log = r#"{"type": "user", "message": {"role": "user", "content": "Do the tests pass?"}}
/// {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "All pass."}]}}"#;
/// assert_eq!(said_by_model(log), "All pass.");
/// assert_eq!(said_by_model("All pass."), "All pass.");
/// ```
pub fn said_by_model(text: &str) -> String {
    // A line that was cut off costs only itself.
    let lines = || text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let values: Vec<Value> =
        serde_json::from_str::<Value>(text).map_or_else(|_| lines().collect(), |value| vec![value]);
    if !values.iter().any(|value| value.is_object() || value.is_array()) {
        return text.to_owned();
    }
    let mut said = Vec::new();
    for value in &values {
        messages(value, &mut said);
    }
    said.join("\n")
}

/// Adds what the assistant says in `value`, wherever it stands there.
fn messages(value: &Value, said: &mut Vec<String>) {
    if value.get("role").and_then(Value::as_str) == Some("assistant") {
        return value.get("content").into_iter().for_each(|content| texts(content, said));
    }
    match value {
        Value::Array(all) => all.iter().for_each(|one| messages(one, said)),
        Value::Object(all) => all.values().for_each(|one| messages(one, said)),
        _ => {}
    }
}

/// Adds the texts of a message.
fn texts(content: &Value, said: &mut Vec<String>) {
    match content {
        Value::String(text) => said.push(text.clone()),
        Value::Array(parts) => {
            let of_part =
                |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
            said.extend(parts.iter().filter_map(of_part));
        }
        _ => {}
    }
}
