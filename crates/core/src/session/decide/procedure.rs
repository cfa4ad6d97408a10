//! Following a procedure: where it begins, what proves its checkpoints, where it goes next.
//!
//! Only what was run or witnessed here, what a known key signed and what a person agreed to gets a receipt, and only
//! receipts move a run. Nothing the model says is looked at.

use std::collections::BTreeMap;

use concertina_format::procedure::{Checkpoint, Issuer};
use concertina_format::results::{STANDARD_ERROR, holds_standard_error};
use concertina_types::{
    Actor, CallOutcome, ConfigOrigin, Digest, Fact, FieldValue, Means, RECEIPT_VERSION, Receipt,
    Separation, SessionMode, Severity, SignedReceipt, Subject, Timestamp, ToolName, canonical_json,
};
use serde_json::Value;

use super::super::answer::Refusal;
use super::super::approval::{Action, Answered, Approval, Ask};
use super::super::command::{Origin, Statement, Witness};
use super::super::commands;
use super::super::state::PendingCall;
use super::super::task::{STEP_NAMES, card_of, deciding_run, step_block};
use super::draft::Deciding;
use crate::procedure::{Finding, Machine, Moment, Produced, Run, WEBHOOK, check, unmet};

/// What a run of a program counts as that did not come to its end.
const DID_NOT_END: i64 = -1;

/// What a receipt is about, besides its place in the run.
struct About<'s> {
    tool: &'s str,
    tool_digest: Digest,
    args_digest: Digest,
    started: Timestamp,
    exit: i64,
    outputs: Digest,
    issuer: String,
    assurance: Separation,
    tier: Option<String>,
    nonce: Option<String>,
}

impl Deciding<'_> {
    fn moment(&self) -> Moment {
        Moment { now: self.now, event: self.state.seq.saturating_add(self.drafted()) }
    }

    /// The procedure of `run`: one that the world knows, or one that begins with this decision.
    fn machine(&self, run: &Run) -> Option<Machine> {
        let all = self.world.machines.iter().chain(&self.machines);
        all.into_iter().find(|machine| run.procedure == Some(machine.digest())).cloned()
    }

    /// Follows a procedure.
    pub(super) fn follow(&mut self, origin: &Origin, texts: Vec<String>, inputs: Option<Digest>) {
        let request = "follow a procedure";
        if let Some(run) = deciding_run(self.state, self.world) {
            let (what, state) = (if run.ended { "stopped" } else { "is" }, &run.state);
            let text = format!(
                "this session follows a procedure already, and {what} in step {state}; a person can leave it: concertina sop leave"
            );
            return self.refuse(origin, request, Refusal::new("PROCEDURE_UNDER_WAY", text));
        }
        if self.world.notary.is_none() {
            let text = "there is no key here to sign receipts with, so nothing could be proven";
            return self.refuse(origin, request, Refusal::new("NO_KEY", text));
        }
        for text in &texts {
            match Machine::new(text) {
                Ok(machine) => self.machines.push(machine),
                Err(findings) => {
                    let first = findings.first().map(|found| found.message.clone());
                    let text = format!(
                        "the procedure has errors: {}; see all of them: concertina sop check FILE",
                        first.unwrap_or_default()
                    );
                    return self.refuse(origin, request, Refusal::new("PROCEDURE_UNSOUND", text));
                }
            }
        }
        let Some(first) = self.machines.first().cloned() else { return };
        if let Some(refusal) = self.unfit(&first) {
            return self.refuse(origin, request, refusal);
        }
        let texts = texts.into_iter().map(|text| self.keep(text)).collect();
        self.begin(&first, texts, inputs, None);
        self.advance();
    }

    /// Why `machine` cannot be followed here, where it cannot.
    fn unfit(&self, machine: &Machine) -> Option<Refusal> {
        let document = machine.document();
        let faults = check(document);
        if let Some(fault) = faults.iter().find(|fault| fault.severity == Severity::Error) {
            let text = format!(
                "procedure {} cannot be followed: {} [{}]; see all that is wrong: concertina sop check FILE",
                document.name, fault.message, fault.code
            );
            return Some(Refusal::new("PROCEDURE_UNSOUND", text));
        }
        let shown = document.states.iter().flat_map(|state| &state.show.tools);
        let issuers = document.checkpoints.iter().filter_map(|one| match &one.issuer {
            Issuer::Tool { tool, .. } => Some(tool.as_str()),
            Issuer::Webhook { .. } | Issuer::Human { .. } => None,
        });
        let known = |name: &str| {
            ToolName::new(name).is_ok_and(|name| self.world.snapshot.tool(&name).is_some())
                || self.is_command(name)
        };
        let missing =
            shown.map(|shown| shown.tool.as_str()).chain(issuers).find(|name| !known(name))?;
        let text = format!(
            "procedure {} names tool:{missing}, and there is no such tool here; define it as `[tool.{missing}]` in concertina.toml",
            document.name
        );
        Some(Refusal::new("UNKNOWN_TOOL", text))
    }

    /// Whether `name` is the tool by which the commands of a known skill run.
    fn is_command(&self, name: &str) -> bool {
        let skills = self.world.snapshot.skills.iter();
        skills.filter_map(|skill| commands::name_of(&skill.id)).any(|tool| tool.as_str() == name)
    }

    fn begin(
        &mut self,
        machine: &Machine,
        texts: Vec<concertina_types::Blob>,
        inputs: Option<Digest>,
        before: Option<ConfigOrigin>,
    ) {
        let Some(start) = machine.start() else { return };
        let mut listed = self.world.settings.procedures.listed.iter();
        // What a listed one names as the next is named by whoever listed that.
        let listed_by = listed.find(|one| one.digest == machine.digest()).map(|one| one.by);
        let run = format!("run-{}", self.unique("run"));
        let fact = Fact::ProcedureStarted {
            run,
            procedure: machine.document().name.clone(),
            digest: machine.digest(),
            texts,
            state: start.name.clone(),
            inputs,
            listed_by: listed_by.or(before),
        };
        self.fact(Actor::System, fact);
    }

    /// Digits that nothing else in any session has.
    fn unique(&self, what: &str) -> String {
        let session = self.state.session.as_ref().map_or("", |session| session.as_str());
        let moment = self.moment();
        let head = self.state.head.map(|head| head.hex()).unwrap_or_default();
        let text = format!("{what} {session} {} {head}", moment.event);
        Digest::of(text.as_bytes()).hex().chars().take(32).collect()
    }

    /// Leaves the procedure, where a person says so.
    pub(super) fn leave(&mut self, origin: &Origin) {
        let request = "leave the procedure";
        match (&self.state.run, origin.subject) {
            (None, _) => {
                let refusal = Refusal::new("NO_PROCEDURE", "this session follows no procedure");
                self.refuse(origin, request, refusal);
            }
            (Some(_), Subject::Model) => {
                let text = "a person leaves a procedure: concertina sop leave";
                self.refuse(origin, request, Refusal::new("NOT_FOR_MODEL", text));
            }
            (Some(run), Subject::User) => {
                let run = run.id.clone();
                self.fact(Actor::User, Fact::ProcedureLeft { run });
            }
        }
    }

    /// Takes note of the workspace as it is now, and of what grew too old.
    pub(super) fn look(&mut self, inputs: Option<Digest>) {
        self.observe_inputs(inputs);
        self.advance();
    }

    fn observe_inputs(&mut self, inputs: Option<Digest>) {
        let Some(run) = self.run().cloned() else { return };
        let Some(machine) = self.machine(&run) else { return };
        let inputs = if machine.binds() { inputs } else { run.inputs };
        let expired = machine.expired(&run, self.moment());
        let expired: Vec<String> = expired.into_iter().map(str::to_owned).collect();
        let replaced = self.replaced(&machine, &run);
        if inputs != run.inputs || !expired.is_empty() || !replaced.is_empty() {
            self.fact(Actor::System, Fact::ProcedureObserved { inputs, expired, replaced });
        }
    }

    /// Checkpoints that a tool proved which is another by now: what it said then, this one never said. A tool that is
    /// not there now says nothing.
    fn replaced(&self, machine: &Machine, run: &Run) -> Vec<String> {
        let is_other = |checkpoint: &&Checkpoint| {
            let Issuer::Tool { tool, .. } = &checkpoint.issuer else { return false };
            let now = ToolName::new(tool).ok().and_then(|tool| self.world.snapshot.tool(&tool));
            let proof = run.proofs.get(&checkpoint.name);
            now.zip(proof).is_some_and(|(now, proof)| now.digest != proof.tool)
        };
        let all = machine.document().checkpoints.iter();
        all.filter(is_other).map(|checkpoint| checkpoint.name.clone()).collect()
    }

    /// Issues the receipt of a call that ended, where it is part of the run. One that began in an earlier step proves
    /// nothing in this one, since what opens this step has to be done in it; that it failed counts.
    pub(super) fn receipt_of_call(
        &mut self,
        call: &PendingCall,
        outcome: &CallOutcome,
        output: &str,
        (tier, witness): (Option<String>, Option<Box<Witness>>),
    ) -> Option<String> {
        let witness = witness?;
        self.observe_inputs(witness.inputs);
        let run = self.run()?.clone();
        let machine = self.machine(&run)?;
        let tool = call.tool.as_str();
        let within = call.within.as_ref();
        let is_of_run = within.is_some_and(|(id, _)| *id == run.id);
        let is_late = within.is_none_or(|(_, entered)| *entered != run.entered);
        let late = (is_late && machine.document().decides(tool)).then(|| {
            format!("{tool} began before this step, so it proves nothing in it; run it again")
        });
        if !is_of_run {
            return late;
        }
        let entry = self.world.snapshot.tool(&call.tool);
        let from_server = entry.is_some_and(|entry| entry.server.is_some());
        let (exit, mut finding) = match outcome {
            CallOutcome::Done { exit, dropped, .. } => {
                let produced = Produced {
                    exit: *exit,
                    output,
                    is_cut: *dropped > 0,
                    files: &witness.files,
                    changed: &witness.changed,
                    unseen: witness.unseen.as_deref(),
                };
                let finding = if from_server && holds_standard_error(output) {
                    // A server has one stream, so it is the server that wrote this.
                    let why = format!(
                        "the output holds the line `{STANDARD_ERROR}`, by which streams are told apart"
                    );
                    machine.judge_failed(tool, &witness.arguments, &why)
                } else {
                    machine.judge(tool, &witness.arguments, produced)
                };
                (i64::from(*exit), finding)
            }
            CallOutcome::Failed { code, message } => {
                let why = format!("{code}: {message}");
                (DID_NOT_END, machine.judge_failed(tool, &witness.arguments, &why))
            }
            CallOutcome::Unknown => return None,
        };
        if is_late {
            // What went wrong counts all the same.
            finding.parsed.clear();
            finding.decided.retain(|_, why_not| why_not.is_some());
        }
        let arguments = canonical_json(&Value::Object(witness.arguments));
        let about = About {
            tool,
            tool_digest: entry.map_or_else(|| Digest::of(b""), |entry| entry.digest),
            args_digest: Digest::of(arguments.as_bytes()),
            started: call.at,
            exit,
            outputs: Digest::of(output.as_bytes()),
            issuer: if from_server { "gateway" } else { "executor" }.to_owned(),
            assurance: self.separation(),
            tier,
            nonce: None,
        };
        self.issue(&machine, &run, about, finding);
        late
    }

    /// Why `tool` cannot run beside what runs now: what a guard opened, or what tells of the work, is about the work as
    /// it is, so nothing may change that meanwhile. Of two calls of such a tool the luckier one would count.
    pub(super) fn collision(&self, tool: &ToolName, writes: bool) -> Option<Refusal> {
        let run = self.run().filter(|run| !run.ended)?;
        let machine = self.machine(run)?;
        let is_quiet = |tool: &ToolName| machine.needs_quiet(run, tool.as_str());
        let collides = |call: &PendingCall| {
            is_quiet(tool) && (call.writes || call.tool == *tool) || writes && is_quiet(&call.tool)
        };
        let (id, call) = self.state.pending.iter().find(|(_, call)| collides(call))?;
        let text = format!(
            "tool:{tool} waits in step {}: call {id} of {} has not ended, and the work must not change under it; call again then",
            run.state, call.tool
        );
        Some(Refusal::new("STEP_WAITS", text).by(format!("procedure {}", machine.document().name)))
    }

    fn separation(&self) -> Separation {
        self.world.notary.map(concertina_types::Notary::separation).unwrap_or_default()
    }

    /// Signs a receipt and records it.
    fn issue(&mut self, machine: &Machine, run: &Run, about: About<'_>, finding: Finding) {
        let (Some(notary), Some(session)) = (self.world.notary, self.state.session.clone()) else {
            return;
        };
        // What is signed is what is kept: a secret leaves it before.
        let parsed = finding.parsed.into_iter().map(|(name, value)| match value {
            FieldValue::Text(text) => (name, FieldValue::Text(self.redacted(text))),
            other => (name, other),
        });
        let parsed: BTreeMap<String, FieldValue> = parsed.collect();
        let decided = finding.decided.into_iter();
        let decided: BTreeMap<String, Option<String>> =
            decided.map(|(name, why)| (name, why.map(|why| self.redacted(why)))).collect();
        let named = |is_proven: bool| {
            let wanted = decided.iter().filter(|(_, why)| why.is_none() == is_proven);
            wanted.map(|(name, _)| name.clone()).collect()
        };
        let receipt = Receipt {
            v: RECEIPT_VERSION,
            run: run.id.clone(),
            session,
            procedure: machine.document().name.clone(),
            procedure_digest: machine.digest(),
            state: run.state.clone(),
            seq: run.receipts + 1,
            prev: run.last,
            tool: about.tool.to_owned(),
            tool_digest: about.tool_digest,
            args_digest: about.args_digest,
            started: about.started,
            ended: self.now.max(about.started),
            exit: about.exit,
            outputs_digest: about.outputs,
            proves: named(true),
            refuses: named(false),
            parsed,
            inputs_digest: run.inputs,
            issuer: about.issuer,
            assurance: about.assurance,
            tier: about.tier,
            nonce: about.nonce.unwrap_or_else(|| self.unique("receipt")),
        };
        let signed = SignedReceipt::by(notary, receipt);
        let fact = Fact::ReceiptIssued { receipt: Box::new(signed), decided };
        self.fact(Actor::System, fact);
    }

    /// Takes every step that is due, and asks people for what only they can prove.
    pub(super) fn advance(&mut self) {
        let mut passed: Vec<String> = Vec::new();
        while let Some(run) = self.run().filter(|run| !run.ended).cloned() {
            let Some(machine) = self.machine(&run) else { return };
            let moment = self.moment();
            let Some(due) = machine.next(&run, moment) else { break };
            // Exits that are all open would lead round and round.
            if passed.contains(&due.to.name) {
                break;
            }
            passed.push(due.to.name.clone());
            let fact = Fact::ProcedureMoved {
                from: run.state.clone(),
                to: due.to.name.clone(),
                why: due.why.as_str().to_owned(),
                held: machine.held(&run, moment),
                forgets: due.to.show.tools.iter().map(|shown| shown.tool.clone()).collect(),
                ended: due.to.is_final,
            };
            self.fact(Actor::System, fact);
            if due.to.is_final {
                self.go_on(&run, &machine, due.to.then.as_deref(), due.to.needs.is_none());
                break;
            }
        }
        self.ask_people();
    }

    /// Begins what follows a procedure that ended: the next one, or the same again.
    fn go_on(&mut self, run: &Run, machine: &Machine, then: Option<&str>, is_done: bool) {
        let all: Vec<Machine> = self.world.machines.iter().chain(&self.machines).cloned().collect();
        let next = match then {
            Some(name) => all.iter().find(|machine| machine.document().name == name),
            None if is_done && self.world.settings.procedures.always => {
                let first = run.texts.first().map(|text| text.digest);
                all.iter().find(|machine| Some(machine.digest()) == first).or(Some(machine))
            }
            None => None,
        };
        if let Some(next) = next.cloned() {
            self.begin(&next, run.texts.clone(), run.inputs, run.listed_by);
        }
    }

    fn ask_people(&mut self) {
        let Some(run) = self.run().filter(|run| !run.ended).cloned() else { return };
        let Some(machine) = self.machine(&run) else { return };
        let moment = self.moment();
        for checkpoint in machine.waits_for_people(&run, moment) {
            let Some(action) = question(&machine, &run, checkpoint) else { continue };
            let key = action.key();
            let known = self.state.approvals.values();
            let mut same = known.filter(|one| one.key == key && one.checkpoint.is_some());
            // A no holds until the work changes.
            if same.any(|one| one.is_open(self.now) || one.answered == Answered::Refused) {
                continue;
            }
            let id = self.question(&key);
            let text = action.text();
            let fact = Fact::ApprovalAsked {
                id: id.clone(),
                key,
                request: action.request.clone(),
                action: self.keep(text.clone()),
                phrase: None,
                code: "CHECKPOINT".to_owned(),
                why: waits_for(&machine),
                checkpoint: Some(checkpoint.name.clone()),
            };
            self.fact(Actor::System, fact);
            let otherwise = Refusal::new("APPROVAL_NEEDED", waits_for(&machine));
            self.decision.waits.push(ask_about(id, action, checkpoint, &machine, otherwise));
        }
    }

    /// The question that stands before `tool`, where all else is proven and a person who can be asked here may answer
    /// it.
    pub(super) fn question_before(&self, tool: &ToolName, otherwise: &Refusal) -> Option<Ask> {
        if !self.world.settings.procedures.same_uid {
            return None;
        }
        let run = self.run().filter(|run| !run.ended)?;
        let machine = self.machine(run)?;
        let waiting = machine.people_before(run, tool.as_str(), self.moment());
        waiting.into_iter().find_map(|checkpoint| {
            let action = question(&machine, run, checkpoint)?;
            let key = action.key();
            let mut known = self.state.approvals.iter();
            let (id, _) = known.find(|(_, one)| {
                one.key == key && one.checkpoint.is_some() && one.is_open(self.now)
            })?;
            Some(ask_about(id.clone(), action, checkpoint, &machine, otherwise.clone()))
        })
    }

    /// Why the answer of a person to the question about `checkpoint` does not count, where it does not.
    pub(super) fn unprovable(
        &self,
        approval: &Approval,
        checkpoint: &str,
        by: Means,
    ) -> Option<Refusal> {
        let run = self.run().filter(|run| !run.ended).cloned();
        let machine = run.as_ref().and_then(|run| self.machine(run));
        let (Some(run), Some(machine)) = (run, machine) else {
            let text = "the procedure that asked it is not followed any more";
            return Some(Refusal::new("APPROVAL_STALE", text));
        };
        let asked = machine.document().checkpoint(checkpoint);
        let action = asked.and_then(|checkpoint| question(&machine, &run, checkpoint));
        if action.map(|action| action.key()) != Some(approval.key) {
            let text = "the work, or the step, changed since this was asked; it is asked anew when it is due";
            return Some(Refusal::new("APPROVAL_STALE", text));
        }
        if separation_of(by) == Separation::SameUid && !self.world.settings.procedures.same_uid {
            let text = format!(
                "{checkpoint} needs somebody whom the agent cannot pass for: answer over HTTP with an approver's token, or let the administrator set `same_uid_approvals` in `[procedures]`"
            );
            return Some(Refusal::new("SEPARATION_NEEDED", text));
        }
        None
    }

    /// A person said yes or no about `checkpoint`.
    pub(super) fn receipt_of_person(
        &mut self,
        (id, approval): (&str, &Approval),
        checkpoint: &str,
        yes: bool,
        by: Means,
    ) {
        let Some(run) = self.run().cloned() else { return };
        let Some(machine) = self.machine(&run) else { return };
        let Some(asked) = machine.document().checkpoint(checkpoint) else { return };
        let Issuer::Human { role, .. } = &asked.issuer else { return };
        let why_not = (!yes).then(|| {
            format!("a person said no; whoever changes their mind: concertina approve grant {id}")
        });
        let finding = Finding {
            parsed: BTreeMap::from([("approved".to_owned(), yes.into())]),
            decided: BTreeMap::from([(checkpoint.to_owned(), why_not)]),
        };
        let about = About {
            tool: "human",
            tool_digest: machine.digest(),
            args_digest: approval.key,
            started: approval.at,
            exit: i64::from(!yes),
            outputs: Digest::of(if yes { b"yes" } else { b"no" }),
            issuer: format!("human:{role}"),
            assurance: separation_of(by),
            tier: None,
            nonce: None,
        };
        self.issue(&machine, &run, about, finding);
        self.advance();
    }

    /// Takes a statement from outside.
    pub(super) fn hear(&mut self, statement: Statement) {
        let origin = Origin::user();
        let request = format!("state {}", statement.checkpoint);
        let no = |code: &str, text: String| Refusal::new(code, text);
        let run = self.run().filter(|run| !run.ended).cloned();
        let machine = run.as_ref().and_then(|run| self.machine(run));
        let (Some(run), Some(machine)) = (run, machine) else {
            let refusal = no("NO_PROCEDURE", "this session follows no procedure".to_owned());
            return self.refuse(&origin, request, refusal);
        };
        let asked = machine.document().checkpoint(&statement.checkpoint);
        let key = asked.and_then(|checkpoint| match &checkpoint.issuer {
            Issuer::Webhook { key } => Some((checkpoint, key)),
            Issuer::Tool { .. } | Issuer::Human { .. } => None,
        });
        let refusal = match key {
            None => {
                no("UNKNOWN_CHECKPOINT", format!("no webhook proves `{}`", statement.checkpoint))
            }
            Some((_, key)) if *key != statement.key => no(
                "STATEMENT_WRONG_KEY",
                format!("{} is proven by another key", statement.checkpoint),
            ),
            Some(_) if statement.run != run.id => no(
                "STATEMENT_WRONG_RUN",
                format!("it speaks of run {}, and this is {}", statement.run, run.id),
            ),
            Some(_) if run.nonces.contains(&statement.nonce) => {
                no("STATEMENT_REPLAYED", "its nonce was used before".to_owned())
            }
            Some((checkpoint, _)) if checkpoint.binds && statement.inputs != run.inputs => no(
                "STATEMENT_STALE",
                "it speaks of another workspace than the one here now".to_owned(),
            ),
            Some((checkpoint, _)) => {
                let why_not = unmet(checkpoint, &statement.fields);
                let finding = Finding {
                    decided: BTreeMap::from([(statement.checkpoint.clone(), why_not)]),
                    parsed: statement.fields,
                };
                let about = About {
                    tool: WEBHOOK,
                    tool_digest: machine.digest(),
                    args_digest: Digest::of(statement.checkpoint.as_bytes()),
                    started: self.now,
                    exit: 0,
                    outputs: statement.payload,
                    issuer: WEBHOOK.to_owned(),
                    assurance: Separation::Remote,
                    tier: None,
                    nonce: Some(statement.nonce),
                };
                self.issue(&machine, &run, about, finding);
                return self.advance();
            }
        };
        self.refuse(&origin, request, refusal);
    }

    /// What changed in the procedure with this decision, for whoever asked: why a check proved nothing, and where
    /// nobody composes the context for them, where the task stands now.
    pub(super) fn progress(&self, late: Option<String>) -> Option<String> {
        let refused = self.decision.drafts.iter().filter_map(|draft| match &draft.fact {
            Fact::ReceiptIssued { decided, .. } => Some(decided),
            _ => None,
        });
        let refused = refused.flatten().filter_map(|(name, why)| {
            why.as_ref().map(|why| format!("{name} is not proven: {why}"))
        });
        let mut lines: Vec<String> = late.into_iter().chain(refused).collect();
        let run = self.run()?.clone();
        if self.state.mode == SessionMode::Blind && self.state.run.as_ref() != Some(&run) {
            let machine = self.machine(&run)?;
            let world = self.world;
            lines.extend(card_of(&machine, &run, self.state, world)?.lines(STEP_NAMES));
        }
        (!lines.is_empty()).then(|| step_block(&run.state, &lines))
    }
}

fn waits_for(machine: &Machine) -> String {
    format!("procedure {} waits for it", machine.document().name)
}

fn ask_about(
    id: String,
    action: Action,
    checkpoint: &Checkpoint,
    machine: &Machine,
    otherwise: Refusal,
) -> Ask {
    Ask {
        id,
        key: action.key(),
        action: action.text(),
        request: action.request,
        why: waits_for(machine),
        phrase: None,
        widens: false,
        checkpoint: Some(checkpoint.name.clone()),
        otherwise,
    }
}

/// What a person is asked about `checkpoint`, bound to the run, the step and the workspace.
fn question(machine: &Machine, run: &Run, checkpoint: &Checkpoint) -> Option<Action> {
    let Issuer::Human { role, challenge } = &checkpoint.issuer else { return None };
    let inputs = run.inputs.map(|inputs| inputs.to_string()).unwrap_or_default();
    let agrees = challenge
        .replace("{workspace.digest}", &inputs)
        .replace("{run}", &run.id)
        .replace("{state}", &run.state);
    let mut details = vec![
        ("agrees to".to_owned(), agrees),
        ("as".to_owned(), role.clone()),
        (
            "procedure".to_owned(),
            format!("{} ({})", machine.document().name, machine.digest().short()),
        ),
        ("run".to_owned(), run.id.clone()),
        ("step".to_owned(), run.state.clone()),
    ];
    if checkpoint.binds {
        details.push(("workspace".to_owned(), inputs));
    }
    Some(Action { request: format!("prove {}", checkpoint.name), details, phrase: None })
}

/// Who else could have answered by the same way.
fn separation_of(by: Means) -> Separation {
    match by {
        Means::Http => Separation::Remote,
        Means::Terminal
        | Means::Command
        | Means::Client
        | Means::Hook
        | Means::Option
        | Means::Earlier => Separation::SameUid,
    }
}
