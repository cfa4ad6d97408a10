//! Who answers when a person has to agree, and what was agreed to for good.
//!
//! A session asks its [`Approver`]. Where nobody answers, the question stays in the log under its name, and
//! `concertina approve`, a client, or a person over HTTP can answer it from elsewhere; what asked is told so. An
//! [`Inbox`] is for them: the questions of all sessions.

mod hook;
mod questions;
mod standing;
mod targets;

use concertina_core::session::Ask;
use concertina_types::{ApprovalScope, Means};

pub use hook::Hook;
pub use questions::{Choice, Inbox, Question, Questions, Whose};
pub use standing::{Agreed, Standing};
pub(crate) use targets::{paths, pins, targets, targets_of_command};

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A yes.
    Given {
        /// How far it reaches.
        scope: ApprovalScope,
        /// By which way it came.
        by: Means,
        /// What was typed, where that is needed.
        typed: Option<String>,
    },
    /// A no.
    Refused {
        /// By which way it came.
        by: Means,
    },
    /// There was nobody to ask.
    Nobody,
}

/// Whoever can be asked at once.
pub trait Approver: Send + Sync {
    /// The answer to `ask`. Waits for it as long as it takes.
    fn answer(&self, ask: &Ask) -> Verdict;
}

/// Nobody: every question stays open.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn answer(&self, _: &Ask) -> Verdict {
        Verdict::Nobody
    }
}

/// Agreed to beforehand, as with `--yes`: every question but those that want typed words. It widens
/// nothing: what is denied or not declared is no question of this kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beforehand;

impl Approver for Beforehand {
    fn answer(&self, ask: &Ask) -> Verdict {
        if ask.phrase.is_some() || ask.widens {
            return Verdict::Nobody;
        }
        Verdict::Given { scope: ApprovalScope::Once, by: Means::Option, typed: None }
    }
}
