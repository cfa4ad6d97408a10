//! The servers that the settings around a workspace define.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use concertina_format::config::ConfigOrigin;
use concertina_types::{Diagnostic, Digest, Severity};

use super::Workspace;
use crate::doctor::{Mention, ServerState, Whose, configured, is_client, reads};
use crate::settings::{command_files, with_files};
use crate::trust::Standing;
use crate::upstream::{Definition, Definitions, Described, Unusable, Variables};

impl Workspace {
    /// The servers that settings define, each once, with variables filled in from the environment:
    /// `[upstream.NAME]`, the project's `.mcp.json`, and what clients are told. Reads settings,
    /// starts nothing.
    ///
    /// A person's own come first and keep their names. Where the workspace was opened for certain
    /// directories only, or alone, only its own count.
    pub fn definitions(&self, variable: &dyn Fn(&str) -> Option<String>) -> Definitions {
        let mut all = Definitions::default();
        let variables = Variables { variable, workspace: &self.root, bare: false };
        let clients = self.loaded.config.sources.clients;
        let found = configured(&self.around, Whose { clients, person: !self.is_limited });
        for broken in found.findings {
            let finding = Diagnostic {
                code: broken.code.into(),
                severity: broken.severity,
                message: broken.message,
                line: broken.line,
                column: broken.column,
                help: None,
            };
            all.findings.push((PathBuf::from(broken.path), finding));
        }
        // Trust is asked for the very bytes that the servers were read from.
        let files = self.files_of(found.mentions.iter().map(|(_, mention)| mention));
        // What the workspace brings comes last.
        for brought in [false, true] {
            self.add_upstreams(&mut all, &variables, brought);
            for (by, mention) in &found.mentions {
                if mention.of_project != brought {
                    continue;
                }
                let off = |key: &str, off: bool| {
                    mention.value.get(key).and_then(serde_json::Value::as_bool) == Some(off)
                };
                if mention.state == ServerState::Off
                    || off("disabled", true)
                    || off("enabled", false)
                {
                    let message = format!("server {} is switched off here", mention.name);
                    all.tell(mention.path.clone(), "DISABLED", Severity::Info, message);
                    continue;
                }
                let described = Described::client(&mention.transport, &mention.value);
                let variables = Variables { bare: *by == "gemini", ..variables };
                let reach = described.reach(&variables, |path| Ok(self.root.join(path)));
                let trusted = !brought || files.get(&mention.path).is_some_and(|file| file.trusted);
                self.add(
                    &mut all,
                    reach.map(|reach| Definition {
                        name: mention.name.clone(),
                        reach,
                        from: mention.path.clone(),
                        by: (*by).to_owned(),
                        trusted,
                        timeout_s: described.timeout_s,
                        roots: described.roots,
                    }),
                    (&mention.name, &mention.path),
                );
            }
        }
        all.sorted()
    }

    /// Adds `[upstream.NAME]`: the workspace's own, or the others.
    fn add_upstreams(&self, all: &mut Definitions, variables: &Variables<'_>, brought: bool) {
        for (name, upstream) in &self.loaded.config.upstreams {
            let Some(file) = self.loaded.upstreams_from.get(name) else { continue };
            let is_own = file.origin == ConfigOrigin::Workspace;
            if is_own != brought || !is_own && self.is_limited {
                continue;
            }
            let described = Described::settings(upstream);
            let reach = described.reach(variables, |path| file.path(path));
            let location = file.location();
            let definition = reach.map(|reach| Definition {
                name: name.clone(),
                reach,
                from: location.clone(),
                by: "concertina".to_owned(),
                trusted: !is_own || self.are_settings_trusted(),
                timeout_s: described.timeout_s,
                roots: described.roots,
            });
            self.add(all, definition, (name, &location));
        }
    }

    /// The names of the servers that a client reaches by itself, too, since its own settings name them: `client` by the
    /// name that `concertina doctor` gives it, any client where that is none of those.
    pub fn shared_servers(
        &self,
        client: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<String> {
        let ours = self.definitions(variable).servers;
        let found = configured(&self.around, Whose { clients: true, person: true });
        let is_known = client.is_some_and(is_client);
        let theirs = found.mentions.iter().filter(|(by, mention)| {
            mention.state != ServerState::Off
                && (!is_known || client.is_some_and(|client| reads(client, by)))
        });
        let theirs: Vec<_> = theirs
            .filter_map(|(by, mention)| {
                let variables =
                    Variables { variable, workspace: &self.root, bare: *by == "gemini" };
                let described = Described::client(&mention.transport, &mention.value);
                described.reach(&variables, |path| Ok(self.root.join(path))).ok()
            })
            .collect();
        let shared = ours.into_iter().filter(|server| theirs.contains(&server.reach));
        shared.map(|server| server.name).collect()
    }

    fn add(
        &self,
        all: &mut Definitions,
        definition: Result<Definition, Unusable>,
        (name, from): (&str, &Path),
    ) {
        if self.loaded.config.switched_off.contains(name) {
            let message = format!("server {name} is switched off in concertina.toml");
            return all.tell(from.to_owned(), "DISABLED", Severity::Info, message);
        }
        match definition {
            Ok(definition) => all.add(definition),
            Err(Unusable(code, why)) => {
                let severity = if code == "ITSELF" { Severity::Info } else { Severity::Warning };
                let message = format!("server {name} is left out: it {why}");
                all.tell(from.to_owned(), code, severity, message);
            }
        }
    }

    /// Settings files of the project that name servers for clients, and whether a person trusts each
    /// as it is now.
    pub(super) fn project_files(&self) -> BTreeMap<PathBuf, ProjectFile> {
        let clients = self.loaded.config.sources.clients;
        let found = configured(&self.around, Whose { clients, person: false });
        self.files_of(found.mentions.iter().map(|(_, mention)| mention))
    }

    /// The project's files among those of `mentions`, each as it was read.
    fn files_of<'a>(
        &self,
        mentions: impl Iterator<Item = &'a Mention>,
    ) -> BTreeMap<PathBuf, ProjectFile> {
        let mut named: BTreeMap<PathBuf, (Digest, usize, Vec<PathBuf>)> = BTreeMap::new();
        for mention in mentions.filter(|mention| mention.of_project) {
            let described = Described::client(&mention.transport, &mention.value);
            let (argv, cwd) = described.command();
            let (_, servers, files) =
                named.entry(mention.path.clone()).or_insert((mention.digest, 0, Vec::new()));
            *servers += 1;
            files.extend(command_files(&self.root, cwd, argv));
        }
        let root = self.around.project().unwrap_or(&self.root);
        let files = named.into_iter().map(|(path, (text, servers, files))| {
            let digest = with_files(&text, root, files);
            let standing = self
                .trust
                .as_ref()
                .map(|(_, trust)| trust.standing(&path.to_string_lossy(), &digest));
            let trusted = standing.is_none_or(|standing| standing == Standing::Trusted);
            (path, ProjectFile { digest, servers, trusted })
        });
        files.collect()
    }
}

/// A settings file of the project that names servers.
pub(super) struct ProjectFile {
    /// The digest of its text and of the project's files that it names.
    pub(super) digest: Digest,
    /// How many it names.
    pub(super) servers: usize,
    /// Whether a person trusts it as it is now.
    pub(super) trusted: bool,
}
