//! What was trusted, kept as it was, so that a change can be shown.

use std::path::{Path, PathBuf};

use concertina_store::{ContentStore as _, FileContent};
use concertina_types::{Digest, Permissions, canonical_json, limits};
use serde::{Deserialize, Serialize};

use super::changes::{Changes, Version};
use super::files::{FileRecord, Kind, record, walk};
use crate::error::RuntimeError;

/// Where content is kept below the state directory: where sessions keep theirs.
const CONTENT: &str = "content";
/// One file that is kept; what is larger is recorded by its digest and not kept.
const FILE_BYTES: u64 = 1024 * 1024;
const _: () = assert!(FILE_BYTES <= limits::SKILL_BYTES, "what is kept can be read");

/// Something that a person trusts: the files below one directory, and what they declare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trusted {
    permissions: Permissions,
    files: Vec<FileRecord>,
}

impl Trusted {
    /// The skill in `directory`, all of it.
    pub(crate) fn skill(directory: &Path, permissions: &Permissions) -> Self {
        let found = walk(directory).map(|walk| walk.found).unwrap_or_default();
        let records = found.into_iter().filter_map(|found| match found.kind {
            Kind::File => record(directory, &found.path).ok(),
            Kind::Link => link(directory, &found.path),
            Kind::Special => None,
        });
        let mut files: Vec<FileRecord> = records.collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { permissions: permissions.clone(), files }
    }

    /// Single files below `directory`.
    pub(crate) fn files(directory: &Path, paths: &[PathBuf]) -> Self {
        let inside = paths.iter().filter_map(|path| path.strip_prefix(directory).ok());
        let mut files: Vec<FileRecord> =
            inside.filter_map(|path| record(directory, path).ok()).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup();
        Self { permissions: Permissions::default(), files }
    }

    /// The same where they declare `permissions`.
    pub(crate) fn declaring(self, permissions: &Permissions) -> Self {
        Self { permissions: permissions.clone(), ..self }
    }

    /// Keeps it below the state directory `home`; gives what brings it back.
    pub(crate) fn keep(&self, home: &Path, directory: &Path) -> Result<Digest, RuntimeError> {
        let content = FileContent::new(&home.join(CONTENT));
        for file in self.files.iter().filter(|file| file.bytes <= FILE_BYTES) {
            // What changed since it was looked at is not what is trusted, and is not kept as such.
            if let Some(bytes) = read(directory, file) {
                content.put(&bytes)?;
            }
        }
        let text = canonical_json(&serde_json::to_value(self).unwrap_or_default());
        Ok(content.put(text.as_bytes())?)
    }

    /// What is different from what was kept under `kept`; none where that is gone or damaged.
    pub(crate) fn changes_since(
        &self,
        home: &Path,
        kept: &Digest,
        directory: &Path,
    ) -> Option<Changes> {
        let content = FileContent::new(&home.join(CONTENT));
        let before: Self = serde_json::from_slice(&content.get(kept).ok()??).ok()?;
        let old = |file: &FileRecord| content.get(&file.digest).ok()?;
        let new = |file: &FileRecord| read(directory, file);
        Some(Changes::between(
            &Version { permissions: &before.permissions, files: &before.files, read: &old },
            &Version { permissions: &self.permissions, files: &self.files, read: &new },
        ))
    }
}

/// The bytes that `file` records, where they are still there.
pub(super) fn read(directory: &Path, file: &FileRecord) -> Option<Vec<u8>> {
    let bytes = crate::sources::read(&directory.join(&file.path)).ok()?;
    (Digest::of(&bytes) == file.digest).then_some(bytes)
}

/// A link is what it says, not what it leads to.
fn link(directory: &Path, path: &Path) -> Option<FileRecord> {
    let target = std::fs::read_link(directory.join(path)).ok()?;
    let says = format!("link to {}", target.to_str()?);
    Some(FileRecord {
        path: path.to_str()?.to_owned(),
        bytes: says.len() as u64,
        digest: Digest::of(says.as_bytes()),
    })
}
