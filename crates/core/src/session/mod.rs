//! One agent's work: what it was shown, what it may do, what it did.

mod view;

pub use view::{Block, Message, Part, ToolDefinition, View};
