//! Orders that hold whatever the model says: for now, which skill comes before which.

mod order;

pub use order::{Cycle, closure, missing};
