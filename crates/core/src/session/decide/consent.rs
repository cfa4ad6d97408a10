//! Actions that wait for a person.

use concertina_types::{Actor, Answerer, ApprovalScope, Digest, Fact, Means, limits};

use super::super::answer::Refusal;
use super::super::approval::{Action, Answered, Ask};
use super::super::command::Origin;
use super::draft::{Deciding, actor};
use crate::policy::Reason;

/// Whether an action may happen.
pub(super) enum Consent {
    /// Without any: nothing asks for it.
    None,
    /// On this consent.
    Given(String),
    /// Not before a person has answered; the question is part of the decision.
    Asked,
    /// Not, and that is not asked again.
    Refused(Refusal),
}

impl Deciding<'_> {
    /// The consent that lets `action` happen. Where there is none, a person is asked, because of `why`;
    /// `otherwise` is what is said where nobody answers.
    pub(super) fn consent(
        &mut self,
        origin: &Origin,
        action: &Action,
        why: &Reason,
        otherwise: Refusal,
    ) -> Consent {
        let key = action.key();
        if let Some(id) = self.state.consent(&key, self.now) {
            return Consent::Given(id.to_owned());
        }
        let mut same = self.state.approvals.iter().filter(|(_, one)| one.key == key);
        // A no holds until the person says something else.
        let is_refused = |answered| answered == Answered::Refused;
        if same.clone().any(|(_, one)| is_refused(one.answered) && one.step == self.state.step) {
            let text = format!("a person refused: {}", action.request);
            return Consent::Refused(Refusal::new("APPROVAL_REFUSED", text));
        }
        if action.phrase.is_none() && self.world.standing.contains(&key) {
            let id = self.question(&key);
            let (scope, by) = (ApprovalScope::Digest, Means::Earlier.into());
            self.fact(Actor::User, Fact::ApprovalGiven { id: id.clone(), key, scope, by });
            return Consent::Given(id);
        }
        let open = same.find(|(_, one)| one.is_open(self.now)).map(|(id, _)| id.clone());
        let text = action.text();
        let id = if let Some(id) = open {
            id
        } else {
            let waiting = self.state.approvals.values().filter(|one| one.is_open(self.now));
            if waiting.count() >= limits::APPROVALS_OPEN {
                let text = format!(
                    "{} questions wait for a person already; answer some first: concertina approve list",
                    limits::APPROVALS_OPEN
                );
                return Consent::Refused(Refusal::new("APPROVALS_FULL", text));
            }
            let id = self.question(&key);
            let fact = Fact::ApprovalAsked {
                id: id.clone(),
                key,
                request: action.request.clone(),
                action: self.keep(text.clone()),
                phrase: action.phrase.clone(),
                code: why.code.clone(),
                why: why.text.clone(),
                checkpoint: None,
            };
            self.fact(actor(origin), fact);
            id
        };
        self.decision.ask = Some(Ask {
            id,
            key,
            request: action.request.clone(),
            action: text,
            why: why.text.clone(),
            phrase: action.phrase.clone(),
            widens: otherwise.code != "APPROVAL_NEEDED",
            checkpoint: None,
            otherwise,
        });
        Consent::Asked
    }

    /// The name of a new question: short, and no other session has it.
    pub(super) fn question(&self, key: &Digest) -> String {
        let session = self.state.session.as_ref().map_or("", |session| session.as_str());
        let seq = self.state.seq.to_string();
        let parts = [session.as_bytes(), b" ", seq.as_bytes(), b" ", key.hex().as_bytes()]
            .map(<[u8]>::to_vec);
        let digest = Digest::of_parts(parts.iter().map(Vec::as_slice));
        format!("ask-{}", digest.hex().chars().take(10).collect::<String>())
    }

    /// A person answers a question with a yes.
    pub(super) fn agree(
        &mut self,
        id: &str,
        scope: ApprovalScope,
        by: Answerer,
        typed: Option<&str>,
    ) {
        let request = format!("approve {id}");
        let origin = Origin::user();
        let known = self.state.approvals.get(id);
        let Some(approval) = known.filter(|one| one.is_open(self.now) || one.can_turn(self.now))
        else {
            let refusal = self.unanswerable(id);
            return self.refuse(&origin, request, refusal);
        };
        if let Some(phrase) = &approval.phrase {
            if typed.map(str::trim) != Some(phrase.as_str()) {
                let text = format!("this needs the words typed exactly: {phrase}");
                return self.refuse(&origin, request, Refusal::new("PHRASE_NEEDED", text));
            }
            if scope != ApprovalScope::Once {
                let text = "what needs typed words is agreed to once, each time anew";
                return self.refuse(&origin, request, Refusal::new("ONCE_ONLY", text));
            }
        }
        let checkpoint = approval.checkpoint.clone();
        if let Some(refusal) =
            checkpoint.as_ref().and_then(|name| self.unprovable(approval, name, by.means))
        {
            return self.refuse(&origin, request, refusal);
        }
        let (key, approval, means) = (approval.key, approval.clone(), by.means);
        self.fact(Actor::User, Fact::ApprovalGiven { id: id.to_owned(), key, scope, by });
        if let Some(checkpoint) = checkpoint {
            self.receipt_of_person((id, &approval), &checkpoint, true, means);
        }
    }

    /// A person answers a question with a no.
    pub(super) fn disagree(&mut self, id: &str, by: Answerer) {
        let open = self.state.approvals.get(id).filter(|one| one.is_open(self.now));
        if let Some(approval) = open.cloned() {
            let means = by.means;
            self.fact(Actor::User, Fact::ApprovalRefused { id: id.to_owned(), by });
            if let Some(checkpoint) = &approval.checkpoint {
                self.receipt_of_person((id, &approval), checkpoint, false, means);
            }
            return;
        }
        let refusal = self.unanswerable(id);
        self.refuse(&Origin::user(), format!("deny {id}"), refusal);
    }

    fn unanswerable(&self, id: &str) -> Refusal {
        match self.state.approvals.get(id) {
            None => {
                Refusal::new("NOT_FOUND", format!("no question {id} was asked in this session"))
            }
            Some(one) if one.answered == Answered::No => {
                let text = format!(
                    "question {id} waited longer than {} minutes; it is asked again when the action is",
                    limits::APPROVAL_SECONDS / 60
                );
                Refusal::new("APPROVAL_EXPIRED", text)
            }
            Some(_) => {
                Refusal::new("APPROVAL_ANSWERED", format!("question {id} was answered already"))
            }
        }
    }
}
