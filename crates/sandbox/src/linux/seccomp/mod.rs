//! Which system calls a confined program may make.
//!
//! Everything is allowed but what stands in the table: programs of all kinds have to run. What
//! Landlock and namespaces cannot hold is denied here, and what they can is denied once more. The
//! table becomes one filter, since each call passes through every filter there is.

mod bpf;
mod table;

pub(super) use bpf::{Instruction, compile};
pub(super) use table::table;

/// Says what to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Make it.
    Allow,
    /// Answer with this error number.
    Refuse(i32),
    /// Kill the process.
    Kill,
}

/// A condition on one argument of a call. Only the lower 32 bits count where the kernel looks at no
/// more than those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// The masked argument is one of these.
    In { argument: u8, mask: u32, values: &'static [u32] },
    /// The masked argument is none of these.
    NotIn { argument: u8, mask: u32, values: &'static [u32] },
    /// The argument, all 64 bits of it, is not zero.
    NotNull { argument: u8 },
}

/// What happens to some calls. The first test that holds decides; where none does, the call is
/// allowed. Without a test it is refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The numbers of the calls.
    pub(super) calls: &'static [libc::c_long],
    /// Each condition under which they are refused.
    pub(super) tests: &'static [Test],
    /// The answer.
    pub(super) verdict: Verdict,
}

/// For whom the table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Profile {
    /// Whether the only network is one's own, with a gate in it.
    pub(super) is_networked: bool,
    /// Whether everything that may not be written is mounted read-only.
    pub(super) is_mounted: bool,
    /// Whether nobody outside can be reached by a signal.
    pub(super) may_signal: bool,
}
