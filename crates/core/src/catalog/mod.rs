//! The index of skills and tools, never their bodies.
//!
//! Sources give [`SkillEntry`] candidates in any order; [`merge`] decides which one a name means;
//! a [`Snapshot`] is the result, immutable and shared; [`listing`] turns it into the text that a
//! model sees, within a budget, and [`Snapshot::diff`] into what changed since.

mod entry;
mod json_text;
pub mod listing;
mod merge;
pub mod search;
mod sentences;
mod snapshot;

pub use entry::{Altered, Danger, Loaded, NeedsSkill, Scope, SkillEntry, ToolEntry};
pub use json_text::JsonText;
pub use merge::{Merged, Precedence, merge};
pub use sentences::{essence, sentences};
pub use snapshot::{Category, Diff, Shadowed, Skipped, Snapshot};
