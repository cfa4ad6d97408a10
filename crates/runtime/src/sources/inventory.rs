//! The files that belong to a skill: listed when it is opened, read only when asked for.

use std::path::{Path, PathBuf};

use super::places::is_hidden;
use super::{SourceError, file};
use crate::inside::inside;

/// Files listed of one skill; a skill that brings more is a repository, and its text says where to
/// look.
const FILES: usize = 200;
/// Levels below the skill's directory.
const DEPTH: usize = 4;
/// The same for everything that a skill brings: a tree that was made to hurt has an end, too.
const ALL_FILES: usize = 100_000;
const ALL_DEPTH: usize = 32;

/// The relative paths of the files in `directory`, sorted, without hidden ones and SKILL.md.
pub fn inventory(directory: &Path) -> Vec<String> {
    let mut found = files(directory, DEPTH);
    found.truncate(FILES);
    found
}

/// The same, of all that the skill in `directory` brings, listed or not.
pub(crate) fn everything(directory: &Path) -> Vec<String> {
    files(directory, ALL_DEPTH)
}

fn files(directory: &Path, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut level = vec![PathBuf::new()];
    for _ in 0..depth {
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
        if found.len() > ALL_FILES {
            break;
        }
        next.sort();
        level = next;
    }
    found.retain(|path| !matches!(path.as_str(), "SKILL.md" | "skill.md"));
    found.sort();
    found
}

fn is_noise(name: &str) -> bool {
    matches!(name, "__pycache__" | "node_modules" | "target" | ".git")
}

/// The bytes of the file `path` of the skill in `directory`.
///
/// # Errors
/// The path is absolute, has `..`, leads out of the skill through a link, does not exist, or is
/// larger than [`concertina_types::limits::SKILL_BYTES`].
pub fn resource(directory: &Path, path: &str) -> Result<Vec<u8>, SourceError> {
    let full =
        inside(directory, path).ok_or_else(|| SourceError::Escapes { path: path.to_owned() })?;
    if full.is_file() {
        return file::read(&full);
    }
    let known = inventory(directory);
    Err(SourceError::NoSuchFile {
        path: path.to_owned(),
        known: match known.as_slice() {
            [] => "no files".to_owned(),
            known => known.iter().take(10).map(String::as_str).collect::<Vec<_>>().join(", "),
        },
    })
}
