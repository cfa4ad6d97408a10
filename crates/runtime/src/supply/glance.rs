//! What a person should know of a skill's files before it is theirs: nothing is run to find out.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use concertina_format::skill::is_invisible;
use serde::Serialize;

use super::files::FileRecord;
use super::kept::read;

/// Endings of files that an interpreter runs.
const SCRIPTS: [&str; 14] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "ts", "rb", "pl", "php", "lua", "ps1", "bat"];
/// Endings of archives: what is in them, nobody looked at.
const ARCHIVES: [&str; 9] = ["tar", "gz", "tgz", "zip", "xz", "bz2", "zst", "7z", "jar"];

/// What is worth a look among the files of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Glance {
    /// Files that can be run.
    pub scripts: Vec<String>,
    /// Archives inside it; they stay packed.
    pub archives: Vec<String>,
    /// Characters that a person does not see and a model does.
    pub hidden: Vec<Hidden>,
}

/// Characters in one file that a person does not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hidden {
    /// The file.
    pub path: String,
    /// How many.
    pub count: usize,
    /// The first, such as `U+200B`.
    pub first: String,
    /// Its line, from 1.
    pub line: usize,
}

impl Glance {
    /// Looks at `files` below `directory`.
    pub(super) fn at(directory: &Path, files: &[FileRecord]) -> Self {
        let mut glance = Self::default();
        for file in files {
            let path = Path::new(&file.path);
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let ending = ending.to_ascii_lowercase();
            let bytes = read(directory, file).unwrap_or_default();
            let is_executable = std::fs::metadata(directory.join(path))
                .is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
            if is_executable || bytes.starts_with(b"#!") || SCRIPTS.contains(&ending.as_str()) {
                glance.scripts.push(file.path.clone());
            } else if ARCHIVES.contains(&ending.as_str()) {
                glance.archives.push(file.path.clone());
            }
            // A mark at the very beginning says how the text is written.
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let mut hidden = text.match_indices(is_invisible).peekable();
            if let Some((at, first)) = hidden.peek().copied() {
                let code = first.chars().next().map(u32::from).unwrap_or_default();
                glance.hidden.push(Hidden {
                    path: file.path.clone(),
                    count: hidden.count(),
                    first: format!("U+{code:04X}"),
                    line: text.get(..at).map_or(1, |before| before.matches('\n').count() + 1),
                });
            }
        }
        glance
    }
}
