//! What a repair or an escape must not carry past its reader: security keys and hidden characters.

use concertina_format::skill::{Document, Mode, Origin, Parsed, parse};

const DISABLE: &str = "disable-model-invocation";

fn read(frontmatter: &str) -> Parsed {
    let file = format!("---\n{frontmatter}\n---\nBody.\n");
    parse(file.as_bytes(), Origin { directory: "lamp", file: "SKILL.md" }, Mode::Lenient)
}

fn document(frontmatter: &str) -> Document {
    read(frontmatter).document.unwrap()
}

#[track_caller]
fn closed(frontmatter: &str, key: &str) {
    let parsed = read(frontmatter);
    let document = parsed.document.as_ref().unwrap();
    assert_eq!(document.unreadable, [key], "{frontmatter}\n{:?}", parsed.diagnostics);
    assert!(parsed.diagnostics.iter().any(|found| found.code == "SECURITY_KEY_UNREADABLE"));
}

#[test]
fn law5_a_security_key_that_a_repair_swallows_is_unreadable() {
    for line in [
        "- disable-model-invocation: true",
        "* disable-model-invocation: true",
        "> disable-model-invocation: true",
        "**disable-model-invocation**: true",
        "- **disable-model-invocation:** true",
        "{disable-model-invocation: true}",
        ", disable-model-invocation: true",
        "      disable-model-invocation: true",
        "- 'disable-model-invocation': true",
        "- {a: b, disable-model-invocation: true",
    ] {
        closed(&format!("name: lamp\ndescription: D\n{line}"), DISABLE);
        // An indented first line is a key like any other.
        if !line.starts_with(' ') {
            closed(&format!("{line}\nname: lamp\ndescription: a: b"), DISABLE);
        }
    }
    closed("name: lamp\ntags: [a\n- paths: ['*.rs']\ndescription: D", "paths");
    closed("{name: lamp, description: a: b, disable-model-invocation: true}", DISABLE);
    closed(
        "{\n  \"name\": \"lamp\",\n  \"description\": \"a\"b\", \"disable-model-invocation\": true\n}",
        DISABLE,
    );
    closed("- name: lamp\n- description: a: b\n- disable-model-invocation: true", DISABLE);
    closed("description: D\ntags:\n- a\n- disable-model-invocation: true", DISABLE);
    closed("## name: lamp description: D disable-model-invocation: true", DISABLE);
    closed("description:\n  en: D\n  disable-model-invocation: true", DISABLE);
}

#[test]
fn law5_a_key_that_is_read_or_means_something_else_is_no_loss() {
    for whole in [
        "{name: lamp, description: D, disable-model-invocation: true}",
        "- name: lamp\n- description: D\n- disable-model-invocation: true",
    ] {
        let document = document(whole);
        assert!(document.disable_model_invocation && document.unreadable.is_empty(), "{whole}");
    }
    for other in [
        "description: a: b\nmetadata:\n  author: @sam\n  paths: here",
        "description: a: b\nparameters:\n  paths: {type: array}",
        "description: |\n  Keys:\n  - paths: which files\ntags: [a",
        "description: 'Sorts {paths}'\narguments:\n  paths: which files",
        "description: Use for: many\n  paths and permissions",
        "description: {paths}",
        "description: a: b\n# - paths: x",
    ] {
        assert_eq!(document(other).unreadable, [""; 0], "{other}");
    }
}

#[test]
fn law5_a_repair_inside_permissions_is_none() {
    for permissions in [
        "permissions:\n  read: [{paths: [\"a\"}]",
        "permissions:\n  confirm: [write, execute",
        "permissions:\n  read: [{paths: [a]}]\n  tools: @all",
        "permissions: {read: [a], tools: [b}",
        "permissions: [read]",
        "permissions: [Bash, On-Unexpected]",
    ] {
        closed(&format!("name: lamp\n{permissions}\ndescription: D"), "permissions");
        assert!(document(permissions).permissions.is_empty(), "{permissions}");
    }
}

#[test]
fn law5_a_merge_brings_no_security_key_in_unseen() {
    closed("description: D\n<<: {disable-model-invocation: true}", DISABLE);
    closed("x: &x\n  disable-model-invocation: true\ndescription: D\n<<: *x", DISABLE);
    closed("description: D\nx: &x {paths: a}\n<<: [*x, {author: sam}]", "paths");
    closed("x: &x\n  disable-model-invocation: true\ndescription: a: b\n<<: *x", DISABLE);
    let own = document("description: D\npaths: b\n<<: {paths: a}");
    assert_eq!((own.paths, own.unreadable), (vec!["b".to_owned()], Vec::new()));
}

#[test]
fn hidden_characters_do_not_come_in_as_escapes() {
    let parsed = read(
        r#"name: "la\u200Bmp"
description: "Tr\U000E0041ims\u202E wicks\e]0;x\a"
when_to_use: "at\u2066 dusk"
tags: ["a\u200B", b]
examples: ["trim\u0000 it"]
"disable-model\u200B-invocation": true"#,
    );
    let document = parsed.document.unwrap();
    assert_eq!(document.name, "lamp");
    assert_eq!(document.description.as_deref(), Some("Trims wicks]0;x"));
    assert_eq!(document.when_to_use.as_deref(), Some("at dusk"));
    assert_eq!(document.tags, ["a", "b"]);
    assert_eq!(document.examples[0].query, "trim it");
    assert!(document.disable_model_invocation);
    for code in ["HIDDEN_CHARACTER", "BIDI_CONTROL", "CONTROL_CHARACTER"] {
        assert!(parsed.diagnostics.iter().any(|found| found.code == code), "{code}");
    }
    let kept = read(r#"description: "caf\u00E9 می\u200Cخواهم\nnext""#).document.unwrap();
    assert_eq!(kept.description.as_deref(), Some("café می\u{200c}خواهم\nnext"));
}

#[test]
fn tagged_tildes_are_text_and_the_end_of_a_document_is_none() {
    assert_eq!(document("description: D\nlicense: ! ~").license.as_deref(), Some("~"));
    assert_eq!(document("description: D\nlicense: !local ~").license.as_deref(), Some("~"));
    assert_eq!(document("description: D\nlicense: !!null ~").license, None);
    assert_eq!(document("description: Use: it\n...").description.as_deref(), Some("Use: it"));
}
