//! What a person has looked at and trusts: files of a workspace, by their content.
//!
//! A workspace is somebody else's until a person says otherwise. Trust is bound to the bytes that
//! were there when it was given: a file that changes is not trusted any more.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use concertina_types::Digest;
use serde::{Deserialize, Serialize};

use crate::error::RuntimeError;

/// The name of the file below the state directory.
const FILE: &str = "trust.json";

/// What was trusted of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The digest of what the index reads of it.
    head: Digest,
    /// The digest of the whole file and of the files that belong to it.
    content: Digest,
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
        let path = home.join(FILE);
        let unreadable = |why: String| Self {
            unreadable: Some(format!("{} cannot be read: {why}", path.display())),
            ..Self::default()
        };
        match fs::read(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Self::default()
            }
            Err(error) => unreadable(error.to_string()),
            Ok(bytes) => match serde_json::from_slice::<Stored>(&bytes) {
                Ok(Stored { v: 1, files }) => Self { files, unreadable: None },
                Ok(Stored { v, .. }) => unreadable(format!("it is of version {v}")),
                Err(error) => unreadable(error.to_string()),
            },
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

    /// Trusts a file as it is now.
    pub fn give(&mut self, path: String, head: Digest, content: Digest) {
        self.files.insert(path, Record { head, content });
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
        let path = home.join(FILE);
        let failed = |error: std::io::Error| RuntimeError::Environment {
            code: "TRUST_NOT_SAVED",
            message: format!("{} cannot be written: {error}; trust is as it was", path.display()),
        };
        let stored = Stored { v: 1, files: self.files.clone() };
        let text = serde_json::to_string_pretty(&stored)
            .map_err(|error| RuntimeError::Internal(error.to_string()))?;
        fs::create_dir_all(home).map_err(failed)?;
        let draft = home.join(format!(".{FILE}-{}", std::process::id()));
        let written = create_private(&draft)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&draft, &path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written.map_err(failed)
    }
}

fn create_private(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// One digest for a skill's file and the files that belong to it: names and bytes, in order.
pub fn content_digest(file: &[u8], directory: Option<&Path>, resources: &[String]) -> Digest {
    let mut parts: Vec<Vec<u8>> = vec![Digest::of(file).hex().into_bytes()];
    for name in resources {
        let path: Option<PathBuf> = directory.map(|directory| directory.join(name));
        let bytes = path.and_then(|path| fs::read(path).ok()).unwrap_or_default();
        parts.push(format!("\n{} {name}", Digest::of(&bytes).hex()).into_bytes());
    }
    Digest::of_parts(parts.iter().map(Vec::as_slice))
}
