//! Skills in directories.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use concertina_core::catalog::{Loaded, SkillEntry, Skipped};
use concertina_format::skill::{Origin, Parsed};
use concertina_types::{Severity, SkillId, limits};

use super::head::read_head;
use super::inventory::inventory;
use super::places::{Place, is_hidden};
use super::{Scan, SkillFile, Source, SourceError};

/// Names under which a skill's file is found, the first preferred.
const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];
/// Layouts inside a directory that a person named, such as a repository. Hidden directories are
/// not searched otherwise.
const HIDDEN_LAYOUTS: [&str; 5] =
    [".claude/skills", ".agents/skills", ".agent/skills", ".codex/skills", ".gemini/skills"];
/// A file written this shortly before a scan may be written again within the same tick of the file
/// system's clock, so its stamp proves nothing.
const RACY: Duration = Duration::from_millis(50);

/// What tells a file apart from its next version without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Modified so recently that an equal stamp proves nothing.
    racy: bool,
}

impl Stamp {
    fn of(meta: &Metadata, now: SystemTime) -> Self {
        let modified = meta.modified().ok();
        let age = modified.and_then(|at| now.duration_since(at).ok());
        Self { modified, bytes: meta.len(), racy: age.is_none_or(|age| age < RACY) }
    }

    fn still_holds(&self, path: &Path) -> bool {
        !self.racy
            && std::fs::metadata(path)
                .is_ok_and(|meta| meta.modified().ok() == self.modified && meta.len() == self.bytes)
    }
}

/// What is known of one file from the last scan.
#[derive(Debug, Clone)]
struct Known {
    stamp: Stamp,
    found: Result<SkillEntry, Skipped>,
}

/// Skills in a list of directories.
#[derive(Debug, Default)]
pub struct FileSystem {
    places: Vec<Place>,
    files: HashMap<PathBuf, Known>,
    directories: HashMap<PathBuf, Option<Stamp>>,
    last: Option<Scan>,
}

impl FileSystem {
    /// The source of the skills in `places`.
    pub fn new(places: Vec<Place>) -> Self {
        Self { places, ..Self::default() }
    }

    /// The skill files that the last scan found, usable or not.
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.keys().cloned().collect()
    }
}

impl Source for FileSystem {
    fn scan(&mut self) -> Scan {
        if let Some(last) = self.last.clone()
            && !self.is_stale()
        {
            return Scan { bytes_read: 0, ..last };
        }
        let mut walk = Walk {
            known: std::mem::take(&mut self.files),
            files: HashMap::new(),
            directories: HashMap::new(),
            seen: HashSet::new(),
            scan: Scan::default(),
            now: SystemTime::now(),
        };
        for place in &self.places {
            walk.place(place);
        }
        self.files = walk.files;
        self.directories = walk.directories;
        walk.scan.skipped.sort();
        self.last = Some(walk.scan.clone());
        walk.scan
    }

    fn is_stale(&mut self) -> bool {
        self.last.is_none()
            || self.directories.iter().any(|(path, stamp)| match stamp {
                Some(stamp) => !stamp.still_holds(path),
                None => path.exists(),
            })
            || self.files.iter().any(|(path, known)| !known.stamp.still_holds(path))
    }

    fn read(&self, entry: &SkillEntry) -> Option<Result<SkillFile, SourceError>> {
        let path = Path::new(entry.path.as_ref());
        self.files.contains_key(path).then(|| read_file(path, entry.loaded_from))
    }
}

/// Reads a whole skill file and lists what lies beside it.
fn read_file(path: &Path, kind: Loaded) -> Result<SkillFile, SourceError> {
    let shown = || path.display().to_string();
    let meta = std::fs::metadata(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => SourceError::Gone { path: shown() },
        _ => SourceError::Unreadable { path: shown(), source },
    })?;
    if meta.len() > limits::SKILL_BYTES {
        return Err(SourceError::TooLarge {
            path: shown(),
            bytes: meta.len(),
            limit: limits::SKILL_BYTES,
        });
    }
    let bytes = std::fs::read(path)
        .map_err(|source| SourceError::Unreadable { path: shown(), source })?;
    // A legacy command shares its directory with others, so nothing beside it is its own.
    let directory = path.parent().filter(|_| kind == Loaded::Skills);
    let resources = directory.map(inventory).unwrap_or_default();
    Ok(SkillFile { bytes, directory: directory.map(Arc::from), resources })
}

struct Walk {
    known: HashMap<PathBuf, Known>,
    files: HashMap<PathBuf, Known>,
    directories: HashMap<PathBuf, Option<Stamp>>,
    /// Real paths of directories reached through links, so that a loop ends.
    seen: HashSet<PathBuf>,
    scan: Scan,
    now: SystemTime,
}

impl Walk {
    fn place(&mut self, place: &Place) {
        match std::fs::metadata(&place.root) {
            Ok(meta) if meta.is_dir() => match place.holds {
                Loaded::Commands => self.commands(place, &place.root, &mut Vec::new()),
                Loaded::Skills | Loaded::Bundled => {
                    if let Ok(real) = place.root.canonicalize() {
                        self.seen.insert(real);
                    }
                    self.directory(place, &place.root.clone(), 0);
                    if place.named {
                        for layout in HIDDEN_LAYOUTS {
                            let root = place.root.join(layout);
                            if root.is_dir() {
                                self.directory(place, &root, 0);
                            }
                        }
                        let commands = place.root.join(".claude/commands");
                        if commands.is_dir() {
                            self.commands(place, &commands, &mut Vec::new());
                        }
                    }
                }
            },
            // A person may name the file itself.
            Ok(_) if place.named => self.file(place, &place.root.clone(), Loaded::Skills),
            Ok(_) => self.skip(&place.root, "NOT_A_DIRECTORY", "a directory of skills is expected here".into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.directories.insert(place.root.clone(), None);
                if place.named {
                    self.skip(&place.root, "NOT_FOUND", "there is no such directory; check the path".into());
                }
            }
            Err(error) => self.skip(&place.root, "UNREADABLE", format!("it cannot be read: {error}")),
        }
    }

    /// Looks for a skill in `directory`, and where it holds none, below it.
    fn directory(&mut self, place: &Place, directory: &Path, depth: usize) {
        for name in FILE_NAMES {
            let path = directory.join(name);
            if self.is_known(&path) {
                return self.known_file(&path);
            }
            match File::open(&path) {
                Ok(file) => return self.opened(place, &path, file, Loaded::Skills),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => {
                    return self.skip(&path, "UNREADABLE", format!("it cannot be read: {error}"));
                }
            }
        }
        self.remember(directory);
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                return self.skip(directory, "UNREADABLE", format!("it cannot be read: {error}"));
            }
        };
        let mut below: Vec<(PathBuf, bool)> = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if is_hidden(&path) || is_foreign(&entry.file_name()) {
                continue;
            }
            if kind.is_dir() || (kind.is_symlink() && path.is_dir()) {
                below.push((path, kind.is_symlink()));
            }
        }
        if depth >= limits::DISCOVERY_DEPTH && !below.is_empty() {
            let text = format!("directories deeper than {} levels are not searched", limits::DISCOVERY_DEPTH);
            return self.skip(directory, "TOO_DEEP", text);
        }
        below.sort();
        for (path, linked) in below {
            if linked {
                let Ok(real) = path.canonicalize() else { continue };
                let loops = directory.canonicalize().is_ok_and(|here| here.starts_with(&real));
                if loops || !self.seen.insert(real) {
                    self.skip(&path, "SEEN_ALREADY", "this link leads to a directory that was already searched".into());
                    continue;
                }
            }
            self.directory(place, &path, depth + 1);
        }
    }

    /// Legacy commands: each Markdown file is a skill; subdirectories only group them.
    fn commands(&mut self, place: &Place, directory: &Path, above: &mut Vec<PathBuf>) {
        self.remember(directory);
        let Ok(entries) = std::fs::read_dir(directory) else {
            return self.skip(directory, "UNREADABLE", "it cannot be read".into());
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if is_hidden(&path) {
                continue;
            }
            if path.is_dir() && above.len() < limits::DISCOVERY_DEPTH {
                above.push(path.clone());
                self.commands(place, &path, above);
                above.pop();
            } else if path.extension() == Some(OsStr::new("md")) {
                self.file(place, &path, Loaded::Commands);
            }
        }
    }

    fn file(&mut self, place: &Place, path: &Path, kind: Loaded) {
        if self.is_known(path) {
            return self.known_file(path);
        }
        match File::open(path) {
            Ok(file) => self.opened(place, path, file, kind),
            Err(error) => self.skip(path, "UNREADABLE", format!("it cannot be read: {error}")),
        }
    }

    fn is_known(&self, path: &Path) -> bool {
        self.known.get(path).is_some_and(|known| known.stamp.still_holds(path))
    }

    fn known_file(&mut self, path: &Path) {
        if let Some((path, known)) = self.known.remove_entry(path) {
            self.add(path, known);
        }
    }

    fn add(&mut self, path: PathBuf, known: Known) {
        match &known.found {
            Ok(entry) => self.scan.skills.push(entry.clone()),
            Err(skipped) => self.scan.skipped.push(skipped.clone()),
        }
        self.files.insert(path, known);
    }

    fn opened(&mut self, place: &Place, path: &Path, mut file: File, kind: Loaded) {
        let meta = match file.metadata() {
            Ok(meta) if meta.is_file() => meta,
            Ok(_) => return self.skip(path, "NOT_A_FILE", "a file is expected here".into()),
            Err(error) => return self.skip(path, "UNREADABLE", format!("it cannot be read: {error}")),
        };
        let stamp = Stamp::of(&meta, self.now);
        let named_after = match kind {
            Loaded::Commands => path.file_stem(),
            Loaded::Skills | Loaded::Bundled => path.parent().and_then(Path::file_name),
        };
        let directory = named_after.and_then(OsStr::to_str).unwrap_or("skill").to_owned();
        let file_name = path.file_name().and_then(OsStr::to_str).unwrap_or("SKILL.md").to_owned();
        // The name of a command is the name of its file, whatever that is.
        let file_name = if kind == Loaded::Commands { "SKILL.md".to_owned() } else { file_name };
        let origin = Origin { directory: &directory, file: &file_name };
        let found = match read_head(&mut file, path, origin) {
            Ok(head) => {
                self.scan.bytes_read += head.bytes_read;
                entry(place, path, kind, meta.len(), &directory, head.parsed)
            }
            Err(error) => Err(skipped(path, "UNREADABLE", format!("it cannot be read: {error}"))),
        };
        self.add(path.to_owned(), Known { stamp, found });
    }

    fn remember(&mut self, directory: &Path) {
        let stamp = std::fs::metadata(directory).ok().map(|meta| Stamp::of(&meta, self.now));
        self.directories.insert(directory.to_owned(), stamp);
    }

    fn skip(&mut self, path: &Path, code: &str, reason: String) {
        self.scan.skipped.push(skipped(path, code, reason));
    }
}

fn skipped(path: &Path, code: &str, reason: String) -> Skipped {
    Skipped { path: path.display().to_string(), code: code.to_owned(), reason }
}

/// Directories that never hold skills of their own and can be enormous.
fn is_foreign(name: &OsStr) -> bool {
    matches!(name.to_str(), Some("node_modules" | "target" | "__pycache__" | "venv" | "dist" | "build"))
}

fn entry(
    place: &Place,
    path: &Path,
    kind: Loaded,
    bytes: u64,
    directory: &str,
    parsed: Parsed,
) -> Result<SkillEntry, Skipped> {
    let Some(document) = parsed.document else {
        let why = parsed
            .diagnostics
            .iter()
            .max_by_key(|found| found.severity)
            .map_or_else(|| "it is no skill".to_owned(), |found| found.message.clone());
        return Err(skipped(path, "REJECTED", why));
    };
    let id = skill_id(&document.name, directory, place.plugin.as_deref())
        .ok_or_else(|| skipped(path, "REJECTED", "neither its name nor its directory can be a name".into()))?;
    let shown = path.to_string_lossy().into_owned();
    let mut entry = SkillEntry::new(&document, id, place.scope, kind, shown, bytes);
    let findings = parsed.diagnostics.iter().filter(|found| found.severity > Severity::Info).count();
    entry.findings = u32::try_from(findings).unwrap_or(u32::MAX);
    Ok(entry)
}

/// How a skill is addressed: by its name where that can be typed as one word, else by its
/// directory; under its plugin where one brought it.
fn skill_id(name: &str, directory: &str, plugin: Option<&str>) -> Option<SkillId> {
    let word = |text: &str| {
        let usable = !text.contains(['/', ':', '#', '@']) && !text.chars().any(char::is_whitespace);
        usable.then(|| SkillId::new(text).ok()).flatten()
    };
    let id = word(name).or_else(|| word(directory)).or_else(|| {
        let joined: Vec<&str> = name.split(|c: char| c.is_whitespace() || "/:#@".contains(c)).collect();
        SkillId::new(joined.join("-")).ok()
    })?;
    match plugin {
        Some(plugin) => SkillId::new(format!("{plugin}/{id}")).ok(),
        None => Some(id),
    }
}

/// Whether two entries come from files with the same bytes.
pub(crate) fn same_bytes(a: &SkillEntry, b: &SkillEntry) -> bool {
    if a.head != b.head || a.bytes != b.bytes {
        return false;
    }
    match (std::fs::read(a.path.as_ref()), std::fs::read(b.path.as_ref())) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
