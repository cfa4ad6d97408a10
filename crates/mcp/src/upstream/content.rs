//! Results of tools: the text that stands for them, and what goes on unchanged.

use concertina_runtime::tools::{Attached, Outcome};
use concertina_types::limits;
use serde_json::Value;

use crate::says::says;

/// The outcome that a result of `tools/call` is.
pub(super) fn outcome(mut result: Value) -> Outcome {
    let mut take = |key: &str| result.get_mut(key).map(Value::take);
    let content = match take("content") {
        Some(Value::Array(content)) => content,
        _ => Vec::new(),
    };
    let structured = take("structuredContent").filter(|structured| !structured.is_null());
    let meta = take("_meta").filter(|meta| !meta.is_null());
    let is_error = take("isError").is_some_and(|flag| flag == true);
    let (output, dropped) = text(&content, structured.as_ref());
    let attached = Box::new(Attached { content, structured, meta });
    Outcome::Done {
        exit: i32::from(is_error),
        output,
        dropped,
        attached: Some(attached),
        held: None,
    }
}

/// Every piece as text, and how many bytes were dropped because of the limit.
fn text(content: &[Value], structured: Option<&Value>) -> (String, u64) {
    let mut pieces: Vec<String> = content.iter().map(piece).collect();
    let said = pieces.join("\n");
    // Servers are asked to say the structured result as text too; then it is said once.
    if let Some(structured) = structured
        && !pieces.iter().chain([&said]).any(|text| says(text, structured))
    {
        pieces.push(structured.to_string());
    }
    let mut text = pieces.join("\n");
    let whole = text.len();
    if whole > limits::OUTPUT_BYTES {
        text.truncate(text.floor_char_boundary(limits::OUTPUT_BYTES));
    }
    let dropped = whole - text.len();
    (text, u64::try_from(dropped).unwrap_or(u64::MAX))
}

fn piece(piece: &Value) -> String {
    let text = |key: &str| piece.get(key).and_then(Value::as_str);
    let size = |data: &str| data.len() / 4 * 3;
    match text("type") {
        Some("text") => text("text").unwrap_or_default().to_owned(),
        Some(kind @ ("image" | "audio")) => {
            let of = text("mimeType").unwrap_or("unknown type");
            format!("[{kind}: {of}, about {} bytes]", size(text("data").unwrap_or_default()))
        }
        Some("resource_link") => {
            let name = text("name").unwrap_or("resource");
            let uri = text("uri").unwrap_or_default();
            match text("description") {
                Some(description) => format!("{name}: {uri} ({description})"),
                None => format!("{name}: {uri}"),
            }
        }
        Some("resource") => {
            let inner = |key: &str| {
                piece.get("resource").and_then(|inner| inner.get(key)).and_then(Value::as_str)
            };
            match (inner("text"), inner("blob")) {
                (Some(text), _) => text.to_owned(),
                (None, blob) => {
                    let uri = inner("uri").unwrap_or_default();
                    let of = inner("mimeType").unwrap_or("unknown type");
                    format!("[{uri}: {of}, about {} bytes]", size(blob.unwrap_or_default()))
                }
            }
        }
        // A kind that no revision known here has: as it came.
        _ => piece.to_string(),
    }
}
