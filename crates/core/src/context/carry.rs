//! What survives when the context is folded.

use concertina_types::Tokens;

/// Which items stay, and which go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarryOver<T> {
    /// In their old order.
    pub kept: Vec<T>,
    /// In their old order.
    pub dropped: Vec<T>,
}

/// Keeps the most recent items that together take at most `budget`, items given oldest first.
///
/// An item that does not fit is passed over, so that one large old item does not cost the others.
///
/// ```
/// use concertina_core::context::carry_over;
/// use concertina_types::Tokens;
/// let sizes = [("old", Tokens(5)), ("huge", Tokens(50)), ("new", Tokens(5))];
/// let outcome = carry_over(sizes.to_vec(), Tokens(10));
/// assert_eq!(outcome.kept, ["old", "new"]);
/// assert_eq!(outcome.dropped, ["huge"]);
/// ```
pub fn carry_over<T>(items: Vec<(T, Tokens)>, budget: Tokens) -> CarryOver<T> {
    let mut left = budget;
    let mut fates: Vec<(T, bool)> = items
        .into_iter()
        .rev()
        .map(|(item, tokens)| {
            let fits = tokens <= left;
            if fits {
                left = left.saturating_sub(tokens);
            }
            (item, fits)
        })
        .collect();
    fates.reverse();
    let (kept, dropped): (Vec<_>, Vec<_>) = fates.into_iter().partition(|(_, fits)| *fits);
    let items = |fates: Vec<(T, bool)>| fates.into_iter().map(|(item, _)| item).collect();
    CarryOver { kept: items(kept), dropped: items(dropped) }
}
