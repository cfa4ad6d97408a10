//! Whether a procedure leads anywhere, and whether what it forbids can happen.
//!
//! All situations of a run are explored: the state, the checkpoints that hold, what the last receipts say, what held
//! on entering. Whatever could happen is taken to happen, as `model.rs` says; so what is not found cannot be.
//!
//! ```
//! use concertina_core::procedure::check;
//! use concertina_format::procedure::parse;
//! let procedure = parse(
//!     "sop: ship\n\
//!      checkpoints: {test.ok: {tool: test, binds: workspace}}\n\
//!      states:\n\
//!     \x20 test: {show: {tools: [test]}, next: [{to: ship, when: test.ok}]}\n\
//!     \x20 ship: {show: {tools: [edit, push]}, next: [{to: done, when: receipt(push).exit == 0}]}\n\
//!     \x20 done: {final: true}\n\
//!      invariants: [{never: push, without: test.ok}]\n",
//! );
//! let found = check(&procedure.procedure.expect("it can be read"));
//! assert_eq!(found[0].code, "BYPASS");
//! assert_eq!(found[0].path, ["test: run test → passes", "go to ship", "work changes", "ship: run push"]);
//! ```

mod answers;
mod explore;
mod liveness;
mod model;
mod questions;
mod safety;
mod sets;
mod structure;

use std::borrow::Cow;

use concertina_format::procedure::{Parsed, Procedure};
use concertina_types::{Diagnostic, Position, Severity};
use serde::Serialize;

use explore::Explored;
use model::Model;
use sets::{Set, Sets};

/// Nodes of all diagrams of one check: about 50 MB, and no more than a second.
const NODES: usize = 1_000_000;

/// One thing that is wrong with a procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable code in capitals.
    pub code: Cow<'static, str>,
    /// How much it matters. A procedure with an error is not to be followed.
    pub severity: Severity,
    /// The state that it is about.
    pub state: Option<String>,
    /// The shortest way to it, one step after another. Empty where none is needed or it is too long to be looked for.
    pub path: Vec<String>,
    /// What happened, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Where it stands in the text.
    pub at: Position,
}

impl Finding {
    fn new(code: &'static str, severity: Severity, at: Position, message: String) -> Self {
        let (state, path, help) = (None, Vec::new(), String::new());
        Self { code: code.into(), severity, state, path, message, help, at }
    }

    fn error(code: &'static str, at: Position, message: String) -> Self {
        Self::new(code, Severity::Error, at, message)
    }

    fn warning(code: &'static str, at: Position, message: String) -> Self {
        Self::new(code, Severity::Warning, at, message)
    }

    fn of_state(mut self, state: &str) -> Self {
        self.state = Some(state.to_owned());
        self
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

impl Finding {
    /// What reading found, each with the state in which it stands.
    pub fn of_reading(parsed: &Parsed) -> Vec<Self> {
        let found = parsed.diagnostics.iter().map(|one| Self {
            state: parsed.state_of(one).map(str::to_owned),
            ..Self::from(one.clone())
        });
        found.collect()
    }
}

impl From<Diagnostic> for Finding {
    /// What reading found, in the same form.
    fn from(found: Diagnostic) -> Self {
        Self {
            code: found.code,
            severity: found.severity,
            state: None,
            path: Vec::new(),
            message: found.message,
            help: found.help.unwrap_or_default(),
            at: Position { line: found.line.unwrap_or(1), column: found.column.unwrap_or(1) },
        }
    }
}

/// A finding whose way is still to be looked for.
#[derive(Debug)]
struct Draft {
    finding: Finding,
    /// The state and the situations in it.
    to: Option<(usize, Set)>,
    /// What happens there.
    then: Vec<String>,
}

impl From<Finding> for Draft {
    fn from(finding: Finding) -> Self {
        Self { finding, to: None, then: Vec::new() }
    }
}

/// What is wrong with `procedure`, in the order of the text. Without an error in it, it can be followed: it leads to
/// an end, and no order of calls breaks an invariant.
pub fn check(procedure: &Procedure) -> Vec<Finding> {
    let mut found = structure::check(procedure);
    let explored = Model::of(procedure, Sets::new(NODES)).map(Explored::of);
    match explored.filter(|explored| !explored.model.sets.is_full()) {
        Some(mut explored) => {
            let broken = safety::bypasses(&mut explored);
            let mut drafts = safety::check(&mut explored);
            drafts.extend(liveness::check(&mut explored));
            if explored.model.sets.is_full() {
                found.push(too_large(procedure));
            } else {
                let alone = drafts.into_iter().map(|draft| vec![draft]);
                let each = broken.into_iter().chain(alone);
                found.extend(each.filter_map(|drafts| written(&mut explored, drafts)));
            }
        }
        None => found.push(too_large(procedure)),
    }
    found.sort_by(|a, b| (a.at, &a.code, &a.message).cmp(&(b.at, &b.code, &b.message)));
    found
}

/// How many other states are named where the same is the case.
const OTHERS: usize = 3;

/// The one of `drafts` to which the way is shortest, with that way.
fn written(explored: &mut Explored<'_>, mut drafts: Vec<Draft>) -> Option<Finding> {
    let wanted: Vec<(usize, Set)> = drafts.iter().filter_map(|draft| draft.to).collect();
    let (nearest, path) = match wanted.as_slice() {
        [] => (0, Some(Vec::new())),
        some => explored.way(some).map_or((0, None), |(nearest, path)| (nearest, Some(path))),
    };
    if nearest >= drafts.len() {
        return None;
    }
    let Draft { mut finding, then, .. } = drafts.remove(nearest);
    if !drafts.is_empty() {
        let names = drafts.iter().filter_map(|draft| draft.finding.state.as_deref());
        let names: Vec<String> = names.take(OTHERS).map(|name| format!("`{name}`")).collect();
        let more = drafts.len().saturating_sub(OTHERS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        finding.message = format!("{}; and in {}{more}", finding.message, names.join(", "));
    }
    match path {
        Some(path) => finding.path = path.into_iter().chain(then).collect(),
        None => finding.message.push_str("; the way there is longer than can be shown"),
    }
    Some(finding)
}

fn too_large(procedure: &Procedure) -> Finding {
    let at = procedure.states.first().map(|state| state.at).unwrap_or_default();
    let message = "there are too many different situations to prove anything".to_owned();
    Finding::error("TOO_LARGE_TO_PROVE", at, message).help(
        "cut it in two, joined by `then`; or let guards name fewer checkpoints and fields of receipts",
    )
}
