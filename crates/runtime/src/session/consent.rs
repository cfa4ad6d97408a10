//! Questions to a person: asked, answered, or left open and said so.

use std::path::Path;
use std::sync::Arc;

use concertina_core::session::{Ask, Command, Origin, Refusal};
use concertina_types::{Answerer, ApprovalScope};

use super::{Applied, Reply, Session};
use crate::approval::{Agreed, Approver, Standing, Verdict};
use crate::clock::now;
use crate::error::RuntimeError;

impl Session {
    /// Lets `approver` answer, where the program of the settings does not: at once, while whoever asked
    /// waits.
    pub fn ask_by(&mut self, approver: Arc<dyn Approver>) {
        let first = Arc::clone(&self.approver);
        self.approver = Arc::new(Chain { first, then: approver });
    }

    /// Lets whoever answers for `parent` answer here.
    pub(crate) fn ask_as(&mut self, parent: &Self) {
        self.approver = Arc::clone(&parent.approver);
    }

    /// Gives `command`, and where a person has to agree first, asks them and gives it again.
    pub(super) fn apply_asking(&mut self, command: &Command) -> Result<Applied, RuntimeError> {
        let mut applied = self.apply(command)?;
        // One question for each thing that has to be agreed to; more would be a fault of ours.
        for _ in 0..QUESTIONS {
            let Some(ask) = &applied.ask else { break };
            if !self.settle_ask(ask)? {
                break;
            }
            applied = self.apply(command)?;
        }
        Ok(applied)
    }

    /// Asks whoever can be asked at once; says whether there was an answer.
    pub fn settle_ask(&mut self, ask: &Ask) -> Result<bool, RuntimeError> {
        let approver = Arc::clone(&self.approver);
        match approver.answer(ask) {
            Verdict::Nobody => Ok(false),
            Verdict::Refused { by } => self.disagree(&ask.id, by).map(|_| true),
            Verdict::Given { scope, by, typed } => {
                Ok(self.agree(&ask.id, scope, by, typed)?.is_none())
            }
        }
    }

    /// A person agrees to what was asked under `id`; gives why that does not count, where it does not.
    pub fn agree(
        &mut self,
        id: &str,
        scope: ApprovalScope,
        by: impl Into<Answerer>,
        typed: Option<String>,
    ) -> Result<Option<Refusal>, RuntimeError> {
        self.catch_up()?;
        let asked = self.state.approvals.get(id).cloned();
        let command = Command::Agree { id: id.to_owned(), scope, by: by.into(), typed };
        let refusal = self.apply(&command)?.reply.refusal;
        if refusal.is_none()
            && scope == ApprovalScope::Digest
            && let (Some(standing), Some(asked)) = (&self.agreed, asked)
        {
            standing.add(asked.key, Agreed { request: asked.request, at: now() })?;
            self.standing.insert(asked.key);
        }
        Ok(refusal)
    }

    /// A person refuses what was asked under `id`; gives why that does not count, where it does not.
    pub fn disagree(
        &mut self,
        id: &str,
        by: impl Into<Answerer>,
    ) -> Result<Option<Refusal>, RuntimeError> {
        self.catch_up()?;
        Ok(self.apply(&Command::Disagree { id: id.to_owned(), by: by.into() })?.reply.refusal)
    }

    /// The same session, with consent for good, and digests of files, kept below `home`.
    #[must_use]
    pub fn kept_below(mut self, home: &Path) -> Self {
        self.digests_below(home);
        self.agreed = Some(Standing::below(home));
        self
    }

    /// Tells whoever asked that nobody has answered, and how somebody can.
    pub fn unanswered(&mut self, origin: Origin, ask: &Ask) -> Result<Reply, RuntimeError> {
        let (request, refusal) = (ask.request.clone(), self.open_question(ask));
        let mut reply = self.apply(&Command::Refuse { origin, request, refusal })?.reply;
        reply.ask = Some(Box::new(ask.clone()));
        Ok(reply)
    }

    /// Puts on the record that a part of a request waits for a person; the request goes on without it.
    pub(super) fn left_open(
        &mut self,
        origin: &Origin,
        ask: &Ask,
    ) -> Result<Refusal, RuntimeError> {
        let (origin, request) = (origin.clone(), ask.request.clone());
        let refusal = ask.otherwise.clone();
        self.apply(&Command::Decline { origin, request, refusal: refusal.clone() })?;
        Ok(refusal)
    }

    /// Why what was asked for was not done: the question is open.
    fn open_question(&self, ask: &Ask) -> Refusal {
        let how = if self.store.is_fleeting() {
            "nobody could be asked here: run it in a terminal, or in a session that is kept"
                .to_owned()
        } else {
            format!("a person can agree: concertina approve grant {}", ask.id)
        };
        let mut refusal = ask.otherwise.clone();
        refusal.message = format!("{}; {how}", refusal.message);
        refusal
    }
}

/// Questions that one request may lead to: for a skill, and for each of its commands one.
const QUESTIONS: usize = 4;

/// One approver, and another where the first does not answer.
struct Chain {
    first: Arc<dyn Approver>,
    then: Arc<dyn Approver>,
}

impl Approver for Chain {
    fn answer(&self, ask: &Ask) -> Verdict {
        match self.first.answer(ask) {
            Verdict::Nobody => self.then.answer(ask),
            verdict => verdict,
        }
    }
}
