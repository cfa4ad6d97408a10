//! What exactly a skill is: its files by their content, its name, its version, what it declares.
//!
//! A manifest is what a lock file records and what an author signs. Its bytes are JSON with sorted keys
//! and no blanks ([`canonical_json`]), so equal skills have equal bytes wherever they lie.

use std::path::Path;

use concertina_core::catalog::Loaded;
use concertina_format::skill::{Document, Mode, Origin, parse};
use concertina_types::{Digest, canonical_json};
use serde::{Deserialize, Serialize};

use super::files::{FileRecord, record, records};
use super::{SupplyError, permissions_digest};
use crate::sources::{file_name, name_by_place, read};

/// The version of the form.
const VERSION: u8 = 1;

/// What a skill is, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this form.
    pub v: u8,
    /// The skill's name, as its file says.
    pub name: String,
    /// Its version, as written; null where it has none.
    pub version: Option<String>,
    /// The digest of what it declares, see [`permissions_digest`].
    pub permissions: Digest,
    /// Its files, sorted by path.
    pub files: Vec<FileRecord>,
}

impl Manifest {
    /// The manifest of the skill whose file is at `path`, with what that file says.
    pub fn of(path: &Path, kind: Loaded) -> Result<(Self, Document), SupplyError> {
        let bytes = read(path).map_err(|error| SupplyError::Environment {
            code: error.code(),
            message: error.to_string(),
        })?;
        let directory = name_by_place(path, kind);
        let origin = Origin { directory: &directory, file: file_name(path, kind) };
        let parsed = parse(&bytes, origin, Mode::Lenient);
        let Some(document) = parsed.document else {
            let why =
                parsed.diagnostics.first().map_or("it is no skill", |found| found.message.as_str());
            let message = format!("{} cannot be used: {why}", path.display());
            return Err(SupplyError::refused("REJECTED", message));
        };
        let place = path.parent().unwrap_or(Path::new("."));
        let files = match kind {
            Loaded::Skills => records(place)?,
            // A command is one file; what lies beside it is not its own.
            Loaded::Commands | Loaded::Bundled => {
                vec![record(place, Path::new(path.file_name().unwrap_or_default()))?]
            }
        };
        // The file was read twice; what was parsed has to be what is recorded.
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let own = files.iter().find(|file| file.path == name);
        if own.is_none_or(|own| own.digest != Digest::of(&bytes)) {
            let message = format!("{} changed while it was read; try again", path.display());
            return Err(SupplyError::environment("CHANGED_MEANWHILE", message));
        }
        let manifest = Self {
            v: VERSION,
            name: document.name.clone(),
            version: document.version.clone(),
            permissions: permissions_digest(&document.permissions),
            files,
        };
        Ok((manifest, document))
    }

    /// The bytes that are hashed and signed.
    pub fn bytes(&self) -> Vec<u8> {
        // A manifest is plain data, which always has a text.
        canonical_json(&serde_json::to_value(self).unwrap_or_default()).into_bytes()
    }

    /// One digest for all of it.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes())
    }
}
