//! Secrets that do not look like any: the session is told of them, so that its record is without them.

use concertina_core::session::{Command, meant};
use concertina_format::skill::Parameter;
use concertina_types::{Fact, ModelCall, ToolName};
use serde_json::Value;

use super::Session;
use super::dispatch::inner_object;
use crate::error::RuntimeError;
use crate::tools::{Attached, Outcome};
use crate::workspace::Workspace;

impl Session {
    /// Takes the key by which this store marks secrets.
    pub(super) fn take_key(&mut self) -> Result<(), RuntimeError> {
        if !self.keyed {
            self.redactor = self.redactor.clone().keyed(self.store.marks.key()?);
            self.keyed = true;
        }
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
