//! What makes a log that was changed look changed: keys, signed checkpoints, and the check itself.

#[expect(dead_code, reason = "checkpoints are signed with them next")]
mod keys;

pub use keys::{KeyLog, PublicKey};
pub(crate) use keys::{Keys, random};
