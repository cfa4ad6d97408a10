//! What is different between two versions of a skill: what it declares first, then its files, and the
//! lines of those that are text.

use std::collections::BTreeMap;

use concertina_format::skill::is_invisible;
use concertina_types::Permissions;
use serde::Serialize;
use similar::TextDiff;

use super::files::FileRecord;
use super::{permissions_digest, permissions_in_words};

/// Lines shown of one file; nobody reads more before saying yes or no.
const FILE_LINES: usize = 80;
/// Lines shown of all files together.
const ALL_LINES: usize = 400;
/// Characters shown of one line.
const LINE_CHARS: usize = 200;
/// A text that is compared line by line, in bytes; comparing takes time with the square of changes.
const TEXT_BYTES: usize = 1024 * 1024;
/// Unchanged lines around a change.
const CONTEXT: usize = 2;

/// One version of a skill, as far as it is compared.
pub struct Version<'a> {
    /// What it declares.
    pub permissions: &'a Permissions,
    /// Its files.
    pub files: &'a [FileRecord],
    /// The bytes of one of them; none where they cannot be had.
    pub read: &'a dyn Fn(&FileRecord) -> Option<Vec<u8>>,
}

impl std::fmt::Debug for Version<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Version").field("files", &self.files).finish_non_exhaustive()
    }
}

/// What is different.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// What was declared before and what is now, in words; none where it is the same.
    pub permissions: Option<PermissionsChange>,
    /// Files that are new.
    pub added: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
    /// Files whose bytes are others.
    pub changed: Vec<FileChange>,
}

/// What is declared otherwise than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionsChange {
    /// What was declared.
    pub before: Vec<String>,
    /// What is declared now.
    pub after: Vec<String>,
}

/// A file whose bytes are others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// Its size before, in bytes.
    pub before: u64,
    /// Its size now, in bytes.
    pub after: u64,
    /// Changed lines with `-` and `+` before them; none where it is no text or its old text was not kept.
    pub lines: Option<String>,
}

impl Changes {
    /// What makes `new` another than `old`.
    pub fn between(old: &Version<'_>, new: &Version<'_>) -> Self {
        let by_path = |files| -> BTreeMap<&str, &FileRecord> {
            let files: &[FileRecord] = files;
            files.iter().map(|file| (file.path.as_str(), file)).collect()
        };
        let (before, after) = (by_path(old.files), by_path(new.files));
        let missing = |from: &BTreeMap<&str, &FileRecord>, there: &BTreeMap<&str, &FileRecord>| {
            from.keys().filter(|path| !there.contains_key(*path)).map(ToString::to_string).collect()
        };
        let mut room = ALL_LINES;
        let mut changed: Vec<(&FileRecord, &FileRecord)> = before
            .iter()
            .filter_map(|(path, was)| Some((*was, *after.get(path)?)))
            .filter(|(was, is)| was.digest != is.digest)
            .collect();
        // What a model reads first comes first.
        changed.sort_by_key(|(was, _)| (was.path != "SKILL.md", &was.path));
        let changed = changed.into_iter().map(|(was, is)| {
            let lines = lines(old, was, new, is, &mut room);
            FileChange { path: is.path.clone(), before: was.bytes, after: is.bytes, lines }
        });
        let is_same = permissions_digest(old.permissions) == permissions_digest(new.permissions);
        Self {
            permissions: (!is_same).then(|| PermissionsChange {
                before: permissions_in_words(old.permissions),
                after: permissions_in_words(new.permissions),
            }),
            added: missing(&after, &before),
            removed: missing(&before, &after),
            changed: changed.collect(),
        }
    }

    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same for a person to read.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        if let Some(PermissionsChange { before, after }) = &self.permissions {
            line("what it declares is another:");
            let gone = before.iter().filter(|one| !after.contains(one));
            gone.for_each(|one| line(&format!("  - {}", visible(one))));
            let new = after.iter().filter(|one| !before.contains(one));
            new.for_each(|one| line(&format!("  + {}", visible(one))));
            let stays = before.iter().filter(|one| after.contains(one));
            stays.for_each(|one| line(&format!("    {}", visible(one))));
        }
        for path in &self.added {
            line(&format!("new file {}", visible(path)));
        }
        for path in &self.removed {
            line(&format!("gone: {}", visible(path)));
        }
        for file in &self.changed {
            line(&format!(
                "changed {}, {} bytes before, {} now{}",
                visible(&file.path),
                file.before,
                file.after,
                if file.lines.is_some() { ":" } else { "; its lines cannot be shown" }
            ));
            for one in file.lines.iter().flat_map(|lines| lines.lines()) {
                line(&format!("  {one}"));
            }
        }
        text
    }
}

/// The changed lines of a text; none where either version is no text or cannot be had.
fn lines(
    old: &Version<'_>,
    was: &FileRecord,
    new: &Version<'_>,
    is: &FileRecord,
    room: &mut usize,
) -> Option<String> {
    let text = |version: &Version<'_>, file: &FileRecord| {
        let bytes = (version.read)(file).filter(|bytes| bytes.len() <= TEXT_BYTES)?;
        String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
    };
    let (before, after) = (text(old, was)?, text(new, is)?);
    let diff = TextDiff::from_lines(&before, &after);
    let diff = diff.unified_diff().context_radius(CONTEXT).missing_newline_hint(true).to_string();
    let total = diff.lines().count();
    let most = FILE_LINES.min(*room);
    *room -= total.min(most);
    let mut kept: Vec<String> = diff.lines().take(most).map(visible).collect();
    if total > most {
        kept.push(format!("… {} more lines", total - most));
    }
    Some(kept.join("\n"))
}

/// A line with everything made visible that a person would not see, and cut where it is long.
///
/// ```
/// assert_eq!(concertina_runtime::supply::visible("a\u{200b}b\n"), r"a\u{200b}b\u{a}");
/// ```
pub fn visible(line: &str) -> String {
    let mut out = String::new();
    for (at, c) in line.chars().enumerate() {
        if at == LINE_CHARS {
            out.push('…');
            break;
        }
        if is_invisible(c) || c.is_control() && c != '\t' {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
