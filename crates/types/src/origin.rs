//! Who says something in a settings file.

use serde::{Deserialize, Serialize};

/// Whose settings file it is. Whoever comes first has more authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfigOrigin {
    /// The machine's administrator: what it sets, nobody else changes.
    Managed,
    /// The person who runs Concertina.
    User,
    /// The workspace: it may only narrow.
    Workspace,
}
