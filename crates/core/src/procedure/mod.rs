//! Orders that hold whatever the model says: which skill comes before which.

mod order;

pub use order::{Cycle, closure, missing};
