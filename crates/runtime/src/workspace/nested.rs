//! Directories of skills inside a workspace that nothing touched yet.

use std::path::Path;

use ignore::WalkBuilder;

use crate::sources::HIDDEN_LAYOUTS;

/// Levels below which none is looked for.
const DEPTH: usize = 8;

/// The directories of skills at or below `path` that touches could bring to light, relative to
/// `root`, sorted. What git ignores is not searched, and links are not followed: a touch would take
/// neither.
pub(super) fn nested_below(root: &Path, path: &Path) -> Vec<String> {
    let walk = WalkBuilder::new(path)
        .hidden(false)
        .require_git(false)
        .max_depth(Some(DEPTH))
        .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != "node_modules")
        .build();
    let is_directory = |entry: &ignore::DirEntry| entry.file_type().is_some_and(|is| is.is_dir());
    let mut found: Vec<String> = walk
        .flatten()
        .filter(is_directory)
        .filter_map(|entry| {
            let below = entry.path().strip_prefix(root).ok()?;
            let is_layout = |layout: &&str| below.ends_with(layout) && below != Path::new(layout);
            HIDDEN_LAYOUTS.into_iter().find(is_layout)?;
            below.to_str().map(str::to_owned)
        })
        .collect();
    found.sort();
    found
}
