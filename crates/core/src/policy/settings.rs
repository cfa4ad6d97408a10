//! The policy that settings state.

use concertina_format::config::{self, ConfigOrigin};

use super::rule::{Places, Reading, Rule, RuleError};
use super::rules::{Policy, Rules};

impl Policy {
    /// The policy of `settings`, and all that is wrong with it. Where anything is, the policy denies
    /// everything: half of it might be the half that allows.
    ///
    /// An example that its rule does not cover, or that it covers and should not, is wrong, too. `file`
    /// tells where the settings of an origin stand.
    ///
    /// ```
    /// use concertina_core::policy::{Places, Policy};
    /// use concertina_format::config::{ConfigOrigin, PolicySetting, parse};
    /// let text = "[[policy.rule]]\ndeny = \"Bash(rm *)\"\nexamples = [\"rmdir x\"]\n";
    /// let (config, _) = parse(text, ConfigOrigin::User);
    /// let PolicySetting::Rules(settings) = config.policy else { panic!("it can be read") };
    /// let (policy, errors) = Policy::read(&settings, &Places::default(), |_| "file".to_owned());
    /// assert_eq!(errors[0].1.reason, "its example `rmdir x` is not covered");
    /// assert!(policy.unreadable.is_some());
    /// ```
    pub fn read(
        settings: &config::Policy,
        places: &Places,
        file: impl Fn(ConfigOrigin) -> String,
    ) -> (Self, Vec<(config::Rule, RuleError)>) {
        let mut errors = Vec::new();
        let mut list = |rules: &[config::Rule], reading: Reading| -> Vec<Rule> {
            let mut list = Vec::new();
            for rule in rules {
                match checked(rule, places, reading) {
                    Ok(read) => {
                        let source = format!("{}:{}", file(rule.origin), rule.line);
                        list.push(read.only_for(rule.subject).from_source(source));
                    }
                    Err(error) => errors.push((rule.clone(), error)),
                }
            }
            list
        };
        let rules = Rules {
            allow: list(&settings.allow, Reading::Permit),
            ask: list(&settings.ask, Reading::Forbid),
            deny: list(&settings.deny, Reading::Forbid),
        };
        let principals = settings.principals.iter().map(|(name, own)| {
            let rules = Rules {
                allow: list(&own.allow, Reading::Permit),
                ask: Vec::new(),
                deny: list(&own.deny, Reading::Forbid),
            };
            (name.clone(), rules)
        });
        let principals = principals.collect();
        let unreadable = errors
            .first()
            .map(|(rule, error)| format!("{}:{}: {error}", file(rule.origin), rule.line));
        (Self { rules, principals, unreadable, workspace: places.workspace.clone() }, errors)
    }
}

/// The rule, where it does what its examples say.
fn checked(rule: &config::Rule, places: &Places, reading: Reading) -> Result<Rule, RuleError> {
    let read = Rule::new(&rule.rule, places)?;
    let examples = rule.examples.iter().map(|example| (example, true));
    for (example, expected) in examples.chain(rule.not.iter().map(|example| (example, false))) {
        let error = |reason: String| RuleError::new(&rule.rule, reason);
        let covered = read
            .check(example, places, reading)
            .map_err(|why| error(format!("its example `{example}` cannot be read: {why}")))?;
        if covered != expected {
            let what = if expected { "is not covered" } else { "is covered and should not be" };
            return Err(error(format!("its example `{example}` {what}")));
        }
    }
    Ok(read)
}
