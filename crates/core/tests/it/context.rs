use concertina_core::context::{
    SizeClass, block, carry_over, disarm, excerpt, excerpt_within, lines,
};
use concertina_types::{LineRange, Tokens, limits};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,30}\n",
        Just("\n\n".to_owned()),
        Just("长".repeat(3_000)),
        Just("x".repeat(9_001)),
        Just("a\r\n".to_owned()),
        Just("</result>\n".repeat(300)),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn pages_are_the_text_byte_for_byte(text in text(), max in 1_usize..20_000) {
        let mut joined = String::new();
        let mut next = None;
        loop {
            let page = excerpt(&text, next, max);
            prop_assert!(page.text.len() <= max || page.lines.first == page.lines.last);
            prop_assert!(page.text.len() <= max.max(limits::LINE_BYTES));
            prop_assert_eq!(page.total, lines(&text).count() as u64);
            joined.push_str(page.text);
            next = page.next();
            if next.is_none() { break; }
        }
        prop_assert_eq!(joined, text);
    }

    #[test]
    fn a_range_is_those_lines(text in text(), first in 0_u64..40, length in 0_u64..10) {
        let range = LineRange { first, last: first.saturating_add(length) };
        let page = excerpt(&text, Some(range), usize::MAX);
        let from = usize::try_from(first.max(1) - 1).unwrap();
        let count = usize::try_from((range.last + 1).saturating_sub(first.max(1))).unwrap();
        let expected: String = lines(&text).skip(from).take(count).collect();
        prop_assert_eq!(page.text, expected);
    }

    #[test]
    fn a_wrapped_page_stays_within_its_limit(text in text()) {
        let wrapped = excerpt_within(&text, None, limits::RESULT_BYTES, |page| block("result", &[("ref", "ev:1")], page.text));
        prop_assert!(wrapped.len() <= limits::RESULT_BYTES);
        let whole = block("result", &[("ref", "ev:1")], &text);
        prop_assert!(whole.len() > limits::RESULT_BYTES || wrapped == whole);
    }

    #[test]
    fn l02_a_block_cannot_be_forged(noise in "[<>/ \t\u{200b}a-zA-Z\"=\n&-]{0,60}", tag in prop::sample::select(vec!["result", "skill", "tools", "card"]), gap in prop::sample::select(vec!["", " ", "/", " / ", "\u{200b}", "\n", "/\u{2060}", "\u{0}"])) {
        let forged = format!("{noise}<{gap}{tag}>{noise}<{gap}{}", tag.to_uppercase());
        let inner = disarm(&forged);
        let bare = |text: &str| text.chars().filter(char::is_ascii_graphic).collect::<String>().to_lowercase();
        let inner = bare(&inner);
        for tag in ["result", "skill", "tool", "card", "part", "error", "hits"] {
            let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
            prop_assert!(!inner.contains(&open) && !inner.contains(&close), "{}", inner);
        }
        let whole = block(tag, &[("ref", &forged)], &forged);
        prop_assert_eq!(whole.matches(&format!("<{tag}")).count(), 1);
        prop_assert_eq!(whole.matches(&format!("</{tag}>")).count(), 1);
        let end = format!("\n</{tag}>");
        prop_assert!(whole.ends_with(&end));
    }

    #[test]
    fn carrying_over_keeps_the_latest_that_fit(sizes in prop::collection::vec(0_u64..50, 0..20), budget in 0_u64..200) {
        let items: Vec<(usize, Tokens)> = sizes.iter().copied().map(Tokens).enumerate().collect();
        let outcome = carry_over(items, Tokens(budget));
        let size = |at: &usize| sizes[*at];
        let kept: u64 = outcome.kept.iter().map(size).sum();
        prop_assert!(kept <= budget);
        prop_assert!(outcome.kept.is_sorted() && outcome.dropped.is_sorted());
        prop_assert_eq!(outcome.kept.len() + outcome.dropped.len(), sizes.len());
        for dropped in &outcome.dropped {
            let later: u64 = outcome.kept.iter().filter(|at| *at > dropped).map(size).sum();
            prop_assert!(later + size(dropped) > budget);
        }
    }
}

#[test]
fn ordinary_markup_stays_as_written() {
    let code = "if a < b { println!(\"<div>\"); } // <T> &amp; x</b>\n";
    assert_eq!(disarm(code), code);
}

#[test]
fn c10_sizes_have_classes() {
    for (tokens, class) in [
        (999, SizeClass::Small),
        (1_000, SizeClass::Medium),
        (10_000, SizeClass::Medium),
        (10_001, SizeClass::Large),
    ] {
        assert_eq!(SizeClass::of(Tokens(tokens), 1_000_000), class);
    }
    assert_eq!(
        SizeClass::of(Tokens(2_000), 32_000),
        SizeClass::Large,
        "a twentieth of a small window"
    );
}
