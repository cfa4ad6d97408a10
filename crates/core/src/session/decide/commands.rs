//! Commands of skills: what is admitted, and what came of it.

use concertina_types::{Actor, CallId, CallOutcome, Fact, SkillId, ToolName, canonical_json};
use serde_json::Value;

use super::super::access::access_of_skill;
use super::super::answer::Refusal;
use super::super::approval::Action;
use super::super::command::{Held, Origin, Targets};
use super::super::skill::PreparedSkill;
use super::super::visibility;
use super::calls::{Question, Wanted};
use super::draft::Deciding;
use crate::policy::{
    Action as Doing, Caller, CommandRefused, Effect, Reason, Request, allowed_command,
    command_words,
};

/// What stands before the skill's name where a log names who ran a command.
pub(super) const COMMAND_GROUP: &str = "command";

impl Deciding<'_> {
    /// A command in the text of a skill, to be run before the text is shown. It is an effect like any
    /// other: allowed by what the skill declares, recorded before it runs. What is not declared is asked
    /// for, as the least that would have to be.
    pub(super) fn run_command(
        &mut self,
        origin: &Origin,
        skill: &PreparedSkill,
        command: &str,
        targets: Targets,
    ) {
        let id = &skill.id;
        let request = format!("run `{command}` of skill:{id}");
        // Nothing runs for a skill that would stay closed.
        if let Err(refusal) = self.openable(origin, id, Some(&skill.arguments)) {
            return self.decline(origin, request, refusal.of_skill(id));
        }
        let Some(tool) = command_tool(id) else {
            let text = format!("skill:{id} has too long a name for its commands to run");
            return self.decline(origin, request, Refusal::new("BAD_REF", text).of_skill(id));
        };
        let words = concertina_format::expand::split_words(command);
        let caller = Caller { principal: &self.state.principal, subject: Some(origin.subject) };
        let run = Request::Run(words);
        let ruled = self.world.settings.policy.judge(caller, Doing::Request(&run));
        let verdict = visibility::command(self.state, self.world, id, &tool).and(ruled);
        let strictest = |reason: &Reason| reason.code != "POLICY_ALLOWS";
        let reason = verdict.reasons.into_iter().find(strictest);
        if let (Effect::Deny, Some(reason)) = (verdict.effect, &reason) {
            let refusal = about_command(Refusal::because(reason), command).of_skill(id);
            return self.decline(origin, request, refusal);
        }
        let source = format!("skill:{id}");
        let access = match access_of_skill(self.world.settings, &skill.permissions, &source) {
            Ok(access) => access,
            Err(refusal) => return self.decline(origin, request, refusal),
        };
        let (argv, why, otherwise) = match allowed_command(&skill.permissions.execute, command) {
            Ok(argv) if verdict.effect == Effect::Ask => {
                let why = reason
                    .unwrap_or_else(|| Reason::new("POLICY_ASKS", "a rule asks first", "policy"));
                let otherwise =
                    Refusal::new("APPROVAL_NEEDED", why.text.clone()).by(why.source.as_str());
                (argv, Some(why), about_command(otherwise, command).of_skill(id))
            }
            Ok(argv) => {
                let why = asks_before_commands(skill);
                let text = "the skill asks for consent before its commands";
                let otherwise = Refusal::new("APPROVAL_NEEDED", text)
                    .by(format!("skill:{id}: permissions.confirm"));
                (argv, why, about_command(otherwise, command).of_skill(id))
            }
            Err(CommandRefused::NotCovered(_)) => {
                let argv = concertina_format::expand::split_words(command);
                let text = format!("no pattern of permissions.execute covers `{command}`");
                let why =
                    format!("{text}; the least that would: execute: [{}]", Value::from(command));
                let why = Reason::new("NOT_COVERED", why, format!("skill:{id}"));
                let otherwise = Refusal::new("NOT_COVERED", text)
                    .by(format!("skill:{id}: permissions.execute"));
                (argv, Some(why), about_command(otherwise, command).of_skill(id))
            }
            Err(refused) => {
                let refusal = Refusal::new(refused.code(), refused.to_string())
                    .by(format!("skill:{id}: permissions.execute"));
                let refusal = about_command(refusal, command).of_skill(id);
                return self.decline(origin, request, refusal);
            }
        };
        let question = why.map(|why| {
            let mut details = vec![
                ("skill".to_owned(), format!("{id} ({})", skill.digest.short())),
                ("argv".to_owned(), canonical_json(&Value::from(argv.clone()))),
            ];
            details.extend(targets.shown);
            let action = Action { request: request.clone(), details, phrase: None };
            Question { action, why, otherwise }
        });
        let arguments = serde_json::json!({ "argv": argv });
        let said = arguments.clone();
        let wanted = Wanted { tool, arguments, said, writes: true, access, pins: targets.pins };
        if let Err(refusal) = self.admit(origin, wanted, question) {
            self.decline(origin, request, refusal);
        }
    }

    /// A command of a skill ended: its output goes into the text of the skill, not into an answer.
    pub(super) fn settle(&mut self, id: CallId, outcome: CallOutcome, output: &str, held: Held) {
        let Some(call) = self.state.pending.get(&id) else { return };
        let held = self.kept_from(&call.tool, held);
        let outcome = match outcome {
            CallOutcome::Done { exit, dropped, .. } => {
                CallOutcome::Done { exit, output: self.keep(output), dropped }
            }
            other => other,
        };
        self.fact(Actor::Tool, Fact::CallFinished { id, outcome, held });
    }
}

/// Whether the skill itself wants a person's consent before its commands run.
fn asks_before_commands(skill: &PreparedSkill) -> Option<Reason> {
    let mut confirm = skill.permissions.confirm.iter();
    confirm.any(|what| matches!(what.as_str(), "execute" | "*")).then(|| {
        let text = format!("skill:{} asks for consent before its commands", skill.id);
        Reason::new("CONFIRM", text, format!("skill:{}", skill.id))
    })
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
