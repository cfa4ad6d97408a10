//! Checking skill files: all of each, in place, without running or listing anything.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use concertina_core::catalog::Loaded;
use concertina_core::procedure::closure;
use concertina_core::session::declaration_faults;
use concertina_format::lint::{Claimed, Summary, compare, lint, shadows};
use concertina_format::skill::{Document, Mode, Origin, Status, parse};
use concertina_types::{Diagnostic, Digest, Severity, limits};

use crate::sources::{FileSystem, Place, Source as _, file_name, inventory, name_by_place, read};
use crate::supply::Locks;

/// The code of a skill that is another than a lock file says.
const ALTERED: &str = "LOCK_MISMATCH";

/// One file that was checked.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The file.
    pub path: PathBuf,
    /// What it says; none where nothing of it can be used.
    pub document: Option<Document>,
    /// How it came to be usable, or that it did not.
    pub status: Status,
    /// The digest of its bytes; none where they could not be read.
    pub digest: Option<Digest>,
    /// What was found while reading it.
    pub diagnostics: Vec<Diagnostic>,
    /// What its author could do better. None of it keeps the skill from being used, and none of it
    /// is part of the standard.
    pub advice: Vec<Diagnostic>,
}

impl Checked {
    /// Whether it is another than a lock file says.
    pub fn is_altered(&self) -> bool {
        self.diagnostics.iter().any(|found| found.code == ALTERED)
    }

    /// Whether a model can be shown the skill.
    pub fn is_listed(&self) -> bool {
        self.document.as_ref().is_some_and(|document| {
            (document.description.is_some() || document.when_to_use.is_some())
                && !document.disable_model_invocation
                && document.unreadable.is_empty()
                && declaration_faults(document).is_empty()
        }) && !self.is_altered()
    }
}

/// Checks every skill at or below `paths`: files, skill directories, roots, repositories. Where there
/// are more than [`limits::ADVISED_FILES`], there is no advice.
pub fn check(paths: &[PathBuf], mode: Mode) -> Vec<Checked> {
    let mut source = FileSystem::new(paths.iter().map(|path| Place::named(path.clone())).collect());
    let scan = source.scan();
    let files = source.files();
    let is_file =
        |path: &Path| files.binary_search_by(|(file, _)| file.as_path().cmp(path)).is_ok();
    let mut checked: Vec<Checked> = scan
        .skipped
        .iter()
        .filter(|skipped| !is_file(Path::new(&skipped.path)))
        .map(|skipped| Checked {
            path: PathBuf::from(&skipped.path),
            document: None,
            status: Status::Rejected,
            digest: None,
            diagnostics: vec![Diagnostic {
                code: skipped.code.clone().into(),
                severity: Severity::Error,
                message: skipped.reason.clone(),
                line: None,
                column: None,
                help: None,
            }],
            advice: Vec::new(),
        })
        .collect();
    let with_advice = files.len() <= limits::ADVISED_FILES;
    checked.extend(in_parallel(&files, mode, with_advice));
    mark_twins(&mut checked);
    mark_cycles(&mut checked);
    if with_advice {
        mark_likenesses(&mut checked);
        mark_shadows(&mut checked);
    }
    mark_unlocked(&mut checked, &files);
    checked.sort_by(|a, b| a.path.cmp(&b.path));
    checked
}

/// Checks `files` on every core, keeping their order.
fn in_parallel(files: &[(PathBuf, Loaded)], mode: Mode, with_advice: bool) -> Vec<Checked> {
    let workers =
        std::thread::available_parallelism().map_or(1, usize::from).min(files.len().max(1));
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, Checked)> = std::thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((path, kind)) = files.get(at) else { return mine };
                mine.push((at, check_file(path, *kind, mode, with_advice)));
            }
        };
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).flatten().collect()
    });
    // A worker that failed takes its files with it: each of them is said to be unchecked.
    let known: std::collections::HashSet<usize> = done.iter().map(|(at, _)| *at).collect();
    for (at, (path, _)) in files.iter().enumerate().filter(|(at, _)| !known.contains(at)) {
        done.push((at, rejected(path, "INTERNAL", "the check of this file failed".to_owned())));
    }
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, checked)| checked).collect()
}

/// A file of which nothing can be used, for one reason.
fn rejected(path: &Path, code: &'static str, message: String) -> Checked {
    Checked {
        path: path.to_owned(),
        document: None,
        status: Status::Rejected,
        digest: None,
        diagnostics: vec![Diagnostic::new(code, Severity::Error, message)],
        advice: Vec::new(),
    }
}

fn check_file(path: &Path, kind: Loaded, mode: Mode, with_advice: bool) -> Checked {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) => return rejected(path, error.code(), error.to_string()),
    };
    let directory = name_by_place(path, kind);
    let origin = Origin { directory: &directory, file: file_name(path, kind) };
    let parsed = parse(&bytes, origin, mode);
    let advice = parsed.document.as_ref().filter(|_| with_advice).map(|document| {
        let mut files = match (kind, path.parent()) {
            (Loaded::Skills, Some(directory)) => inventory(directory),
            _ => Vec::new(),
        };
        // A command shares its directory with others: what lies there is not known to be its own.
        if kind == Loaded::Skills {
            files.push("SKILL.md".to_owned());
        }
        lint(document, parsed.body(), &files)
    });
    let faults = parsed.document.as_ref().map(declaration_faults).unwrap_or_default();
    let status = if faults.is_empty() { parsed.status() } else { Status::Rejected };
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(faults.into_iter().map(|fault| {
        let message = format!("`permissions.{}`: `{}` {}", fault.key, fault.entry, fault.reason);
        Diagnostic::new(fault.code, Severity::Error, message).help(fault.help)
    }));
    Checked {
        advice: advice.unwrap_or_default(),
        path: path.to_owned(),
        status,
        digest: Some(Digest::of(&bytes)),
        document: parsed.document,
        diagnostics,
    }
}

/// Skills that are easily mistaken for each other.
fn mark_likenesses(checked: &mut [Checked]) {
    let described: Vec<(usize, String, String)> = checked
        .iter()
        .enumerate()
        .filter_map(|(at, one)| {
            let document = one.document.as_ref()?;
            Some((at, document.name.clone(), document.description.clone()?))
        })
        .collect();
    let summaries: Vec<Summary<'_>> =
        described.iter().map(|(_, name, description)| Summary { name, description }).collect();
    for pair in compare(&summaries) {
        let found = pair.diagnostic(&summaries);
        let later = described.get(pair.second).map(|(at, _, _)| *at);
        if let Some(one) = later.and_then(|at| checked.get_mut(at)) {
            one.advice.push(found);
        }
    }
}

/// Skills that are not what a lock file says.
fn mark_unlocked(checked: &mut [Checked], files: &[(PathBuf, Loaded)]) {
    let kinds: std::collections::HashMap<&Path, Loaded> =
        files.iter().map(|(path, kind)| (path.as_path(), *kind)).collect();
    let mut locks = Locks::default();
    for one in checked.iter_mut() {
        let Some(kind) = kinds.get(one.path.as_path()) else { continue };
        let Ok(path) = std::path::absolute(&one.path) else { continue };
        if let Some(why) = locks.objection(&path, *kind) {
            let found = Diagnostic::new(ALTERED, Severity::Error, why)
                .help("bring the files back, or look at them and lock them: concertina skill lock");
            one.diagnostics.push(found);
        }
    }
}

/// Descriptions that speak of a tool which only another skill claims.
fn mark_shadows(checked: &mut [Checked]) {
    let described: Vec<(usize, String, String, Vec<String>)> = checked
        .iter()
        .enumerate()
        .filter_map(|(at, one)| {
            let document = one.document.as_ref()?;
            let tools = document.permissions.tools.clone();
            Some((at, document.name.clone(), document.description.clone()?, tools))
        })
        .collect();
    let skills: Vec<Claimed<'_>> = described
        .iter()
        .map(|(_, name, description, tools)| Claimed { name, description, tools })
        .collect();
    for shadow in shadows(&skills) {
        let found = shadow.diagnostic(&skills);
        let at = described.get(shadow.skill).map(|(at, ..)| *at);
        if let Some(one) = at.and_then(|at| checked.get_mut(at)) {
            one.advice.push(found);
        }
    }
}

/// Skills that can never be opened, since each of a circle comes after the one before it.
fn mark_cycles(checked: &mut [Checked]) {
    let documents = checked.iter().filter_map(|one| one.document.as_ref());
    let requires: std::collections::BTreeMap<String, Vec<String>> = documents
        .filter(|document| !document.requires.is_empty())
        .map(|document| {
            let needs = document.requires.iter().map(|needed| needed.skill.clone());
            (document.name.clone(), needs.collect())
        })
        .collect();
    let after = |name: &str| requires.get(name).cloned().unwrap_or_default();
    for one in checked.iter_mut() {
        let Some(document) = one.document.as_ref().filter(|one| !one.requires.is_empty()) else {
            continue;
        };
        if let Err(cycle) = closure(&document.name, &after) {
            let found = Diagnostic::new("REQUIRES_CYCLE", Severity::Error, cycle.to_string())
                .help("remove one of these `requires`");
            one.diagnostics.push(found);
            one.status = Status::Rejected;
        }
    }
}

/// Two skills of one root with one name: only one of them can be opened by it.
fn mark_twins(checked: &mut [Checked]) {
    let root = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_owned);
    let mut first: std::collections::HashMap<(Option<PathBuf>, String), PathBuf> =
        std::collections::HashMap::new();
    for one in checked.iter_mut() {
        let Some(document) = &one.document else { continue };
        let key = (root(&one.path), document.name.clone());
        match first.get(&key) {
            None => {
                first.insert(key, one.path.clone());
            }
            Some(other) => {
                let message =
                    format!("the name `{}` is also that of {}", document.name, other.display());
                let found = Diagnostic::new("NAME_TAKEN", Severity::Error, message)
                    .help("give one of the two another name");
                one.diagnostics.push(found);
            }
        }
    }
}
