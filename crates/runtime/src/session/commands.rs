//! Commands in the text of a skill: run, or left out and said so, before the text is shown.

use std::collections::BTreeSet;
use std::path::Path;

use concertina_core::catalog::SkillEntry;
use concertina_core::session::{
    Ask, COMMANDS, Command, Held, OpenSkill, Origin, Pin, PreparedSkill, Refusal, Targets,
};
use concertina_types::{Blob, CallOutcome, Diagnostic, Digest, OnUnexpected, Severity, ToolName};
use serde::Serialize;
use serde_json::Value;

use super::Session;
use super::opening::ReadySkill;
use super::quiet::Hold;
use crate::Cancel;
use crate::approval::{pins, targets_of_command};
use crate::error::RuntimeError;
use crate::inside::files_named;
use crate::tools::{CommandRunner, Outcome, kept};
use crate::trust::content_digest;

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

/// What a command may read besides what is declared: the directory of its skill, and files that one of the
/// `patterns` names in full.
fn readable(
    workspace: &Path,
    directory: Option<&Path>,
    patterns: &[String],
    words: &[String],
) -> Vec<String> {
    let named: BTreeSet<String> = patterns
        .iter()
        .flat_map(|pattern| concertina_format::expand::split_words(pattern))
        .collect();
    let files = words.iter().skip(1).filter(|word| named.contains(*word) && !word.starts_with('/'));
    let places = directory.map(Path::to_owned).into_iter().chain(files_named(workspace, files));
    places.filter_map(|path| path.to_str().map(str::to_owned)).collect()
}

/// What the command `words` of a skill means, which declares `patterns` and lies in `directory`.
fn targets_of(
    workspace: &Path,
    directory: Option<&Path>,
    patterns: &[String],
    words: Vec<String>,
) -> Targets {
    let pins = pins(workspace, &words);
    let shown = targets_of_command(workspace, &words, &pins);
    let readable = readable(workspace, directory, patterns, &words);
    Targets { argv: words, shown, pins, readable, ..Targets::default() }
}

impl Session {
    /// Runs the commands of a skill that it may run and puts their output in place. Each is an effect
    /// with its record before it; none goes to a shell. Where the skill is not what a
    /// person trusted, nothing of it runs, whoever opens it.
    pub(super) fn run_commands(
        &mut self,
        ready: ReadySkill,
    ) -> Result<Result<(PreparedSkill, Vec<NeedsApproval>), Refusal>, RuntimeError> {
        let ReadySkill { origin, mut skill, directory, distrusted, options, runner, .. } = ready;
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
        let tool = ToolName::new(format!("{COMMANDS}/{}", skill.id)).ok();
        let hold =
            tool.map_or_else(|| Ok(Some(Hold::default())), |tool| self.hold_for(&tool, true))?;
        let Some(hold) = hold else {
            let text = "another session tells of the work now, and it must not change under it; open the skill again";
            return Ok(Err((Refusal::new("STEP_WAITS", text), None)));
        };
        // The command before may have changed what a guard looks at.
        self.look()?;
        let words = concertina_format::expand::split_words(command);
        let targets = targets_of(runner.directory(), directory, &skill.permissions.execute, words);
        let applied = self.apply_asking(&Command::RunCommand {
            origin: origin.clone(),
            skill: Box::new(skill.clone()),
            command: command.to_owned(),
            targets,
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
        self.admitted(id, ticket.tool(), ticket.arguments());
        self.holds(id, hold);
        let outcome = runner.run(ticket, cancel);
        let held = Held { witness: self.witness(id), ..kept(&outcome, runner.directory()) };
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
        let applied = self.apply(&Command::Settle { id, outcome, output, held });
        self.let_go(id);
        self.answer_waiting(applied?)?;
        Ok(result)
    }

    /// What a call of `tool`, by which an open skill runs its commands, really means.
    pub(super) fn command_targets(
        &self,
        workspace: &Path,
        tool: &ToolName,
        arguments: &Value,
    ) -> Targets {
        let mut open = self.state.open.iter();
        let is_meant = |open: &&OpenSkill| open.commands().is_some_and(|own| own.name == *tool);
        let Some(open) = open.find(is_meant) else { return Targets::default() };
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        let words = concertina_format::expand::split_words(command);
        let entry = self.snapshot.skill(&open.opened.id);
        let directory = entry.and_then(SkillEntry::directory);
        let patterns = &open.opened.permissions.execute;
        let mut targets = targets_of(workspace, directory, patterns, words);
        if let (Some(_), Some(entry)) = (open.opened.content, entry) {
            targets.content = content_now(entry, &mut targets.pins);
        }
        targets
    }
}

/// What the file of a skill and all files beside it hold now. Code among them is pinned to the bytes that
/// were looked at for this, so that it cannot be another by the time it is read again.
fn content_now(entry: &SkillEntry, pins: &mut [Pin]) -> Option<Digest> {
    let file = Digest::of(&std::fs::read(entry.path.as_ref()).ok()?);
    let directory = entry.directory().and_then(|directory| directory.canonicalize().ok());
    content_digest(&file, directory.as_deref(), &mut |path, bytes| {
        for pin in pins.iter_mut().filter(|pin| Path::new(&pin.path) == path) {
            pin.digest = Digest::of(bytes);
        }
    })
}
