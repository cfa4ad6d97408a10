//! Reads SKILL.md and `concertina.toml`: text in, document and findings out.

pub mod config;
pub mod expand;
pub mod lint;
mod nearest;
pub mod parameters;
pub mod results;
pub mod skill;

pub use nearest::nearest;
