//! Settings from files: the administrator's, the person's, the workspace's, in that order.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use concertina_core::catalog::search::Weights;
use concertina_core::policy::{FilePath, Pattern, Places, Policy, RuleError};
use concertina_core::session::{ListingSettings, Settings};
use concertina_format::config::{
    Config, ConfigOrigin, PolicySetting, Rule, SqliteSource, ToolKind, Transport, parse_onto,
};
use concertina_types::{Diagnostic, Digest, Position, Severity, ToolName, env, limits};
use serde_json::json;

use crate::inside::inside;

/// Settings, and where each part came from.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The settings as read.
    pub config: Config,
    /// What was found, with the file it was found in.
    pub findings: Vec<(PathBuf, Diagnostic)>,
    /// Directories of skills that the settings name.
    pub roots: Vec<NamedRoot>,
    /// Files of procedures that the settings name.
    pub procedures: Vec<(PathBuf, ConfigOrigin)>,
    /// The file that each tool comes from.
    pub tools_from: BTreeMap<ToolName, SettingsFile>,
    /// The file that each server comes from.
    pub upstreams_from: BTreeMap<String, SettingsFile>,
    /// The workspace's own settings file and the digest of its bytes, where there is one.
    pub workspace_file: Option<(PathBuf, Digest)>,
    /// Why the policy is not to be trusted, where a file could not be read at all.
    pub policy_lost: Option<String>,
    /// Where relative paths in rules start.
    pub places: Places,
    /// The settings files that were read.
    pub files: BTreeMap<ConfigOrigin, PathBuf>,
}

/// A settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// The directory that it is in, which its paths are relative to.
    pub directory: PathBuf,
    /// Whose file it is. What a workspace names must lie inside it.
    pub origin: ConfigOrigin,
}

/// A directory of skills that a settings file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRoot {
    /// The path.
    pub path: PathBuf,
    /// Whose file names it.
    pub by: ConfigOrigin,
}

impl SettingsFile {
    /// The settings file itself.
    pub(crate) fn location(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    /// What the file means by `path`, or why it may not mean that.
    pub(crate) fn path(&self, path: &str) -> Result<PathBuf, String> {
        let found = match self.origin {
            ConfigOrigin::Workspace => inside(&self.directory, path),
            ConfigOrigin::Managed | ConfigOrigin::User => Some(self.directory.join(path)),
        };
        found.ok_or_else(|| {
            format!(
                "`{path}` lies outside the workspace, and a workspace may only name its own files"
            )
        })
    }
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
    let place = |path: &Path| {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        FilePath::try_from(real.as_path()).ok()
    };
    loaded.places = Places {
        workspace: place(workspace),
        home: variable("HOME")
            .filter(|home| !home.is_empty())
            .and_then(|home| place(home.as_ref())),
    };
    for (directory, origin) in files {
        let Some(directory) = directory else { continue };
        let path = directory.join(FILE);
        let text = match read(&path) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(why) => {
                lost(&mut loaded, &path, &why);
                continue;
            }
        };
        loaded.files.insert(origin, path.clone());
        if origin == ConfigOrigin::Workspace {
            loaded.workspace_file = Some((path.clone(), Digest::of(text.as_bytes())));
        }
        let known_roots = loaded.config.sources.roots.len();
        let known_procedures = loaded.config.procedures.files.len();
        let (config, findings) = parse_onto(std::mem::take(&mut loaded.config), &text, origin);
        loaded.findings.extend(findings.into_iter().map(|found| (path.clone(), found)));
        loaded.config = config;
        if let Some(encoder) = &mut loaded.config.search.encoder {
            // What the files before named is whole already, and stays so.
            for path in [&mut encoder.model, &mut encoder.vocabulary] {
                *path = directory.join(path.as_str()).to_string_lossy().into_owned();
            }
        }
        let file = SettingsFile { directory, origin };
        for name in loaded.config.tools.keys() {
            loaded.tools_from.entry(name.clone()).or_insert_with(|| file.clone());
        }
        for name in loaded.config.upstreams.keys() {
            loaded.upstreams_from.entry(name.clone()).or_insert_with(|| file.clone());
        }
        for name in loaded.config.procedures.files.iter().skip(known_procedures) {
            match file.path(name) {
                Ok(path) if loaded.procedures.iter().any(|(known, _)| *known == path) => {}
                Ok(path) => loaded.procedures.push((path, origin)),
                Err(why) => {
                    let found = Diagnostic::new("OUTSIDE_WORKSPACE", Severity::Error, why);
                    loaded.findings.push((path.clone(), found.help("name a file inside it")));
                }
            }
        }
        for root in loaded.config.sources.roots.iter().skip(known_roots) {
            match file.path(root) {
                Ok(path) => loaded.roots.push(NamedRoot { path, by: origin }),
                Err(why) => {
                    let why = format!("a directory of skills was left out: {why}");
                    let found = Diagnostic::new("ROOT_LEFT_OUT", Severity::Error, why);
                    loaded.findings.push((path.clone(), found));
                }
            }
        }
    }
    let (_, errors) = loaded.policy();
    for (rule, error) in errors {
        let path = loaded.files.get(&rule.origin).cloned().unwrap_or_default();
        let found = Diagnostic::new("BAD_RULE", Severity::Error, error.to_string())
            .at(Position { line: rule.line, column: 1 })
            .help("everything is denied until the rule is mended or removed");
        loaded.findings.push((path, found));
    }
    loaded
}

/// The text at `path`; none where there is no such file, and words where it cannot be read.
fn read(path: &Path) -> Result<Option<String>, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) if concertina_sandbox::stands_in(path) => return Ok(None),
        Ok(_) => return Err("it is not a file".to_owned()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// What changes when the file at `path` does; empty where it cannot be read.
fn stamp(path: &Path) -> String {
    let Ok(meta) = std::fs::metadata(path) else { return String::new() };
    if meta.len() > limits::SKILL_BYTES {
        let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        return format!("{} {}", meta.len(), changed.unwrap_or_default().as_nanos());
    }
    std::fs::read(path).map(|bytes| Digest::of(&bytes).hex()).unwrap_or_default()
}

/// What the words of a command can name: each as seen from where it runs, and from `workspace`.
pub(crate) fn command_files(workspace: &Path, cwd: Option<&str>, words: &[String]) -> Vec<PathBuf> {
    let from = cwd.map(|cwd| workspace.join(cwd)).into_iter().chain([workspace.to_owned()]);
    from.flat_map(|from| words.iter().map(move |word| from.join(word))).collect()
}

/// One digest for a settings file, of which `text` is the digest, and for those of the `named` files
/// that lie in `root`, as they are now: whoever trusts a program trusts what is in it.
pub(crate) fn with_files(text: &Digest, root: &Path, named: Vec<PathBuf>) -> Digest {
    let root = root.canonicalize();
    let real = named.into_iter().filter_map(|path| path.canonicalize().ok().map(|at| (path, at)));
    let files =
        real.filter(|(_, at)| root.as_ref().is_ok_and(|root| at.starts_with(root)) && at.is_file());
    let files = files.map(|(named, real)| {
        [named.to_string_lossy().into_owned(), real.to_string_lossy().into_owned(), stamp(&real)]
    });
    Digest::of(json!([text.hex(), files.collect::<Vec<_>>()]).to_string().as_bytes())
}

fn lost(loaded: &mut Loaded, path: &Path, why: &str) {
    let message = format!("{} cannot be read: {why}", path.display());
    loaded.policy_lost = Some(message.clone());
    let found = Diagnostic::new("SETTINGS_UNREADABLE", Severity::Error, message)
        .help("everything is denied until the file can be read; mend or remove it");
    loaded.findings.push((path.to_owned(), found));
}

impl Loaded {
    /// The workspace's own settings file, and one digest for its text as it was read and for the
    /// workspace's files that its tools and servers name as they are now: whoever trusts a tool that
    /// runs `./run.sh` trusts what is in `run.sh`. None where the workspace has no settings.
    ///
    /// A file over [`limits::SKILL_BYTES`] counts by its size and the time of its last change.
    pub fn settings_digest(&self) -> Option<(PathBuf, Digest)> {
        let (path, digest) = self.workspace_file.as_ref()?;
        let named = path.parent().map(|directory| self.named_files(directory)).unwrap_or_default();
        Some((path.clone(), with_files(digest, path.parent()?, named)))
    }

    /// What the workspace's tools and servers name in `workspace`: words of a command that hold no
    /// parameter, as seen from the workspace or from where the command runs, and seeds.
    pub(crate) fn named_files(&self, workspace: &Path) -> Vec<PathBuf> {
        let is_own = |file: Option<&SettingsFile>| {
            file.is_some_and(|file| file.origin == ConfigOrigin::Workspace)
        };
        let mut named = Vec::new();
        for (name, tool) in &self.config.tools {
            if !is_own(self.tools_from.get(name)) {
                continue;
            }
            match &tool.kind {
                ToolKind::Exec(exec) => {
                    let words = exec.fill(&serde_json::Map::new()).unwrap_or_default();
                    named.extend(command_files(workspace, exec.cwd.as_deref(), &words));
                }
                ToolKind::Sqlite(sqlite) => {
                    if let SqliteSource::Seed(path) = &sqlite.source {
                        named.push(workspace.join(path));
                    }
                }
            }
        }
        for (name, upstream) in &self.config.upstreams {
            if let (true, Transport::Command { command, args }) =
                (is_own(self.upstreams_from.get(name)), &upstream.transport)
            {
                let words: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
                named.extend(command_files(workspace, upstream.cwd.as_deref(), &words));
            }
        }
        named
    }

    /// The numbers of the ranking, with those that the settings name in place of its own.
    ///
    /// ```
    /// use concertina_core::catalog::search::Weights;
    /// use concertina_runtime::Loaded;
    /// assert_eq!(Loaded::default().weights(), Weights::default());
    /// ```
    pub fn weights(&self) -> Weights {
        let mut weights = Weights::default();
        for (name, number) in &self.config.search.weights {
            if let Some(weight) = weights.get_mut(name) {
                #[expect(clippy::cast_possible_truncation, reason = "at most 1,000")]
                let number = *number as f32;
                *weight = number;
            }
        }
        // Where nothing counts and nothing saturates, 0 would be divided by 0.
        weights.k1 = weights.k1.max(f32::MIN_POSITIVE);
        weights
    }

    /// The rules that the files state together, and what is wrong with them.
    fn policy(&self) -> (Policy, Vec<(Rule, RuleError)>) {
        match &self.config.policy {
            PolicySetting::Absent => (Policy::default(), Vec::new()),
            PolicySetting::Rules(rules) => Policy::read(rules, &self.places, |origin| {
                self.files.get(&origin).map(|path| path.display().to_string()).unwrap_or_default()
            }),
            PolicySetting::Unreadable => {
                let why = "`[policy]` in concertina.toml cannot be read".to_owned();
                (Policy { unreadable: Some(why), ..Policy::default() }, Vec::new())
            }
        }
    }

    /// What a session runs under.
    pub fn settings(&self) -> Settings {
        let listing = &self.config.listing;
        let (mut policy, _) = self.policy();
        if let Some(lost) = &self.policy_lost {
            policy.unreadable = Some(lost.clone());
        }
        Settings {
            window: listing.window.min(self.config.context.budget.0).max(1),
            listing: ListingSettings {
                percent: listing.percent,
                chars: listing.chars,
                entry_chars: listing.entry_chars,
                pinned: listing.pinned.clone(),
                exclude: listing
                    .exclude
                    .iter()
                    .filter_map(|text| Pattern::new(text).ok())
                    .collect(),
                inline_tokens: listing.inline_tokens,
            },
            policy,
            ..Settings::default()
        }
    }
}
