//! Claude Code.
//!
//! Listing: a published reading of its source (no version named): 1 % of the window, 8,000
//! characters at 200,000 tokens, 250 characters an entry; descriptions are shortened before only
//! names stay; `disable-model-invocation` and `paths` are honoured; legacy commands count.
//! Settings: its public manual (`.mcp.json`, `~/.claude.json`).

use serde_json::Value;

use super::super::Around;
use super::super::report::ServerState;
use super::super::servers::{Mention, mentions, names};
use super::super::settings::Document;
use super::{Client, Format, Found, Known, Rules, Total, Unit};

pub(super) const CLIENT: Client = Client {
    id: "claude",
    name: "Claude Code",
    observed: None,
    model: "claude",
    find,
    servers,
    rules: Some(Rules {
        own: None,
        levels: 1,
        deeper_is_lost: Known::No,
        drops_without_frontmatter: Known::No,
        hides_disabled: true,
        waits_for_paths: Known::Yes,
        lists_when_to_use: true,
        lists_file: false,
        entry_chars: Some(250),
        total: Some(Total { percent: 1, unit: Unit::Characters, drops: false }),
    }),
};

fn find(around: &Around) -> Found {
    let mut found = Found::default();
    let own = around.claude.clone().or_else(|| around.at_home(".claude"));
    found.mark(own.clone());
    let in_own = |name: &str| own.as_ref().map(|own| own.join(name));
    found.settings(around.at_home(".claude.json"), Format::Json, false);
    found.settings(in_own("settings.json"), Format::Json, false);
    found.skills(in_own("skills"), true);
    found.skills(in_own("commands"), true);
    // Which plugins are switched on is not looked up.
    found.skills(in_own("plugins"), false);
    for directory in &around.directories {
        let own = directory.join(".claude");
        found.mark(own.clone());
        found.settings(directory.join(".mcp.json"), Format::Json, true);
        found.settings(own.join("settings.json"), Format::Json, true);
        found.settings(own.join("settings.local.json"), Format::Json, true);
        found.skills(own.join("skills"), true);
        found.skills(own.join("commands"), true);
    }
    found
}

fn servers(documents: &[Document], around: &Around) -> Vec<Mention> {
    let mut found = Vec::new();
    for document in documents {
        let in_mcp_json = document.path.ends_with(".mcp.json");
        let state = |name: &str, _: &Value| {
            let key = if in_mcp_json { "disabledMcpjsonServers" } else { "disabledMcpServers" };
            let off = documents.iter().any(|other| {
                let own = projects(&other.value, around);
                std::iter::once(&other.value).chain(own).any(|value| names(value.get(key), name))
            });
            if off { ServerState::Off } else { ServerState::On }
        };
        found.extend(mentions(document, document.value.get("mcpServers"), &state));
        for project in projects(&document.value, around) {
            found.extend(mentions(document, project.get("mcpServers"), &state));
        }
    }
    found
}

/// What `~/.claude.json` keeps for the project and the directories above it.
fn projects<'a>(value: &'a Value, around: &'a Around) -> impl Iterator<Item = &'a Value> {
    let projects = value.get("projects").and_then(Value::as_object);
    let directories = around.directories.iter().filter_map(|directory| directory.to_str());
    directories.filter_map(move |directory| projects?.get(directory))
}
