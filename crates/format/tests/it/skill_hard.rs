//! Each way in which a SKILL.md is broken, and what a careful reader makes of it.

use std::fmt::Write as _;

use concertina_format::skill::{Mode, Origin, Parsed, Status, parse};

const ORIGIN: Origin<'_> = Origin { directory: "lamp", file: "SKILL.md" };

fn read(file: impl AsRef<[u8]>) -> Parsed {
    parse(file.as_ref(), ORIGIN, Mode::Lenient)
}

fn codes(parsed: &Parsed) -> Vec<&str> {
    parsed.diagnostics.iter().map(|found| found.code.as_ref()).collect()
}

/// Reads `file` and asserts its description, and that `code` is among the findings.
#[track_caller]
fn described(file: impl AsRef<[u8]>, description: &str, code: &str) -> Parsed {
    let parsed = read(file);
    let document = parsed.document.as_ref().expect("usable");
    assert_eq!(document.name, "lamp", "{:?}", parsed.diagnostics);
    assert_eq!(document.description.as_deref(), Some(description), "{:?}", parsed.diagnostics);
    assert!(codes(&parsed).contains(&code), "no {code} in {:?}", parsed.diagnostics);
    parsed
}

/// The same for one broken description between two whole keys, which must survive.
#[track_caller]
fn value(value: &str, description: &str, code: &str) {
    let file = format!("---\nname: lamp\ndescription: {value}\nlicense: MIT\n---\nBody.\n");
    let parsed = described(&file, description, code);
    let document = parsed.document.as_ref().unwrap();
    assert_eq!(document.license.as_deref(), Some("MIT"));
    assert_eq!(document.status, Status::Repaired);
    assert_eq!(parsed.body(), "Body.\n");
    let found = parsed.diagnostics.iter().find(|found| found.code == code).unwrap();
    assert!(found.line.is_some_and(|line| (2..=5).contains(&line)), "{found:?}");
    assert!(found.column.is_some() && found.help.is_some(), "{found:?}");
    assert!(parse(file.as_bytes(), ORIGIN, Mode::Strict).document.is_none(), "strict accepts it");
}

#[test]
fn unquoted_colon() {
    value("Trims wicks. Use when: asked", "Trims wicks. Use when: asked", "UNQUOTED_COLON");
    value("Trims wicks\n  daily. Usage: ask", "Trims wicks daily. Usage: ask", "UNQUOTED_COLON");
    value("Ends with a colon: and more:", "Ends with a colon: and more:", "UNQUOTED_COLON");
    value("Use when: closing #12", "Use when: closing #12", "UNQUOTED_COLON");
}

#[test]
fn b01_the_finding_is_at_the_colon() {
    let parsed = read("---\nname: lamp\ndescription: Trims. Use when: asked\n---\n");
    let found = &parsed.diagnostics[0];
    assert_eq!(
        (found.code.as_ref(), found.line, found.column),
        ("UNQUOTED_COLON", Some(3), Some(29))
    );
}

#[test]
fn quotes() {
    value(r#""Says "hello" and "bye"""#, r#"Says "hello" and "bye""#, "INNER_QUOTE");
    value("'The keeper's lamp'", "The keeper's lamp", "INNER_QUOTE");
    value(r#""Trim wicks" before dusk"#, r#""Trim wicks" before dusk"#, "TEXT_AFTER_QUOTE");
    value("'Trim wicks' before dusk", "'Trim wicks' before dusk", "TEXT_AFTER_QUOTE");
    value(r#""Trim" and "fill""#, r#""Trim" and "fill""#, "TEXT_AFTER_QUOTE");
    value(r#""Trims wicks by hand"#, "Trims wicks by hand", "UNTERMINATED_QUOTE");
    value("'Trims wicks by hand", "Trims wicks by hand", "UNTERMINATED_QUOTE");
    value(r#""Trims wicks"""#, "Trims wicks", "INNER_QUOTE");
    value("'The keepers' lamp'", "The keepers' lamp", "INNER_QUOTE");
    value(r#""Fits 5" lamps""#, r#"Fits 5" lamps"#, "INNER_QUOTE");
}

#[test]
fn escapes() {
    value(r#""Reads C:\Lamps\oil""#, r"Reads C:\Lamps\oil", "BAD_ESCAPE");
    value(r#""Matches \d+ wicks""#, r"Matches \d+ wicks", "BAD_ESCAPE");
    value(r#""Says \"hi\" to C:\Users""#, r#"Says "hi" to C:\Users"#, "BAD_ESCAPE");
}

#[test]
fn reserved_characters() {
    value("*.lamp files", "*.lamp files", "RESERVED_CHARACTER");
    value("@keeper rota", "@keeper rota", "RESERVED_CHARACTER");
    value("`trim` runner", "`trim` runner", "RESERVED_CHARACTER");
    value("%LAMP% expander", "%LAMP% expander", "RESERVED_CHARACTER");
    value("**Trims** wicks", "**Trims** wicks", "RESERVED_CHARACTER");
    value("- trims wicks", "- trims wicks", "RESERVED_CHARACTER");
}

#[test]
fn brackets() {
    value("[x] trims wicks", "[x] trims wicks", "TEXT_AFTER_BRACKET");
    value("[TODO] say what it does", "[TODO] say what it does", "PLACEHOLDER");
    value("{oil} and wicks", "{oil} and wicks", "TEXT_AFTER_BRACKET");
    value("[trim, fill]", "trim, fill", "DESCRIPTION_IS_LIST");
    value("[trim, fill", "[trim, fill", "UNCLOSED_BRACKET");
    value("\n  - Trim\n  - Fill", "Trim, Fill", "DESCRIPTION_IS_LIST");
    value("\n  en: Lamp\n  de: Lampe", "Lamp", "DESCRIPTION_IS_MAPPING");
    described("---\nname: lamp\ndescription: {what}\n---\nB\n", "{what}", "PLACEHOLDER");
    let parsed = described(
        "---\nname: lamp\ndescription: {{ what_it_does }}\n---\nB\n",
        "{{ what_it_does }}",
        "PLACEHOLDER",
    );
    assert_eq!(codes(&parsed), ["PLACEHOLDER"]);
}

#[test]
fn block_scalars() {
    value(
        "|\nTrims wicks.\nUse for: lamps.",
        "Trims wicks.\nUse for: lamps.",
        "BLOCK_NOT_INDENTED",
    );
    value(">\nTrims wicks.\nUse for lamps.", "Trims wicks. Use for lamps.", "BLOCK_NOT_INDENTED");
    value("| Trims wicks", "Trims wicks", "BLOCK_HEADER_TEXT");
    value(">- Trims wicks\n  by hand", "Trims wicks by hand", "BLOCK_HEADER_TEXT");
}

#[test]
fn lines_that_are_not_indented() {
    value(
        "Trims wicks that\nsmoke after rain",
        "Trims wicks that smoke after rain",
        "CONTINUATION_NOT_INDENTED",
    );
    value("Trims: all\nwicks at dusk", "Trims: all wicks at dusk", "CONTINUATION_NOT_INDENTED");
}

#[test]
fn tabs() {
    let file = "---\nname: lamp\ndescription: Trims\nmetadata:\n\tauthor: lee\n---\nB\n";
    let parsed = described(file, "Trims", "TAB_INDENT");
    assert_eq!(parsed.document.unwrap().metadata["author"], "lee");
    let parsed = read("---\nname:\tlamp\ndescription:\tTrims\n---\nB\n");
    assert_eq!(codes(&parsed), [""; 0]);
}

#[test]
fn separators() {
    described("---\nname:lamp\ndescription:Trims wicks\n---\nB\n", "Trims wicks", "MISSING_SPACE");
    described(
        "---\nname：lamp\ndescription：Trims wicks\n---\nB\n",
        "Trims wicks",
        "FULLWIDTH_COLON",
    );
    described(
        "---\nname: lamp\ndescription：Use: wicks\n---\nB\n",
        "Use: wicks",
        "FULLWIDTH_COLON",
    );
    described("---\nname lamp\ndescription Trims wicks\n---\nB\n", "Trims wicks", "MISSING_COLON");
    described(
        "---\n\n## name: lamp\ndescription: Trims wicks\n---\nB\n",
        "Trims wicks",
        "KEY_AS_HEADING",
    );
}

#[test]
fn keys() {
    described(
        "---\nname: lamp\ndescription: Old\ndescription: New\n---\nB\n",
        "New",
        "DUPLICATE_KEY",
    );
    described("---\nName: lamp\nDESCRIPTION: Trims\n---\nB\n", "Trims", "KEY_CASE");
    let parsed = read("---\n\"name\": lamp\n'description': Trims\n---\nB\n");
    assert_eq!(codes(&parsed), [""; 0]);
    let parsed = read("---\n  name: lamp\n  description: Trims\n---\nB\n");
    assert_eq!(parsed.document.unwrap().description.as_deref(), Some("Trims"));
}

#[test]
fn law4_a_broken_key_leaves_the_others_alone() {
    for broken in [
        "tags: [a, b",
        "tags: {a: b",
        "author: @sam",
        "globs: *.ts",
        "x: \"open",
        "y: 'it's'",
        "z: a: b",
    ] {
        let file =
            format!("---\nname: lamp\n{broken}\ndescription: Trims\nversion: 1.10\n---\nB\n");
        let parsed = read(&file);
        let document = parsed.document.unwrap();
        assert_eq!(document.name, "lamp", "{broken}");
        assert_eq!(document.description.as_deref(), Some("Trims"), "{broken}");
        assert_eq!(document.version.as_deref(), Some("1.10"), "{broken}");
        assert_eq!(document.status, Status::Repaired, "{broken}");
    }
}

#[test]
fn fences() {
    let keys = "name: lamp\ndescription: Trims wicks\n";
    let body = "# Body\n\nFollow.\n";
    for (file, code) in [
        (format!("\n\n---\n{keys}---\n{body}"), "LEADING_BLANK_LINES"),
        (format!("<!-- by\nme -->\n---\n{keys}---\n{body}"), "LEADING_COMMENT"),
        (format!("# My lamp\n\n---\n{keys}---\n{body}"), "LEADING_TEXT"),
        (format!("```markdown\n---\n{keys}---\n{body}```\n"), "CODE_FENCE_WRAPPED"),
        (format!("```yaml\n{keys}```\n{body}"), "CODE_FENCE_WRAPPED"),
        (format!("{keys}---\n{body}"), "OPENING_FENCE_MISSING"),
        (format!("{keys}\n{body}"), "OPENING_FENCE_MISSING"),
        (format!("author: kim\n{keys}---\n{body}"), "OPENING_FENCE_MISSING"),
        (format!("***\n{keys}***\n{body}"), "ODD_FENCE"),
        (format!("---\n{keys}---{body}"), "ODD_FENCE"),
        (format!("---\n{keys}\n{body}"), "CLOSING_FENCE_MISSING"),
        (format!("---\n{keys}\n{body}\n---\n\nMore.\n"), "CLOSING_FENCE_MISSING"),
        (format!("----\n{keys}----\n{body}"), "ODD_FENCE"),
        (format!("---\n{keys}-----\n{body}"), "ODD_FENCE"),
        (format!("---\n{keys} ---\n{body}"), "ODD_FENCE"),
        (format!("———\n{keys}———\n{body}"), "ODD_FENCE"),
        (format!("---\n{keys}...\n{body}"), "ODD_FENCE"),
        (format!("---yaml\n{keys}---\n{body}"), "ODD_FENCE"),
        (format!("---\n{keys}***\n{body}"), "ODD_FENCE"),
        (
            format!("+++\nname = \"lamp\"\ndescription = \"Trims wicks\"\n+++\n{body}"),
            "TOML_FRONTMATTER",
        ),
        (
            format!("---\nname = \"lamp\"\ndescription = \"Trims wicks\"\n---\n{body}"),
            "TOML_FRONTMATTER",
        ),
        (
            format!("{{\n\"name\": \"lamp\",\n\"description\": \"Trims wicks\"\n}}\n{body}"),
            "JSON_FRONTMATTER",
        ),
        (
            format!(";;;\n{{\"name\": \"lamp\", \"description\": \"Trims wicks\"}}\n;;;\n{body}"),
            "JSON_FRONTMATTER",
        ),
        (
            format!("---\n- name: lamp\n- description: Trims wicks\n---\n{body}"),
            "FRONTMATTER_IS_LIST",
        ),
    ] {
        let parsed = described(&file, "Trims wicks", code);
        assert!(
            parsed.body().trim_start().starts_with(body.trim_end()),
            "{code}: {:?}",
            parsed.body()
        );
        assert!(parse(file.as_bytes(), ORIGIN, Mode::Strict).document.is_none(), "{code}");
    }
}

#[test]
fn fences_that_are_right() {
    let parsed = read("--- \nname: lamp\ndescription: a --- b\n---\t\nOne\n\n---\n\nTwo\n");
    assert_eq!(codes(&parsed), [""; 0]);
    assert_eq!(parsed.body(), "One\n\n---\n\nTwo\n");
    let parsed = read("---\nname: lamp\ndescription: |\n  One\n  ---\n  Two\n---\nB\n");
    assert_eq!(parsed.document.unwrap().description.as_deref(), Some("One\n---\nTwo"));
    let parsed = read("---\nname: lamp\ndescription: a\n---\n---\nversion: 2\n---\nText\n");
    assert_eq!(codes(&parsed), ["SECOND_FRONTMATTER"]);
    assert_eq!(parsed.body(), "---\nversion: 2\n---\nText\n");
    // B05: nothing after the closing fence, not even a line end.
    let parsed = read("---\nname: lamp\ndescription: a\n---");
    assert_eq!((codes(&parsed), parsed.body()), (vec!["BODY_EMPTY"], ""));
}

#[test]
fn no_frontmatter() {
    let parsed = described(
        "# Lamp\n\nTrims *wicks*\nby hand.\n\nMore.\n",
        "Trims wicks by hand.",
        "NO_FRONTMATTER",
    );
    assert_eq!(parsed.status(), Status::Derived);
    let parsed = read("---\n\n# Lamp\n\nTrims wicks.\n\n---\n\nMore.\n");
    assert_eq!(parsed.document.unwrap().description.as_deref(), Some("Trims wicks."));
    let parsed = read("---\nname: lamp\n---\n\n");
    assert!(codes(&parsed).contains(&"NO_DESCRIPTION"));
    assert_eq!(parsed.document.unwrap().description, None);
}

#[test]
fn scalars_keep_their_spelling() {
    for spelled in
        ["2048", "1.10", "yes", "on", "1e3", "0x1F", "2024-01-01", "007", "1_000", ".5", "+1"]
    {
        let file =
            format!("---\nname: {spelled}\ndescription: {spelled}\nversion: {spelled}\n---\nB\n");
        let document = read(&file).document.unwrap();
        assert_eq!(document.name, spelled);
        assert_eq!(document.description.as_deref(), Some(spelled));
        assert_eq!(document.version.as_deref(), Some(spelled));
        // The long way gives the same.
        let long = file.replacen("---\n", "---\n# note\n", 1);
        assert_eq!(read(long).document.unwrap().version.as_deref(), Some(spelled));
    }
}

#[test]
fn encodings() {
    let file = "---\nname: lamp\ndescription: Trims wicks\n---\nBody\n";
    let little: Vec<u8> = file.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = file.encode_utf16().flat_map(u16::to_be_bytes).collect();
    described([&[0xFF, 0xFE], little.as_slice()].concat(), "Trims wicks", "UTF16_DECODED");
    described([&[0xFE, 0xFF], big.as_slice()].concat(), "Trims wicks", "UTF16_DECODED");
    described(&little, "Trims wicks", "UTF16_DECODED");
    described(&big, "Trims wicks", "UTF16_DECODED");
    described(format!("\u{feff}{file}"), "Trims wicks", "BYTE_ORDER_MARK");
    described(file.replace('\n', "\r"), "Trims wicks", "CARRIAGE_RETURN");
    described(file.replace("lamp", "lamp\0"), "Trims wicks", "CONTROL_CHARACTER");
    described(file.replace("wicks", "wi\u{200b}cks"), "Trims wicks", "HIDDEN_CHARACTER");
    described(file.replace("wicks", "wicks\u{e0041}\u{e0042}"), "Trims wicks", "HIDDEN_CHARACTER");
    described(file.replace("wicks", "\u{202e}wicks\u{202c}"), "Trims wicks", "BIDI_CONTROL");
    described(b"---\nname: lamp\ndescription: Caf\xE9 lamp\n---\nB\n", "Café lamp", "INVALID_UTF8");
    described(
        b"---\nname: lamp\ndescription: Caf\xE9\xFF lamp\n---\nB\n",
        "Caf\u{fffd}\u{fffd} lamp",
        "INVALID_UTF8",
    );
    // Joiners that a script or an emoji needs stay.
    let family = file.replace("wicks", "👩\u{200d}🔧");
    assert_eq!(codes(&read(family)), [""; 0]);
}

#[test]
fn s05_hidden_text_in_the_body_stays_and_is_reported_with_code_point_and_line() {
    let body = "Do\u{200b} it\u{e0041}.\nThen \u{202e}rest.\n";
    let parsed = read(format!("---\nname: lamp\ndescription: Trims\n---\n{body}"));
    assert_eq!(codes(&parsed), ["HIDDEN_IN_BODY"; 3]);
    assert_eq!(parsed.body(), body);
    for (found, (point, line)) in
        parsed.diagnostics.iter().zip([("U+200B", 5), ("U+E0041", 5), ("U+202E", 6)])
    {
        assert!(found.message.contains(point), "{}", found.message);
        assert_eq!(found.line, Some(line), "{}", found.message);
    }
}

#[test]
fn s04_tags_in_a_description_are_gone_from_it_and_named_with_code_point_and_line() {
    let tags: String =
        "hide".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
    for (text, point) in
        [(tags.as_str(), "U+E0068"), ("\u{202e}", "U+202E"), ("\u{200b}", "U+200B")]
    {
        let file = format!("---\nname: lamp\ndescription: Trims {text}wicks\n---\nB\n");
        let parsed = read(&file);
        assert_eq!(parsed.document.as_ref().unwrap().description.as_deref(), Some("Trims wicks"));
        let found = &parsed.diagnostics[0];
        assert!(found.message.contains(point), "{}", found.message);
        assert_eq!(found.line, Some(3));
        let origin = Origin { directory: "lamp", file: "SKILL.md" };
        assert_eq!(parse(file.as_bytes(), origin, Mode::Strict).document, None);
    }
}

#[test]
fn s02_four_faults_of_a_frontmatter_have_four_names() {
    let large = "x".repeat(65 * 1024);
    let depth = |levels: usize| format!("x: {}1{}", "[".repeat(levels), "]".repeat(levels));
    for (keys, code) in [
        (format!("license: {large}"), "FRONTMATTER_TOO_LARGE"),
        (depth(17), "FRONTMATTER_TOO_COMPLEX"),
        ("license: a\nlicense: b".to_owned(), "DUPLICATE_KEY"),
        ("license: !!python/object:os.system a".to_owned(), "TAG_IGNORED"),
    ] {
        let file = format!("---\nname: lamp\ndescription: Trims\n{keys}\n---\nB\n");
        assert_eq!(codes(&read(file)), [code]);
    }
    let file = format!(
        "---\nname: lamp\ndescription: Trims\nmetadata: {{a: {}}}\n---\nB\n",
        &depth(14)[3..]
    );
    assert!(read(file).document.is_some());
}

#[test]
fn d20_what_cannot_be_used_is_rejected_and_quickly() {
    let large = format!("---\nname: lamp\ndescription: {}\n---\nB\n", "x".repeat(2 << 20));
    let open = format!("---\nname: lamp\ndescription: {}\n", "x".repeat(2 << 20));
    let mut bomb =
        String::from("---\nname: lamp\ndescription: boom\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let below = format!("*a{},", level - 1).repeat(9);
        writeln!(bomb, "a{level}: &a{level} [{below}]").unwrap();
    }
    bomb.push_str("---\nB\n");
    let deep = format!("---\nname: lamp\nx: {}{}\n---\nB\n", "[".repeat(200), "]".repeat(200));
    let wide = format!("---\nname: lamp\nx: [{}]\n---\nB\n", "1,".repeat(20_000));
    let huge = "x".repeat(5 << 20);
    for (file, code) in [
        (String::new(), "FILE_EMPTY"),
        (" \n\t\n".to_owned(), "FILE_EMPTY"),
        ("\0\u{1}\u{2}\0\u{3}\0\0\u{4}\0\0\0\0".repeat(100), "BINARY_FILE"),
        (large, "FRONTMATTER_TOO_LARGE"),
        (open, "FRONTMATTER_TOO_LARGE"),
        (bomb, "FRONTMATTER_TOO_COMPLEX"),
        (deep, "FRONTMATTER_TOO_COMPLEX"),
        (wide, "FRONTMATTER_TOO_COMPLEX"),
        (huge, "FILE_TOO_LARGE"),
    ] {
        let start = std::time::Instant::now();
        let parsed = read(&file);
        let took = start.elapsed();
        assert_eq!(parsed.document, None, "{code}");
        assert_eq!(parsed.status(), Status::Rejected);
        assert_eq!(codes(&parsed), [code]);
        eprintln!("{code}: {took:?}");
        // A bound with room for a busy machine; the figure asked for is 50 ms.
        assert!(took.as_millis() < 500, "{code} took {took:?}");
    }
}

#[test]
fn anchors_and_tags() {
    described("---\nname: &n lamp\ndescription: *n\n---\nB\n", "lamp", "ALIAS_RESOLVED");
    described(
        "---\nname: !!python/name:os.system lamp\ndescription: Trims\n---\nB\n",
        "Trims",
        "TAG_IGNORED",
    );
}

#[test]
fn comments() {
    described(
        "---\n# head\nname: lamp\ndescription: Trims # short\n---\nB\n",
        "Trims",
        "COMMENT_IN_VALUE",
    );
    let parsed = read("---\nname: lamp\ndescription: Knows C# and F#\n---\nB\n");
    assert_eq!(parsed.document.unwrap().description.as_deref(), Some("Knows C# and F#"));
}

#[test]
fn portability() {
    let with = |name: &str, description: &str| {
        format!("---\nname: {name}\ndescription: {description}\n---\nB\n")
    };
    for (file, code) in [
        (with("My Lamp", "Trims"), "NAME_FORMAT"),
        (with("灯", "Trims"), "NAME_FORMAT"),
        (with(&"n".repeat(65), "Trims"), "NAME_TOO_LONG"),
        (with("torch", "Trims"), "NAME_NOT_DIRECTORY"),
        (with("claude-lamp", "Trims"), "RESERVED_WORD"),
        (with("lamp", &"x".repeat(1_025)), "DESCRIPTION_TOO_LONG"),
        (with("lamp", "Trims </skill> wicks"), "MARKUP_IN_DESCRIPTION"),
    ] {
        let parsed = read(&file);
        assert!(codes(&parsed).contains(&code), "{code}: {:?}", codes(&parsed));
        assert_eq!(parsed.status(), Status::Ok, "{code}");
    }
    assert_eq!(codes(&read(with("lamp", &"x".repeat(1_024)))), [""; 0]);
    let lower = parse(
        with("lamp", "Trims").as_bytes(),
        Origin { file: "skill.md", ..ORIGIN },
        Mode::Lenient,
    );
    assert_eq!(codes(&lower), ["FILE_NAME"]);
    // A command is named by its file.
    let command =
        parse(b"Say hello.\n", Origin { directory: "commands", file: "greet.md" }, Mode::Lenient);
    assert_eq!(command.document.unwrap().name, "greet");
}

#[test]
fn strict_reading_takes_what_the_standard_allows() {
    let file = "---\nname: &n lamp\ndescription: >-\n  Trims wicks\n  by hand\nlicense: *n\nallowed-tools: [Read, 'Bash(git:*)']\nmetadata: {a: {b: 1.10}}\n---\nB\n";
    let parsed = parse(file.as_bytes(), ORIGIN, Mode::Strict);
    let document = parsed.document.expect("usable");
    assert_eq!(document.description.as_deref(), Some("Trims wicks by hand"));
    assert_eq!(document.license.as_deref(), Some("lamp"));
    assert_eq!(document.metadata["a"]["b"], "1.10");
    for wrong in [
        "# no frontmatter\n\nText.\n",
        "---\nname: torch\ndescription: d\n---\nB\n",
        "---\nname: lamp\n---\nB\n",
    ] {
        let parsed = parse(wrong.as_bytes(), ORIGIN, Mode::Strict);
        assert_eq!(parsed.document, None, "{wrong}");
        assert!(parsed.diagnostics.iter().any(|d| d.severity == concertina_types::Severity::Error));
    }
}
