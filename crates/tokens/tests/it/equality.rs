//! Every text has the tokens the reference gives it.

use concertina_tokens::{O200k, count, encode};
use concertina_types::TokenCounter;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::reference;

#[track_caller]
fn assert_same(text: &str) {
    let expected = reference(text);
    assert_eq!(encode(text), expected, "{text:?}");
    assert_eq!(count(text).0, expected.len() as u64, "{text:?}");
}

#[test]
fn chosen_texts() {
    for text in [
        "",
        "Hello, world!",
        "I'll say it's what they'VE said, he'D go, we'RE here, 'tis, rock'n'roll",
        "it'ſ 'ſ x'S x'LL x'lL x'l x'",
        "HTTPServer parseJSON ÉCOLE école ÀÉb ǅungla",
        "1234567 12 3 ٣٤٥٦ Ⅷ½ 3.14159",
        "a  b   c\t\td \n e\r\n\r\nf   \n   g   ",
        "path/to//file/\n/ ///\r\n/x",
        "<|endoftext|> and <|endofprompt|> are text",
        "e\u{301}cole \u{301}ABC \u{301}abc A\u{301}BC \u{301}\u{301} 's\u{301}'s !\u{301}! \u{301}'s",
        "漢字かな交じり文。中文,没有空格。한국어 문장입니다.",
        "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ❤️",
        "\u{85}\u{2028}\u{2029}\u{a0}x\u{3000}y \u{200b}z \u{feff}",
        "\u{378}\u{e000}\u{10ffff}\u{fffe}",
        "AbABCあBCD",
        "あABCDE ABCあDEF あAb",
    ] {
        assert_same(text);
    }
}

#[test]
fn the_unit_counter_counts_the_same() {
    assert_eq!(O200k.count("Hello, world!").0, reference("Hello, world!").len() as u64);
}

/// Characters that take part in the rules of the split, more often than chance has them.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        8 => select("aZsStTrRvVeElLmMdD'ſ".chars().collect::<Vec<_>>()),
        4 => select(" \t\r\n\u{a0}\u{85}\u{2028}\u{3000}\u{b}".chars().collect::<Vec<_>>()),
        3 => select("/!.,-_(){}#*<|>\u{2019}€😀\u{200d}\u{fe0f}\u{1f3fd}".chars().collect::<Vec<_>>()),
        2 => select("0123456789٣½Ⅷ²".chars().collect::<Vec<_>>()),
        3 => select("\u{301}\u{308}\u{20dd}\u{903}\u{e0100}".chars().collect::<Vec<_>>()),
        3 => select("ǅʰªºßÉéжЖ漢字かㄱ한ا".chars().collect::<Vec<_>>()),
        2 => any::<char>(),
    ]
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => vec(character(), 0..6).prop_map(String::from_iter),
        2 => (character(), 1_usize..40).prop_map(|(character, n)| String::from_iter(vec![character; n])),
        1 => select(vec![
            "'S", "'LL", "'re", "'Ve", " \r\n", "\n\n ", "  ", "https://", "</div>", "fn main()",
            " the", "123456", "<|endoftext|>", "👩‍👩‍👧‍👦", "CamelCase", "ÀÉÎõü", "---", "\t\t\t",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_is_the_same(fragments in vec(fragment(), 0..12)) {
        let text = fragments.concat();
        let expected = reference(&text);
        prop_assert_eq!(count(&text).0, expected.len() as u64);
        prop_assert_eq!(encode(&text), expected);
    }

    #[test]
    fn any_unicode_is_the_same(characters in vec(any::<char>(), 0..60)) {
        let text = String::from_iter(characters);
        prop_assert_eq!(encode(&text), reference(&text));
    }
}

proptest! {
    // These are long.
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_long_word_is_the_same(letters in vec(select(b"etaoinshr".to_vec()), 1..600)) {
        let text = String::from_utf8(letters).unwrap();
        prop_assert_eq!(encode(&text), reference(&text));
    }
}

#[test]
fn every_short_text_of_one_character_of_each_kind() {
    // All texts of up to five characters out of one per class, the apostrophe and the slash.
    let kinds = ['A', 'b', 'か', '\u{301}', '7', ' ', '\n', '!', '\'', '\t'];
    let mut texts = vec![String::new()];
    for _ in 0..5 {
        texts = texts
            .iter()
            .flat_map(|text| kinds.iter().map(move |kind| format!("{text}{kind}")))
            .collect();
        for text in &texts {
            assert_same(text);
        }
    }
}
