//! `[policy]`: what is allowed, asked for and denied.

use std::collections::BTreeMap;
use std::ops::Range;

use concertina_types::{Severity, Subject};
use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::ConfigOrigin;
use super::fields::{Fields, Reader, strings, wrong_type};
use super::rule::RuleText;

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

/// Rules by effect. A denial outweighs a question, a question outweighs a permission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Allowed without asking.
    pub allow: Vec<Rule>,
    /// Always asked for.
    pub ask: Vec<Rule>,
    /// Never allowed.
    pub deny: Vec<Rule>,
    /// What each principal may see, by name.
    pub principals: BTreeMap<String, PrincipalRules>,
}

/// What one principal may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PrincipalRules {
    /// What it may see; where there is nothing, everything that is not denied.
    pub allow: Vec<Rule>,
    /// What it may not see.
    pub deny: Vec<Rule>,
}

/// A rule, and how to tell that it does what its author meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it covers, as [`RuleText`] spells it: `*`, or a kind and a pattern.
    pub rule: String,
    /// For whom; everyone where nothing is said.
    pub subject: Option<Subject>,
    /// What it has to cover.
    pub examples: Vec<String>,
    /// What it must not cover.
    pub not: Vec<String>,
    /// Whose file it stands in.
    pub origin: ConfigOrigin,
    /// Where in that file, counted from 1.
    pub line: u32,
}

impl Serialize for Rule {
    /// The text alone, where there is no more to it.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            rule: &'a str,
            #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
            subject: Option<Subject>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            examples: &'a [String],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            not: &'a [String],
        }
        let Self { rule, subject, examples, not, .. } = self;
        if subject.is_none() && examples.is_empty() && not.is_empty() {
            return serializer.serialize_str(rule);
        }
        Whole { rule, subject: *subject, examples, not }.serialize(serializer)
    }
}

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
    if let Some(value) = fields.value("rule") {
        match value.get_ref().as_array() {
            Some(entries) => {
                for entry in entries {
                    complete &= with_examples(fields.reader, &mut policy, entry, may_allow);
                }
            }
            None => fields.bad_value("rule", "must be a list of tables", "write [[policy.rule]]"),
        }
    }
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

fn rules(fields: &mut Fields<'_, '_, '_>, key: &'static str, into: &mut Vec<Rule>, may: bool) {
    let Some(value) = fields.value(key) else { return };
    let Some(entries) = value.get_ref().as_array() else {
        return wrong_type(fields.reader, &fields.path_of(key), value, "a list of texts");
    };
    if !may && !entries.is_empty() {
        return ignored(fields.reader, value.span(), key);
    }
    for entry in entries {
        let Some(text) = entry.get_ref().as_str() else {
            wrong_type(fields.reader, &fields.path_of(key), entry, "a text");
            continue;
        };
        if let Some(rule) = rule(fields.reader, &format!("policy.{key}"), text, entry.span()) {
            push(into, rule);
        }
    }
}

fn push(into: &mut Vec<Rule>, rule: Rule) {
    let is_there = |other: &Rule| other.rule == rule.rule && other.subject == rule.subject;
    match into.iter_mut().find(|other| is_there(other)) {
        // Each file says what its own rule has to do.
        Some(other) => {
            other.examples.extend(rule.examples);
            other.not.extend(rule.not);
        }
        None => into.push(rule),
    }
}

/// Says that a workspace may not allow.
fn ignored(reader: &mut Reader<'_>, span: Range<usize>, key: &str) {
    reader.tell(
        "WORKSPACE_REFUSED",
        Severity::Warning,
        span,
        format!("a workspace may only narrow, so its `{key}` is ignored"),
        "allow it in the user's own concertina.toml",
    );
}

/// The rule that `text` is; none, and an error, where it is none.
fn rule(reader: &mut Reader<'_>, path: &str, text: &str, span: Range<usize>) -> Option<Rule> {
    match text.parse::<RuleText>() {
        Ok(rule) => Some(Rule {
            rule: rule.to_string(),
            subject: None,
            examples: Vec::new(),
            not: Vec::new(),
            origin: reader.origin,
            line: reader.line(span.start),
        }),
        Err(fault) => {
            reader.error("BAD_VALUE", span, format!("`{path}`: {}", fault.message), fault.help);
            None
        }
    }
}

/// Reads one `[[policy.rule]]`. False where a part of it cannot be read.
fn with_examples<'v>(
    reader: &mut Reader<'_>,
    policy: &mut Policy,
    value: &'v Spanned<DeValue<'v>>,
    may_allow: bool,
) -> bool {
    const EFFECTS: [&str; 3] = ["allow", "ask", "deny"];
    let Some(mut fields) = Fields::open(reader, "policy.rule", value) else { return false };
    let mut given = EFFECTS.map(|effect| (effect, fields.value(effect))).into_iter();
    let given = given.by_ref().filter_map(|(effect, value)| Some((effect, value?)));
    let given: Vec<_> = given.collect();
    let [(effect, written)] = given.as_slice() else {
        let message = "`[[policy.rule]]` needs one of `allow`, `ask` and `deny`";
        let help = "write deny = \"Bash(rm *)\", and another [[policy.rule]] for another rule";
        fields.reader.error("BAD_VALUE", value.span(), message, help);
        return false;
    };
    let mut list = |key: &'static str| -> Vec<String> {
        let Some(value) = fields.value(key) else { return Vec::new() };
        let texts = strings(value.get_ref());
        if texts.is_none() {
            wrong_type(fields.reader, &format!("policy.rule.{key}"), value, "a list of texts");
        }
        texts.unwrap_or_default()
    };
    let (examples, not) = (list("examples"), list("not"));
    let subject = fields.value("for").and_then(|value| match value.get_ref().as_str() {
        Some("user") => Some(Subject::User),
        Some("model") => Some(Subject::Model),
        _ => {
            let help = "leave it out for both: what a person types and what the model asks for";
            fields.bad_value("for", "must be `user` or `model`", help);
            None
        }
    });
    let Some(text) = written.get_ref().as_str() else {
        wrong_type(fields.reader, &format!("policy.rule.{effect}"), written, "a text");
        return false;
    };
    if *effect == "allow" && !may_allow {
        ignored(fields.reader, written.span(), effect);
        return fields.finish();
    }
    let path = format!("policy.rule.{effect}");
    if let Some(rule) = rule(fields.reader, &path, text, written.span()) {
        let into = match *effect {
            "allow" => &mut policy.allow,
            "ask" => &mut policy.ask,
            _ => &mut policy.deny,
        };
        push(into, Rule { subject, examples, not, ..rule });
    }
    fields.finish()
}
