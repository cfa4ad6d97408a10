//! What the logs say of what was done and refused, for people.
//!
//! Whether a log can be trusted is the store's to say: [`concertina_store::Audit`].

mod account;
mod denials;
mod records;
mod transcript;

pub use account::{About, Told, account};
pub use denials::{By, Denials, Denied, DeniedFor, denials, suggestion};
pub use records::{Record, Wanted, records};
pub use transcript::said_by_model;
