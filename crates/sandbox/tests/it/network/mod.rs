//! The proxy, over real sockets.

mod ends;
mod kit;
mod requests;
mod targets;
