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
