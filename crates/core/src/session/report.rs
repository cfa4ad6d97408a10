//! What each turn disclosed and took, read off the log.

use std::collections::BTreeMap;

use concertina_types::{CallId, CallOutcome, DisclosureKind, Event, Fact, Tokens, ToolName, Usage};
use serde::Serialize;

/// References by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Fragments and results.
    pub evidence: Vec<String>,
    /// Skills.
    pub skills: Vec<String>,
    /// Tools.
    pub tools: Vec<String>,
}

/// One turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TurnReport {
    /// The step of the task.
    pub step: u32,
    /// The turn.
    pub turn: u32,
    /// What became visible.
    pub disclosed: Counted,
    /// What the request to the model took, by part; `total` is their sum. Where no model was asked,
    /// what was disclosed.
    pub tokens: BTreeMap<String, Tokens>,
    /// What the same turn would have taken with every skill and tool loaded at the start.
    pub preloaded: Option<Tokens>,
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// Checkpoints that were reached.
    pub checkpoints: Vec<String>,
    /// What was refused, with its code.
    pub decisions: Vec<Refused>,
    /// The calls that were admitted, in order.
    pub calls: Vec<Called>,
}

/// One call and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Called {
    /// Its number: `ev:N` is what it produced.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// `done`, `failed`, `unknown`, or `running` where it has not ended.
    pub outcome: &'static str,
    /// The exit code of a program, or 1 where a tool says that it failed.
    pub exit: Option<i32>,
    /// Why it failed, where it did not run to its end.
    pub code: Option<String>,
}

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// What was asked for.
    pub request: String,
    /// A stable code.
    pub code: String,
    /// Why.
    pub reason: String,
}

/// The turns of a session, from its events. What happened before the first turn stands in turn 0,
/// where there is any of it.
pub fn report(events: &[Event]) -> Vec<TurnReport> {
    let mut turns: Vec<TurnReport> = Vec::new();
    for event in events {
        if let Fact::CallFinished { id, outcome, .. } = &event.fact {
            settle(&mut turns, *id, outcome);
        }
        let turn = event.turn.unwrap_or_default();
        if !speaks(&event.fact) {
            continue;
        }
        if turns.last().is_none_or(|last| last.turn != turn) {
            turns.push(TurnReport { step: event.step, turn, ..TurnReport::default() });
        }
        if let Some(current) = turns.last_mut() {
            current.step = event.step;
            add(current, &event.fact);
        }
    }
    for turn in &mut turns {
        let parts = turn.tokens.iter().filter(|(name, _)| name.as_str() != "total");
        let total = parts.map(|(_, tokens)| *tokens).sum();
        turn.tokens.insert("total".to_owned(), total);
    }
    turns
}

/// Whether a fact belongs in a report on turns.
fn speaks(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TurnStarted {}
            | Fact::ListingDisclosed { .. }
            | Fact::ModelAsked { .. }
            | Fact::ModelReplied { .. }
            | Fact::RequestAnswered { .. }
            | Fact::RequestRefused { .. }
            | Fact::CallAdmitted { .. }
            | Fact::ReceiptIssued { .. }
    )
}

/// How a call ended goes to where it began.
fn settle(turns: &mut [TurnReport], id: CallId, outcome: &CallOutcome) {
    let calls = turns.iter_mut().rev().flat_map(|turn| &mut turn.calls);
    let Some(called) = calls.into_iter().find(|called| called.call == id) else { return };
    (called.outcome, called.exit, called.code) = match outcome {
        CallOutcome::Done { exit, .. } => ("done", Some(*exit), None),
        CallOutcome::Failed { code, .. } => ("failed", None, Some(code.clone())),
        CallOutcome::Unknown => ("unknown", None, None),
    };
}

fn add(turn: &mut TurnReport, fact: &Fact) {
    // Once a model was asked, the size of the request says all: it holds what was disclosed.
    let asked = turn.preloaded.is_some();
    match fact {
        Fact::ListingDisclosed { tokens, .. } if !asked => {
            *turn.tokens.entry("index".to_owned()).or_default() += *tokens;
        }
        Fact::ModelAsked { tokens, preloaded, .. } => {
            turn.tokens.clone_from(tokens);
            turn.preloaded = Some(*preloaded);
        }
        Fact::ModelReplied { usage, .. } => turn.usage = *usage,
        Fact::RequestAnswered { tokens, disclosed, .. } => {
            for one in disclosed {
                let name = one.reference.to_string();
                match one.kind {
                    DisclosureKind::Evidence => turn.disclosed.evidence.push(name),
                    DisclosureKind::Skill => turn.disclosed.skills.push(name),
                    DisclosureKind::Tool => turn.disclosed.tools.push(name),
                }
                if !asked && one.kind == DisclosureKind::Skill {
                    *turn.tokens.entry("skills".to_owned()).or_default() += one.tokens;
                }
            }
            if !asked {
                *turn.tokens.entry("answers".to_owned()).or_default() += *tokens;
            }
        }
        Fact::RequestRefused { request, code, reason, .. } => turn.decisions.push(Refused {
            request: request.clone(),
            code: code.clone(),
            reason: reason.clone(),
        }),
        Fact::ReceiptIssued { decided, .. } => {
            let reached = decided.iter().filter(|(_, why_not)| why_not.is_none());
            turn.checkpoints.extend(reached.map(|(name, _)| name.clone()));
        }
        Fact::CallAdmitted { id, tool, .. } => turn.calls.push(Called {
            call: *id,
            tool: tool.clone(),
            outcome: "running",
            exit: None,
            code: None,
        }),
        _ => {}
    }
}
