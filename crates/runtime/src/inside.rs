//! Staying inside a directory.

use std::path::{Component, Path, PathBuf};

/// The file that `path` means in `directory`; none where it leads out: absolute, with `..` or a
/// backslash, or through a link. What is not there yet is judged by the nearest thing that is.
pub(crate) fn inside(directory: &Path, path: &str) -> Option<PathBuf> {
    let relative = Path::new(path);
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.contains(['\\', '\0']) || !relative.components().all(is_plain) {
        return None;
    }
    let full = directory.join(relative);
    let Ok(root) = directory.canonicalize() else { return Some(full) };
    let there = full.ancestors().find(|at| at.symlink_metadata().is_ok())?;
    there.canonicalize().is_ok_and(|real| real.starts_with(root)).then_some(full)
}

/// The real path of what `path` names. Where a part of it is not there, what follows is taken as it is
/// written; `..` behind such a part leads nowhere that could be granted.
pub(crate) fn leads_to(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|at| Some((at, at.canonicalize().ok()?)));
    match there {
        Some((at, real)) => match path.strip_prefix(at) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => path.to_owned(),
        },
        None => path.to_owned(),
    }
}

/// The files that `words` name, seen from `directory`. A directory is none of them, and neither is what is
/// reached by a link or `..`: whoever can make a link would say what is read.
pub(crate) fn files_named<'a>(
    directory: &Path,
    words: impl Iterator<Item = &'a String>,
) -> Vec<PathBuf> {
    let Ok(root) = directory.canonicalize() else { return Vec::new() };
    let files = words.map(|word| root.join(word)).filter(|path| path.is_file());
    files.filter(|path| path.canonicalize().is_ok_and(|real| real == *path)).collect()
}
