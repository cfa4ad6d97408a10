//! The definitions that `tools/list` gives.

use std::sync::{Arc, OnceLock};

use concertina_core::catalog::{Danger, ToolEntry};
use concertina_core::session::{
    FOUR_TOOLS, client_tool_definitions, visible_skills, visible_tools,
};
use concertina_runtime::Session;
use concertina_types::{Subject, limits};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::json;

use super::names::{alias, opener};

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

/// Everything that can be opened or called now in `session`: skills, menus, tools.
pub(super) fn listed(session: &Session) -> Vec<Tool> {
    let (state, world) = (session.state(), session.world());
    let skills = visible_skills(state, &world, Subject::Model).take(limits::LISTED_SKILLS);
    let mut list: Vec<Tool> = skills
        .map(|entry| {
            let about = format!("Opens the skill {}. {}", entry.id, entry.summary());
            opens(opener("skill", entry.id.as_str()), about)
        })
        .collect();
    list.extend(session.menus().into_iter().map(|(menu, title, tools)| {
        let about = format!("Opens the menu {menu} with {tools} tools. {title}");
        opens(opener("menu", &menu), about.trim_end().to_owned())
    }));
    list.extend(visible_tools(state, &world).into_iter().map(tool));
    list
}

/// A tool that opens something.
fn opens(name: String, about: String) -> Tool {
    let args = json!({"type": "object", "properties": {
        "args": {"type": "object", "description": "Its parameters, where it has some."},
    }});
    let schema = args.as_object().cloned().unwrap_or_default();
    Tool::new(name, about, schema).with_annotations(ToolAnnotations::new().read_only(true))
}

/// A tool of the catalogue under its alias, with the schema that its server wrote. Its results may
/// be pages, so the schema of its whole result would promise too much.
fn tool(entry: &ToolEntry) -> Tool {
    let schema: JsonObject = serde_json::from_str(entry.parameters.text()).unwrap_or_default();
    let tool = Tool::new(alias(&entry.name), entry.description.clone(), Arc::new(schema));
    match entry.danger {
        Danger::Safe => tool.with_annotations(ToolAnnotations::new().read_only(true)),
        Danger::Destructive => tool.with_annotations(ToolAnnotations::new().destructive(true)),
        Danger::Writes => tool,
    }
}
