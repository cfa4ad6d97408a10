//! One line of a listing, in each of its forms.

use std::cmp::Reverse;

use concertina_types::SkillId;

use super::cut::{escape, mark_cut, shorten};
use super::{Budget, Use};
use crate::catalog::entry::{Scope, SkillEntry, ToolEntry};
use crate::catalog::sentences::essence;
use crate::catalog::snapshot::Category;

#[derive(Clone, Copy)]
pub(super) enum Style {
    Entry,
    Added,
    Changed,
}

/// How much of an entry is shown, from most to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    Full,
    Short,
    Name,
    Omitted,
}

/// One entry. A name is never cut, so a line is longer than an entry may be only where its name is.
pub(super) struct Line {
    full: String,
    /// Whether `full` itself had to be cut to the entry's cap.
    full_is_cut: bool,
    short: String,
    name: String,
    pub(super) form: Form,
    /// Whether it keeps its text longest.
    pub(super) protected: bool,
    /// What it is counted under where it is left out.
    pub(super) group: &'static str,
    /// What is kept longest sorts last.
    pub(super) keep: (u8, Use, Reverse<String>),
}

impl Line {
    pub(super) fn skill(entry: &SkillEntry, style: Style, budget: &Budget, used: Use) -> Self {
        let id = entry.id.as_str();
        Self {
            protected: entry.scope == Scope::Bundled
                || budget.pinned.iter().any(|pinned| pinned == id),
            group: entry.scope.name(),
            keep: (scope_weight(entry.scope), used, Reverse(id.to_owned())),
            ..Self::new(style, id, &entry.summary(), budget)
        }
    }

    pub(super) fn tool(tool: &ToolEntry, budget: &Budget) -> Self {
        Self {
            group: "tool",
            ..Self::new(Style::Entry, tool.name.as_str(), &essence(&tool.description), budget)
        }
    }

    /// A category. It is kept longer than a tool, since it is the way to those inside.
    pub(super) fn menu(
        name: &str,
        category: Option<&Category>,
        count: usize,
        budget: &Budget,
    ) -> Self {
        let about = category.map_or("", |category| match category.description.as_str() {
            "" => &category.title,
            description => description,
        });
        Self {
            group: "menu",
            keep: (1, (0, 0), Reverse(name.to_owned())),
            ..Self::new(Style::Entry, &format!("menu:{name} ({count})"), about, budget)
        }
    }

    pub(super) fn removed(id: &SkillId) -> Self {
        let line = format!("<skill removed=\"{}\"/>", escape(id.as_str()));
        Self {
            full: line.clone(),
            full_is_cut: false,
            short: line.clone(),
            name: line,
            form: Form::Full,
            protected: true,
            group: "removed",
            keep: (u8::MAX, (0, 0), Reverse(id.to_string())),
        }
    }

    fn new(style: Style, name: &str, summary: &str, budget: &Budget) -> Self {
        let id = escape(name);
        let wrap = |text: &str| match (style, text.is_empty()) {
            (Style::Entry, true) => format!("- {id}"),
            (Style::Entry, false) => format!("- {id}: {text}"),
            (Style::Added, true) => format!("<skill added=\"{id}\"/>"),
            (Style::Added, false) => format!("<skill added=\"{id}\">{text}</skill>"),
            (Style::Changed, true) => format!("<skill changed=\"{id}\"/>"),
            (Style::Changed, false) => format!("<skill changed=\"{id}\">{text}</skill>"),
        };
        // An escaped character takes up to six, so the room is measured on the escaped text.
        let room = budget.entry_chars.saturating_sub(wrap("x").chars().count() - 1);
        let (full, full_is_cut) = shorten(summary, room);
        let (short, _) = shorten(&essence(summary), room);
        // A description that was cut says so, whichever way it lost its words.
        let short = if full_is_cut || short.len() >= full.len() {
            full.clone()
        } else {
            mark_cut(short, room)
        };
        Self {
            full: wrap(&full),
            full_is_cut,
            short: wrap(&short),
            name: wrap(""),
            form: Form::Full,
            protected: false,
            group: "",
            keep: (0, (0, 0), Reverse(name.to_owned())),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self.form {
            Form::Full => &self.full,
            Form::Short => &self.short,
            Form::Name => &self.name,
            Form::Omitted => "",
        }
    }

    pub(super) fn is_shortened(&self) -> bool {
        match self.form {
            Form::Full => self.full_is_cut,
            Form::Short => self.full_is_cut || self.short != self.full,
            Form::Name | Form::Omitted => false,
        }
    }

    pub(super) fn is_name_only(&self) -> bool {
        self.form == Form::Name && (self.name != self.full || self.full_is_cut)
    }
}

/// How much a scope weighs when something must go: what a person or a project chose stays longer
/// than what came along with something else.
fn scope_weight(scope: Scope) -> u8 {
    match scope {
        Scope::Plugin | Scope::Server => 0,
        Scope::Additional => 1,
        Scope::User => 2,
        Scope::Project | Scope::Nested => 3,
        Scope::Managed => 4,
        Scope::Bundled => 5,
    }
}
