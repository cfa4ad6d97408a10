//! The only way to an effect.
//!
//! An [`Intent`] is decided; once the event that records it is in the log, it becomes a [`Ticket`];
//! an executor consumes the ticket. Neither can be copied, stored or sent, so there is no effect
//! without a durable record before it.

use concertina_types::{Blob, CallId, Event, Fact, ToolName};
use serde_json::Value;

use super::command::Pin;
use crate::policy::{Access, PathPattern};

/// A call that was decided on and is not recorded yet.
#[derive(Debug)]
#[must_use = "an intent that is not admitted leaves a call without an outcome"]
pub struct Intent {
    pub(super) id: CallId,
    pub(super) tool: ToolName,
    /// As they were written: what runs gets these.
    pub(super) arguments: Value,
    /// What the log says of them, which is without their secrets.
    pub(super) recorded: Blob,
    pub(super) writes: bool,
    pub(super) access: Box<Access>,
    pub(super) closed: [Vec<PathPattern>; 2],
    pub(super) pins: Vec<Pin>,
    pub(super) command: Option<Box<SkillCommand>>,
}

/// A command of a skill, as it is to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillCommand {
    /// Its argument vector.
    pub argv: Vec<String>,
    /// What it may read besides what is declared.
    pub readable: Vec<String>,
}

/// The right to run one call once.
#[derive(Debug)]
#[must_use = "a ticket that is not used leaves a call without an outcome"]
pub struct Ticket {
    id: CallId,
    tool: ToolName,
    arguments: Value,
    writes: bool,
    access: Box<Access>,
    closed: [Vec<PathPattern>; 2],
    pins: Vec<Pin>,
    command: Option<Box<SkillCommand>>,
}

/// The log does not hold the intent: nothing may run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("call {0} is not in the log, so it cannot run")]
pub struct NotRecorded(pub CallId);

impl Intent {
    /// Turns the intent into a ticket, given the events as the store wrote them.
    pub fn admit(self, recorded: &[Event]) -> Result<Ticket, NotRecorded> {
        let found = recorded.iter().any(|event| {
            matches!(&event.fact, Fact::CallAdmitted { id, tool, arguments, writes, .. }
                if *id == self.id && *tool == self.tool && *arguments == self.recorded && *writes == self.writes)
        });
        if !found {
            return Err(NotRecorded(self.id));
        }
        let Self { id, tool, arguments, writes, access, closed, pins, command, .. } = self;
        Ok(Ticket { id, tool, arguments, writes, access, closed, pins, command })
    }
}

impl Ticket {
    /// The number of the call.
    pub fn id(&self) -> CallId {
        self.id
    }

    /// Which tool to run.
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// With which arguments: checked against the tool's schema.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// What the effect may do. Whatever carries it out is held to that.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Paths that rules close to it whatever it may do: to read and, second, to write.
    pub fn closed(&self) -> &[Vec<PathPattern>; 2] {
        &self.closed
    }

    /// The command to run, where it is one of a skill.
    pub fn command(&self) -> Option<&SkillCommand> {
        self.command.as_deref()
    }

    /// Files that run with exactly these bytes: those that a person agreed to, and what a command of an
    /// open skill runs.
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// Whether the effect may change something.
    pub fn writes(&self) -> bool {
        self.writes
    }
}
