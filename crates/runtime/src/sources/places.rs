//! The directories in which skills are looked for, in which order and under which scope.

use std::path::{Path, PathBuf};

use concertina_core::catalog::{Loaded, Scope};
use concertina_types::env;

/// The layouts in use inside a workspace or a repository, besides `skills`.
pub(crate) const HIDDEN_LAYOUTS: [&str; 5] =
    [".claude/skills", ".agents/skills", ".agent/skills", ".codex/skills", ".gemini/skills"];

/// One directory to look in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The directory.
    pub root: PathBuf,
    /// What its skills count as.
    pub scope: Scope,
    /// What kind of files it holds.
    pub holds: Loaded,
    /// The plugin whose name its skills carry.
    pub plugin: Option<String>,
    /// Whether its absence is worth a word, since a person named it.
    pub named: bool,
}

impl Place {
    fn new(root: PathBuf, scope: Scope, holds: Loaded) -> Self {
        Self { root, scope, holds, plugin: None, named: false }
    }

    /// A directory of skills below the workspace.
    pub fn nested(root: PathBuf) -> Self {
        Self::new(root, Scope::Nested, Loaded::Skills)
    }

    /// A skill of the server `server`, as a person approved it.
    pub(crate) fn served(root: PathBuf, server: String) -> Self {
        Self { plugin: Some(server), ..Self::new(root, Scope::Server, Loaded::Skills) }
    }

    /// A directory that a person named: a skills root, one skill, or a repository.
    pub fn named(root: PathBuf) -> Self {
        Self { named: true, ..Self::new(root, Scope::Additional, Loaded::Skills) }
    }
}

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The directory for which skills are looked up.
    pub workspace: PathBuf,
    /// Whether the directories above it count as well, up to the root of its repository.
    pub repository: bool,
    /// The home directory of the person.
    pub home: Option<PathBuf>,
    /// The directory of managed settings.
    pub managed: Option<PathBuf>,
    /// Directories named in settings.
    pub additional: Vec<PathBuf>,
    /// Directories of plugins named in settings.
    pub plugins: Vec<PathBuf>,
    /// `$XDG_CONFIG_HOME`, where it is set.
    pub config: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, where it is set.
    pub claude: Option<PathBuf>,
    /// `$CODEX_HOME`, where it is set.
    pub codex: Option<PathBuf>,
}

impl Places {
    /// The usual places for `workspace`, under the environment that `variable` tells of.
    pub fn usual(workspace: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            workspace: workspace.to_owned(),
            repository: true,
            home: path("HOME"),
            config: path(env::XDG_CONFIG_HOME),
            claude: path(env::CLAUDE_CONFIG_DIR),
            codex: path(env::CODEX_HOME),
            ..Self::default()
        }
    }

    /// Every directory to look in. None needs to exist.
    pub fn all(&self) -> Vec<Place> {
        let mut places = Vec::new();
        if let Some(managed) = &self.managed {
            places.push(Place::new(managed.join("skills"), Scope::Managed, Loaded::Skills));
        }
        for directory in self.project_directories() {
            for layout in HIDDEN_LAYOUTS.into_iter().chain(["skills"]) {
                places.push(Place::new(directory.join(layout), Scope::Project, Loaded::Skills));
            }
            let commands = directory.join(".claude/commands");
            places.push(Place::new(commands, Scope::Project, Loaded::Commands));
        }
        let mut plugins = self.plugins.clone();
        if let Some(home) = &self.home {
            let claude = self.claude.clone().unwrap_or_else(|| home.join(".claude"));
            let codex = self.codex.clone().unwrap_or_else(|| home.join(".codex"));
            let config = self.config.clone().unwrap_or_else(|| home.join(".config"));
            let skills = [
                claude.join("skills"),
                home.join(".agents/skills"),
                home.join(".agent/skills"),
                codex.join("skills"),
                home.join(".gemini/skills"),
                config.join("opencode/skills"),
                config.join("concertina/skills"),
            ];
            places.extend(skills.map(|root| Place::new(root, Scope::User, Loaded::Skills)));
            places.push(Place::new(claude.join("commands"), Scope::User, Loaded::Commands));
            plugins.push(claude.join("plugins"));
            plugins.push(config.join("concertina/plugins"));
        }
        for root in &self.additional {
            places.push(Place::named(root.clone()));
        }
        for root in plugins {
            for (plugin, directory) in find_plugins(&root) {
                let place = |path, holds| Place {
                    plugin: Some(plugin.clone()),
                    ..Place::new(directory.join(path), Scope::Plugin, holds)
                };
                places.push(place("skills", Loaded::Skills));
                places.push(place("commands", Loaded::Commands));
            }
        }
        // The home directory can be an ancestor of the workspace: each directory counts once, as
        // what it was named first.
        let mut seen = std::collections::HashSet::new();
        places.retain(|place| seen.insert((place.root.clone(), place.plugin.clone())));
        places
    }

    /// The workspace and its parents, up to the root of the repository that it is in.
    fn project_directories(&self) -> Vec<&Path> {
        let ancestors: Vec<&Path> = self.workspace.ancestors().collect();
        let repository = ancestors.iter().position(|directory| directory.join(".git").exists());
        let home = self.home.as_deref();
        match repository.filter(|_| self.repository) {
            Some(at) => {
                ancestors.into_iter().take(at + 1).filter(|dir| Some(*dir) != home).collect()
            }
            // Outside a repository only the directory itself is the project.
            None => vec![self.workspace.as_path()],
        }
    }
}

/// Directories at or below `root` that hold a plugin manifest, with the plugin's name.
fn find_plugins(root: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    // Marketplaces keep plugins three levels down; deeper than four there are none.
    let mut level = vec![root.to_owned()];
    for _ in 0..5 {
        let mut next = Vec::new();
        for directory in level {
            if let Some(name) = plugin_name(&directory) {
                found.push((name, directory));
                continue;
            }
            let Ok(entries) = std::fs::read_dir(&directory) else { continue };
            let below = entries.flatten().map(|entry| entry.path());
            next.extend(below.filter(|path| path.is_dir() && !is_hidden(path)));
        }
        next.sort();
        level = next;
    }
    found.sort();
    found
}

fn plugin_name(directory: &Path) -> Option<String> {
    let text = std::fs::read_to_string(directory.join(".claude-plugin/plugin.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
    let declared = manifest.get("name").and_then(serde_json::Value::as_str).map(str::to_owned);
    let name = declared.or_else(|| directory.file_name()?.to_str().map(str::to_owned))?;
    let usable = !name.is_empty() && !name.contains('/') && !name.chars().any(char::is_control);
    usable.then_some(name)
}

pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}
