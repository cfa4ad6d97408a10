//! The logs as people check and read them.

use std::path::Path;

use serde_json::{Value, json};

use crate::kit::{Done, Place, write};

/// A tool that prints what it is given and fails where it is told to.
const TOOLS: &str = r#"//- concertina.toml
[tool.say]
kind = "exec"
description = "Says something."
argv = ["/bin/echo", "${text}", "${pin}"]
env = ["SERVICE_TOKEN"]

[tool.say.parameters]
type = "object"
properties.text.type = "string"
properties.pin = { type = "string", writeOnly = true }

[tool.leak]
kind = "exec"
description = "Shows a variable."
argv = ["/usr/bin/env"]
env = ["SERVICE_TOKEN"]

[tool.broken]
kind = "exec"
description = "Is not there."
argv = ["/no/such/${text}"]

[tool.broken.parameters]
type = "object"
properties.text.type = "string"
"#;

fn said(place: &Place, script: &Value) -> Done {
    let script = json!({"script": "v1", "dialogues": [{"turns": script}]});
    write(&place.work(), &format!("//- model.json\n{script}\n"));
    place.run(&["run", ".", "A task", "--model", "scripted:model.json"])
}

#[test]
fn k12_every_call_is_readable_with_its_arguments_and_its_result() {
    let place = Place::with(TOOLS);
    let calls = json!([
        {"calls": [{"name": "call", "arguments": {"tool": "say", "args": {"text": "hello"}}}]},
        {"calls": [{"name": "call", "arguments": {"tool": "nothing"}}]},
        {"say": "Done."},
    ]);
    said(&place, &calls).exits(0);
    let shown = place.json(&["audit", "show", "last"]);
    let records = shown["records"].as_array().unwrap();
    let of = |kind: &str| {
        let mut found = records.iter().filter(|record| record["kind"] == kind);
        found.next().unwrap_or_else(|| panic!("no {kind} in {shown:#}"))["data"].clone()
    };
    assert_eq!(of("call.admitted")["arguments"]["text"], r#"{"text":"hello"}"#);
    assert_eq!(of("call.finished")["outcome"]["done"]["output"]["text"], "hello\n");
    assert_eq!(of("request.refused")["code"], "UNKNOWN_TOOL");
    assert_eq!(of("task.given")["text"]["text"], "A task");
    let calls = place.json(&["audit", "show", "last", "--kind", "call"]);
    assert_eq!(calls["records"].as_array().unwrap().len(), 2);
    place.run(&["audit", "show", "--kind", "call"]).exits(0).shows(&["call.admitted", "hello"]);
    let late = place.json(&["audit", "show", "--since", "2999-01-01"]);
    assert_eq!(late["records"], json!([]));
    place.run(&["audit", "show", "--since", "soon"]).exits(2);
    place.run(&["audit", "show", "s-none"]).exits(4).fails_clearly("NO_SESSION");
    for (word, says) in
        [("call.admited", "`call.admitted`"), ("cal", "`call`"), ("zz", "`approval`, ")]
    {
        let wrong = place.run(&["audit", "show", "--kind", word]).exits(2);
        wrong.says(&[says]).fails_clearly("USAGE");
    }
}

#[test]
fn k11_what_was_refused_is_counted_and_becomes_the_smallest_declaration() {
    let place = Place::with(TOOLS);
    write(
        &place.work(),
        "//- skills/speaker/SKILL.md\n---\nname: speaker\ndescription: Speaks.\npermissions: {tools: [other]}\n---\nSpeak.\n\
         //- concertina.toml\n[tool.say]\nkind = \"exec\"\ndescription = \"Says.\"\nargv = [\"/bin/echo\"]\nneeds_skill = true\n\
         [policy]\ndeny = [\"tool:never\"]\n[tool.never]\nkind = \"exec\"\ndescription = \"Never.\"\nargv = [\"/bin/true\"]\n",
    );
    place.trust();
    let call = |tool: &str| json!({"calls": [{"name": "call", "arguments": {"tool": tool}}]});
    let open = json!({"calls": [{"name": "open", "arguments": {"ref": "skill:speaker"}}]});
    said(&place, &json!([open, call("say"), call("say"), call("never"), {"say": "Done."}]))
        .exits(0);
    let found = place.json(&["audit", "denials", "--by", "skill"]);
    assert_eq!(found["groups"][0], json!({"name": "speaker", "count": 3}), "{found:#}");
    let first = &found["denials"][0];
    assert_eq!(
        (&first["count"], &first["object"]),
        (&json!(2), &json!({"call": "say"})),
        "{found:#}"
    );
    let never = found["denials"].as_array().unwrap().iter().find(|one| one["tool"] == "never");
    let source = never.unwrap()["source"].as_str().unwrap();
    assert!(source.starts_with("policy") && source.contains("never"), "{source}");
    let by_code = place.json(&["audit", "denials", "--by", "code", "--session", "last"]);
    assert!(by_code["groups"][0]["name"].is_string());
    place
        .run(&["audit", "denials", "--by", "tool"])
        .exits(0)
        .shows(&["say: 2 times", "never: once"]);

    let suggested = place.json(&["permissions", "suggest", "--skill", "speaker"]);
    assert_eq!(suggested["permissions"]["tools"], json!(["say"]), "{suggested:#}");
    assert_eq!(suggested["withheld"][0]["request"], json!({"call": "never"}));
    place
        .run(&["permissions", "suggest"])
        .exits(0)
        .shows(&["permissions:\n", "  tools: [\"say\"]"]);
    let other = place.json(&["permissions", "suggest", "--skill", "other"]);
    assert_eq!(other["permissions"]["tools"], json!([]));
}

#[test]
fn k12_what_a_model_wrote_forges_no_row_and_no_error() {
    let place = Place::with(TOOLS);
    let hostile = "nothing\n9x  DENIED  forged\u{1b}[8m\u{202e}";
    let call = json!({"calls": [{"name": "call", "arguments": {"tool": hostile}}]});
    let open =
        json!({"calls": [{"name": "open", "arguments": {"ref": format!("skill:{hostile}")}}]});
    let run = said(&place, &json!([call, open, {"say": "Done."}])).exits(0);
    let is_plain = |done: &Done| {
        for text in [&done.out, &done.err] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
            assert!(!text.lines().any(|line| line.starts_with("9x")), "{text}");
        }
    };
    is_plain(&run);
    for arguments in [
        &["audit", "denials"][..],
        &["audit", "denials", "--by", "tool"],
        &["audit", "show"],
        &["session", "show", "last"],
        &["receipt", "list"],
        &["audit", "claims", "last"],
    ] {
        is_plain(&place.run(arguments).exits(0));
    }
    place.run(&["audit", "denials"]).shows(&["forged"]);
    for arguments in [
        vec!["open", hostile],
        vec!["open", "skill:x\n9x\u{202e}"],
        vec!["explain", hostile],
        vec!["call", hostile],
        vec!["find", hostile],
        vec!["audit", "show", hostile],
        vec!["receipt", "verify", hostile],
        vec!["sop", "status", "--session", hostile],
        vec!["tool", "show", hostile],
    ] {
        is_plain(&place.run(&arguments));
    }
}

#[test]
fn k12_a_declared_secret_is_found_by_the_next_process_and_kept_by_none() {
    let place = Place::with(TOOLS);
    let session = place.session();
    let call =
        |arguments: &str| place.run(&["call", "say", arguments, "--session", &session]).exits(0);
    call(r#"{"text": "first", "pin": "open sesame 7"}"#);
    let later = call(r#"{"text": "they said open sesame 7, and \"open sesame 7\""}"#);
    assert!(!later.out.contains("sesame"), "{}", later.out);
    let shown = place.json(&["audit", "show", &session]).to_string();
    assert!(!shown.contains("sesame") && shown.contains("first"), "{shown}");
    let other = place.session();
    let there = place.run(&["call", "say", r#"{"text": "open sesame 7"}"#, "--session", &other]);
    assert!(there.out.contains("sesame"), "another session was told nothing");
    let kept = place.state().join("keys/declared").join(&session);
    assert!(!std::fs::read_to_string(kept).unwrap().contains("sesame"));
}

#[test]
fn l10_one_changed_byte_fails_the_check_at_its_record() {
    let place = Place::with(TOOLS);
    said(&place, &json!([{"say": "Done."}])).exits(0);
    let found = place.json(&["audit", "verify"]);
    assert_eq!((&found["ok"], &found["reason"]), (&json!(true), &Value::Null), "{found:#}");
    let head = found["sessions"][0]["head"].as_str().unwrap().to_owned();
    let with = ["audit", "verify", "--expect-head", &head];
    assert_eq!(place.json(&with)["ok"], true);
    let other = format!("sha256:{}", "0".repeat(64));
    let cut = place.run(&["audit", "verify", "--expect-head", &other, "--json"]).exits(1).json();
    assert_eq!(cut["reason"], "HEAD_MISSING");
    place.run(&["audit", "verify", "--expect-head", "nonsense"]).exits(2);
    place.run(&["audit", "verify", "s-none"]).exits(4);
    place.run(&["audit", "anchor", "--file", "kept"]).exits(0);
    assert_eq!(place.json(&["audit", "verify", "last", "--anchor", "kept"])["ok"], true);
    let export = place.run(&["audit", "export", "last"]).exits(0).out;
    std::fs::write(place.work().join("log.jsonl"), &export).unwrap();
    assert_eq!(place.json(&["audit", "verify", "--file", "log.jsonl"])["ok"], true);

    let connection = rusqlite::Connection::open(place.state().join("events.db")).unwrap();
    let change = "UPDATE events SET event = replace(event, 'turn.started', 'turn.startet')";
    assert!(connection.execute(change, []).unwrap() > 0);
    let bad = place.run(&["audit", "verify", "--json"]).exits(1).json();
    assert_eq!((&bad["ok"], &bad["reason"]), (&json!(false), &json!("RECORD_CHANGED")), "{bad:#}");
    let seq: u64 = connection
        .query_row("SELECT min(seq) FROM events WHERE event LIKE '%turn.startet%'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(bad["first_bad"], seq);
    place
        .run(&["audit", "verify"])
        .exits(1)
        .shows(&[&format!("from record {seq}"), "[RECORD_CHANGED]"]);
    let changed = export.replace("turn.started", "turn.startet");
    std::fs::write(place.work().join("log.jsonl"), changed).unwrap();
    place.run(&["audit", "verify", "--file", "log.jsonl"]).exits(1);
}

#[test]
fn l10_replaced_arguments_and_results_fail_the_check_and_removed_ones_are_told() {
    let place = Place::with(TOOLS);
    // A text with a byte that a terminal would not be given.
    let call = json!({"tool": "say", "args": {"text": "hello \u{9b}\u{7f}"}});
    said(&place, &json!([{"calls": [{"name": "call", "arguments": call}]}, {"say": "Done."}]))
        .exits(0);
    let whole = place.json(&["audit", "verify"]);
    assert_eq!((&whole["ok"], &whole["not_kept"]), (&json!(true), &json!(0)), "{whole:#}");
    let export = || {
        let text = place.run(&["audit", "export", "last"]).exits(0).out;
        std::fs::write(place.work().join("log.jsonl"), text).unwrap();
        place.run(&["audit", "verify", "--file", "log.jsonl", "--json"])
    };
    let exported = export().exits(0).json();
    assert_eq!(exported["not_kept"], 0, "{exported:#}");

    let connection = rusqlite::Connection::open(place.state().join("events.db")).unwrap();
    let change = "UPDATE content SET bytes = CAST('{\"text\":\"other\"}' AS BLOB) WHERE bytes LIKE '%hello%'";
    assert!(connection.execute(change, []).unwrap() > 0);
    for bad in [place.run(&["audit", "verify", "--json"]), export()] {
        let bad = bad.exits(1).json();
        assert_eq!(bad["reason"], "CONTENT_CHANGED", "{bad:#}");
        assert!(bad["first_bad"].is_u64(), "{bad:#}");
    }
    place.run(&["audit", "verify"]).exits(1).shows(&["from record", "[CONTENT_CHANGED]"]);
    connection.execute("DELETE FROM content", []).unwrap();
    place.run(&["audit", "verify"]).exits(0).says(&["texts that records name are not kept"]);
    assert!(export().exits(0).json()["not_kept"].as_u64() > Some(2));
}

#[test]
fn l10_a_database_that_is_none_is_a_finding_and_no_error() {
    for bytes in [&b""[..], b"nothing of ours"] {
        for keeps_heads in [true, false] {
            let place = Place::with(TOOLS);
            said(&place, &json!([{"say": "Done."}])).exits(0);
            let state = place.state();
            for name in ["events.db-wal", "events.db-shm"] {
                let _ = std::fs::remove_file(state.join(name));
            }
            std::fs::write(state.join("events.db"), bytes).unwrap();
            if !keeps_heads {
                std::fs::remove_file(state.join("heads")).unwrap();
            }
            let bad = place.run(&["audit", "verify", "--json"]).exits(1).json();
            assert_eq!((&bad["ok"], &bad["reason"]), (&json!(false), &json!("UNREADABLE")));
            place.run(&["audit", "verify"]).exits(1).shows(&["cannot be trusted", "[UNREADABLE]"]);
        }
    }
}

#[test]
fn a_rotation_is_on_the_record_of_keys() {
    let place = Place::with(TOOLS);
    said(&place, &json!([{"say": "Done."}])).exits(0);
    let old = place.json(&["audit", "keys"])["keys"][0]["id"].as_str().unwrap().to_owned();
    let new = place.json(&["audit", "rotate"])["key"].as_str().unwrap().to_owned();
    assert_ne!(old, new);
    let keys = place.json(&["audit", "keys"]);
    assert_eq!((&keys["keys"][0]["signs"], &keys["keys"][1]["id"]), (&json!(false), &json!(new)));
    assert_eq!(place.json(&["audit", "verify", "--expect-key", &old])["ok"], true);
    let strange = place.run(&["audit", "verify", "--expect-key", "00000000", "--json"]).exits(1);
    assert_eq!(strange.json()["reason"], "KEY_UNKNOWN");
}

/// Every file and directory below `directory` that others may look into.
fn open_to_others(directory: &Path, found: &mut Vec<String>) {
    use std::os::unix::fs::MetadataExt as _;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().mode() & 0o777;
        if mode != if path.is_dir() { 0o700 } else { 0o600 } {
            found.push(format!("{mode:o} {}", path.display()));
        }
        if path.is_dir() {
            open_to_others(&path, found);
        }
    }
}

#[test]
fn what_is_kept_is_for_its_owner_alone() {
    let place = Place::harbour();
    write(&place.work(), TOOLS);
    place.trust();
    let session = place.session();
    place.run(&["call", "say", r#"{"text": "hello"}"#, "--session", &session]).exits(0);
    place.run(&["open", "skill:tides", "--args", r#"{"port": "north"}"#, "--session", &session]);
    place.run(&["audit", "rotate"]).exits(0);
    place.run(&["doctor"]);
    let mut found = Vec::new();
    open_to_others(&place.state(), &mut found);
    assert!(found.is_empty(), "{found:#?}");
    for file in ["events.db", "heads", "keys/log", "keys/redaction"] {
        assert!(place.state().join(file).exists(), "{file}");
    }
}

/// Fifty secrets, each of its own: of every shape, and such as only a schema or a variable tells of.
fn canaries() -> Vec<String> {
    let tail = |n: usize| format!("{n:02}Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2Qr1St0Uv9W");
    (0..50)
        .map(|n| match n % 8 {
            0 => format!("ghp_{}", tail(n)),
            1 => format!("sk-ant-{}", tail(n)),
            2 => format!("AKIA{n:02}ABCDEFGHIJKLMN"),
            3 => format!("xoxb-{}", tail(n)),
            4 => format!("npm_{}", tail(n)),
            5 => format!("glpat-{}", tail(n)),
            6 => format!("AIza{}", tail(n).chars().take(35).collect::<String>()),
            _ => format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ{n:02}In0.{}", tail(n)),
        })
        .collect()
}

/// Every file below `directory` that holds one of `secrets`.
fn holders(directory: &Path, secrets: &[String], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holders(&path, secrets, found);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let name = path.to_string_lossy().into_owned();
        for secret in secrets {
            if text.contains(secret.as_str()) {
                found.push(format!("{secret} in {name}"));
            }
        }
    }
}

#[test]
fn s74_fifty_planted_secrets_are_in_no_file_that_was_written() {
    let place = Place::with(TOOLS);
    let mut secrets = canaries();
    let mut next = secrets.clone().into_iter();
    let mut canary = || next.next().unwrap();
    // What looks like nothing: a declared argument, and a variable that a tool is given.
    let (pin, variable) = ("plainpin77".to_owned(), "just-some-words-nobody-knows".to_owned());

    let verb = |name: &str, args: Value| json!({"name": name, "arguments": args});
    let call = |tool: &str, args: Value| verb("call", json!({"tool": tool, "args": args}));
    let mut all = Vec::new();
    for _ in 0..6 {
        let mut turns = Vec::new();
        turns.push(call("say", json!({"text": canary()})));
        turns.push(call("broken", json!({"text": canary()})));
        turns.push(call(&canary(), json!({})));
        turns.push(verb("find", json!({"query": format!("where is {}", canary())})));
        turns.push(verb("open", json!({"ref": format!("skill:{}", canary())})));
        turns.push(verb("open", json!({"ref": format!("file:src/{}.rs", canary())})));
        all.push(json!({"say": "On it.", "calls": turns}));
    }
    let mut turns = Vec::new();
    turns.push(call("say", json!({"text": "x", "pin": pin})));
    turns.push(call("leak", json!({})));
    turns.push(call("say", json!({"text": {"not": canary()}})));
    turns.push(verb(&canary(), json!({})));
    all.push(json!({"say": format!("With {}.", canary()), "calls": turns}));
    all.push(json!({"say": format!("Done with {}.", canary())}));
    let script = json!({"script": "v1", "dialogues": [{"turns": all}]});
    let model = place.home().join("model.json");
    std::fs::write(&model, script.to_string()).unwrap();
    let task = format!(
        "Use {} and password=hunter2-{} at https://u:p4ss-{}@h/",
        canary(),
        canary(),
        canary()
    );
    let mut command = place.command(&["run", ".", &task, "--model"]);
    command.arg(format!("scripted:{}", model.display())).env("SERVICE_TOKEN", &variable);
    let ran = crate::kit::done(command);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let session = place.session();
    for reference in [format!("skill:x#{}", canary()), canary()] {
        place.run(&["open", &reference, "--session", &session]);
    }
    place.run(&["call", "say", &json!({"text": canary()}).to_string(), "--session", &session]);
    place.run(&["touch", &format!("src/{}.txt", canary()), "--session", &session]);
    place.run(&["session", "turn", &session, &format!("now {}", canary())]);
    place.run(&["find", &canary(), "--session", &session]);
    place.run(&["close", &format!("menu:{}", canary()), "--session", &session]);
    assert_eq!(next.count(), 0, "every one was planted");

    std::fs::remove_file(model).unwrap();
    secrets.extend([pin, variable]);
    let mut found = Vec::new();
    for directory in [place.state(), place.work(), place.home()] {
        holders(&directory, &secrets, &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
    let log = std::fs::read(place.state().join("events.db")).unwrap();
    assert!(
        String::from_utf8_lossy(&log).contains("[redacted:")
            || place.state().join("events.db-wal").exists()
    );
    // The tool itself was given what was written.
    let shown = place.run(&["audit", "show", "--kind", "call.finished"]).exits(0);
    assert!(shown.out.contains("[redacted:"), "{}", shown.out);
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}
