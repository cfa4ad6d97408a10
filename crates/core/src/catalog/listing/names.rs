//! Names in a row.

/// How many names the card shows before it counts: it must stay short.
pub(crate) const CARD_NAMES: usize = 12;

/// How many names an answer shows before it counts.
const ANSWER_NAMES: usize = 20;

/// The first names of `all`, and the number of the others.
pub(crate) fn some(all: &[&str]) -> String {
    first(all, ANSWER_NAMES)
}

/// The first `count` names of `all`, and the number of the others.
pub(crate) fn first(all: &[&str], count: usize) -> String {
    let shown = all.get(..count).unwrap_or(all);
    match all.len() - shown.len() {
        0 => shown.join(", "),
        more if shown.is_empty() => more.to_string(),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
