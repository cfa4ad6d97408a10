//! The server that clients see.
//!
//! - [`Gateway`]: what all connections share;
//! - [`Handler`]: one connection, or one request where the protocol knows no connections;
//! - [`stdio`]: a connection on the standard streams;
//! - [`http`]: connections over HTTP, as a service for a router.
//!
//! A request is admitted by the session's log and by nothing here: this module turns messages into
//! `find`, `open`, `call` and `close`, and answers into messages.

mod answer;
mod asked;
mod brought;
mod caller;
mod calls;
mod changes;
mod connection;
mod consent;
mod desk;
mod flight;
mod follow;
mod gateway;
mod handler;
mod http;
mod instructions;
mod names;
mod notes;
mod page;
mod prompts;
mod resources;
mod skills;
mod stdio;
mod subscriptions;
mod tools;
mod uri;

pub use gateway::{Exposure, Gateway, GatewayOptions};
pub use handler::Handler;
pub use http::{HttpService, http};
pub use names::alias;
pub use stdio::{StdioOptions, stdio};

/// On whose behalf a request comes, as the listener found out. It stands in the extensions of the
/// HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(pub String);
