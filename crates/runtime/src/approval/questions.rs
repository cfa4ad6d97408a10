//! The questions that sessions of a store asked, for whoever answers them from elsewhere.

use std::collections::BTreeSet;
use std::path::PathBuf;

use concertina_core::procedure::TaskCard;
use concertina_core::session::{Answered, Approval, Refusal};
use concertina_store::{SessionSummary, Store};
use concertina_types::{Answerer, ApprovalScope, Envelope, Fact, SessionId, limits};
use serde::Serialize;

use crate::clock::now;
use crate::error::RuntimeError;
use crate::session::Session;

/// Whose questions somebody sees and answers: those of sessions that act on behalf of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// All of them.
    Everybody,
    /// These principals.
    Only(BTreeSet<String>),
}

impl Whose {
    fn holds(&self, principal: &str) -> bool {
        match self {
            Self::Everybody => true,
            Self::Only(principals) => principals.contains(principal),
        }
    }
}

/// A question as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The name under which it is answered.
    pub id: String,
    /// The session that asked.
    pub session: SessionId,
    /// On whose behalf that acts.
    pub principal: String,
    /// The directory that it works in.
    pub workspace: String,
    /// What was asked for.
    pub request: String,
    /// The action as it would really happen.
    pub action: String,
    /// Why it asks; empty in records that do not say.
    pub why: String,
    /// What has to be typed to agree, where a yes is not enough.
    pub phrase: Option<String>,
    /// How it stands.
    pub state: &'static str,
    /// When it was asked, or answered, as RFC 3339.
    pub at: String,
}

/// Questions, and the sessions whose questions cannot be told.
#[derive(Debug, Default)]
pub struct Questions {
    /// The one that has stood for the longest time comes first.
    pub questions: Vec<Question>,
    /// Sessions that cannot be read, and why.
    pub left_out: Vec<(SessionId, RuntimeError)>,
}

/// What somebody answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A yes.
    Grant {
        /// How far it reaches.
        scope: ApprovalScope,
        /// What was typed, where that is needed.
        typed: Option<String>,
    },
    /// A no.
    Deny,
}

/// All questions of a store, and the way to answer them.
#[derive(Debug, Clone)]
pub struct Inbox {
    store: Store,
    home: PathBuf,
}

impl Inbox {
    /// The questions of `store`. What is agreed to for good is kept below `home`.
    pub fn new(store: Store, home: PathBuf) -> Self {
        Self { store, home }
    }

    /// The questions of these sessions that wait for an answer.
    ///
    /// # Errors
    /// Why the store cannot be read.
    pub fn waiting(&self, whose: &Whose) -> Result<Questions, RuntimeError> {
        // A question waits so long and no longer, and asking it was an event of its session.
        let since = now().0.saturating_sub(limits::APPROVAL_SECONDS.saturating_mul(1_000));
        let recent = self.store.events.sessions()?.into_iter().filter(|one| one.last.0 >= since);
        let mut questions = self.of(recent, whose);
        questions.questions.retain(|one| one.state == WAITS);
        Ok(questions)
    }

    /// All questions that these sessions ever asked.
    ///
    /// # Errors
    /// Why the store cannot be read.
    pub fn all(&self, whose: &Whose) -> Result<Questions, RuntimeError> {
        Ok(self.of(self.store.events.sessions()?, whose))
    }

    /// Answers the question `id`, and gives how it stands then; or why the answer does not count. A
    /// question of another session than these is like one that there is not.
    ///
    /// # Errors
    /// Why the answer cannot be recorded.
    pub fn answer(
        &self,
        whose: &Whose,
        id: &str,
        choice: Choice,
        by: Answerer,
    ) -> Result<Result<Question, Refusal>, RuntimeError> {
        let mut left_out = 0;
        // What is answered was most likely asked a moment ago.
        let mut sessions = self.store.events.sessions()?;
        sessions.sort_by_key(|one| std::cmp::Reverse(one.last));
        for summary in sessions {
            let session = match self.asking(summary.session, whose, Some(id)) {
                Ok(None) => continue,
                Ok(Some(session)) => session,
                Err(_) => {
                    left_out += 1;
                    continue;
                }
            };
            let mut session = session.kept_below(&self.home);
            let refusal = match choice {
                Choice::Grant { scope, typed } => session.agree(id, scope, by, typed)?,
                Choice::Deny => session.disagree(id, by)?,
            };
            if let Some(refusal) = refusal {
                return Ok(Err(refusal));
            }
            let approval = session.state().approvals.get(id).cloned();
            let approval = approval.ok_or_else(|| {
                RuntimeError::Internal(format!("the question {id} is gone once it was answered"))
            })?;
            return question(&session, id, &approval).map(Ok);
        }
        let unread = if left_out == 0 {
            String::new()
        } else {
            format!("; sessions that cannot be read: {left_out}")
        };
        Ok(Err(Refusal::new("NOT_FOUND", format!("no session asked {id}{unread}"))))
    }

    /// Gives a statement on a checkpoint to the session `id`, and tells where its procedure stands then; or why
    /// the statement does not count.
    ///
    /// # Errors
    /// Where there is no such session, or it cannot be read or written. Whose key it does not know, nothing tells a
    /// session from none.
    pub fn hear(
        &self,
        id: SessionId,
        envelope: &Envelope,
    ) -> Result<Result<Option<TaskCard>, Refusal>, RuntimeError> {
        let mut session = Session::resume(self.store.clone(), id.clone())?.kept_below(&self.home);
        if !session.knows_sender(envelope)? {
            return Err(RuntimeError::NoSession(id));
        }
        let refusal = session.hear(envelope)?.refusal;
        Ok(refusal.map_or_else(|| Ok(session.task_card()), Err))
    }

    fn of(&self, sessions: impl IntoIterator<Item = SessionSummary>, whose: &Whose) -> Questions {
        let mut found = Questions::default();
        for SessionSummary { session, .. } in sessions {
            let asked = self.asking(session.clone(), whose, None).and_then(|session| {
                let Some(session) = session else { return Ok(Vec::new()) };
                let approvals = &session.state().approvals;
                approvals.iter().map(|(id, one)| question(&session, id, one)).collect()
            });
            match asked {
                Ok(questions) => found.questions.extend(questions),
                Err(error) => found.left_out.push((session, error)),
            }
        }
        found.questions.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.id.cmp(&b.id)));
        found
    }

    /// The session `id` as it is now, where it is one of these and asked something: `asked`, or
    /// anything at all.
    fn asking(
        &self,
        id: SessionId,
        whose: &Whose,
        asked: Option<&str>,
    ) -> Result<Option<Session>, RuntimeError> {
        let events = self.store.verify(&id)?;
        let is_theirs = events.iter().any(|event| match &event.fact {
            Fact::SessionStarted { principal, .. } => whose.holds(principal),
            _ => false,
        });
        let is_asked = events.iter().any(|event| match &event.fact {
            Fact::ApprovalAsked { id, .. } => asked.is_none_or(|asked| asked == id),
            _ => false,
        });
        if !is_theirs || !is_asked {
            return Ok(None);
        }
        Session::resume(self.store.clone(), id).map(Some)
    }
}

fn question(session: &Session, id: &str, one: &Approval) -> Result<Question, RuntimeError> {
    let action = one.action.map(|blob| session.text(&blob)).transpose()?;
    Ok(Question {
        id: id.to_owned(),
        session: session.id().clone(),
        principal: session.state().principal.clone(),
        workspace: session.settings().site.workspace.clone(),
        request: one.request.clone(),
        action: action.unwrap_or_default(),
        why: one.why.clone(),
        phrase: one.phrase.clone(),
        state: state(one),
        at: one.at.to_string(),
    })
}

/// What a question that waits is said to do.
const WAITS: &str = "waits";

fn state(one: &Approval) -> &'static str {
    match one.answered {
        Answered::No if one.is_open(now()) => WAITS,
        Answered::No => "expired",
        Answered::Given(ApprovalScope::Once) => "agreed once",
        Answered::Given(ApprovalScope::Session) => "agreed for the session",
        Answered::Given(ApprovalScope::Digest) => "agreed for these bytes",
        Answered::Used => "used",
        Answered::Refused => "refused",
        Answered::Withdrawn => "asked anew",
    }
}
