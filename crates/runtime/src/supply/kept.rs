//! What was trusted, kept as it was but for its secrets, so that a change can be shown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use std::path::{Path, PathBuf};

use concertina_store::{ContentStore as _, FileContent};
use concertina_types::{Digest, Permissions, Redactor, canonical_json, limits};
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
    /// Where files with secrets are kept without them: from the digest of their bytes to that of what is kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    redacted: BTreeMap<Digest, Digest>,
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
        Self { permissions: permissions.clone(), files, redacted: BTreeMap::new() }
    }

    /// Single files below `directory`.
    pub(crate) fn files(directory: &Path, paths: &[PathBuf]) -> Self {
        let inside = paths.iter().filter_map(|path| path.strip_prefix(directory).ok());
        let mut files: Vec<FileRecord> =
            inside.filter_map(|path| record(directory, path).ok()).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup();
        Self { permissions: Permissions::default(), files, redacted: BTreeMap::new() }
    }

    /// The same where they declare `permissions`.
    pub(crate) fn declaring(self, permissions: &Permissions) -> Self {
        Self { permissions: permissions.clone(), ..self }
    }

    /// Keeps it below the state directory `home`, without what `redactor` takes for secrets; gives what brings
    /// it back.
    pub(crate) fn keep(
        mut self,
        home: &Path,
        directory: &Path,
        redactor: &Redactor,
    ) -> Result<Digest, RuntimeError> {
        let content = FileContent::new(&home.join(CONTENT));
        for file in self.files.iter().filter(|file| file.bytes <= FILE_BYTES) {
            // What changed since it was looked at is not what is trusted, and is not kept as such.
            if let Some(bytes) = read(directory, file) {
                let kept = content.put(&without_secrets(bytes, redactor))?;
                if kept != file.digest {
                    self.redacted.insert(file.digest, kept);
                }
            }
        }
        let text = canonical_json(&serde_json::to_value(&self).unwrap_or_default());
        Ok(content.put(text.as_bytes())?)
    }

    /// What is different from what was kept under `kept`, with marks for what `redactor` takes for secrets; none
    /// where that is gone or damaged.
    pub(crate) fn changes_since(
        &self,
        home: &Path,
        kept: &Digest,
        directory: &Path,
        redactor: &Redactor,
    ) -> Option<Changes> {
        let content = FileContent::new(&home.join(CONTENT));
        let before: Self = serde_json::from_slice(&content.get(kept).ok()??).ok()?;
        // What an earlier version kept may have secrets in it.
        let old = |file: &FileRecord| {
            let kept = before.redacted.get(&file.digest).unwrap_or(&file.digest);
            content.get(kept).ok()?.map(|bytes| without_secrets(bytes, redactor))
        };
        let new = |file: &FileRecord| Some(without_secrets(read(directory, file)?, redactor));
        Some(Changes::between(
            &Version { permissions: &before.permissions, files: &before.files, read: &old },
            &Version { permissions: &self.permissions, files: &self.files, read: &new },
        ))
    }
}

/// The bytes without secrets; those that have none as they are, text or not.
fn without_secrets(bytes: Vec<u8>, redactor: &Redactor) -> Vec<u8> {
    let redacted = match redactor.redact(&String::from_utf8_lossy(&bytes)) {
        // Nothing was replaced.
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text.into_bytes()),
    };
    redacted.unwrap_or(bytes)
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
