//! The loop that lets a model work: show, ask, do, until the task is answered.

mod observer;

use std::collections::BTreeMap;

use concertina_core::policy::{Access, Pattern};
use concertina_core::session::{
    Command, Origin, Part, PreparedSkill, Unfolded, View, access_of_fork, lend,
};
use concertina_tokens::O200k;
use concertina_types::{Blob, Fact, ModelCall, Subject, Tokens, limits};
use futures_util::future::LocalBoxFuture;

use crate::Cancel;
use crate::error::RuntimeError;
use crate::llm::{Model, Reply as ModelReply, Stop};
use crate::session::{Reply, Session, Started};
use crate::workspace::Workspace;

pub use observer::{Moment, Observer, Silent};

/// A model at work in a session.
pub struct Agent<'a> {
    /// Where it works.
    pub workspace: &'a mut Workspace,
    /// The session.
    pub session: &'a mut Session,
    /// Who thinks.
    pub model: &'a dyn Model,
    /// Who watches.
    pub observer: &'a mut (dyn Observer + Send),
    /// Who may stop it.
    pub cancel: Cancel,
}

impl std::fmt::Debug for Agent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("session", self.session.id()).finish_non_exhaustive()
    }
}

/// The share of the window, in hundredths, above which the conversation is folded.
const FOLD_ABOVE: u64 = 80;

impl Agent<'_> {
    /// Gives the task to the model and works until it is answered.
    pub async fn run(&mut self, task: &str) -> Result<String, RuntimeError> {
        self.session.task(task)?;
        self.observer.on(Moment::Task(task));
        self.work().await
    }

    /// Goes on with the task that the session already has.
    pub async fn go_on(&mut self) -> Result<String, RuntimeError> {
        self.session.recover()?;
        self.work().await
    }

    async fn work(&mut self) -> Result<String, RuntimeError> {
        let preloaded = self.workspace.preloaded();
        for _ in 0..limits::TURNS_PER_TASK {
            if self.cancel.is_stopped() {
                return self.interrupted("stopped between turns");
            }
            self.session.turn(self.workspace)?;
            self.observer.on(Moment::Turn { turn: self.session.state().turn });
            let (view, parts) = self.fitting_view()?;
            self.ask(&view, parts, preloaded)?;
            let Some(reply) = self.think(&view).await? else {
                return self.interrupted("stopped while the model was thinking");
            };
            self.hear(&reply)?;
            if let (Stop::Length | Stop::Filtered, []) = (&reply.stop, reply.calls.as_slice()) {
                self.note_break("the model's answer was cut")?;
                let why = if reply.stop == Stop::Length {
                    "its limit on one answer"
                } else {
                    "the provider's filter"
                };
                return Err(RuntimeError::AnswerCut { session: self.session.id().clone(), why });
            }
            if reply.calls.is_empty() && reply.text.trim().is_empty() {
                self.note_break("the model said nothing")?;
                return Err(RuntimeError::AnswerEmpty(self.session.id().clone()));
            }
            if reply.calls.is_empty() {
                let fact = Fact::TaskFinished { answer: Blob::of(&reply.text) };
                self.session.observe(fact, vec![reply.text.clone()])?;
                self.observer.on(Moment::Finished(&reply.text));
                return Ok(reply.text);
            }
            for call in &reply.calls {
                if self.cancel.is_stopped() {
                    return self.interrupted("stopped between calls");
                }
                self.act(call).await?;
            }
        }
        let turns = limits::TURNS_PER_TASK;
        let session = self.session.id().clone();
        self.note_break(&format!("the task was not done after {turns} turns"))?;
        Err(RuntimeError::TooManyTurns { session, turns })
    }

    /// The view and what its parts take, folded first where it would fill the window: what is left
    /// of the window is the model's to answer in.
    fn fitting_view(&mut self) -> Result<(View, BTreeMap<Part, Tokens>), RuntimeError> {
        let limit = self.session.settings().window.saturating_mul(FOLD_ABOVE) / 100;
        let counted = |view: View| {
            let parts = view.tokens(&O200k);
            let total: Tokens = parts.values().copied().sum();
            (view, parts, total)
        };
        let (view, parts, total) = counted(self.session.view());
        if total.0 <= limit {
            return Ok((view, parts));
        }
        self.session.compact()?;
        self.observer.on(Moment::Folded);
        let (view, parts, total) = counted(self.session.view());
        if total.0 > limit {
            return Err(RuntimeError::ContextFull { tokens: total.0, limit });
        }
        Ok((view, parts))
    }

    fn ask(
        &mut self,
        view: &View,
        parts: BTreeMap<Part, Tokens>,
        preloaded: Tokens,
    ) -> Result<(), RuntimeError> {
        // With everything loaded at the start, the words about disclosure, the index and what was
        // opened fall away; what was said and found stays.
        let said = [Part::Conversation, Part::Evidence];
        let kept: Tokens = said.iter().filter_map(|part| parts.get(part)).copied().sum();
        let preloaded = preloaded + kept;
        let mut tokens: BTreeMap<String, Tokens> =
            parts.iter().map(|(part, tokens)| (part.name().to_owned(), *tokens)).collect();
        let total = parts.into_values().sum();
        tokens.insert("total".to_owned(), total);
        self.observer.on(Moment::Asked { tokens: &tokens, preloaded });
        let model = self.model.name().to_owned();
        let fact = Fact::ModelAsked { model, prompt: view.digest(), tokens, preloaded };
        self.session.observe(fact, Vec::new())
    }

    /// What the model says, or nothing where work was stopped meanwhile.
    async fn think(&mut self, view: &View) -> Result<Option<ModelReply>, RuntimeError> {
        let observer = &mut *self.observer;
        let mut on_text = |text: &str| observer.on(Moment::Text(text));
        let cancel = self.cancel.clone();
        let answer = tokio::select! {
            answer = self.model.reply(view, &mut on_text) => answer,
            () = cancel.stopped() => return Ok(None),
        };
        match answer {
            Ok(reply) => Ok(Some(reply)),
            Err(error) => {
                let fact =
                    Fact::ModelFailed { code: error.code().to_owned(), message: error.to_string() };
                self.session.observe(fact, Vec::new())?;
                Err(error.into())
            }
        }
    }

    fn hear(&mut self, reply: &ModelReply) -> Result<(), RuntimeError> {
        let fact = Fact::ModelReplied {
            text: Blob::of(&reply.text),
            tokens: concertina_tokens::count(&reply.text),
            calls: reply.calls.clone(),
            usage: reply.usage,
        };
        self.session.observe(fact, vec![reply.text.clone()])?;
        self.observer.on(Moment::Said { text: &reply.text, calls: &reply.calls });
        Ok(())
    }

    async fn act(&mut self, call: &ModelCall) -> Result<(), RuntimeError> {
        let mut reply = self.session.dispatch(self.workspace, call, true, &self.cancel)?;
        if let Some(skill) = reply.fork.take() {
            reply = self.fork(Origin::model(call.id.clone()), *skill).await?;
        }
        if let Some(answer) = &reply.answer {
            self.observer.on(Moment::Answered { call, answer });
        }
        Ok(())
    }

    /// Runs a skill in a session of its own and brings back only its result.
    async fn fork(&mut self, origin: Origin, skill: PreparedSkill) -> Result<Reply, RuntimeError> {
        let id = skill.id.clone();
        let mut settings = self.session.settings().clone();
        settings.forked_from.push(id.clone());
        // What the child may use is what the skill claims, within what the parent has.
        let claims = skill.tools.iter().filter_map(|text| Pattern::new(text).ok()).collect();
        settings.grant = settings.grant.narrowed(claims);
        lend(self.session.state(), &self.session.world(), &mut settings);
        // Where its declaration cannot be used, it reaches nothing.
        settings.access = access_of_fork(&settings, &id, &skill.permissions)
            .unwrap_or_else(|_| Access::nothing());
        let started = Started {
            principal: Some(self.session.state().principal.clone()),
            parent: Some((self.session.id().clone(), self.session.state().depth + 1)),
            settings: Some(settings),
            ..Started::default()
        };
        let mut child = Session::create(self.workspace, self.session.store().clone(), started)?;
        child.ask_as(self.session);
        let name = child.id().clone();
        self.session.apply(&Command::Forked { child: name.clone(), skill: id.clone() })?;
        self.observer.on(Moment::Forked { child: &name, skill: &id });
        let outcome = self.run_child(&mut child, origin.subject, skill).await;
        let (completed, result) = match outcome {
            Ok(outcome) => outcome,
            // The parent's own end is not the child's answer.
            Err(RuntimeError::Interrupted(_)) => (false, "stopped before its end".to_owned()),
            Err(error) => (false, format!("error {}: {error}", error.code())),
        };
        let unfolded = Unfolded { child: name, skill: id, completed, result };
        Ok(self.session.apply(&Command::Joined { origin, unfolded })?.reply)
    }

    /// Whether the child reached an answer, and what it says. The future is boxed, since a child
    /// may fork again.
    fn run_child<'b>(
        &'b mut self,
        child: &'b mut Session,
        subject: Subject,
        mut skill: PreparedSkill,
    ) -> LocalBoxFuture<'b, Result<(bool, String), RuntimeError>> {
        Box::pin(async move {
            let task = format!(
                "Do what skill:{} says and answer with its result only. Its text is below.",
                skill.id
            );
            child.task(task)?;
            // In the child the skill is simply open: its text, tools and permissions hold there.
            skill.mode = concertina_types::OpenMode::Inline;
            let origin = Origin { subject, call: None };
            let opened = child.apply(&Command::OpenSkill {
                origin,
                skill: Box::new(skill),
                can_fork: false,
                held: None,
            })?;
            if let Some(refusal) = opened.reply.refusal {
                return Ok((false, format!("error {}: {}", refusal.code, refusal.message)));
            }
            let mut agent = Agent {
                workspace: self.workspace,
                session: child,
                model: self.model,
                observer: self.observer,
                cancel: self.cancel.clone(),
            };
            Ok((true, agent.work().await?))
        })
    }

    fn interrupted<T>(&mut self, why: &str) -> Result<T, RuntimeError> {
        self.note_break(why)?;
        Err(RuntimeError::Interrupted(self.session.id().clone()))
    }

    fn note_break(&mut self, why: &str) -> Result<(), RuntimeError> {
        self.session.observe(Fact::SessionInterrupted { reason: why.to_owned() }, Vec::new())
    }
}
