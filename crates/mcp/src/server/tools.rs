//! The definitions that `tools/list` gives.

use std::sync::{Arc, OnceLock};

use concertina_core::catalog::{Danger, ToolEntry};
use concertina_core::session::{FOUR_TOOLS, client_tool_definitions};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};

use super::names::alias;

/// Whether `name` is one of the four.
pub(super) fn is_own(name: &str) -> bool {
    FOUR_TOOLS.contains(&name)
}

/// The four tools: the same bytes for every session and catalogue.
pub(super) fn four() -> &'static [Tool] {
    static FOUR: OnceLock<Vec<Tool>> = OnceLock::new();
    FOUR.get_or_init(|| {
        let definitions = client_tool_definitions().into_iter();
        definitions
            .map(|definition| {
                let schema = definition.parameters.as_object().cloned().unwrap_or_default();
                let tool = Tool::new(definition.name.clone(), definition.description, schema);
                match annotations(&definition.name) {
                    Some(annotations) => tool.with_annotations(annotations),
                    None => tool,
                }
            })
            .collect()
    })
}

/// What the four do to the world. Nothing can be said of `call`: that depends on the tool.
fn annotations(name: &str) -> Option<ToolAnnotations> {
    match name {
        "find" | "open" => Some(ToolAnnotations::new().read_only(true)),
        "close" => {
            Some(ToolAnnotations::new().read_only(false).destructive(false).open_world(false))
        }
        _ => None,
    }
}

/// A tool of the catalogue under its alias, with the schema that its server wrote. Its results may
/// be pages, so the schema of its whole result would promise too much.
pub(super) fn listed(entry: &ToolEntry) -> Tool {
    let schema: JsonObject = entry.parameters.as_object().cloned().unwrap_or_default();
    let tool = Tool::new(alias(&entry.name), entry.description.clone(), Arc::new(schema));
    match entry.danger {
        Danger::Safe => tool.with_annotations(ToolAnnotations::new().read_only(true)),
        Danger::Destructive => tool.with_annotations(ToolAnnotations::new().destructive(true)),
        Danger::Writes => tool,
    }
}
