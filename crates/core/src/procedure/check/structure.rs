//! What can be said without following a run.

use concertina_format::procedure::{Issuer, Procedure, State};

use super::Finding;
use super::questions::guards;

pub(super) fn check(procedure: &Procedure) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(first) = procedure.states.first().filter(|_| !has_end(procedure)) {
        let message = "no state is final, so the procedure never ends".to_owned();
        let help = "mark the state where the work is done: `done: {final: true}`";
        found.push(Finding::error("NO_FINAL", first.at, message).help(help));
    }
    let named: Vec<&str> =
        guards(procedure).flat_map(concertina_format::procedure::Guard::checkpoints).collect();
    for checkpoint in &procedure.checkpoints {
        if !named.contains(&checkpoint.name.as_str()) {
            let message = format!("no guard asks for `{}`", checkpoint.name);
            let help = "name it in a `when`, or remove it";
            found.push(Finding::warning("UNUSED_CHECKPOINT", checkpoint.at, message).help(help));
        }
    }
    for state in &procedure.states {
        if state.on_fail.is_some() && !can_fail(procedure, state) {
            let message = format!("`{}` has `on_fail`, and nothing in it can fail", state.name);
            let help = "show a tool that decides a checkpoint, or remove `on_fail`";
            let finding = Finding::warning("FAIL_WITHOUT_CHECK", state.at, message);
            found.push(finding.of_state(&state.name).help(help));
        }
    }
    for invariant in &procedure.invariants {
        let mut shown = procedure.states.iter().flat_map(|state| &state.show.tools);
        if !shown.any(|shown| shown.tool == invariant.never) {
            let message = format!("no state shows `{}`, so it never runs at all", invariant.never);
            let help = "name a tool that a state shows, or remove the invariant";
            found.push(Finding::warning("UNUSED_INVARIANT", invariant.at, message).help(help));
        }
    }
    found
}

/// Whether some state is final.
pub(super) fn has_end(procedure: &Procedure) -> bool {
    procedure.states.iter().any(|state| state.is_final)
}

/// Whether something that the state shows or waits for can be found wanting.
fn can_fail(procedure: &Procedure, state: &State) -> bool {
    let guards = state.show.tools.iter().filter_map(|shown| shown.when.as_ref());
    let guards = guards.chain(state.exits.iter().map(|exit| &exit.when));
    let named: Vec<&str> =
        guards.flat_map(concertina_format::procedure::Guard::checkpoints).collect();
    procedure.checkpoints.iter().any(|checkpoint| match &checkpoint.issuer {
        Issuer::Tool { tool, .. } => state.show.tools.iter().any(|shown| shown.tool == *tool),
        Issuer::Webhook { .. } | Issuer::Human { .. } => named.contains(&checkpoint.name.as_str()),
    })
}
