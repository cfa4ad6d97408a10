#![cfg(test)]
//! Laws of the shared words.

mod chain;
mod reference;
mod time;
