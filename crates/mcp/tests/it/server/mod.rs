//! The server that clients see.

mod calls;
mod fuzz;
mod handshake;
mod hard;
mod kit;
mod listed;
mod procedures;
mod sessions;
mod skills;
mod subscriptions;
mod tools;
