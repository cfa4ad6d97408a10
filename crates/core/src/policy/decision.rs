//! A verdict and its reasons.

use concertina_types::Permissions;
use serde::{Deserialize, Serialize};

/// What a policy says about one action. The order is the order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It may happen.
    Allow,
    /// It may happen once a person agrees.
    Ask,
    /// It may not happen.
    Deny,
}

/// One ground for a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reason {
    /// A stable code, such as `POLICY_DENIES`.
    pub code: String,
    /// The ground in words.
    pub text: String,
    /// Where it comes from: a rule, a file, a skill.
    pub source: String,
}

impl Reason {
    /// A ground with its code, words and origin.
    pub fn new(code: &str, text: impl Into<String>, source: impl Into<String>) -> Self {
        Self { code: code.to_owned(), text: text.into(), source: source.into() }
    }
}

/// A verdict and why it is so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The verdict.
    pub effect: Effect,
    /// The grounds; the first is one for the verdict.
    pub reasons: Vec<Reason>,
    /// What would have to be declared for it to be allowed, and no more; none where no declaration
    /// would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Box<Permissions>>,
}

impl Decision {
    /// Allowed, for want of anything against it.
    pub fn allow() -> Self {
        Self { effect: Effect::Allow, reasons: Vec::new(), proposal: None }
    }

    /// One verdict with one ground.
    pub fn because(effect: Effect, reason: Reason) -> Self {
        Self { effect, reasons: vec![reason], proposal: None }
    }

    /// Both verdicts together: the stricter effect, and the grounds of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.proposal = self.proposal.or(other.proposal);
        if other.effect > self.effect {
            self.effect = other.effect;
            self.reasons.splice(0..0, other.reasons);
        } else {
            self.reasons.extend(other.reasons);
        }
        self
    }
}
