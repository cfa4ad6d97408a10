//! Codex 0.171.0, as watched on Linux with a scripted model.
//!
//! Reads `.agents/skills` and `.codex/skills` of project and home, also two levels deep, and lists
//! them with their files; a description is cut at 1,024 characters, the lines together at 2 % of the
//! window times four bytes: over that, all descriptions are shortened alike, then removed, then
//! skills are dropped in listing order. `disable-model-invocation` is ignored; files without
//! frontmatter are dropped. The project's settings count only where the person's trust it.

use serde_json::Value;

use super::super::Around;
use super::super::report::ServerState;
use super::super::servers::{Mention, mentions};
use super::super::settings::Document;
use super::{Client, Format, Found, Known, Rules, Total, Unit};

pub(super) const CLIENT: Client = Client {
    id: "codex",
    name: "Codex",
    observed: Some("0.171.0"),
    model: "gpt-5",
    find,
    servers,
    rules: Some(Rules {
        own: Some(4),
        levels: 2,
        deeper_is_lost: Known::No,
        drops_without_frontmatter: Known::Yes,
        hides_disabled: false,
        waits_for_paths: Known::No,
        lists_when_to_use: false,
        lists_file: true,
        entry_chars: Some(1_024),
        total: Some(Total { percent: 2, unit: Unit::Bytes, drops: true }),
    }),
};

fn find(around: &Around) -> Found {
    let mut found = Found::default();
    let own = around.codex.clone().or_else(|| around.at_home(".codex"));
    found.mark(own.clone());
    found.settings(own.as_ref().map(|own| own.join("config.toml")), Format::Toml, false);
    found.skills(own.map(|own| own.join("skills")), true);
    found.skills(around.at_home(".agents/skills"), true);
    for (above, directory) in around.directories.iter().enumerate() {
        found.mark(directory.join(".codex"));
        found.settings(directory.join(".codex/config.toml"), Format::Toml, true);
        // Whether it looks above the directory that it is started in was not watched.
        found.skills(directory.join(".agents/skills"), above == 0);
        found.skills(directory.join(".codex/skills"), above == 0);
    }
    found
}

fn servers(documents: &[Document], around: &Around) -> Vec<Mention> {
    let trusted = documents.iter().filter(|document| !document.of_project).any(|document| {
        let projects = document.value.get("projects");
        around.directories.iter().filter_map(|directory| directory.to_str()).any(|directory| {
            let level = projects.and_then(|projects| projects.get(directory)?.get("trust_level"));
            level.and_then(Value::as_str) == Some("trusted")
        })
    });
    let each = documents.iter().flat_map(|document| {
        let state = |_: &str, server: &Value| match server.get("enabled").and_then(Value::as_bool) {
            Some(false) => ServerState::Off,
            _ if document.of_project && !trusted => ServerState::IfTrusted,
            _ => ServerState::On,
        };
        mentions(document, document.value.get("mcp_servers"), &state)
    });
    each.collect()
}
