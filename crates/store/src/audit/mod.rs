//! What makes a log that was changed look changed: keys, signed checkpoints, and the check itself.

mod check;
mod contents;
mod export;
mod heads;
mod keys;
mod notary;
mod seal;
mod traces;
mod verify;

pub use check::{Fault, Verdict};
pub use export::verify_export;
pub(crate) use heads::Heads;
pub use keys::{KeyLog, PublicKey};
pub(crate) use keys::{Keys, random};
pub use notary::{Keyring, Notary, PublicKeyError};
pub use seal::CHECKPOINT_EVENTS;
pub(crate) use seal::{CHECKPOINTS, Due, Unsigned, sign_again, sign_end};
pub use verify::{Against, Audit};
