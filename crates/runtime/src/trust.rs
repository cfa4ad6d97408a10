//! What a person has looked at and trusts: files of a workspace, by their content.
//!
//! A workspace is somebody else's until a person says otherwise. Trust is bound to the bytes that
//! were there when it was given: a file that changes is not trusted any more.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use concertina_types::{Digest, limits};
use serde::{Deserialize, Serialize};

use crate::error::RuntimeError;
use crate::private::{read_json, write_json};
use crate::supply::walk;

/// The name of the file below the state directory.
const FILE: &str = "trust.json";
/// The version of its form.
const VERSION: u8 = 1;

/// What was trusted of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The digest of what the index reads of it.
    head: Digest,
    /// The digest of the whole file and of the files that belong to it.
    content: Digest,
    /// What brings back the trusted bytes, to show what changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<Digest>,
}

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A person trusted exactly this.
    Trusted,
    /// A person trusted an earlier version.
    Changed,
    /// Nobody said anything.
    Unknown,
}

/// The record of trust of one person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    files: BTreeMap<String, Record>,
    /// Why the record could not be read; then nothing is trusted.
    pub unreadable: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    v: u8,
    files: BTreeMap<String, Record>,
}

impl Trust {
    /// Reads the record below `home`. Where it is damaged, nothing is trusted, and the reason is kept.
    pub fn load(home: &Path) -> Self {
        match read_json::<Stored>(&home.join(FILE)) {
            Ok(None) => Self::default(),
            Ok(Some(Stored { v: VERSION, files })) => Self { files, unreadable: None },
            Ok(Some(Stored { v, .. })) => {
                Self { unreadable: Some(format!("{FILE} is of version {v}")), ..Self::default() }
            }
            Err(why) => Self { unreadable: Some(why), ..Self::default() },
        }
    }

    /// How the file at `path` stands, by what the index reads of it.
    pub fn standing(&self, path: &str, head: &Digest) -> Standing {
        match self.files.get(path) {
            Some(record) if record.head == *head => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        }
    }

    /// Whether the whole of what lies at `path` is what was trusted.
    pub fn holds(&self, path: &str, content: &Digest) -> bool {
        self.files.get(path).is_some_and(|record| record.content == *content)
    }

    /// What was trusted of the whole of what lies at `path`.
    pub fn content(&self, path: &str) -> Option<&Digest> {
        self.files.get(path).map(|record| &record.content)
    }

    /// Trusts a file as it is now; `kept` brings back what that is.
    pub fn give(&mut self, path: String, head: Digest, content: Digest, kept: Option<Digest>) {
        self.files.insert(path, Record { head, content, kept });
    }

    /// What brings back what was trusted at `path`; none where nothing was, or it was not kept.
    pub fn kept(&self, path: &str) -> Option<&Digest> {
        self.files.get(path)?.kept.as_ref()
    }

    /// Whether something was trusted at `path`, as it is now or as it was.
    pub fn knows(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Takes trust back from `path` and everything below it; says from how many files.
    pub fn withdraw(&mut self, path: &Path) -> usize {
        let before = self.files.len();
        self.files.retain(|file, _| !Path::new(file).starts_with(path));
        before - self.files.len()
    }

    /// Every trusted file.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Writes the record below `home`, whole or not at all, for this person's eyes only.
    pub fn save(&self, home: &Path) -> Result<(), RuntimeError> {
        write_json(&home.join(FILE), &Stored { v: VERSION, files: self.files.clone() })
    }
}

/// One digest for a skill's file, of which `file` is the digest, and the files that belong to it:
/// names and bytes, in order. Hidden ones belong to it as well: a script may read them.
///
/// None where the directory cannot be looked through: what nobody saw, nobody trusts. `seen` is told the
/// bytes that were looked at.
pub(crate) fn content_digest(
    file: &Digest,
    directory: Option<&Path>,
    seen: &mut dyn FnMut(&Path, &[u8]),
) -> Option<Digest> {
    let mut text = file.hex();
    let found =
        directory.map_or(Ok(Vec::new()), |directory| walk(directory).map(|walk| walk.found));
    for found in found.ok()? {
        if matches!(found.path.to_str(), Some("SKILL.md" | "skill.md")) {
            continue;
        }
        let digest = directory.and_then(|directory| digest_of(&directory.join(&found.path), seen));
        // What cannot be read, such as a link to nowhere, has no bytes that could be shown.
        let digest = digest.map(|digest| digest.hex()).unwrap_or_default();
        let name = found.path.to_string_lossy();
        for piece in ["\n", &digest, " ", &name.len().to_string(), " ", &name] {
            text.push_str(piece);
        }
    }
    Some(Digest::of(text.as_bytes()))
}

/// A digest of the file at `path`, taken piece by piece.
fn digest_of(path: &Path, seen: &mut dyn FnMut(&Path, &[u8])) -> Option<Digest> {
    if !path.is_file() {
        return None;
    }
    // What is too large to be shown counts by its size and the time of its last change.
    let meta = fs::metadata(path).ok()?;
    if meta.len() > limits::SKILL_BYTES {
        let changed = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        return Some(Digest::of(format!("{} {}", meta.len(), changed.as_nanos()).as_bytes()));
    }
    let bytes = fs::read(path).ok()?;
    seen(path, &bytes);
    let pieces: String = bytes.chunks(1 << 20).map(|piece| Digest::of(piece).hex()).collect();
    Some(Digest::of(pieces.as_bytes()))
}
