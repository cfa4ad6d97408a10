//! Texts of others, cut to the length that they may have here.

/// As much of `text` as `limit` bytes hold, with a word on what is missing.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.get(..text.floor_char_boundary(limit)) {
        Some(kept) if kept.len() < text.len() => {
            format!("{kept} [cut: {} bytes in all]", text.len())
        }
        _ => text.to_owned(),
    }
}
