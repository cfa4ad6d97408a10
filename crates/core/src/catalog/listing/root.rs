//! What stands outside the menus, and the menus, where not each can have a line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use concertina_types::TokenCounter;

use super::cut::escape;
use super::{Budget, Listing, tools};
use crate::catalog::entry::ToolEntry;
use crate::catalog::snapshot::Category;

/// Names in one row: clients that cut results cut whole lines.
const ROW: usize = 10;

/// Names tools and categories like [`tools`]. Where lines for all of them do not fit, they stand in
/// rows: tools outside the menus first, then as many categories as fit, then what the rest holds.
pub fn root(
    visible: &[&ToolEntry],
    categories: &BTreeMap<&str, (Option<&Category>, usize)>,
    budget: &Budget,
    counter: &dyn TokenCounter,
) -> Listing {
    let listing = tools(visible, categories, budget, counter);
    if listing.omitted == 0 {
        return listing;
    }
    let names: Vec<String> = visible.iter().map(|tool| escape(tool.name.as_str())).collect();
    let menus: Vec<(String, usize)> =
        categories.iter().map(|(name, (_, count))| (escape(name), *count)).collect();
    let fits = |shown: usize| {
        let text = rows(&names, &menus, shown);
        let fits = text.chars().count() <= budget.chars && counter.count(&text) <= budget.tokens;
        fits.then_some(text)
    };
    // The longest one that fits; more names never take less.
    let total = names.len() + menus.len();
    let (mut most, mut best) = (0, None);
    let mut step = total.next_power_of_two();
    while step > 0 {
        if most + step <= total
            && let Some(text) = fits(most + step)
        {
            most += step;
            best = Some(text);
        }
        step /= 2;
    }
    match best {
        Some(text) if most >= total - listing.omitted => Listing {
            tokens: counter.count(&text),
            chars: text.chars().count(),
            total,
            full: 0,
            shortened: 0,
            names_only: most,
            omitted: total - most,
            text,
        },
        _ => listing,
    }
}

/// The first `shown` of the names, in rows.
fn rows(tools: &[String], menus: &[(String, usize)], shown: usize) -> String {
    let tools_shown = tools.get(..shown).unwrap_or(tools);
    let left = shown - tools_shown.len();
    let menus_shown = menus.get(..left).unwrap_or(menus);
    let mut text = String::from("<tools>\n");
    for row in tools_shown.chunks(ROW) {
        let _ = writeln!(text, "- {}", row.join(", "));
    }
    for row in menus_shown.chunks(ROW) {
        let row: Vec<String> =
            row.iter().map(|(name, count)| format!("menu:{name} ({count})")).collect();
        let _ = writeln!(text, "- {}", row.join(", "));
    }
    let mut rest = Vec::new();
    if tools_shown.len() < tools.len() {
        rest.push(format!("{} tools", tools.len() - tools_shown.len()));
    }
    let hidden = menus.get(menus_shown.len()..).unwrap_or_default();
    if !hidden.is_empty() {
        let inside: usize = hidden.iter().map(|(_, count)| count).sum();
        rest.push(format!("{} menus with {inside} tools", hidden.len()));
    }
    if !rest.is_empty() {
        let rest = rest.join(" and ");
        let _ = writeln!(text, "[partial: {rest} more; open menu: lists menus, find searches all]");
    }
    text.push_str("</tools>");
    text
}
