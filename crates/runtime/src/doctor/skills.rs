//! Skills, as Concertina itself sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use concertina_core::catalog::{Scope, SkillEntry, listing};
use concertina_core::policy::OWNER;
use concertina_core::session::{State, World, visibility};
use concertina_tokens::O200k;
use concertina_types::{Ref, Severity, Subject};

use super::pool::{Pool, root_of};
use super::report::{Collision, FindingCount, From, Hidden, Index, Skills, SkippedFile};
use crate::workspace::Workspace;

/// A skill that came with the project waits for a person's trust.
pub(super) const UNTRUSTED: &str = "UNTRUSTED";

/// Reasons that an author or a person had.
const INTENDED: [&str; 5] =
    ["MODEL_DISABLED", "PATHS_NOT_TOUCHED", "EXCLUDED", "POLICY_DENIES", "PRINCIPAL_NOT_GIVEN"];

pub(super) fn of(workspace: &Workspace, pool: &Pool) -> Skills {
    let snapshot = workspace.snapshot();
    let settings = workspace.settings();
    let state = State { principal: OWNER.to_owned(), ..State::default() };
    let world = World::for_looking(settings, snapshot, &O200k);
    let mut visible: Vec<&SkillEntry> = Vec::new();
    let mut waiting: Vec<&SkillEntry> = Vec::new();
    let mut hidden: BTreeMap<String, Hidden> = BTreeMap::new();
    for entry in &snapshot.skills {
        let seen = visibility(&state, &world, &Ref::skill(entry.id.clone()), Subject::Model);
        if seen.visible {
            visible.push(entry);
            continue;
        }
        // What trust would not change is the reason that counts.
        let mut codes = seen.reasons.iter().map(|reason| reason.code.as_str());
        let lasting =
            codes.find(|code| ![UNTRUSTED, "POLICY_ALLOWS", "POLICY_ASKS"].contains(code));
        if lasting.is_none() {
            waiting.push(entry);
        }
        let code = lasting.unwrap_or(UNTRUSTED);
        let group = hidden.entry(code.to_owned()).or_insert_with(|| Hidden {
            code: code.to_owned(),
            text: meaning(code).to_owned(),
            intended: INTENDED.contains(&code),
            names: Vec::new(),
            paths: Vec::new(),
        });
        group.paths.push(entry.path.to_string());
        group.names.push(entry.id.to_string());
    }
    let mut hidden: Vec<Hidden> = hidden.into_values().collect();
    hidden.sort_by(|a, b| a.intended.cmp(&b.intended).then(b.names.len().cmp(&a.names.len())));

    let budget = settings.listing_budget();
    let seen = visible.len();
    visible.extend(&waiting);
    visible.sort_by(|a, b| a.id.cmp(&b.id));
    let listed = listing::full(visible, &budget, &|_| (0, 0), &O200k);
    let shadowed = snapshot.shadowed.iter().map(|shadowed| &shadowed.entry);
    let bundled = |entry: &&SkillEntry| entry.scope == Scope::Bundled;
    let all = || snapshot.skills.iter().chain(shadowed.clone());
    Skills {
        total: all().count(),
        bundled: all().filter(bundled).count(),
        from: from(all()),
        visible: seen,
        index: Index {
            tokens: listed.tokens,
            budget_tokens: budget.tokens,
            chars: listed.chars,
            budget_chars: budget.chars,
            full: listed.full,
            shortened: listed.shortened,
            names_only: listed.names_only,
            omitted: listed.omitted,
            once_trusted: !waiting.is_empty(),
        },
        hidden,
        collisions: snapshot
            .shadowed
            .iter()
            .map(|shadowed| Collision {
                name: shadowed.by.to_string(),
                id: shadowed.entry.id.to_string(),
                kept: snapshot
                    .skill(&shadowed.by)
                    .map(|kept| kept.path.to_string())
                    .unwrap_or_default(),
                lost: shadowed.entry.path.to_string(),
            })
            .collect(),
        skipped: snapshot
            .skipped
            .iter()
            .map(|skipped| SkippedFile {
                path: skipped.path.clone(),
                code: skipped.code.clone(),
                reason: skipped.reason.clone(),
            })
            .collect(),
        findings: findings(pool),
    }
}

/// What a reason means for many skills at once.
fn meaning(code: &str) -> &'static str {
    match code {
        UNTRUSTED => "this project is not trusted yet",
        "MODEL_DISABLED" => "the author keeps it for people",
        "PATHS_NOT_TOUCHED" => "waits for a file that matches its `paths`",
        "EXCLUDED" => "settings exclude it",
        "NO_DESCRIPTION" => "nothing to choose it by: add a description",
        "SECURITY_KEY_UNREADABLE" => "a key that limits it cannot be read",
        "POLICY_UNREADABLE" => "the policy cannot be read, so everything is denied",
        _ => "a rule of the policy denies it",
    }
}

/// How many skills are in each directory, the most first.
fn from<'a>(entries: impl Iterator<Item = &'a SkillEntry>) -> Vec<From> {
    let mut counts: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
    for entry in entries {
        let root = match entry.scope {
            Scope::Bundled => "bundled".to_owned(),
            _ => root_of(Path::new(entry.path.as_ref())),
        };
        *counts.entry((root, entry.scope.name())).or_default() += 1;
    }
    let mut from: Vec<From> =
        counts.into_iter().map(|((path, scope), skills)| From { path, scope, skills }).collect();
    from.sort_by(|a, b| b.skills.cmp(&a.skills).then(a.path.cmp(&b.path)));
    from
}

/// What checking every file found, above mere information.
fn findings(pool: &Pool) -> Vec<FindingCount> {
    let mut counts: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for skill in pool.skills.iter().filter(|skill| !skill.is_foreign) {
        let each: BTreeSet<(&str, Severity)> =
            skill.findings.iter().map(|(code, severity)| (code.as_str(), *severity)).collect();
        for key in each.into_iter().filter(|(_, severity)| *severity > Severity::Info) {
            *counts.entry(key).or_default() += 1;
        }
    }
    let mut findings: Vec<FindingCount> = counts
        .into_iter()
        .map(|((code, severity), skills)| FindingCount { code: code.to_owned(), severity, skills })
        .collect();
    findings.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then(b.skills.cmp(&a.skills)).then(a.code.cmp(&b.code))
    });
    findings
}
