//! Commands in the text of a skill: run, or left out and said so, before the text is shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use concertina_core::session::{Ask, Command, Origin, PreparedSkill, Refusal, Targets};
use concertina_types::{Blob, CallOutcome, Diagnostic, OnUnexpected, Severity};
use serde::Serialize;

use super::Session;
use super::opening::ReadySkill;
use crate::Cancel;
use crate::approval::{pins, targets_of_command};
use crate::error::RuntimeError;
use crate::inside::files_named;
use crate::tools::{CommandRunner, Outcome, kept};

/// What happens where a command may not run, or fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CommandPolicy {
    /// What the skill says under `on_unexpected`: `abort` or, for `continue` and where it says nothing,
    /// `mark`.
    #[default]
    Declared,
    /// The skill is not opened.
    Abort,
    /// The text says in its place that it was not run, and why.
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
    /// The question that a person can still answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
}

/// Why a command has no output, and the question that would change that.
type Unmet = (Refusal, Option<Ask>);

/// What a command may read besides what is declared: the directory of its skill, and files that the pattern
/// which covers it names in full.
fn readable(
    workspace: &Path,
    directory: Option<&Path>,
    skill: &PreparedSkill,
    command: &str,
) -> Vec<PathBuf> {
    let words = concertina_format::expand::split_words(command);
    let patterns = skill.permissions.execute.iter();
    let named: BTreeSet<String> =
        patterns.flat_map(|pattern| concertina_format::expand::split_words(pattern)).collect();
    let files = words.iter().skip(1).filter(|word| named.contains(*word) && !word.starts_with('/'));
    directory.map(Path::to_owned).into_iter().chain(files_named(workspace, files)).collect()
}

impl Session {
    /// Runs the commands of a skill that it may run and puts their output in place. Each is an effect
    /// with its record before it; none goes to a shell. Where the skill is not what a
    /// person trusted, nothing of it runs, whoever opens it.
    pub(super) fn run_commands(
        &mut self,
        ready: ReadySkill,
    ) -> Result<Result<(PreparedSkill, Vec<NeedsApproval>), Refusal>, RuntimeError> {
        let ReadySkill { origin, mut skill, directory, distrusted, options, runner } = ready;
        let mut outputs = Vec::new();
        let mut waiting = Vec::new();
        for command in skill.commands.clone() {
            let ran = if let Some(why) = &distrusted {
                Err((Refusal::new(why.code.as_str(), why.reason.as_str()), None))
            } else {
                let place = (&runner, directory.as_deref());
                self.run_command(place, &origin, &skill, &command.command, &options.cancel)?
            };
            let (refusal, ask) = match ran {
                Ok(output) => {
                    outputs.push(output);
                    continue;
                }
                Err(unmet) => unmet,
            };
            let stops = matches!(skill.permissions.on_unexpected, OnUnexpected::Abort);
            let is_unmet = refusal.code != "COMMAND_FAILED";
            if options.commands == CommandPolicy::Abort
                || options.commands == CommandPolicy::Declared && stops && is_unmet
            {
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
                    .help("let the skill declare it under permissions.execute, agree to it, or run it by hand");
            found.line = Some(command.line);
            skill.diagnostics.push(found);
            waiting.push(NeedsApproval {
                command: command.command,
                line: command.line,
                code: refusal.code,
                reason: refusal.message,
                ask,
            });
        }
        Ok(Ok((skill.filled(&outputs), waiting)))
    }

    /// The output of one command, or why there is none.
    fn run_command(
        &mut self,
        (runner, directory): (&CommandRunner, Option<&Path>),
        origin: &Origin,
        skill: &PreparedSkill,
        command: &str,
        cancel: &Cancel,
    ) -> Result<Result<String, Unmet>, RuntimeError> {
        let words = concertina_format::expand::split_words(command);
        let pins = pins(runner.directory(), &words);
        let shown = targets_of_command(runner.directory(), &words, &pins);
        let applied = self.apply_asking(&Command::RunCommand {
            origin: origin.clone(),
            skill: Box::new(skill.clone()),
            command: command.to_owned(),
            targets: Targets { shown, pins, ..Targets::default() },
        })?;
        if let Some(ask) = applied.ask {
            let refusal = self.left_open(origin, &ask)?;
            return Ok(Err((refusal, Some(ask))));
        }
        let Some(ticket) = applied.ticket else {
            let refusal = applied.reply.refusal;
            let refusal = refusal.unwrap_or_else(|| Refusal::new("NOT_RUN", "it was not run"));
            return Ok(Err((refusal, None)));
        };
        let id = ticket.id();
        let readable = readable(runner.directory(), directory, skill, command);
        let outcome = runner.run(ticket, readable, cancel);
        let held = kept(&outcome);
        let (outcome, output, result) = match outcome {
            Outcome::Done { exit, output, dropped, .. } => {
                let outcome = CallOutcome::Done { exit, output: Blob::of(&output), dropped };
                let result = if exit == 0 {
                    Ok(output.trim_end().to_owned())
                } else {
                    let last = output.lines().last().unwrap_or_default();
                    let text = format!("it ended with code {exit}: {last}");
                    Err((Refusal::new("COMMAND_FAILED", text), None))
                };
                (outcome, output, result)
            }
            Outcome::Failed { code, message, .. } => {
                let refusal = Refusal::new(code.as_str(), message.as_str());
                (CallOutcome::Failed { code, message }, String::new(), Err((refusal, None)))
            }
        };
        self.apply(&Command::Settle { id, outcome, output, held })?;
        Ok(result)
    }
}
