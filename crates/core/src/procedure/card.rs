//! Where a run stands, in a few words: for the model at each turn, for people when they ask.

use std::collections::BTreeMap;

use concertina_format::procedure::{Checkpoint, Guard, Issuer};
use serde::Serialize;

use super::machine::{Lack, Machine, Moment};
use super::run::Run;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskCard {
    /// The procedure, by name.
    pub procedure: String,
    /// The run.
    pub run: String,
    /// The state it is in.
    pub state: String,
    /// Whether it ended there.
    pub ended: bool,
    /// Checkpoints that hold.
    pub done: Vec<String>,
    /// Checkpoints that do not hold and that something here waits for.
    pub lacking: Vec<Lacking>,
    /// The ways on.
    pub next: Vec<Way>,
    /// Tools that can be called now.
    pub tools: Vec<String>,
    /// Tools of this state that wait for a checkpoint, with their guard.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waiting: BTreeMap<String, String>,
    /// Results that can be read again, and how much of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Skills that can be opened; any, where the state says nothing of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// Checks that failed in this state.
    pub failures: u32,
    /// After how many of them the state changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_allowed: Option<u32>,
    /// Why it stopped, where it did not reach its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A checkpoint that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lacking {
    /// Which.
    pub checkpoint: String,
    /// What proves it: `run TOOL`, `a webhook`, `a person (ROLE)`.
    pub by: String,
    /// Why it does not hold: `open`, `stale`, `expired`, or what came of the last try.
    pub why: String,
    /// The question to a person that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// A way out of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Way {
    /// To where.
    pub to: String,
    /// When.
    pub when: String,
}

impl TaskCard {
    /// The card of `run`. `questions` gives the open question to a person about a checkpoint.
    pub fn of(
        machine: &Machine,
        run: &Run,
        moment: Moment,
        questions: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let state = machine.state(run)?;
        let document = machine.document();
        let guards = state.show.tools.iter().filter_map(|shown| shown.when.as_ref());
        let guards = guards.chain(state.exits.iter().map(|exit| &exit.when));
        let named: Vec<&str> = guards.flat_map(Guard::checkpoints).collect();
        let wanted = document.checkpoints.iter().filter(|one| named.contains(&one.name.as_str()));
        let lacking = wanted.filter_map(|checkpoint| {
            let lack = machine.holds(run, checkpoint, moment).err()?;
            Some(Lacking {
                checkpoint: checkpoint.name.clone(),
                by: by(checkpoint),
                why: why(lack),
                question: questions(&checkpoint.name),
            })
        });
        let (open, closed): (Vec<_>, Vec<_>) = state.show.tools.iter().partition(|shown| {
            shown.when.as_ref().is_none_or(|guard| machine.passes(run, guard, moment))
        });
        let guard =
            |guard: &Option<Guard>| guard.as_ref().map(Guard::to_string).unwrap_or_default();
        let evidence = state.show.evidence.iter().flatten();
        Some(Self {
            procedure: document.name.clone(),
            run: run.id.clone(),
            state: state.name.clone(),
            ended: state.is_final,
            done: machine.held(run, moment),
            lacking: lacking.collect(),
            next: state
                .exits
                .iter()
                .map(|exit| Way { to: exit.to.clone(), when: exit.when.to_string() })
                .collect(),
            tools: open.into_iter().map(|shown| shown.tool.clone()).collect(),
            waiting: closed
                .into_iter()
                .map(|shown| (shown.tool.clone(), guard(&shown.when)))
                .collect(),
            evidence: evidence.map(|one| format!("{}@L{}", one.tool, one.level)).collect(),
            skills: state.show.skills.clone(),
            failures: run.failures,
            failures_allowed: state.on_fail.as_ref().map(|fail| fail.max),
            reason: stopped(run, state.is_final && state.needs.is_some()),
        })
    }

    /// The same in lines for a model, at most `names` names in each list.
    pub fn lines(&self, names: usize) -> Vec<String> {
        let some = |all: Vec<String>| {
            let more = all.len().saturating_sub(names);
            let shown = all.into_iter().take(names).collect::<Vec<_>>().join(", ");
            if more > 0 { format!("{shown}, and {more} more") } else { shown }
        };
        let mut lines = vec![format!("procedure {}, step {}", self.procedure, self.state)];
        if let Some(allowed) = self.failures_allowed.filter(|_| self.failures > 0) {
            lines.push(format!("failed here: {} of {allowed}", self.failures));
        }
        if let Some(reason) = &self.reason {
            lines.push(format!("stopped: {reason}"));
            lines.push("a person leaves it: concertina sop leave".to_owned());
        }
        if self.ended {
            return lines.into_iter().map(cut).collect();
        }
        if !self.done.is_empty() {
            lines.push(format!("done: {}", some(self.done.clone())));
        }
        let lacking = self.lacking.iter().map(|one| match &one.question {
            Some(question) => {
                format!("{} ({}; asked as {question})", one.checkpoint, one.by)
            }
            None => format!("{} ({}; {})", one.checkpoint, one.by, one.why),
        });
        let lacking: Vec<String> = lacking.collect();
        if !lacking.is_empty() {
            lines.push(format!("missing: {}", some(lacking)));
        }
        let ways = self.next.iter().map(|way| format!("{} when {}", way.to, way.when)).collect();
        lines.push(format!("next: {}", some(ways)));
        lines.push(format!("callable: {}", some(self.tools.clone())));
        if !self.waiting.is_empty() {
            let waiting = self.waiting.iter().map(|(tool, guard)| format!("{tool} until {guard}"));
            lines.push(format!("hidden: {}", some(waiting.collect())));
        }
        if !self.evidence.is_empty() {
            lines.push(format!("evidence: {}", some(self.evidence.clone())));
        }
        lines.into_iter().map(cut).collect()
    }
}

/// A line that leaves room for others.
fn cut(line: String) -> String {
    if line.chars().count() <= LINE_CHARACTERS {
        return line;
    }
    line.chars().take(LINE_CHARACTERS).chain(['…']).collect()
}

/// One line of a card.
const LINE_CHARACTERS: usize = 240;

/// What proves a checkpoint, in words.
fn by(checkpoint: &Checkpoint) -> String {
    match &checkpoint.issuer {
        Issuer::Tool { tool, .. } => format!("run {tool}"),
        Issuer::Webhook { .. } => "a signed webhook".to_owned(),
        Issuer::Human { role, .. } => format!("a person, {role}"),
    }
}

fn why(lack: Lack<'_>) -> String {
    match lack {
        Lack::Open => "open".to_owned(),
        Lack::Stale => "stale: the work changed since".to_owned(),
        Lack::Unseen => "the workspace cannot be looked at".to_owned(),
        Lack::Expired => "expired".to_owned(),
        Lack::Refused(why) => why.chars().take(WHY_CHARACTERS).collect(),
    }
}

/// What a card says of one failed check: enough for the first sentence.
const WHY_CHARACTERS: usize = 120;

/// Why a run ended where somebody has to act.
fn stopped(run: &Run, needs_somebody: bool) -> Option<String> {
    let last = run.history.last().filter(|_| needs_somebody)?;
    let refused = run.refused.iter().map(|(name, why)| format!("{name}: {why}"));
    let refused: Vec<String> = refused.collect();
    let why = match last.why.as_str() {
        "fail" => format!("too many checks failed in {}", last.from),
        "stale" => format!("what held in {} holds no longer", last.from),
        _ => format!("{} led here", last.from),
    };
    Some(if refused.is_empty() { why } else { format!("{why}; {}", refused.join("; ")) })
}
