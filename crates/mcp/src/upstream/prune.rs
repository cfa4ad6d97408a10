//! Messages that are nested too deep to be read: what lies too deep is cut off, so that one schema
//! among hundreds costs itself alone.

/// Below what the JSON reader refuses.
const DEPTH: usize = 120;

/// The same JSON with `null` in the place of what lies deeper than [`DEPTH`].
pub(super) fn prune(line: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(line.len());
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for &byte in line {
        let is_kept = depth <= DEPTH;
        if is_text {
            is_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
        } else {
            match byte {
                b'"' => is_text = true,
                b'{' | b'[' => {
                    depth += 1;
                    if depth == DEPTH + 1 {
                        kept.extend_from_slice(b"null");
                    }
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if is_kept && depth <= DEPTH {
            kept.push(byte);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::prune;

    #[test]
    fn what_lies_too_deep_is_null_and_the_rest_is_kept() {
        let flat = br#"{"a": ["]", "\"}", {"b": 1}]}"#;
        assert_eq!(prune(flat), flat);
        let deep = format!(r#"{{"a":{}1{},"b":2}}"#, "[".repeat(500), "]".repeat(500));
        let read: Value = serde_json::from_slice(&prune(deep.as_bytes())).unwrap();
        assert_eq!(read["b"], 2);
        assert!(read["a"].is_array());
    }
}
