//! What waits for a person: at a terminal, by `approve`, by the client, by a program.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::kit::{Done, Place, done, skill};
use crate::mcp::Peer;

/// A tool that leaves a mark, before which a rule asks.
const MARKS: &str = r#"//- concertina.toml
[tool.mark]
description = "Leaves a mark."
argv = ["touch", "${path}"]
parameters = {properties = {path = {type = "string"}}, required = ["path"]}
[policy]
ask = ["tool:mark"]
"#;

fn marks() -> Place {
    Place::with(MARKS).trusted()
}

fn mark(place: &Place, path: &str, more: &[&str]) -> Done {
    let arguments = json!({"path": path}).to_string();
    place.run(&[&["call", "mark", &arguments], more].concat())
}

fn is_marked(place: &Place, path: &str) -> bool {
    place.work().join(path).exists()
}

fn asked(done: Done) -> String {
    let value = done.exits(3).json();
    value["needs_confirmation"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn s59_without_a_terminal_and_an_approver_a_question_is_a_no() {
    let place = marks();
    mark(&place, "a", &[])
        .exits(3)
        .fails_clearly("APPROVAL_NEEDED")
        .says(&["concertina approve grant ask-", "call it again with --session s-"]);
    let session = place.session();
    mark(&place, "a", &["--session", &session])
        .exits(3)
        .fails_clearly("APPROVAL_NEEDED")
        .says(&["concertina approve grant ask-"]);
    assert!(!is_marked(&place, "a"));
}

#[test]
fn k08_a_granted_question_lets_exactly_that_happen_and_only_once() {
    let place = marks();
    let session = place.session();
    let on = ["--session", session.as_str(), "--json"];
    let id = asked(mark(&place, "a", &on));
    place.run(&["approve", "list"]).exits(0).shows(&[
        &id,
        "call mark",
        "path: a",
        "runs: [\"touch\",\"a\"]",
        "why: ",
    ]);
    place.run(&["approve", "grant", &id]).exits(0).shows(&["granted: call mark"]);
    mark(&place, "b", &on).exits(3);
    assert!(!is_marked(&place, "b"), "s62: another argument is another action");
    mark(&place, "a", &on).exits(0);
    assert!(is_marked(&place, "a"));
    mark(&place, "a", &on).exits(3);
    let other = asked(mark(&place, "c", &on));
    place.run(&["approve", "deny", &other]).exits(0).shows(&["denied: call mark"]);
    mark(&place, "c", &on).exits(3).says(&["a person refused"]);
    place.run(&["approve", "grant", "ask-none"]).exits(4);
}

#[test]
fn s61_consent_for_good_holds_in_other_sessions_until_a_byte_changes() {
    let script = "//- tick.sh\n#!/bin/sh\necho tock\n";
    let settings = MARKS.replace("[\"touch\", \"${path}\"]", "[\"sh\", \"tick.sh\", \"${path}\"]");
    let place = Place::with(&[&settings, script].concat()).trusted();
    let first = place.session();
    let id = asked(mark(&place, "a", &["--session", &first, "--json"]));
    place.run(&["approve", "grant", &id, "--for", "digest"]).exits(0);
    for _ in 0..2 {
        let session = place.session();
        mark(&place, "a", &["--session", &session]).exits(0).shows(&["tock"]);
    }
    place.add(&script.replace("tock", "tick"));
    let session = place.session();
    mark(&place, "a", &["--session", &session]).exits(3);
    // Taken back, it holds no longer for the old bytes, either.
    place.add(script);
    let agreed = place.json(&["approve", "list", "--all"]);
    let key = agreed["standing"][0]["key"].as_str().unwrap().to_owned();
    place.run(&["approve", "deny", &key]).exits(0).shows(&["taken back: call mark"]);
    let session = place.session();
    mark(&place, "a", &["--session", &session]).exits(3);
}

#[test]
fn advisory_29_yes_agrees_to_what_asks_and_never_widens() {
    let bell = skill(
        "skills/bell",
        "name: bell\ndescription: Rings.\npermissions: {execute: ['echo ding']}",
        "Now !`echo ding` and !`touch rang`.",
    );
    let rules = MARKS
        .replace("ask = [\"tool:mark\"]", "ask = [\"tool:mark\"]\ndeny = [\"tool:wipe\"]")
        + "[tool.wipe]\ndescription = \"Wipes.\"\nargv = [\"touch\", \"wiped\"]\n"
        + "[tool.drop]\ndescription = \"Drops.\"\nargv = [\"touch\", \"dropped\"]\ndanger = \"destructive\"\n";
    let place = Place::with(&format!("{bell}{rules}")).trusted();
    mark(&place, "a", &["--yes"]).exits(0);
    assert!(is_marked(&place, "a"));
    place
        .run(&["open", "skill:bell", "--as", "model", "--yes"])
        .exits(0)
        .shows(&["Now ding and [not run"]);
    place.run(&["call", "wipe", "--yes"]).exits(3);
    place.run(&["call", "drop", "--yes"]).exits(3);
    for path in ["rang", "wiped", "dropped"] {
        assert!(!is_marked(&place, path), "{path}");
    }
}

#[test]
fn k08_what_destroys_wants_its_words_typed() {
    let rules = MARKS.replace("argv = [", "danger = \"destructive\"\nargv = [");
    let place = Place::with(&rules).trusted();
    let session = place.session();
    let on = ["--session", session.as_str(), "--json"];
    let id = asked(mark(&place, "a", &on));
    place.run(&["approve", "grant", &id]).exits(3).fails_clearly("PHRASE_NEEDED").says(&["mark a"]);
    place.run(&["approve", "grant", &id, "--phrase", "mark b"]).exits(3);
    mark(&place, "a", &["--session", &session, "--yes"]).exits(3);
    assert!(!is_marked(&place, "a"));
    place.run(&["approve", "grant", &id, "--phrase", "mark a"]).exits(0);
    mark(&place, "a", &on).exits(0);
    assert!(is_marked(&place, "a"));
}

#[test]
fn a_program_answers_first_and_whatever_it_does_wrong_is_a_no() {
    let cases = [
        ("cat > /dev/null; echo '{\"decision\": \"allow\"}'", true, ""),
        ("echo '{\"decision\": \"allow\"}'", true, ""),
        ("cat > /dev/null; echo '{\"decision\": \"deny\"}'", false, "a person refused"),
        ("cat > /dev/null; echo '{\"decision\": \"ask\"}'", false, "concertina approve grant"),
        ("cat > /dev/null; echo '{\"decision\": \"allow\"}'; exit 1", false, "refused"),
        ("cat > /dev/null; echo yes", false, "refused"),
        ("cat > /dev/null; echo '[\"allow\"]'", false, "refused"),
        ("cat > /dev/null; echo '{\"decision\": \"Allow\"}'", false, "refused"),
        ("cat > /dev/null; echo '{\"decision\": \"allow\"} and more'", false, "refused"),
        ("kill -9 $$", false, "refused"),
        ("exec 1>&-; sleep 0.1", false, "refused"),
        ("yes", false, "refused"),
    ];
    for (program, runs, says) in cases {
        let place = marks();
        let argv = json!(["/bin/sh", "-c", program]);
        let settings = format!("[trust]\napprover = {argv}\n");
        let directory = place.home().join(".config/concertina");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("concertina.toml"), settings).unwrap();
        let session = place.session();
        let done = mark(&place, "a", &["--session", &session]);
        assert_eq!(is_marked(&place, "a"), runs, "{program}");
        done.exits(if runs { 0 } else { 3 }).says(&[says]);
    }
}

#[test]
fn advisory_16_a_workspace_names_no_program_that_answers() {
    let place = Place::with(&format!(
        "{MARKS}[trust]\napprover = [\"/bin/sh\", \"-c\", \"echo '{{\\\"decision\\\": \\\"allow\\\"}}'\"]\n"
    ))
    .trusted();
    let session = place.session();
    mark(&place, "a", &["--session", &session]).exits(3).says(&["`[trust]`"]);
    assert!(!is_marked(&place, "a"));
}

#[test]
fn a_person_at_a_terminal_is_shown_the_action_and_asked() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: the program `script` is not installed");
        return;
    }
    for (typed, runs) in [("y", true), ("n", false), ("", false), ("yes please", false)] {
        let place = marks();
        let program = place.command(&[]).get_program().to_string_lossy().into_owned();
        let inner = format!("{program} call mark '{{\"path\": \"a\"}}'");
        let mut command = place.command(&[]);
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &inner, "/dev/null"]).current_dir(place.work());
        for (name, value) in command.current_dir(".").get_envs() {
            script.env(name, value.unwrap_or_default());
        }
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), format!("{typed}\n").as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("call mark") && text.contains("path: a"), "{text}");
        assert_eq!(is_marked(&place, "a"), runs, "{typed}: {text}");
    }
}

fn with_elicitation(place: &Place, version: &str) -> Peer {
    let mut peer = Peer::start(place.command(&["mcp"]));
    let hello = json!({
        "protocolVersion": version, "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    peer.ask("initialize", &hello);
    peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    peer
}

fn answer_to(peer: &mut Peer, path: &str, answer: &Value) -> (Value, String) {
    let id = peer.call("call", &json!({"tool": "mark", "args": {"path": path}}));
    let question = peer.read(|line| line["method"] == "elicitation/create");
    peer.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let reply = peer.read(|line| line["id"] == id);
    let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    (question["params"].clone(), text)
}

#[test]
fn k08_a_client_that_can_ask_asks_and_the_answer_counts() {
    let place = marks();
    let mut peer = with_elicitation(&place, "2025-06-18");
    let accept = json!({"action": "accept", "content": {"answer": "session"}});
    let (question, text) = answer_to(&mut peer, "a", &accept);
    let message = question["message"].as_str().unwrap();
    assert!(message.contains("call mark\n  path: a"), "{message}");
    assert!(text.contains("ev:1"), "{text}");
    assert!(is_marked(&place, "a"));
    // For the session: not asked again.
    let again = peer.tool("call", &json!({"tool": "mark", "args": {"path": "a"}}));
    assert!(again.contains("ev:2"), "{again}");
    let (_, text) = answer_to(&mut peer, "b", &json!({"action": "decline"}));
    assert!(text.starts_with("error APPROVAL_REFUSED"), "{text}");
    let (_, text) = answer_to(&mut peer, "c", &json!({"action": "cancel"}));
    assert!(text.starts_with("error APPROVAL_NEEDED"), "{text}");
    assert!(!is_marked(&place, "b") && !is_marked(&place, "c"));
}

#[test]
fn e03_a_client_is_asked_before_the_model_opens_what_could_do_more_than_read() {
    let digger = skill(
        "skills/digger",
        "name: digger\ndescription: Digs.\npermissions: {execute: ['dig *']}",
        "Dig here.",
    );
    let place = Place::with(&digger).trusted();
    let mut peer = with_elicitation(&place, "2025-06-18");
    let id = peer.call("open", &json!({"ref": "skill:digger"}));
    let question = peer.read(|line| line["method"] == "elicitation/create");
    assert!(question["params"]["message"].as_str().unwrap().contains("could: run dig *"));
    let accept = json!({"action": "accept", "content": {"answer": "digest"}});
    peer.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept}));
    let reply = peer.read(|line| line["id"] == id);
    assert!(reply["result"]["content"][0]["text"].as_str().unwrap().contains("Dig here."));
    // For good: other sessions do not ask.
    let plain = place.run(&["open", "skill:digger", "--as", "model"]);
    plain.exits(0).shows(&["Dig here."]);
}

#[test]
fn an_answer_from_elsewhere_counts_in_a_running_server() {
    let place = marks();
    let mut peer = Peer::greeted(place.command(&["mcp"]));
    let refused = peer.tool("call", &json!({"tool": "mark", "args": {"path": "a"}}));
    let id = refused.split_whitespace().find(|word| word.starts_with("ask-")).unwrap().to_owned();
    done(place.command(&["approve", "grant", &id])).exits(0);
    let ran = peer.tool("call", &json!({"tool": "mark", "args": {"path": "a"}}));
    assert!(ran.contains("ev:1") && is_marked(&place, "a"), "{ran}");
}

/// A tool that may read one directory.
const SHOWS: &str = r#"//- concertina.toml
[tool.show]
description = "Shows a file."
argv = ["cat", "--", "${path}"]
danger = "safe"
permissions = {read = [{paths = ["open/**"]}]}
parameters = {properties = {path = {type = "string"}}, required = ["path"]}
//- open/a.txt
ahoy
//- secret/b.txt
hush
"#;

#[test]
fn k01_k02_k03_k12_s23_what_is_declared_runs_held_what_is_not_is_refused_and_both_are_on_record() {
    let place = Place::with(SHOWS).trusted();
    let session = place.session();
    let show = |path: &str| {
        let arguments = json!({"path": path}).to_string();
        place.run(&["call", "show", &arguments, "--session", &session])
    };
    show("open/a.txt").exits(0).shows(&["ahoy"]);
    let work = place.work().canonicalize().unwrap();
    std::os::unix::fs::symlink("../secret/b.txt", work.join("open/link")).unwrap();
    std::fs::create_dir(work.join("open-evil")).unwrap();
    std::fs::write(work.join("open-evil/c.txt"), "hush").unwrap();
    let secret = work.join("secret/b.txt").display().to_string();
    let ways = [
        "secret/b.txt",
        "open/../secret/b.txt",
        "open/link",
        "./open//link",
        secret.as_str(),
        "open-evil/c.txt",
        "OPEN/a.txt",
        "/etc/passwd",
    ];
    for path in ways {
        let refused = show(path).exits(3);
        refused.fails_clearly("PATH_OUTSIDE");
    }
    show("open/link").exits(3).says(&[&secret]);
    place.run(&["audit", "show", &session]).exits(0).shows(&["show", "open/a.txt"]);
    place.run(&["audit", "denials", "--by", "tool"]).exits(0).shows(&[
        "show",
        "PATH_OUTSIDE",
        &secret,
    ]);
    place.run(&["audit", "verify", &session]).exits(0);
}

#[test]
fn k08_a_rule_about_a_command_asks_with_all_that_would_run_and_a_changed_script_asks_again() {
    let script = "//- tick.sh\necho tock\n";
    let settings = MARKS
        .replace("[\"touch\", \"${path}\"]", "[\"sh\", \"tick.sh\", \"${path}\"]")
        .replace("tool:mark", "Bash(sh tick.sh *)");
    let place = Place::with(&[&settings, script].concat()).trusted();
    let session = place.session();
    let on = ["--session", session.as_str(), "--json"];
    let id = asked(mark(&place, "a", &on));
    let waiting = place.run(&["approve", "list"]).exits(0);
    waiting.shows(&["runs: [\"sh\",\"tick.sh\",\"a\"]", "tick.sh holds: sha256:"]);
    place.run(&["approve", "grant", &id, "--for", "session"]).exits(0);
    mark(&place, "a", &["--session", &session]).exits(0).shows(&["tock"]);
    place.add(&script.replace("tock", "tick"));
    place.trust();
    mark(&place, "a", &on).exits(3);
}

#[test]
fn k03_a_word_of_the_settings_grants_a_file_never_a_directory_or_what_a_link_leads_to() {
    let settings = r#"//- concertina.toml
[tool.look]
description = "Looks around."
argv = ["cat", "notes.txt", "open/link.txt", "secret/b.txt"]
danger = "safe"
permissions = {read = ["open/**"]}
[tool.all]
description = "Lists everything."
argv = ["grep", "-r", "hush", "."]
danger = "safe"
permissions = {read = ["open/**"]}
//- notes.txt
ahoy
//- open/a.txt
fine
//- secret/b.txt
named
//- secret/c.txt
hush
"#;
    let place = Place::with(settings);
    std::os::unix::fs::symlink("../secret/c.txt", place.work().join("open/link.txt")).unwrap();
    let place = place.trusted();
    let looked = place.run(&["call", "look"]);
    let text = looked.out.clone();
    assert!(text.contains("ahoy") && text.contains("named"), "{text} {}", looked.err);
    assert!(!text.contains("hush") && text.contains("Permission denied"), "{text}");
    let all = place.run(&["call", "all"]);
    assert!(!all.out.contains("secret/c.txt:hush"), "{}", all.out);
}

/// A tool that builds: it writes beside what rules close.
const BUILDS: &str = r#"//- concertina.toml
[tool.build]
description = "Builds."
argv = ["sh", "-c", """
cat secrets.env keys/a.pem keys/b.pem; cat notes.lock && echo + >> notes.lock
ln secrets.env copy; mv keys moved; mv app/keys moved; rm -f secrets.env; echo x > locked.txt; mkdir locked
echo fine > made.txt; echo fine > keys/made.txt; mkdir -p target/out; echo fine > target/out/made.txt"""]
permissions = {read = ["./**"], write = ["./**"], execute = ["cat *", "ln *", "mv *", "rm *", "mkdir *"]}
[policy]
deny = ["read:secrets.env", "Read(*.pem)", "Write(*.lock)", "write:locked.txt", "write:locked/**", "read:none/such"]
//- secrets.env
hush
//- keys/a.pem
hush
//- keys/b.pem
hush
//- app/keys/c.pem
hush
//- notes.lock
one
"#;

#[test]
fn what_rules_close_is_hidden_and_the_directory_around_it_can_be_written() {
    let place = Place::with(BUILDS).trusted();
    let work = place.work();
    let before = std::fs::read(work.join("secrets.env")).unwrap();
    let built = place.run(&["call", "build"]);
    let text = [built.out.as_str(), &built.err].concat();
    assert!(!text.contains("hush") && text.contains("one"), "{text}");
    for made in ["made.txt", "keys/made.txt", "target/out/made.txt"] {
        let written = std::fs::read_to_string(work.join(made));
        assert_eq!(written.ok().as_deref(), Some("fine\n"), "{made}: {text}");
    }
    assert_eq!(std::fs::read(work.join("secrets.env")).unwrap(), before);
    assert!(work.join("app/keys/c.pem").exists(), "{text}");
    assert_eq!(std::fs::read_to_string(work.join("notes.lock")).unwrap(), "one\n");
    for absent in ["copy", "moved/c.pem", "locked.txt", "locked", "none"] {
        assert!(!work.join(absent).exists(), "{absent}: {text}");
    }
}
