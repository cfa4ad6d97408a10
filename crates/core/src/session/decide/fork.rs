//! Skills that run apart.

use concertina_types::{Actor, Disclosed, DisclosureKind, Fact, Ref, SessionId, SkillId, limits};

use super::super::answer::Refusal;
use super::super::command::{Origin, Unfolded};
use super::super::skill::PreparedSkill;
use super::draft::Deciding;
use crate::context::block;

impl Deciding<'_> {
    pub(super) fn fork(&mut self, origin: &Origin, request: String, skill: Box<PreparedSkill>) {
        match self.may_fork(&skill.id) {
            Ok(()) => self.decision.fork = Some(skill),
            Err(refusal) => self.refuse(origin, request, refusal),
        }
    }

    fn may_fork(&self, id: &SkillId) -> Result<(), Refusal> {
        if self.world.settings.forked_from.contains(id) {
            let text = format!(
                "skill:{id} is already running above this session; do its work here instead"
            );
            return Err(Refusal::new("FORK_RECURSION", text));
        }
        if self.state.depth >= limits::FORK_DEPTH {
            let text = format!(
                "skills fork at most {} deep; do the work of skill:{id} here instead",
                limits::FORK_DEPTH
            );
            return Err(Refusal::new("FORK_TOO_DEEP", text));
        }
        Ok(())
    }

    /// Gives the prompt of a skill to whoever asked, to be run apart.
    pub(super) fn delegate(&mut self, origin: &Origin, skill: &PreparedSkill) {
        let reference = Ref::skill(skill.id.clone());
        let tokens = self.world.counter.count(&skill.text);
        let digest = skill.digest.short();
        let text = format!(
            "{reference} runs apart, and no model is configured here to run it. Give this to a sub-agent and use only its result:\n{}",
            block("skill", &[("name", skill.id.as_str()), ("digest", &digest)], &skill.text)
        );
        let disclosed = vec![Disclosed { reference, kind: DisclosureKind::Skill, tokens }];
        self.answer(origin, text, false, disclosed);
    }

    pub(super) fn forked(&mut self, child: SessionId, skill: SkillId) {
        self.fact(Actor::System, Fact::ChildStarted { child, skill });
    }

    pub(super) fn joined(&mut self, origin: &Origin, unfolded: Unfolded) {
        let Unfolded { child, skill, completed, result } = unfolded;
        let reference = Ref::skill(skill.clone());
        if self.state.children.get(&child) != Some(&skill) {
            let text = format!(
                "session {child} is not running {reference} for this one; it may have been settled when the session was resumed"
            );
            return self.refuse(
                origin,
                format!("join {child}"),
                Refusal::new("UNKNOWN_CHILD", text),
            );
        }
        let tokens = self.world.counter.count(&result);
        let ended = if completed { "completed" } else { "stopped before its end" };
        let text = format!(
            "{reference} {ended} in session {child}.\n{}",
            block("result", &[("from", &reference.to_string())], &result)
        );
        let result = self.keep(result);
        self.fact(Actor::System, Fact::ChildFinished { child, completed, result });
        let disclosed = vec![Disclosed { reference, kind: DisclosureKind::Evidence, tokens }];
        self.answer(origin, text, !completed, disclosed);
    }
}
