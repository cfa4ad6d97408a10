//! Reads SKILL.md and `concertina.toml`: text in, document and findings out.

pub mod skill;
