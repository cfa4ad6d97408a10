//! A procedure as it can be asked.
//!
//! Everything here is a function of the procedure, the run and the moment. Nothing the model says is among them.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_format::procedure::{
    Age, Checkpoint, Compare, Condition, Exit, Guard, Issuer, Procedure, ShownTool, State, parse,
};
use concertina_format::results::ResultParser;
use concertina_types::{Diagnostic, Digest, FieldValue, Timestamp};
use serde_json::{Map, Value};

use super::run::{EXPIRED, Run};

/// How far clocks may be apart, in milliseconds: what is from later than that has no age.
pub(super) const CLOCKS_APART: i64 = 5 * 60_000;

/// A procedure, ready to be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    // A machine is handed around, and never changes.
    document: Arc<Procedure>,
    digest: Digest,
}

/// The point of a log at which something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub now: Timestamp,
    /// The last event before.
    pub event: u64,
}

/// Why a checkpoint does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack<'r> {
    /// Nothing has proven it in this run.
    Open,
    /// It was tried, and this came of it.
    Refused(&'r str),
    /// The work changed since.
    Stale,
    /// The workspace cannot be looked at.
    Unseen,
    /// It is too long ago.
    Expired,
}

/// A change of state that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move<'m> {
    /// To where.
    pub to: &'m State,
    /// Why.
    pub why: Why,
}

/// Why a state changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A guard opened.
    Next,
    /// Too many checks failed.
    Fail,
    /// What held on entering holds no longer.
    Stale,
}

impl Why {
    /// The same in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Fail => "fail",
            Self::Stale => "stale",
        }
    }
}

/// What came of a call, for the checkpoints that it decides on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finding {
    /// What was read from it.
    pub parsed: BTreeMap<String, FieldValue>,
    /// Every checkpoint that it decides on, with the reason where it does not prove it.
    pub decided: BTreeMap<String, Option<String>>,
}

/// What a call produced.
#[derive(Debug, Clone, Copy)]
pub struct Produced<'r> {
    /// The exit code.
    pub exit: i32,
    /// What it wrote.
    pub output: &'r str,
    /// Whether a part of that is missing.
    pub is_cut: bool,
    /// Files that checkpoints read in place of the output, by their path: what is in them, or why that cannot be
    /// used.
    pub files: &'r BTreeMap<String, Result<String, String>>,
    /// Inputs that changed while it ran, by the checkpoint that does not allow it: what and how.
    pub changed: &'r BTreeMap<String, Vec<String>>,
    /// Why that is not known, where it is not.
    pub unseen: Option<&'r str>,
}

impl Machine {
    /// Reads a procedure; gives what is wrong where it is none.
    pub fn new(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let parsed = parse(text);
        match parsed.procedure {
            Some(document) => {
                Ok(Self { document: Arc::new(document), digest: Digest::of(text.as_bytes()) })
            }
            None => Err(parsed.diagnostics),
        }
    }

    /// What it says.
    pub fn document(&self) -> &Procedure {
        &self.document
    }

    /// The digest of its text.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The state where it starts.
    pub fn start(&self) -> Option<&State> {
        self.document.states.first()
    }

    /// The state that `run` is in. A run of another procedure is in none.
    pub fn state(&self, run: &Run) -> Option<&State> {
        let (_, state) = self.document.state(&run.state)?;
        (run.procedure == Some(self.digest)).then_some(state)
    }

    /// Whether receipts are bound to the workspace.
    pub fn binds(&self) -> bool {
        self.document.checkpoints.iter().any(|checkpoint| checkpoint.binds)
    }

    /// Whether `checkpoint` holds, and why it does not.
    pub fn holds<'r>(
        &self,
        run: &'r Run,
        checkpoint: &Checkpoint,
        moment: Moment,
    ) -> Result<(), Lack<'r>> {
        let Some(proof) = run.proofs.get(&checkpoint.name) else {
            return Err(match run.refused.get(&checkpoint.name) {
                None => Lack::Open,
                Some(why) if why == EXPIRED => Lack::Expired,
                Some(why) => Lack::Refused(why),
            });
        };
        // A workspace that nobody could look at is not the one that it was proven on.
        if checkpoint.binds && (proof.inputs.is_none() || run.inputs.is_none()) {
            return Err(Lack::Unseen);
        }
        if checkpoint.binds && proof.inputs != run.inputs {
            return Err(Lack::Stale);
        }
        let is_fresh = match checkpoint.max_age {
            None => true,
            // A clock that was set back makes nothing younger.
            Some(Age::Time(most)) => {
                (-CLOCKS_APART..=most).contains(&moment.now.0.saturating_sub(proof.at.0))
            }
            Some(Age::Events(most)) => moment.event.saturating_sub(proof.event) <= most,
        };
        if is_fresh { Ok(()) } else { Err(Lack::Expired) }
    }

    /// Whether the checkpoint called `name` holds.
    pub fn is_held(&self, run: &Run, name: &str, moment: Moment) -> bool {
        let checkpoint = self.document.checkpoint(name);
        checkpoint.is_some_and(|checkpoint| self.holds(run, checkpoint, moment).is_ok())
    }

    /// The checkpoints that hold, by name.
    pub fn held(&self, run: &Run, moment: Moment) -> Vec<String> {
        let all = self.document.checkpoints.iter();
        let holding = all.filter(|checkpoint| self.holds(run, checkpoint, moment).is_ok());
        holding.map(|checkpoint| checkpoint.name.clone()).collect()
    }

    /// Checkpoints whose proof is too old: each is to be said once.
    pub fn expired(&self, run: &Run, moment: Moment) -> Vec<&str> {
        let all = self.document.checkpoints.iter();
        let proven = all.filter(|one| run.proofs.contains_key(&one.name));
        let over = proven.filter(|one| self.holds(run, one, moment) == Err(Lack::Expired));
        over.map(|checkpoint| checkpoint.name.as_str()).collect()
    }

    /// Whether `guard` holds.
    pub fn passes(&self, run: &Run, guard: &Guard, moment: Moment) -> bool {
        self.passes_with(run, guard, moment, &|_| false)
    }

    /// Whether `guard` would hold if those of its checkpoints did that `given` names.
    fn passes_with(
        &self,
        run: &Run,
        guard: &Guard,
        moment: Moment,
        given: &dyn Fn(&Checkpoint) -> bool,
    ) -> bool {
        let holds = |name: &str| {
            let checkpoint = self.document.checkpoint(name);
            checkpoint.is_some_and(|one| given(one) || self.holds(run, one, moment).is_ok())
        };
        let says = |tool: &str, condition: &Condition| {
            run.said.get(tool).is_some_and(|fields| condition.holds(fields))
        };
        guard.holds(&holds, &says)
    }

    /// Whether the state of `run` shows `tool` now: its entry, and whether the guard of that holds. None where the
    /// state does not name it. A state that is gone back from opens nothing any more: the time may have run out
    /// since the run was looked at.
    pub fn shows(&self, run: &Run, tool: &str, moment: Moment) -> Option<(&ShownTool, bool)> {
        let shown = self.state(run)?.show.tools.iter().find(|shown| shown.tool == tool)?;
        let is_open = shown.when.as_ref().is_none_or(|guard| self.passes(run, guard, moment));
        Some((shown, is_open && self.goes_back(run, moment).is_none()))
    }

    /// The state that `run` goes back to, because what held on entering its state holds no longer.
    pub fn goes_back(&self, run: &Run, moment: Moment) -> Option<&State> {
        let back = self.state(run)?.on_stale.as_deref()?;
        let is_lost = run.held.iter().any(|name| !self.is_held(run, name, moment));
        let (_, to) = self.document.state(back).filter(|_| is_lost && !run.ended)?;
        Some(to)
    }

    /// Whether the work has to stay as it is while `tool` runs in the state of `run`: a guard opened it, or what it says
    /// is about the work.
    pub fn needs_quiet(&self, run: &Run, tool: &str) -> bool {
        let shown = self.state(run).into_iter().flat_map(|state| &state.show.tools);
        let tells = |one: &Checkpoint| match &one.issuer {
            Issuer::Tool { tool: issuer, from, .. } => {
                issuer == tool && (one.binds || from.is_some())
            }
            Issuer::Webhook { .. } | Issuer::Human { .. } => false,
        };
        shown.into_iter().any(|shown| shown.tool == tool && shown.when.is_some())
            || self.document.invariants.iter().any(|invariant| invariant.never == tool)
            || self.document.checkpoints.iter().any(tells)
    }

    /// The guard that has to open before `tool` can be called, wherever it stands: that of the state, else that of
    /// the first state that shows it.
    pub fn gate_of(&self, tool: &str) -> Option<(&State, &ShownTool)> {
        self.document.states.iter().find_map(|state| {
            let shown = state.show.tools.iter().find(|shown| shown.tool == tool)?;
            Some((state, shown))
        })
    }

    /// The change of state that is due, if one is.
    pub fn next(&self, run: &Run, moment: Moment) -> Option<Move<'_>> {
        let state = self.state(run)?;
        let to = |name: &str, why: Why| {
            let (_, to) = self.document.state(name)?;
            Some(Move { to, why })
        };
        if let Some(to) = self.goes_back(run, moment) {
            return Some(Move { to, why: Why::Stale });
        }
        if let Some(fail) = &state.on_fail
            && run.failures >= fail.max
        {
            return to(&fail.to, Why::Fail);
        }
        let exit: Option<&Exit> =
            state.exits.iter().find(|exit| self.passes(run, &exit.when, moment));
        exit.and_then(|exit| to(&exit.to, Why::Next))
    }

    /// Checkpoints that a person has to prove next: all else that stands before a tool or an exit of this state is
    /// proven.
    pub fn waits_for_people(&self, run: &Run, moment: Moment) -> Vec<&Checkpoint> {
        let Some(state) = self.state(run) else { return Vec::new() };
        let tools = state.show.tools.iter().filter_map(|shown| shown.when.as_ref());
        let guards = tools.chain(state.exits.iter().map(|exit| &exit.when));
        self.people_behind(guards, run, moment)
    }

    /// The same for what stands before `tool` in this state.
    pub fn people_before(&self, run: &Run, tool: &str, moment: Moment) -> Vec<&Checkpoint> {
        let shown = self.state(run).into_iter().flat_map(|state| &state.show.tools);
        let guards = shown.filter(|shown| shown.tool == tool).filter_map(|one| one.when.as_ref());
        self.people_behind(guards, run, moment)
    }

    fn people_behind<'g>(
        &self,
        guards: impl Iterator<Item = &'g Guard>,
        run: &Run,
        moment: Moment,
    ) -> Vec<&Checkpoint> {
        let is_human = |one: &Checkpoint| matches!(one.issuer, Issuer::Human { .. });
        let waiting = guards.filter(|guard| {
            !self.passes(run, guard, moment) && self.passes_with(run, guard, moment, &is_human)
        });
        let named: Vec<&str> = waiting.flat_map(Guard::checkpoints).collect();
        let all = self.document.checkpoints.iter().filter(|one| is_human(one));
        all.filter(|one| named.contains(&one.name.as_str()))
            .filter(|one| self.holds(run, one, moment).is_err())
            .collect()
    }

    /// The checkpoints on which a call of `tool` with these arguments decides.
    fn decided_by(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Vec<(&Checkpoint, &ResultParser, Option<&str>)> {
        let decides = |checkpoint: &'_ Checkpoint| match &checkpoint.issuer {
            Issuer::Tool { tool: issuer, args, .. } => {
                issuer == tool
                    && args.iter().all(|(name, value)| arguments.get(name) == Some(value))
            }
            Issuer::Webhook { .. } | Issuer::Human { .. } => false,
        };
        let all = self.document.checkpoints.iter().filter(|one| decides(one));
        all.filter_map(|one| match &one.issuer {
            Issuer::Tool { parse, from, .. } => Some((one, parse, from.as_deref())),
            Issuer::Webhook { .. } | Issuer::Human { .. } => None,
        })
        .collect()
    }

    /// Files that checkpoints read after a call of `tool` in place of its output.
    pub fn reads(&self, tool: &str) -> Vec<&str> {
        let all = self.document.checkpoints.iter();
        let of_tool = all.filter_map(|one| match &one.issuer {
            Issuer::Tool { tool: issuer, from, .. } if issuer == tool => from.as_deref(),
            _ => None,
        });
        of_tool.collect()
    }

    /// The inputs, as globs, that a call of `tool` may change where it is to prove one of its checkpoints that are
    /// bound to them.
    pub fn writes(&self, tool: &str) -> Vec<(&str, &[String])> {
        let is_bound = |one: &&Checkpoint| {
            one.binds && matches!(&one.issuer, Issuer::Tool { tool: issuer, .. } if issuer == tool)
        };
        let all = self.document.checkpoints.iter().filter(is_bound);
        all.map(|one| (one.name.as_str(), one.writes.as_slice())).collect()
    }

    /// What came of a call of `tool`.
    pub fn judge(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        produced: Produced<'_>,
    ) -> Finding {
        let mut finding = Finding::default();
        finding.parsed.insert("exit".to_owned(), i64::from(produced.exit).into());
        for (checkpoint, parser, from) in self.decided_by(tool, arguments) {
            let why_not = match read(parser, from, produced) {
                Err(why) => Some(why),
                Ok(fields) => {
                    let why = unmet(checkpoint, &fields);
                    finding.parsed.extend(fields);
                    why
                }
            };
            let inputs = if checkpoint.binds { produced.inputs_of(checkpoint) } else { None };
            finding.decided.insert(checkpoint.name.clone(), why_not.or(inputs));
        }
        finding
    }

    /// What came of a call of `tool` that did not run to its end, for the reason `why`.
    pub fn judge_failed(&self, tool: &str, arguments: &Map<String, Value>, why: &str) -> Finding {
        let decided = self.decided_by(tool, arguments).into_iter();
        let decided = decided.map(|(one, ..)| (one.name.clone(), Some(why.to_owned()))).collect();
        Finding { decided, ..Finding::default() }
    }
}

impl Produced<'_> {
    /// Why what it says is not about one state of the inputs, where it is not.
    fn inputs_of(&self, checkpoint: &Checkpoint) -> Option<String> {
        if let Some(why) = self.unseen {
            return Some(format!("INPUTS_UNSEEN: the workspace could not be looked at: {why}"));
        }
        let changed = self.changed.get(&checkpoint.name)?;
        let more = match changed.len() {
            0 | 1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        changed.first().map(|first| {
            format!("INPUTS_CHANGED: while it ran this changed, which `writes` does not name: {first}{more}")
        })
    }
}

/// The first condition of `checkpoint` that `fields` do not meet, in words.
pub(crate) fn unmet(
    checkpoint: &Checkpoint,
    fields: &BTreeMap<String, FieldValue>,
) -> Option<String> {
    let failed = checkpoint.expect.iter().find(|condition| !condition.holds(fields))?;
    let Condition { field, compare, value } = failed;
    Some(match (fields.get(field), compare) {
        (Some(found), Compare::Equal) => format!("{field} is {found}, and has to be {value}"),
        (Some(found), _) => format!("{field} is {found}, and has to be {compare} {value}"),
        (None, _) => format!("it does not say {field}"),
    })
}

fn read(
    parser: &ResultParser,
    from: Option<&str>,
    produced: Produced<'_>,
) -> Result<BTreeMap<String, FieldValue>, String> {
    let text = match from {
        None if produced.is_cut && *parser != ResultParser::Exit => {
            return Err(
                "the output is longer than what is kept of it; raise `output_bytes` of the tool"
                    .to_owned(),
            );
        }
        None => produced.output,
        Some(path) => match produced.files.get(path) {
            Some(Ok(text)) => text,
            Some(Err(why)) => return Err(format!("{path}: {why}")),
            None => return Err(format!("{path} was not there after the run")),
        },
    };
    parser.read(produced.exit, text).map_err(|error| format!("{}: {error}", error.code()))
}
