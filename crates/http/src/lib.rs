//! The HTTP service: one listener, whose requests are checked before anything else sees them.
//!
//! | layer | what it refuses |
//! |---|---|
//! | [`listen`] | more connections than there is room for; headers that take too long |
//! | [`guard`] | another `Host` than this one, a foreign `Origin`, an absolute address, no token |
//! | `owners` | whoever is no client; a session of somebody else, like one that there is not |
//! | [`bodies`] | messages that are too long, too slow, or under a number that is taken |
//!
//! What is left is MCP, below `/mcp`, and questions of consent, below `/v1/approvals`.

mod approvals;
pub mod bodies;
pub mod guard;
pub mod listen;
mod owners;
pub mod routes;
mod statements;
pub mod token;

pub use guard::{Guard, Names};
pub use listen::{Listening, ServeError};
pub use routes::routes;
pub use token::{Approver, Approvers, TokenError, Tokens};
