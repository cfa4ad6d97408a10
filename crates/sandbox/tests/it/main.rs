#![cfg(test)]
//! Tests of the sandbox.

mod proxy;
