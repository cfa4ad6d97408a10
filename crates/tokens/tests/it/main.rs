//! Tests of the token counts against `tiktoken-rs`, an independent implementation.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests read files and the clock, say what they skip, and fail by panicking"
)]

mod corpus;
mod equality;
mod family;
mod huge;
mod limits;
mod tables;

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// The reference, built once.
static REFERENCE: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());

/// The ranks the reference gives.
fn reference(text: &str) -> Vec<u32> {
    REFERENCE.encode_ordinary(text)
}
