//! SKILL.md.

mod document;

pub use document::{Document, Example, Mode, Origin, Parameter, Requirement, Status};
