//! What a program tried to reach, for the audit.

/// Attempts that are kept of one run; more are counted. A program that makes more is not understood
/// better by reading on.
const KEPT: usize = 1_000;

/// One request, and what was said to it. Neither its path nor its fields: they may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The host as it was parsed; empty where it could not be read.
    pub host: String,
    /// The port, where it could be read.
    pub port: Option<u16>,
    /// The method; empty where it could not be read.
    pub method: String,
    /// Whether it was let through.
    pub allowed: bool,
    /// `ALLOWED`, or the stable code of what stood against it.
    pub code: &'static str,
    /// The same in words; empty where it was let through.
    pub reason: String,
}

/// The attempts of one run in their order, up to a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// The first 1,000.
    pub kept: Vec<Attempt>,
    /// Further ones that were let through.
    pub more_allowed: u64,
    /// Further ones that were not.
    pub more_denied: u64,
}

impl Attempts {
    pub(super) fn add(&mut self, attempt: Attempt) {
        if self.kept.len() < KEPT {
            self.kept.push(attempt);
        } else if attempt.allowed {
            self.more_allowed += 1;
        } else {
            self.more_denied += 1;
        }
    }
}
