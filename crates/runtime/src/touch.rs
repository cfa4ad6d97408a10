//! What a touched file brings to light: skills that waited for it, and directories of skills beside
//! it. Whoever touches a file may report it: a tool, a hook, a person.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::Serialize;

/// The longest pattern that is compiled, in bytes. Real ones stay below 200.
const PATTERN_BYTES: usize = 1_000;
/// Layouts that a directory may bring its own skills in.
pub(crate) const NESTED_LAYOUTS: [&str; 5] =
    [".claude/skills", ".agents/skills", ".agent/skills", ".codex/skills", ".gemini/skills"];

/// What one pattern says to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatternResult {
    /// The pattern, as the skill's file has it.
    pub pattern: String,
    /// Whether it matches; none where it cannot be read.
    pub matches: Option<bool>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// The path of `file` relative to `root`; none where it lies outside. Nothing is looked up: what
/// counts is the place that was touched, whether or not it still exists.
pub fn inside(root: &Path, file: &Path) -> Option<String> {
    let absolute = root.join(file);
    let mut clean = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    let relative = clean.strip_prefix(root).ok()?;
    let text = relative.to_str()?.replace('\\', "/");
    (!text.is_empty()).then_some(text)
}

/// What each of `patterns` says to the file `relative`, with the meaning that a `.gitignore` gives
/// them: a later `!pattern` takes back what an earlier one matched.
pub fn judge(patterns: &[String], relative: &str) -> Vec<PatternResult> {
    patterns
        .iter()
        .map(|pattern| match compile(std::slice::from_ref(pattern)) {
            Err(problem) => {
                PatternResult { pattern: pattern.clone(), matches: None, problem: Some(problem) }
            }
            Ok(matcher) => {
                let found = matcher.matched_path_or_any_parents(relative, false);
                let matches = Some(!found.is_none());
                PatternResult { pattern: pattern.clone(), matches, problem: None }
            }
        })
        .collect()
}

/// The pattern that makes the file `relative` one that a skill with `patterns` waits for. A pattern
/// that cannot be read matches nothing and costs no other.
pub fn first_match(patterns: &[String], relative: &str) -> Option<String> {
    let readable: Vec<String> = patterns
        .iter()
        .filter(|pattern| compile(std::slice::from_ref(*pattern)).is_ok())
        .cloned()
        .collect();
    let matcher = compile(&readable).ok()?;
    match matcher.matched_path_or_any_parents(relative, false) {
        Match::Ignore(glob) => Some(glob.original().to_owned()),
        Match::None | Match::Whitelist(_) => None,
    }
}

fn compile(patterns: &[String]) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        if pattern.len() > PATTERN_BYTES {
            return Err(format!("it has {} bytes; the limit is {PATTERN_BYTES}", pattern.len()));
        }
        builder.add_line(None, pattern).map_err(|error| error.to_string())?;
    }
    builder.build().map_err(|error| error.to_string())
}

/// Looks for directories of skills between a touched file and the root of the workspace. A
/// directory is looked at once.
#[derive(Debug, Default)]
pub struct NestedSearch {
    seen: BTreeMap<PathBuf, bool>,
    /// How many directories were looked at, for tests and `--trace`.
    pub probes: u64,
}

/// A directory of skills that was found, or why one was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nested {
    /// The directory, relative to the workspace.
    Found(String),
    /// It is there and is not read, for this reason.
    Left {
        /// The directory, relative to the workspace.
        directory: String,
        /// A stable code.
        code: &'static str,
        /// Why.
        reason: String,
    },
}

impl NestedSearch {
    /// Forgets which directories were not there: they may have come meanwhile. Done once a turn.
    pub fn look_again(&mut self) {
        self.seen.retain(|_, there| *there);
    }

    /// What the directories above `relative`, below `root`, bring. The root itself is no nested
    /// directory: its skills are read at the start.
    pub fn around(&mut self, root: &Path, relative: &str) -> Vec<Nested> {
        let mut found = Vec::new();
        for directory in Path::new(relative).ancestors().skip(1) {
            if directory.as_os_str().is_empty() {
                break;
            }
            for layout in NESTED_LAYOUTS {
                let below = directory.join(layout);
                if self.seen.contains_key(&below) {
                    continue;
                }
                self.probes += 1;
                let there = root.join(&below).is_dir();
                if there {
                    found.push(look(root, &below));
                }
                self.seen.insert(below, there);
            }
        }
        found.reverse();
        found
    }
}

fn look(root: &Path, below: &Path) -> Nested {
    let directory = below.to_string_lossy().into_owned();
    let left = |code, reason: &str| Nested::Left { directory: directory.clone(), code, reason: reason.into() };
    let real = root.join(below).canonicalize();
    let home = root.canonicalize();
    match (real, home) {
        (Ok(real), Ok(home)) if !real.starts_with(&home) => {
            left("LEAVES_WORKSPACE", "a link leads out of the workspace")
        }
        (Ok(_), Ok(_)) if is_ignored(root, below) => {
            left("IGNORED", "git ignores the directory, so its skills are not read")
        }
        (Ok(_), Ok(_)) => Nested::Found(directory),
        _ => left("UNREADABLE", "it cannot be read"),
    }
}

/// Whether a `.gitignore` between `root` and `below` ignores `below`.
fn is_ignored(root: &Path, below: &Path) -> bool {
    let mut verdict = false;
    // The nearer file outweighs the farther one.
    let directories: Vec<&Path> = below.ancestors().skip(1).collect();
    for directory in directories.into_iter().rev() {
        let at = root.join(directory);
        let file = at.join(".gitignore");
        if !file.is_file() {
            continue;
        }
        let mut builder = GitignoreBuilder::new(&at);
        // A file that cannot be read in part still says what its other lines say.
        let _ = builder.add(&file);
        let Ok(matcher) = builder.build() else { continue };
        match matcher.matched_path_or_any_parents(root.join(below), true) {
            Match::Ignore(_) => verdict = true,
            Match::Whitelist(_) => verdict = false,
            Match::None => {}
        }
    }
    verdict
}
