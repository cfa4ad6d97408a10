//! The pure heart of Concertina.
//!
//! `policy`, `catalog`, `procedure` and `context` do not know each other; only `session` composes
//! them. Nothing here reads a file, a clock or a socket: what happened is told by commands, and what
//! should happen is told back as data.

pub mod catalog;
pub mod context;
pub mod policy;
pub mod procedure;
pub mod session;
