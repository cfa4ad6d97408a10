//! Which lines lose how much, so that all of them fit.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use concertina_types::TokenCounter;

use super::line::{Form, Line};
use super::{Budget, Listing};

/// What stands around the lines.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
}

/// Cuts lines until the text fits both budgets.
pub(super) fn fit(
    mut lines: Vec<Line>,
    frame: Frame,
    budget: &Budget,
    counter: &dyn TokenCounter,
) -> Listing {
    if lines.is_empty() {
        return Listing::default();
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|&a, &b| {
        let key = |at: usize| lines.get(at).map(|line| (line.protected, &line.keep));
        key(a).cmp(&key(b))
    });
    // Characters are cheap to count, so they steer; tokens are counted on the text that results,
    // and where they are over, the character target shrinks in proportion and the cut is redone.
    let mut target = budget.chars;
    loop {
        lose(&mut lines, &order, frame, target);
        let listing = render(&lines, frame, counter);
        let over_chars = listing.chars > budget.chars;
        let over_tokens = listing.tokens > budget.tokens;
        if !over_chars && !over_tokens {
            return listing;
        }
        if target == 0 {
            // Not even the count fits: say nothing rather than too much.
            let total = lines.len();
            return Listing { total, omitted: total, ..Listing::default() };
        }
        let by_tokens = if over_tokens {
            let ratio = budget.tokens.0.saturating_mul(97) / listing.tokens.0.max(1);
            listing.chars.saturating_mul(usize::try_from(ratio).unwrap_or(100)) / 100
        } else {
            target
        };
        target = by_tokens.min(target - 1);
        if over_chars {
            target = target.min(target.saturating_sub(listing.chars - budget.chars));
        }
    }
}

/// Lets go of text in the order of loss until the lines take at most `target` characters.
fn lose(lines: &mut [Line], order: &[usize], frame: Frame, target: usize) {
    let length = |text: &str| if text.is_empty() { 0 } else { text.chars().count() + 1 };
    let framing = frame.open.len() + frame.close.len();
    let mut total = framing + lines.iter().map(|line| length(line.text())).sum::<usize>();
    // Room for the line that says what was left out.
    let mut note = if lines.iter().any(|line| line.is_shortened() || line.form != Form::Full) {
        NOTE_CHARS
    } else {
        0
    };
    for protected in [false, true] {
        for next in [Form::Short, Form::Name, Form::Omitted] {
            for &at in order {
                if total + note <= target {
                    return;
                }
                let Some(line) = lines.get_mut(at).filter(|line| line.protected == protected)
                else {
                    continue;
                };
                if line.form < next {
                    total -= length(line.text());
                    line.form = next;
                    total += length(line.text());
                    note = NOTE_CHARS;
                }
            }
        }
    }
}

/// What the closing note takes at most, in characters.
const NOTE_CHARS: usize = 150;

fn render(lines: &[Line], frame: Frame, counter: &dyn TokenCounter) -> Listing {
    let mut listing = Listing { total: lines.len(), ..Listing::default() };
    let mut omitted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut text = String::from(frame.open);
    for line in lines {
        if line.form == Form::Omitted {
            listing.omitted += 1;
            *omitted.entry(line.group).or_default() += 1;
            continue;
        }
        if line.is_name_only() {
            listing.names_only += 1;
        } else if line.is_shortened() {
            listing.shortened += 1;
        } else {
            listing.full += 1;
        }
        text.push_str(line.text());
        text.push('\n');
    }
    let mut notes = Vec::new();
    if listing.shortened > 0 {
        notes.push(format!("{} shortened", listing.shortened));
    }
    if listing.names_only > 0 {
        notes.push(format!("{} by name only", listing.names_only));
    }
    if listing.omitted > 0 {
        let groups: Vec<_> =
            omitted.iter().map(|(group, count)| format!("{group} {count}")).collect();
        notes.push(format!("{} not shown ({})", listing.omitted, groups.join(", ")));
    }
    if !notes.is_empty() {
        let _ = writeln!(text, "[{} of {}; find searches all]", notes.join(", "), listing.total);
    }
    text.push_str(frame.close);
    text.truncate(text.trim_end().len());
    listing.text = text;
    listing.chars = listing.text.chars().count();
    listing.tokens = counter.count(&listing.text);
    listing
}
