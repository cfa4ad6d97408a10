//! Receipts by themselves, against what is asked of them.

use std::collections::BTreeMap;

use concertina_core::procedure::{Demand, Judgement, Machine, judge};
use concertina_format::procedure::Guard;
use concertina_types::{
    Digest, FaultKind, Genuine, KeyId, RECEIPT_VERSION, Receipt, ReceiptFault, Separation,
    SessionId, Timestamp,
};
use proptest::prelude::*;

const PROCEDURE: &str = r#"
sop: commit-gate
checkpoints:
  lint.ok: {tool: lint, expect: {exit: 0}, binds: workspace}
  test.ok: {tool: test, expect: {exit: 0}, binds: workspace, max_age: 30m}
  read.ok: {tool: read, expect: {exit: 0}}
states:
  work: {show: {tools: [lint, test, read]}, next: [{to: commit, when: "lint.ok && test.ok"}]}
  commit: {show: {tools: [git_commit]}, next: [{to: done, when: "receipt(git_commit).exit == 0"}]}
  done: {final: true}
invariants:
  - {never: git_commit, without: test.ok}
"#;

const TREE: &[u8] = b"tree";

fn machine() -> Machine {
    Machine::new(PROCEDURE).unwrap()
}

fn receipt(run: &str, seq: u64, tool: &str, proves: &str) -> Receipt {
    Receipt {
        v: RECEIPT_VERSION,
        run: run.to_owned(),
        session: SessionId::new(format!("s-{run}")).unwrap(),
        procedure: "commit-gate".to_owned(),
        procedure_digest: Digest::of(PROCEDURE.as_bytes()),
        state: "work".to_owned(),
        seq,
        prev: None,
        tool: tool.to_owned(),
        tool_digest: Digest::of(tool.as_bytes()),
        args_digest: Digest::of(b"{}"),
        started: Timestamp(0),
        ended: Timestamp(i64::try_from(seq).unwrap() * 1_000),
        exit: i64::from(proves.is_empty()),
        outputs_digest: Digest::of(b""),
        parsed: BTreeMap::from([("exit".to_owned(), i64::from(proves.is_empty()).into())]),
        inputs_digest: Some(Digest::of(TREE)),
        proves: proves.split_whitespace().map(str::to_owned).collect(),
        refuses: if proves.is_empty() { vec![format!("{tool}.ok")] } else { Vec::new() },
        issuer: "executor".to_owned(),
        assurance: Separation::SameUid,
        tier: None,
        nonce: format!("{run} {seq}"),
    }
}

/// The receipts of a run, each following the one before it.
fn chained(receipts: impl IntoIterator<Item = Receipt>) -> Vec<Genuine> {
    let mut prev = None;
    let link = |mut receipt: Receipt| {
        receipt.prev = prev;
        let digest = receipt.digest();
        prev = Some(digest);
        Genuine { receipt, digest, key: KeyId::of(&[1; 32]) }
    };
    receipts.into_iter().map(link).collect()
}

fn run(run: &str, calls: &[(&str, &str)]) -> Vec<Genuine> {
    let receipts =
        calls.iter().zip(1..).map(|((tool, proves), seq)| receipt(run, seq, tool, proves));
    chained(receipts)
}

fn judged(receipts: Vec<Genuine>, demand: &Demand<'_>) -> Judgement {
    judge(receipts.into_iter().map(Ok), demand)
}

fn kinds(judgement: &Judgement) -> Vec<Option<FaultKind>> {
    judgement.receipts.iter().map(|one| one.fault.as_ref().map(|fault| fault.kind)).collect()
}

#[track_caller]
fn is_missing(judgement: &Judgement, wanted: &[&str]) {
    let missing: Vec<&str> = judgement.missing.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(missing, wanted, "{judgement:#?}");
    assert_eq!(judgement.ok, wanted.is_empty());
}

const DONE: &[(&str, &str)] = &[("lint", "lint.ok"), ("test", "test.ok")];

#[test]
fn j04_the_receipts_of_one_run_open_a_gate() {
    let machine = machine();
    let gate = machine.gate("git_commit").unwrap();
    assert_eq!(gate.to_string(), "(lint.ok && test.ok) && test.ok");
    let demand = Demand {
        procedure: Some(&machine),
        workspace: Some(Digest::of(TREE)),
        gate: Some(&gate),
        now: Timestamp(60_000),
        ..Demand::default()
    };
    let found = judged(run("a", DONE), &demand);
    is_missing(&found, &[]);
    assert_eq!(found.run.as_deref(), Some("a"));
    is_missing(&judged(Vec::new(), &demand), &["lint.ok", "test.ok"]);
    is_missing(&judged(run("a", &DONE[..1]), &demand), &["test.ok"]);
    // Others may be about something else, as long as nobody changed them.
    let both = [run("b", &[("lint", "")]), run("a", DONE)].concat();
    is_missing(&judged(both, &demand), &[]);
    let forged = Err(ReceiptFault::new(FaultKind::Forged, "forged"));
    let found = judge(run("a", DONE).into_iter().map(Ok).chain([forged]), &demand);
    assert!(found.missing.is_empty() && !found.ok);
}

#[test]
fn j11_two_runs_do_not_make_one() {
    let gate: Guard = "lint.ok && test.ok".parse().unwrap();
    let demand = Demand { gate: Some(&gate), ..Demand::default() };
    let halves = [run("a", &[("lint", "lint.ok")]), run("b", &[("test", "test.ok")])].concat();
    assert_eq!(judged(halves, &demand).missing.len(), 1);
    let demand = Demand { run: Some("b"), ..Demand::default() };
    let found = judged(run("a", DONE), &demand);
    assert_eq!(kinds(&found), [Some(FaultKind::WrongRun); 2]);
    assert!(!found.ok);
    // A receipt that was put into another run, with a number that fits there.
    let mut mixed = run("a", DONE);
    mixed[1].receipt.session = SessionId::new("s-b").unwrap();
    assert_eq!(kinds(&judged(mixed, &Demand::default())), [None, Some(FaultKind::Chain)]);
}

#[test]
fn j04_a_later_call_that_proves_nothing_takes_back() {
    let gate: Guard = "lint.ok && test.ok".parse().unwrap();
    let demand = Demand { gate: Some(&gate), ..Demand::default() };
    let again = [DONE, &[("test", "")]].concat();
    let found = judged(run("a", &again), &demand);
    is_missing(&found, &["test.ok"]);
    assert!(found.missing[0].why.contains("number 3"), "{found:?}");
    let more = [DONE, &[("test", ""), ("test", "test.ok")]].concat();
    is_missing(&judged(run("a", &more), &demand), &[]);
    // Another call of the tool that decided on something else took nothing back; a no of a person did.
    let done = || [receipt("a", 1, "lint", "lint.ok"), receipt("a", 2, "test", "test.ok")];
    let other = Receipt { refuses: vec!["other.ok".to_owned()], ..receipt("a", 3, "test", "") };
    is_missing(&judged(chained(done().into_iter().chain([other])), &demand), &[]);
    let no = Receipt {
        issuer: "human:maintainer".to_owned(),
        refuses: vec!["test.ok".to_owned()],
        ..receipt("a", 3, "human", "")
    };
    let found = judged(chained(done().into_iter().chain([no])), &demand);
    is_missing(&found, &["test.ok"]);
    assert!(found.missing[0].why.contains("a person said no"), "{found:?}");
}

#[test]
fn j10_a_receipt_of_another_workspace_is_stale() {
    let machine = machine();
    let calls = [("lint", "lint.ok"), ("read", "read.ok"), ("test", "")];
    let other = Demand { workspace: Some(Digest::of(b"other")), ..Demand::default() };
    let stale = Some(FaultKind::Stale);
    assert_eq!(kinds(&judged(run("a", &calls), &other)), [stale, stale, stale]);
    // What the procedure does not bind holds on.
    let known = Demand { procedure: Some(&machine), ..other };
    assert_eq!(kinds(&judged(run("a", &calls), &known)), [stale, None, stale]);
    let mut unbound = receipt("a", 1, "lint", "lint.ok");
    unbound.inputs_digest = None;
    assert_eq!(kinds(&judged(chained([unbound]), &known)), [stale]);
    let same = Demand { workspace: Some(Digest::of(TREE)), ..known };
    assert_eq!(kinds(&judged(run("a", &calls), &same)), [None, None, None]);
}

#[test]
fn j04_a_receipt_is_of_this_procedure_this_tool_and_this_day() {
    let machine = machine();
    let text = Machine::new(&PROCEDURE.replace("30m", "40m")).unwrap();
    let name = Machine::new(&PROCEDURE.replace("commit-gate", "other")).unwrap();
    for other in [&text, &name] {
        let demand = Demand { procedure: Some(other), ..Demand::default() };
        assert_eq!(kinds(&judged(run("a", DONE), &demand)), [Some(FaultKind::WrongProcedure); 2]);
    }
    let (lint, version) = (Digest::of(b"lint"), Digest::of(b"later"));
    for (tool, digest, found) in [
        ("lint", None, [None, Some(FaultKind::WrongTool)]),
        ("lint", Some(lint), [None, Some(FaultKind::WrongTool)]),
        ("lint", Some(version), [Some(FaultKind::WrongTool); 2]),
        ("other", None, [Some(FaultKind::WrongTool); 2]),
    ] {
        let tools = [(tool.to_owned(), digest)];
        let demand = Demand { tools: &tools, ..Demand::default() };
        assert_eq!(kinds(&judged(run("a", DONE), &demand)), found, "{tool} {digest:?}");
    }
    // The receipts ended 1 s and 2 s after the beginning.
    let expired = Some(FaultKind::Expired);
    for (now, max_age, own, found) in [
        (3_000, Some(1_000), false, [expired, None]),
        (4_001, Some(2_000), false, [expired, expired]),
        (9_999_999, None, false, [None, None]),
        (1_802_000, None, true, [None, None]),
        (1_802_001, None, true, [None, expired]),
        (-400_000, Some(1_000), false, [expired, expired]),
        (-200_000, Some(1_000), false, [None, None]),
    ] {
        let procedure = own.then_some(&machine);
        let demand = Demand { now: Timestamp(now), max_age, procedure, ..Demand::default() };
        assert_eq!(kinds(&judged(run("a", DONE), &demand)), found, "{now} {max_age:?} {own}");
    }
}

#[test]
fn j04_no_receipt_is_no_proof() {
    assert!(!judged(Vec::new(), &Demand::default()).ok);
    let gate: Guard = "receipt(test).exit == 0".parse().unwrap();
    let demand = Demand { gate: Some(&gate), ..Demand::default() };
    is_missing(&judged(run("a", DONE), &demand), &[]);
    is_missing(&judged(run("a", &[("test", "")]), &demand), &["receipt(test).exit == 0"]);
    let not: Guard = "!lint.ok".parse().unwrap();
    let demand = Demand { gate: Some(&not), ..Demand::default() };
    is_missing(&judged(run("a", DONE), &demand), &["!lint.ok"]);
}

#[test]
fn j04_a_gate_is_what_stands_before_a_tool_wherever_it_is_shown() {
    let machine = machine();
    assert_eq!(machine.gate("lint"), None);
    assert_eq!(machine.gate("nothing"), None);
    let guarded = PROCEDURE.replace(
        "tools: [git_commit]",
        "tools: [{git_commit: {when: \"lint.ok && test.ok && read.ok\"}}]",
    );
    let gate = Machine::new(&guarded).unwrap().gate("git_commit").unwrap();
    assert_eq!(gate.to_string(), "(lint.ok && test.ok && read.ok) && test.ok");
    let free = PROCEDURE.replace("[lint, test, read]", "[lint, test, read, git_commit]");
    let gate = Machine::new(&free).unwrap().gate("git_commit").unwrap();
    assert_eq!(gate.to_string(), "test.ok");
}

proptest! {
    /// Whatever is taken from a run, in whatever order: it is a chain exactly where it is one piece, in order.
    #[test]
    fn j04_only_one_piece_in_order_is_a_chain(picked in prop::collection::vec(0_usize..6, 1..7)) {
        let calls = [("lint", "lint.ok"); 6];
        let whole = run("a", &calls);
        let part: Vec<Genuine> = picked.iter().map(|at| whole[*at].clone()).collect();
        let is_piece = picked.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let found = judged(part, &Demand::default());
        prop_assert_eq!(found.ok, is_piece, "{:?}", picked);
        let is_chain = |kind: &Option<FaultKind>| kind.is_none_or(|kind| kind == FaultKind::Chain);
        prop_assert!(kinds(&found).iter().all(is_chain));
    }
}

#[test]
fn j04_a_receipt_proves_what_its_own_figures_say_and_nothing_else() {
    let machine = machine();
    let demand = Demand { procedure: Some(&machine), ..Demand::default() };
    let good = || receipt("a", 1, "test", "test.ok");
    let found = |receipt: Receipt| kinds(&judged(chained([receipt]), &demand));
    assert_eq!(found(good()), [None]);
    let wrong: [fn(&mut Receipt); 8] = [
        |one| drop(one.parsed.insert("exit".to_owned(), 1.into())),
        |one| drop(one.parsed.remove("exit")),
        |one| one.tool = "lint".to_owned(),
        |one| one.issuer = "human:owner".to_owned(),
        |one| one.state = "nowhere".to_owned(),
        |one| one.refuses = vec!["test.ok".to_owned()],
        |one| one.started = Timestamp(5_000),
        |one| one.proves.push("no.ok".to_owned()),
    ];
    for change in wrong {
        let mut receipt = good();
        change(&mut receipt);
        assert_eq!(found(receipt.clone()), [Some(FaultKind::Contradiction)], "{receipt:?}");
    }
}
