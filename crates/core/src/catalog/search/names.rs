//! Names that were nearly right.

use std::collections::BTreeSet;

use super::text::{self, Form, Stems};

/// Words shorter than this, in letters, are taken as written: one letter changes their sense.
const ONE_ERROR: usize = 5;
/// Words of this many letters may hold two errors.
const TWO_ERRORS: usize = 9;
/// Names longer than this, in letters, are compared by their words only: the time is quadratic.
const COMPARED: usize = 100;

/// Whether a word is long enough, and language enough, for a typing error to be recognised.
pub(super) fn may_be_misspelt(word: &str) -> bool {
    errors_allowed(word) > 0 && word.chars().all(char::is_alphabetic)
}

/// How many typing errors a word may hold and still be recognised.
pub(super) fn errors_allowed(word: &str) -> usize {
    match word.chars().count() {
        ..ONE_ERROR => 0,
        ONE_ERROR..TWO_ERRORS => 1,
        _ => 2,
    }
}

/// The set of letters of a word, as bits. One error changes two bits at most, so that most words
/// need no comparison.
pub(super) fn letters(word: &str) -> u32 {
    word.chars().fold(0, |set, c| set | 1 << (c as u32 % 32))
}

/// The number of letters added, left out, replaced or swapped with a neighbour (optimal string
/// alignment), or `None` where it exceeds `limit`.
pub(super) fn errors(a: &str, b: &str, limit: usize) -> Option<usize> {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = last.clone();
    let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
    for (i, x) in a.iter().enumerate() {
        let mut left = i + 1;
        let mut best = left;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (j, y) in b.iter().enumerate() {
            let replaced = cell(&last, j) + usize::from(x != y);
            let mut cost = replaced.min(left + 1).min(cell(&last, j + 1) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped && x != y {
                cost = cost.min(cell(&before, j - 1) + 1);
            }
            if let Some(slot) = row.get_mut(j + 1) {
                *slot = cost;
            }
            left = cost;
            best = best.min(cost);
        }
        if best > limit {
            return None;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last.last().copied().filter(|&errors| errors <= limit)
}

/// The names most like `wanted`, best first, at most `limit`: for the message that a name is
/// unknown. A name must share a word with it or differ by few letters, so that an unknown name
/// never lists everything there is.
///
/// ```
/// use concertina_core::catalog::search::nearest_names;
/// let names = ["sales-report", "stock-report", "refunds"];
/// assert_eq!(nearest_names("sale-reports", names.into_iter(), 2), ["sales-report", "stock-report"]);
/// assert!(nearest_names("weather", names.into_iter(), 2).is_empty());
/// ```
pub fn nearest_names<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
    limit: usize,
) -> Vec<&'n str> {
    let stems = Stems::new();
    let (wanted_key, wanted_words) = (text::key(wanted), words(wanted, &stems));
    let length = wanted_key.chars().count();
    // A third of the letters may be wrong; beyond that a likeness is chance.
    let allowed = (length / 3).max(1);
    let mut near: Vec<_> = names
        .filter_map(|name| {
            let key = text::key(name);
            let distance = if length.max(key.chars().count()) <= COMPARED {
                errors(&wanted_key, &key, allowed)
            } else {
                (wanted_key == key).then_some(0)
            };
            let own = words(name, &stems);
            let shared = own.intersection(&wanted_words).count();
            if distance.is_none() && shared == 0 {
                return None;
            }
            // Hundredths, so that the order is exact: likeness of letters or of words.
            let by_letters = distance.map_or(0, |distance| 100 - 100 * distance / length.max(1));
            let by_words = 100 * shared / own.union(&wanted_words).count().max(1);
            Some((std::cmp::Reverse(by_letters.max(by_words)), name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(limit).map(|(_, name)| name).collect()
}

fn words(name: &str, stems: &Stems) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    text::terms(name, &mut |form, word| {
        if matches!(form, Form::Word | Form::Pair) && !text::is_stop(form, word) {
            words.insert(stems.stem(word).into_owned());
        }
    });
    words
}
