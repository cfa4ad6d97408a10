//! Names in a procedure: each has to be one.

use concertina_types::FieldValue;

use super::document::{Checkpoint, Issuer};
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
            if let Guard::Receipt { tool, condition } = leaf
                && !matches!(condition.value, FieldValue::Number(_))
                && is_number(&procedure.checkpoints, tool, &condition.field)
            {
                let message = format!(
                    "`{}` of {tool} is a number, and `{}` is none",
                    condition.field, condition.value
                );
                let help = format!("write `receipt({tool}).{} == 0`", condition.field);
                findings.error("WRONG_TYPE", *at, message, help);
            }
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

/// Whether the field `name` of receipts of `tool` is always a number.
fn is_number(checkpoints: &[Checkpoint], tool: &str, name: &str) -> bool {
    let mut parsers = checkpoints.iter().filter_map(|one| match &one.issuer {
        Issuer::Tool { tool: issuer, parse, .. } if issuer == tool => Some(parse),
        _ => None,
    });
    name == "exit" || {
        let known = parsers.clone().any(|parser| parser.fields().contains(&name));
        known && parsers.all(|parser| parser.is_number(name))
    }
}
