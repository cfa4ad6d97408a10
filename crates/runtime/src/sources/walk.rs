//! One walk through the directories in which skills are looked for.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use concertina_core::catalog::{Loaded, SkillEntry, Skipped};
use concertina_core::session::declaration_faults;
use concertina_format::skill::{Origin, Parsed};
use concertina_types::{Severity, SkillId, limits};

use super::file::{self, file_name, name_by_place};
use super::filesystem::{Known, Seen};
use super::head::read_head;
use super::places::{HIDDEN_LAYOUTS, Place, is_hidden};
use super::stamp::Stamp;

/// Names under which a skill's file is found, the first preferred.
const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// Walks through `places`. Of the files in `known`, only those that changed are read.
pub(super) fn walk(places: &[Place], known: HashMap<PathBuf, Known>) -> Seen {
    let now = SystemTime::now();
    let mut walk = Walk { known, seen: Seen::default(), links: HashSet::new(), now };
    for place in places {
        walk.place(place);
    }
    walk.seen.scan.skipped.sort();
    walk.seen
}

struct Walk {
    known: HashMap<PathBuf, Known>,
    seen: Seen,
    /// Real paths of directories of one place that were reached through links: a loop ends.
    links: HashSet<PathBuf>,
    now: SystemTime,
}

impl Walk {
    fn place(&mut self, place: &Place) {
        let root = place.root.as_path();
        self.links.clear();
        match std::fs::metadata(root) {
            Ok(meta) if meta.is_dir() => match place.holds {
                Loaded::Commands => self.commands(place, root, 0),
                Loaded::Skills | Loaded::Bundled => {
                    self.links.extend(root.canonicalize());
                    self.directory(place, root, 0);
                    if place.named {
                        self.layouts(place);
                    }
                }
            },
            // A person may name the file itself.
            Ok(_) if place.named => self.file(place, root, Loaded::Skills),
            Ok(_) => {
                self.unusable(root, "NOT_A_DIRECTORY", "a directory of skills is expected here");
            }
            Err(error) if is_absent(&error) => {
                self.watch(root);
                if place.named {
                    self.skip(root, "NOT_FOUND", "there is no such directory; check the path");
                }
            }
            Err(error) => self.unreadable(root, &error),
        }
    }

    /// Layouts inside a directory that a person named, such as a repository. Hidden directories
    /// are not searched otherwise.
    fn layouts(&mut self, place: &Place) {
        for layout in HIDDEN_LAYOUTS {
            let root = place.root.join(layout);
            if root.is_dir() { self.directory(place, &root, 0) } else { self.watch(&root) }
        }
        let commands = place.root.join(".claude/commands");
        if commands.is_dir() { self.commands(place, &commands, 0) } else { self.watch(&commands) }
    }

    /// Looks for a skill in `directory`, and where it holds none, below it.
    fn directory(&mut self, place: &Place, directory: &Path, depth: usize) {
        for name in FILE_NAMES {
            let path = directory.join(name);
            if self.is_settled(&path) {
                return;
            }
            match file::open(&path) {
                Ok(file) => return self.opened(place, &path, file, Loaded::Skills),
                Err(error) if is_absent(&error) => {}
                Err(error) => return self.unreadable(&path, &error),
            }
        }
        if depth > 0 && is_foreign(directory) {
            return;
        }
        for path in self.entries(directory, depth, false) {
            self.directory(place, &path, depth + 1);
        }
    }

    /// Legacy commands: each Markdown file is a skill; subdirectories only group them.
    fn commands(&mut self, place: &Place, directory: &Path, depth: usize) {
        for path in self.entries(directory, depth, true) {
            if path.is_dir() {
                self.commands(place, &path, depth + 1);
            } else {
                self.file(place, &path, Loaded::Commands);
            }
        }
    }

    /// The directories in `directory`, and with `files` its Markdown files, in order, without
    /// hidden ones and without links that lead where the walk has been.
    fn entries(&mut self, directory: &Path, depth: usize, files: bool) -> Vec<PathBuf> {
        self.watch(directory);
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                self.unreadable(directory, &error);
                return Vec::new();
            }
        };
        let mut found: Vec<(PathBuf, bool, bool)> = entries
            .flatten()
            .filter_map(|entry| {
                let kind = entry.file_type().ok()?;
                let path = entry.path();
                let wanted = kind.is_dir()
                    || kind.is_symlink()
                    || files && path.extension() == Some(OsStr::new("md"));
                (wanted && !is_hidden(&path)).then(|| (path, kind.is_symlink(), kind.is_dir()))
            })
            .collect();
        // In order first, so that it is always the same one of two links that counts.
        found.sort();
        let has_links = found.iter().any(|(_, is_link, _)| *is_link);
        let here = has_links.then(|| directory.canonicalize().ok()).flatten();
        let mut kept = Vec::new();
        let mut too_deep = false;
        for (path, is_link, is_dir) in found {
            let is_dir = match (is_link, std::fs::metadata(&path)) {
                (false, _) => is_dir,
                (true, Ok(meta)) if meta.is_dir() => {
                    let Ok(real) = path.canonicalize() else { continue };
                    let loops = here.as_ref().is_some_and(|here| here.starts_with(&real));
                    if loops || !self.links.insert(real) {
                        let reason = "this link leads to a directory that was already searched";
                        self.skip(&path, "SEEN_ALREADY", reason);
                        continue;
                    }
                    true
                }
                (true, Ok(_)) if files && path.extension() == Some(OsStr::new("md")) => false,
                (true, Ok(_)) => continue,
                (true, Err(error)) => {
                    self.unusable(
                        &path,
                        "BROKEN_LINK",
                        &format!("this link cannot be followed: {error}"),
                    );
                    continue;
                }
            };
            if is_dir && depth >= limits::DISCOVERY_DEPTH {
                too_deep = true;
            } else {
                kept.push(path);
            }
        }
        if too_deep {
            let text = format!(
                "directories deeper than {} levels are not searched",
                limits::DISCOVERY_DEPTH
            );
            self.skip(directory, "TOO_DEEP", &text);
        }
        kept
    }

    fn file(&mut self, place: &Place, path: &Path, kind: Loaded) {
        if self.is_settled(path) {
            return;
        }
        match file::open(path) {
            Ok(file) => self.opened(place, path, file, kind),
            Err(error) => self.unreadable(path, &error),
        }
    }

    /// Whether nothing is to be done about the file at `path`: this walk had it, as what it was
    /// named first, or it did not change since the last walk.
    fn is_settled(&mut self, path: &Path) -> bool {
        if self.seen.files.contains_key(path) {
            return true;
        }
        match self.known.remove_entry(path) {
            Some((path, known)) if known.stamp.still_holds(&path) => {
                self.add(path, known);
                true
            }
            _ => false,
        }
    }

    fn add(&mut self, path: PathBuf, known: Known) {
        match &known.found {
            Ok(entry) => self.seen.scan.skills.push(entry.clone()),
            Err(skipped) => self.seen.scan.skipped.push(skipped.clone()),
        }
        self.seen.files.insert(path, known);
    }

    fn opened(&mut self, place: &Place, path: &Path, mut file: File, kind: Loaded) {
        let meta = match file.metadata() {
            Ok(meta) if meta.is_file() => meta,
            Ok(_) => return self.unusable(path, "NOT_A_FILE", "a file is expected here"),
            Err(error) => return self.unreadable(path, &error),
        };
        let stamp = Stamp::of(&meta, self.now);
        let name = name_by_place(path, kind);
        let origin = Origin { directory: &name, file: file_name(path, kind) };
        let found = match read_head(&mut file, path, origin) {
            Ok(head) => {
                self.seen.scan.bytes_read += head.bytes_read;
                entry(place, path, kind, meta.len(), &name, head.parsed)
            }
            Err(error) => Err(skipped(path, "UNREADABLE", &format!("it cannot be read: {error}"))),
        };
        self.seen.scan.fresh.extend(found.iter().map(|entry| entry.path.clone()));
        self.add(path.to_owned(), Known { stamp, kind, found });
    }

    /// Remembers how things stand at `path`, so that a change is noticed.
    fn watch(&mut self, path: &Path) {
        let stamp = std::fs::metadata(path).ok().map(|meta| Stamp::of(&meta, self.now));
        self.seen.others.insert(path.to_owned(), stamp);
    }

    fn unreadable(&mut self, path: &Path, error: &std::io::Error) {
        self.unusable(path, "UNREADABLE", &format!("it cannot be read: {error}"));
    }

    fn unusable(&mut self, path: &Path, code: &str, reason: &str) {
        self.watch(path);
        self.skip(path, code, reason);
    }

    fn skip(&mut self, path: &Path, code: &str, reason: &str) {
        self.seen.scan.skipped.push(skipped(path, code, reason));
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn skipped(path: &Path, code: &str, reason: &str) -> Skipped {
    Skipped { path: path.display().to_string(), code: code.to_owned(), reason: reason.to_owned() }
}

/// Directories that may be a skill, and otherwise hold none and can be enormous.
fn is_foreign(directory: &Path) -> bool {
    let names = ["node_modules", "target", "__pycache__", "venv", "dist", "build"];
    directory.file_name().and_then(OsStr::to_str).is_some_and(|name| names.contains(&name))
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
        let worst = parsed.diagnostics.iter().max_by_key(|found| found.severity);
        let why = worst.map_or("it is no skill", |found| found.message.as_str());
        return Err(skipped(path, "REJECTED", why));
    };
    let id = skill_id(&document.name, directory, place.plugin.as_deref()).ok_or_else(|| {
        skipped(path, "REJECTED", "neither its name nor its directory can be a name")
    })?;
    let shown = path.to_str().ok_or_else(|| {
        skipped(
            path,
            "PATH_NOT_TEXT",
            "its path is not UTF-8, so nothing could point at it; rename it",
        )
    })?;
    let mut entry = SkillEntry::new(&document, id, place.scope, kind, shown, bytes);
    let findings =
        parsed.diagnostics.iter().filter(|found| found.severity > Severity::Info).count();
    let faults = declaration_faults(&document).len();
    entry.findings = u32::try_from(findings + faults).unwrap_or(u32::MAX);
    // Half a declaration is none.
    if faults > 0 && !entry.unreadable.iter().any(|key| key == "permissions") {
        entry.unreadable.push("permissions".to_owned());
    }
    Ok(entry)
}

/// How a skill is addressed: by its name where that can be typed as one word, else by its
/// directory; under its plugin where one brought it.
fn skill_id(name: &str, directory: &str, plugin: Option<&str>) -> Option<SkillId> {
    let splits = |c: char| c.is_whitespace() || "/:#@".contains(c);
    let word = |text: &str| SkillId::new(text).ok().filter(|_| !text.contains(splits));
    let id = word(name).or_else(|| word(directory)).or_else(|| {
        let joined: Vec<&str> = name.split(splits).collect();
        SkillId::new(joined.join("-")).ok()
    })?;
    match plugin {
        Some(plugin) => SkillId::new(format!("{plugin}/{id}")).ok(),
        None => Some(id),
    }
}
