#![cfg(test)]
//! Tests of the public interface, one module per subject.

mod search;
mod search_routing;

mod context;
mod kit;
mod listing;
mod merge;
mod policy;
mod procedure;
mod sentences;
