//! Running tools: what is admitted, and what came of it.

use concertina_format::parameters::{check_schema, check_schema_of_server};
use concertina_types::{
    Actor, CallId, CallOutcome, Disclosed, DisclosureKind, Fact, Ref, SkillId, ToolName,
    canonical_json, limits,
};
use serde_json::Value;

use super::super::answer::Refusal;
use super::super::command::Origin;
use super::super::state::State;
use super::super::ticket::Intent;
use super::super::visibility::{self, visible_tools};
use super::draft::{Deciding, actor};
use crate::catalog::search::nearest_names;
use crate::catalog::{Danger, ToolEntry};
use crate::context::{block, disarm, excerpt_within};
use crate::policy::{Effect, Request, allowed_command, command_words};

/// What stands before the skill's name where a log names who ran a command.
const COMMAND_GROUP: &str = "command";

impl<'a> Deciding<'a> {
    pub(super) fn call(&mut self, origin: &Origin, name: &ToolName, arguments: Value) {
        let request = format!("call {name}");
        let tool = match self.callable(self.state, name) {
            Ok(tool) => tool,
            Err(refusal) => return self.refuse(origin, request, refusal.of_tool(name)),
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
        let id = self.state.calls + 1;
        let writes = tool.danger != Danger::Safe;
        let said = self.world.redactor.redact_arguments(&tool.parameters.value(), &arguments);
        let recorded = self.keep(canonical_json(&said));
        let fact = Fact::CallAdmitted { id, tool: name.clone(), arguments: recorded, writes };
        self.fact(actor(origin), fact);
        self.decision.intent = Some(Intent { id, tool: name, arguments, recorded, writes });
    }

    /// A command in the text of a skill, to be run before the text is shown. It is an effect like any
    /// other: allowed by what the skill declares, recorded before it runs.
    pub(super) fn run_command(
        &mut self,
        origin: &Origin,
        skill: &SkillId,
        arguments: &str,
        command: &str,
        execute: &[String],
    ) {
        let request = format!("run `{command}` of skill:{skill}");
        // Nothing runs for a skill that would stay closed.
        if let Err(refusal) = self.openable(origin, skill, Some(arguments)) {
            return self.decline(origin, request, refusal.of_skill(skill));
        }
        let Some(tool) = command_tool(skill) else {
            let text = format!("skill:{skill} has too long a name for its commands to run");
            return self.decline(origin, request, Refusal::new("BAD_REF", text).of_skill(skill));
        };
        let verdict = visibility::command(self.state, self.world, skill, &tool);
        if let (Effect::Ask | Effect::Deny, Some(reason)) =
            (verdict.effect, verdict.reasons.first())
        {
            let refusal = about_command(Refusal::because(reason), command).of_skill(skill);
            return self.decline(origin, request, refusal);
        }
        let argv = match allowed_command(execute, command) {
            Ok(argv) => argv,
            Err(refused) => {
                let refusal = Refusal::new(refused.code(), refused.to_string())
                    .by(format!("skill:{skill}: permissions.execute"));
                let refusal = about_command(refusal, command).of_skill(skill);
                return self.decline(origin, request, refusal);
            }
        };
        let id = self.state.calls + 1;
        let arguments = serde_json::json!({ "argv": argv });
        let recorded = self.keep(canonical_json(&arguments));
        let fact = Fact::CallAdmitted { id, tool: tool.clone(), arguments: recorded, writes: true };
        self.fact(actor(origin), fact);
        self.decision.intent = Some(Intent { id, tool, arguments, recorded, writes: true });
    }

    /// A command of a skill ended: its output goes into the text of the skill, not into an answer.
    pub(super) fn settle(&mut self, id: CallId, outcome: CallOutcome, output: &str) {
        if !self.state.pending.contains_key(&id) {
            return;
        }
        let outcome = match outcome {
            CallOutcome::Done { exit, dropped, .. } => {
                CallOutcome::Done { exit, output: self.keep(output), dropped }
            }
            other => other,
        };
        self.fact(Actor::Tool, Fact::CallFinished { id, outcome });
    }

    /// The tool called `name`, where it is visible and needs no consent, or why it cannot be called.
    pub(super) fn callable(
        &self,
        state: &State,
        name: &ToolName,
    ) -> Result<&'a ToolEntry, Refusal> {
        let Some(tool) = visibility::meant(state, self.world, name) else {
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
        let (code, text) = match verdict.effect {
            Effect::Allow => return Ok(tool),
            Effect::Ask => {
                let text = format!(
                    "{text}; consent cannot be given here, so it was not run; whoever wrote the rule can change it"
                );
                ("APPROVAL_NEEDED", text)
            }
            Effect::Deny => ("NOT_VISIBLE", text),
        };
        let refusal = Refusal::new(code, text).about(&Request::Call(tool.name.clone()));
        Err(match reason {
            Some(reason) => refusal.by(reason.source.as_str()),
            None => refusal,
        })
    }

    pub(super) fn done(&mut self, origin: &Origin, id: CallId, outcome: CallOutcome, output: &str) {
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
        let tool = call.tool.clone();
        match &outcome {
            CallOutcome::Done { exit, dropped, .. } => {
                let (exit, dropped) = (*exit, *dropped);
                // Before it is cut into pages: half a secret is not recognised.
                let output = &*self.world.redactor.redact(output);
                let outcome = CallOutcome::Done { exit, output: self.keep(output), dropped };
                self.fact(Actor::Tool, Fact::CallFinished { id, outcome });
                let text = result(&tool, id, exit, dropped, output);
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
                self.fact(Actor::Tool, Fact::CallFinished { id, outcome });
                self.answer(origin, text, true, Vec::new());
            }
            CallOutcome::Unknown => {
                self.fact(Actor::System, Fact::CallFinished { id, outcome });
                let text =
                    "error INTERRUPTED: the call was stopped; whether it took effect is not known";
                self.answer(origin, text, true, Vec::new());
            }
        }
    }
}

/// The refusal of a command, with its words where it is one command.
fn about_command(refusal: Refusal, command: &str) -> Refusal {
    match command_words(command) {
        Ok(words) => refusal.about(&Request::Run(words)),
        Err(_) => refusal,
    }
}

/// The tool that the commands of a skill count as, for policies and in the log.
fn command_tool(skill: &SkillId) -> Option<ToolName> {
    let name = skill.as_str().replace(char::is_whitespace, "-");
    ToolName::new(format!("{COMMAND_GROUP}/{name}")).ok()
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
