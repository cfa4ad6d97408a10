//! The log of a session told in words: what was said, called, refused, proven and agreed to, in order.

use std::collections::BTreeMap;

use concertina_types::{Blob, CallOutcome, Event, Fact, FieldValue, SignedReceipt};
use serde::Serialize;

/// What a line of an account is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum About {
    /// What a person wants done.
    Task,
    /// What the model says; nothing is moved by it.
    Says,
    /// Something was unfolded or searched.
    Opens,
    /// A call that was let through.
    Calls,
    /// What came of it.
    Result,
    /// Something was asked for and refused.
    Refused,
    /// A receipt of what ran, where it decides on nothing.
    Ran,
    /// A receipt that proves something.
    Proven,
    /// A receipt of a check that did not pass.
    Unproven,
    /// What a procedure looks at changed.
    Changed,
    /// A procedure begins, moves or ends.
    Step,
    /// A question to a person.
    Asked,
    /// The answer of a person.
    Answer,
}

impl About {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Says => "says",
            Self::Opens => "opens",
            Self::Calls => "calls",
            Self::Result => "result",
            Self::Refused => "refused",
            Self::Ran => "ran",
            Self::Proven => "proven",
            Self::Unproven => "unproven",
            Self::Changed => "changed",
            Self::Step => "step",
            Self::Asked => "asks",
            Self::Answer => "answer",
        }
    }
}

/// One line of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The record it is of.
    pub seq: u64,
    /// What it is about.
    pub about: About,
    /// The same in words.
    pub text: String,
    /// What was produced or asked, at length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The receipt, where it is about one.
    #[serde(skip)]
    pub receipt: Option<Box<SignedReceipt>>,
}

/// What `events` say in words, with the texts that `text` has of them. What only machines care about is left out.
pub fn account(events: &[Event], text: &dyn Fn(&Blob) -> Option<String>) -> Vec<Told> {
    events.iter().flat_map(|event| told(event, text)).collect()
}

fn told(event: &Event, text: &dyn Fn(&Blob) -> Option<String>) -> Vec<Told> {
    let read = |blob: &Blob| text(blob).unwrap_or_else(|| "(not kept)".to_owned());
    let line = |about: About, text: String| Told {
        seq: event.seq,
        about,
        text,
        detail: None,
        receipt: None,
    };
    let with = |told: Told, detail: String| Told {
        detail: (!detail.trim().is_empty()).then_some(detail),
        ..told
    };
    let one = match &event.fact {
        Fact::TaskGiven { text, .. } => line(About::Task, read(text)),
        Fact::ModelReplied { text, .. } => {
            let said = read(text);
            if said.trim().is_empty() {
                return Vec::new();
            }
            line(About::Says, said)
        }
        Fact::SearchAnswered { query, hits, .. } => {
            let hits: Vec<String> = hits.iter().map(ToString::to_string).collect();
            line(About::Opens, format!("search: {} → {}", read(query), hits.join(", ")))
        }
        Fact::SkillOpened(opened) => line(About::Opens, format!("skill:{}", opened.id)),
        Fact::SkillClosed { id } => line(About::Opens, format!("skill:{id} no more")),
        Fact::MenuOpened { menu } => line(About::Opens, format!("menu:{menu}")),
        Fact::CallAdmitted { tool, arguments, .. } => {
            let arguments = read(arguments);
            let arguments = if arguments == "{}" { String::new() } else { format!(" {arguments}") };
            line(About::Calls, format!("{tool}{arguments}"))
        }
        Fact::CallFinished { outcome, held, .. } => match outcome {
            CallOutcome::Done { exit, output, .. } => {
                let held = held.as_ref().map(|tier| format!(", sandbox {tier}"));
                let text = format!("exit {exit}{}", held.unwrap_or_default());
                with(line(About::Result, text), read(output))
            }
            CallOutcome::Failed { code, message } => {
                line(About::Result, format!("did not run: {message} [{code}]"))
            }
            CallOutcome::Unknown => {
                line(About::Result, "stopped, and whether it ran is not known".to_owned())
            }
        },
        Fact::RequestRefused { request, code, reason, .. } => {
            line(About::Refused, format!("{request}: {reason} [{code}]"))
        }
        Fact::ReceiptIssued { receipt, decided } => {
            return proven(receipt, decided)
                .into_iter()
                .map(|(about, text)| Told { receipt: Some(receipt.clone()), ..line(about, text) })
                .collect();
        }
        Fact::ProcedureStarted { procedure, state, .. } => {
            line(About::Step, format!("procedure {procedure} begins at {state}"))
        }
        Fact::ProcedureObserved { inputs, expired, replaced } => {
            let text = match inputs {
                _ if !replaced.is_empty() => {
                    format!("proven by a tool that was changed since: {}", replaced.join(", "))
                }
                _ if !expired.is_empty() => format!("too old now: {}", expired.join(", ")),
                Some(inputs) => {
                    format!("the files are others than before: they are {} now", inputs.short())
                }
                None => "the files cannot be looked at".to_owned(),
            };
            line(About::Changed, text)
        }
        Fact::ProcedureMoved { from, to, why, ended, .. } => {
            let why = match why.as_str() {
                "stale" => ": what was proven was proven of other files",
                "fail" => ": too many checks failed",
                _ if *ended => ": the procedure ends",
                _ => "",
            };
            line(About::Step, format!("{from} → {to}{why}"))
        }
        Fact::ProcedureLeft { .. } => line(About::Step, "a person left the procedure".to_owned()),
        Fact::ApprovalAsked { request, action, .. } => {
            let action = read(action);
            // The action begins with the request, which stands in the line already.
            let details = action.lines().map(str::trim).filter(|line| *line != request);
            let details = details.collect::<Vec<_>>().join("\n");
            with(line(About::Asked, format!("a person: {request}")), details)
        }
        Fact::ApprovalGiven { by, .. } => line(About::Answer, format!("yes, {}", answerer(by))),
        Fact::ApprovalRefused { by, .. } => line(About::Answer, format!("no, {}", answerer(by))),
        _ => return Vec::new(),
    };
    vec![one]
}

fn answerer(by: &concertina_types::Answerer) -> String {
    let who = by.who.as_ref().map(|who| format!("{who}, ")).unwrap_or_default();
    let means = serde_json::to_value(by.means).unwrap_or_default();
    format!("{who}by {}", means.as_str().unwrap_or_default())
}

/// What a receipt says: a line for each checkpoint that it decides on, one where it decides on none.
fn proven(
    signed: &SignedReceipt,
    decided: &BTreeMap<String, Option<String>>,
) -> Vec<(About, String)> {
    let receipt = &signed.receipt;
    let facts = receipt.parsed.iter().map(|(name, value)| format!("{name} {}", shown(value)));
    let facts = facts.collect::<Vec<_>>().join(", ");
    let name = format!("receipt {}, {}", receipt.seq, receipt.digest().short());
    if decided.is_empty() {
        return vec![(About::Ran, format!("{}: {facts} ({name})", receipt.tool))];
    }
    let line = |(checkpoint, why): (&String, &Option<String>)| match why {
        None => (About::Proven, format!("{checkpoint}: {facts} ({name})")),
        Some(why) => (About::Unproven, format!("{checkpoint}: {why} ({name})")),
    };
    decided.iter().map(line).collect()
}

fn shown(value: &FieldValue) -> String {
    match value {
        FieldValue::Flag(true) => "yes".to_owned(),
        FieldValue::Flag(false) => "no".to_owned(),
        other => other.to_string(),
    }
}
