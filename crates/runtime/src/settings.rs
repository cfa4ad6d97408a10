//! Settings from files: the administrator's, the person's, the workspace's, in that order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use concertina_core::policy::{Pattern, Policy, Rules};
use concertina_core::session::{ListingSettings, Settings};
use concertina_format::config::{Config, ConfigOrigin, PolicySetting, parse_onto};
use concertina_types::{Diagnostic, Severity, ToolName, env};

/// Settings, and where each part came from.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The settings as read.
    pub config: Config,
    /// What was found, with the file it was found in.
    pub findings: Vec<(PathBuf, Diagnostic)>,
    /// The directory that a tool's paths are relative to.
    pub tool_base: BTreeMap<ToolName, PathBuf>,
    /// Tools that the workspace brought: their paths must stay inside it.
    pub workspace_tools: BTreeSet<ToolName>,
    /// Why the policy is not to be trusted, where a file could not be read at all.
    pub policy_lost: Option<String>,
}

/// The name of the file, in each of its places.
const FILE: &str = "concertina.toml";

/// Reads the settings that hold for `workspace`. A file that is absent says nothing; one that is
/// there and cannot be read may have held a policy, so everything is denied.
pub fn load_config(
    workspace: &Path,
    managed: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Loaded {
    let mut loaded = Loaded::default();
    let user = variable(env::XDG_CONFIG_HOME)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")))
        .map(|config| config.join("concertina"));
    let files = [
        (managed.map(Path::to_owned), ConfigOrigin::Managed),
        (user, ConfigOrigin::User),
        (Some(workspace.to_owned()), ConfigOrigin::Workspace),
    ];
    for (directory, origin) in files {
        let Some(directory) = directory else { continue };
        let path = directory.join(FILE);
        let text = match std::fs::read(&path).map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => {
                lost(&mut loaded, &path, "it is not UTF-8 text");
                continue;
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => {
                lost(&mut loaded, &path, &error.to_string());
                continue;
            }
        };
        let known: BTreeSet<ToolName> = loaded.config.tools.keys().cloned().collect();
        let (config, findings) = parse_onto(std::mem::take(&mut loaded.config), &text, origin);
        loaded.config = config;
        for name in loaded.config.tools.keys().filter(|name| !known.contains(*name)) {
            loaded.tool_base.insert(name.clone(), directory.clone());
            if origin == ConfigOrigin::Workspace {
                loaded.workspace_tools.insert(name.clone());
            }
        }
        loaded.findings.extend(findings.into_iter().map(|found| (path.clone(), found)));
    }
    loaded
}

fn lost(loaded: &mut Loaded, path: &Path, why: &str) {
    let message = format!("{} cannot be read: {why}", path.display());
    loaded.policy_lost = Some(message.clone());
    let found = Diagnostic::new("SETTINGS_UNREADABLE", Severity::Error, message)
        .help("everything is denied until the file can be read; mend or remove it");
    loaded.findings.push((path.to_owned(), found));
}

impl Loaded {
    /// What a session runs under.
    pub fn settings(&self) -> Settings {
        let listing = &self.config.listing;
        let mut unreadable = self.policy_lost.clone();
        let mut patterns = |texts: &[String]| -> Vec<Pattern> {
            let read = texts.iter().map(|text| Pattern::new(text));
            read.filter_map(|pattern| {
                pattern.map_err(|error| unreadable.get_or_insert_with(|| error.to_string())).ok()
            })
            .collect()
        };
        let mut policy = Policy::default();
        match &self.config.policy {
            PolicySetting::Absent => {}
            PolicySetting::Rules(rules) => {
                policy.rules = Rules {
                    allow: patterns(&rules.allow),
                    ask: patterns(&rules.ask),
                    deny: patterns(&rules.deny),
                };
                for (name, own) in &rules.principals {
                    let rules = Rules {
                        allow: patterns(&own.allow),
                        ask: Vec::new(),
                        deny: patterns(&own.deny),
                    };
                    policy.principals.insert(name.clone(), rules);
                }
            }
            PolicySetting::Unreadable => {
                unreadable.get_or_insert_with(|| "`[policy]` in concertina.toml cannot be read".to_owned());
            }
        }
        policy.unreadable = unreadable;
        Settings {
            window: listing.window.min(self.config.context.budget.0).max(1),
            listing: ListingSettings {
                percent: listing.percent,
                chars: listing.chars,
                entry_chars: listing.entry_chars,
                pinned: listing.pinned.clone(),
                exclude: listing.exclude.iter().filter_map(|text| Pattern::new(text).ok()).collect(),
                inline_tokens: listing.inline_tokens,
            },
            policy,
            ..Settings::default()
        }
    }
}
