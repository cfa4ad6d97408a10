//! What is kept of a server from one time to the next: its manifest, and the definitions that are
//! approved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use concertina_runtime::private::{read_json, write_json};
use concertina_runtime::upstream::{Definition, JsonText, Reach};
use concertina_types::{Digest, Timestamp, canonical_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definitions::LeftOut;
use super::handshake::Hello;

/// The shape of the manifest; another one is read again from the server.
const VERSION: u32 = 1;

/// Everything a server said that it has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Manifest {
    pub(super) version: u32,
    pub(super) revision: String,
    pub(super) info: Value,
    pub(super) instructions: Option<String>,
    pub(super) capabilities: Value,
    pub(super) tools: Vec<JsonText>,
    pub(super) prompts: Vec<JsonText>,
    pub(super) resources: Vec<JsonText>,
    pub(super) templates: Vec<JsonText>,
    pub(super) skills: Vec<JsonText>,
    /// Lists that were not read to their end, or not at all.
    pub(super) left_out: Vec<LeftOut>,
    /// When it was read, in milliseconds since 1970.
    pub(super) read_at: i64,
    /// How long it holds, in milliseconds.
    pub(super) ttl: Option<u64>,
}

impl Manifest {
    pub(super) fn new(hello: &Hello, now: Timestamp) -> Self {
        Self {
            version: VERSION,
            revision: hello.revision.clone(),
            info: hello.info.clone(),
            instructions: hello.instructions.clone(),
            capabilities: hello.capabilities.clone(),
            read_at: now.0,
            ..Self::default()
        }
    }

    /// Whether the server said that it holds no longer.
    pub(super) fn is_stale(&self, now: Timestamp) -> bool {
        // Zero means that it may not be kept at all: then it is asked again with every start only.
        let ttl = self.ttl.filter(|ttl| *ttl > 0).and_then(|ttl| i64::try_from(ttl).ok());
        ttl.is_some_and(|ttl| now.0.saturating_sub(self.read_at) > ttl)
    }
}

/// Where the records of one server are.
#[derive(Debug, Clone)]
pub(super) struct Records {
    manifest: PathBuf,
    failure: PathBuf,
    approved: PathBuf,
    /// How the directories begin that hold skills as a person approved them. They stand beside the
    /// approvals of tools, so that whoever watches those sees them appear.
    skills: PathBuf,
}

impl Records {
    pub(super) fn of(home: &Path, definition: &Definition) -> Self {
        let directory = directory(home);
        let reach = serde_json::to_value(&definition.reach).unwrap_or_default();
        let whole = Digest::of(canonical_json(&json!([definition.name, reach])).as_bytes());
        // A rotated token is no other server, so approvals do not depend on secrets.
        let address = match &definition.reach {
            Reach::Program { argv, directory, .. } => json!([argv, directory]),
            Reach::Address { url, .. } => json!([url]),
        };
        let lasting = Digest::of(canonical_json(&json!([definition.name, address])).as_bytes());
        Self {
            manifest: directory.join(format!("{}.json", whole.hex())),
            failure: directory.join(format!("{}.failed.json", whole.hex())),
            approved: directory.join("approved").join(format!("{}.json", lasting.hex())),
            skills: directory.join("approved").join(lasting.short()),
        }
    }

    /// The manifest of an earlier time. One that cannot be read is as good as none.
    pub(super) fn manifest(&self) -> Option<Manifest> {
        read_json::<Manifest>(&self.manifest).ok()?.filter(|manifest| manifest.version == VERSION)
    }

    /// Where a skill whose manifest has this digest is kept once it is approved.
    pub(super) fn skill(&self, digest: &Digest) -> PathBuf {
        self.skills.with_extension(digest.hex())
    }

    pub(super) fn keep(&self, manifest: &Manifest) -> Result<(), String> {
        write_json(&self.manifest, manifest).map_err(|error| error.to_string())
    }

    /// Why the server did not serve the last time, where it was never seen.
    pub(super) fn failure(&self) -> Option<String> {
        read_json::<String>(&self.failure).ok()?
    }

    /// Keeps why the server does not serve, or that it does.
    pub(super) fn keep_failure(&self, why: Option<&str>) {
        // What is not kept is learnt again.
        let _ = match why {
            Some(why) => write_json(&self.failure, &why).is_ok(),
            None => std::fs::remove_file(&self.failure).is_ok(),
        };
    }

    /// The file with the approvals.
    pub(super) fn approvals(&self) -> &Path {
        &self.approved
    }

    pub(super) fn approved(&self) -> Result<Approved, String> {
        Ok(read_json(&self.approved)?.unwrap_or_default())
    }

    pub(super) fn approve(&self, approved: &Approved) -> Result<(), String> {
        write_json(&self.approved, approved).map_err(|error| error.to_string())
    }
}

/// Where the records of all servers are.
pub(super) fn directory(home: &Path) -> PathBuf {
    home.join("upstreams")
}

/// The definitions of one server's tools that are approved, by the server's names: the first that
/// was seen of each, or what a person approved later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Approved {
    pub(super) tools: BTreeMap<String, ApprovedTool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ApprovedTool {
    pub(super) digest: Digest,
    pub(super) definition: JsonText,
}
