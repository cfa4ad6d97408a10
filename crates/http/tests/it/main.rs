//! The tests of this crate, in one program.
#![cfg(test)]
mod guard;
mod kit;
mod listen;
mod mcp;
