//! The tests of this crate, in one program.
#![cfg(test)]

mod upstream;
