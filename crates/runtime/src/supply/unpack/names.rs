//! Which names an archive may give its entries.
//!
//! A name becomes a path below the staging directory and nothing else, on every system that the skill may
//! be copied to: so no way up, no root, no drive, no second spelling of a name that is taken.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use concertina_format::skill::is_invisible;
use unicode_normalization::UnicodeNormalization as _;

use super::SupplyError;
use crate::supply::files::is_version_control;

/// One part of a path, in bytes: what file systems take.
const PART_BYTES: usize = 255;
/// A whole path, in bytes. Real ones stay below 200, and other programs have to handle it below theirs.
const PATH_BYTES: usize = 1_024;
/// Parts of a path.
const PARTS: usize = 32;

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    File,
    Directory,
}

/// The names that were given so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By what a careless file system would take for the same name.
    taken: HashMap<String, (String, What)>,
}

/// A name in an error: bounded, and with everything visible.
pub(super) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut shown: String = text.chars().take(120).flat_map(char::escape_debug).collect();
    if text.chars().count() > 120 {
        shown.push('…');
    }
    format!("`{shown}`")
}

impl Names {
    /// The path that the entry `name` gets; none where it is the root of the archive, or belongs to a
    /// version control system and is left out.
    pub(super) fn accept(
        &mut self,
        name: &[u8],
        what: What,
    ) -> Result<Option<PathBuf>, SupplyError> {
        let refuse = |code, why: &str| Err(super::refuse(code, name, why));
        let Ok(text) = std::str::from_utf8(name) else {
            return refuse("ENTRY_NAME", "has a name that is not UTF-8");
        };
        if text.is_empty() || text.chars().any(|c| c.is_control() || is_invisible(c)) {
            return refuse("ENTRY_NAME", "has a name with characters that cannot be seen");
        }
        if text.len() > PATH_BYTES || text.split('/').any(|part| part.len() > PART_BYTES) {
            return refuse("ENTRY_NAME", "has a name that is too long");
        }
        if text.starts_with('/') || text.contains(['\\', ':']) {
            return refuse("ENTRY_ESCAPES", "has a name that leads elsewhere on some system");
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return refuse("ENTRY_ESCAPES", "leads out of the archive");
        }
        if parts.len() > PARTS {
            return refuse("ENTRY_NAME", "lies too deep");
        }
        if parts.iter().any(|part| part.ends_with(['.', ' ']) || part.starts_with(' ')) {
            return refuse("ENTRY_NAME", "has a name that some systems take for another");
        }
        if parts.is_empty() {
            return match what {
                What::Directory => Ok(None),
                What::File => refuse("ENTRY_NAME", "is a file without a name"),
            };
        }
        if parts.iter().any(|part| is_version_control(part.as_ref())) {
            return Ok(None);
        }
        for length in 1..=parts.len() {
            let path = parts.iter().take(length).copied().collect::<Vec<_>>().join("/");
            let is_last = length == parts.len();
            let what = if is_last { what } else { What::Directory };
            match self.taken.entry(folded(&path)) {
                Entry::Vacant(free) => {
                    free.insert((path, what));
                }
                Entry::Occupied(taken) => {
                    let (known, was) = taken.get();
                    if *known != path {
                        let known = shown(known.as_bytes());
                        let why = format!(
                            "is the same as {known} where capitals or accents do not count"
                        );
                        return refuse("ENTRY_TWICE", &why);
                    }
                    if *was != what || what == What::File {
                        return refuse("ENTRY_TWICE", "is there twice");
                    }
                }
            }
        }
        Ok(Some(parts.iter().collect()))
    }
}

/// What file systems that ignore capitals and the composition of accents take for one name.
fn folded(path: &str) -> String {
    path.nfkc().flat_map(char::to_lowercase).nfkc().collect()
}
