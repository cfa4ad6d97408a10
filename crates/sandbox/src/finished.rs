//! What a program did.

use std::time::Duration;

use crate::Choice;

/// A program that ran to its end, by itself or by a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code; 128 and the signal's number where a signal ended it.
    pub exit: i32,
    /// What it wrote to standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Bytes of both over the limit, that were dropped.
    pub dropped: u64,
    /// How it was held, and why so.
    pub held: Choice,
    /// From the start to the end of its last process.
    pub took: Duration,
}
