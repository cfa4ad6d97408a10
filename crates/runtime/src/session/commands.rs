//! Commands in the text of a skill: run, or left out and said so, before the text is shown.

use concertina_core::session::{Command, Origin, PreparedSkill, Refusal};
use concertina_types::{Blob, CallOutcome, Diagnostic, Severity};
use serde::Serialize;

use super::Session;
use super::opening::ReadySkill;
use crate::Cancel;
use crate::error::RuntimeError;
use crate::tools::{CommandRunner, Outcome};

/// What happens where a command may not run, or fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CommandPolicy {
    /// The skill is not opened.
    Abort,
    /// The text says in its place that it was not run, and why.
    #[default]
    Mark,
    /// Nothing stands in its place.
    Skip,
}

/// A command that did not run for want of a permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NeedsApproval {
    /// The command, with values filled in.
    pub command: String,
    /// Its line in the skill's text.
    pub line: u32,
    /// A stable code, such as `NOT_COVERED`.
    pub code: String,
    /// Why it did not run.
    pub reason: String,
}

impl Session {
    /// Runs the commands of a skill that it may run and puts their output in place. Each is an effect
    /// with its record before it; none goes to a shell. Where the skill is not what a
    /// person trusted, nothing of it runs, whoever opens it.
    pub(super) fn run_commands(
        &mut self,
        ready: ReadySkill,
    ) -> Result<Result<(PreparedSkill, Vec<NeedsApproval>), Refusal>, RuntimeError> {
        let ReadySkill { origin, mut skill, distrusted, options, runner } = ready;
        let mut outputs = Vec::new();
        let mut waiting = Vec::new();
        for command in skill.commands.clone() {
            let ran = match &distrusted {
                Some(reason) => Err(Refusal::new("UNTRUSTED", reason.as_str())),
                None if asks_before_commands(&skill) => Err(Refusal::new(
                    "APPROVAL_NEEDED",
                    "the skill asks for consent before its commands, and it cannot be given here",
                )),
                None => {
                    self.run_command(&runner, &origin, &skill, &command.command, &options.cancel)?
                }
            };
            let refusal = match ran {
                Ok(output) => {
                    outputs.push(output);
                    continue;
                }
                Err(refusal) => refusal,
            };
            if options.commands == CommandPolicy::Abort {
                let text = format!(
                    "skill:{} was not opened: line {}: {}",
                    skill.id, command.line, refusal.message
                );
                return Ok(Err(Refusal::new("COMMAND_NOT_RUN", text)));
            }
            outputs.push(match options.commands {
                CommandPolicy::Skip => String::new(),
                _ => format!("[not run: `{}`: {}]", command.command, refusal.message),
            });
            let mut found =
                Diagnostic::new("COMMAND_NOT_RUN", Severity::Warning, refusal.message.clone())
                    .help("let the skill declare it under permissions.execute, or run it by hand");
            found.line = Some(command.line);
            skill.diagnostics.push(found);
            waiting.push(NeedsApproval {
                command: command.command,
                line: command.line,
                code: refusal.code,
                reason: refusal.message,
            });
        }
        Ok(Ok((skill.filled(&outputs), waiting)))
    }

    /// The output of one command, or why there is none.
    fn run_command(
        &mut self,
        runner: &CommandRunner,
        origin: &Origin,
        skill: &PreparedSkill,
        command: &str,
        cancel: &Cancel,
    ) -> Result<Result<String, Refusal>, RuntimeError> {
        let applied = self.apply(&Command::RunCommand {
            origin: origin.clone(),
            skill: skill.id.clone(),
            arguments: skill.arguments.clone(),
            command: command.to_owned(),
            execute: skill.permissions.execute.clone(),
        })?;
        let Some(ticket) = applied.ticket else {
            let refusal = applied.reply.refusal;
            return Ok(Err(refusal.unwrap_or_else(|| Refusal::new("NOT_RUN", "it was not run"))));
        };
        let id = ticket.id();
        let (outcome, output, result) = match runner.run(ticket, cancel) {
            Outcome::Done { exit, output, dropped, .. } => {
                let outcome = CallOutcome::Done { exit, output: Blob::of(&output), dropped };
                let result = if exit == 0 {
                    Ok(output.trim_end().to_owned())
                } else {
                    let last = output.lines().last().unwrap_or_default();
                    Err(Refusal::new(
                        "COMMAND_FAILED",
                        format!("it ended with code {exit}: {last}"),
                    ))
                };
                (outcome, output, result)
            }
            Outcome::Failed { code, message, .. } => {
                let refusal = Refusal::new(code.as_str(), message.as_str());
                (CallOutcome::Failed { code, message }, String::new(), Err(refusal))
            }
        };
        self.apply(&Command::Settle { id, outcome, output })?;
        Ok(result)
    }
}

/// Whether the skill itself wants a person's consent before its commands run.
fn asks_before_commands(skill: &PreparedSkill) -> bool {
    skill.permissions.confirm.iter().any(|what| matches!(what.as_str(), "execute" | "*"))
}
