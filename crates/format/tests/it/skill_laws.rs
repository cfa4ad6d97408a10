//! What holds for every file.

use concertina_format::skill::{Document, Head, Mode, Origin, Places, parse, parse_head};
use concertina_types::{Digest, Span};
use proptest::prelude::*;

const ORIGIN: Origin<'_> = Origin { directory: "lamp", file: "SKILL.md" };

/// The document without what depends on the bytes rather than on what they say.
fn said(bytes: &[u8]) -> Option<Document> {
    parse(bytes, ORIGIN, Mode::Lenient).document.map(timeless)
}

fn timeless(document: Document) -> Document {
    Document {
        digest: Digest::of(b""),
        body: Span::default(),
        places: Places::default(),
        ..document
    }
}

/// Text that is rich in what YAML and Markdown care about.
fn messy() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("---".to_owned()),
        Just("\n".to_owned()),
        Just("\n---\n".to_owned()),
        Just("name: ".to_owned()),
        Just("description: ".to_owned()),
        Just("allowed-tools: ".to_owned()),
        Just("permissions:\n  read: ".to_owned()),
        Just("  - ".to_owned()),
        Just("\t".to_owned()),
        Just("```".to_owned()),
        Just("# ".to_owned()),
        Just("+++".to_owned()),
        Just("{\"".to_owned()),
        Just("| ".to_owned()),
        Just("&a *a ".to_owned()),
        Just("\r".to_owned()),
        Just("\u{feff}\u{200b}".to_owned()),
        "[\"'\\\\\\[\\]{}:,*@`%!|>#-]{1,4}",
        "[a-zé灯 ]{1,12}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A value that stands on one line.
fn line() -> impl Strategy<Value = String> {
    "[ -~é灯：“”]{0,40}"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&bytes, ORIGIN, Mode::Lenient);
        let _ = parse(&bytes, ORIGIN, Mode::Strict);
        let _ = parse_head(&bytes, false, ORIGIN, Mode::Lenient);
    }

    #[test]
    fn no_text_causes_a_panic_and_places_exist(text in messy()) {
        let parsed = parse(text.as_bytes(), ORIGIN, Mode::Lenient);
        let lines = parsed.text.split('\n').count();
        for found in &parsed.diagnostics {
            prop_assert!(found.line.is_none_or(|line| line >= 1 && line as usize <= lines));
        }
        if let Some(document) = &parsed.document {
            prop_assert!(parsed.text.get(document.body.start..document.body.end).is_some());
            prop_assert!(!document.name.is_empty());
        }
        let strict = parse(text.as_bytes(), ORIGIN, Mode::Strict);
        if let Some(document) = strict.document {
            prop_assert_eq!(Some(document), parsed.document);
        }
    }

    #[test]
    fn crlf_equals_lf(text in messy()) {
        let text = text.replace('\r', "");
        prop_assert_eq!(said(text.as_bytes()), said(text.replace('\n', "\r\n").as_bytes()));
    }

    #[test]
    fn a_head_says_what_the_file_says(text in messy(), cut in 0_usize..300) {
        let bytes = text.as_bytes();
        let whole = parse(bytes, ORIGIN, Mode::Lenient);
        let mut end = cut.min(bytes.len());
        let head = loop {
            match parse_head(&bytes[..end], end == bytes.len(), ORIGIN, Mode::Lenient) {
                Head::Parsed(parsed) => break parsed,
                Head::NeedMore => {
                    prop_assert!(end < bytes.len(), "the whole file is not enough");
                    end = (end + 20).min(bytes.len());
                }
            }
        };
        let key = |document: Document| (document.name, document.description, document.allowed_tools, document.unreadable);
        prop_assert_eq!(head.document.map(key), whole.document.map(key));
    }

    /// A comment line forces the long way.
    #[test]
    fn the_short_way_and_the_long_way_agree(
        keys in prop::collection::vec(("[a-z][a-zA-Z_-]{0,8}", line()), 1..6),
    ) {
        let lines: String = keys.iter().flat_map(|(key, value)| [key, ": ", value, "\n"]).collect();
        let short = format!("---\n{lines}---\nBody text.\n");
        let long = format!("---\n# note\n{lines}---\nBody text.\n");
        let codes = |text: &str| {
            let found = parse(text.as_bytes(), ORIGIN, Mode::Lenient).diagnostics;
            found.into_iter().map(|found| (found.code, found.column, found.message)).collect::<Vec<_>>()
        };
        prop_assert_eq!(said(short.as_bytes()), said(long.as_bytes()));
        prop_assert_eq!(codes(&short), codes(&long));
    }

    #[test]
    fn simple_values_come_back_as_written(value in "[a-zA-Z0-9é灯][a-zA-Z0-9é灯 .,;()!?/-]{0,60}") {
        prop_assume!(!matches!(value.trim().to_ascii_lowercase().as_str(), "null"));
        let file = format!("---\nname: lamp\ndescription: {value}\nversion: {value}\n---\nB\n");
        let document = said(file.as_bytes()).unwrap();
        prop_assert_eq!(document.description.as_deref(), Some(value.trim()));
        prop_assert_eq!(document.version.as_deref(), Some(value.trim()));
    }

    /// Whatever stands on the line of one key, the keys around it are what they were.
    #[test]
    fn law4_a_broken_key_never_changes_another(value in line()) {
        let file = format!("---\nname: lamp\nversion: 1.10\nfoo: {value}\nlicense: MIT\ndescription: Trims\n---\nB\n");
        let document = said(file.as_bytes()).unwrap();
        prop_assert_eq!(document.name.as_str(), "lamp");
        prop_assert_eq!(document.version.as_deref(), Some("1.10"));
        prop_assert_eq!(document.license.as_deref(), Some("MIT"));
        prop_assert_eq!(document.description.as_deref(), Some("Trims"));
        prop_assert!(document.unreadable.is_empty());
    }

    #[test]
    fn quoted_values_come_back(value in "[ -~é灯]{1,40}") {
        prop_assume!(!value.trim().is_empty());
        let quoted = serde_json::to_string(&value).unwrap();
        let file = format!("---\nname: lamp\ndescription: {quoted}\n---\nB\n");
        let document = said(file.as_bytes()).unwrap();
        prop_assert_eq!(document.description.as_deref(), Some(value.trim()));
    }
}
