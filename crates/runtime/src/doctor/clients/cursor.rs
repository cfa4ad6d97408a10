//! Cursor. Its settings name MCP servers; what it does with skills was not watched.

use super::super::Around;
use super::super::report::ServerState;
use super::super::servers::{Mention, mentions};
use super::super::settings::Document;
use super::{Client, Format, Found};

pub(super) const CLIENT: Client =
    Client { id: "cursor", name: "Cursor", observed: None, model: "", find, servers, rules: None };

fn find(around: &Around) -> Found {
    let mut found = Found::default();
    found.mark(around.at_home(".cursor"));
    found.settings(around.at_home(".cursor/mcp.json"), Format::Json, false);
    for directory in &around.directories {
        found.mark(directory.join(".cursor"));
        found.settings(directory.join(".cursor/mcp.json"), Format::Json, true);
    }
    found
}

fn servers(documents: &[Document], _: &Around) -> Vec<Mention> {
    // Servers are switched off inside the program, not in this file.
    let state = |_: &str, _: &serde_json::Value| ServerState::On;
    documents
        .iter()
        .flat_map(|document| mentions(document, document.value.get("mcpServers"), &state))
        .collect()
}
