//! Secrets that do not look like any: the session is told of them, so that its record is without them.

use std::collections::BTreeSet;

use concertina_core::session::{Command, meant};
use concertina_format::skill::Parameter;
use concertina_types::{Fact, ModelCall, ToolName, Trace};
use serde_json::Value;

use super::Session;
use super::dispatch::inner_object;
use crate::error::RuntimeError;
use crate::tools::{Attached, Outcome};
use crate::workspace::Workspace;

/// What is kept of declared secrets for other processes.
#[derive(Debug, Default)]
pub(super) struct Traced {
    kept: BTreeSet<Trace>,
    /// How much of the file was read.
    seen: u64,
    /// How many values the redactor knew when traces were kept.
    known: usize,
}

impl Session {
    /// Takes the key by which this store marks secrets.
    pub(super) fn take_key(&mut self) -> Result<(), RuntimeError> {
        if !self.keyed {
            self.redactor = self.redactor.clone().keyed(self.store.marks.key()?);
            self.keyed = true;
        }
        // Another process may have been told of more.
        let told = self.store.marks.traces(&self.id, &mut self.traced.seen)?;
        self.traced.kept.extend(&told);
        self.redactor.recall(told);
        Ok(())
    }

    /// Keeps traces of declared secrets that are new, before anything that may hold them is recorded: whoever
    /// goes on with the session finds them by these.
    pub(super) fn keep_traces(&mut self) -> Result<(), RuntimeError> {
        if self.traced.known == self.redactor.known() {
            return Ok(());
        }
        let new = self.redactor.traces().into_iter();
        let new: Vec<Trace> = new.filter(|trace| !self.traced.kept.contains(trace)).collect();
        if !new.is_empty() {
            self.store.marks.add_traces(&self.id, &new)?;
        }
        self.traced.kept.extend(new);
        self.traced.known = self.redactor.known();
        Ok(())
    }

    /// Learns what tools and servers of `workspace` were given in confidence.
    pub(super) fn learn_from(&mut self, workspace: &Workspace) {
        for secret in workspace.secrets() {
            self.redactor.learn("environment", secret);
        }
    }

    /// Learns the arguments that a tool's schema declares secret: from the call, and already from the
    /// model's reply that asks for it.
    pub(super) fn learn_said(&mut self, command: &Command) {
        match command {
            Command::Call { tool, arguments, .. } => self.learn_arguments(tool, arguments),
            Command::Observe(fact, _) => {
                if let Fact::ModelReplied { calls, .. } = &**fact {
                    for call in calls {
                        self.learn_call(call);
                    }
                }
            }
            _ => {}
        }
    }

    /// Learns the arguments that a skill declares secret.
    pub(super) fn learn_parameters(&mut self, parameters: &[Parameter], arguments: &Value) {
        for parameter in parameters {
            if let Some(value) = arguments.get(&parameter.name) {
                self.redactor.learn_arguments(&parameter.schema, value);
            }
        }
    }

    /// The outcome of a call as it may be passed on: all that the record will have, and what goes on beside
    /// it, without secrets.
    pub fn without_secrets(&self, mut outcome: Outcome) -> Outcome {
        match &mut outcome {
            Outcome::Done { output, attached, .. } => {
                *output = self.redactor.redact(output).into_owned();
                if let Some(attached) = attached {
                    let Attached { content, structured, meta } = &mut **attached;
                    for value in content.iter_mut().chain(structured).chain(meta) {
                        self.redactor.redact_value(value);
                    }
                }
            }
            Outcome::Failed { message, error, .. } => {
                *message = self.redactor.redact(message).into_owned();
                if let Some(error) = error {
                    self.redactor.redact_value(error);
                }
            }
        }
        outcome
    }

    fn learn_call(&mut self, call: &ModelCall) {
        let Ok(written) = serde_json::from_str::<Value>(&call.arguments) else { return };
        let (name, arguments) = match written.get("tool").and_then(Value::as_str) {
            Some(name) if call.name == "call" => (name, inner_object(&written, "args")),
            _ => (call.name.as_str(), written),
        };
        if let Ok(tool) = ToolName::new(name.strip_prefix("tool:").unwrap_or(name)) {
            self.learn_arguments(&tool, &arguments);
        }
    }

    fn learn_arguments(&mut self, tool: &ToolName, arguments: &Value) {
        let entry = meant(&self.state, &self.world(), tool);
        if let Some(schema) = entry.map(|tool| tool.parameters.value()) {
            self.redactor.learn_arguments(&schema, arguments);
        }
    }
}
