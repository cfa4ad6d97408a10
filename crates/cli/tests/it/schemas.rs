//! What `--json` writes is what `docs/schemas` says.

use std::collections::{BTreeMap, BTreeSet};

use concertina_format::parameters::{check_schema, unsupported_keywords};
use serde_json::Value;

use crate::kit::{Place, repository, write};

const BYPASS: &str = include_str!("../../../../fixtures/procedures/bypass.yaml");

fn schema(name: &str) -> Value {
    let path = repository(&format!("docs/schemas/{name}.json"));
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}

/// Every fixed field of `value` that `schema` does not tell of.
fn untold(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let Some(properties) = schema["properties"].as_object() else { return };
            for (name, value) in map {
                let here = format!("{at}/{name}");
                match properties.get(name) {
                    Some(schema) => untold(schema, value, &here, found),
                    None if schema.get("additionalProperties").is_none() => found.push(here),
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                untold(&schema["items"], item, &format!("{at}/-"), found);
            }
        }
        _ => {}
    }
}

const ROWS: &str = r#"//- rows.jsonl
{"id": "1", "name": "harbour/clock", "description": "Says the time at the harbour."}
{"id": "2", "name": "mail/send", "description": "Sends a letter."}
//- asked.jsonl
{"query": "what time is it at the harbour", "relevant": ["1"], "kind": "plain", "lang": "en"}
{"query": "a letter on the time at the harbour", "relevant": ["2"]}
{"query": "fly a kite", "relevant": ["3"]}
{"query": "play chess", "relevant": []}
not json
//- other.toml
[search.weights]
description = 0
"#;

const BELL: &str = "//- skills/bell/SKILL.md\n---\nname: bell\ndescription: Rings.\npaths: '*.rope'\n---\nRing !`date`.\n";

const DIGGER: &str = "//- skills/digger/SKILL.md\n---\nname: digger\ndescription: Digs.\npermissions:\n  execute: [dig *]\n---\nDig.\n";

const SERVERS: &str = r#"{"mcpServers": {"tower": {"command": "/no/such/program"}}}"#;

/// Asserts that `value` is what the schema `name` says, and holds nothing that it does not tell of.
#[track_caller]
pub(crate) fn conforms(name: &str, value: &Value) {
    let schema = schema(name);
    let errors: Vec<String> =
        check_schema(&schema, value).iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "against {name}: {errors:?}\n{value:#}");
    let mut left_out = Vec::new();
    untold(&schema, value, "", &mut left_out);
    assert!(left_out.is_empty(), "{name} does not tell of {left_out:?}");
}

#[test]
fn every_command_writes_what_its_schema_says() {
    let place = Place::harbour();
    let script = r#"{"script": "v1", "dialogues": [{"turns": [
        {"calls": [{"name": "call", "arguments": {"tool": "clock"}}]}, {"say": "I called `clock`. Done."}]}]}"#;
    write(
        &place.work(),
        &format!(
            "//- model.json\n{script}\n{ROWS}//- .claude/skills/inspection/SKILL.md\n---\nname: inspection\n---\nOther.\n//- skills/empty/SKILL.md\n//- .mcp.json\n{SERVERS}\n{BELL}{DIGGER}//- gate.yaml\n{BYPASS}"
        ),
    );
    place.trust();
    let session = place.session();
    let id = session.as_str();
    let public = place.state().join("keys/skill.pub").display().to_string();
    let args = r#"{"port": "north"}"#;
    let mut unused: BTreeSet<String> = std::fs::read_dir(repository("docs/schemas"))
        .unwrap()
        .filter_map(|file| {
            Some(file.unwrap().file_name().to_str()?.strip_suffix(".json")?.to_owned())
        })
        // What `serve` answers is checked where it is asked.
        .filter(|name: &String| !name.starts_with("http-"))
        .collect();
    // Checked where there are receipts, or a repository.
    for elsewhere in ["receipt-show", "setup-git"] {
        assert!(unused.remove(elsewhere), "{elsewhere}");
    }
    let mut given: BTreeMap<&str, String> = BTreeMap::new();
    for (name, command) in [
        ("trust-list", &["trust", "--list"][..]),
        ("trust-undo", &["trust", "skills/quiet", "--undo"]),
        ("trust", &["trust", "skills/quiet"]),
        ("doctor", &["doctor"]),
        ("touch", &["touch", "lines.rope"]),
        ("skill-list", &["skill", "list", "--all"]),
        ("skill-list-render", &["skill", "list", "--render"]),
        ("skill-show", &["skill", "show", "tides"]),
        ("skill-show", &["skill", "show", "quiet"]),
        ("skill-check", &["skill", "check", "."]),
        ("skill-plan", &["skill", "plan", "tides"]),
        ("tool-list", &["tool", "list", "--all"]),
        ("tool-show", &["tool", "show", "clock"]),
        ("tool-menu", &["tool", "menu"]),
        ("tool-menu", &["tool", "menu", "--dedupe"]),
        ("tool-lint", &["tool", "lint"]),
        ("upstream-list", &["upstream", "list"]),
        ("upstream-approve", &["upstream", "approve", "tower"]),
        ("find", &["find", "high water"]),
        ("find", &["find", "high water", "--explain"]),
        ("find", &["find", "quantum chromodynamics"]),
        ("explain", &["explain", "skill:tides", "--query", "water"]),
        ("explain", &["explain", "skill:berths"]),
        ("explain", &["explain", "tool:clock"]),
        ("session-turn", &["session", "turn", id, "When is high water?"]),
        ("error", &["call", "clock", "--session", id]),
        ("open-skill", &["open", "skill:tides", "--args", args, "--session", id]),
        ("open-skill", &["open", "skill:pilots"]),
        ("open-skill", &["open", "skill:bell"]),
        ("open-skill", &["open", "skill:bell", "--dry-run"]),
        ("explain", &["explain", "skill:bell", "--touch", "a.rope"]),
        ("open-skill", &["open", "skill:logbook", "--dry-run", "--args", "a b"]),
        ("answer", &["call", "clock", "--session", id]),
        ("answer", &["open", "skill:tides#rules", "--session", id]),
        ("session-hooks", &["session", "hooks", id]),
        ("session-show", &["session", "show", id]),
        ("session-context", &["session", "context", id]),
        ("session-render", &["session", "render", id]),
        ("session-render", &["session", "render", "--layer", "index"]),
        ("session-compact", &["session", "compact", id]),
        ("session-resume", &["session", "resume", id]),
        ("answer", &["close", "skill:tides", "--session", id]),
        ("session-new", &["session", "new"]),
        ("session-list", &["session", "list"]),
        ("run", &["run", ".", "A task", "--model", "scripted:model.json"]),
        ("session-show", &["session", "show", "last"]),
        ("audit-claims", &["audit", "claims", "last", "--all"]),
        ("audit-verify", &["audit", "verify"]),
        ("audit-show", &["audit", "show", "last"]),
        ("audit-denials", &["audit", "denials", "--by", "skill"]),
        ("audit-rotate", &["audit", "rotate"]),
        ("audit-keys", &["audit", "keys"]),
        ("audit-anchor", &["audit", "anchor", "last"]),
        ("receipt-list", &["receipt", "list"]),
        ("receipt-verify", &["receipt", "verify", "model.json"]),
        ("receipt-export", &["receipt", "export", "--workspace", "."]),
        ("permissions-suggest", &["permissions", "suggest"]),
        ("eval-tools", &["eval", "tools", "--catalog", "rows.jsonl", "--queries", "asked.jsonl"]),
        ("eval-route", &["eval", "route", "--catalog", "rows.jsonl", "--queries", "asked.jsonl"]),
        (
            "eval-route",
            &[
                "eval",
                "route",
                "--catalog",
                "rows.jsonl",
                "--queries",
                "asked.jsonl",
                "--compare",
                "other.toml",
            ],
        ),
        ("error", &["open", "skill:digger", "--as", "model", "--session", id]),
        ("approve-list", &["approve", "list", "--all"]),
        ("approve", &["approve", "grant", "ASKED", "--for", "digest"]),
        ("approve-list", &["approve", "list", "--all"]),
        ("approve-withdrawn", &["approve", "deny", "AGREED"]),
        ("stats-routing", &["stats", "routing"]),
        ("demo", &["demo"]),
        ("sop-check", &["sop", "check", "gate.yaml"]),
        ("sop-graph", &["sop", "graph", "gate.yaml"]),
        ("sop-status", &["sop", "status"]),
        ("sop-graph", &["sop", "graph", "gate.yaml", "--format", "svg", "--output", "gate.svg"]),
        ("tokens", &["tokens", "model.json"]),
        ("trust-diff", &["trust", "--diff"]),
        ("skill-install", &["skill", "install", "skills/tides", "--dry-run"]),
        ("skill-install", &["skill", "install", "skills/tides", "--yes"]),
        ("skill-install", &["skill", "update", "--all"]),
        ("skill-keygen", &["skill", "keygen"]),
        ("skill-sign", &["skill", "sign", "skills/tides"]),
        ("skill-verify", &["skill", "verify", "skills/tides", "--public", &public]),
        ("skill-lock", &["skill", "lock", "skills"]),
        ("skill-lock", &["skill", "lock", "--check"]),
        ("error", &["find", "--nonsense"]),
        ("error", &["run", ".", "A task", "--model", "nonsense"]),
    ] {
        // Names that an earlier command gave.
        let command: Vec<String> = command
            .iter()
            .map(|word| given.get(word).cloned().unwrap_or_else(|| (*word).to_owned()))
            .collect();
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--json"]).collect();
        let value = place.run(&words).json();
        let text = |at: &str| value.pointer(at).and_then(Value::as_str).map(str::to_owned);
        given.extend(text("/approvals/0/id").map(|id| ("ASKED", id)));
        given.extend(text("/standing/0/key").map(|key| ("AGREED", key)));
        conforms(name, &value);
        unused.remove(name);
    }
    for line in place.run(&["audit", "export", "last", "--json"]).exits(0).out.lines() {
        conforms("audit-export", &serde_json::from_str(line).unwrap());
    }
    unused.remove("audit-export");
    assert!(unused.is_empty(), "no command was checked against {unused:?}");
}

#[test]
fn the_schemas_use_only_what_is_checked() {
    for file in std::fs::read_dir(repository("docs/schemas")).unwrap() {
        let file = file.unwrap().file_name();
        let Some(name) = file.to_str().unwrap().strip_suffix(".json") else { continue };
        let schema = schema(name);
        assert_eq!(unsupported_keywords(&schema), [""; 0], "{name}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        let requires =
            |schema: &Value| schema["required"].as_array().is_some_and(|all| !all.is_empty());
        let one_of = schema["anyOf"].as_array();
        assert!(requires(&schema) || one_of.is_some_and(|all| all.iter().all(requires)), "{name}");
    }
}
