//! What a touched file brings to light: skills that waited for it, and directories of skills beside
//! it. Whoever touches a file may report it: a tool, a hook, a person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};
use serde::Serialize;

use crate::sources::HIDDEN_LAYOUTS;

/// The longest pattern that is compiled, in bytes. Real ones stay below 200.
const PATTERN_BYTES: usize = 1_000;

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
/// counts is the place that was touched, whether or not it still exists. A root that is reached
/// through a link is known by both of its names.
pub fn inside(root: &Path, file: &Path) -> Option<String> {
    let mut clean = PathBuf::new();
    for part in root.join(file).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    let below = |root: &Path| clean.strip_prefix(root).ok().map(Path::to_owned);
    let relative = below(root).or_else(|| below(&root.canonicalize().ok()?))?;
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
            Ok(matcher) => PatternResult {
                pattern: pattern.clone(),
                matches: Some(!verdict(&matcher, relative).is_none()),
                problem: None,
            },
        })
        .collect()
}

/// The pattern that makes the file `relative` one that a skill with `patterns` waits for. A pattern
/// that cannot be read matches nothing and costs no other.
pub fn first_match(patterns: &[String], relative: &str) -> Option<String> {
    let matcher = compile(patterns).or_else(|_| {
        let readable = |pattern: &&String| compile(std::slice::from_ref(*pattern)).is_ok();
        compile(&patterns.iter().filter(readable).cloned().collect::<Vec<_>>())
    });
    match verdict(&matcher.ok()?, relative) {
        Match::Ignore(glob) => Some(glob.original().to_owned()),
        Match::None | Match::Whitelist(_) => None,
    }
}

fn verdict<'a>(matcher: &'a Gitignore, relative: &str) -> Match<&'a Glob> {
    // An absolute path lies outside whatever the patterns are relative to.
    if Path::new(relative).has_root() {
        return Match::None;
    }
    matcher.matched_path_or_any_parents(relative, false)
}

pub(crate) fn compile(patterns: &[String]) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    // A bracket that is not closed is a slip, not a file name.
    builder.allow_unclosed_class(false);
    for pattern in patterns {
        if pattern.len() > PATTERN_BYTES {
            return Err(format!("it has {} bytes; the limit is {PATTERN_BYTES}", pattern.len()));
        }
        builder.add_line(None, pattern).map_err(|error| error.to_string())?;
    }
    builder.build().map_err(|error| error.to_string())
}

/// Looks for directories of skills between a touched file and the root of the workspace. A
/// directory is looked at once a turn, and once for good where its skills are read.
#[derive(Debug, Default)]
pub struct NestedSearch {
    /// What was looked at; none where nothing was there.
    seen: BTreeMap<PathBuf, Option<Nested>>,
    /// Directories whose skills are read.
    pub(crate) read: BTreeSet<String>,
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
    /// Forgets everything that may be otherwise by now. Done once a turn.
    pub fn look_again(&mut self) {
        self.seen.retain(|_, seen| matches!(seen, Some(Nested::Found(_))));
    }

    /// What the directories above `relative`, below `root`, bring, the outermost first. The root
    /// itself is no nested directory: its skills are read at the start.
    pub fn around(&mut self, root: &Path, relative: &str) -> Vec<Nested> {
        let relative = Path::new(relative);
        let mut found = Vec::new();
        for directory in relative.ancestors().skip(1) {
            if directory.as_os_str().is_empty() {
                break;
            }
            for layout in HIDDEN_LAYOUTS {
                let below = directory.join(layout);
                let known = match self.seen.get(&below) {
                    // What was touched inside it shows that it has come meanwhile.
                    Some(None) if relative.starts_with(&below) => None,
                    known => known.cloned(),
                };
                let seen = known.unwrap_or_else(|| {
                    self.probes += 1;
                    root.join(&below).is_dir().then(|| look(root, &below))
                });
                found.extend(seen.clone());
                self.seen.insert(below, seen);
            }
        }
        found.reverse();
        found
    }

    /// Whether the skills of `directory` are to be read now, and were not before: it was found by an
    /// earlier touch, perhaps in another process.
    pub(crate) fn take(&mut self, root: &Path, directory: &str) -> bool {
        if self.read.contains(directory) {
            return false;
        }
        let below = PathBuf::from(directory);
        let seen =
            inside(root, &below).filter(|_| root.join(&below).is_dir()).map(|_| look(root, &below));
        let found = matches!(seen, Some(Nested::Found(_)));
        if found {
            self.seen.insert(below, seen);
            self.read.insert(directory.to_owned());
        }
        found
    }
}

fn look(root: &Path, below: &Path) -> Nested {
    let directory = below.to_string_lossy().into_owned();
    let left = |code, reason: &str| Nested::Left {
        directory: directory.clone(),
        code,
        reason: reason.into(),
    };
    let real = root.join(below).canonicalize();
    let home = root.canonicalize();
    let (Ok(real), Ok(home)) = (real, home) else { return left("UNREADABLE", "it cannot be read") };
    if !real.starts_with(&home) {
        return left("LEAVES_WORKSPACE", "a link leads out of the workspace");
    }
    // A link is judged by its own place and by the one it leads to.
    if is_ignored(&home, &home.join(below)) || is_ignored(&home, &real) {
        return left("IGNORED", "git ignores the directory, so its skills are not read");
    }
    Nested::Found(directory)
}

/// Whether git ignores `directory`, which lies in the workspace `root`: by `.gitignore` files from
/// the root of the repository down, or by its own `info/exclude`. What lies in an ignored directory
/// is ignored, whatever a file in there says.
fn is_ignored(root: &Path, directory: &Path) -> bool {
    let top = root.ancestors().find(|above| above.join(".git").exists()).unwrap_or(root);
    let mut rules: Vec<Gitignore> =
        rules(top, &top.join(".git/info/exclude")).into_iter().collect();
    let mut at = top.to_owned();
    let Ok(way) = directory.strip_prefix(top) else { return false };
    for part in way.components() {
        rules.extend(self::rules(&at, &at.join(".gitignore")));
        at.push(part);
        // The nearer file outweighs the farther one.
        let verdict = rules.iter().rev().map(|rules| rules.matched(&at, true));
        if verdict.into_iter().find(|verdict| !verdict.is_none()).is_some_and(|v| v.is_ignore()) {
            return true;
        }
    }
    false
}

/// The rules in `file` for what lies in `directory`; none where there is no such file.
fn rules(directory: &Path, file: &Path) -> Option<Gitignore> {
    if !file.is_file() {
        return None;
    }
    let mut builder = GitignoreBuilder::new(directory);
    // A file that cannot be read in part still says what its other lines say.
    let _ = builder.add(file);
    builder.build().ok()
}
