//! The index as text, within a hard budget.
//!
//! What is lost first, when not everything fits: descriptions are cut by sentence, keeping the
//! first and every one that says what a skill is not for; then only names stay; then only counts,
//! with the way to find the rest. Pinned and bundled entries keep their text longest. The line that
//! says what was left out is inside the budget, which is checked on the rendered text.
//!
//! [`full`] lists skills, [`delta`] what changed among them, [`tools`] tools and their categories,
//! [`root`] the same where there are very many.

mod cut;
mod fit;
mod line;
mod names;
mod root;

use std::collections::BTreeMap;

use concertina_types::{SkillId, TokenCounter, Tokens, limits};
use serde::{Deserialize, Serialize};

use super::entry::{SkillEntry, ToolEntry};
use super::snapshot::{Category, Diff, Snapshot};
pub(crate) use cut::cut;
pub use cut::escape;
use fit::{Frame, fit};
use line::{Line, Style};
pub(crate) use names::{CARD_NAMES, first, some};
pub use root::root;

/// How much a listing may take, and what it keeps longest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// For the whole text, in tokens.
    pub tokens: Tokens,
    /// For the whole text, in characters.
    pub chars: usize,
    /// For one entry, in characters.
    pub entry_chars: usize,
    /// Skills that keep their text longest.
    pub pinned: Vec<String>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::for_window(limits::WINDOW)
    }
}

impl Budget {
    /// The default share of a window of so many tokens.
    pub fn for_window(window: u64) -> Self {
        Self {
            tokens: Tokens(window.saturating_mul(limits::LISTING_WINDOW_PERCENT) / 100),
            chars: limits::LISTING_CHARS,
            entry_chars: limits::LISTING_ENTRY_CHARS,
            pinned: Vec::new(),
        }
    }

    /// For the tools and categories that are named at the start: the least that still tells 70
    /// categories apart.
    pub fn tools() -> Self {
        Self { tokens: Tokens(limits::ROOT_TOKENS), ..Self::default() }
    }

    /// For the page of one category: it is asked for, so it may be a little larger.
    pub fn category() -> Self {
        Self { tokens: Tokens(limits::MENU_TOKENS), ..Self::default() }
    }
}

/// A rendered listing and what became of each entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The exact text; empty where there is nothing to list.
    pub text: String,
    /// What it takes.
    pub tokens: Tokens,
    /// Its length in characters.
    pub chars: usize,
    /// Entries that there are.
    pub total: usize,
    /// Entries with all their text.
    pub full: usize,
    /// Entries whose description was cut.
    pub shortened: usize,
    /// Entries shown by name only.
    pub names_only: usize,
    /// Entries that only the count speaks of.
    pub omitted: usize,
}

/// How often a skill was used in this session, and how recently. The larger is kept longer.
pub type Use = (u64, u64);

/// Lists `entries`, which the caller has already filtered to what the reader may see.
pub fn full<'a>(
    entries: impl IntoIterator<Item = &'a SkillEntry>,
    budget: &Budget,
    used: &dyn Fn(&SkillId) -> Use,
    counter: &dyn TokenCounter,
) -> Listing {
    let lines = entries
        .into_iter()
        .map(|entry| Line::skill(entry, Style::Entry, budget, used(&entry.id)))
        .collect();
    fit(lines, Frame { open: "<skills>\n", close: "</skills>" }, budget, counter)
}

/// Lists what changed. One new skill is one line; nothing changed is an empty text.
pub fn delta(
    snapshot: &Snapshot,
    diff: &Diff<'_>,
    budget: &Budget,
    used: &dyn Fn(&SkillId) -> Use,
    counter: &dyn TokenCounter,
) -> Listing {
    let entries = |ids: &[&SkillId], style: Style| {
        ids.iter()
            .filter_map(|id| snapshot.skill(id))
            .map(|entry| Line::skill(entry, style, budget, used(&entry.id)))
            .collect::<Vec<_>>()
    };
    let mut lines = entries(&diff.added, Style::Added);
    lines.extend(entries(&diff.changed, Style::Changed));
    lines.extend(diff.removed.iter().map(|id| Line::removed(id)));
    fit(lines, Frame { open: "", close: "" }, budget, counter)
}

/// Names tools, and the categories that can be opened with the number of tools inside.
pub fn tools(
    tools: &[&ToolEntry],
    categories: &BTreeMap<&str, (Option<&Category>, usize)>,
    budget: &Budget,
    counter: &dyn TokenCounter,
) -> Listing {
    let tools = tools.iter().map(|tool| Line::tool(tool, budget));
    let menus =
        categories.iter().map(|(name, (about, count))| Line::menu(name, *about, *count, budget));
    fit(
        tools.chain(menus).collect(),
        Frame { open: "<tools>\n", close: "</tools>" },
        budget,
        counter,
    )
}
