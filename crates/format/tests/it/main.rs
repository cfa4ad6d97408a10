//! Tests of the crate, by subject.

mod skill_harness;
mod config;
mod expand;
mod parameters;
mod findings;
mod fuzz;
mod lint;
mod lint_corpus;
mod skill_document;
mod skill_hard;
mod skill_laws;
mod skill_sections;
