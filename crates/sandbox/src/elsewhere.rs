//! Systems whose kernel offers nothing to hold a program with that is built in here.

use crate::{Confinement, Escape, Finished, Gate, Machine, Program, SandboxError, Tier, choose};

/// What this machine can enforce: nothing.
pub fn probe() -> Machine {
    Machine::without_a_sandbox(std::env::consts::OS)
}

/// Runs nothing: the answer is `SANDBOX_UNAVAILABLE`.
pub fn run(
    machine: &Machine,
    _: &Program,
    confinement: &Confinement,
    _: Option<&dyn Gate>,
    _: &dyn Fn() -> bool,
) -> Result<Finished, SandboxError> {
    Err(choose(confinement, machine).err().unwrap_or_else(|| unavailable(machine)))
}

/// Whether something stands in for what is not there: nothing does, since nothing runs.
pub fn stands_in(_: &std::path::Path) -> bool {
    false
}

/// Every file that has to be in `execute` so that `program` starts: none, since none does.
pub fn started_by(_: &Program) -> Vec<std::path::PathBuf> {
    Vec::new()
}

/// Tries nothing: the answer is `SANDBOX_UNAVAILABLE`.
pub fn self_test(machine: &Machine, _: Tier) -> Result<Vec<Escape>, SandboxError> {
    Err(unavailable(machine))
}

fn unavailable(machine: &Machine) -> SandboxError {
    SandboxError::Unavailable {
        missing: format!("{} without a sandbox", machine.kernel),
        help: "run it on Linux, on x86-64 or 64-bit ARM".to_owned(),
    }
}
