//! Gemini CLI 0.61.0, as watched on Linux with a scripted model.
//!
//! Reads `.agents/skills` and `.gemini/skills` of project and home, one level deep: a skill two
//! levels deep is not found. Nothing is cut. `disable-model-invocation` is ignored; files without
//! frontmatter are dropped without a word. The project's settings count only where it is trusted.
//! `mcp.allowed` and `mcp.excluded`: its public manual.

use serde_json::Value;

use super::super::Around;
use super::super::report::ServerState;
use super::super::servers::{Mention, mentions, names};
use super::super::settings::Document;
use super::{Client, Format, Found, Known, Rules};

pub(super) const CLIENT: Client = Client {
    id: "gemini",
    name: "Gemini CLI",
    observed: Some("0.61.0"),
    model: "gemini",
    find,
    servers,
    rules: Some(Rules {
        own: Some(2),
        levels: 1,
        deeper_is_lost: Known::Yes,
        drops_without_frontmatter: Known::Yes,
        hides_disabled: false,
        waits_for_paths: Known::No,
        lists_when_to_use: false,
        lists_file: false,
        entry_chars: None,
        total: None,
    }),
};

fn find(around: &Around) -> Found {
    let mut found = Found::default();
    found.mark(around.at_home(".gemini"));
    found.settings(around.at_home(".gemini/settings.json"), Format::JsonWithComments, false);
    found.skills(around.at_home(".agents/skills"), true);
    found.skills(around.at_home(".gemini/skills"), true);
    for (above, directory) in around.directories.iter().enumerate() {
        found.mark(directory.join(".gemini"));
        found.settings(directory.join(".gemini/settings.json"), Format::JsonWithComments, true);
        found.skills(directory.join(".agents/skills"), above == 0);
        found.skills(directory.join(".gemini/skills"), above == 0);
    }
    found
}

fn servers(documents: &[Document], _: &Around) -> Vec<Mention> {
    let lists = |key: &str| {
        let found = documents.iter().filter_map(|document| document.value.get("mcp")?.get(key));
        found.collect::<Vec<_>>()
    };
    let (allowed, excluded) = (lists("allowed"), lists("excluded"));
    let each = documents.iter().flat_map(|document| {
        let state = |name: &str, _: &Value| {
            let listed = |lists: &[&Value]| lists.iter().any(|list| names(Some(list), name));
            if listed(&excluded) || !allowed.is_empty() && !listed(&allowed) {
                ServerState::Off
            } else if document.of_project {
                ServerState::IfTrusted
            } else {
                ServerState::On
            }
        };
        mentions(document, document.value.get("mcpServers"), &state)
    });
    each.collect()
}
