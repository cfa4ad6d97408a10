#![cfg(test)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests read files")]
//! Laws of the shared words.

mod audit;
mod chain;
mod redact;
mod reference;
mod time;
