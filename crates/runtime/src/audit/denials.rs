//! What was refused, for whom, how often, and what would allow it.

use std::collections::{BTreeMap, BTreeSet};

use concertina_core::policy::{Denial, Request, Suggestion, Surroundings, Withheld, suggest};
use concertina_store::Store;
use concertina_types::{Event, Fact, SessionId, SkillId, ToolName};
use serde::Serialize;

use crate::error::RuntimeError;
use crate::stats::Logs;

/// By what refusals are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The skill for which it was asked.
    Skill,
    /// The tool that was to run.
    Tool,
    /// The code of the refusal.
    Code,
}

/// Refusals of one request for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// What was asked for, as written.
    pub request: String,
    /// The stable code.
    pub code: String,
    /// Why, and what to do.
    pub reason: String,
    /// The rule and where it stands.
    pub source: Option<String>,
    /// What it was about once everything was resolved.
    pub object: Option<Request>,
    /// The skill for which it was asked.
    pub skill: Option<SkillId>,
    /// The tool that was to run.
    pub tool: Option<ToolName>,
    /// How often.
    pub count: u64,
    /// In how many sessions.
    pub sessions: u64,
    /// When last, as RFC 3339.
    pub last: String,
}

/// How much was refused for one skill, tool or code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeniedFor {
    /// Its name; none where it is not known.
    pub name: Option<String>,
    /// How often.
    pub count: u64,
}

/// What was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Denials {
    /// The most frequent first.
    pub denials: Vec<Denied>,
    /// Whose logs were read.
    pub logs: Logs,
}

/// Reads what was refused off the log of `session`, or off all of them.
pub fn denials(store: &Store, session: Option<&SessionId>) -> Result<Denials, RuntimeError> {
    let all = store.events.sessions()?;
    let wanted = all.into_iter().filter(|one| session.is_none_or(|id| *id == one.session));
    let mut found: BTreeMap<Key, (Denied, BTreeSet<SessionId>)> = BTreeMap::new();
    let logs = Logs::of(store, wanted, |events| {
        for event in events {
            add(&mut found, event);
        }
    });
    if let (Some(session), 0, []) = (session, logs.sessions, logs.unreadable.as_slice()) {
        return Err(RuntimeError::NoSession(session.clone()));
    }
    let sum = |(mut denied, sessions): (Denied, BTreeSet<SessionId>)| {
        denied.sessions = sessions.len() as u64;
        denied
    };
    let mut denials: Vec<Denied> = found.into_values().map(sum).collect();
    denials.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.request.cmp(&b.request)));
    Ok(Denials { denials, logs })
}

/// What makes two refusals one.
type Key = (String, String, Option<String>, Option<SkillId>, Option<ToolName>, String);

fn add(found: &mut BTreeMap<Key, (Denied, BTreeSet<SessionId>)>, event: &Event) {
    let Fact::RequestRefused { request, code, reason, source, object, skill, tool } = &event.fact
    else {
        return;
    };
    let about = object.as_ref().map(ToString::to_string).unwrap_or_default();
    let key = (request.clone(), code.clone(), source.clone(), skill.clone(), tool.clone(), about);
    let (denied, sessions) = found.entry(key).or_insert_with(|| {
        let denied = Denied {
            request: request.clone(),
            code: code.clone(),
            reason: String::new(),
            source: source.clone(),
            object: object.clone().and_then(|object| serde_json::from_value(object).ok()),
            skill: skill.clone(),
            tool: tool.clone(),
            count: 0,
            sessions: 0,
            last: String::new(),
        };
        (denied, BTreeSet::new())
    });
    denied.count += 1;
    denied.reason.clone_from(reason);
    denied.last = denied.last.clone().max(event.at.to_string());
    sessions.insert(event.session.clone());
}

impl Denied {
    /// The name that it counts for.
    pub fn name(&self, by: By) -> Option<String> {
        match by {
            By::Skill => self.skill.as_ref().map(ToString::to_string),
            By::Tool => self.tool.as_ref().map(ToString::to_string),
            By::Code => Some(self.code.clone()),
        }
    }

    /// Whether a rule that a person wrote refused it: then no declaration allows it.
    fn is_by_rule(&self) -> bool {
        self.source.as_deref().is_some_and(|source| source.starts_with("policy"))
    }
}

impl Denials {
    /// How much was refused for each, the most first, and what is not known last.
    pub fn grouped(&self, by: By) -> Vec<DeniedFor> {
        let mut counts: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for denied in &self.denials {
            *counts.entry(denied.name(by)).or_default() += denied.count;
        }
        let each = counts.into_iter().map(|(name, count)| DeniedFor { name, count });
        let mut groups: Vec<DeniedFor> = each.collect();
        groups.sort_by(|a, b| {
            let known = a.name.is_none().cmp(&b.name.is_none());
            known.then_with(|| b.count.cmp(&a.count)).then_with(|| a.name.cmp(&b.name))
        });
        groups
    }
}

/// What `skill`, or all together, would have to declare so that what was refused is allowed, and how many
/// refusals do not say what they were about.
pub fn suggestion(
    denials: &Denials,
    skill: Option<&SkillId>,
    around: &Surroundings,
) -> (Suggestion, usize) {
    let of_skill = |denied: &&Denied| skill.is_none() || denied.skill.as_ref() == skill;
    let denied: Vec<&Denied> = denials.denials.iter().filter(of_skill).collect();
    // Whatever runs could say that it was refused a key.
    let is_hearsay = |denied: &&Denied| {
        let Some(Request::Read(path) | Request::Write(path)) = &denied.object else {
            return false;
        };
        denied.code == "SANDBOX_REFUSED" && !path.is_within(&around.workspace)
    };
    let (hearsay, denied): (Vec<&Denied>, Vec<&Denied>) = denied.into_iter().partition(is_hearsay);
    let about = |denied: &&Denied| {
        let request = denied.object.clone()?;
        Some(Denial { request, by_rule: denied.is_by_rule() })
    };
    let known: Vec<Denial> = denied.iter().filter_map(about).collect();
    let mut suggested = suggest(&known, around);
    suggested.withheld.extend(hearsay.into_iter().filter_map(|denied| {
        let reason = "only the program itself says that it was refused this; declare it by hand where you know that it is needed";
        let request = denied.object.clone()?;
        Some(Withheld { request, code: "ONLY_SAID", reason: reason.to_owned() })
    }));
    (suggested, denied.len() - known.len())
}
