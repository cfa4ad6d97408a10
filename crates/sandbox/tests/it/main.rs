//! Tests of the sandbox: what a hostile program tries, and what an honest one must still be able to do.
#![cfg(all(test, target_os = "linux"))]
#![allow(
    unsafe_code,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::undocumented_unsafe_blocks,
    reason = "a test fails by panicking, and sets up what it attacks"
)]

mod cases;
mod closed;
mod endings;
mod identity;
mod matrix;
mod network;
mod pins;
mod protection;
mod proxy;
mod resources;
mod scene;
mod tiers;
