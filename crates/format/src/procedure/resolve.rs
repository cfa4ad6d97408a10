//! Names in a procedure: each has to be one.

use std::collections::BTreeSet;

use concertina_types::FieldValue;

use super::document::{Checkpoint, Issuer, Procedure};
use super::expect::Condition;
use super::guard::Guard;
use super::keys::Findings;
use super::read::Placed;

/// What receipts call a person who proved something…
const HUMAN: &str = "human";
/// …what a person's receipt says…
const APPROVED: &str = "approved";
/// …and what they call a webhook.
const WEBHOOK: &str = "webhook";

/// Says which names mean nothing. Of the tools `unread` it is not known what their receipts say.
pub(super) fn names(placed: &Placed, unread: &[String], findings: &mut Findings<'_>) {
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
            if let Guard::Receipt { tool, condition } = leaf {
                receipt(procedure, tool, condition, *at, unread, findings);
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

/// Says so where no receipt of `tool` can say what `condition` asks.
fn receipt(
    procedure: &Procedure,
    tool: &str,
    condition: &Condition,
    at: usize,
    unread: &[String],
    findings: &mut Findings<'_>,
) {
    let field = condition.field.as_str();
    let tools = known_tools(procedure);
    if !tools.contains(tool) {
        let what = "tool that this procedure shows";
        findings.unknown("UNKNOWN_TOOL", at, what, tool, tools.iter().copied());
    } else if let Some(fields) = fields(procedure, tool)
        && !fields.contains(field)
        && !unread.iter().any(|one| one == tool)
    {
        let what = format!("field of a receipt of `{tool}`");
        findings.unknown("UNKNOWN_FIELD", at, &what, field, fields.iter().copied());
    } else if !matches!(condition.value, FieldValue::Number(_))
        && is_number(&procedure.checkpoints, tool, field)
    {
        let message = format!("`{field}` of {tool} is a number, and `{}` is none", condition.value);
        let help = format!("write `receipt({tool}).{field} == 0`");
        findings.error("WRONG_TYPE", at, message, help);
    }
}

/// Every tool of which there can be a receipt.
fn known_tools(procedure: &Procedure) -> BTreeSet<&str> {
    let shown = procedure.states.iter().flat_map(|state| &state.show.tools);
    let issuers = procedure.checkpoints.iter().map(|one| match &one.issuer {
        Issuer::Tool { tool, .. } => tool.as_str(),
        Issuer::Webhook { .. } => WEBHOOK,
        Issuer::Human { .. } => HUMAN,
    });
    shown.map(|shown| shown.tool.as_str()).chain(issuers).collect()
}

/// What receipts of `tool` can say, where that is known: whoever signs a statement chooses its fields.
fn fields<'p>(procedure: &'p Procedure, tool: &str) -> Option<BTreeSet<&'p str>> {
    let mut fields = BTreeSet::from(["exit"]);
    for checkpoint in &procedure.checkpoints {
        match &checkpoint.issuer {
            Issuer::Tool { tool: issuer, parse, .. } if issuer == tool => {
                fields.extend(parse.fields());
            }
            Issuer::Webhook { .. } if tool == WEBHOOK => return None,
            Issuer::Human { .. } if tool == HUMAN => drop(fields.insert(APPROVED)),
            _ => {}
        }
    }
    Some(fields)
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
