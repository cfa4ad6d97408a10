//! Whether searches led somewhere, what opening took, and what permission stopped, read off the log.

use std::collections::{BTreeMap, BTreeSet};

use concertina_types::{CallOutcome, DisclosureKind, Event, Fact, Ref, Tokens};

use crate::catalog::search::Usage;

/// What is counted over the logs of any number of sessions.
///
/// ```
/// use concertina_core::session::Routing;
/// use concertina_types::{Actor, Blob, Draft, Fact, SessionId, Timestamp};
///
/// let session = SessionId::new("s-1")?;
/// let draft = |fact| Draft {
///     step: 1, turn: None, at: Timestamp(0), actor: Actor::Model, cause: None, fact,
/// };
/// let hits = vec!["skill:tides".parse().unwrap(), "menu:port".parse().unwrap()];
/// let query = Blob::of("the port");
/// let found = draft(Fact::SearchAnswered { query, hits, enough: Some(true) }).seal(&session, None);
/// let opened = draft(Fact::MenuOpened { menu: "port".into() }).seal(&session, Some(&found));
/// let mut routing = Routing::default();
/// routing.add(&[found, opened]);
/// assert_eq!((routing.finds.fitting, routing.finds.followed), (1, vec![2]));
/// # Ok::<(), concertina_types::NameError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// Searches.
    pub finds: Finds,
    /// What each opening took, by what was opened.
    pub opens: BTreeMap<Opened, Vec<Tokens>>,
    /// Calls of tools and commands.
    pub calls: Calls,
    /// What was opened of what was found, over the searches of which any hit was opened or called
    /// later: where none was, nobody chose. An opening counts for the latest search that named the
    /// thing, once.
    pub usage: Usage,
}

/// Searches, and what followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finds {
    /// Searches that were answered with hits that fit. Logs from before that was recorded say only
    /// which hits there were; any count as fitting then.
    pub fitting: usize,
    /// Searches that were told that nothing fits.
    pub nothing_fits: usize,
    /// The rank, from 1, of the hit that was first opened or called after a fitting search, for each
    /// search that was followed so. An opening counts for the latest search that named the thing.
    pub followed: Vec<usize>,
    /// Searches that were told that nothing fits, of which one of the nearest was opened or called.
    pub followed_anyway: usize,
}

/// What can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Opened {
    /// A category of tools.
    Menu,
    /// A part of a skill, or of a result.
    Part,
    /// A skill.
    Skill,
    /// The definition of a tool.
    Tool,
}

impl Opened {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Menu => "menu",
            Self::Part => "part",
            Self::Skill => "skill",
            Self::Tool => "tool",
        }
    }
}

/// Calls of tools, and commands in the text of skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls that were let through to the tool.
    pub admitted: usize,
    /// Calls that were refused before the tool was reached, for any reason.
    pub refused: usize,
    /// Calls that permission stopped, before the tool or in it.
    pub blocked: usize,
    /// The codes of all calls that were refused or failed, with how often.
    pub codes: BTreeMap<String, usize>,
}

/// The codes that say that permission stopped a call: policy, grant, trust, an open skill, a tool that
/// only reads. A tool that is hidden, for whatever reason, is not visible.
const PERMISSION: [&str; 24] = [
    "APPROVAL_NEEDED",
    "APPROVED_CHANGED",
    "DESTRUCTIVE_HIDDEN",
    "EXCLUDED",
    "MODEL_DISABLED",
    "NEEDS_SHELL",
    "NOT_ALLOWED",
    "NOT_COVERED",
    "NOT_GRANTED",
    "NOT_VISIBLE",
    "PATHS_NOT_TOUCHED",
    "POLICY_ASKS",
    "POLICY_DENIES",
    "POLICY_UNREADABLE",
    "PRINCIPAL_NOT_GIVEN",
    "PRINCIPAL_UNKNOWN",
    "QUARANTINED",
    "SECURITY_KEY_UNREADABLE",
    "SKILL_CHANGED",
    "SKILL_FORBIDS",
    "UNTRUSTED",
    "UPSTREAM_UNTRUSTED",
    "USER_DISABLED",
    "WRITE_REFUSED",
];

/// A search of the session, by its place in [`Finds`].
struct Find<'e> {
    hits: &'e [Ref],
    is_fitting: bool,
    /// What was opened or called of the hits.
    opened: BTreeSet<Ref>,
}

impl Routing {
    /// Counts what the events of one more session say. They are all of it, or the first of it.
    pub fn add(&mut self, events: &[Event]) {
        let mut finds: Vec<Find<'_>> = Vec::new();
        // What was decided at once has one cause, and is one request with its answer.
        for request in events.chunk_by(|a, b| a.cause.is_some() && a.cause == b.cause) {
            for event in request {
                self.count(&event.fact);
                if let Fact::SearchAnswered { hits, enough, .. } = &event.fact {
                    let is_fitting = !hits.is_empty() && enough.unwrap_or(true);
                    let slot = &mut self.finds;
                    *if is_fitting { &mut slot.fitting } else { &mut slot.nothing_fits } += 1;
                    finds.push(Find { hits, is_fitting, opened: BTreeSet::new() });
                }
            }
            if let Some(reached) = reached(request) {
                self.follow(&mut finds, &reached);
            }
            if let Some((what, tokens)) = load(request) {
                self.opens.entry(what).or_default().push(tokens);
            }
        }
        for find in finds.iter().filter(|find| !find.opened.is_empty()) {
            let hits: BTreeSet<Ref> =
                find.hits.iter().map(|hit| hit.whole().into_owned()).collect();
            for hit in &hits {
                self.usage.count(hit, find.opened.contains(hit));
            }
        }
    }

    fn count(&mut self, fact: &Fact) {
        let calls = &mut self.calls;
        let code = match fact {
            Fact::CallAdmitted { .. } => {
                calls.admitted += 1;
                return;
            }
            // Commands of skills run by the same gate.
            Fact::RequestRefused { request, code, .. }
                if request.starts_with("call ") || request.starts_with("run `") =>
            {
                calls.refused += 1;
                code
            }
            Fact::CallFinished { outcome: CallOutcome::Failed { code, .. }, .. } => code,
            _ => return,
        };
        calls.blocked += usize::from(PERMISSION.contains(&code.as_str()));
        *calls.codes.entry(code.clone()).or_default() += 1;
    }

    fn follow(&mut self, finds: &mut [Find<'_>], reached: &Ref) {
        // A part of a skill leads to it as well as the whole.
        let reached = reached.whole();
        let rank_in = |find: &Find<'_>| find.hits.iter().position(|hit| hit.whole() == reached);
        let latest = finds.iter_mut().rev().find_map(|find| rank_in(find).map(|at| (find, at + 1)));
        let Some((find, rank)) = latest else { return };
        let is_followed = !find.opened.is_empty();
        find.opened.insert(reached.into_owned());
        if is_followed {
            return;
        }
        if find.is_fitting {
            self.finds.followed.push(rank);
        } else {
            self.finds.followed_anyway += 1;
        }
    }
}

/// What a request opened or called.
fn reached(request: &[Event]) -> Option<Ref> {
    let facts = || request.iter().map(|event| &event.fact);
    let asked_for = facts().find_map(|fact| match fact {
        Fact::SkillOpened(opened) => Some(Ref::skill(opened.id.clone())),
        Fact::ChildStarted { skill, .. } => Some(Ref::skill(skill.clone())),
        Fact::CallAdmitted { tool, .. } => Some(Ref::Tool(tool.clone())),
        // Of the tools of a menu only the names are shown: they take no tokens of their own.
        Fact::RequestAnswered { disclosed, .. } => {
            let first = disclosed.first().filter(|first| first.tokens > Tokens::ZERO)?;
            Some(first.reference.clone()).filter(|_| !is_result(request))
        }
        _ => None,
    });
    // The menus that hold a tool open with it, the outermost first.
    asked_for.or_else(|| {
        facts().rev().find_map(|fact| match fact {
            Fact::MenuOpened { menu } => Some(Ref::Menu(menu.clone())),
            _ => None,
        })
    })
}

/// What a request opened, and what was loaded for it.
fn load(request: &[Event]) -> Option<(Opened, Tokens)> {
    let facts = || request.iter().map(|event| &event.fact);
    let opened = facts().find_map(|fact| match fact {
        Fact::SkillOpened(opened) => Some((Opened::Skill, opened.tokens)),
        _ => None,
    });
    if opened.is_some() || is_result(request) {
        return opened;
    }
    let (disclosed, tokens) = facts().find_map(|fact| match fact {
        Fact::RequestAnswered { disclosed, tokens, error: false, .. } => Some((disclosed, *tokens)),
        _ => None,
    })?;
    let what = match disclosed.first().filter(|first| first.tokens > Tokens::ZERO) {
        Some(first) => match first.kind {
            DisclosureKind::Evidence => Opened::Part,
            DisclosureKind::Skill => Opened::Skill,
            DisclosureKind::Tool => Opened::Tool,
        },
        None if facts().any(|fact| matches!(fact, Fact::MenuOpened { .. })) => Opened::Menu,
        None => return None,
    };
    Some((what, tokens))
}

/// Whether a request is the second half of one, in which something that ran came back.
fn is_result(request: &[Event]) -> bool {
    request
        .iter()
        .any(|event| matches!(event.fact, Fact::CallFinished { .. } | Fact::ChildFinished { .. }))
}
