//! A directory with its settings, skills and tools: what sessions run in.

mod categories;
mod nested;
mod servers;
mod tools;
mod trusted;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use concertina_core::catalog::{
    Category, Merged, Precedence, Shadowed, SkillEntry, Skipped, Snapshot, ToolEntry, merge,
};
use concertina_core::session::{Settings, Site};
use concertina_format::config::{ConfigOrigin, SourceProfile};
use concertina_format::skill::{Document, Mode, Origin, Parsed, parse};
use concertina_store::{ContentStore, Store};
use concertina_types::{Blob, Diagnostic, Digest, Redactor, Severity, SkillId, Tokens, env};
use serde::Serialize as _;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::approval::{Hook, Standing};
use crate::doctor::Around;
use crate::error::RuntimeError;
use crate::find::{Indexed, Indexes};
use crate::inside::leads_to;
use crate::private::secret_places;
use crate::procedures::Procedures;
use crate::semantic::{CatalogueMeaning, Encoder, EncoderError, Meaning, Note, configured};
use crate::settings::{Loaded, load_config};
use crate::sources::{
    Bundled, FileSystem, Place, Places, SkillFile, Source, SourceError, file_name, inventory,
    name_by_place,
};
use crate::supply::{Locks, PublicKey};
use crate::tools::{Executor, Toolbox, define, environment, executor};
use crate::touch::{Nested, NestedSearch};
use crate::trust::Trust;
use crate::upstream::{Offer, Upstreams};

use tools::Gathered;
pub use trusted::{Brought, Distrust};

/// Where the places are that declarations speak of, and those that none may reach.
fn around_of(root: &Path, options: &WorkspaceOptions<'_>) -> Site {
    // The state may not be there yet.
    let real = |path: &Path| leads_to(path).to_string_lossy().into_owned();
    let variable = |name: &str| (options.variable)(name).filter(|value| value.starts_with('/'));
    let home = variable("HOME").map(|home| real(Path::new(&home)));
    let settings = variable(env::XDG_CONFIG_HOME)
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| Path::new(home).join(".config")))
        .map(|config| config.join("concertina"));
    let state = options.home.is_absolute().then(|| options.home.clone());
    let places = [state.as_deref(), settings.as_deref(), options.managed.as_deref()];
    Site {
        real_workspace: real(root),
        unwritable: places.into_iter().flatten().map(real).collect(),
        secret: state.iter().flat_map(|state| secret_places(state)).map(|at| real(&at)).collect(),
        home,
        ..Site::default()
    }
}

/// How to open a workspace.
pub struct WorkspaceOptions<'a> {
    /// Where state lives: seeded databases are kept below it.
    pub home: PathBuf,
    /// Directories to which discovery is limited; empty means the usual places.
    pub roots: Vec<PathBuf>,
    /// Whether only the workspace itself is searched, so that what it does is the same everywhere.
    pub only_workspace: bool,
    /// Whether whoever opens the workspace vouches for what it brings: they named it, and so it needs
    /// no trust.
    pub vouched: bool,
    /// The directory of managed settings.
    pub managed: Option<PathBuf>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// What runs programs; the sandbox of the settings' tier where none is given.
    pub executor: Option<Arc<dyn Executor>>,
}

impl<'a> WorkspaceOptions<'a> {
    /// Only the workspace's own skills, state below `home`, nothing managed.
    pub fn only(home: PathBuf, variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            home,
            roots: Vec::new(),
            only_workspace: true,
            vouched: true,
            managed: None,
            variable,
            executor: None,
        }
    }
}

impl std::fmt::Debug for WorkspaceOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkspaceOptions").field("roots", &self.roots).finish_non_exhaustive()
    }
}

/// Writes JSON whose texts are without their secrets, piece by piece.
struct Redacted<'a>(&'a Redactor);

impl Formatter for Redacted<'_> {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> std::io::Result<()> {
        writer.write_all(self.0.redact(fragment).as_bytes())
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
    /// What was found while reading it.
    pub diagnostics: Vec<Diagnostic>,
}

impl LoadedSkill {
    /// Files that belong to it, by relative path, sorted; looked up when asked.
    pub fn resources(&self) -> Vec<String> {
        self.directory.as_deref().map(inventory).unwrap_or_default()
    }
}

/// A directory with its settings, skills and tools.
pub struct Workspace {
    root: PathBuf,
    /// Where state lives.
    home: PathBuf,
    procedures: Procedures,
    loaded: Loaded,
    settings: Settings,
    /// Where the record of trust is kept, and what it says. None where whoever opened the workspace
    /// vouches for it.
    trust: Option<(PathBuf, Trust)>,
    /// Keys whose skills are trusted.
    keys: Vec<PublicKey>,
    /// What lock files said of the skills that the last scan found.
    locks: Locks,
    /// Where clients keep the settings that count here.
    around: Around,
    /// Whether it was opened for certain directories only, or alone.
    is_limited: bool,
    nested: NestedSearch,
    toolbox: Toolbox,
    /// The tools and categories that settings define.
    defined_tools: Vec<ToolEntry>,
    defined_categories: BTreeMap<String, Category>,
    /// The servers that bring tools, and what they offered when they were last asked.
    upstreams: Option<Arc<dyn Upstreams>>,
    offer: Option<Arc<Offer>>,
    /// Whether the settings were trusted when the tools were last put together.
    settings_trusted: bool,
    gathered: Gathered,
    sources: Vec<Box<dyn Source>>,
    /// Skills that servers bring and a person approved.
    served: FileSystem,
    snapshot: Arc<Snapshot>,
    /// What sources found and left out.
    skipped: Vec<Skipped>,
    /// The address of the snapshot, and the store that keeps it.
    stored: Option<(Blob, Weak<dyn ContentStore>)>,
    bytes_read: u64,
    /// What tools and servers were given in confidence.
    secrets: Vec<String>,
    /// Made from the snapshot when first needed.
    indexed: Indexed,
    /// What ranks by meaning, or why it cannot; none where no encoder is set.
    meaning: Option<Result<Arc<Meaning>, EncoderError>>,
    preloaded: Option<Tokens>,
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
        if !root.is_dir() {
            let message = format!("there is no directory {}; check the path", root.display());
            return Err(RuntimeError::Environment { code: "NO_DIRECTORY", message });
        }
        let mut loaded = load_config(&root, options.managed.as_deref(), options.variable);
        let mut settings = loaded.settings();
        let shown = |path: &Path| absolute(path).map(|path| path.to_string_lossy().into_owned());
        settings.site = Site {
            workspace: root.to_string_lossy().into_owned(),
            roots: options.roots.iter().map(|path| shown(path)).collect::<Result<_, _>>()?,
            only_workspace: options.only_workspace,
            vouched: options.vouched,
            ..around_of(&root, &options)
        };
        let sources = sources(&root, &loaded, &options)?;
        let procedures = Procedures::read(&loaded.procedures);
        for (path, why) in &procedures.faults {
            let found = Diagnostic::new("PROCEDURE_UNSOUND", Severity::Error, why.clone());
            loaded
                .findings
                .push((path.clone(), found.help("repair it; until then only tools that are safe run outside of the other procedures")));
        }
        let said = &loaded.config.procedures;
        settings.procedures = procedures.settings(said.always.is_some(), said.same_uid_approvals);
        // What holds a session to its steps is not for its tools to write.
        let held = procedures.files().map(|path| path.to_string_lossy().into_owned());
        settings.site.unwritable.extend(held);
        let is_limited = options.only_workspace || !options.roots.is_empty();
        let around =
            if is_limited { Around::only(&root) } else { Around::new(&root, options.variable) };
        let trust = (!options.vouched).then(|| (options.home.clone(), Trust::load(&options.home)));
        let keys = trusted_keys(&mut loaded);
        let defined = define(&loaded.config, &loaded.tools_from, &options.home, options.variable);
        loaded.findings.extend(defined.findings);
        let meaning = configured(&loaded.config.search, options.variable)
            .map(|encoder| encoder.map(|encoder| Arc::new(Meaning::new(encoder, &options.home))));
        let executor = options.executor.unwrap_or_else(|| {
            let places = |texts: &[String]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
            let secret = places(&settings.site.secret);
            let held = [places(&settings.site.unwritable), secret.clone()].concat();
            executor(loaded.config.sandbox.tier, held, secret)
        });
        let mut workspace = Self {
            toolbox: Toolbox::new(defined.runners, executor, root.clone())
                .with_environment(environment(&[], options.variable)),
            defined_tools: defined.tools,
            defined_categories: defined.categories,
            upstreams: None,
            offer: None,
            settings_trusted: false,
            gathered: Gathered::default(),
            root,
            home: options.home.clone(),
            procedures,
            loaded,
            settings,
            trust,
            keys,
            locks: Locks::default(),
            around,
            is_limited,
            nested: NestedSearch::default(),
            sources,
            served: FileSystem::default(),
            snapshot: Arc::default(),
            skipped: Vec::new(),
            stored: None,
            bytes_read: 0,
            secrets: Vec::new(),
            indexed: Indexed::default(),
            meaning,
            preloaded: None,
        };
        workspace.secrets = workspace.toolbox.secrets().map(str::to_owned).collect();
        workspace.gather_again();
        workspace.scan();
        Ok(workspace)
    }

    /// The directory of state.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The procedures that the settings name.
    pub fn procedures(&self) -> &Procedures {
        &self.procedures
    }

    /// The texts of the procedure that every session follows, where there is one.
    pub fn always(&self) -> Result<Option<Vec<String>>, RuntimeError> {
        let name = self.loaded.config.procedures.always.as_deref();
        name.map(|name| self.procedures.texts(name, &self.root)).transpose()
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
        if let Some(Ok(meaning)) = &self.meaning {
            meaning.forget_catalogue();
        }
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

    /// Where consent for good is kept.
    pub fn standing(&self) -> Standing {
        Standing::below(&self.home)
    }

    /// The program that answers questions before a person does, where the settings name one.
    pub fn hook(&self) -> Option<Hook> {
        let argv = &self.loaded.config.trust.approver;
        (!argv.is_empty()).then(|| Hook::new(argv.clone()))
    }

    /// What runs tools.
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Takes the tools of `upstreams` into the catalogue, now and whenever they change.
    pub fn attach(&mut self, upstreams: Arc<dyn Upstreams>) {
        self.toolbox.attach(Arc::clone(&upstreams));
        self.secrets.extend(upstreams.secrets());
        self.upstreams = Some(upstreams);
        self.refresh();
    }

    /// What its tools and servers were given in confidence.
    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Bytes read from skill files for the index.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Looks whether anything changed, and reads only that. True where the catalogue is another.
    pub fn refresh(&mut self) -> bool {
        self.nested.look_again();
        let offer = self.upstreams.as_ref().map(|upstreams| upstreams.offer());
        let is_same = match (&offer, &self.offer) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (new, old) => new.is_none() && old.is_none(),
        };
        self.offer = offer;
        let is_other = !is_same || self.are_settings_trusted() != self.settings_trusted;
        if is_other {
            self.take_served();
            self.gather_again();
            self.indexed.invalidate(&[]);
            self.preloaded = None;
        }
        if self.served.is_stale()
            || self.locks.is_stale()
            || self.sources.iter().any(|source| source.is_stale())
        {
            return self.scan();
        }
        is_other && self.publish(self.snapshot.skills.clone(), self.snapshot.shadowed.clone())
    }

    /// Keeps the catalogue in `store` and gives its address. Its text can be large: it is written for
    /// a store that does not have it, and never held.
    pub fn stored_snapshot(&mut self, store: &Store) -> Result<Blob, RuntimeError> {
        let content = Arc::downgrade(&store.content);
        if let Some((blob, kept)) = &self.stored
            && kept.ptr_eq(&content)
        {
            return Ok(*blob);
        }
        let snapshot = self.snapshot.as_ref();
        // The same whatever a session was told: every session of this workspace names the same text.
        let mut redactor = Redactor::new(store.marks.key()?);
        self.secrets.iter().for_each(|secret| redactor.learn("environment", secret));
        let write = |out: &mut dyn Write| {
            let mut json = Serializer::with_formatter(out, Redacted(&redactor));
            Ok(snapshot.serialize(&mut json)?)
        };
        let blob = Blob::of_written(write).map_err(|error| {
            RuntimeError::Internal(format!("the catalogue cannot be stored: {error}"))
        })?;
        store.content.put_written(&blob, &write)?;
        self.stored = Some((blob, content));
        Ok(blob)
    }

    /// Reads the skill called `id` as a whole; none where the catalogue has no such skill.
    pub fn load(&self, id: &SkillId) -> Option<Result<LoadedSkill, SourceError>> {
        self.snapshot.skill(id).map(|entry| self.read(entry))
    }

    fn read(&self, entry: &SkillEntry) -> Result<LoadedSkill, SourceError> {
        let file = self.file(entry)?;
        let parsed = parsed(entry, &file);
        let body = parsed.body().to_owned();
        let Some(document) = parsed.document else {
            let why =
                parsed.diagnostics.first().map_or("it is no skill", |found| found.message.as_str());
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, why.to_owned());
            return Err(SourceError::Unreadable { path: entry.path.to_string(), source });
        };
        Ok(LoadedSkill {
            entry: entry.clone(),
            document,
            body,
            directory: file.directory,
            diagnostics: parsed.diagnostics,
        })
    }

    fn file(&self, entry: &SkillEntry) -> Result<SkillFile, SourceError> {
        let gone = || SourceError::Gone { path: entry.path.to_string() };
        let found = self.sources.iter().find_map(|source| source.read(entry));
        found.or_else(|| self.served.read(entry)).ok_or_else(gone)?
    }

    /// The digest of the whole file of `entry`; none where it cannot be read now.
    pub fn digest(&self, entry: &SkillEntry) -> Option<Digest> {
        self.file(entry).ok().map(|file| Digest::of(&file.bytes))
    }

    /// The bytes of the whole file of `entry`.
    pub fn bytes(&self, entry: &SkillEntry) -> Result<Vec<u8>, SourceError> {
        Ok(self.file(entry)?.bytes)
    }

    /// The file of `entry` as it is read: its text, and where frontmatter and body are in it.
    pub fn source(&self, entry: &SkillEntry) -> Result<Parsed, SourceError> {
        Ok(parsed(entry, &self.file(entry)?))
    }

    /// The search indexes over skills with their bodies, examples and sections, and tools; made when
    /// first needed, and then changed where the catalogue changed.
    pub(crate) fn indexes(&mut self) -> Indexes {
        let mut indexed = std::mem::take(&mut self.indexed);
        let indexes =
            indexed.indexes(&self.snapshot, &self.loaded.weights(), &|entry| self.read(entry).ok());
        self.indexed = indexed;
        indexes
    }

    /// Lets `encoder` have a say in searches, with its vectors kept below the state directory `home`.
    pub fn encode_with(&mut self, encoder: Arc<dyn Encoder>, home: &Path) {
        self.meaning = Some(Ok(Arc::new(Meaning::new(encoder, home))));
    }

    /// What ranks by meaning the catalogue as it is, or why nothing can; none where no encoder is set.
    pub(crate) fn meaning(&self) -> Option<Result<CatalogueMeaning, Note>> {
        Some(match self.meaning.as_ref()? {
            Err(error) => Err(Note::from(error)),
            Ok(meaning) => Ok(meaning.take(&self.snapshot, &self.settings)),
        })
    }

    /// What every skill's text and every tool's definition take together. Every skill is read, once
    /// for each state of the catalogue.
    pub fn preloaded(&mut self) -> Tokens {
        if let Some(tokens) = self.preloaded {
            return tokens;
        }
        let bodies = self.snapshot.skills.iter().filter_map(|entry| self.read(entry).ok());
        let bodies: Tokens = bodies.map(|skill| concertina_tokens::count(&skill.body)).sum();
        let tools = self.snapshot.tools.iter();
        let tools: Tokens = tools.map(|tool| concertina_tokens::count(&tool.definition())).sum();
        let tokens = bodies + tools;
        self.preloaded = Some(tokens);
        tokens
    }

    /// What the directories around the file `relative` bring.
    pub(crate) fn nested_around(&mut self, relative: &str) -> Vec<Nested> {
        self.nested.around(&self.root, relative)
    }

    /// How many directories were looked at for nested skills.
    pub(crate) fn nested_probes(&self) -> u64 {
        self.nested.probes
    }

    /// Reads the skills of directories that a touch brought to light, relative to the root, as far as
    /// they may still be read.
    pub(crate) fn add_nested<'a>(&mut self, directories: impl IntoIterator<Item = &'a String>) {
        let mut added = false;
        for directory in directories {
            if self.nested.take(&self.root, directory) {
                let place = Place::nested(self.root.join(directory));
                self.sources.push(Box::new(FileSystem::new(vec![place])));
                added = true;
            }
        }
        if added {
            self.scan();
        }
    }

    /// Reads the index anew where it changed. True where the catalogue is another.
    fn scan(&mut self) -> bool {
        let mut candidates = Vec::new();
        let mut skipped = Vec::new();
        let mut read = 0;
        let served: &mut dyn Source = &mut self.served;
        for source in self.sources.iter_mut().map(AsMut::as_mut).chain([served]) {
            let scan = source.scan();
            candidates.extend(scan.skills);
            skipped.extend(scan.skipped);
            read += scan.bytes_read;
            self.indexed.invalidate(&scan.fresh);
        }
        self.bytes_read += read;
        let mut locks = Locks::default();
        for candidate in &mut candidates {
            self.judge(candidate, &mut locks);
        }
        self.locks = locks;
        let precedence = match self.loaded.config.sources.profile {
            SourceProfile::AgentSkills => Precedence::AgentSkills,
            SourceProfile::Claude => Precedence::Claude,
        };
        let Merged { skills, shadowed } =
            merge(candidates, precedence, &crate::sources::same_bytes);
        // A body can change without a trace in the catalogue.
        self.indexed.invalidate(&[]);
        self.preloaded = None;
        self.skipped = skipped;
        if self.are_settings_trusted() != self.settings_trusted {
            self.gather_again();
        }
        self.publish(skills, shadowed)
    }

    fn gather_again(&mut self) {
        self.settings_trusted = self.are_settings_trusted();
        self.gathered = self.gather(self.offer.as_deref(), self.settings_trusted);
    }

    /// Makes `skills` and the tools the catalogue. True where it is another than before.
    fn publish(&mut self, skills: Vec<SkillEntry>, shadowed: Vec<Shadowed>) -> bool {
        let mut skipped = self.skipped.clone();
        skipped.extend(self.gathered.skipped.iter().cloned());
        skipped.sort();
        let snapshot = Snapshot {
            skills,
            shadowed,
            skipped,
            tools: self.gathered.tools.clone(),
            categories: self.gathered.categories.clone(),
            tool_tokens: self.gathered.tokens,
        };
        if snapshot == *self.snapshot {
            return false;
        }
        self.snapshot = Arc::new(snapshot);
        self.stored = None;
        true
    }
}

/// The keys that the person's settings trust. One that cannot be read trusts nothing, and is said.
fn trusted_keys(loaded: &mut Loaded) -> Vec<PublicKey> {
    let mut keys = Vec::new();
    for text in &loaded.config.trust.keys {
        match PublicKey::parse(text) {
            Ok(key) => keys.push(key),
            Err(error) => {
                let found = Diagnostic::new(error.code(), Severity::Error, error.to_string())
                    .help("put the second line of a .pub file under [trust] keys");
                loaded.findings.push((PathBuf::from("concertina.toml"), found));
            }
        }
    }
    keys
}

/// Where the skills of the workspace in `root` come from.
fn sources(
    root: &Path,
    loaded: &Loaded,
    options: &WorkspaceOptions<'_>,
) -> Result<Vec<Box<dyn Source>>, RuntimeError> {
    if !options.roots.is_empty() {
        let places = options.roots.iter().map(|path| absolute(path).map(Place::named));
        return Ok(vec![Box::new(FileSystem::new(places.collect::<Result<_, _>>()?))]);
    }
    let named = loaded.roots.iter();
    if options.only_workspace {
        let own = named.filter(|root| root.by == ConfigOrigin::Workspace);
        let places = Places {
            workspace: root.to_owned(),
            additional: own.map(|root| root.path.clone()).collect(),
            ..Places::default()
        };
        return Ok(vec![Box::new(FileSystem::new(places.all()))]);
    }
    let places = Places {
        managed: options.managed.clone(),
        additional: named.map(|root| root.path.clone()).collect(),
        ..Places::usual(root, options.variable)
    };
    Ok(vec![Box::new(FileSystem::new(places.all())), Box::<Bundled>::default()])
}

fn parsed(entry: &SkillEntry, file: &SkillFile) -> Parsed {
    let path = Path::new(entry.path.as_ref());
    let directory = name_by_place(path, entry.loaded_from);
    let origin = Origin { directory: &directory, file: file_name(path, entry.loaded_from) };
    parse(&file.bytes, origin, Mode::Lenient)
}

fn absolute(path: &Path) -> Result<PathBuf, RuntimeError> {
    // Links are kept as written: what a person named is what they are shown.
    std::path::absolute(path).map_err(|error| RuntimeError::Environment {
        code: "NO_DIRECTORY",
        message: format!("{} cannot be resolved: {error}", path.display()),
    })
}
