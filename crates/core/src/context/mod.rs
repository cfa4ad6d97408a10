//! How much of a thing to show, and what to keep when there is not room for all.

mod block;
mod carry;
mod size;

pub use block::{block, disarm};
pub use carry::{CarryOver, carry_over};
pub use size::{Excerpt, SizeClass, excerpt, excerpt_within, lines};
