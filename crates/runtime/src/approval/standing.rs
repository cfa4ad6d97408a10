//! What a person agreed to for as long as its bytes stay the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use concertina_types::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::RuntimeError;
use crate::private::{read_json, write_json};

/// The name of the file below the state directory.
const FILE: &str = "approvals.json";
/// The version of its form.
const VERSION: u8 = 1;

/// One action that was agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// What was asked for, such as `open skill:deploy`.
    pub request: String,
    /// When.
    pub at: Timestamp,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    v: u8,
    approvals: BTreeMap<Digest, Agreed>,
}

/// The record of one person. Where it cannot be read, nothing was agreed to.
#[derive(Debug, Clone)]
pub struct Standing {
    file: PathBuf,
}

impl Standing {
    /// The record below `home`.
    pub fn below(home: &Path) -> Self {
        Self { file: home.join(FILE) }
    }

    /// The keys of everything that was agreed to. A damaged record agrees to nothing.
    pub fn keys(&self) -> BTreeSet<Digest> {
        self.read().map(|stored| stored.approvals.into_keys().collect()).unwrap_or_default()
    }

    /// Everything that was agreed to.
    ///
    /// # Errors
    /// Why the record cannot be read.
    pub fn all(&self) -> Result<BTreeMap<Digest, Agreed>, RuntimeError> {
        Ok(self.read()?.approvals)
    }

    /// Adds an action.
    pub fn add(&self, key: Digest, agreed: Agreed) -> Result<(), RuntimeError> {
        let mut stored = self.read()?;
        stored.approvals.insert(key, agreed);
        write_json(&self.file, &stored)
    }

    /// Takes back every consent whose key begins with `start`; says to what.
    pub fn withdraw(&self, start: &str) -> Result<Vec<Agreed>, RuntimeError> {
        let mut stored = self.read()?;
        let (out, kept) =
            stored.approvals.into_iter().partition(|(key, _)| key.is_abbreviated(start));
        stored.approvals = kept;
        let out: BTreeMap<Digest, Agreed> = out;
        if !out.is_empty() {
            write_json(&self.file, &stored)?;
        }
        Ok(out.into_values().collect())
    }

    fn read(&self) -> Result<Stored, RuntimeError> {
        let unreadable = |why: String| RuntimeError::Environment {
            code: "APPROVALS_UNREADABLE",
            message: format!("{why}; until it is repaired or removed nothing counts as agreed to"),
        };
        match read_json::<Stored>(&self.file).map_err(unreadable)? {
            None => Ok(Stored { v: VERSION, ..Stored::default() }),
            Some(stored) if stored.v == VERSION => Ok(stored),
            Some(Stored { v, .. }) => Err(unreadable(format!("{FILE} is of version {v}"))),
        }
    }
}
