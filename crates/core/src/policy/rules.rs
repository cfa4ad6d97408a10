//! Rules that a person wrote, and what they come to together.

use std::collections::BTreeMap;

use concertina_types::Subject;
use serde::{Deserialize, Serialize};

use super::access::Access;
use super::decision::{Decision, Effect, Reason};
use super::path::FilePath;
use super::path_pattern::PathPattern;
use super::request::Request;
use super::rule::{Action, Asked, Reading, Rule};
use super::suggest::smallest;

/// Who a session acts for.
pub type Principal = str;

/// The principal of a session that names none: the person at the machine, who may see what is not
/// denied. Any other name must be one of the policy's, where the policy names any.
pub const OWNER: &str = "local";

/// Who wants something.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// Who the session acts for.
    pub principal: &'a Principal,
    /// Whether a person typed it or the model asked for it. Where that is not known, rules for either
    /// forbid and neither permits.
    pub subject: Option<Subject>,
}

/// Rules by effect. Deny beats ask, ask beats allow; the order of rules never matters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// What may happen without asking.
    pub allow: Vec<Rule>,
    /// What needs a person's consent.
    pub ask: Vec<Rule>,
    /// What may not happen, nor be seen.
    pub deny: Vec<Rule>,
}

impl Rules {
    fn decide(
        &self,
        subject: Option<Subject>,
        asked: &Asked<'_>,
        source: &str,
    ) -> Option<Decision> {
        let lists = [
            (Effect::Deny, &self.deny, Reading::Forbid, "POLICY_DENIES", "denies"),
            (Effect::Ask, &self.ask, Reading::Forbid, "POLICY_ASKS", "asks before"),
            (Effect::Allow, &self.allow, Reading::Permit, "POLICY_ALLOWS", "allows"),
        ];
        lists.into_iter().find_map(|(effect, rules, reading, code, verb)| {
            let covers =
                |rule: &&Rule| rule.is_for(subject, reading) && rule.covers(asked, reading);
            let rule = rules.iter().find(covers)?;
            let text = format!("a rule {verb} {}", asked.words());
            let source = match rule.source() {
                Some(place) => format!("{source}, {place}: `{rule}`"),
                None => format!("{source}: `{rule}`"),
            };
            Some(Decision::because(effect, Reason::new(code, text, source)))
        })
    }

    /// Whether a rule surely lets somebody have what is asked, asking first or not.
    fn give(&self, subject: Option<Subject>, asked: &Asked<'_>) -> bool {
        let reading = Reading::Permit;
        let mut rules = self.allow.iter().chain(&self.ask);
        rules.any(|rule| rule.is_for(subject, reading) && rule.covers(asked, reading))
    }

    /// The paths that a program may not read, or not write, whatever it was granted: what is denied, and
    /// what is asked for, since nobody can be asked while it runs.
    fn closed(&self, subject: Option<Subject>, writing: bool) -> impl Iterator<Item = PathPattern> {
        let rules = self.deny.iter().chain(&self.ask);
        rules
            .filter(move |rule| rule.is_for(subject, Reading::Forbid))
            .filter_map(move |rule| rule.paths(writing))
    }

    fn names(&self, reference: &str) -> bool {
        let mut rules = self.allow.iter().chain(&self.ask);
        rules.any(|rule| rule.as_str() == reference && rule.is_for(None, Reading::Permit))
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
    /// Where references such as `file:src/a.rs` start, so that rules about paths hold for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<FilePath>,
}

impl Policy {
    /// What the policy says of `reference` (such as `tool:sql/query`) for `principal`, whoever acts.
    ///
    /// ```
    /// use concertina_core::policy::{Effect, Pattern, Policy};
    /// let mut policy = Policy::default();
    /// policy.rules.deny.push(Pattern::new("tool:shell")?.into());
    /// assert_eq!(policy.decide("anyone", "tool:shell").effect, Effect::Deny);
    /// assert_eq!(policy.decide("anyone", "tool:sql/query").effect, Effect::Allow);
    /// # Ok::<(), concertina_core::policy::PatternError>(())
    /// ```
    pub fn decide(&self, principal: &Principal, reference: &str) -> Decision {
        self.judge(Caller { principal, subject: None }, Action::Reference(reference))
    }

    /// What the policy says of `action` for `caller`. Where no rule speaks of it, it is allowed: what a
    /// skill did not declare is denied elsewhere, by [`Self::permit`].
    pub fn judge(&self, caller: Caller<'_>, action: Action<'_>) -> Decision {
        let asked = Asked::from(action);
        if let (Action::Reference(_), Some(id)) = (action, asked.skill()) {
            // Whether a skill may be seen: it may, where it can be opened in one way or another.
            let [without, with] = ["", "…"]
                .map(|arguments| self.judged(caller, &Action::Skill { id, arguments }.into()));
            return if with.effect < without.effect { with } else { without };
        }
        let decision = self.judged(caller, &asked);
        match action {
            Action::Reference(reference) if decision.effect != Effect::Deny => {
                match self.shown(caller, reference) {
                    Some(of_path) => decision.and(of_path),
                    None => decision,
                }
            }
            _ if asked.needs_shell() && decision.effect == Effect::Allow => {
                let text = "the command needs a shell, and a rule for a part of it allows nothing";
                decision.and(Decision::because(
                    Effect::Ask,
                    Reason::new("NEEDS_SHELL", text, "default"),
                ))
            }
            _ => decision,
        }
    }

    /// What rules about paths say of showing a file or a directory of the workspace.
    fn shown(&self, caller: Caller<'_>, reference: &str) -> Option<Decision> {
        let path = reference.strip_prefix("file:").or_else(|| reference.strip_prefix("dir:"))?;
        let workspace = self.workspace.as_ref()?;
        match workspace.join(path) {
            Ok(path) => Some(self.judged(caller, &Action::Request(&Request::Read(path)).into())),
            Err(refused) => Some(Decision::because(
                Effect::Deny,
                Reason::new(refused.code(), refused.to_string(), "policy"),
            )),
        }
    }

    fn judged(&self, caller: Caller<'_>, asked: &Asked<'_>) -> Decision {
        let Caller { principal, subject } = caller;
        if let Some(why) = &self.unreadable {
            let text = format!("the policy could not be read, so {} is denied", asked.words());
            return Decision::because(Effect::Deny, Reason::new("POLICY_UNREADABLE", text, why));
        }
        let general = self.rules.decide(subject, asked, "policy");
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
            let decided = rules.decide(subject, asked, &source).unwrap_or_else(Decision::allow);
            // An allow list that says nothing of a skill or a tool leaves it out. Files and results are
            // no part of such a list.
            let reference = asked.reference().unwrap_or_default();
            let given = ["skill:", "tool:"].iter().any(|kind| reference.starts_with(kind));
            if rules.allow.is_empty() || !given || rules.give(subject, asked) {
                return decided;
            }
            let text = format!("{principal} is not given {reference}");
            let reason = Reason::new("PRINCIPAL_NOT_GIVEN", text, source);
            decided.and(Decision::because(Effect::Deny, reason))
        });
        [general, own].into_iter().flatten().fold(Decision::allow(), Decision::and)
    }

    /// Whether `caller` may do what `request` says with `access`, which it has been given: rules deny
    /// and ask, and only what is declared is allowed. What is not declared comes to `undeclared`, deny
    /// or ask, with the smallest declaration that would allow it; no rule replaces one.
    ///
    /// ```
    /// use concertina_core::policy::{Access, Caller, Effect, OWNER, Policy, Request};
    /// let caller = Caller { principal: OWNER, subject: None };
    /// let request = Request::Run(vec!["git".into(), "status".into()]);
    /// let decision = Policy::default().permit(caller, &Access::nothing(), &request, Effect::Deny);
    /// assert_eq!(decision.effect, Effect::Deny);
    /// assert_eq!(decision.reasons[0].code, "NOT_DECLARED");
    /// assert_eq!(decision.proposal.unwrap().execute, ["git status"]);
    /// ```
    pub fn permit(
        &self,
        caller: Caller<'_>,
        access: &Access,
        request: &Request,
        undeclared: Effect,
    ) -> Decision {
        let rules = self.judge(caller, Action::Request(request));
        if access.covers(request) {
            let text = format!("{request} is declared");
            let declared = Reason::new("DECLARED", text, "permissions");
            return rules.and(Decision::because(Effect::Allow, declared));
        }
        let text = format!("{request} is not declared");
        let reason = Reason::new("NOT_DECLARED", text, "permissions");
        let missing = Decision::because(undeclared.max(Effect::Ask), reason);
        if rules.effect == Effect::Deny {
            return rules.and(missing);
        }
        Decision { proposal: smallest(request).map(Box::new), ..missing.and(rules) }
    }

    /// The paths that are closed to `caller` whatever is granted: to read and, second, to write.
    pub fn closed(&self, caller: Caller<'_>) -> [Vec<PathPattern>; 2] {
        let own = self.principals.get(caller.principal);
        [false, true].map(|writing| {
            let general = self.rules.closed(caller.subject, writing);
            let own = own.into_iter().flat_map(|rules| rules.closed(caller.subject, writing));
            general.chain(own).collect()
        })
    }

    /// Whether a rule allows exactly `reference`, or asks before it, by name and not by a pattern.
    /// A principal's list says what it may see, not what may be destroyed.
    pub fn names(&self, reference: &str) -> bool {
        self.rules.names(reference)
    }
}
