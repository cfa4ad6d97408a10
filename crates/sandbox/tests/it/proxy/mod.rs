//! The proxy, over real sockets.

#[cfg(target_os = "linux")]
mod confined;
mod ends;
mod kit;
mod requests;
mod targets;
