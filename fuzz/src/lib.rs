//! What must hold for any bytes, one function for each thing that reads them.
//!
//! `fuzz_targets/` hands these functions to libFuzzer (`cargo +nightly fuzz run frontmatter
//! fuzz/corpus/frontmatter fuzz/seeds/frontmatter`); a test of `concertina-format` feeds them mutated seeds for some
//! seconds on every run, and `cargo xtask fuzz --seconds N` for as long as one likes.
//!
//! Each function panics where a property does not hold.

use std::collections::BTreeMap;

use concertina_format::config::{self, Config, ConfigOrigin};
use concertina_format::expand::{EXPANDED_BYTES, Expansion, Profile, expand, fill_commands};
use concertina_format::lint;
use concertina_format::skill::{Document, Head, Mode, Origin, Parsed, parse, parse_head, sections};
use concertina_types::{Diagnostic, Ref, limits};

const ORIGIN: Origin<'_> = Origin { directory: "lamp", file: "SKILL.md" };

/// Findings that one input can give rise to, for each byte of it: each has a place of its own.
fn bounded(found: &[Diagnostic], input: usize) {
    assert!(found.len() <= 64 + 2 * input, "{} findings for {input} bytes", found.len());
    for one in found {
        assert!(one.message.len() <= 8 * input + 1_000, "a long message: {}", one.message.len());
        assert!(
            one.line.is_none_or(|line| line >= 1) && one.column.is_none_or(|column| column >= 1)
        );
    }
}

/// What a head must tell as the whole file does.
fn index(document: &Document) -> (&str, Option<&str>, &[String], bool, bool, &[String]) {
    (
        &document.name,
        document.description.as_deref(),
        &document.paths,
        document.disable_model_invocation,
        document.user_invocable,
        &document.unreadable,
    )
}

/// A SKILL.md: the document holds together, its head says what it says, strict reading accepts
/// nothing that lenient reading reads differently, and reading what was read changes nothing.
pub fn frontmatter(bytes: &[u8]) {
    let whole = parse(bytes, ORIGIN, Mode::Lenient);
    bounded(&whole.diagnostics, bytes.len());
    assert!(whole.text.len() <= 3 * bytes.len() + 16, "{} bytes of text", whole.text.len());
    let strict = parse(bytes, ORIGIN, Mode::Strict);
    if strict.document.is_some() {
        assert_eq!(strict.document, whole.document, "strict reads otherwise");
    }
    let head = head(bytes);
    assert_eq!(
        head.document.as_ref().map(index),
        whole.document.as_ref().map(index),
        "the head says otherwise"
    );
    let Some(document) = &whole.document else { return };
    assert!(!document.name.is_empty());
    assert!(
        whole.text.get(document.body.start..document.body.end).is_some(),
        "{:?}",
        document.body
    );
    // The decoded text is a file that says the same, unless removed characters moved its borders.
    let removed = |found: &Diagnostic| {
        matches!(&*found.code, "HIDDEN_CHARACTER" | "BIDI_CONTROL" | "CONTROL_CHARACTER")
    };
    if !whole.diagnostics.iter().any(removed) && !whole.text.starts_with('\u{feff}') {
        let again = parse(whole.text.as_bytes(), ORIGIN, Mode::Lenient);
        let again = again.document.as_ref().map(index);
        assert_eq!(again, Some(index(document)), "a second reading differs");
    }
    let body = whole.body();
    for section in sections(body) {
        assert!(body.get(section.span.start..section.span.end).is_some(), "{section:?}");
    }
    let found = lint::lint(document, body, &["SKILL.md".to_owned()]);
    assert!(found.len() <= 32 * 20, "{} findings", found.len());
    bounded(&found, bytes.len());
}

/// What `parse_head` says when it is fed a growing prefix.
fn head(bytes: &[u8]) -> Parsed {
    let mut end = bytes.len() / 7;
    loop {
        let prefix = bytes.get(..end).unwrap_or(bytes);
        match parse_head(prefix, end >= bytes.len(), ORIGIN, Mode::Lenient) {
            Head::Parsed(parsed) => return *parsed,
            Head::NeedMore => assert!(end < bytes.len(), "the whole file is not enough"),
        }
        end = (end + bytes.len() / 5 + 1).min(bytes.len());
    }
}

/// A reference: what was parsed is written so that it parses to the same.
pub fn reference(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<Ref>() {
        Ok(reference) => {
            let written = reference.to_string();
            assert!(written.len() <= 3 * text.len() + 8, "{written}");
            // Escapes make a reference at the limit longer than the limit.
            if written.len() <= limits::REF_BYTES {
                assert_eq!(written.parse::<Ref>().as_ref(), Ok(&reference), "{written}");
            }
        }
        Err(error) => {
            assert_eq!(error.code(), "BAD_REF");
            assert!(error.to_string().len() <= 2 * limits::REF_BYTES + 200);
        }
    }
}

/// Patterns of `paths`, one a line: a bad one costs only itself, good ones stay as they are, and
/// none multiplies.
pub fn globs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let written: Vec<&str> = text.lines().take(100).collect();
    let list = serde_json::to_string(&written).unwrap_or_default();
    let file = format!("---\nname: lamp\ndescription: Trims\npaths: {list}\n---\nB\n");
    let parsed = parse(file.as_bytes(), ORIGIN, Mode::Lenient);
    bounded(&parsed.diagnostics, file.len());
    let Some(document) = &parsed.document else { return };
    assert_eq!(document.name, "lamp");
    assert_eq!(document.description.as_deref(), Some("Trims"));
    assert!(document.paths.len() <= written.len(), "{:?}", document.paths);
    // Reading one pattern alone gives what reading it among others gives.
    for pattern in &document.paths {
        let list = serde_json::to_string(&[pattern]).unwrap_or_default();
        let file = format!("---\nname: lamp\ndescription: Trims\npaths: {list}\n---\nB\n");
        let alone = parse(file.as_bytes(), ORIGIN, Mode::Lenient);
        let paths = alone.document.map(|document| document.paths);
        assert_eq!(paths.as_deref(), Some(std::slice::from_ref(pattern)));
    }
}

/// A body and a value, cut at the first NUL: the value comes out letter by letter, wherever it goes.
pub fn expansion(bytes: &[u8]) {
    /// A private character that no input holds.
    const MARK: &str = "\u{f8ff}";
    let text = String::from_utf8_lossy(bytes).replace(MARK, "");
    let (whole, value) = text.split_once('\0').unwrap_or((&text, "$0 !`id` ${SESSION_ID}"));
    // Named arguments stand quoted in `$ARGUMENTS`, and below a body that uses none: forms of their own.
    let body = &format!("$name\n\n{}", whole.replace("ARGUMENTS", "name"));
    for profile in [Profile::Safe, Profile::Claude] {
        let with = |value: &str| {
            let arguments = BTreeMap::from([("name".to_owned(), value.into())]);
            let names = ["name".to_owned()];
            let request = Expansion {
                profile,
                arguments: &arguments,
                argument_names: &names,
                opted_in: true,
                ..Expansion::default()
            };
            expand(body, &request)
        };
        let (filled, marked) = (with(value), with(MARK));
        assert!(filled.text.len() <= EXPANDED_BYTES + body.len());
        assert_eq!(filled.text, marked.text.replace(MARK, value), "a value was read again");
        assert_eq!(filled.commands.len(), marked.commands.len(), "a value became a command");
        for command in &filled.commands {
            let span = command.span;
            assert!(filled.text.get(span.start..span.end).is_some(), "{span:?}");
        }
        bounded(&filled.diagnostics, body.len());
        let outputs = vec![value; filled.commands.len()];
        let done = fill_commands(&filled, &outputs);
        assert!(done.len() <= filled.text.len() + value.len() * outputs.len());
        // With arguments as they were typed.
        let typed = Expansion { profile, raw_arguments: Some(value), ..Expansion::default() };
        let expanded = expand(whole, &typed);
        assert!(expanded.text.len() <= EXPANDED_BYTES + whole.len());
        bounded(&expanded.diagnostics, whole.len());
    }
}

/// A `concertina.toml`: it is read the same way twice, a file of a workspace grants nothing, and
/// nothing on top of it changes nothing.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for origin in [ConfigOrigin::Managed, ConfigOrigin::User, ConfigOrigin::Workspace] {
        let (read, found) = config::parse(&text, origin);
        bounded(&found, text.len());
        assert_eq!(config::parse(&text, origin), (read.clone(), found));
        let (after, found) = config::parse_onto(read.clone(), "", ConfigOrigin::Workspace);
        assert_eq!((after, found.len()), (read.clone(), 0));
        if origin == ConfigOrigin::Workspace {
            let nothing = Config::default();
            assert_eq!(read.store, nothing.store, "a workspace sets the store");
            assert_eq!(read.trust, nothing.trust, "a workspace sets trust");
            assert_eq!(read.telemetry, nothing.telemetry, "a workspace sets telemetry");
        }
    }
}
