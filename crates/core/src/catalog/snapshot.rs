//! The catalogue at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use concertina_types::{SkillId, Tokens, ToolName};
use serde::{Deserialize, Serialize};

use super::entry::{SkillEntry, ToolEntry};

/// A skill that lost its name to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shadowed {
    /// The skill, under a qualified id by which it can still be opened.
    pub entry: SkillEntry,
    /// The skill that has the name.
    pub by: SkillId,
}

/// Something that was found and is not a usable skill. Nothing vanishes silently.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skipped {
    /// Where.
    pub path: String,
    /// A stable code, such as `UNREADABLE`.
    pub code: String,
    /// Why, and what to do.
    pub reason: String,
}

/// A category of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    /// What people call it.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// How the server behind it wants to be used, in the server's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// The catalogue at one moment: immutable, sorted, shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The skills, sorted by id.
    pub skills: Vec<SkillEntry>,
    /// Skills that lost their name, sorted by their qualified id.
    pub shadowed: Vec<Shadowed>,
    /// What was found and left out.
    pub skipped: Vec<Skipped>,
    /// The tools, sorted by name. Catalogues share those that are the same in each.
    pub tools: Vec<Arc<ToolEntry>>,
    /// The categories of tools, by name.
    pub categories: BTreeMap<String, Category>,
    /// What all tool definitions together take: exact for a catalogue that may be shown without
    /// menus, about for a larger one.
    pub tool_tokens: Tokens,
}

/// What differs between two catalogues, as far as a listing shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff<'a> {
    /// Ids that only the later one has.
    pub added: Vec<&'a SkillId>,
    /// Ids whose description or use changed.
    pub changed: Vec<&'a SkillId>,
    /// Ids that only the earlier one has.
    pub removed: Vec<&'a SkillId>,
}

impl Snapshot {
    /// The skill called `id`. A qualified id, `scope/name`, finds a shadowed skill, and also the
    /// one that has the name.
    pub fn skill(&self, id: &SkillId) -> Option<&SkillEntry> {
        self.named(id).or_else(|| self.shadowed(id).map(|shadowed| &shadowed.entry)).or_else(|| {
            let (scope, name) = id.as_str().split_once('/')?;
            self.named(&SkillId::new(name).ok()?).filter(|entry| entry.scope.name() == scope)
        })
    }

    /// The shadowed skill whose qualified id is `id`.
    pub fn shadowed(&self, id: &SkillId) -> Option<&Shadowed> {
        let at = self.shadowed.binary_search_by(|shadowed| shadowed.entry.id.cmp(id)).ok()?;
        self.shadowed.get(at)
    }

    fn named(&self, id: &SkillId) -> Option<&SkillEntry> {
        let at = self.skills.binary_search_by(|entry| entry.id.cmp(id)).ok()?;
        self.skills.get(at)
    }

    /// The tool called `name`.
    pub fn tool(&self, name: &ToolName) -> Option<&ToolEntry> {
        let at = self.tools.binary_search_by(|entry| entry.name.cmp(name)).ok()?;
        self.tools.get(at).map(AsRef::as_ref)
    }

    /// What a listing of `self` would show otherwise than one of `earlier`, among the skills that
    /// `shown` lets through in each.
    pub fn diff<'a>(
        &'a self,
        earlier: &'a Self,
        shown_now: &dyn Fn(&SkillEntry) -> bool,
        shown_then: &dyn Fn(&SkillEntry) -> bool,
    ) -> Diff<'a> {
        let mut diff = Diff::default();
        let mut then = earlier.skills.iter().filter(|entry| shown_then(entry)).peekable();
        for now in self.skills.iter().filter(|entry| shown_now(entry)) {
            while let Some(gone) = then.next_if(|old| old.id < now.id) {
                diff.removed.push(&gone.id);
            }
            match then.next_if(|old| old.id == now.id) {
                None => diff.added.push(&now.id),
                Some(old) if old.summary() != now.summary() => diff.changed.push(&now.id),
                Some(_) => {}
            }
        }
        diff.removed.extend(then.map(|gone| &gone.id));
        diff
    }
}
