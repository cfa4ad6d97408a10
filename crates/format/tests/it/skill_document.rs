//! What the keys of a SKILL.md mean.

use concertina_format::skill::{Document, Mode, Origin, codes::Code, parse};
use concertina_types::{NetworkScope, OnUnexpected, OpenMode, PathScope};
use serde_json::json;

fn document(keys: &str) -> Document {
    let file = format!("---\nname: lamp\ndescription: Trims\n{keys}\n---\nB\n");
    let origin = Origin { directory: "lamp", file: "SKILL.md" };
    parse(file.as_bytes(), origin, Mode::Lenient).document.expect("usable")
}

fn found(keys: &str) -> Vec<String> {
    let file = format!("---\nname: lamp\ndescription: Trims\n{keys}\n---\nB\n");
    let origin = Origin { directory: "lamp", file: "SKILL.md" };
    let diagnostics = parse(file.as_bytes(), origin, Mode::Lenient).diagnostics;
    diagnostics.into_iter().map(|found| found.code.into_owned()).collect()
}

#[test]
fn v11_every_way_to_write_tools_gives_the_same_list() {
    for written in [
        "Read Bash(git log:*) Grep",
        "Read, Bash(git log:*), Grep",
        "[Read, 'Bash(git log:*)', Grep]",
        "[Read, Bash(git log:*), Grep]",
        "\"Read, Bash(git log:*), Grep\"",
        "\n  - Read\n  - Bash(git log:*)\n  - Grep",
        "\n- Read\n- \"Bash(git log:*)\"\n- Grep",
        "'[Read, Bash(git log:*), Grep]'",
    ] {
        let document = document(&format!("allowed-tools: {written}"));
        assert_eq!(document.allowed_tools, ["Read", "Bash(git log:*)", "Grep"], "{written}");
        assert!(document.unreadable.is_empty(), "{written}");
    }
    assert_eq!(document("allowed-tools: *").allowed_tools, ["*"]);
    assert_eq!(document("allowed-tools: Bash(npm run: *)").allowed_tools, ["Bash(npm run: *)"]);
    assert_eq!(
        document("allowed-tools: [Bash(npm run: *), Read]").allowed_tools,
        ["Bash(npm run: *)", "Read"]
    );
    assert_eq!(document("allowed-tools:").allowed_tools, [""; 0]);
}

#[test]
fn kebab_snake_and_camel_are_one_key() {
    for key in ["when_to_use", "when-to-use", "whenToUse"] {
        assert_eq!(document(&format!("{key}: at dusk")).when_to_use.as_deref(), Some("at dusk"));
        assert_eq!(found(&format!("{key}: at dusk")), [""; 0], "{key}");
    }
    assert!(document("disableModelInvocation: true").disable_model_invocation);
    assert_eq!(document("allowed_tools: Read").allowed_tools, ["Read"]);
    assert_eq!(document("argumentHint: '[town]'").argument_hint.as_deref(), Some("[town]"));
}

#[test]
fn law5_security_keys_that_cannot_be_read_fail_closed() {
    for (keys, unreadable) in [
        ("disable-model-invocation: maybe", "disable-model-invocation"),
        ("disable-model-invocation:", "disable-model-invocation"),
        ("disable-model-invocation true", "disable-model-invocation"),
        ("disable-model-invocation: [true", "disable-model-invocation"),
        (
            "disable-model-invocation: true\ndisable-model-invocation: false",
            "disable-model-invocation",
        ),
        (
            "disableModelInvocation: false\ndisable-model-invocation: true",
            "disable-model-invocation",
        ),
        ("user-invocable: 7", "user-invocable"),
        ("allowed-tools: [Read, Bash(git:*)", "allowed-tools"),
        ("allowed-tools: {Read: true}", "allowed-tools"),
        ("allowed-tools: Bash(git", "allowed-tools"),
        ("disallowed-tools: {a: b: c}", "disallowed-tools"),
        ("paths: {a: b}", "paths"),
        ("paths: ['[a']", "paths"),
        ("permissions: 42", "permissions"),
        ("permissions: all", "permissions"),
        ("permissions: [unclosed", "permissions"),
        ("permissions:\n  read: 5\n   write: x", "permissions"),
        ("permissions:\n  raed: [{paths: [a]}]", "permissions"),
        ("permissions:\n  read: [{path_list: [a]}]", "permissions"),
        ("permissions:\n  network: true", "permissions"),
        ("permissions:\n  on_unexpected: panic", "permissions"),
        ("when_to_use: \"open\nallowed-tools: Read\nlicense: MIT\"", "allowed-tools"),
    ] {
        let document = document(keys);
        // Some are repaired beyond doubt, and then they are in force.
        assert_eq!(document.unreadable, [unreadable], "{keys}");
        assert!(found(keys).contains(&"SECURITY_KEY_UNREADABLE".to_owned()), "{keys}");
        assert_eq!(document.description.as_deref(), Some("Trims"));
    }
    for keys in [
        "disable-model-invocation: true\ndisable-model-invocation: true",
        "disable-model-invocation: \"true",
        "disable-model-invocation:true",
        "disable-model-invocation: yes",
        "disable-model-invocation: TRUE",
        "description: a: b\ndisable-model-invocation: true",
    ] {
        let document = document(keys);
        assert!(document.disable_model_invocation, "{keys}");
        assert!(document.unreadable.is_empty(), "{keys}");
    }
}

#[test]
fn a11_permissions_have_several_shapes_and_one_meaning() {
    let scopes =
        |paths: &[&str]| PathScope { paths: paths.iter().map(|&p| p.to_owned()).collect() };
    let given = document(
        "permissions:\n  read:\n    - paths: [\"${code_dir}/src/**\"]\n    - paths: [docs/*]\n  write: [out/*]\n  network: {domains: [a.example], methods: [get]}\n  execute: {allowed: [\"git status *\"]}\n  tools: [sql/*]\n  confirm: [write]\n  on_unexpected: continue",
    )
    .permissions;
    assert_eq!(given.read, [scopes(&["${code_dir}/src/**"]), scopes(&["docs/*"])]);
    assert_eq!(given.write, [scopes(&["out/*"])]);
    let network = NetworkScope { domains: vec!["a.example".into()], methods: vec!["GET".into()] };
    assert_eq!(given.network, [network]);
    assert_eq!(given.execute, ["git status *"]);
    assert_eq!((given.tools, given.confirm), (vec!["sql/*".into()], vec!["write".into()]));
    assert_eq!(given.on_unexpected, OnUnexpected::Continue);
    for nothing in [
        "permissions:",
        "permissions: none",
        "permissions: {}",
        "permissions: []",
        "permissions:\n  read: []",
    ] {
        let document = document(nothing);
        assert!(document.permissions.is_empty() && document.unreadable.is_empty(), "{nothing}");
    }
    let listed = document(
        "permissions:\n  execute: [{allowed: [ls]}, {allowed: [cat *]}]\n  network: [a.example, b.example]",
    );
    assert_eq!(listed.permissions.execute, ["ls", "cat *"]);
    assert_eq!(listed.permissions.network[0].domains, ["a.example", "b.example"]);
    let unknown = "permissions: {read: [src/**], teleport: [home]}";
    assert!(found(unknown).contains(&"UNKNOWN_PERMISSION".to_owned()));
    assert_eq!(document(unknown).unreadable, ["permissions"]);
    // Another program's words ask for nothing that exists here.
    let foreign = document("permissions: [file_read, shell]");
    assert!(foreign.permissions.is_empty() && foreign.unreadable.is_empty());
    assert_eq!(found("permissions: [file_read, shell]"), ["WRONG_SHAPE"]);
}

#[test]
fn parameters_are_schemas() {
    let document = document(
        "parameters:\n  town:\n    type: string\n    required: true\n    description: Which town\n    pattern: '^[a-z]+$'\n  days: {type: integer, default: 3, minimum: 1, enum: [1, 3, 7]}\n  brief: boolean",
    );
    let [town, days, brief] = &document.parameters[..] else { panic!("{:?}", document.parameters) };
    assert_eq!(
        (town.name.as_str(), town.required, town.description.as_deref()),
        ("town", true, Some("Which town"))
    );
    assert_eq!(
        town.schema,
        json!({"type": "string", "description": "Which town", "pattern": "^[a-z]+$"})
    );
    assert_eq!((days.required, &days.default), (false, &Some(json!(3))));
    assert_eq!(days.schema, json!({"type": "integer", "minimum": 1, "enum": [1, 3, 7]}));
    assert_eq!(brief.schema, json!({"type": "boolean"}));
}

#[test]
fn lists_and_texts() {
    let document = document(
        "tags: [a, 1.10, yes]\nnot_for:\n  - baking, frying\n  - 'note: later'\nexamples:\n  - trim it\n  - query: fill it\n    text: Done\n    tags: [oil]\n  - show me: now\nrequires:\n  - oil\n  - skill: wick\n    when: dry\n    pass: {length: result.cm}\narguments: town days\nargument-hint: [town: a | b]\ncontext: fork\nmodel: small\nuser-invocable: false\npaths: '*.{rs,toml},src/**'",
    );
    assert_eq!(document.tags, ["a", "1.10", "yes"]);
    assert_eq!(document.not_for, ["baking, frying", "note: later"]);
    let queries: Vec<_> = document.examples.iter().map(|e| e.query.as_str()).collect();
    assert_eq!(queries, ["trim it", "fill it", "show me: now"]);
    assert_eq!(document.examples[1].tags, ["oil"]);
    assert_eq!(document.requires[0].skill, "oil");
    assert_eq!(document.requires[1].when.as_deref(), Some("dry"));
    assert_eq!(document.requires[1].pass["length"], "result.cm");
    assert_eq!(document.arguments, ["town", "days"]);
    assert_eq!(document.argument_hint.as_deref(), Some("[town: a | b]"));
    assert_eq!(document.context, OpenMode::Fork);
    assert!(!document.user_invocable);
    assert_eq!(document.paths, ["*.{rs,toml}", "src/**"]);
}

#[test]
fn patterns_that_yaml_takes_for_aliases() {
    assert_eq!(document("paths: *.rs, *.toml").paths, ["*.rs", "*.toml"]);
    assert_eq!(document("paths: [*.rs, **/*.toml]").paths, ["*.rs", "**/*.toml"]);
    assert_eq!(document("paths:\n  - *.rs\n  - **/*.toml").paths, ["*.rs", "**/*.toml"]);
}

#[test]
fn b28_patterns_are_bounded_and_one_bad_one_costs_only_itself() {
    let bombs = "{a,b}".repeat(24);
    let document = document(&format!("paths: ['{bombs}', 'src/*']"));
    assert_eq!(document.paths, ["src/*"]);
    assert!(document.unreadable.is_empty());
}

#[test]
fn metadata_and_unknown_keys_keep_their_spelling() {
    let nested =
        document("metadata: {\"app\": {\"emoji\": \"🌿\", \"n\": 1.10, \"bins\": [\"a\"]}}");
    assert_eq!(nested.metadata["app"], json!({"emoji": "🌿", "n": "1.10", "bins": ["a"]}));
    assert!(found("metadata: author=kim").contains(&"METADATA_NOT_MAPPING".to_owned()));
    assert!(document("metadata: author=kim").metadata.is_empty());
    let other = document("priority: 1.10\nlisted: [yes, 007]");
    assert_eq!(other.extra["priority"], "1.10");
    assert_eq!(other.extra["listed"], json!(["yes", "007"]));
    assert_eq!(found("priority: 1"), ["UNKNOWN_KEY"]);
}

#[test]
fn trees_keep_their_types() {
    let document = document(
        "output: {type: object, minProperties: 1}\nhooks:\n  Stop: [{once: true}]\nprocedure: {steps: [{id: a, retries: 2}]}",
    );
    assert_eq!(document.output, Some(json!({"type": "object", "minProperties": 1})));
    assert_eq!(document.hooks, Some(json!({"Stop": [{"once": true}]})));
    assert_eq!(document.procedure, Some(json!({"steps": [{"id": "a", "retries": 2}]})));
}

#[test]
fn codes_are_unique_and_documented() {
    let mut codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    for code in Code::ALL {
        assert!(
            code.as_str()
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        );
        assert!(code.meaning().ends_with('.') && !code.help().is_empty(), "{code}");
    }
    codes.sort_unstable();
    let all = codes.len();
    codes.dedup();
    assert_eq!(codes.len(), all);
}
