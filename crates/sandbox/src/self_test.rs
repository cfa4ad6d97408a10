//! What a machine's tier is worth, tried.

/// One thing that a confined program must not be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escape {
    /// What was tried.
    pub name: &'static str,
    /// Whether it was refused, as it must be.
    pub is_held: bool,
}
