//! Cases that other programs' tests and bug reports name, by their id: D discovery and parsing, V
//! validation, B field reports. `docs/skill-format.md` says which test holds which case.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use concertina_format::skill::{Document, Head, Mode, Origin, Parsed, Status, parse, parse_head};
use concertina_types::{Diagnostic, Digest, Severity, SkillId};

const ORIGIN: Origin<'_> = Origin { directory: "lamp", file: "SKILL.md" };

fn lenient(file: impl AsRef<[u8]>) -> Parsed {
    parse(file.as_ref(), ORIGIN, Mode::Lenient)
}

fn strict(file: impl AsRef<[u8]>) -> Parsed {
    parse(file.as_ref(), ORIGIN, Mode::Strict)
}

#[track_caller]
fn document(file: impl AsRef<[u8]>) -> Document {
    let parsed = lenient(file);
    parsed.document.unwrap_or_else(|| panic!("rejected: {:?}", parsed.diagnostics))
}

#[track_caller]
fn finding(parsed: &Parsed, code: &str) -> Diagnostic {
    let found = parsed.diagnostics.iter().find(|found| found.code == code);
    found.unwrap_or_else(|| panic!("no {code} in {:?}", parsed.diagnostics)).clone()
}

fn codes(parsed: &Parsed) -> Vec<&str> {
    parsed.diagnostics.iter().map(|found| found.code.as_ref()).collect()
}

/// A file with these keys and a body.
fn file(keys: &str) -> String {
    format!("---\n{keys}\n---\nBody.\n")
}

fn with(key: &str) -> String {
    file(&format!("name: lamp\ndescription: Trims wicks\n{key}"))
}

#[test]
fn d01_a_name_and_a_description_are_a_skill_and_the_body_stays_out_of_the_index() {
    let keys =
        format!("---\nname: lamp\ndescription: Trims wicks\nlicense: {}\n---\n", "x".repeat(600));
    let whole = format!("{keys}Body.\n");
    let prefix = &whole.as_bytes()[..keys.len()];
    let Head::Parsed(head) = parse_head(prefix, false, ORIGIN, Mode::Lenient) else {
        panic!("the frontmatter is enough");
    };
    assert_eq!(head.document.as_ref().unwrap().description.as_deref(), Some("Trims wicks"));
    assert_eq!(head.body(), "");
}

#[test]
fn d02_a_lower_case_file_name_is_accepted_with_a_warning() {
    let lower = Origin { file: "skill.md", ..ORIGIN };
    let bytes = file("name: lamp\ndescription: Trims wicks");
    let parsed = parse(bytes.as_bytes(), lower, Mode::Lenient);
    assert_eq!(finding(&parsed, "FILE_NAME").severity, Severity::Warning);
    assert_eq!(parsed.status(), Status::Ok);
    assert_eq!(parse(bytes.as_bytes(), lower, Mode::Strict).document, None);
}

#[test]
fn d10_a_byte_order_mark_changes_nothing() {
    let plain = file("name: lamp\ndescription: Trims wicks");
    let marked = document(format!("\u{feff}{plain}"));
    let without = Document { digest: Digest::of(b""), ..document(&plain) };
    assert_eq!(Document { digest: Digest::of(b""), ..marked }, without);
    assert!(strict(format!("\u{feff}{plain}")).document.is_some());
}

#[test]
fn d11_carriage_returns_change_nothing() {
    let plain = file(
        "name: lamp\ndescription: |\n  Trims\n  wicks\nmetadata:\n  author: kim\ntags: [a, b]",
    );
    let crlf = lenient(plain.replace('\n', "\r\n"));
    let lf = lenient(&plain);
    assert_eq!(crlf.body(), lf.body());
    let timeless =
        |document: Option<Document>| document.map(|d| Document { digest: Digest::of(b""), ..d });
    assert_eq!(timeless(crlf.document.clone()), timeless(lf.document));
    assert!(!serde_json::to_string(&crlf.document).unwrap().contains("\\r"));
}

#[test]
fn d13_dashes_in_values_and_rulers_in_the_body_do_not_close() {
    let bytes = "---\nname: lamp\ndescription: Trims --- wicks\nlicense: \"---\"\nversion: a---b\n---\nOne\n\n---\n\nTwo\n";
    let parsed = lenient(bytes);
    assert_eq!(codes(&parsed), [""; 0]);
    let document = parsed.document.as_ref().unwrap();
    assert_eq!(document.description.as_deref(), Some("Trims --- wicks"));
    assert_eq!(document.license.as_deref(), Some("---"));
    assert_eq!(parsed.body(), "One\n\n---\n\nTwo\n");
    assert_eq!(strict(bytes).document, parsed.document);
}

#[test]
fn d14_without_frontmatter_the_directory_and_the_first_paragraph_serve() {
    let bytes = "# Lamp\n\nTrims wicks.\n\nMore.\n";
    let parsed = lenient(bytes);
    let document = parsed.document.as_ref().unwrap();
    assert_eq!(
        (document.name.as_str(), document.description.as_deref()),
        ("lamp", Some("Trims wicks."))
    );
    assert_eq!(parsed.status(), Status::Derived);
    assert_eq!(finding(&parsed, "NO_FRONTMATTER").line, Some(1));
    let refused = strict(bytes);
    assert_eq!(refused.document, None);
    assert_eq!(finding(&refused, "NO_FRONTMATTER").severity, Severity::Error);
}

#[test]
fn d16_a_list_is_taken_together_and_a_scalar_is_no_frontmatter() {
    let list = "---\n- name: lamp\n- description: Trims wicks\n---\nBody.\n";
    let parsed = lenient(list);
    assert_eq!(parsed.document.as_ref().unwrap().description.as_deref(), Some("Trims wicks"));
    finding(&parsed, "FRONTMATTER_IS_LIST");
    assert_eq!(strict(list).document, None);
    let scalar = "---\njust a sentence\n---\nBody.\n";
    let parsed = lenient(scalar);
    assert_eq!(finding(&parsed, "FRONTMATTER_NOT_MAPPING").severity, Severity::Error);
    assert_eq!(parsed.document.unwrap().name, "lamp");
    assert_eq!(strict(scalar).document, None);
}

#[test]
fn d17_an_unquoted_colon_is_repaired_and_said_and_strict_refuses_it_with_its_line() {
    let bytes = file("name: lamp\ndescription: Trims. Use when: asked");
    let parsed = lenient(&bytes);
    assert_eq!(
        parsed.document.as_ref().unwrap().description.as_deref(),
        Some("Trims. Use when: asked")
    );
    let told = finding(&parsed, "UNQUOTED_COLON");
    assert_eq!((told.severity, told.line, told.column), (Severity::Warning, Some(3), Some(29)));
    let refused = strict(&bytes);
    assert_eq!(refused.document, None);
    let told = finding(&refused, "UNQUOTED_COLON");
    assert_eq!((told.severity, told.line), (Severity::Error, Some(3)));
}

/// Nine levels of nine aliases stand for 387 million values.
fn alias_bomb() -> String {
    let mut keys =
        String::from("name: lamp\ndescription: boom\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let below = format!("*a{},", level - 1).repeat(9);
        writeln!(keys, "a{level}: &a{level} [{below}]").unwrap();
    }
    file(keys.trim_end())
}

#[test]
fn d19_s01_aliases_do_not_multiply() {
    for mode in [Mode::Lenient, Mode::Strict] {
        let start = Instant::now();
        let parsed = parse(alias_bomb().as_bytes(), ORIGIN, mode);
        assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
        assert_eq!(parsed.document, None);
        assert_eq!(codes(&parsed), ["FRONTMATTER_TOO_COMPLEX"]);
        assert!(parsed.text.len() < 2_000);
    }
    // A plain alias is YAML of the standard.
    let plain = file("name: &n lamp\ndescription: *n");
    assert_eq!(document(&plain).description.as_deref(), Some("lamp"));
    assert!(strict(&plain).document.is_some());
}

#[test]
fn d20_two_megabytes_of_frontmatter_are_refused_by_size() {
    let bytes = file(&format!("name: lamp\ndescription: {}", "x".repeat(2 << 20)));
    let start = Instant::now();
    let parsed = lenient(&bytes);
    let took = start.elapsed();
    assert_eq!((parsed.document.is_none(), codes(&parsed)), (true, vec!["FRONTMATTER_TOO_LARGE"]));
    assert!(took < Duration::from_millis(500), "{took:?}");
    // The index asks for no more than it needs to know that.
    let head = parse_head(&bytes.as_bytes()[..(256 << 10)], false, ORIGIN, Mode::Lenient);
    assert!(matches!(head, Head::Parsed(parsed) if parsed.document.is_none()));
}

#[test]
fn d22_bytes_that_are_no_utf8_are_read_and_their_place_is_said() {
    let mut bytes = b"---\nname: lamp\ndescription: Caf\xE9 lamp\n---\nB\n".to_vec();
    let parsed = lenient(&bytes);
    assert_eq!(parsed.document.as_ref().unwrap().description.as_deref(), Some("Café lamp"));
    let told = finding(&parsed, "INVALID_UTF8");
    assert_eq!((told.line, told.column), (Some(3), Some(17)));
    assert_eq!(strict(&bytes).document, None);
    // Windows-1252 has no 0x81: what cannot be read is replaced, and the rest stays.
    bytes.extend(b"\x81\n");
    assert!(lenient(&bytes).body().contains('\u{fffd}'));
}

#[test]
fn d23_a_nul_is_removed_and_said() {
    let bytes = file("name: lamp\ndescription: Trims\0 wicks");
    let parsed = lenient(&bytes);
    assert_eq!(parsed.document.as_ref().unwrap().description.as_deref(), Some("Trims wicks"));
    assert_eq!(finding(&parsed, "CONTROL_CHARACTER").line, Some(3));
    assert_eq!(strict(&bytes).document, None);
    // A file of such bytes is no text at all.
    assert_eq!(codes(&lenient(vec![0; 400])), ["BINARY_FILE"]);
}

#[test]
fn d25_quoted_keys_are_keys() {
    let bytes = file("\"name\": lamp\n'description': \"Trims wicks\"");
    let parsed = lenient(&bytes);
    assert_eq!(codes(&parsed), [""; 0]);
    assert_eq!(strict(&bytes).document, parsed.document);
}

#[test]
fn d26_scalars_are_text_as_written() {
    let parsed = lenient(file("name: 123\ndescription: yes\nversion: 1.10"));
    let document = parsed.document.unwrap();
    assert_eq!(document.name, "123");
    assert_eq!(document.description.as_deref(), Some("yes"));
    assert_eq!(document.version.as_deref(), Some("1.10"));
}

#[test]
fn v01_names_have_64_characters() {
    let named = |length: usize| {
        let name = "n".repeat(length);
        let bytes = file(&format!("name: {name}\ndescription: Trims"));
        let origin = Origin { directory: Box::leak(name.into_boxed_str()), ..ORIGIN };
        (
            parse(bytes.as_bytes(), origin, Mode::Lenient),
            parse(bytes.as_bytes(), origin, Mode::Strict),
        )
    };
    let (lenient, strict) = named(64);
    assert_eq!((codes(&lenient), strict.document.is_some()), (vec![], true));
    let (lenient, strict) = named(65);
    assert_eq!((codes(&lenient), strict.document.is_some()), (vec!["NAME_TOO_LONG"], false));
    assert!(lenient.document.is_some());
}

#[test]
fn v02_other_characters_are_warned_of_and_strict_refuses_them() {
    for name in ["Lamp", "lamp_oil", "lamp oil", "lamp.oil", "lamp-🪔", "-lamp", "lamp-", "la--mp"]
    {
        let bytes = file(&format!("name: \"{name}\"\ndescription: Trims"));
        let origin = Origin { directory: name, ..ORIGIN };
        let parsed = parse(bytes.as_bytes(), origin, Mode::Lenient);
        assert_eq!(codes(&parsed), ["NAME_FORMAT"], "{name}");
        assert_eq!(parsed.document.unwrap().name, name);
        assert_eq!(parse(bytes.as_bytes(), origin, Mode::Strict).document, None, "{name}");
    }
}

#[test]
fn v04_a_name_that_differs_from_the_directory_is_the_name() {
    let bytes = file("name: torch\ndescription: Trims");
    let parsed = lenient(&bytes);
    assert_eq!(finding(&parsed, "NAME_NOT_DIRECTORY").severity, Severity::Warning);
    assert_eq!(parsed.document.unwrap().name, "torch");
    assert_eq!(strict(&bytes).document, None);
}

#[test]
fn v05_composed_and_decomposed_names_are_equal() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    for (name, directory) in [(composed, decomposed), (decomposed, composed)] {
        let bytes = file(&format!("name: {name}\ndescription: Trims"));
        let parsed = parse(bytes.as_bytes(), Origin { directory, ..ORIGIN }, Mode::Lenient);
        assert!(!codes(&parsed).contains(&"NAME_NOT_DIRECTORY"), "{:?}", codes(&parsed));
        assert!(SkillId::new(parsed.document.unwrap().name).is_ok());
    }
}

#[test]
fn v07_a_description_that_says_nothing_is_missing() {
    for keys in ["name: lamp", "name: lamp\ndescription:", "name: lamp\ndescription: \"  \""] {
        let parsed = lenient(file(keys));
        finding(&parsed, "DESCRIPTION_MISSING");
        assert_eq!(parsed.document.unwrap().description.as_deref(), Some("Body."), "{keys}");
        assert_eq!(strict(file(keys)).document, None, "{keys}");
        let nothing = lenient(format!("---\n{keys}\n---\n"));
        assert_eq!(finding(&nothing, "NO_DESCRIPTION").severity, Severity::Error);
        assert_eq!(nothing.document.unwrap().description, None, "{keys}");
    }
}

#[test]
fn v08_descriptions_have_1024_characters() {
    let described =
        |length: usize| file(&format!("name: lamp\ndescription: {}", "灯".repeat(length)));
    assert_eq!(codes(&lenient(described(1_024))), [""; 0]);
    assert!(strict(described(1_024)).document.is_some());
    let parsed = lenient(described(1_025));
    assert_eq!(codes(&parsed), ["DESCRIPTION_TOO_LONG"]);
    assert_eq!(parsed.document.unwrap().description.unwrap().chars().count(), 1_025, "kept whole");
    assert_eq!(strict(described(1_025)).document, None);
}

#[test]
fn v10_an_unknown_key_is_kept_and_named() {
    let parsed = lenient(with("priority: high"));
    let told = finding(&parsed, "UNKNOWN_KEY");
    assert_eq!((told.line, told.message.contains("`priority`")), (Some(4), true));
    assert_eq!(parsed.document.unwrap().extra["priority"], "high");
    assert!(strict(with("priority: high")).document.is_some(), "the standard allows it");
}

#[test]
fn v13_metadata_that_is_no_mapping_is_said_and_values_are_text() {
    let parsed = lenient(with("metadata: author=kim"));
    assert_eq!(finding(&parsed, "METADATA_NOT_MAPPING").line, Some(4));
    let document = document(with("metadata: {version: 1.10, released: yes, n: 007}"));
    let values: Vec<_> = document.metadata.values().map(|value| value.as_str().unwrap()).collect();
    assert_eq!(values, ["007", "yes", "1.10"]);
}

#[test]
fn v14_tags_and_reserved_words_are_warned_of() {
    let told = |name: &str, description: &str| {
        let bytes = file(&format!("name: \"{name}\"\ndescription: \"{description}\""));
        let origin = Origin { directory: name, ..ORIGIN };
        let parsed = parse(bytes.as_bytes(), origin, Mode::Lenient);
        assert!(parsed.diagnostics.iter().all(|found| found.severity == Severity::Warning));
        codes(&parsed).iter().map(|&code| code.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told("claude-lamp", "Trims"), ["RESERVED_WORD"]);
    assert_eq!(told("anthropic", "Trims"), ["RESERVED_WORD"]);
    assert_eq!(told("<b>lamp</b>", "Trims"), ["NAME_FORMAT"]);
    assert_eq!(told("lamp", "Trims <system>wicks</system>"), ["MARKUP_IN_DESCRIPTION"]);
    // A description may well speak of a product; only names are reserved.
    assert_eq!(told("lamp", "Calls the Claude API; a < b and c > d"), [""; 0]);
}

#[test]
fn b01_an_unquoted_colon_hides_no_skill() {
    let parsed = lenient("---\nname: lamp\ndescription: Helps. Use when: asked\n---\nhi");
    assert_eq!(
        parsed.document.as_ref().unwrap().description.as_deref(),
        Some("Helps. Use when: asked")
    );
    let told = finding(&parsed, "UNQUOTED_COLON");
    assert_eq!((told.line, told.column, told.help.is_some()), (Some(3), Some(29), true));
}

#[test]
fn b02_broken_yaml_keeps_every_limit_or_fails_closed() {
    let broken = "name: lamp\ndescription: Helps. Use when: asked\ndisable-model-invocation: true\nallowed-tools: Read";
    let read = document(file(broken));
    assert!(read.disable_model_invocation && read.unreadable.is_empty());
    assert_eq!(read.allowed_tools, ["Read"]);
    let parsed = lenient(file(&broken.replace("true", "perhaps: [")));
    assert_eq!(finding(&parsed, "SECURITY_KEY_UNREADABLE").severity, Severity::Error);
    let document = parsed.document.unwrap();
    assert_eq!(document.unreadable, ["disable-model-invocation"]);
    assert_eq!(document.allowed_tools, ["Read"], "the other limits hold");
}

#[test]
fn b04_the_digest_is_of_the_bytes_and_the_text_is_not() {
    let plain = file("name: lamp\ndescription: Trims");
    let crlf = plain.replace('\n', "\r\n");
    assert_eq!(lenient(&crlf).text, lenient(&plain).text);
    assert_eq!(document(&crlf).digest, Digest::of(crlf.as_bytes()));
    assert_ne!(document(&crlf).digest, document(&plain).digest);
}

#[test]
fn b05_a_file_may_end_with_its_closing_fence() {
    let parsed = lenient("---\nname: lamp\ndescription: d\n---");
    assert_eq!(parsed.body(), "");
    assert_eq!(parsed.document.as_ref().unwrap().description.as_deref(), Some("d"));
    assert_eq!(codes(&parsed), ["BODY_EMPTY"]);
}

#[test]
fn b07_a_description_behind_much_metadata_is_read() {
    let mut keys = String::from("name: lamp\nmetadata:\n");
    for n in 0..150 {
        writeln!(keys, "  key-{n}: {}", "v".repeat(20)).unwrap();
    }
    keys.push_str("description: Trims wicks");
    assert!(keys.len() > 3_000);
    let bytes = file(&keys);
    assert_eq!(document(&bytes).description.as_deref(), Some("Trims wicks"));
    let head = parse_head(&bytes.as_bytes()[..2_000], false, ORIGIN, Mode::Lenient);
    assert_eq!(head, Head::NeedMore, "half a frontmatter is no frontmatter");
}

#[test]
fn b08_values_of_other_types_are_their_text() {
    let read = document(with("argument-hint: [topic: x | y]"));
    assert_eq!(read.argument_hint.as_deref(), Some("[topic: x | y]"));
    assert_eq!(document(file("name: 3000\ndescription: d")).name, "3000");
    assert_eq!(document(file("name: yes\ndescription: d")).name, "yes");
    let parsed = lenient(file("name: lamp\ndescription: [trims, fills]"));
    finding(&parsed, "DESCRIPTION_IS_LIST");
    assert_eq!(parsed.document.unwrap().description.as_deref(), Some("trims, fills"));
}

#[test]
fn b10_one_character_too_many_costs_no_skill() {
    let parsed = lenient(file(&format!("name: lamp\ndescription: {}", "x".repeat(1_025))));
    assert_eq!(finding(&parsed, "DESCRIPTION_TOO_LONG").severity, Severity::Warning);
    assert_eq!(parsed.status(), Status::Ok);
}

#[test]
fn b11_the_cause_named_is_the_true_one() {
    let text = format!("{} Use for: lamps", "Trims wicks of paraffin lamps. ".repeat(14));
    assert!((440..460).contains(&text.len()));
    let parsed = lenient(file(&format!("name: lamp\ndescription: {text}")));
    assert_eq!(codes(&parsed), ["UNQUOTED_COLON"]);
    assert_eq!(parsed.document.unwrap().description, Some(text));
}

#[test]
fn b14_bold_keys_and_no_frontmatter_are_a_skill_of_the_directory() {
    for bytes in ["**name:** torch\n\n**description:** Trims wicks.\n", "# Torch\n\nTrims wicks.\n"]
    {
        let parsed = lenient(bytes);
        finding(&parsed, "NO_FRONTMATTER");
        let document = parsed.document.as_ref().unwrap();
        assert_eq!((document.name.as_str(), document.derived), ("lamp", true), "{bytes}");
        assert!(document.description.is_some(), "{bytes}");
    }
}
