use concertina_core::catalog::{essence, sentences};
use proptest::prelude::*;

fn split(text: &str) -> Vec<&str> {
    sentences(text).collect()
}

#[test]
fn sentences_end_where_a_reader_would_end_them() {
    assert_eq!(
        split("Reads v1.2 logs, e.g. from J. Smith. Not for metrics."),
        ["Reads v1.2 logs, e.g. from J. Smith.", "Not for metrics."]
    );
    assert_eq!(
        split("Use when asked to \"draw a chart.\" Not for maps."),
        ["Use when asked to \"draw a chart.\"", "Not for maps."]
    );
    assert_eq!(
        split("读取日志（每天）。不适用于指标！好"),
        ["读取日志（每天）。", "不适用于指标！", "好"]
    );
    assert_eq!(
        split("Draws charts\n\nOf sales\n- bars\n- lines"),
        ["Draws charts", "Of sales", "- bars", "- lines"]
    );
    assert_eq!(split("A line that\ngoes on"), ["A line that\ngoes on"]);
    assert_eq!(split("  "), Vec::<&str>::new());
}

#[test]
fn the_essence_is_the_first_sentence_and_what_it_is_not_for() {
    let cases = [
        ("Draws charts. Many kinds. Don't use for maps.", "Draws charts. Don't use for maps."),
        (
            "Draws charts. Many kinds. Do NOT use it for maps.",
            "Draws charts. Do NOT use it for maps.",
        ),
        ("画图表。支持多种格式。不适用于地图。", "画图表。 不适用于地图。"),
        ("Draws charts. Cannot forget colours.", "Draws charts."),
        ("Draws charts. Avoid using it on phones.", "Draws charts. Avoid using it on phones."),
    ];
    for (text, expected) in cases {
        assert_eq!(essence(text), expected);
    }
}

proptest! {
    #[test]
    fn no_letter_is_lost_between_sentences(text in "\\PC{0,200}|([A-Za-z .!?。\n-]{0,80})") {
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(bare(&split(&text).concat()), bare(&text));
        prop_assert!(split(&text).iter().all(|sentence| !sentence.trim().is_empty()));
    }
}
