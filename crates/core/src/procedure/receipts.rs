//! Receipts by themselves: whether they are about what is asked, and whether they open a gate.
//!
//! No session is at hand here, so what its state would tell is read off the receipts: the order of a run by their
//! numbers and links, and what a later one took back by what it refuses.

use std::collections::BTreeMap;

use concertina_format::procedure::{Age, Checkpoint, Condition, Guard, Issuer};
use concertina_types::{Digest, FaultKind, Genuine, Receipt, ReceiptFault, Timestamp};

use super::machine::{CLOCKS_APART, Machine, unmet};
use super::run::WEBHOOK;

/// How the issuer of a person's receipt begins.
const HUMAN: &str = "human:";

/// What is asked of receipts. What is not given is not asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand<'a> {
    /// They are of this run.
    pub run: Option<&'a str>,
    /// They are of one of these tools, and of this version of it.
    pub tools: &'a [(String, Option<Digest>)],
    /// They are about this workspace.
    pub workspace: Option<Digest>,
    /// They are of this procedure. Its own limits of age count, and so does what it does not bind.
    pub procedure: Option<&'a Machine>,
    /// They are no older than so many milliseconds.
    pub max_age: Option<i64>,
    /// The moment at which they are looked at.
    pub now: Timestamp,
    /// Those of one run open this guard.
    pub gate: Option<&'a Guard>,
}

/// A receipt, or what was to be one, and what keeps it from counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The receipt; none where its signature does not hold.
    pub receipt: Option<Genuine>,
    /// What keeps it from counting.
    pub fault: Option<ReceiptFault>,
}

/// Something that a gate waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The checkpoint, or the condition on a receipt.
    pub what: String,
    /// Why it does not hold.
    pub why: String,
}

/// What came of looking at receipts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// With a gate: it is open, and nobody changed a receipt. Without: every receipt counts, and there is one.
    pub ok: bool,
    /// Each receipt, in the order in which they were given.
    pub receipts: Vec<Judged>,
    /// What the gate waits for, in the run that is nearest to opening it.
    pub missing: Vec<Missing>,
    /// That run.
    pub run: Option<String>,
}

/// Looks at receipts, whose signatures were checked, in the order in which they stand.
pub fn judge(
    receipts: impl IntoIterator<Item = Result<Genuine, ReceiptFault>>,
    demand: &Demand<'_>,
) -> Judgement {
    let mut chains = BTreeMap::new();
    let judged = receipts.into_iter().map(|checked| match checked {
        Err(fault) => Judged { receipt: None, fault: Some(fault) },
        Ok(genuine) => {
            let fault = follows(&mut chains, &genuine).or_else(|| demand.fault(&genuine.receipt));
            Judged { receipt: Some(genuine), fault }
        }
    });
    let receipts: Vec<Judged> = judged.collect();
    let is_changed = receipts
        .iter()
        .any(|one| one.fault.as_ref().is_some_and(|fault| fault.kind.is_tampering()));
    let Some(gate) = demand.gate else {
        let ok = !receipts.is_empty() && receipts.iter().all(|one| one.fault.is_none());
        return Judgement { ok, receipts, missing: Vec::new(), run: None };
    };
    let none = Passage { demand, receipts: Vec::new() };
    let mut best = (none.missing(gate), None);
    // A gate is opened within one run: what was proven in another was proven of another.
    for run in runs(&receipts, demand.run) {
        let missing = Passage::of(demand, &receipts, &run).missing(gate);
        if best.1.is_none() || missing.len() < best.0.len() {
            best = (missing, Some(run));
        }
    }
    let (missing, run) = best;
    Judgement { ok: missing.is_empty() && !is_changed, receipts, missing, run }
}

/// The last receipt of each run.
type Chains = BTreeMap<String, Genuine>;

/// Takes `next` as the next receipt of its run; what is wrong where it does not follow. A part that begins later
/// than the run, or ends before it, is a chain as well.
fn follows(chains: &mut Chains, next: &Genuine) -> Option<ReceiptFault> {
    let (receipt, before) = (&next.receipt, chains.insert(next.receipt.run.clone(), next.clone()));
    let wrong = |why: String| Some(ReceiptFault::new(FaultKind::Chain, why));
    let Some(before) = before else {
        let is_right = receipt.seq > 0 && receipt.prev.is_none() == (receipt.seq == 1);
        return if is_right {
            None
        } else {
            wrong(format!("number {} names the wrong receipt before it", receipt.seq))
        };
    };
    let (seq, last) = (receipt.seq, before.receipt.seq);
    if Some(seq) != last.checked_add(1) {
        wrong(format!("number {seq} stands behind number {last} of the same run"))
    } else if receipt.prev != Some(before.digest) {
        wrong(format!("number {seq} followed another receipt than the one before it here"))
    } else if receipt.session != before.receipt.session {
        wrong(format!("number {seq} is of another session than the one before it"))
    } else if receipt.procedure_digest != before.receipt.procedure_digest {
        wrong(format!("number {seq} is of another procedure than the one before it"))
    } else {
        None
    }
}

/// The runs, the one that was worked on last first.
fn runs(receipts: &[Judged], only: Option<&str>) -> Vec<String> {
    let mut last: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for receipt in receipts.iter().filter_map(|one| Some(&one.receipt.as_ref()?.receipt)) {
        let at = last.entry(&receipt.run).or_insert(receipt.ended);
        *at = receipt.ended.max(*at);
    }
    let mut runs: Vec<(&str, Timestamp)> =
        last.into_iter().filter(|(run, _)| only.is_none_or(|only| only == *run)).collect();
    runs.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    runs.into_iter().map(|(run, _)| run.to_owned()).collect()
}

impl Demand<'_> {
    /// What of the demand `receipt` does not meet.
    fn fault(&self, receipt: &Receipt) -> Option<ReceiptFault> {
        let wrong = |kind, why: String| Some(ReceiptFault::new(kind, why));
        if let Some(run) = self.run.filter(|run| *run != receipt.run) {
            return wrong(
                FaultKind::WrongRun,
                format!("it is of the run {}, not of {run}", receipt.run),
            );
        }
        if let Some(machine) = self.procedure
            && machine.digest() != receipt.procedure_digest
        {
            let why = if machine.document().name == receipt.procedure {
                format!("it is of `{}` with another text", receipt.procedure)
            } else {
                format!("it is of `{}`, not of `{}`", receipt.procedure, machine.document().name)
            };
            return wrong(FaultKind::WrongProcedure, why);
        }
        if !self.tools.is_empty() {
            let mut named = self.tools.iter().filter(|(name, _)| *name == receipt.tool).peekable();
            if named.peek().is_none() {
                return wrong(FaultKind::WrongTool, format!("it is of the tool {}", receipt.tool));
            }
            let is_version =
                |digest: &Option<Digest>| digest.is_none_or(|digest| digest == receipt.tool_digest);
            if !named.any(|(_, digest)| is_version(digest)) {
                let why = format!("the definition of {} was another", receipt.tool);
                return wrong(FaultKind::WrongTool, why);
            }
        }
        if let Some(why) = self.contradiction(receipt) {
            return wrong(FaultKind::Contradiction, why);
        }
        self.stale(receipt).or_else(|| self.expired(receipt))
    }

    /// What of `receipt` cannot be so. Whoever signed it may have been made to sign anything.
    fn contradiction(&self, receipt: &Receipt) -> Option<String> {
        if receipt.ended < receipt.started {
            return Some(format!("it ended at {}, before it began", receipt.ended));
        }
        if let Some(both) = receipt.proves.iter().find(|name| receipt.refuses.contains(name)) {
            return Some(format!("it says of {both} that it holds and that it does not"));
        }
        let machine = self.procedure?;
        let document = machine.document();
        if document.state(&receipt.state).is_none() {
            return Some(format!("the procedure has no state `{}`", receipt.state));
        }
        receipt.proves.iter().find_map(|name| match document.checkpoint(name) {
            None => Some(format!("the procedure has no checkpoint `{name}`")),
            Some(checkpoint) => {
                let why = unproven(machine, checkpoint, receipt)?;
                Some(format!("it does not prove {name}: {why}"))
            }
        })
    }

    /// The checkpoints of the procedure that `receipt` proves.
    fn proven(&self, receipt: &Receipt) -> impl Iterator<Item = &Checkpoint> {
        let names = receipt.proves.iter();
        names.filter_map(|name| self.procedure?.document().checkpoint(name))
    }

    fn stale(&self, receipt: &Receipt) -> Option<ReceiptFault> {
        let workspace = self.workspace?;
        if receipt.inputs_digest == Some(workspace) {
            return None;
        }
        // Where the procedure is known and binds nothing of what was proven, the work may have gone on.
        let mut proven = self.proven(receipt).peekable();
        if proven.peek().is_some() && proven.all(|checkpoint| !checkpoint.binds) {
            return None;
        }
        let why = match receipt.inputs_digest {
            Some(_) => "the workspace is not as it was when the tool ran",
            None => "it is bound to no workspace",
        };
        Some(ReceiptFault::new(FaultKind::Stale, why))
    }

    fn expired(&self, receipt: &Receipt) -> Option<ReceiptFault> {
        let own = self.proven(receipt).filter_map(|checkpoint| match checkpoint.max_age {
            Some(Age::Time(most)) => Some(most),
            // How many events followed, receipts do not tell.
            Some(Age::Events(_)) | None => None,
        });
        let most = own.chain(self.max_age).min();
        let age = self.now.0.saturating_sub(receipt.ended.0);
        let why = match most {
            _ if age < -CLOCKS_APART => {
                format!("it ended at {}, which is later than now: a clock is wrong", receipt.ended)
            }
            Some(most) if age > most => {
                format!("it is {} s old, {} s are allowed", age / 1_000, most / 1_000)
            }
            _ => return None,
        };
        Some(ReceiptFault::new(FaultKind::Expired, why))
    }
}

/// Why `receipt` cannot prove `checkpoint`, where it cannot.
fn unproven(machine: &Machine, checkpoint: &Checkpoint, receipt: &Receipt) -> Option<String> {
    let issuers = match &checkpoint.issuer {
        Issuer::Tool { .. } => vec!["executor".to_owned(), "gateway".to_owned()],
        Issuer::Webhook { .. } => vec![WEBHOOK.to_owned()],
        Issuer::Human { role, .. } => vec![format!("{HUMAN}{role}")],
    };
    if !issuers.contains(&receipt.issuer) {
        return Some(format!("{} issued it", receipt.issuer));
    }
    let Issuer::Tool { tool, parse, from, .. } = &checkpoint.issuer else { return None };
    if *tool != receipt.tool {
        return Some(format!("{} was run, not {tool}", receipt.tool));
    }
    // A receipt holds one set of figures, which is that of one way to read them.
    let is_read_so = |one: &Checkpoint| match &one.issuer {
        Issuer::Tool { tool: other, parse: other_parse, from: other_from, .. } => {
            other != tool || (other_parse, other_from) == (parse, from)
        }
        _ => true,
    };
    if !machine.document().checkpoints.iter().all(is_read_so) {
        return None;
    }
    unmet(checkpoint, &receipt.parsed)
}

/// The receipts of one run, as far as they are genuine, in their order.
struct Passage<'a> {
    demand: &'a Demand<'a>,
    receipts: Vec<(&'a Receipt, Option<&'a ReceiptFault>)>,
}

impl<'a> Passage<'a> {
    fn of(demand: &'a Demand<'a>, receipts: &'a [Judged], run: &str) -> Self {
        let all = receipts.iter().filter_map(|one| {
            let receipt = &one.receipt.as_ref()?.receipt;
            (receipt.run == run).then_some((receipt, one.fault.as_ref()))
        });
        let mut receipts: Vec<_> = all.collect();
        receipts.sort_by_key(|(receipt, _)| receipt.seq);
        Self { demand, receipts }
    }

    /// What `gate` waits for; nothing where it is open.
    fn missing(&self, gate: &Guard) -> Vec<Missing> {
        let holds = |name: &str| self.holds(name).is_ok();
        let says = |tool: &str, condition: &Condition| self.says(tool, condition);
        if gate.holds(&holds, &says) {
            return Vec::new();
        }
        let mut missing: Vec<Missing> = Vec::new();
        for leaf in gate.leaves() {
            let why = match leaf {
                Guard::Holds(name) => self.holds(name).err(),
                Guard::Receipt { tool, condition } if !self.says(tool, condition) => {
                    Some(format!("the last receipt of {tool} does not say so"))
                }
                _ => None,
            };
            let what = leaf.to_string();
            if let Some(why) = why
                && !missing.iter().any(|one| one.what == what)
            {
                missing.push(Missing { what, why });
            }
        }
        if missing.is_empty() {
            missing.push(Missing { what: gate.to_string(), why: "it does not hold".to_owned() });
        }
        missing
    }

    /// Whether the checkpoint `name` holds, and why it does not.
    fn holds(&self, name: &str) -> Result<(), String> {
        let checkpoint =
            self.demand.procedure.and_then(|machine| machine.document().checkpoint(name));
        let proves = |receipt: &Receipt| receipt.proves.iter().any(|proven| proven == name);
        let proof = self.receipts.iter().rev().find(|(receipt, _)| proves(receipt));
        let Some((proof, fault)) = proof else {
            return Err("no receipt proves it".to_owned());
        };
        let is_free = checkpoint.is_some_and(|checkpoint| !checkpoint.binds);
        if let Some(fault) = fault.filter(|fault| !(is_free && fault.kind == FaultKind::Stale)) {
            return Err(format!("{fault} [{}]", fault.kind.code()));
        }
        let takes_back = |receipt: &Receipt| {
            receipt.seq > proof.seq && receipt.refuses.iter().any(|refused| refused == name)
        };
        match self.receipts.iter().find(|(receipt, _)| takes_back(receipt)) {
            Some((later, _)) if later.issuer.starts_with(HUMAN) => {
                Err(format!("a person said no later: number {}", later.seq))
            }
            Some((later, _)) => Err(format!(
                "a later call of {} did not prove it: number {}",
                later.tool, later.seq
            )),
            None => Ok(()),
        }
    }

    /// Whether the last receipt of `tool` says so.
    fn says(&self, tool: &str, condition: &Condition) -> bool {
        let last = self.receipts.iter().rev().find(|(receipt, _)| receipt.tool == tool);
        last.is_some_and(|(receipt, fault)| fault.is_none() && condition.holds(&receipt.parsed))
    }
}

impl Machine {
    /// What stands before `tool`, wherever it is shown: the guard of the tool, else what leads into the state that
    /// shows it; and whatever must never be missing. None where no state shows it, or nothing stands before it.
    pub fn gate(&self, tool: &str) -> Option<Guard> {
        let document = self.document();
        let mut shown = Vec::new();
        for (at, state) in document.states.iter().enumerate() {
            let Some(entry) = state.show.tools.iter().find(|entry| entry.tool == tool) else {
                continue;
            };
            shown.push(match &entry.when {
                Some(guard) => guard.clone(),
                None if at == 0 => Guard::Constant(true),
                None => {
                    let exits = document.states.iter().flat_map(|from| &from.exits);
                    let into = exits.filter(|exit| exit.to == state.name);
                    joined(into.map(|exit| exit.when.clone()).collect(), Guard::Any)
                }
            });
        }
        if shown.is_empty() {
            return None;
        }
        let is_free = shown.contains(&Guard::Constant(true));
        let never = document.invariants.iter().filter(|one| one.never == tool);
        let shown = (!is_free).then(|| joined(shown, Guard::Any));
        let never = never.map(|one| one.without.clone());
        let all: Vec<Guard> = shown.into_iter().chain(never).collect();
        (!all.is_empty()).then(|| joined(all, Guard::All))
    }
}

fn joined(mut parts: Vec<Guard>, join: impl FnOnce(Vec<Guard>) -> Guard) -> Guard {
    parts.dedup();
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            join(parts)
        }
    }
}
