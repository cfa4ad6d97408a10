//! Running tools: what is admitted, and what came of it.

use concertina_format::parameters::{check_schema, check_schema_of_server};
use concertina_types::{
    Actor, CallId, CallOutcome, Disclosed, DisclosureKind, Fact, OnUnexpected, Ref, SkillId,
    ToolName, canonical_json, limits,
};
use serde_json::Value;

use super::super::access::access_of_tool;
use super::super::answer::Refusal;
use super::super::approval::{Action, escaped};
use super::super::command::{Held, KeptFrom, Origin, Pin, Targets, Witness};
use super::super::commands::COMMANDS;
use super::super::state::{OpenSkill, PendingCall, State};
use super::super::ticket::{Intent, SkillCommand};
use super::super::visibility::{self, asks, by_rules, visible_tools};
use super::consent::Consent;
use super::draft::{Deciding, actor};
use crate::catalog::search::nearest_names;
use crate::catalog::{Danger, NeedsSkill, ToolEntry};
use crate::context::{block, disarm, excerpt_within};
use crate::policy::{Access, Caller, Effect, FilePath, PathPattern, Reason, Request};

/// What is to be admitted, once nothing stands against it but perhaps a person.
pub(super) struct Wanted {
    pub(super) tool: ToolName,
    pub(super) arguments: Value,
    /// What the log says of the arguments.
    pub(super) said: Value,
    pub(super) writes: bool,
    pub(super) access: Access,
    /// The code that it would run, and whether it is held to that without being asked about.
    pub(super) pins: (Vec<Pin>, bool),
    pub(super) command: Option<Box<SkillCommand>>,
}

/// What a person has to agree to first.
pub(super) struct Question {
    pub(super) action: Action,
    pub(super) why: Reason,
    /// What whoever asked is told where nobody answers.
    pub(super) otherwise: Refusal,
}

impl<'a> Deciding<'a> {
    pub(super) fn call(
        &mut self,
        origin: &Origin,
        name: &ToolName,
        arguments: Value,
        targets: Targets,
    ) {
        let request = format!("call {name}");
        let tool = match self.callable(self.state, name) {
            Ok(tool) => tool,
            Err(refusal) => {
                let refusal = refusal.of_tool(name);
                // What a person could open at once is asked, not refused.
                self.decision.ask = self.question_before(name, &refusal);
                if self.decision.ask.is_none() {
                    self.refuse(origin, request, refusal);
                }
                return;
            }
        };
        let name = tool.name.clone();
        let arguments =
            if arguments.is_null() { Value::Object(serde_json::Map::new()) } else { arguments };
        let check = if tool.server.is_some() { check_schema_of_server } else { check_schema };
        let errors = check(&tool.parameters.value(), &arguments);
        if !errors.is_empty() {
            let list: Vec<String> = errors
                .iter()
                .take(10)
                .map(|error| format!("{}: {}", error.pointer, error.message))
                .collect();
            let wrong = format!("{name} was not run: {}.", list.join("; "));
            let definition = tool.definition();
            let text = if wrong.len() + definition.len() < limits::RESULT_BYTES * 9 / 10 {
                format!("{wrong} Its definition: {definition}")
            } else {
                format!("{wrong} Its definition is long: open tool:{name}")
            };
            let refusal = Refusal::new("BAD_ARGUMENTS", text).of_tool(&name);
            return self.refuse(origin, request, refusal);
        }
        if let Some(open) = self.state.open.iter().find(|open| open.commands() == Some(tool)) {
            return self.call_command(origin, open, tool, &arguments, targets);
        }
        if let Some(refusal) = outside_scope(self.state, tool, &arguments) {
            let refusal = self.stopping(tool, refusal);
            return self.refuse(origin, request, refusal);
        }
        let access = match access_of_tool(self.state, self.world, tool) {
            Ok(access) => access,
            Err(refusal) => return self.refuse(origin, request, refusal.of_tool(&name)),
        };
        if let Some(refusal) = outside_access(&access, tool, &targets.paths) {
            let refusal = self.stopping(tool, refusal);
            return self.refuse(origin, request, refusal);
        }
        let ruled = by_rules(self.state, self.world, origin.subject, tool, &targets);
        let ruling = ruled.reasons.into_iter().find(|reason| reason.code.starts_with("POLICY_"));
        if let (Effect::Deny, Some(reason)) = (ruled.effect, &ruling) {
            let command = Request::Run(targets.argv.clone());
            let refusal = Refusal::because(reason).of_tool(&name).about(&command);
            return self.refuse(origin, request, refusal);
        }
        let ruling = ruling.filter(|_| ruled.effect == Effect::Ask);
        let why = asks(self.state, self.world, tool).into_iter().next().or(ruling);
        let question = why.map(|why| {
            let text = format!("{}; it was not run", why.text);
            let otherwise =
                Refusal::new("APPROVAL_NEEDED", text).by(why.source.as_str()).of_tool(&name);
            Question { action: action(tool, &arguments, targets.shown), why, otherwise }
        });
        let said = self.world.redactor.redact_arguments(&tool.parameters.value(), &arguments);
        let writes = tool.danger != Danger::Safe;
        let wanted = Wanted {
            tool: name,
            arguments,
            said,
            writes,
            access,
            pins: (targets.pins, false),
            command: None,
        };
        if let Err(refusal) = self.admit(origin, wanted, question) {
            self.refuse(origin, request, refusal);
        }
    }

    /// The paths that rules close to whatever runs for `origin`.
    fn closed(&self, origin: &Origin) -> [Vec<PathPattern>; 2] {
        let caller = Caller { principal: &self.state.principal, subject: Some(origin.subject) };
        self.world.settings.policy.closed(caller)
    }

    /// Closes the skills that bring `tool`, now that something was tried which they do not allow: unless they
    /// say `on_unexpected: continue`, a surprise ends them.
    fn stopping(&mut self, tool: &ToolEntry, mut refusal: Refusal) -> Refusal {
        let stops = |open: &&OpenSkill| {
            // Only where the tool leaves with the skill: else closing would free what was bound.
            tool.needs_skill != NeedsSkill::No
                && open.claims(&tool.name)
                && open.opened.permissions.on_unexpected != OnUnexpected::Continue
        };
        let ended = self.state.open.iter().filter(stops);
        let ended: Vec<SkillId> = ended.map(|open| open.opened.id.clone()).collect();
        for id in ended {
            let note = format!(
                "; skill:{id} was closed, since it stops where something unexpected happens"
            );
            refusal.message.push_str(&note);
            self.fact(Actor::System, Fact::SkillClosed { id });
        }
        refusal
    }

    /// Records the intent, from which alone a ticket can be had; where there is a question, not before
    /// a person agreed.
    ///
    /// # Errors
    /// A person refused, or cannot be asked.
    pub(super) fn admit(
        &mut self,
        origin: &Origin,
        wanted: Wanted,
        question: Option<Question>,
    ) -> Result<(), Refusal> {
        if let Some(refusal) = self.collision(&wanted.tool, wanted.writes) {
            return Err(refusal.of_tool(&wanted.tool));
        }
        let consent = question.map_or(Consent::None, |Question { action, why, otherwise }| {
            self.consent(origin, &action, &why, otherwise)
        });
        let approval = match consent {
            Consent::None => None,
            Consent::Given(id) => Some(id),
            Consent::Asked => return Ok(()),
            Consent::Refused(refusal) => return Err(refusal),
        };
        let Wanted { tool, arguments, said, writes, access, pins, command } = wanted;
        let (pins, are_held) = pins;
        let pins = if are_held || approval.is_some() { pins } else { Vec::new() };
        let id = self.state.calls + 1;
        let recorded = self.keep(canonical_json(&said));
        let admitted =
            Fact::CallAdmitted { id, tool: tool.clone(), arguments: recorded, writes, approval };
        self.fact(actor(origin), admitted);
        let (access, closed) = (Box::new(access), self.closed(origin));
        let intent =
            Intent { id, tool, arguments, recorded, writes, access, closed, pins, command };
        self.decision.intent = Some(intent);
        Ok(())
    }

    /// Puts on the record what a program tried and was kept from; gives how it was held.
    pub(super) fn kept_from(&mut self, tool: &ToolName, held: Held) -> Option<String> {
        for KeptFrom { what, object, code, reason } in held.refused {
            let skill = tool
                .as_str()
                .strip_prefix(COMMANDS)
                .and_then(|name| SkillId::new(name.strip_prefix('/')?).ok());
            let fact = Fact::RequestRefused {
                request: format!("{tool}: {what}"),
                code,
                reason,
                source: Some("sandbox".to_owned()),
                object: object.and_then(|object| serde_json::to_value(object).ok()),
                skill,
                tool: Some(tool.clone()),
            };
            self.fact(Actor::Tool, fact);
        }
        held.tier
    }

    /// The tool called `name`, where it is visible, or why it cannot be called.
    pub(super) fn callable<'s>(
        &self,
        state: &'s State,
        name: &ToolName,
    ) -> Result<&'s ToolEntry, Refusal>
    where
        'a: 's,
    {
        let Some(tool) = visibility::meant(state, self.world, name) else {
            if let Some(reason) = visibility::closed_commands(state, self.world, name) {
                let call = Request::Call(name.clone());
                return Err(Refusal::new("NOT_VISIBLE", reason.text)
                    .about(&call)
                    .by(reason.source));
            }
            let visible = visible_tools(state, self.world);
            let near =
                nearest_names(name.as_str(), visible.iter().map(|tool| tool.name.as_str()), 5);
            let some = || visible.iter().map(|tool| tool.name.as_str()).take(5).collect();
            let shown: Vec<&str> = if near.is_empty() { some() } else { near };
            let hint = match shown.as_slice() {
                [] => {
                    "no tool is visible now; open a skill or a menu first, or use find".to_owned()
                }
                names => format!("visible now: {}", names.join(", ")),
            };
            return Err(Refusal::new("UNKNOWN_TOOL", format!("there is no tool {name}; {hint}")));
        };
        let verdict = visibility::tool(state, self.world, tool);
        let reason = verdict.reasons.first();
        let text = reason.map(|reason| reason.text.clone()).unwrap_or_default();
        if verdict.effect != Effect::Deny {
            return Ok(tool);
        }
        let refusal = Refusal::new("NOT_VISIBLE", text).about(&Request::Call(tool.name.clone()));
        Err(match reason {
            Some(reason) => refusal.by(reason.source.as_str()),
            None => refusal,
        })
    }

    pub(super) fn done(
        &mut self,
        origin: &Origin,
        id: CallId,
        outcome: CallOutcome,
        output: &str,
        held: Held,
    ) {
        let Some(call) = self.state.pending.get(&id) else {
            let text = format!(
                "call {id} is not under way; it may have been settled when the session was resumed"
            );
            return self.refuse(
                origin,
                format!("finish call {id}"),
                Refusal::new("UNKNOWN_CALL", text),
            );
        };
        let (tool, call) = (call.tool.clone(), call.clone());
        let mut held = held;
        let witness = held.witness.take();
        let held = self.kept_from(&tool, held);
        match &outcome {
            CallOutcome::Done { exit, dropped, .. } => {
                let (exit, dropped) = (*exit, *dropped);
                // Before it is cut into pages: half a secret is not recognised.
                let output = &*self.world.redactor.redact(output);
                let outcome = CallOutcome::Done { exit, output: self.keep(output), dropped };
                self.fact(
                    Actor::Tool,
                    Fact::CallFinished { id, outcome: outcome.clone(), held: held.clone() },
                );
                let progress = self.proceed(&call, &outcome, output, (held, witness));
                let text = progress + &result(&tool, id, exit, dropped, output);
                let tokens = self.world.counter.count(&text);
                let reference = Ref::Evidence { id, lines: None };
                let disclosed =
                    vec![Disclosed { reference, kind: DisclosureKind::Evidence, tokens }];
                self.answer(origin, text, exit != 0, disclosed);
            }
            CallOutcome::Failed { code, message } => {
                let text = disarm(&format!("error {code}: {message}"));
                let message = self.redacted(message.clone());
                self.decision.refusal = Some(Refusal::new(code.as_str(), message));
                let fact = Fact::CallFinished { id, outcome: outcome.clone(), held: held.clone() };
                self.fact(Actor::Tool, fact);
                let progress = self.proceed(&call, &outcome, "", (held, witness));
                self.answer(origin, progress + &text, true, Vec::new());
            }
            CallOutcome::Unknown => {
                self.fact(Actor::System, Fact::CallFinished { id, outcome, held });
                let text =
                    "error INTERRUPTED: the call was stopped; whether it took effect is not known";
                self.answer(origin, text, true, Vec::new());
            }
        }
    }
}

impl Deciding<'_> {
    /// Takes what came of a call into the procedure that is followed; gives what is said of that.
    pub(super) fn proceed(
        &mut self,
        call: &PendingCall,
        outcome: &CallOutcome,
        output: &str,
        seen: (Option<String>, Option<Box<Witness>>),
    ) -> String {
        if self.state.run.is_none() {
            return String::new();
        }
        let late = self.receipt_of_call(call, outcome, output, seen);
        self.advance();
        self.progress(late).map(|text| text + "\n").unwrap_or_default()
    }
}

/// Why a path that a call names lies outside of what it may read and write, where one does.
fn outside_access(
    access: &Access,
    tool: &ToolEntry,
    paths: &[(String, String)],
) -> Option<Refusal> {
    paths.iter().find_map(|(argument, real)| {
        let is_inside = FilePath::new(real).is_ok_and(|path| {
            access.read.allows(&path) || access.write.allows(&path)
        });
        (!is_inside).then(|| {
            let text = format!(
                "{argument} leads to {real}, which tool:{} may neither read nor write; `permissions.read` would have to name it",
                tool.name
            );
            let refusal = Refusal::new("PATH_OUTSIDE", text)
                .by(format!("tool:{}: permissions", tool.name))
                .of_tool(&tool.name);
            match FilePath::new(real) {
                Ok(path) => refusal.about(&Request::Read(path)),
                Err(_) => refusal,
            }
        })
    })
}

/// Why a call goes beyond what the open skills that claim its tool were opened for, where it does: a
/// parameter that stands in a scope of a skill binds every argument of its name. One skill that lets it
/// through is enough.
fn outside_scope(state: &State, tool: &ToolEntry, arguments: &Value) -> Option<Refusal> {
    let mut first = None;
    for open in state.open.iter().filter(|open| open.claims(&tool.name)) {
        let strays = |(name, bound): &(&String, &Value)| {
            arguments.get(name.as_str()).is_some_and(|given| given != *bound)
        };
        let (name, bound) = open.opened.bound.iter().find(strays)?;
        first.get_or_insert_with(|| {
            let text = format!(
                "skill:{} was opened for {name} = {bound}, and this call has another; open it again for that one",
                open.opened.id
            );
            Refusal::new("OUTSIDE_SCOPE", text)
                .by(format!("skill:{}: permissions", open.opened.id))
                .of_skill(&open.opened.id)
                .of_tool(&tool.name)
        });
    }
    first
}

/// The call of `tool` as a person is shown it.
fn action(tool: &ToolEntry, arguments: &Value, targets: Vec<(String, String)>) -> Action {
    let mut details = Vec::new();
    if let Some(server) = &tool.server {
        details.push(("server".to_owned(), server.clone()));
    }
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| canonical_json(value), str::to_owned);
        details.push((name.clone(), value));
    }
    details.extend(targets);
    details.push(("definition".to_owned(), tool.digest.short()));
    Action {
        request: format!("call {}", tool.name),
        phrase: (tool.danger == Danger::Destructive).then(|| phrase(tool, arguments)),
        details,
    }
}

/// What has to be typed for a call that destroys: the tool, and its first argument where that is a name.
fn phrase(tool: &ToolEntry, arguments: &Value) -> String {
    let first = arguments.as_object().and_then(|map| map.values().find_map(Value::as_str));
    let target = first.filter(|text| text.len() <= 60 && escaped(text) == **text);
    match target.map(str::trim).filter(|text| !text.is_empty()) {
        Some(target) => format!("{} {target}", tool.name),
        None => tool.name.to_string(),
    }
}

/// The result as the model sees it: all of it, or its first lines and how to read on.
fn result(tool: &ToolName, id: CallId, exit: i32, dropped: u64, output: &str) -> String {
    let reference = format!("ev:{id}");
    let exit = exit.to_string();
    let dropped = (dropped > 0).then(|| format!("{dropped} bytes over the limit were dropped"));
    excerpt_within(output, None, limits::RESULT_BYTES, |page| {
        let range = format!("1-{} of {}", page.lines.last, page.total);
        let next = page.next().map(|next| format!("{reference}{next}"));
        let mut attributes = vec![("ref", reference.as_str()), ("tool", tool.as_str())];
        if exit != "0" {
            attributes.push(("exit", &exit));
        }
        if let Some(next) = &next {
            attributes.push(("lines", &range));
            attributes.push(("next", next));
        }
        if let Some(dropped) = &dropped {
            attributes.push(("note", dropped));
        }
        block("result", &attributes, page.text)
    })
}
