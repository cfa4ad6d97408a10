//! Long texts without the blanks that usually keep pieces short.

use std::time::{Duration, Instant};

use concertina_tokens::{count, encode};

use crate::reference;

const MEGABYTE: usize = 1 << 20;

/// Letters in no order, the same on every run.
fn letters(length: usize) -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 24) as u8 % 26)
    };
    (0..length).map(|_| letter()).collect()
}

fn texts(length: usize) -> Vec<(&'static str, String)> {
    vec![
        ("one letter", "a".repeat(length)),
        ("capitals", "A".repeat(length)),
        ("letters", letters(length)),
        ("newlines", "\n".repeat(length)),
        ("blanks", " ".repeat(length)),
        ("blanks before a word", " ".repeat(length) + "x"),
        ("tabs and line ends", "\t\r\n".repeat(length / 3)),
        ("dashes", "-".repeat(length)),
        ("marks", "\u{301}".repeat(length / 2)),
        ("a mark before capitals", "\u{301}".to_owned() + &"A".repeat(length)),
        ("caseless before capitals", "漢AAAAAAA".repeat(length / 10)),
        ("ideographs", "漢字".repeat(length / 6)),
        ("apostrophes", "'".repeat(length)),
    ]
}

#[test]
fn long_pieces_are_the_same() {
    // As long as the backtracking of the reference allows.
    for (name, text) in texts(20_000) {
        assert!(encode(&text) == reference(&text), "{name}");
    }
}

#[test]
fn a_megabyte_in_one_piece_ends_soon() {
    // Work that grew with the square of the length would take hours for any of these.
    let whole = texts(MEGABYTE).into_iter().take(4);
    for (name, text) in whole.chain(texts(MEGABYTE / 8)) {
        let start = Instant::now();
        let tokens = count(&text).0;
        let elapsed = start.elapsed();
        assert!(tokens >= (text.len() / 128) as u64, "{name}");
        assert!(elapsed < Duration::from_mins(1), "{name}: {elapsed:?}");
    }
}

#[test]
fn a_megabyte_of_one_letter_repeats_the_longest_token() {
    // Joins of equals go by powers of two, so that the tokens of the unit never reach over its end.
    let unit = count(&"a".repeat(1024)).0;
    assert_eq!(unit, reference(&"a".repeat(1024)).len() as u64);
    assert_eq!(count(&"a".repeat(MEGABYTE)).0, unit * 1024);
}
