//! Which of several skills a name means.

use std::collections::HashSet;

use concertina_types::{SkillId, limits};
use serde::{Deserialize, Serialize};

use super::entry::{Scope, SkillEntry};
use super::snapshot::Shadowed;

/// Whose skill wins when two share a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precedence {
    /// The Agent Skills habit: the nearer scope wins (managed, nested, project, user, …).
    #[default]
    AgentSkills,
    /// Claude Code's: managed, then user, then project.
    Claude,
}

impl Precedence {
    /// The rank of a scope; the least wins.
    pub fn rank(self, scope: Scope) -> u8 {
        let order = match self {
            Self::AgentSkills => [
                Scope::Managed,
                Scope::Nested,
                Scope::Project,
                Scope::User,
                Scope::Additional,
                Scope::Plugin,
                Scope::Server,
                Scope::Bundled,
            ],
            Self::Claude => [
                Scope::Managed,
                Scope::User,
                Scope::Project,
                Scope::Nested,
                Scope::Additional,
                Scope::Plugin,
                Scope::Server,
                Scope::Bundled,
            ],
        };
        order
            .iter()
            .position(|&other| other == scope)
            .and_then(|at| u8::try_from(at).ok())
            .unwrap_or(u8::MAX)
    }
}

/// The outcome of [`merge`].
#[derive(Debug, Default)]
pub struct Merged {
    /// One entry per id, sorted by id.
    pub skills: Vec<SkillEntry>,
    /// The ones that lost their name to another, under a qualified id, sorted.
    pub shadowed: Vec<Shadowed>,
}

/// Gives each name to one candidate. The order of `candidates` does not matter.
///
/// Candidates with the same bytes become one entry with `also_at`: `same_bytes` is asked only for
/// candidates that share a name. Others keep a qualified id, `scope/name`, and are reported.
pub fn merge(
    mut candidates: Vec<SkillEntry>,
    precedence: Precedence,
    same_bytes: &dyn Fn(&SkillEntry, &SkillEntry) -> bool,
) -> Merged {
    candidates.sort_by(|a, b| {
        let rank = |entry: &SkillEntry| precedence.rank(entry.scope);
        let key = |entry: &SkillEntry| (entry.path.clone(), entry.head);
        a.id.cmp(&b.id).then_with(|| rank(a).cmp(&rank(b))).then_with(|| key(a).cmp(&key(b)))
    });
    let mut skills: Vec<SkillEntry> = Vec::with_capacity(candidates.len());
    let mut losers: Vec<SkillEntry> = Vec::new();
    // Where the losers of the present name begin.
    let mut begin = 0;
    for candidate in candidates {
        if skills.last().is_none_or(|winner| winner.id != candidate.id) {
            begin = losers.len();
            skills.push(candidate);
            continue;
        }
        let rivals = losers.iter_mut().skip(begin);
        match skills
            .last_mut()
            .into_iter()
            .chain(rivals)
            .find(|rival| same_bytes(rival, &candidate))
        {
            // One file that was found twice is one file.
            Some(twin) if twin.path == candidate.path || twin.also_at.contains(&candidate.path) => {
            }
            Some(twin) => twin.also_at.push(candidate.path),
            None => losers.push(candidate),
        }
    }
    let most = skills.len() + losers.len() + 1;
    let mut taken: HashSet<SkillId> = skills.iter().map(|winner| winner.id.clone()).collect();
    let mut shadowed: Vec<Shadowed> = Vec::with_capacity(losers.len());
    for mut entry in losers {
        let by = entry.id.clone();
        // Two of one scope are told apart by a number, in the order of their paths. One of so many
        // numbers is free.
        let qualified = (1..=most)
            .filter_map(|n| qualified(entry.scope, n, &by))
            .find(|id| !taken.contains(id));
        if let Some(id) = qualified {
            taken.insert(id.clone());
            entry.id = id;
        }
        shadowed.push(Shadowed { entry, by });
    }
    shadowed.sort_by(|a, b| a.entry.id.cmp(&b.entry.id));
    Merged { skills, shadowed }
}

/// `scope/name`, or `scope-N/name`. A name that would grow too long loses its end.
fn qualified(scope: Scope, n: usize, name: &SkillId) -> Option<SkillId> {
    let number = if n == 1 { String::new() } else { format!("-{n}") };
    let mut text = format!("{}{number}/{name}", scope.name());
    while text.len() > limits::NAME_BYTES {
        text.pop();
    }
    SkillId::new(text).ok()
}
