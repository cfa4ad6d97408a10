//! Rules that a person wrote.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::decision::{Decision, Effect, Reason};
use super::pattern::Pattern;

/// Who a session acts for.
pub type Principal = str;

/// The principal of a session that names none: the person at the machine, who may see what is not
/// denied. Any other name must be one of the policy's, where the policy names any.
pub const OWNER: &str = "local";

/// Patterns by effect. Deny beats ask, ask beats allow; the order of rules never matters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// What may happen without asking.
    pub allow: Vec<Pattern>,
    /// What needs a person's consent.
    pub ask: Vec<Pattern>,
    /// What may not happen, nor be seen.
    pub deny: Vec<Pattern>,
}

impl Rules {
    fn decide(&self, reference: &str, source: &str) -> Option<Decision> {
        let hit = |patterns: &[Pattern]| patterns.iter().find(|p| p.matches(reference)).cloned();
        let decision = |effect, code, verb, pattern: Pattern| {
            let text = format!("a rule {verb} {reference}");
            Decision::because(effect, Reason::new(code, text, format!("{source}: `{pattern}`")))
        };
        hit(&self.deny)
            .map(|p| decision(Effect::Deny, "POLICY_DENIES", "denies", p))
            .or_else(|| {
                hit(&self.ask).map(|p| decision(Effect::Ask, "POLICY_ASKS", "asks before", p))
            })
            .or_else(|| {
                hit(&self.allow).map(|p| decision(Effect::Allow, "POLICY_ALLOWS", "allows", p))
            })
    }

    fn names(&self, reference: &str) -> bool {
        self.allow.iter().chain(&self.ask).any(|pattern| pattern.as_str() == reference)
    }
}

/// All rules in force. Where the file that holds them could not be read, everything is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// For everyone.
    pub rules: Rules,
    /// For some, on top: a principal with an `allow` list sees only the skills and tools on it.
    pub principals: BTreeMap<String, Rules>,
    /// Why the policy could not be read; then everything is denied.
    pub unreadable: Option<String>,
}

impl Policy {
    /// What the policy says of `reference` (such as `tool:sql/query`) for `principal`.
    ///
    /// ```
    /// use concertina_core::policy::{Effect, Pattern, Policy};
    /// let mut policy = Policy::default();
    /// policy.rules.deny.push(Pattern::new("tool:shell")?);
    /// assert_eq!(policy.decide("anyone", "tool:shell").effect, Effect::Deny);
    /// assert_eq!(policy.decide("anyone", "tool:sql/query").effect, Effect::Allow);
    /// # Ok::<(), concertina_core::policy::PatternError>(())
    /// ```
    pub fn decide(&self, principal: &Principal, reference: &str) -> Decision {
        if let Some(why) = &self.unreadable {
            let text = format!("the policy could not be read, so {reference} is denied");
            return Decision::because(Effect::Deny, Reason::new("POLICY_UNREADABLE", text, why));
        }
        let general = self.rules.decide(reference, "policy");
        if principal != OWNER
            && !self.principals.is_empty()
            && !self.principals.contains_key(principal)
        {
            let text = format!("no [policy.principals.{principal}] says what {principal} may see");
            return Decision::because(
                Effect::Deny,
                Reason::new("PRINCIPAL_UNKNOWN", text, "policy"),
            );
        }
        let own = self.principals.get(principal).map(|rules| {
            let source = format!("policy for {principal}");
            rules.decide(reference, &source).unwrap_or_else(|| {
                // An allow list that says nothing of a skill or a tool leaves it out. Files and
                // results are no part of such a list.
                let given = ["skill:", "tool:"].iter().any(|kind| reference.starts_with(kind));
                if rules.allow.is_empty() || !given {
                    return Decision::allow();
                }
                let text = format!("{principal} is not given {reference}");
                Decision::because(Effect::Deny, Reason::new("PRINCIPAL_NOT_GIVEN", text, source))
            })
        });
        [general, own].into_iter().flatten().fold(Decision::allow(), Decision::and)
    }

    /// Whether a rule allows exactly `reference`, or asks before it, by name and not by a pattern.
    /// A principal's list says what it may see, not what may be destroyed.
    pub fn names(&self, reference: &str) -> bool {
        self.rules.names(reference)
    }
}
