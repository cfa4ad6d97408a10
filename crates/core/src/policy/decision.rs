//! A verdict and its reasons.

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
}

impl Decision {
    /// Allowed, for want of anything against it.
    pub fn allow() -> Self {
        Self { effect: Effect::Allow, reasons: Vec::new() }
    }

    /// One verdict with one ground.
    pub fn because(effect: Effect, reason: Reason) -> Self {
        Self { effect, reasons: vec![reason] }
    }

    /// Both verdicts together: the stricter effect, and the grounds of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if other.effect > self.effect {
            self.effect = other.effect;
            self.reasons.splice(0..0, other.reasons);
        } else {
            self.reasons.extend(other.reasons);
        }
        self
    }
}
