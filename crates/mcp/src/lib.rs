//! The protocol MCP, on both sides: the server that clients see, and the servers behind it.
//!
//! - [`server`]: four tools, prompts, resources and skills for any client;
//! - [`upstream`]: the servers whose tools are called through it;
//! - [`wire`]: messages as lines, for either side.
//!
//! `rmcp` is used here and nowhere else.

mod cut;
mod says;
pub mod server;
pub mod upstream;
pub mod wire;
