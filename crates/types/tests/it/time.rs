use concertina_types::{Timestamp, Tokens};

#[test]
fn moments_print_as_rfc_3339() {
    for (ms, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_709_164_799_999, "2024-02-28T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(Timestamp(ms).to_string(), text);
    }
}

#[test]
fn large_counts_are_grouped() {
    let shown: Vec<_> = [0, 999, 1_000, 1_234_567].map(|n| Tokens(n).to_string()).into();
    assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
}

#[test]
fn a_moment_is_read_as_it_is_written() {
    assert_eq!("2026-01-01".parse(), Ok(Timestamp(1_767_225_600_000)));
    assert_eq!("2026-01-01T00:00:01Z".parse(), Ok(Timestamp(1_767_225_601_000)));
    for text in [
        "",
        "2026",
        "2026-02-30",
        "2026-13-01",
        "2026-00-10",
        "2026-01-01T24:00:00Z",
        "2026-1-1",
        "x-01-01",
    ] {
        assert!(text.parse::<Timestamp>().is_err(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn reading_a_moment_is_the_way_back(at in -99_000_000_000_000_i64..9_000_000_000_000_000) {
        proptest::prop_assert_eq!(Timestamp(at).to_string().parse(), Ok(Timestamp(at)));
    }
}
