//! The servers that clients' settings name, for whoever wants to use them.

use super::clients::{CLIENTS, Client, SettingsFile};
use super::report::SettingsFinding;
use super::servers::Mention;
use super::{Around, settings};

/// Whose settings are asked. A project's `.mcp.json` always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whose {
    /// Those that belong to one client.
    pub(crate) clients: bool,
    /// Those of the person, and not of the project.
    pub(crate) person: bool,
}

/// What the settings say.
#[derive(Default)]
pub(crate) struct Configured {
    /// Each mention with the client's name, in the order of clients and files.
    pub(crate) mentions: Vec<(&'static str, Mention)>,
    /// What was found in files that could not be read.
    pub(crate) findings: Vec<SettingsFinding>,
}

/// The file that a project keeps for all clients.
const PROJECT_FILE: &str = ".mcp.json";

/// What it is called where a client would be named.
const PROJECT: &str = "project";

/// The servers that settings around a workspace name.
pub(crate) fn configured(around: &Around, whose: Whose) -> Configured {
    let mut all = Configured::default();
    for client in CLIENTS {
        let found = (client.find)(around);
        let wanted = |file: &&SettingsFile| {
            (whose.person || file.of_project)
                && (whose.clients || file.path.ends_with(PROJECT_FILE))
        };
        let read = settings::read(client, found.settings.iter().filter(wanted));
        let mentions = (client.servers)(&read.documents, around);
        all.mentions.extend(mentions.into_iter().map(|mention| (by(client, &mention), mention)));
        all.findings.extend(read.findings);
    }
    all
}

fn by(client: &Client, mention: &Mention) -> &'static str {
    if mention.path.ends_with(PROJECT_FILE) { PROJECT } else { client.id }
}

/// Whether `name` is a client of which it is known what it reads.
pub(crate) fn is_client(name: &str) -> bool {
    CLIENTS.iter().any(|client| client.id == name)
}

/// Whether the client called `client` reads what [`configured`] ascribes to `by`.
pub(crate) fn reads(client: &str, by: &str) -> bool {
    client == by || by == PROJECT && client == "claude"
}
