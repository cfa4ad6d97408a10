//! The index of skills and tools, never their bodies.

pub mod search;
