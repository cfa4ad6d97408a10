//! Which content each version of a skill had when it was first seen, so that a change that keeps the
//! version is noticed.

use std::collections::BTreeMap;
use std::path::Path;

use concertina_types::{Diagnostic, Digest, Severity};
use serde::{Deserialize, Serialize};

use crate::check::Checked;
use crate::error::RuntimeError;
use crate::private::{read_json, write_json};

/// The name of the file below the state directory.
const FILE: &str = "versions.json";

/// A version and the content it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    version: String,
    digest: Digest,
}

/// Compares what was checked with what was seen before, below `home`, and remembers it. A skill that
/// changed and kept its version gets a finding until its version rises.
pub fn compare_versions(home: &Path, checked: &mut [Checked]) -> Result<(), RuntimeError> {
    let path = home.join(FILE);
    // A damaged record says nothing; it is written anew.
    let mut known: BTreeMap<String, Known> = read_json(&path).ok().flatten().unwrap_or_default();
    let before = known.clone();
    for one in checked.iter_mut() {
        let Some(digest) = one.digest else { continue };
        let Some(version) = one.document.as_ref().and_then(|document| document.version.clone())
        else {
            continue;
        };
        let Ok(file) = std::path::absolute(&one.path) else { continue };
        let file = file.to_string_lossy().into_owned();
        match known.get(&file) {
            Some(old) if old.version == version && old.digest != digest => {
                let message = format!("content changed, version same: it is still {version}");
                one.diagnostics.push(
                    Diagnostic::new("VERSION_SAME", Severity::Warning, message)
                        .help("raise `version`, so that old and new behaviour can be told apart"),
                );
            }
            Some(old) if old.version == version => {}
            _ => {
                known.insert(file, Known { version, digest });
            }
        }
    }
    if known == before { Ok(()) } else { write_json(&path, &known) }
}
