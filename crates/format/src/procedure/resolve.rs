//! Names in a procedure: each has to be one.

use super::guard::Guard;
use super::keys::Findings;
use super::read::Placed;

/// Says which names mean nothing.
pub(super) fn names(placed: &Placed, findings: &mut Findings<'_>) {
    let procedure = &placed.document;
    let states = || procedure.states.iter().map(|state| state.name.as_str());
    let checkpoints = || procedure.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str());
    for (name, at) in &placed.targets {
        if !states().any(|state| state == name) {
            findings.unknown("UNKNOWN_STATE", *at, "state of this procedure", name, states());
        }
    }
    for (guard, at) in &placed.guards {
        for leaf in guard.leaves() {
            if let Guard::Holds(name) = leaf
                && !checkpoints().any(|checkpoint| checkpoint == name)
            {
                findings.unknown(
                    "UNKNOWN_CHECKPOINT",
                    *at,
                    "checkpoint of this procedure",
                    name,
                    checkpoints(),
                );
            }
        }
    }
}
