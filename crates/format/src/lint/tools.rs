//! How well tools will serve: what their descriptions and schemas do to a model that chooses among
//! them.

use serde::Serialize;
use serde_json::Value;

use super::body::{COMMENT_ORDER, HIDDEN};
use super::description::{SHADOWING, short};
use super::synonyms::names;
use crate::parameters::unsupported_keywords;
use crate::skill::is_invisible;

/// A description of more characters is read on every request and cut by clients.
pub const TOOL_DESCRIPTION_CHARS: usize = 1_024;

/// What is looked at of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool<'a> {
    /// How it is addressed.
    pub name: &'a str,
    /// The server that brings it; empty for a local one.
    pub server: &'a str,
    /// Its name on that server.
    pub own: &'a str,
    /// What the model is told of it.
    pub description: &'a str,
    /// The JSON Schema of its arguments.
    pub schema: &'a Value,
}

/// One thing about one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolFinding {
    /// Which tool.
    pub tool: String,
    /// A stable code.
    pub code: &'static str,
    /// What it is.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
}

/// Looks at each tool by itself and at what it says of the others. In order of the tools.
pub fn lint_tools(tools: &[Tool<'_>]) -> Vec<ToolFinding> {
    let mut found = Vec::new();
    for tool in tools {
        let mut tell = |code, message: String, help| {
            found.push(ToolFinding { tool: tool.name.to_owned(), code, message, help });
        };
        let length = tool.description.chars().count();
        if tool.description.trim().is_empty() {
            tell(
                "DESCRIPTION_EMPTY",
                "it says nothing that a model could choose it by".to_owned(),
                "describe it, or deny it in [policy]",
            );
        } else if length > TOOL_DESCRIPTION_CHARS {
            tell(
                "DESCRIPTION_LONG",
                format!("its description has {length} characters; menus show the first sentence"),
                "say what it does in the first sentence",
            );
        }
        if let Some(words) = order(tool) {
            tell(
                "HIDDEN_INSTRUCTION",
                format!("it gives orders that are no description: `{}`", short(&words)),
                "look at the server, and deny the tool in [policy] if in doubt",
            );
        }
        if texts(tool).iter().any(|text| text.chars().any(is_invisible)) {
            tell(
                "INVISIBLE_TEXT",
                "it holds characters that a person does not see and a model reads".to_owned(),
                "look at the server, and deny the tool in [policy] if in doubt",
            );
        }
        let others = tools.iter().filter(|other| other.server != tool.server);
        let named = others.filter(|other| names(tool.description, other.own));
        for other in named.take(MENTIONS) {
            tell(
                "NAMES_ANOTHER",
                format!("its description speaks of {}, which is not of its server", other.name),
                "look at what it says: a server can steer calls to others",
            );
        }
        for problem in problems(tool.schema) {
            tell("SCHEMA_PROBLEM", problem, "tell the maintainers of the server");
        }
    }
    found
}

/// Other tools that are named for one: the first tell.
const MENTIONS: usize = 3;

/// The description, and those of the parameters.
fn texts<'a>(tool: &Tool<'a>) -> Vec<&'a str> {
    let parameters = tool.schema.get("properties").and_then(Value::as_object);
    let parameters = parameters.into_iter().flat_map(|all| all.values());
    let described = parameters.filter_map(|one| one.get("description")?.as_str());
    std::iter::once(tool.description).chain(described).collect()
}

/// Words by which a tool orders its reader about.
fn order(tool: &Tool<'_>) -> Option<String> {
    texts(tool).into_iter().find_map(|text| {
        let mut comments = text.split("<!--").skip(1).filter_map(|rest| rest.split("-->").next());
        let hidden = comments.find_map(|comment| COMMENT_ORDER.find(comment));
        let found = hidden.or_else(|| HIDDEN.find(text)).or_else(|| SHADOWING.find(text));
        found.map(|(_, words)| words.to_owned())
    })
}

/// What of a schema cannot be what its author meant.
fn problems(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let Some(map) = schema.as_object() else {
        return vec!["its schema is no object".to_owned()];
    };
    if map.get("type").is_some_and(|kind| kind != "object") {
        found.push("its schema describes no object".to_owned());
    }
    for place in unsupported_keywords(schema).iter().take(MENTIONS) {
        found.push(format!("`{place}` in its schema is not checked here"));
    }
    let properties = map.get("properties").and_then(Value::as_object);
    let is_open = ["allOf", "anyOf", "oneOf", "$ref", "patternProperties"]
        .iter()
        .any(|key| map.contains_key(*key));
    let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !is_open && properties.is_none_or(|known| !known.contains_key(name)) {
            found.push(format!("its schema requires `{name}`, which it does not describe"));
        }
    }
    found
}
