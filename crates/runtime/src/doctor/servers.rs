//! MCP servers that settings name: each once, whoever names it, and nothing secret of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use concertina_format::config::Transport as Configuration;
use concertina_types::Digest;
use serde_json::Value;

use super::clients::Client;
use super::report::{Configured, Server, ServerState};
use super::settings::Document;
use crate::workspace::Workspace;

/// One mention of a server in a settings file.
pub(crate) struct Mention {
    pub(crate) name: String,
    /// The file, whether it is a project's, and the digest of its text.
    pub(crate) path: PathBuf,
    pub(crate) of_project: bool,
    pub(crate) digest: Digest,
    pub(crate) state: ServerState,
    pub(crate) transport: Transport,
    /// All that the file says of it.
    pub(crate) value: Value,
}

/// How a server is reached; compared as a whole, shown in part.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Transport {
    Command(Vec<String>),
    Url(String),
    Unknown,
}

impl Transport {
    /// What `{"command": …, "args": […]}` or `{"url": …}` says, in any client's spelling.
    fn read(server: &Value) -> Self {
        let text = |key: &str| server.get(key).and_then(Value::as_str);
        let words = |key: &str| {
            let words = server.get(key).and_then(Value::as_array).into_iter().flatten();
            words.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        if let Some(command) = text("command") {
            let mut argv = vec![command.to_owned()];
            argv.extend(words("args"));
            return Self::Command(argv);
        }
        let argv = words("command");
        if !argv.is_empty() {
            return Self::Command(argv);
        }
        let url = ["url", "httpUrl", "serverUrl"].into_iter().find_map(text);
        url.map_or(Self::Unknown, |url| Self::Url(url.to_owned()))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Url(_) => "url",
            Self::Unknown => "unknown",
        }
    }

    /// What may be shown: the program without its directory and arguments, or scheme and host
    /// without user, path and query. Each of the rest can hold a key.
    fn target(&self) -> String {
        match self {
            Self::Command(argv) => {
                let line = argv.first().map(String::as_str).unwrap_or_default();
                // Some people write a whole line here, variables in front.
                let program = line.split_whitespace().find(|word| !word.contains('='));
                program.and_then(|word| word.rsplit('/').next()).unwrap_or_default().to_owned()
            }
            Self::Url(url) => {
                let Some((scheme, rest)) = url.split_once("://") else {
                    return "(no host)".to_owned();
                };
                let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
                let authority = rest.get(..end).unwrap_or_default();
                let host = authority.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}")
            }
            Self::Unknown => "(neither command nor address)".to_owned(),
        }
    }
}

/// The servers in the table `key` of `document`; `state` says whether the client starts one.
pub(super) fn mentions(
    document: &Document,
    servers: Option<&Value>,
    state: &dyn Fn(&str, &Value) -> ServerState,
) -> Vec<Mention> {
    let servers = servers.and_then(Value::as_object).into_iter().flatten();
    servers
        .map(|(name, server)| Mention {
            name: name.clone(),
            path: document.path.clone(),
            of_project: document.of_project,
            digest: document.digest,
            state: state(name, server),
            transport: Transport::read(server),
            value: server.clone(),
        })
        .collect()
}

/// Whether `list`, an array of names, has `name`.
pub(super) fn names(list: Option<&Value>, name: &str) -> bool {
    list.and_then(Value::as_array)
        .is_some_and(|list| list.iter().any(|one| one.as_str() == Some(name)))
}

/// All servers, each once.
#[derive(Default)]
pub(super) struct Servers(BTreeMap<(String, Transport), Vec<Configured>>);

impl Servers {
    /// Adds what a client is told; gives the number of its servers.
    pub(super) fn add(&mut self, client: &Client, mentions: Vec<Mention>) -> usize {
        let mut own = std::collections::BTreeSet::new();
        for mention in mentions {
            own.insert(mention.name.clone());
            let configured = Configured {
                client: client.id.to_owned(),
                path: mention.path.display().to_string(),
                state: mention.state,
            };
            self.0.entry((mention.name, mention.transport)).or_default().push(configured);
        }
        own.len()
    }

    /// Adds `[upstream.NAME]` of `concertina.toml`.
    pub(super) fn add_upstreams(&mut self, workspace: &Workspace) {
        for (name, upstream) in &workspace.loaded().config.upstreams {
            let transport = match &upstream.transport {
                Configuration::Command { command, args } => {
                    Transport::Command(std::iter::once(command).chain(args).cloned().collect())
                }
                Configuration::Url(url) => Transport::Url(url.clone()),
            };
            let configured = Configured {
                client: "concertina".to_owned(),
                path: "concertina.toml".to_owned(),
                state: ServerState::On,
            };
            self.0.entry((name.clone(), transport)).or_default().push(configured);
        }
    }

    pub(super) fn done(self) -> Vec<Server> {
        let servers = self.0.into_iter();
        servers
            .map(|((name, transport), mut configured)| {
                configured.sort();
                configured.dedup();
                Server { name, transport: transport.name(), target: transport.target(), configured }
            })
            .collect()
    }
}
