//! The protocol MCP, on both sides: the server that clients see, and the servers behind it.
//!
//! - [`server`]: four tools, prompts, resources and skills for any client;
//! - [`upstream`]: the servers whose tools are called through it;
//! - [`wire`]: messages as lines, for either side.
//!
//! `rmcp` is used here and nowhere else.

mod cut;
mod percent;
mod says;
pub mod server;
pub mod upstream;
pub mod wire;

/// A lock is held for moments only, and what it guards is whole after any of them.
fn lock<T: ?Sized>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
