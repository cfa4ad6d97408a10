#![cfg(test)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::string_slice,
    reason = "tests read files and the clock, and fail by panicking"
)]
//! Tests of the crate, by subject.

mod config;
mod documentation;
mod expand;
mod findings;
mod fuzz;
mod lint;
mod lint_corpus;
mod lint_tools;
mod parameters;
mod procedure;
mod results;
mod skill_cases;
mod skill_closed;
mod skill_document;
mod skill_hard;
mod skill_harness;
mod skill_laws;
mod skill_sections;
