//! The tests of this crate, in one program.
#![cfg(test)]
mod approvals;
mod guard;
mod kit;
mod listen;
mod mcp;
mod peer;
mod statements;
