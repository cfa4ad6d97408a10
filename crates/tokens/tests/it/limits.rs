//! Whether a text fits, and the part of it that does.

use concertina_tokens::{count, encode, fits, truncate_to};
use concertina_types::Tokens;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::REFERENCE;

#[test]
fn whole_texts_and_nothing() {
    assert!(fits("", Tokens(0)));
    assert!(!fits("a", Tokens(0)));
    assert_eq!(truncate_to("Hello, world!", Tokens(4)), "Hello, world!");
    assert_eq!(truncate_to("Hello, world!", Tokens(2)), "Hello,");
    assert_eq!(truncate_to("Hello, world!", Tokens(0)), "");
    assert_eq!(truncate_to("Hello, world!", Tokens(u64::MAX)), "Hello, world!");
}

#[test]
fn a_character_is_not_cut() {
    // Each of these takes four tokens, one for each byte.
    let text = "𓀀𓀁𓀂";
    assert_eq!(count("𓀀").0, 4);
    assert_eq!(truncate_to(text, Tokens(3)), "");
    assert_eq!(truncate_to(text, Tokens(4)), "𓀀");
    assert_eq!(truncate_to(text, Tokens(7)), "𓀀");
}

#[test]
fn a_long_piece_is_refused_at_once() {
    assert!(!fits(&"a".repeat(1 << 24), Tokens(1000)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn fits_is_the_count(text in text(), limit in 0_u64..60) {
        prop_assert_eq!(fits(&text, Tokens(limit)), count(&text).0 <= limit);
    }

    #[test]
    fn the_prefix_fits_and_little_is_lost(text in text(), limit in 0_u64..60) {
        let prefix = truncate_to(&text, Tokens(limit));
        prop_assert!(text.starts_with(prefix));
        prop_assert!(count(prefix).0 <= limit);
        // Not more than the few tokens that a character or the end of a piece takes.
        let kept = usize::try_from(limit).unwrap().saturating_sub(8);
        let ranks = encode(&text);
        let certain = REFERENCE.decode_bytes(&ranks[..kept.min(ranks.len())]).unwrap();
        prop_assert!(prefix.len() >= certain.len(), "{:?} of {:?}", prefix, text);
    }
}

fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => proptest::char::range(' ', '~'),
        2 => Just(' '),
        1 => Just('\n'),
        1 => any::<char>(),
    ];
    vec(character, 0..80).prop_map(String::from_iter)
}
