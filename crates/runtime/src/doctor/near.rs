//! Near misses: files and directories that are almost where a skill is looked for.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use concertina_core::catalog::{Loaded, Scope};

use super::Around;
use super::pool::Pool;
use super::report::NearMiss;
use crate::sources::{FileSystem, Place, Places, Source as _};
use crate::workspace::Workspace;

/// Names that people give to a directory of skills.
const ALMOST_SKILLS: [&str; 4] = ["skill", "skills", ".skill", ".skills"];

/// Directories of clients, as they are called and as people call them.
const CLIENTS: [(&str, &str); 10] = [
    ("claude", ".claude"),
    (".claude", ".claude"),
    ("agents", ".agents"),
    (".agents", ".agents"),
    // Concertina reads `.agent`; no client that was watched does.
    (".agent", ".agents"),
    ("codex", ".codex"),
    (".codex", ".codex"),
    (".gemini", ".gemini"),
    (".cursor", ".agents"),
    (".opencode", ".agents"),
];

/// Names that people give to the file of a skill, in lower case.
const ALMOST_SKILL_MD: [&str; 6] =
    ["skill.md", "skills.md", "skill.mdx", "skill.markdown", "skill.txt", "skill"];

/// Documents about a collection, which are no skills, in lower case.
const DOCUMENTS: [&str; 8] = [
    "readme.md",
    "index.md",
    "changelog.md",
    "license.md",
    "contributing.md",
    "agents.md",
    "claude.md",
    "gemini.md",
];

pub(super) fn misses(
    workspace: &Workspace,
    around: &Around,
    places: &Places,
    pool: &Pool,
) -> Vec<NearMiss> {
    // Who names directories wants these and no others.
    if !workspace.settings().site.roots.is_empty() {
        return Vec::new();
    }
    let mut misses = BTreeSet::new();
    for directory in around.directories.iter().chain(&around.home) {
        directories(directory, &mut misses);
    }
    if let Some(root) = around.directories.first().filter(|root| root.join("SKILL.md").is_file()) {
        let name = root.file_name().unwrap_or_default();
        misses.insert(NearMiss {
            path: shown(&root.join("SKILL.md")),
            expected: shown(&root.join("skills").join(name).join("SKILL.md")),
            reason: "a skill needs a directory of its own".to_owned(),
            skills: 1,
        });
    }
    let used: BTreeSet<&Path> = pool
        .skills
        .iter()
        .flat_map(|skill| &skill.paths)
        .filter_map(|path| path.parent())
        .collect();
    for place in places.all().iter().filter(|place| place.holds == Loaded::Skills) {
        let parent = place.root.parent().and_then(Path::file_name).unwrap_or_default();
        let dotted = place.scope == Scope::User || parent.to_string_lossy().starts_with('.');
        files(&place.root, dotted, &used, &mut misses);
    }
    misses.into_iter().collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What is in `directory`, in order; nothing where it cannot be read.
fn names(directory: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    names.sort();
    names
}

/// Directories in `directory` that are almost directories of skills.
fn directories(directory: &Path, misses: &mut BTreeSet<NearMiss>) {
    for (name, path) in names(directory) {
        if name != "skills" && is_almost(&name) {
            add(&path, &directory.join("skills"), misses);
        }
        let Some((_, right)) = CLIENTS.iter().find(|(wrong, _)| *wrong == name) else { continue };
        for (below, path) in names(&path) {
            let is_there = below == "skills" && name == *right;
            if !is_there && is_almost(&below) {
                add(&path, &directory.join(right).join("skills"), misses);
            }
        }
    }
}

fn is_almost(name: &str) -> bool {
    ALMOST_SKILLS.contains(&name.to_lowercase().as_str())
}

/// Adds `path`, where it holds skills and is not `expected` under another name.
fn add(path: &Path, expected: &Path, misses: &mut BTreeSet<NearMiss>) {
    let same = matches!((path.canonicalize(), expected.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same || !path.is_dir() {
        return;
    }
    let place = Place {
        root: path.to_owned(),
        scope: Scope::Additional,
        holds: Loaded::Skills,
        plugin: None,
        named: false,
    };
    let skills = FileSystem::new(vec![place]).scan().skills.len();
    if skills > 0 {
        let owner = |part: &str| path.components().any(|other| other.as_os_str() == part);
        let reason = if owner(".agent") {
            "Concertina reads it, but no client that was watched does"
        } else if owner(".opencode") {
            "opencode reads it, Concertina does not"
        } else {
            "skills are not looked for under this name"
        };
        misses.insert(NearMiss {
            path: shown(path),
            expected: shown(expected),
            reason: reason.to_owned(),
            skills,
        });
    }
}

/// Files in and below the directory of skills `root` that are almost skills.
fn files(root: &Path, dotted: bool, used: &BTreeSet<&Path>, misses: &mut BTreeSet<NearMiss>) {
    let entries = names(root);
    let has_skills = entries.iter().any(|(_, path)| used.contains(path.as_path()));
    for (name, path) in entries {
        if used.contains(path.as_path()) {
            continue;
        }
        if path.is_dir() {
            for (file, path) in names(&path) {
                // The first two are found under these names.
                let right = ["SKILL.md", "skill.md"].contains(&file.as_str());
                if !right
                    && ALMOST_SKILL_MD.contains(&file.to_lowercase().as_str())
                    && path.is_file()
                {
                    misses.insert(NearMiss {
                        expected: shown(&path.with_file_name("SKILL.md")),
                        path: shown(&path),
                        reason: "the file of a skill is called SKILL.md".to_owned(),
                        skills: 1,
                    });
                }
            }
            continue;
        }
        let Some(stem) = name.strip_suffix(".md").filter(|stem| !stem.is_empty()) else { continue };
        if DOCUMENTS.contains(&name.to_lowercase().as_str()) || !path.is_file() {
            continue;
        }
        // A directory `skills` of a website holds pages.
        if dotted || has_skills || has_frontmatter(&path) {
            let stem = if stem.eq_ignore_ascii_case("skill") { "NAME" } else { stem };
            misses.insert(NearMiss {
                path: shown(&path),
                expected: shown(&root.join(stem).join("SKILL.md")),
                reason: "a skill needs a directory of its own".to_owned(),
                skills: 1,
            });
        }
    }
}

fn has_frontmatter(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start.starts_with(b"---")
}
