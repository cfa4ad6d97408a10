//! The files that belong to a skill: listed when it is opened, read only when asked for.

use std::path::{Component, Path, PathBuf};

use concertina_types::limits;

use super::SourceError;
use super::places::is_hidden;

/// Files listed of one skill; a skill that brings more is a repository, and its text says where to
/// look.
const FILES: usize = 200;
/// Levels below the skill's directory.
const DEPTH: usize = 4;

/// The relative paths of the files in `directory`, sorted, without hidden ones and SKILL.md.
pub(super) fn inventory(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut level = vec![PathBuf::new()];
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for below in std::mem::take(&mut level) {
            let Ok(entries) = std::fs::read_dir(directory.join(&below)) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let path = below.join(&name);
                if is_hidden(&path) || is_noise(&name.to_string_lossy()) {
                    continue;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => next.push(path),
                    // A link is listed by what it says; where it leads is checked on opening.
                    Ok(_) => found.extend(path.to_str().map(str::to_owned)),
                    Err(_) => {}
                }
            }
        }
        next.sort();
        level = next;
    }
    found.retain(|path| !matches!(path.as_str(), "SKILL.md" | "skill.md"));
    found.sort();
    found.truncate(FILES);
    found
}

fn is_noise(name: &str) -> bool {
    matches!(name, "__pycache__" | "node_modules" | "target" | ".git")
}

/// The bytes of the file `path` of the skill in `directory`.
///
/// # Errors
/// The path is absolute, has `..`, leads out of the skill through a link, does not exist, or is
/// larger than [`limits::SKILL_BYTES`].
pub fn resource(directory: &Path, path: &str, known: &[String]) -> Result<Vec<u8>, SourceError> {
    let escapes = || SourceError::Escapes { path: path.to_owned() };
    let relative = Path::new(path);
    if path.contains(['\\', '\0'])
        || !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        return Err(escapes());
    }
    let absent = || SourceError::NoSuchFile {
        path: path.to_owned(),
        known: match known {
            [] => "no files".to_owned(),
            known => known.iter().take(10).cloned().collect::<Vec<_>>().join(", "),
        },
    };
    let root = directory.canonicalize().map_err(|_| absent())?;
    let full = root.join(relative).canonicalize().map_err(|_| absent())?;
    if !full.starts_with(&root) {
        return Err(escapes());
    }
    let unreadable = |source| SourceError::Unreadable { path: path.to_owned(), source };
    let meta = std::fs::metadata(&full).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(absent());
    }
    if meta.len() > limits::SKILL_BYTES {
        return Err(SourceError::TooLarge {
            path: path.to_owned(),
            bytes: meta.len(),
            limit: limits::SKILL_BYTES,
        });
    }
    std::fs::read(&full).map_err(unreadable)
}
