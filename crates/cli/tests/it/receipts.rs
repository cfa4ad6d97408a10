//! Receipts as people and programs check them, far from where they were issued.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use concertina_runtime::inputs::{DigestCache, Inputs};
use concertina_store::{Durability, Store};
use concertina_types::{
    Actor, Digest, Draft, Fact, RECEIPT_VERSION, Receipt, Separation, SessionId, SignedReceipt,
};
use serde_json::{Value, json};

use crate::kit::{Done, Place, write};
use crate::schemas::conforms;

pub(crate) const PROCEDURE: &str = r#"//- sop.yaml
sop: commit-gate
checkpoints:
  lint.ok: {tool: lint, expect: {exit: 0}, binds: workspace}
  test.ok: {tool: test, expect: {exit: 0}, binds: workspace, max_age: 30m}
states:
  work: {show: {tools: [lint, test]}, next: [{to: commit, when: "lint.ok && test.ok"}]}
  commit:
    show: {tools: [{git_commit: {when: "lint.ok && test.ok"}}]}
    next: [{to: done, when: "receipt(git_commit).exit == 0"}]
  done: {final: true}
"#;

/// What is read off a workspace for a receipt.
pub(crate) fn workspace_digest(place: &Place, workspace: &Path) -> Digest {
    let inputs = Inputs::new(workspace, ".", &[]).unwrap();
    inputs.digest(&DigestCache::below(&place.state())).unwrap().digest
}

/// A session of the workspace, in which receipts are issued.
pub(crate) struct Run<'a> {
    place: &'a Place,
    pub(crate) session: String,
    name: String,
    last: Option<(u64, Digest)>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(place: &'a Place, name: &str) -> Self {
        Self { place, session: place.session(), name: name.to_owned(), last: None }
    }

    /// Issues a receipt on the workspace as it is now.
    pub(crate) fn issue(&mut self, tool: &str, proves: &str) -> Digest {
        let now = concertina_runtime::now();
        let store = Store::open(&self.place.state()).unwrap();
        let session = SessionId::new(&self.session).unwrap();
        let procedure = std::fs::read(self.place.work().join("sop.yaml")).unwrap();
        let (seq, prev) = self.last.map_or((1, None), |(seq, digest)| (seq + 1, Some(digest)));
        let exit = i64::from(proves.is_empty());
        let receipt = Receipt {
            v: RECEIPT_VERSION,
            run: self.name.clone(),
            session: session.clone(),
            procedure: "commit-gate".to_owned(),
            procedure_digest: Digest::of(&procedure),
            state: "work".to_owned(),
            seq,
            prev,
            tool: tool.to_owned(),
            tool_digest: Digest::of(tool.as_bytes()),
            args_digest: Digest::of(b"{}"),
            started: now,
            ended: now,
            exit,
            outputs_digest: Digest::of(b""),
            parsed: BTreeMap::from([("exit".to_owned(), exit.into())]),
            inputs_digest: Some(workspace_digest(self.place, &self.place.work())),
            proves: proves.split_whitespace().map(str::to_owned).collect(),
            refuses: if proves.is_empty() { vec![format!("{tool}.ok")] } else { Vec::new() },
            issuer: "executor".to_owned(),
            assurance: Separation::SameUid,
            tier: Some("L2".to_owned()),
            nonce: format!("{} {seq}", self.session),
        };
        let digest = receipt.digest();
        self.last = Some((seq, digest));
        let signed = SignedReceipt::by(&store.notary(now).unwrap(), receipt);
        let decided = BTreeMap::new();
        let fact = Fact::ReceiptIssued { receipt: Box::new(signed), decided };
        let draft = Draft { step: 0, turn: None, at: now, actor: Actor::System, cause: None, fact };
        let after = store.events.read(&session, 0).unwrap().len() as u64;
        store.append(&session, after, vec![draft], Durability::PowerSafe).unwrap();
        digest
    }

    /// Receipts for all that a commit waits for.
    pub(crate) fn pass(place: &'a Place, name: &str) -> Self {
        let mut run = Self::new(place, name);
        run.issue("lint", "lint.ok");
        run.issue("test", "test.ok");
        run
    }

    fn export(&self) -> String {
        self.place.run(&["receipt", "export", "--session", &self.session]).exits(0).out
    }
}

fn harbour() -> Place {
    Place::with(PROCEDURE)
}

pub(crate) fn public_key(place: &Place) -> String {
    let keys = place.json(&["audit", "keys"]);
    keys["keys"].as_array().unwrap().last().unwrap()["verifier"].as_str().unwrap().to_owned()
}

/// Checks `text` with `arguments`.
fn verify(place: &Place, text: &[u8], arguments: &[&str]) -> Done {
    let words = [&["receipt", "verify", "-"], arguments].concat();
    let mut command = place.command(&words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever refuses early reads no more.
    let _ = child.stdin.take().unwrap().write_all(text);
    let output = child.wait_with_output().unwrap();
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The codes of what is wrong, in order; `null` where nothing is.
fn codes(place: &Place, text: &[u8], arguments: &[&str]) -> Vec<Value> {
    let done = verify(place, text, &[arguments, &["--json"]].concat());
    let value = done.json();
    conforms("receipt-verify", &value);
    assert_eq!(done.code, i32::from(value["ok"] != true), "{value:#}");
    value["receipts"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect()
}

fn lines(text: &str, order: &[usize]) -> Vec<u8> {
    let lines: Vec<&str> = text.lines().collect();
    order.iter().flat_map(|at| [lines[*at], "\n"]).collect::<String>().into_bytes()
}

#[test]
fn j04_a_receipt_is_checked_where_there_is_no_concertina_home() {
    let place = harbour();
    let run = Run::pass(&place, "r-1");
    let text = run.export();
    let key = public_key(&place);
    // Elsewhere: no state, no home, no session.
    let elsewhere = Place::new();
    let mut command =
        elsewhere.command(&["receipt", "verify", "receipts", "--key", &key, "--json"]);
    command.env_remove("CONCERTINA_HOME").env_remove("HOME");
    std::fs::write(elsewhere.work().join("receipts"), &text).unwrap();
    let found = crate::kit::done(command).exits(0).json();
    conforms("receipt-verify", &found);
    assert_eq!((&found["ok"], &found["missing"]), (&json!(true), &json!([])));
    let first = &found["receipts"][0];
    assert_eq!((&first["run"], &first["tool"]), (&json!("r-1"), &json!("lint")));
    assert_eq!(first["proves"], json!(["lint.ok"]));
    assert!(!elsewhere.state().join("keys").exists(), "checking makes no key");
    // Without a key nobody is believed there, and with another's only that one.
    assert_eq!(codes(&elsewhere, text.as_bytes(), &[]), ["RECEIPT_UNKNOWN_KEY"; 2]);
    let other = harbour();
    Run::pass(&other, "r-1");
    let other = public_key(&other);
    assert_eq!(codes(&place, text.as_bytes(), &["--key", &other]), ["RECEIPT_UNKNOWN_KEY"; 2]);
    verify(&elsewhere, text.as_bytes(), &["--key", &other, "--key", &key]).exits(0);
    verify(&elsewhere, text.as_bytes(), &["--key", "nonsense"]).exits(2);
    // One envelope in a file of its own, laid out by somebody.
    let one: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    verify(&place, serde_json::to_string_pretty(&one).unwrap().as_bytes(), &[]).exits(0);
}

#[test]
fn j04_what_is_forged_edited_or_no_receipt_is_refused() {
    let place = harbour();
    let text = Run::pass(&place, "r-1").export();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let second: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let mut edited = first.clone();
    edited["payload"] = second["payload"].clone();
    assert_eq!(codes(&place, edited.to_string().as_bytes(), &[]), ["RECEIPT_FORGED"]);
    let mut strange = first.clone();
    strange["payloadType"] = "text/plain".into();
    assert_eq!(codes(&place, strange.to_string().as_bytes(), &[]), ["RECEIPT_UNREADABLE"]);
    let doubled = first.to_string().replacen('{', "{\"payload\":\"\",", 1);
    assert_eq!(codes(&place, doubled.as_bytes(), &[]), ["RECEIPT_UNREADABLE"]);
    let binary: Vec<u8> = (0..=255).filter(|byte| *byte != b'\n').collect();
    assert_eq!(codes(&place, &binary, &[]), ["RECEIPT_UNREADABLE"]);
    let huge = format!("{{\"payload\":\"{}\"}}\n{}", "A".repeat(400_000), text);
    let found = codes(&place, huge.as_bytes(), &[]);
    assert_eq!(found, [json!("RECEIPT_UNREADABLE"), Value::Null, Value::Null]);
    let deep = "[".repeat(200_000);
    assert_eq!(codes(&place, deep.as_bytes(), &[]), ["RECEIPT_UNREADABLE"]);
    // What a model says is no receipt.
    let said = b"All tests passed, lint is clean.\n";
    assert_eq!(
        codes(&place, said, &["--procedure", "sop.yaml", "--checkpoint", "test.ok"]),
        ["RECEIPT_UNREADABLE"]
    );
    for nothing in [&b""[..], b"\n\n"] {
        verify(&place, nothing, &[]).exits(1).says(&["[RECEIPT_MISSING]"]);
    }
    place.run(&["receipt", "verify", "no-such-file"]).exits(4).fails_clearly("UNREADABLE");
    verify(&place, &vec![b' '; 65 * 1024 * 1024], &[]).exits(1).says(&["[RECEIPTS_TOO_LARGE]"]);
}

#[test]
fn j04_a_chain_that_was_reordered_cut_or_added_to_is_found() {
    let place = harbour();
    let mut run = Run::pass(&place, "r-1");
    run.issue("lint", "lint.ok");
    let text = run.export();
    let (fine, chain) = (Value::Null, json!("RECEIPT_CHAIN"));
    let [fine, chain] = [&fine, &chain];
    for (order, found) in [
        (&[0, 1, 2][..], &[fine, fine, fine][..]),
        (&[1, 2], &[fine, fine]),
        (&[1], &[fine]),
        (&[0, 2], &[fine, chain]),
        (&[1, 0, 2], &[fine, chain, chain]),
        (&[0, 0, 1], &[fine, chain, fine]),
    ] {
        let codes = codes(&place, &lines(&text, order), &[]);
        assert_eq!(codes.iter().collect::<Vec<_>>(), found, "{order:?}");
    }
    // With something wanted, a changed chain is refused all the same.
    let found = verify(
        &place,
        &lines(&text, &[0, 2]),
        &["--procedure", "sop.yaml", "--checkpoint", "lint.ok", "--json"],
    );
    assert_eq!(found.exits(1).json()["missing"], json!(["lint.ok"]));
    let other = Run::pass(&place, "r-1").export();
    let mixed = format!("{}\n{}\n", text.lines().next().unwrap(), other.lines().nth(1).unwrap());
    assert_eq!(codes(&place, mixed.as_bytes(), &[]), [fine, chain].map(Clone::clone));
}

#[test]
fn j11_a_receipt_of_another_run_procedure_tool_or_workspace_does_not_count() {
    let place = harbour();
    let text = Run::pass(&place, "r-1").export();
    let text = text.as_bytes();
    let wrong = |code: &str, arguments: &[&str]| {
        assert_eq!(codes(&place, text, arguments), [code; 2], "{arguments:?}");
    };
    wrong("RECEIPT_WRONG_RUN", &["--run", "r-2"]);
    verify(&place, text, &["--run", "r-1"]).exits(0);
    write(&place.work(), &PROCEDURE.replace("sop.yaml", "other.yaml").replace("30m", "1d"));
    wrong("RECEIPT_WRONG_PROCEDURE", &["--procedure", "other.yaml"]);
    std::fs::remove_file(place.work().join("other.yaml")).unwrap();
    verify(&place, text, &["--procedure", "sop.yaml"]).exits(0);
    let digest = Digest::of(b"lint").to_string();
    let [same, other] = [&digest, &Digest::of(b"").to_string()].map(|one| format!("lint@{one}"));
    let (fine, tool) = (Value::Null, json!("RECEIPT_WRONG_TOOL"));
    assert_eq!(codes(&place, text, &["--tool", &same]), [fine.clone(), tool.clone()]);
    assert_eq!(codes(&place, text, &["--tool", &other]), [tool.clone(), tool.clone()]);
    verify(&place, text, &["--tool", "lint", "--tool", "test"]).exits(0);
    let elsewhere = Place::with(&format!("{PROCEDURE}//- more\nmore\n"));
    let there = elsewhere.work().display().to_string();
    wrong("RECEIPT_STALE", &["--workspace", &there]);
    verify(&place, text, &["--workspace", "."]).exits(0);
    // Two halves of two runs make no whole.
    let mut run = Run::new(&place, "r-2");
    run.issue("test", "test.ok");
    let halves =
        [lines(std::str::from_utf8(text).unwrap(), &[0]), run.export().into_bytes()].concat();
    let wanted = ["--procedure", "sop.yaml", "--checkpoint", "lint.ok", "--checkpoint", "test.ok"];
    verify(&place, &halves, &wanted).exits(1).says(&["[RECEIPT_MISSING]"]);
    verify(&place, text, &wanted).exits(0);
    // Any procedure could call something so.
    verify(&place, text, &["--checkpoint", "lint.ok"]).exits(2);
    verify(&place, text, &["--procedure", "sop.yaml", "--checkpoint", "ship.ok"]).exits(2);
}

#[test]
fn j10_an_edit_after_the_test_makes_its_receipt_stale() {
    let place = harbour();
    let text = Run::pass(&place, "r-1").export();
    let gate = ["--workspace", ".", "--procedure", "sop.yaml", "--gate", "git_commit"];
    verify(&place, text.as_bytes(), &gate).exits(0);
    std::fs::write(place.work().join("code"), "changed").unwrap();
    let found = verify(&place, text.as_bytes(), &[&gate[..], &["--json"]].concat()).exits(1);
    found.says(&["[RECEIPT_STALE]", "concertina call test"]);
    let found = codes(&place, text.as_bytes(), &gate);
    assert_eq!(found, ["RECEIPT_STALE"; 2]);
    // What does not count changes nothing.
    verify(&place, text.as_bytes(), &[&gate[..], &["--ignore", "code"]].concat()).exits(0);
    std::fs::remove_file(place.work().join("code")).unwrap();
    verify(&place, text.as_bytes(), &gate).exits(0);
    verify(&place, text.as_bytes(), &["--workspace", "nowhere"]).exits(2);
    // A day later the test is too long ago; the lint has no such limit.
    let late = codes(&place, text.as_bytes(), &["--procedure", "sop.yaml", "--at", "2999-01-01"]);
    assert_eq!(late, [Value::Null, json!("RECEIPT_EXPIRED")]);
    let late = codes(&place, text.as_bytes(), &["--max-age", "1h", "--at", "2999-01-01"]);
    assert_eq!(late, ["RECEIPT_EXPIRED"; 2]);
    verify(&place, text.as_bytes(), &["--max-age", "1h"]).exits(0);
    for wrong in ["soon", "3 events", "-1h"] {
        verify(&place, text.as_bytes(), &[&format!("--max-age={wrong}")]).exits(2);
    }
}

#[test]
fn j04_receipts_are_listed_shown_and_exported() {
    let place = harbour();
    let mut run = Run::new(&place, "r-1");
    let digest = run.issue("lint", "lint.ok");
    let other = Run::pass(&place, "r-2");
    let all = place.json(&["receipt", "list"]);
    conforms("receipt-list", &all);
    assert_eq!(all["receipts"].as_array().unwrap().len(), 3);
    let one = place.json(&["receipt", "list", "--session", &run.session]);
    assert_eq!(one["receipts"][0]["digest"], digest.to_string());
    assert_eq!(one["receipts"][0]["ok"], true);
    place.run(&["receipt", "list"]).exits(0).shows(&[&digest.short(), "r-2", "test.ok"]);
    place.run(&["receipt", "list", "--session", "s-none"]).exits(4);
    let shown = place.json(&["receipt", "show", &digest.short()]);
    conforms("receipt-show", &shown);
    assert_eq!(shown["receipt"]["tool"], "lint");
    verify(&place, shown["envelope"].to_string().as_bytes(), &[]).exits(0);
    place.run(&["receipt", "show", &digest.to_string()]).exits(0).says(&["signed by"]);
    place.run(&["receipt", "show", "00000000"]).exits(4).fails_clearly("NO_RECEIPT");
    let workspace = place.run(&["receipt", "export", "--workspace", "."]).exits(0).out;
    assert_eq!(workspace.lines().count(), 3);
    let empty = Place::new();
    let there = empty.work().display().to_string();
    assert_eq!(place.run(&["receipt", "export", "--workspace", &there]).exits(0).out, "");
    // The latest session opens nothing, an earlier one does.
    Run::new(&place, "r-3").issue("lint", "");
    let gate = ["--workspace", ".", "--procedure", "sop.yaml", "--gate", "git_commit"];
    let words = [&["receipt", "export"], &gate[..]].concat();
    assert_eq!(place.run(&words).exits(0).out, other.export());
    let words = [&words[..], &["--output", "kept"]].concat();
    place.run(&words).exits(0).says(&["2 receipts"]);
    assert_eq!(std::fs::read_to_string(place.work().join("kept")).unwrap(), other.export());
    place.run(&["receipt", "export"]).exits(2);
    // Keys that were replaced are still known.
    place.run(&["audit", "rotate"]).exits(0);
    verify(&place, workspace.as_bytes(), &[]).exits(0);
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}
