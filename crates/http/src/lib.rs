//! The HTTP service: one listener, whose requests are checked before anything else sees them.
//!
//! | layer | what it refuses |
//! |---|---|
//! | [`listen`] | more connections than there is room for; headers that take too long |
//! | [`guard`] | another `Host` than this one, a foreign `Origin`, an absolute address, no token |
//! | the routes | bodies over the limit, more requests at once than there is room for |
//!
//! What is left is one of a few routes: MCP below `/mcp`.

pub mod guard;
pub mod listen;
mod owners;
pub mod routes;
pub mod token;

pub use guard::{Guard, Names};
pub use listen::{Listening, ServeError};
pub use routes::routes;
pub use token::{Token, TokenError, Tokens};
