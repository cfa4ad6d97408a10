//! A directory with its settings, skills and tools: what sessions run in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use concertina_core::catalog::search::Index;
use concertina_core::catalog::{
    Category, Danger, Merged, NeedsSkill, Precedence, SkillEntry, Snapshot, ToolEntry, merge,
};
use concertina_core::policy::Pattern;
use concertina_core::session::{Settings, Site};
use concertina_format::config::{self, SourceProfile, SqliteSource, ToolKind};
use concertina_format::skill::{Document, Mode, Origin, parse};
use concertina_types::{
    Blob, Diagnostic, Digest, Severity, SkillId, TokenCounter, Tokens, ToolName, canonical_json,
};
use serde_json::json;

use crate::error::RuntimeError;
use crate::find::Texts;
use crate::settings::{Loaded, load_config};
use crate::sources::{Bundled, FileSystem, Place, Places, Source, SourceError};
use crate::tools::{ExecTool, Executor, PlainExecutor, Runner, SqliteTool, Toolbox};

/// How to open a workspace.
pub struct WorkspaceOptions<'a> {
    /// Where state lives: seeded databases are kept below it.
    pub home: PathBuf,
    /// Directories to which discovery is limited; empty means the usual places.
    pub roots: Vec<PathBuf>,
    /// Whether only the workspace itself is searched, so that what it does is the same everywhere.
    pub only_workspace: bool,
    /// The directory of managed settings.
    pub managed: Option<PathBuf>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// What runs programs; [`PlainExecutor`] where none is given.
    pub executor: Option<Arc<dyn Executor>>,
}

impl std::fmt::Debug for WorkspaceOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkspaceOptions").field("roots", &self.roots).finish_non_exhaustive()
    }
}

/// A skill that was read as a whole.
#[derive(Debug, Clone)]
pub struct LoadedSkill {
    /// What the index says of it.
    pub entry: SkillEntry,
    /// What its file says.
    pub document: Document,
    /// Its instructions.
    pub body: String,
    /// The directory it is in.
    pub directory: Option<Arc<Path>>,
    /// Files that belong to it.
    pub resources: Vec<String>,
    /// What was found while reading it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A directory with its settings, skills and tools.
pub struct Workspace {
    root: PathBuf,
    loaded: Loaded,
    settings: Settings,
    toolbox: Toolbox,
    tools: Vec<ToolEntry>,
    categories: BTreeMap<String, Category>,
    sources: Vec<Box<dyn Source>>,
    snapshot: Arc<Snapshot>,
    /// The snapshot as stored: its text and its address, made once.
    stored: Option<(Blob, String)>,
    bytes_read: u64,
    texts: Texts,
    index: Option<Arc<Index>>,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Opens `root`: reads its settings and the index of its skills, never a body.
    pub fn open(root: &Path, options: WorkspaceOptions<'_>) -> Result<Self, RuntimeError> {
        let root = absolute(root)?;
        let loaded = load_config(&root, options.managed.as_deref(), options.variable);
        let mut settings = loaded.settings();
        let shown = |path: &Path| absolute(path).map(|path| path.to_string_lossy().into_owned());
        settings.site = Site {
            workspace: root.to_string_lossy().into_owned(),
            roots: options.roots.iter().map(|path| shown(path)).collect::<Result<_, _>>()?,
            only_workspace: options.only_workspace,
        };
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        if options.roots.is_empty() {
            let mut places = Places::usual(&root, options.variable);
            places.managed.clone_from(&options.managed);
            places.additional = loaded.config.sources.roots.iter().map(|path| root.join(path)).collect();
            if options.only_workspace {
                places = Places { workspace: root.clone(), additional: places.additional, ..Places::default() };
            }
            sources.push(Box::new(FileSystem::new(places.all())));
            if !options.only_workspace {
                sources.push(Box::<Bundled>::default());
            }
        } else {
            let places = options.roots.iter().map(|path| absolute(path).map(Place::named));
            sources.push(Box::new(FileSystem::new(places.collect::<Result<_, _>>()?)));
        }
        let mut workspace = Self {
            toolbox: Toolbox::new(BTreeMap::new(), executor(&options), root.clone()),
            root,
            loaded,
            settings,
            tools: Vec::new(),
            categories: BTreeMap::new(),
            sources,
            snapshot: Arc::default(),
            stored: None,
            bytes_read: 0,
            texts: Texts::default(),
            index: None,
        };
        workspace.take_tools(&options);
        workspace.scan();
        Ok(workspace)
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What sessions run under.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same, to be adjusted before a session begins.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// The settings as read, and what was found in them.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The catalogue as last seen.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// What runs tools.
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Bytes read from skill files for the index.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Looks whether anything changed, and reads only that. True where the catalogue is another.
    pub fn refresh(&mut self) -> bool {
        let stale: Vec<bool> = self.sources.iter_mut().map(|source| source.is_stale()).collect();
        stale.contains(&true) && self.scan()
    }

    /// The catalogue as it is stored, with its address.
    pub fn stored_snapshot(&mut self) -> Result<(Blob, String), RuntimeError> {
        if let Some(stored) = &self.stored {
            return Ok(stored.clone());
        }
        let text = serde_json::to_string(self.snapshot.as_ref())
            .map_err(|error| RuntimeError::Internal(format!("the catalogue cannot be stored: {error}")))?;
        let stored = (Blob::of(&text), text);
        self.stored = Some(stored.clone());
        Ok(stored)
    }

    /// Reads the skill called `id` as a whole; none where the catalogue has no such skill.
    pub fn load(&self, id: &SkillId) -> Option<Result<LoadedSkill, SourceError>> {
        self.snapshot.skill(id).map(|entry| self.read(entry))
    }

    fn read(&self, entry: &SkillEntry) -> Result<LoadedSkill, SourceError> {
        let gone = || SourceError::Gone { path: entry.path.to_string() };
        let found = self.sources.iter().find_map(|source| source.read(entry)).ok_or_else(gone)?;
        let file = found?;
        let path = Path::new(entry.path.as_ref());
        let name = |path: Option<&Path>| {
            path.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned)
        };
        let directory = match entry.loaded_from {
            concertina_core::catalog::Loaded::Skills => name(path.parent()),
            _ => path.file_stem().and_then(|name| name.to_str()).map(str::to_owned),
        };
        let directory = directory.unwrap_or_else(|| entry.id.name().to_owned());
        let origin = Origin { directory: &directory, file: "SKILL.md" };
        let parsed = parse(&file.bytes, origin, Mode::Lenient);
        let body = parsed.body().to_owned();
        let Some(document) = parsed.document else {
            let why = parsed.diagnostics.first().map_or("it is no skill", |found| found.message.as_str());
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, why.to_owned());
            return Err(SourceError::Unreadable { path: entry.path.to_string(), source });
        };
        Ok(LoadedSkill {
            entry: entry.clone(),
            document,
            body,
            directory: file.directory,
            resources: file.resources,
            diagnostics: parsed.diagnostics,
        })
    }

    /// The digest of the whole file of `entry`; none where it cannot be read now.
    pub fn digest(&self, entry: &SkillEntry) -> Option<Digest> {
        let found = self.sources.iter().find_map(|source| source.read(entry))?;
        found.ok().map(|file| Digest::of(&file.bytes))
    }

    /// The file of `entry` as text, lines ended by `\n`.
    pub fn source_text(&self, entry: &SkillEntry) -> Result<String, SourceError> {
        let gone = || SourceError::Gone { path: entry.path.to_string() };
        let file = self.sources.iter().find_map(|source| source.read(entry)).ok_or_else(gone)??;
        Ok(parse(&file.bytes, Origin { directory: entry.id.name(), file: "SKILL.md" }, Mode::Lenient).text)
    }

    /// The search index over skills with their bodies, examples and tools; made when first needed.
    pub(crate) fn index(&mut self) -> Arc<Index> {
        if let Some(index) = &self.index {
            return Arc::clone(index);
        }
        let mut texts = std::mem::take(&mut self.texts);
        let documents = texts.documents(&self.snapshot, &|entry| self.read(entry).ok());
        self.texts = texts;
        let index = Arc::new(Index::build(documents));
        self.index = Some(Arc::clone(&index));
        index
    }

    /// What every skill's text and every tool's definition take together.
    pub fn preloaded(&self, counter: &dyn TokenCounter) -> Tokens {
        let bodies = self.snapshot.skills.iter().filter_map(|entry| self.read(entry).ok());
        let bodies: Tokens = bodies.map(|skill| counter.count(&skill.body)).sum();
        bodies + self.snapshot.tool_tokens
    }

    /// Reads the index anew where it changed. True where the catalogue is another.
    fn scan(&mut self) -> bool {
        let mut candidates = Vec::new();
        let mut skipped = Vec::new();
        let mut read = 0;
        for source in &mut self.sources {
            let scan = source.scan();
            candidates.extend(scan.skills);
            skipped.extend(scan.skipped);
            read += scan.bytes_read;
        }
        self.bytes_read += read;
        let precedence = match self.loaded.config.sources.profile {
            SourceProfile::AgentSkills => Precedence::AgentSkills,
            SourceProfile::Claude => Precedence::Claude,
        };
        let Merged { skills, shadowed } = merge(candidates, precedence, &crate::sources::same_bytes);
        skipped.sort();
        let snapshot = Snapshot {
            skills,
            shadowed,
            skipped,
            tools: self.tools.clone(),
            categories: self.categories.clone(),
            tool_tokens: self.snapshot.tool_tokens,
        };
        if snapshot == *self.snapshot {
            return false;
        }
        self.snapshot = Arc::new(snapshot);
        self.stored = None;
        self.index = None;
        true
    }

    fn take_tools(&mut self, options: &WorkspaceOptions<'_>) {
        let mut runners = BTreeMap::new();
        for (name, category) in &self.loaded.config.menu {
            let category = Category {
                title: category.title.clone().unwrap_or_default(),
                description: category.description.clone().unwrap_or_default(),
            };
            self.categories.insert(name.clone(), category);
        }
        let tools: Vec<_> =
            self.loaded.config.tools.iter().map(|(name, tool)| (name.clone(), tool.clone())).collect();
        for (name, tool) in tools {
            match self.runner(&name, &tool, options) {
                Ok(runner) => {
                    self.tools.push(self.entry(&name, &tool, runner.kind()));
                    runners.insert(name, runner);
                }
                Err(message) => {
                    let found = Diagnostic::new("TOOL_LEFT_OUT", Severity::Error, message);
                    let base = self.loaded.tool_base.get(&name).cloned().unwrap_or_default();
                    self.loaded.findings.push((base.join("concertina.toml"), found));
                }
            }
        }
        self.tools.sort_by(|a, b| a.name.cmp(&b.name));
        let definitions = self.tools.iter().map(|tool| {
            canonical_json(&json!({"tool": tool.name, "description": tool.description, "args": tool.parameters}))
        });
        let tool_tokens = definitions.map(|text| concertina_tokens::count(&text)).sum();
        self.snapshot = Arc::new(Snapshot { tool_tokens, ..Snapshot::default() });
        self.toolbox = Toolbox::new(runners, executor(options), self.root.clone());
    }

    fn runner(
        &self,
        name: &ToolName,
        tool: &config::Tool,
        options: &WorkspaceOptions<'_>,
    ) -> Result<Runner, String> {
        Ok(match &tool.kind {
            ToolKind::Exec(exec) => {
                if let Some(cwd) = &exec.cwd {
                    self.path(name, cwd)?;
                }
                Runner::Exec(ExecTool::new(exec.clone(), options.variable))
            }
            ToolKind::Sqlite(sqlite) => Runner::Sqlite(match &sqlite.source {
                SqliteSource::Database(path) => {
                    SqliteTool::database(self.path(name, path)?, sqlite.max_rows)
                }
                SqliteSource::Seed(path) => {
                    SqliteTool::seeded(self.path(name, path)?, options.home.clone(), sqlite.max_rows)
                }
            }),
        })
    }

    /// The file that a tool means by `path`. What a workspace brings must lie inside it.
    fn path(&self, name: &ToolName, path: &str) -> Result<PathBuf, String> {
        let base = self.loaded.tool_base.get(name).unwrap_or(&self.root);
        let full = base.join(path);
        if self.loaded.workspace_tools.contains(name) {
            let real = full.canonicalize().unwrap_or_else(|_| full.clone());
            let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
            let steps_out = Path::new(path)
                .components()
                .any(|part| !matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
            if steps_out || (full.exists() && !real.starts_with(&root)) {
                return Err(format!(
                    "tool {name} was left out: `{path}` lies outside the workspace, and a workspace may only name its own files"
                ));
            }
        }
        Ok(full)
    }

    fn entry(&self, name: &ToolName, tool: &config::Tool, runner: &str) -> ToolEntry {
        let category = tool.category.clone().or_else(|| {
            let covers = |category: &config::Category| {
                category.tools.iter().any(|text| {
                    Pattern::new(text).is_ok_and(|pattern| pattern.matches(name.as_str()))
                })
            };
            let found = self.loaded.config.menu.iter().find(|(_, category)| covers(category));
            found.map(|(name, _)| name.clone())
        });
        let definition = serde_json::to_value(tool).unwrap_or_default();
        ToolEntry {
            name: name.clone(),
            description: tool.description.clone().unwrap_or_default(),
            parameters: tool.parameters.clone(),
            category: category.unwrap_or_default(),
            danger: match tool.danger {
                config::Danger::Safe => Danger::Safe,
                config::Danger::Writes => Danger::Writes,
                config::Danger::Destructive => Danger::Destructive,
            },
            needs_skill: match &tool.needs_skill {
                config::NeedsSkill::No => NeedsSkill::No,
                config::NeedsSkill::Any => NeedsSkill::Any,
                config::NeedsSkill::OneOf(skills) => NeedsSkill::OneOf(skills.clone()),
            },
            runner: runner.to_owned(),
            permissions: tool.permissions.clone(),
            digest: Digest::of(canonical_json(&definition).as_bytes()),
        }
    }
}

fn executor(options: &WorkspaceOptions<'_>) -> Arc<dyn Executor> {
    options.executor.clone().unwrap_or_else(|| Arc::new(PlainExecutor))
}

fn absolute(path: &Path) -> Result<PathBuf, RuntimeError> {
    // Links are kept as written: what a person named is what they are shown.
    std::path::absolute(path).map_err(|error| RuntimeError::Environment {
        code: "NO_DIRECTORY",
        message: format!("{} cannot be resolved: {error}", path.display()),
    })
}
