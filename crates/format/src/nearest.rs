//! Suggestions for names that were mistyped.

/// Longer names are no typing mistakes, and the comparison is quadratic.
const COMPARED_BYTES: usize = 64;

/// The candidate that `name` most likely meant, if any is close enough: at most a third of its
/// characters differ (Damerau-Levenshtein, optimal string alignment), or one name contains the
/// other whole.
///
/// ```
/// use concertina_format::nearest;
/// assert_eq!(nearest("defualt", ["default", "other"]), Some("default"));
/// assert_eq!(nearest("x", ["default", "other"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > COMPARED_BYTES {
        return None;
    }
    let folded = fold(name);
    let allowed = (folded.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= COMPARED_BYTES)
        .filter_map(|candidate| {
            let other = fold(candidate);
            let distance = strsim::osa_distance(&folded, &other);
            let contained = folded.len().min(other.len()) >= 4
                && (folded.contains(&other) || other.contains(&folded));
            (distance <= allowed || contained).then_some((distance > allowed, distance, candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

/// Spellings that differ in case or in `-` against `_` are the same name mistyped.
fn fold(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

/// Names as people read them in a message: `` `a`, `b` and 3 more ``.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 16;
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
