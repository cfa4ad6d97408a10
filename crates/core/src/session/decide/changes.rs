//! What changed among the tools since they were last shown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use concertina_types::{Ref, ToolName, limits};

use super::super::state::State;
use super::super::visibility::{self, is_direct, menus, visible_tools};
use super::super::world::World;
use crate::catalog::listing::{self, Budget};
use crate::catalog::{NeedsSkill, Snapshot, ToolEntry, essence};
use crate::context::disarm;

/// The changes as lines within `budget`: what is gone first, since a model may be about to call it.
/// Empty where nothing changed; none where so much did that the whole is shorter.
pub(super) fn of_tools(
    state: &State,
    world: &World<'_>,
    earlier: &Snapshot,
    budget: &Budget,
) -> Option<String> {
    let then = World { snapshot: earlier, ..*world };
    if is_direct(world) != is_direct(&then) {
        return None;
    }
    let (before, now) = (standing(state, &then), standing(state, world));
    let mut lines = Vec::new();
    for tool in before.values().filter(|tool| !now.contains_key(&tool.name)) {
        lines.push(gone(state, world, tool));
    }
    lines.extend(
        newly_quarantined(state, world, &then)
            .filter(|tool| {
                // Those that were in sight are among the gone.
                !before.contains_key(&tool.name)
            })
            .map(|tool| gone(state, world, tool)),
    );
    for tool in now.values() {
        match before.get(&tool.name) {
            None => lines.push(line('+', tool)),
            Some(known) if known.digest != tool.digest => lines.push(line('*', tool)),
            Some(_) => {}
        }
    }
    let (menus_before, menus_now) = (menus(state, &then), menus(state, world));
    for (menu, (_, count)) in &menus_now {
        match menus_before.get(menu) {
            None => lines.push(format!("+ menu:{menu} ({count})")),
            Some((_, was)) if was != count => {
                lines.push(format!("* menu:{menu} ({count}, was {was})"));
            }
            Some(_) => {}
        }
    }
    let gone = menus_before.keys().filter(|menu| !menus_now.contains_key(*menu));
    lines.extend(gone.map(|menu| format!("- menu:{menu}")));
    Some(fit(&lines, world, budget))
}

/// As many lines as fit, and the number of the others.
fn fit(lines: &[String], world: &World<'_>, budget: &Budget) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines.iter().map(|line| disarm(line)).collect();
    let mut shown = lines.len();
    loop {
        let mut text = lines.get(..shown).unwrap_or(&lines).join("\n");
        let more = lines.len() - shown;
        if more > 0 {
            let _ = write!(text, "\n[{more} more changes; open menu: shows what there is]");
        }
        let text = format!("<tools>\n{}\n</tools>", text.trim_start());
        if shown == 0 || world.counter.count(&text) <= budget.tokens && text.len() <= budget.chars {
            return text;
        }
        // A first guess by size, then one line less at a time.
        let over = world.counter.count(&text).0 > 2 * budget.tokens.0;
        shown = if over { shown / 2 } else { shown - 1 };
    }
}

/// The tools that stand in sight whatever skill is open.
fn standing<'a>(state: &'a State, world: &World<'a>) -> BTreeMap<&'a ToolName, &'a ToolEntry> {
    let tools = visible_tools(state, world).into_iter();
    tools.filter(|tool| tool.needs_skill == NeedsSkill::No).map(|tool| (&tool.name, tool)).collect()
}

/// Tools that could be opened before and are quarantined now.
fn newly_quarantined<'a>(
    state: &'a State,
    world: &'a World<'a>,
    then: &'a World<'a>,
) -> impl Iterator<Item = &'a ToolEntry> {
    let tools = world.snapshot.tools.iter().map(AsRef::as_ref);
    tools.filter(|tool| tool.quarantined.is_some()).filter(|tool| {
        let before = then.snapshot.tool(&tool.name);
        before.is_some_and(|before| visibility::is_foldable(state, then, before))
    })
}

fn line(sign: char, tool: &ToolEntry) -> String {
    let about =
        listing::cut(&listing::escape(&essence(&tool.description)), limits::LISTING_ENTRY_CHARS);
    match about.as_str() {
        "" => format!("{sign} tool:{}", tool.name),
        about => format!("{sign} tool:{}: {about}", tool.name),
    }
}

/// That `tool` is not to be had any more, and why.
fn gone(state: &State, world: &World<'_>, tool: &ToolEntry) -> String {
    let reference = Ref::Tool(tool.name.clone());
    let known = world.snapshot.tool(&tool.name);
    let verdict = known.map(|tool| visibility::tool(state, world, tool));
    let reason = verdict.and_then(|verdict| verdict.reasons.into_iter().next());
    match reason {
        Some(reason) => format!("- {reference}: {}", reason.text),
        None => format!("- {reference}"),
    }
}
