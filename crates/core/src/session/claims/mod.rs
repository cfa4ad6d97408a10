//! What a model says that it did, held against what was done.
//!
//! A claim is a sentence that names a tool and says, in the past, that it ran or what it returned, or
//! that says of a checkpoint of a procedure that it holds: "all tests passed". Plans, questions and
//! denials are none. Whether the numbers in it are right is another matter; here it is asked whether
//! there was a call, or a receipt, at all.

mod checkpoints;
mod words;

use std::collections::BTreeMap;

use concertina_types::{Blob, CallId, CallOutcome, Digest, Event, Fact, Timestamp, ToolName};
use serde::Serialize;

use crate::catalog::search::Said;
use crate::catalog::sentences;
use crate::procedure::Machine;
use checkpoints::Checkpoints;
use words::{is_others, is_report, means_all, names, said_well, says_failed, says_ran};

/// What the log knows of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A call of that tool had ended well by then, or a receipt proved the checkpoint.
    Backed,
    /// The tool was called by then, and failed each time.
    OnlyFailed,
    /// The tool had not been called.
    NoCall,
    /// A receipt proved the checkpoint, and did not hold any more: the work changed since, or it was too long ago.
    Stale,
    /// No receipt proved the checkpoint.
    NotProven,
}

/// A sentence that says that a tool ran, or that a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The turn in which it was said; none for a text from elsewhere.
    pub turn: Option<u32>,
    /// The tool that it names; none where it names a checkpoint.
    pub tool: Option<ToolName>,
    /// The checkpoint that it says to hold.
    pub checkpoint: Option<String>,
    /// The sentence.
    pub sentence: String,
    /// What the log knows of it.
    pub standing: Standing,
    /// The last call of that tool by then, where there was one: `ev:N`.
    pub call: Option<CallId>,
    /// The receipt that proved the checkpoint, where there is one.
    pub receipt: Option<Digest>,
}

/// What to look for, beside what the log of a session names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Claimable<'c> {
    /// Tools.
    pub tools: &'c [ToolName],
    /// Procedures, for their checkpoints.
    pub procedures: &'c [Machine],
}

/// The claims in what the model said in a session. `text` fetches what the log keeps by digest.
pub fn claims(
    events: &[Event],
    text: &dyn Fn(&Blob) -> Option<String>,
    named: Claimable<'_>,
) -> Vec<Claim> {
    let mut book = Book::of(events, text, named);
    let mut found = Vec::new();
    for event in events {
        book.take(event);
        let (Fact::ModelReplied { text: said, .. } | Fact::TaskFinished { answer: said }) =
            &event.fact
        else {
            continue;
        };
        // What comes with a call of the tool is about that call, which has not run yet.
        let asked = match &event.fact {
            Fact::ModelReplied { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        let is_asked = |tool: &ToolName| {
            asked
                .iter()
                .any(|call| call.name == tool.as_str() || call.arguments.contains(tool.as_str()))
        };
        let said = text(said).unwrap_or_default();
        let is_asked = |claim: &Claim| claim.tool.as_ref().is_some_and(&is_asked);
        for claim in book.claims(&said, event.turn).filter(|claim| !is_asked(claim)) {
            // The answer to a task is also the last reply.
            let is_new = found.last() != Some(&claim) && !found.contains(&claim);
            if is_new {
                found.push(claim);
            }
        }
    }
    found
}

/// The claims in `said`, which was said after everything that `events` tell of: a text from a client
/// whose model Concertina does not ask itself.
pub fn claims_in(
    said: &str,
    events: &[Event],
    text: &dyn Fn(&Blob) -> Option<String>,
    named: Claimable<'_>,
) -> Vec<Claim> {
    let mut book = Book::of(events, text, named);
    for event in events {
        book.take(event);
    }
    book.claims(said, None).collect()
}

/// What was called and proven so far.
struct Book {
    tools: Vec<ToolName>,
    under_way: BTreeMap<CallId, ToolName>,
    last: BTreeMap<ToolName, (CallId, bool)>,
    checkpoints: Checkpoints,
    now: Timestamp,
}

impl Book {
    fn of(events: &[Event], text: &dyn Fn(&Blob) -> Option<String>, named: Claimable<'_>) -> Self {
        let called = events.iter().filter_map(|event| match &event.fact {
            Fact::CallAdmitted { tool, .. } => Some(tool.clone()),
            _ => None,
        });
        let mut tools: Vec<ToolName> = named.tools.iter().cloned().chain(called).collect();
        tools.sort_unstable();
        tools.dedup();
        Self {
            tools,
            under_way: BTreeMap::new(),
            last: BTreeMap::new(),
            checkpoints: Checkpoints::of(events, text, named.procedures),
            now: Timestamp::default(),
        }
    }

    fn take(&mut self, event: &Event) {
        self.now = event.at;
        self.checkpoints.take(event);
        match &event.fact {
            Fact::CallAdmitted { id, tool, .. } => {
                self.under_way.insert(*id, tool.clone());
            }
            Fact::CallFinished { id, outcome, .. } => {
                let Some(tool) = self.under_way.remove(id) else { return };
                let well = matches!(outcome, CallOutcome::Done { exit: 0, .. });
                let last = self.last.entry(tool).or_insert((*id, false));
                *last = (*id, last.1 || well);
            }
            _ => {}
        }
    }

    fn claims<'a>(&'a self, said: &'a str, turn: Option<u32>) -> impl Iterator<Item = Claim> + 'a {
        let sentences = said.lines().flat_map(sentences).filter(|sentence| !is_others(sentence));
        sentences.flat_map(move |sentence| {
            let of_tools = self.of_tools(sentence, turn);
            of_tools.into_iter().chain(self.of_checkpoints(sentence, turn))
        })
    }

    fn of_tools(&self, sentence: &str, turn: Option<u32>) -> Vec<Claim> {
        if !is_report(sentence) {
            return Vec::new();
        }
        // The tool of a checkpoint may have an everyday name.
        let run = if says_ran(sentence) {
            self.checkpoints.tools_in(&Said::new(sentence))
        } else {
            Vec::new()
        };
        let is_named =
            |tool: &&ToolName| names(sentence, tool.as_str()) || run.contains(&tool.as_str());
        let claim = |tool: &ToolName| {
            let last = self.last.get(tool);
            let standing = match last {
                None => Standing::NoCall,
                Some((_, true)) => Standing::Backed,
                Some((_, false)) if says_failed(sentence) => Standing::Backed,
                Some((_, false)) => Standing::OnlyFailed,
            };
            Claim {
                turn,
                tool: Some(tool.clone()),
                checkpoint: None,
                sentence: sentence.trim().to_owned(),
                standing,
                call: last.map(|(call, _)| *call),
                receipt: None,
            }
        };
        self.tools.iter().filter(is_named).map(claim).collect()
    }

    fn of_checkpoints(&self, sentence: &str, turn: Option<u32>) -> Vec<Claim> {
        let mut named: Vec<&str> = Vec::new();
        for part in said_well(sentence) {
            let meant = match self.checkpoints.named_in(&Said::new(part)) {
                meant if meant.is_empty() && means_all(part) => self.checkpoints.all(),
                meant => meant,
            };
            named
                .extend(meant.into_iter().filter(|name| !named.contains(name)).collect::<Vec<_>>());
        }
        let claim = |checkpoint: &str| {
            let (standing, receipt) = self.checkpoints.standing(checkpoint, self.now);
            Claim {
                turn,
                tool: None,
                checkpoint: Some(checkpoint.to_owned()),
                sentence: sentence.trim().to_owned(),
                standing,
                call: None,
                receipt,
            }
        };
        named.into_iter().map(claim).collect()
    }
}
