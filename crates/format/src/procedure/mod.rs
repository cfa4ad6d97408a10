//! `sop/v1`: a procedure as a text, and what is wrong with it.
//!
//! A procedure is a small YAML file: checkpoints, each with the one thing that can prove it; states, each with the
//! tools, skills and evidence that it shows, and with exits that open when checkpoints hold. Reading it resolves
//! every name; whether it leads anywhere is for the check in `core::procedure` to find out.
//!
//! A procedure with one error is no procedure: a gate that cannot be read must not stand open.
//!
//! ```
//! use concertina_format::procedure::parse;
//! let parsed = parse(
//!     "sop: greet\n\
//!      checkpoints: {greeted: {tool: greet, expect: {exit: 0}}}\n\
//!      states:\n\
//!     \x20 hello: {show: {tools: [greet]}, next: [{to: done, when: greeted}]}\n\
//!     \x20 done: {final: true}\n",
//! );
//! let procedure = parsed.procedure.expect("no errors");
//! assert_eq!(procedure.states[0].exits[0].to, "done");
//! let parsed = parse("sop: greet\nstates: {hello: {next: [{to: done, when: it looks good}]}, done: {final: true}}");
//! assert!(parsed.diagnostics.iter().any(|found| found.code == "FREE_TEXT"));
//! ```

mod checkpoint;
mod document;
mod expect;
mod guard;
mod keys;
mod read;
mod resolve;

pub use document::{
    Age, AgeError, Assurance, Checkpoint, Exit, Inputs, Invariant, Issuer, OnFail, Procedure, Show,
    ShownEvidence, ShownTool, State, Writes,
};
pub use expect::{Compare, Condition};
pub use guard::{Guard, GuardError};
pub use read::{Parsed, parse};

/// One procedure, in bytes. One of 200 states takes 40 KB.
pub const PROCEDURE_BYTES: usize = 256 * 1024;
/// States of one procedure: more is a program.
pub const STATES: usize = 500;
/// Checkpoints of one procedure, so that a set of them is one word.
pub const CHECKPOINTS: usize = 64;
