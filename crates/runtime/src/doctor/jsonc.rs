//! JSON with comments: made plain JSON of the same length, so that places stay what they are.

/// `text` with comments and commas before a closing bracket turned to blanks. Lines stay lines.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Where in `out` the last comma outside strings stands, while only blanks came after it.
    let mut comma = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                comma = None;
                out.push(c);
                while let Some(c) = rest.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if rest.peek() == Some(&'/') => {
                blank(c, &mut out);
                while let Some(c) = rest.next_if(|c| *c != '\n') {
                    blank(c, &mut out);
                }
            }
            '/' if rest.peek() == Some(&'*') => {
                blank(c, &mut out);
                rest.next().into_iter().for_each(|c| blank(c, &mut out));
                let mut star = false;
                for c in rest.by_ref() {
                    blank(c, &mut out);
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            ',' => {
                comma = Some(out.len());
                out.push(c);
            }
            ']' | '}' => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            c => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}

/// As many blanks as `c` has bytes; a line break stays.
fn blank(c: char, out: &mut String) {
    if c == '\n' {
        out.push(c);
    } else {
        out.extend(std::iter::repeat_n(' ', c.len_utf8()));
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn comments_and_last_commas_become_blanks() {
        assert_eq!(plain("{\"a\": 1, // é\n}"), format!("{{\"a\": 1{:7}\n}}", ""));
        assert_eq!(plain("[1, /* \n */ 2,]"), "[1,    \n    2 ]");
    }

    #[test]
    fn strings_stay() {
        let text = r#"{"url": "http://a/*b*/", "q": "\"//,]"}"#;
        assert_eq!(plain(text), text);
    }

    #[test]
    fn what_has_no_end_ends() {
        assert_eq!(plain("[1 /*"), "[1   ");
        assert_eq!(plain("\"a\\"), "\"a\\");
    }

    proptest::proptest! {
        #[test]
        fn every_place_stays_what_it_is(text in "([\\[\\]{},\"/*\\\\ é]|//|/\\*|\\*/|\n){0,40}") {
            let plain = plain(&text);
            proptest::prop_assert_eq!(plain.len(), text.len());
            let breaks = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
            proptest::prop_assert_eq!(breaks(&plain), breaks(&text));
        }

        #[test]
        fn plain_json_stays(words in proptest::collection::vec(".*", 0..5)) {
            let text = serde_json::json!({"a": words, "b": {"c": [1, true, null]}}).to_string();
            proptest::prop_assert_eq!(plain(&text), text);
        }
    }
}
