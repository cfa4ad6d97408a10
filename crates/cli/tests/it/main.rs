//! The command line as people and programs use it: the real binary, in directories of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says when it is skipped"
)]

mod access;
mod advisories;
mod audit;
mod authoring;
mod bad_input;
mod commands;
mod consent;
mod corpus;
mod demo;
mod disclosure;
mod examples;
mod expansion;
mod finding;
mod format;
mod git_hooks;
mod held;
mod kit;
mod mcp;
mod measures;
mod opening;
mod procedures;
mod reading;
mod receipts;
mod reports;
mod routing;
mod run;
mod schemas;
mod serve;
mod sessions;
mod sources;
mod stats;
mod supply;
mod terminal;
mod tools;
mod touching;
mod transcripts;
mod trust;
mod turns;
mod upstream;
mod verdicts;
