//! `[policy]`: what is allowed, asked for and denied.

use std::collections::BTreeMap;

use concertina_types::Severity;
use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::fields::{Fields, Reader};
use crate::nearest::{list, nearest};

/// `[policy]`, or why there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicySetting {
    /// No file states one.
    #[default]
    Absent,
    /// What the files state together.
    Rules(Policy),
    /// A file states one that cannot be read in full. It means deny.
    Unreadable,
}

/// Rules, each a list of reference patterns: `*`, or a kind and a glob, such as `tool:sql/*` or
/// `skill:deploy`. A denial outweighs a question, a question outweighs a permission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Allowed without asking.
    pub allow: Vec<String>,
    /// Always asked for.
    pub ask: Vec<String>,
    /// Never allowed.
    pub deny: Vec<String>,
    /// What each principal may see, by name.
    pub principals: BTreeMap<String, PrincipalRules>,
}

/// What one principal may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PrincipalRules {
    /// Patterns of what it may see; where there are none, everything that is not denied.
    pub allow: Vec<String>,
    /// Patterns of what it may not see.
    pub deny: Vec<String>,
}

/// Kinds of references that a rule can be about.
const KINDS: [&str; 5] = ["tool", "skill", "menu", "file", "dir"];

/// Reads `[policy]` onto what the files before it state.
pub(super) fn read<'v>(
    reader: &mut Reader<'_>,
    value: &'v Spanned<DeValue<'v>>,
    base: PolicySetting,
) -> PolicySetting {
    let mut policy = match base {
        PolicySetting::Rules(policy) => policy,
        PolicySetting::Absent => Policy::default(),
        // Nothing that is read later makes it readable.
        PolicySetting::Unreadable => return PolicySetting::Unreadable,
    };
    let Some(mut fields) = Fields::open(reader, "policy", value) else {
        return PolicySetting::Unreadable;
    };
    // A rule that allows is what unhides a destructive tool: that is not for a workspace to say.
    let may_allow = !fields.reader.workspace();
    rules(&mut fields, "allow", &mut policy.allow, may_allow);
    rules(&mut fields, "ask", &mut policy.ask, true);
    rules(&mut fields, "deny", &mut policy.deny, true);
    let mut complete = true;
    if let Some(principals) = fields.value("principals") {
        if let Some(table) = principals.get_ref().as_table() {
            for (name, value) in table {
                complete &= principal(fields.reader, &mut policy, name.get_ref(), value, may_allow);
            }
        } else {
            fields.bad_value("principals", "must be a table", "write [policy.principals.NAME]");
        }
    }
    if fields.finish() && complete {
        PolicySetting::Rules(policy)
    } else {
        PolicySetting::Unreadable
    }
}

/// Reads what one principal may see. False where a part of it cannot be read.
fn principal<'v>(
    reader: &mut Reader<'_>,
    policy: &mut Policy,
    name: &str,
    value: &'v Spanned<DeValue<'v>>,
    may_allow: bool,
) -> bool {
    let path = format!("policy.principals.{name}");
    let Some(mut fields) = Fields::open(reader, path, value) else { return false };
    let principal = policy.principals.entry(name.to_owned()).or_default();
    // The first list narrows a principal from everything to something.
    let may_allow = may_allow || principal.allow.is_empty();
    rules(&mut fields, "allow", &mut principal.allow, may_allow);
    rules(&mut fields, "deny", &mut principal.deny, true);
    fields.finish()
}

fn rules(fields: &mut Fields<'_, '_, '_>, key: &'static str, into: &mut Vec<String>, may: bool) {
    let given = fields.strings(key).unwrap_or_default();
    if !may && !given.is_empty() {
        let span = fields.span(key);
        fields.reader.tell(
            "WORKSPACE_REFUSED",
            Severity::Warning,
            span,
            format!("a workspace may only narrow, so its `{key}` is ignored"),
            "allow it in the user's own concertina.toml",
        );
        return;
    }
    for rule in given {
        if let Some((message, help)) = fault(&rule) {
            fields.bad_value(key, message, help);
        } else if !into.contains(&rule) {
            into.push(rule);
        }
    }
}

/// What is wrong with a rule, and what to do about it.
fn fault(rule: &str) -> Option<(String, String)> {
    if rule == "*" {
        return None;
    }
    let Some((kind, pattern)) = rule.split_once(':') else {
        return Some((
            format!("`{rule}` names no kind"),
            format!("write `tool:{rule}` or `skill:{rule}`"),
        ));
    };
    if !KINDS.contains(&kind) {
        let help = nearest(kind, KINDS).map_or_else(
            || format!("the kinds are {}", list(KINDS)),
            |near| format!("did you mean `{near}:{pattern}`?"),
        );
        return Some((format!("`{kind}` in `{rule}` is no kind"), help));
    }
    match globset::Glob::new(pattern) {
        Ok(_) if pattern.is_empty() => {
            Some((format!("`{rule}` names nothing"), format!("write `{kind}:*` for all")))
        }
        Ok(_) => None,
        Err(error) => Some((
            format!("`{rule}` is no pattern: {}", error.kind()),
            "write it as in .gitignore, such as `tool:sql/*`".into(),
        )),
    }
}
