//! The definitions of tools as servers write them. A malformed one is left out alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_runtime::upstream::{Hints, JsonText, OfferedTool};
use concertina_types::{Digest, ToolName, canonical_json, limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::names::tool_name;

/// Something that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What it is called, as far as that is known.
    pub what: String,
    /// Why it is left out.
    pub why: String,
}

/// A tool, with the name that its server knows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) raw: String,
    pub(super) offered: Arc<OfferedTool>,
}

/// The tools among `definitions`, sorted by name, each with its definition, and what was left out.
pub(super) fn tools<'a>(
    server: &str,
    definitions: &'a [JsonText],
) -> (Vec<(Tool, &'a JsonText)>, Vec<LeftOut>) {
    let mut tools: BTreeMap<ToolName, (Tool, &JsonText)> = BTreeMap::new();
    let mut left_out = Vec::new();
    for (number, text) in definitions.iter().enumerate() {
        let definition = text.value();
        match tool(server, &definition) {
            Err(why) => {
                let raw = definition.get("name").and_then(Value::as_str).unwrap_or_default();
                let what = if raw.is_empty() {
                    format!("entry {}", number + 1)
                } else {
                    raw.chars().take(100).collect()
                };
                left_out.push(LeftOut { what, why });
            }
            Ok(tool) => match tools.get(&tool.offered.name) {
                None => {
                    tools.insert(tool.offered.name.clone(), (tool, text));
                }
                Some((known, _)) => {
                    let why = if known.raw == tool.raw {
                        "the server lists this name twice; the first counts".to_owned()
                    } else {
                        format!("its name cannot be told from `{}`", known.raw)
                    };
                    left_out.push(LeftOut { what: tool.raw, why });
                }
            },
        }
    }
    (tools.into_values().collect(), left_out)
}

fn tool(server: &str, definition: &Value) -> Result<Tool, String> {
    let Value::Object(map) = definition else {
        return Err("it is no object".to_owned());
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    let raw = text("name").filter(|name| !name.is_empty()).ok_or("it has no name")?;
    let name = tool_name(server, raw).ok_or("its name cannot be written")?;
    let input = map.get("inputSchema").ok_or("it has no `inputSchema`")?;
    check_schema("inputSchema", input)?;
    let output = map.get("outputSchema").filter(|schema| !schema.is_null());
    if let Some(output) = output {
        check_schema("outputSchema", output)?;
    }
    let annotation = |key: &str| definition.pointer(&format!("/annotations/{key}"));
    let hint = |key: &str| annotation(key).and_then(Value::as_bool);
    let title = text("title").or_else(|| annotation("title").and_then(Value::as_str));
    let offered = OfferedTool {
        name,
        server: server.to_owned(),
        title: title.map(str::to_owned),
        description: text("description").unwrap_or_default().to_owned(),
        input: input.into(),
        output: output.map(Into::into),
        hints: Hints {
            read_only: hint("readOnlyHint"),
            destructive: destructive(map.get("annotations")),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        },
        tags: tags(definition),
        quarantined: None,
        digest: digest(definition),
    };
    Ok(Tool { raw: raw.to_owned(), offered: Arc::new(offered) })
}

/// Whether a tool destroys things, in its server's words. Words that cannot be read are no denial.
fn destructive(annotations: Option<&Value>) -> Option<bool> {
    let annotations = annotations.filter(|annotations| !annotations.is_null())?;
    let Some(map) = annotations.as_object() else { return Some(true) };
    match map.get("destructiveHint") {
        None | Some(Value::Null) => None,
        Some(hint) => Some(hint.as_bool().unwrap_or(true)),
    }
}

/// The digest of a definition. The order of its keys says nothing.
pub(super) fn digest(definition: &Value) -> Digest {
    Digest::of(canonical_json(definition).as_bytes())
}

/// Tags stand where frameworks write them; the protocol names no place.
fn tags(definition: &Value) -> Vec<String> {
    let places = ["/tags", "/_meta/tags", "/_meta/fastmcp/tags", "/_meta/_fastmcp/tags"];
    let found = places.iter().find_map(|place| definition.pointer(place)?.as_array());
    let mut tags: Vec<String> =
        found.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    tags.sort();
    tags.dedup();
    tags
}

fn check_schema(key: &str, schema: &Value) -> Result<(), String> {
    let Value::Object(map) = schema else {
        return Err(format!("`{key}` is no object"));
    };
    match map.get("type") {
        None => {}
        Some(kind) if kind == "object" => {}
        Some(kind) => return Err(format!("`{key}` describes {kind}, not an object")),
    }
    walk(key, schema, 0)?;
    let bytes = schema.to_string().len();
    if bytes > limits::SCHEMA_BYTES {
        let limit = limits::SCHEMA_BYTES;
        return Err(format!("`{key}` has {bytes} bytes; the limit is {limit}"));
    }
    Ok(())
}

fn walk(key: &str, value: &Value, depth: usize) -> Result<(), String> {
    if depth > limits::SCHEMA_DEPTH {
        let limit = limits::SCHEMA_DEPTH;
        return Err(format!("`{key}` is nested deeper than {limit} levels"));
    }
    match value {
        Value::Object(map) => {
            for keyword in ["$ref", "$dynamicRef"] {
                // A property may be called `$ref`; then its value is a schema, no text.
                if let Some(Value::String(target)) = map.get(keyword)
                    && !target.starts_with('#')
                {
                    return Err(format!("`{key}` refers to `{target}`, which is outside of it"));
                }
            }
            map.values().try_for_each(|value| walk(key, value, depth + 1))
        }
        Value::Array(items) => items.iter().try_for_each(|value| walk(key, value, depth + 1)),
        _ => Ok(()),
    }
}
