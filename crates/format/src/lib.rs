//! Reads SKILL.md and `concertina.toml`: text in, document and findings out.

pub mod skill;
pub mod config;
pub mod expand;
mod nearest;
pub mod parameters;
pub mod lint;
