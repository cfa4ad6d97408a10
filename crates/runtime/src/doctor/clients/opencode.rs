//! opencode 1.18.33, as watched on Linux with a scripted model.
//!
//! Reads `.agents/skills` and `.claude/skills` of project and home, `.opencode/skill` and
//! `.opencode/skills`, and `opencode/skills` of the person's settings, also two levels deep.
//! Descriptions are not cut, and no limit of the whole showed. `disable-model-invocation` is
//! ignored; files without frontmatter are dropped without a word.

use serde_json::Value;

use super::super::Around;
use super::super::report::ServerState;
use super::super::servers::{Mention, mentions};
use super::super::settings::Document;
use super::{Client, Format, Found, Known, Rules};

pub(super) const CLIENT: Client = Client {
    id: "opencode",
    name: "opencode",
    observed: Some("1.18.33"),
    // It works with any model.
    model: "",
    find,
    servers,
    rules: Some(Rules {
        own: Some(1),
        levels: 2,
        deeper_is_lost: Known::No,
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
    let own = around.config.as_ref().map(|config| config.join("opencode"));
    found.mark(own.clone());
    for name in ["opencode.json", "opencode.jsonc"] {
        found.settings(own.as_ref().map(|own| own.join(name)), Format::JsonWithComments, false);
    }
    found.skills(own.map(|own| own.join("skills")), true);
    found.skills(around.at_home(".agents/skills"), true);
    found.skills(around.at_home(".claude/skills"), true);
    for (above, directory) in around.directories.iter().enumerate() {
        found.mark(directory.join(".opencode"));
        for name in ["opencode.json", "opencode.jsonc"] {
            found.settings(directory.join(name), Format::JsonWithComments, true);
        }
        for layout in [".agents/skills", ".claude/skills", ".opencode/skill", ".opencode/skills"] {
            found.skills(directory.join(layout), above == 0);
        }
    }
    found
}

fn servers(documents: &[Document], _: &Around) -> Vec<Mention> {
    let state = |_: &str, server: &Value| match server.get("enabled").and_then(Value::as_bool) {
        Some(false) => ServerState::Off,
        _ => ServerState::On,
    };
    documents
        .iter()
        .flat_map(|document| mentions(document, document.value.get("mcp"), &state))
        .collect()
}
