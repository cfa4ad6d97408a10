//! Linux: Landlock, seccomp, namespaces.
//!
//! Three processes take part. The caller lays out everything ([`prepared`]) and copies itself; the
//! copy ([`keeper`]) is the first process of a process namespace and starts a third ([`child`]), which
//! locks itself in and becomes the program. The caller watches ([`watch`]). Between the copy and the
//! program nothing is allocated and no lock is taken, because the caller may have many threads.

mod baseline;
mod child;
mod control;
mod executable;
mod grant;
mod guard;
mod held;
mod keeper;
mod mounts;
mod pin;
mod placeholder;
mod places;
mod plan;
mod prepared;
mod probe;
mod raw;
mod rehearsal;
mod ruleset;
mod running;
mod seccomp;
mod view;
mod watch;

use crate::{Confinement, Finished, Gate, Machine, Network, Program, SandboxError, choose};

pub use executable::started_by;
pub use placeholder::stands_in;
pub use probe::probe;
pub use rehearsal::self_test;

/// Runs `program`, held to `confinement`, until it ends, its time is over or `is_stopped`.
///
/// With [`Network::Domains`] the program is in a network of its own, in which it reaches `gate` and
/// nothing else.
///
/// # Errors
/// See [`SandboxError`]; in each case nothing of the program is left running.
pub fn run(
    machine: &Machine,
    program: &Program,
    confinement: &Confinement,
    gate: Option<&dyn Gate>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Finished, SandboxError> {
    let held = choose(confinement, machine)?;
    if confinement.network != Network::None && gate.is_none() {
        return Err(SandboxError::NoGate);
    }
    watch::run(machine, held, program, confinement, gate, is_stopped, watch::Act::Start)
}
