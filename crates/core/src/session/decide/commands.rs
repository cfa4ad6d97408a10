//! Commands of skills: what is admitted, and what came of it.

use concertina_format::expand::split_words;
use concertina_types::{
    Actor, CallId, CallOutcome, Digest, Fact, Permissions, SkillId, ToolName, canonical_json,
};
use serde_json::Value;

use super::super::access::access_of_skill;
use super::super::answer::Refusal;
use super::super::approval::Action;
use super::super::command::{Held, Origin, Targets};
use super::super::commands::name_of;
use super::super::skill::PreparedSkill;
use super::super::state::OpenSkill;
use super::super::ticket::SkillCommand;
use super::super::visibility::{self, asks};
use super::calls::{Question, Wanted};
use super::draft::Deciding;
use crate::catalog::ToolEntry;
use crate::policy::{
    Action as Doing, Caller, CommandRefused, Decision, Effect, Reason, Request, allowed_command,
    command_words,
};

/// A command of a skill that is to run: as the skill is opened, or called for while it is open.
struct Asked<'c> {
    tool: ToolName,
    skill: &'c SkillId,
    digest: Digest,
    permissions: &'c Permissions,
    command: &'c str,
    /// Whether it may be run at all, and asks first.
    verdict: Decision,
    /// Why a person is asked, where a command that the skill declares is asked about.
    confirm: Option<Reason>,
    targets: Targets,
    /// Whether its code is held to what it was without being asked about.
    is_held: bool,
}

impl Asked<'_> {
    fn request(&self) -> String {
        format!("run `{}` of skill:{}", self.command, self.skill)
    }

    /// The refusal of it, with its words where it is one command.
    fn refused(&self, refusal: Refusal) -> Refusal {
        let refusal = match command_words(self.command) {
            Ok(words) => refusal.about(&Request::Run(words)),
            Err(_) => refusal,
        };
        refusal.of_skill(self.skill)
    }
}

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
        if let Err(refusal) = self.openable(origin, id, &skill.arguments) {
            return self.decline(origin, request, refusal.of_skill(id));
        }
        let Some(tool) = name_of(id) else {
            let text = format!("skill:{id} has too long a name for its commands to run");
            return self.decline(origin, request, Refusal::new("BAD_REF", text).of_skill(id));
        };
        let asked = Asked {
            verdict: visibility::command(self.state, self.world, id, &tool),
            tool,
            skill: id,
            digest: skill.digest,
            permissions: &skill.permissions,
            command,
            confirm: asks_before_commands(id, &skill.permissions),
            targets,
            is_held: false,
        };
        if let Err(refusal) = self.command(origin, asked) {
            self.decline(origin, request, refusal);
        }
    }

    /// A command that the model, or a person, has the open skill `open` run, by its tool.
    pub(super) fn call_command(
        &mut self,
        origin: &Origin,
        open: &OpenSkill,
        tool: &ToolEntry,
        arguments: &Value,
        targets: Targets,
    ) {
        let opened = &open.opened;
        let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        let asked = Asked {
            tool: tool.name.clone(),
            skill: &opened.id,
            digest: opened.digest,
            permissions: &opened.permissions,
            command,
            verdict: visibility::tool(self.state, self.world, tool),
            confirm: asks(self.state, self.world, tool).into_iter().next(),
            is_held: true,
            targets,
        };
        let request = asked.request();
        if asked.targets.content != opened.content {
            let text = format!(
                "files of skill:{0} are not what they were when it was opened; open skill:{0} again",
                opened.id
            );
            let refusal = asked.refused(Refusal::new("SKILL_CHANGED", text)).of_tool(&tool.name);
            return self.refuse(origin, request, refusal);
        }
        if let Err(refusal) = self.command(origin, asked) {
            self.refuse(origin, request, refusal.of_tool(&tool.name));
        }
    }

    /// Admits a command of a skill, or asks a person first.
    ///
    /// # Errors
    /// Why it does not run.
    fn command(&mut self, origin: &Origin, asked: Asked<'_>) -> Result<(), Refusal> {
        let Asked { skill: id, command, permissions, .. } = asked;
        let words = split_words(command);
        let caller = Caller { principal: &self.state.principal, subject: Some(origin.subject) };
        let run = Request::Run(words.clone());
        let ruled = self.world.settings.policy.judge(caller, Doing::Request(&run));
        let verdict = asked.verdict.clone().and(ruled);
        let strictest = |reason: &Reason| reason.code != "POLICY_ALLOWS";
        let reason = verdict.reasons.into_iter().find(strictest);
        if let (Effect::Deny, Some(reason)) = (verdict.effect, &reason) {
            return Err(asked.refused(Refusal::because(reason)));
        }
        let access = access_of_skill(self.world.settings, permissions, &format!("skill:{id}"))?;
        let (why, otherwise) = match allowed_command(&permissions.execute, command) {
            Ok(_) if verdict.effect == Effect::Ask => {
                let why = reason
                    .unwrap_or_else(|| Reason::new("POLICY_ASKS", "a rule asks first", "policy"));
                let otherwise =
                    Refusal::new("APPROVAL_NEEDED", why.text.clone()).by(why.source.as_str());
                (Some(why), otherwise)
            }
            Ok(_) => {
                let text = "the skill asks for consent before its commands";
                let otherwise = Refusal::new("APPROVAL_NEEDED", text)
                    .by(format!("skill:{id}: permissions.confirm"));
                (asked.confirm.clone(), otherwise)
            }
            Err(CommandRefused::NotCovered(_)) => {
                let text = format!("no pattern of permissions.execute covers `{command}`");
                let why =
                    format!("{text}; the least that would: execute: [{}]", Value::from(command));
                let why = Reason::new("NOT_COVERED", why, format!("skill:{id}"));
                let otherwise = Refusal::new("NOT_COVERED", text)
                    .by(format!("skill:{id}: permissions.execute"));
                (Some(why), otherwise)
            }
            Err(refused) => {
                let refusal = Refusal::new(refused.code(), refused.to_string())
                    .by(format!("skill:{id}: permissions.execute"));
                return Err(asked.refused(refusal));
            }
        };
        let otherwise = asked.refused(otherwise);
        let request = asked.request();
        let Targets { shown, pins, readable, .. } = asked.targets;
        let question = why.map(|why| {
            let mut details = vec![
                ("skill".to_owned(), format!("{id} ({})", asked.digest.short())),
                ("argv".to_owned(), canonical_json(&Value::from(words.clone()))),
            ];
            details.extend(shown);
            Question { action: Action { request, details, phrase: None }, why, otherwise }
        });
        let arguments = serde_json::json!({ "argv": words });
        let wanted = Wanted {
            tool: asked.tool,
            said: arguments.clone(),
            arguments,
            writes: true,
            access,
            pins: (pins, asked.is_held),
            command: Some(Box::new(SkillCommand { argv: words, readable })),
        };
        self.admit(origin, wanted, question)
    }

    /// A command of a skill ended: its output goes into the text of the skill, not into an answer.
    pub(super) fn settle(&mut self, id: CallId, outcome: CallOutcome, output: &str, held: Held) {
        let Some(call) = self.state.pending.get(&id).cloned() else { return };
        let mut held = held;
        let witness = held.witness.take();
        let held = self.kept_from(&call.tool, held);
        let output = &*self.world.redactor.redact(output);
        let outcome = match outcome {
            CallOutcome::Done { exit, dropped, .. } => {
                CallOutcome::Done { exit, output: self.keep(output), dropped }
            }
            other => other,
        };
        let finished = Fact::CallFinished { id, outcome: outcome.clone(), held: held.clone() };
        self.fact(Actor::Tool, finished);
        // What is said of the step has no place in the text of a skill; the card tells it.
        self.proceed(&call, &outcome, output, (held, witness));
    }
}

/// Whether the skill itself wants a person's consent before its commands run.
fn asks_before_commands(skill: &SkillId, permissions: &Permissions) -> Option<Reason> {
    let mut confirm = permissions.confirm.iter();
    confirm.any(|what| matches!(what.as_str(), "execute" | "*")).then(|| {
        let text = format!("skill:{skill} asks for consent before its commands");
        Reason::new("CONFIRM", text, format!("skill:{skill}"))
    })
}
