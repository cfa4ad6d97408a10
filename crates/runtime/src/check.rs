//! Checking skill files: all of each, in place, without running or listing anything.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use concertina_core::catalog::Loaded;
use concertina_format::skill::{Document, Mode, Origin, Status, parse};
use concertina_types::{Diagnostic, Digest, Severity};

use crate::sources::{FileSystem, Place, Source as _, file_name, name_by_place, read};

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
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// Whether a model can be shown the skill.
    pub fn is_listed(&self) -> bool {
        self.document.as_ref().is_some_and(|document| {
            (document.description.is_some() || document.when_to_use.is_some())
                && !document.disable_model_invocation
                && document.unreadable.is_empty()
        })
    }
}

/// Checks every skill at or below `paths`: files, skill directories, roots, repositories.
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
        })
        .collect();
    checked.extend(in_parallel(&files, mode));
    mark_twins(&mut checked);
    checked.sort_by(|a, b| a.path.cmp(&b.path));
    checked
}

/// Checks `files` on every core, keeping their order.
fn in_parallel(files: &[(PathBuf, Loaded)], mode: Mode) -> Vec<Checked> {
    let workers =
        std::thread::available_parallelism().map_or(1, usize::from).min(files.len().max(1));
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, Checked)> = std::thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((path, kind)) = files.get(at) else { return mine };
                mine.push((at, check_file(path, *kind, mode)));
            }
        };
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, checked)| checked).collect()
}

fn check_file(path: &Path, kind: Loaded, mode: Mode) -> Checked {
    let failed = |code: &'static str, message: String| Checked {
        path: path.to_owned(),
        document: None,
        status: Status::Rejected,
        digest: None,
        diagnostics: vec![Diagnostic::new(code, Severity::Error, message)],
    };
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) => return failed(error.code(), error.to_string()),
    };
    let directory = name_by_place(path, kind);
    let origin = Origin { directory: &directory, file: file_name(path, kind) };
    let parsed = parse(&bytes, origin, mode);
    Checked {
        path: path.to_owned(),
        status: parsed.status(),
        digest: Some(Digest::of(&bytes)),
        document: parsed.document,
        diagnostics: parsed.diagnostics,
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
