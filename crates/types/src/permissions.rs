//! What a skill says that it needs. Nothing here grants anything.

use serde::{Deserialize, Serialize};

/// Paths that may be read or written: gitignore-style patterns, possibly with `${name}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathScope {
    /// The patterns.
    pub paths: Vec<String>,
}

/// Hosts that may be reached, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkScope {
    /// Host names; a leading `*.` covers the names below it.
    #[serde(default)]
    pub domains: Vec<String>,
    /// HTTP methods; empty means reading ones only (`GET`, `HEAD`, `OPTIONS`).
    #[serde(default)]
    pub methods: Vec<String>,
}

/// What a run does when something that was not declared turns up.
///
/// Two are equal where the same happens: whether it was said makes no difference to that.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUnexpected {
    /// Nothing was said: stop, but leave it to whoever opens the skill what becomes of its text.
    #[default]
    #[serde(skip)]
    Unstated,
    /// Stop.
    Abort,
    /// Refuse that one action and go on.
    Continue,
}

impl PartialEq for OnUnexpected {
    fn eq(&self, other: &Self) -> bool {
        matches!(self, Self::Continue) == matches!(other, Self::Continue)
    }
}

impl Eq for OnUnexpected {}

impl Serialize for OnUnexpected {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Unstated | Self::Abort => "abort",
            Self::Continue => "continue",
        })
    }
}

/// The `permissions` of a skill or a tool, as declared. Empty means: needs nothing, gets nothing.
///
/// ```
/// assert!(concertina_types::Permissions::default().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Permissions {
    /// What may be read.
    pub read: Vec<PathScope>,
    /// What may be written.
    pub write: Vec<PathScope>,
    /// What may be reached.
    pub network: Vec<NetworkScope>,
    /// Commands that may run: argument vectors as patterns, such as `git status *`.
    pub execute: Vec<String>,
    /// Tools that may be called: names, or patterns such as `sql/*`.
    pub tools: Vec<String>,
    /// Operations that always ask.
    pub confirm: Vec<String>,
    /// What happens on a surprise.
    pub on_unexpected: OnUnexpected,
}

impl Permissions {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        let paths = |scopes: &[PathScope]| scopes.iter().all(|scope| scope.paths.is_empty());
        paths(&self.read)
            && paths(&self.write)
            && self.network.iter().all(|scope| scope.domains.is_empty())
            && self.execute.is_empty()
            && self.tools.is_empty()
    }
}
