//! Programs held by the kernel to what they were granted.

mod confinement;

pub use confinement::{Confinement, Limits, Network, Program, Tier};
