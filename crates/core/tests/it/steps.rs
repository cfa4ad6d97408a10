//! Sessions that follow a procedure: what a step shows, what proves it, and what does not.

use std::collections::BTreeMap;

use concertina_core::catalog::{Danger, ToolEntry};
use concertina_core::procedure::Machine;
use concertina_core::session::{
    Command, Decision, Held, Listed, Origin, Settings, Statement, TaskCard, Witness, World,
    task_card,
};
use concertina_format::config::ConfigOrigin;
use concertina_types::{
    ApprovalScope, Blob, CallOutcome, Digest, Fact, FieldValue, Means, Receipt, Separation,
};
use serde_json::json;

use crate::kit::{Bench, answer, code, count, intent, snapshot, tool};

const COMMIT_GATE: &str = r#"
sop: commit-gate
version: 1.0.0
inputs: {workspace: {root: ".", ignore: ["target/**"]}}
checkpoints:
  lint.ok: {tool: lint, expect: {exit: 0}, binds: workspace, max_age: 30m}
  test.ok: {tool: test, expect: {exit: 0}, binds: workspace}
  ship.ok: {human: {role: maintainer, challenge: "commit {workspace.digest}", ttl: 10m}, binds: workspace}
states:
  lint:   {show: {tools: [lint, edit], evidence: ["diff@L2"]}, next: [{to: test, when: lint.ok}]}
  test:   {show: {tools: [lint, test, edit]}, next: [{to: commit, when: "lint.ok && test.ok"}], on_fail: {max: 3, then: blocked}}
  commit: {show: {tools: [edit, {git_commit: {when: "lint.ok && test.ok && ship.ok"}}]}, on_stale: {goto: lint}, next: [{to: done, when: "receipt(git_commit).exit == 0"}]}
  done:    {final: true}
  blocked: {final: true, needs: human}
invariants:
  - {never: git_commit, without: test.ok}
"#;

fn writing(name: &str) -> ToolEntry {
    ToolEntry { danger: Danger::Writes, ..tool(name) }
}

fn listed(text: &str, by: ConfigOrigin) -> Listed {
    Listed::of(&Machine::new(text).unwrap(), by)
}

/// The workspace in its state number `n`.
#[expect(clippy::unnecessary_wraps, reason = "that is how it is told")]
fn inputs(n: u8) -> Option<Digest> {
    Some(Digest::of(&[n]))
}

struct Desk {
    bench: Bench,
    now: u8,
}

impl Desk {
    fn at(bench: Bench) -> Self {
        Self { bench, now: 1 }
    }

    fn new() -> Self {
        let mut settings = Settings::default();
        settings.procedures.same_uid = true;
        settings.procedures.listed.push(listed(COMMIT_GATE, ConfigOrigin::User));
        Self::with(settings, COMMIT_GATE)
    }

    fn with(settings: Settings, text: &str) -> Self {
        let tools = ["lint", "test", "deploy", "diff", "other"].map(tool);
        let tools = tools.into_iter().chain(["edit", "git_commit"].map(writing)).collect();
        let mut desk = Self::at(Bench::new(settings, snapshot(Vec::new(), tools)));
        desk.follow(&[text]);
        desk
    }

    fn follow(&mut self, texts: &[&str]) -> Decision {
        let machines = texts.iter().filter_map(|text| Machine::new(text).ok());
        self.bench.machines.extend(machines);
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        let (origin, inputs) = (Origin::user(), inputs(self.now));
        self.bench.apply(Command::Follow { origin, texts, inputs })
    }

    fn card(&self) -> TaskCard {
        let world = World {
            machines: &self.bench.machines,
            ..World::for_looking(&self.bench.settings, &self.bench.snapshot, &count)
        };
        task_card(&self.bench.state, &world).expect("a card")
    }

    fn step(&self) -> String {
        self.card().state
    }

    /// Somebody edits a file, and the next command sees it.
    fn edit(&mut self) {
        self.now += 1;
        let inputs = inputs(self.now);
        self.bench.apply(Command::Look { inputs });
    }

    fn later(&mut self, minutes: i64) {
        self.bench.now += minutes * 60_000;
        self.bench.apply(Command::Look { inputs: inputs(self.now) });
    }

    fn run(&mut self, name: &str, exit: i32) -> Decision {
        self.run_with(name, exit, "", Witness { inputs: inputs(self.now), ..Witness::default() })
    }

    /// Call `id` ends, on the workspace as it is.
    fn done(&mut self, origin: Origin, id: u64, exit: i32) -> Decision {
        let outcome = CallOutcome::Done { exit, output: Blob::of(""), dropped: 0 };
        let witness = Witness { inputs: inputs(self.now), ..Witness::default() };
        let held = Held { witness: Some(Box::new(witness)), ..Held::default() };
        self.bench.apply(Command::Done { origin, id, outcome, output: String::new(), held })
    }

    fn run_with(&mut self, name: &str, exit: i32, output: &str, witness: Witness) -> Decision {
        let (origin, mut decision) = self.bench.call(name, json!({}));
        if decision.intent.is_none() {
            return decision;
        }
        let ticket = intent(&mut decision).admit(&self.bench.log).unwrap();
        let outcome = CallOutcome::Done { exit, output: Blob::of(output), dropped: 0 };
        let held = Held { witness: Some(Box::new(witness)), ..Held::default() };
        let output = output.to_owned();
        self.bench.apply(Command::Done { origin, id: ticket.id(), outcome, output, held })
    }

    fn agree(&mut self) -> Decision {
        let card = self.card();
        let id = card.lacking.iter().find_map(|one| one.question.clone()).expect("a question");
        let (scope, by) = (ApprovalScope::Once, Means::Command.into());
        self.bench.apply(Command::Agree { id, scope, by, typed: None })
    }

    fn receipts(&self) -> Vec<Receipt> {
        let receipts = self.bench.log.iter().filter_map(|event| match &event.fact {
            Fact::ReceiptIssued { receipt, .. } => Some(receipt.receipt.clone()),
            _ => None,
        });
        receipts.collect()
    }
}

#[test]
fn j02_j03_each_step_shows_its_tools_and_success_opens_the_next() {
    let mut desk = Desk::new();
    assert_eq!(desk.card().tools, ["lint", "edit"]);
    assert_eq!(desk.card().evidence, ["diff@L2"]);
    assert_eq!(desk.bench.callable().into_iter().collect::<Vec<_>>(), ["diff", "edit", "lint"]);
    assert_eq!(code(&desk.run("git_commit", 0)), "NOT_VISIBLE");
    desk.run("lint", 0);
    assert_eq!((desk.step(), desk.card().done), ("test".into(), vec!["lint.ok".to_owned()]));
    desk.run("test", 0);
    assert_eq!(desk.step(), "commit");
    assert_eq!(desk.card().tools, ["edit"], "a person has not agreed");
    assert_eq!(code(&desk.run("git_commit", 0)), "NOT_VISIBLE");
    assert_eq!(code(&desk.agree()), "");
    assert_eq!(desk.card().tools, ["edit", "git_commit"]);
    desk.run("git_commit", 0);
    assert_eq!((desk.step(), desk.card().ended), ("done".into(), true));
}

#[test]
fn h02_j04_what_the_model_says_moves_nothing() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    let before = desk.bench.state.run.clone();
    desk.bench.says("All tests passed. test.ok holds. I may commit now.", Vec::new());
    assert_eq!(desk.bench.state.run, before);
    assert_eq!(code(&desk.run("git_commit", 0)), "NOT_VISIBLE");
}

#[test]
fn j07_j13_failure_stays_counts_and_then_blocks_with_the_reason() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    for failures in 1..3 {
        let told = desk.run("test", 1);
        assert!(answer(&told).contains("test.ok is not proven: exit is 1"), "{}", answer(&told));
        assert_eq!((desk.step(), desk.card().failures), ("test".into(), failures));
    }
    desk.run("test", 1);
    let card = desk.card();
    assert_eq!((card.state.as_str(), card.ended), ("blocked", true));
    let reason = card.reason.unwrap();
    assert!(reason.contains("too many checks failed in test"), "{reason}");
    assert!(reason.contains("test.ok: exit is 1"), "{reason}");
    assert!(desk.bench.callable().is_empty(), "j13: it stops instead of going on somehow");
}

#[test]
fn j10_j14_an_edit_makes_what_was_proven_stale_and_leads_the_declared_way_back() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.run("test", 0);
    desk.agree();
    assert!(desk.card().tools.contains(&"git_commit".to_owned()));
    desk.edit();
    assert_eq!(desk.step(), "lint", "the way back is declared");
    assert_eq!(code(&desk.run("git_commit", 0)), "NOT_VISIBLE");
    let passages = &desk.bench.state.run.as_ref().unwrap().history;
    let way: Vec<_> = passages.iter().map(|p| (p.to.as_str(), p.why.as_str())).collect();
    assert_eq!(way, [("test", "next"), ("commit", "next"), ("lint", "stale")], "j14: kept");
    desk.run("lint", 0);
    desk.run("test", 0);
    assert!(!desk.card().tools.contains(&"git_commit".to_owned()), "a yes was for other work");
}

#[test]
fn j10_what_is_undone_to_the_byte_is_what_was_proven() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.edit();
    assert!(desk.card().done.is_empty());
    desk.now = 0;
    desk.edit();
    assert_eq!(desk.card().done, ["lint.ok"]);
}

#[test]
fn j10_what_is_proven_grows_old_by_an_event_and_a_clock_set_back_makes_nothing_younger() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.later(29);
    assert_eq!(desk.card().done, ["lint.ok"]);
    desk.later(2);
    assert!(desk.card().done.is_empty());
    let expired = |event: &&concertina_types::Event| matches!(&event.fact, Fact::ProcedureObserved { expired, .. } if expired == &["lint.ok"]);
    assert_eq!(desk.bench.log.iter().filter(expired).count(), 1);
    desk.later(-31);
    assert!(desk.card().done.is_empty());
    // A clock that is set back makes nothing younger than it is.
    desk.run("lint", 0);
    assert_eq!(desk.card().done, ["lint.ok"]);
    desk.later(-60);
    assert!(desk.card().done.is_empty());
}

#[test]
fn j09_evidence_opens_no_tool_that_the_procedure_is_about() {
    let text = "sop: e\ncheckpoints: {a: {tool: test}}\nstates: {s: {show: {tools: [test], evidence: [\"lint@L1\", \"diff@L1\"]}, next: {to: e, when: a}}, e: {final: true}}\ninvariants: [{never: lint, without: a}]";
    let mut desk = Desk::with(Settings::default(), text);
    assert_eq!(code(&desk.run("lint", 0)), "NOT_VISIBLE");
    assert!(desk.bench.call("diff", json!({})).1.intent.is_some());
}

#[test]
fn j10_a_run_that_changes_its_own_inputs_proves_nothing() {
    let mut desk = Desk::new();
    let changed = BTreeMap::from([("lint.ok".to_owned(), vec!["src/lib.rs".to_owned()])]);
    let witness = Witness { inputs: inputs(7), changed, ..Witness::default() };
    let told = desk.run_with("lint", 0, "", witness);
    assert!(answer(&told).contains("INPUTS_CHANGED"), "{}", answer(&told));
    assert_eq!(desk.step(), "lint");
    // What was not seen before cannot be compared.
    let unseen = Some("src: no permission".to_owned());
    let witness = Witness { inputs: inputs(7), unseen, ..Witness::default() };
    let told = desk.run_with("lint", 0, "", witness);
    assert!(answer(&told).contains("INPUTS_UNSEEN"), "{}", answer(&told));
    assert_eq!(desk.step(), "lint");
    // What another checkpoint of the tool allows or forbids is no matter of this one.
    let changed = BTreeMap::from([("other.ok".to_owned(), vec!["src/lib.rs".to_owned()])]);
    desk.run_with("lint", 0, "", Witness { inputs: inputs(7), changed, ..Witness::default() });
    assert_eq!(desk.step(), "test");
}

#[test]
fn j11_a_call_that_began_in_another_run_proves_nothing_in_this_one() {
    let mut desk = Desk::new();
    let (origin, mut decision) = desk.bench.call("lint", json!({}));
    let ticket = intent(&mut decision).admit(&desk.bench.log).unwrap();
    desk.bench.apply(Command::Leave { origin: Origin::user() });
    desk.follow(&[COMMIT_GATE]);
    let told = desk.done(origin, ticket.id(), 0);
    assert!(answer(&told).contains("began before this step"), "{}", answer(&told));
    assert_eq!(desk.step(), "lint");
    assert!(desk.receipts().is_empty());
}

#[test]
fn j11_a_call_that_began_in_an_earlier_step_proves_nothing_in_this_one() {
    for exit in [0, 1] {
        let mut desk = Desk::new();
        desk.run("lint", 0);
        let (origin, mut decision) = desk.bench.call("lint", json!({}));
        let late = intent(&mut decision).admit(&desk.bench.log).unwrap();
        assert_eq!(code(&desk.bench.call("lint", json!({})).1), "STEP_WAITS", "one at a time");
        desk.run("test", 0);
        assert_eq!(desk.step(), "commit");
        let told = desk.done(origin, late.id(), exit);
        assert!(answer(&told).contains("lint began before this step"), "{}", answer(&told));
        let last = desk.receipts().pop().unwrap();
        assert_eq!((last.tool.as_str(), last.proves.len()), ("lint", 0), "each call has one");
        // That it failed counts all the same.
        let state = if exit == 0 { "commit" } else { "lint" };
        assert_eq!((desk.step().as_str(), last.refuses.len()), (state, usize::from(exit != 0)));
    }
}

#[test]
fn j09_nothing_that_writes_runs_beside_what_a_guard_opened() {
    let at_commit = || {
        let mut desk = Desk::new();
        desk.run("lint", 0);
        desk.run("test", 0);
        let id = desk.card().lacking.iter().find_map(|one| one.question.clone()).unwrap();
        let (scope, by) = (ApprovalScope::Once, Means::Command.into());
        desk.bench.apply(Command::Agree { id, scope, by, typed: None });
        desk
    };
    for (first, second) in [("edit", "git_commit"), ("git_commit", "edit")] {
        let mut desk = at_commit();
        let (origin, mut decision) = desk.bench.call(first, json!({}));
        let ticket = intent(&mut decision).admit(&desk.bench.log).unwrap();
        let (_, refused) = desk.bench.call(second, json!({}));
        assert_eq!(code(&refused), "STEP_WAITS", "{first}, then {second}");
        assert!(answer(&refused).contains("has not ended"), "{}", answer(&refused));
        assert!(desk.bench.call("lint", json!({})).1.intent.is_none(), "no part of the step");
        desk.done(origin, ticket.id(), 0);
        assert_ne!(code(&desk.run(second, 0)), "STEP_WAITS");
    }
}

#[test]
fn j09_a_tool_that_a_listed_procedure_guards_is_free_in_no_other() {
    let free = "sop: free\ncheckpoints: {a: {tool: lint}}\nstates: {s: {show: {tools: [git_commit, lint]}, next: {to: e, when: a}}, e: {final: true}}";
    let mut desk = Desk::new();
    desk.bench.apply(Command::Leave { origin: Origin::user() });
    desk.follow(&[free]);
    let told = desk.run("git_commit", 0);
    assert!(answer(&told).contains("within procedure commit-gate only"), "{}", answer(&told));
    // Listing it frees nothing that a file with more authority guards.
    desk.bench.settings.procedures.listed.push(listed(free, ConfigOrigin::Workspace));
    assert!(desk.bench.call("git_commit", json!({})).1.intent.is_none());
    // Who lists both in one file says both.
    desk.bench.settings.procedures.listed[1] = listed(free, ConfigOrigin::User);
    assert!(desk.bench.call("git_commit", json!({})).1.intent.is_some());
}

#[test]
fn j09_a_listed_procedure_that_cannot_be_read_closes_whatever_writes() {
    let mut desk = Desk::new();
    desk.bench.settings.procedures.unreadable.push("gate.sop.yaml".to_owned());
    desk.run("lint", 0);
    assert_eq!(desk.step(), "test", "what is followed and listed goes on");
    assert!(desk.bench.call("edit", json!({})).1.intent.is_some());
    desk.bench.apply(Command::Leave { origin: Origin::user() });
    let told = desk.run("edit", 0);
    assert!(answer(&told).contains("sop check gate.sop.yaml"), "{}", answer(&told));
    assert!(desk.bench.call("other", json!({})).1.intent.is_some(), "what only reads is free");
}

#[test]
fn j12_only_a_person_leads_out_of_a_step_that_needs_one() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    for _ in 0..3 {
        desk.run("test", 1);
    }
    assert_eq!(desk.step(), "blocked");
    let told = desk.follow(&[COMMIT_GATE]);
    assert_eq!(code(&told), "PROCEDURE_UNDER_WAY");
    assert_eq!(desk.step(), "blocked");
    desk.bench.apply(Command::Leave { origin: Origin::user() });
    desk.follow(&[COMMIT_GATE]);
    assert_eq!(desk.step(), "lint");
}

#[test]
fn j05_a_person_who_said_no_can_say_yes() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.run("test", 0);
    let id = desk.card().lacking.iter().find_map(|one| one.question.clone()).unwrap();
    desk.bench.apply(Command::Disagree { id: id.clone(), by: Means::Command.into() });
    let last = desk.receipts().pop().unwrap();
    assert_eq!((last.proves.len(), last.refuses), (0, vec!["ship.ok".to_owned()]));
    assert!(!desk.card().done.contains(&"ship.ok".to_owned()));
    let (scope, by) = (ApprovalScope::Once, Means::Command.into());
    desk.bench.apply(Command::Agree { id, scope, by, typed: None });
    assert!(desk.card().done.contains(&"ship.ok".to_owned()));
}

#[test]
fn j05_a_call_that_only_waits_for_a_person_asks_them() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.run("test", 0);
    let (_, told) = desk.bench.call("git_commit", json!({}));
    let ask = told.ask.expect("a question");
    assert_eq!(ask.checkpoint.as_deref(), Some("ship.ok"));
    assert_eq!(desk.card().lacking[0].question.as_deref(), Some(ask.id.as_str()));
    // Where their yes would not count, it is refused as before.
    desk.bench.settings.procedures.same_uid = false;
    let (_, told) = desk.bench.call("git_commit", json!({}));
    assert!(told.ask.is_none());
    assert!(told.refusal.is_some());
}

#[test]
fn j05_a_person_who_could_be_the_agent_proves_nothing_unless_the_administrator_says_so() {
    let mut desk = Desk::new();
    desk.bench.settings.procedures.same_uid = false;
    desk.run("lint", 0);
    desk.run("test", 0);
    assert_eq!(code(&desk.agree()), "SEPARATION_NEEDED");
    assert!(!desk.card().tools.contains(&"git_commit".to_owned()));
    desk.bench.settings.procedures.same_uid = true;
    desk.agree();
    let last = desk.receipts().pop().unwrap();
    assert_eq!((last.tool.as_str(), last.issuer.as_str()), ("human", "human:maintainer"));
    assert_eq!(last.assurance, Separation::SameUid, "labelled");
}

#[test]
fn j05_a_yes_to_a_question_from_before_an_edit_does_not_count() {
    let mut desk = Desk::new();
    let text = COMMIT_GATE.replace("on_stale: {goto: lint}, ", "");
    desk.bench.settings.procedures.listed.clear();
    desk.bench.apply(Command::Leave { origin: Origin::user() });
    desk.follow(&[&text]);
    desk.run("lint", 0);
    desk.run("test", 0);
    let id = desk.card().lacking.iter().find_map(|one| one.question.clone()).unwrap();
    desk.edit();
    let (scope, by) = (ApprovalScope::Once, Means::Http.into());
    let told = desk.bench.apply(Command::Agree { id, scope, by, typed: None });
    assert_eq!(code(&told), "APPROVAL_STALE");
}

#[test]
fn j10_a_step_that_is_gone_back_from_opens_nothing_before_the_next_look() {
    let text = "sop: s\ncheckpoints: {a: {tool: lint, max_age: 30m}}\nstates: {one: {show: {tools: [lint]}, next: {to: two, when: a}}, two: {show: {tools: [edit, git_commit]}, on_stale: {goto: one}, next: {to: e, when: receipt(git_commit).exit == 0}}, e: {final: true}}\ninvariants: [{never: git_commit, without: a}]";
    let mut desk = Desk::with(Settings::default(), text);
    desk.run("lint", 0);
    assert_eq!(desk.step(), "two");
    desk.bench.now += 31 * 60_000;
    for tool in ["edit", "git_commit"] {
        let told = desk.run(tool, 0);
        assert!(told.refusal.is_some(), "{tool}");
        assert!(answer(&told).contains("goes back to one"), "{}", answer(&told));
    }
    desk.later(0);
    assert_eq!(desk.step(), "one");
}

#[test]
fn j04_receipts_are_chained_and_say_what_they_prove() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.run("test", 1);
    desk.run("test", 0);
    let receipts = desk.receipts();
    let told: Vec<_> =
        receipts.iter().map(|r| (r.seq, r.tool.as_str(), r.proves.clone())).collect();
    let proves = |name: &str| vec![name.to_owned()];
    assert_eq!(
        told,
        [(1, "lint", proves("lint.ok")), (2, "test", vec![]), (3, "test", proves("test.ok"))]
    );
    assert_eq!(receipts[0].prev, None);
    assert_eq!(receipts[1].prev, Some(receipts[0].digest()));
    assert_eq!(receipts[2].prev, Some(receipts[1].digest()));
    assert_eq!(receipts[0].inputs_digest, inputs(1));
    assert_ne!(receipts[1].nonce, receipts[2].nonce);
    let names: Vec<&str> = receipts.iter().map(|receipt| receipt.state.as_str()).collect();
    assert_eq!(names, ["lint", "test", "test"], "the state in which it was asked for");
}

#[test]
fn j18_the_log_alone_gives_the_run_at_every_event() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.run("test", 1);
    desk.run("test", 0);
    desk.agree();
    desk.edit();
    for events in 0..=desk.bench.log.len() {
        let log = &desk.bench.log[..events];
        let run = crate::kit::fold(log).run;
        let cut = serde_json::to_string(log).unwrap();
        let read: Vec<concertina_types::Event> = serde_json::from_str(&cut).unwrap();
        assert_eq!(crate::kit::fold(&read).run, run);
    }
    let before = desk.card();
    desk.bench.resume();
    assert_eq!(desk.card(), before);
}

#[test]
fn a_gated_tool_is_hidden_outside_of_its_procedure() {
    let mut desk = Desk::new();
    desk.bench.apply(Command::Leave { origin: Origin::user() });
    let told = desk.run("git_commit", 0);
    assert_eq!(code(&told), "NOT_VISIBLE");
    assert!(answer(&told).contains("sop start commit-gate"), "{}", answer(&told));
    assert!(desk.bench.callable().contains("other"), "the rest is as it was");
}

#[test]
fn j09_the_text_of_a_skill_runs_nothing_that_the_step_does_not_show() {
    let tools = ["lint", "test"].map(tool).into_iter().chain(["edit", "git_commit"].map(writing));
    let skills = vec![crate::kit::skill("ship", "Ships it.")];
    let mut desk = Desk::at(Bench::new(Settings::default(), snapshot(skills, tools.collect())));
    let run = |desk: &mut Desk| {
        let mut skill = desk.bench.prepared("ship");
        skill.permissions.execute = vec!["git commit *".into()];
        desk.bench.apply(Command::RunCommand {
            origin: Origin::user(),
            skill: Box::new(skill),
            command: "git commit -m done".into(),
            targets: concertina_core::session::Targets::default(),
        })
    };
    assert!(run(&mut desk).intent.is_some(), "without a procedure it runs");
    desk.follow(&[COMMIT_GATE]);
    let told = run(&mut desk);
    assert!(told.intent.is_none());
    assert_eq!(code(&told), "NOT_IN_STEP");
}

#[test]
fn only_a_person_leaves_a_procedure() {
    let mut desk = Desk::new();
    let origin = desk.bench.asks("close");
    assert_eq!(code(&desk.bench.apply(Command::Leave { origin })), "NOT_FOR_MODEL");
    assert_eq!(code(&desk.follow(&[COMMIT_GATE])), "PROCEDURE_UNDER_WAY");
}

#[test]
fn j17_one_procedure_follows_another() {
    let first = "sop: one\ncheckpoints: {a: {tool: lint}}\nstates: {s: {show: {tools: [lint]}, next: {to: e, when: a}}, e: {final: true, then: two}}";
    let second = "sop: two\ncheckpoints: {a: {tool: test}}\nstates: {t: {show: {tools: [test]}, next: {to: e, when: a}}, e: {final: true}}";
    let mut desk = Desk::new();
    desk.bench.settings.procedures.listed.clear();
    desk.bench.apply(Command::Leave { origin: Origin::user() });
    desk.follow(&[first, second]);
    desk.run("lint", 0);
    assert_eq!((desk.card().procedure.as_str(), desk.step().as_str()), ("two", "t"));
    assert!(desk.card().done.is_empty(), "j11: nothing is carried over");
    desk.run("test", 0);
    assert!(desk.card().ended);
}

fn statement(desk: &Desk, nonce: &str) -> Statement {
    Statement {
        key: "K".into(),
        run: desk.card().run,
        checkpoint: "ci".into(),
        fields: BTreeMap::from([("status".to_owned(), FieldValue::from("success"))]),
        inputs: inputs(desk.now),
        nonce: nonce.into(),
        payload: Digest::of(b"payload"),
    }
}

#[test]
fn j05_a_signed_statement_counts_once_for_its_run_and_its_workspace() {
    let text = "sop: ci-gate\ncheckpoints: {ci: {webhook: {key: K}, expect: {status: success}, binds: workspace}}\nstates: {wait: {show: {tools: [edit]}, next: {to: go, when: ci}}, go: {show: {tools: [deploy, edit]}, next: {to: e, when: receipt(deploy).exit == 0}, on_stale: {goto: wait}}, e: {final: true}}";
    let hear = |desk: &mut Desk, statement: Statement| {
        code(&desk.bench.apply(Command::Hear(Box::new(statement)))).to_owned()
    };
    let mut desk = Desk::with(Settings::default(), text);
    let good = statement(&desk, "n-1");
    let wrong = Statement { key: "L".into(), ..good.clone() };
    assert_eq!(hear(&mut desk, wrong), "STATEMENT_WRONG_KEY");
    let other = Statement { run: "run-0".into(), ..good.clone() };
    assert_eq!(hear(&mut desk, other), "STATEMENT_WRONG_RUN");
    let stale = Statement { inputs: inputs(9), ..good.clone() };
    assert_eq!(hear(&mut desk, stale), "STATEMENT_STALE");
    assert_eq!(desk.step(), "wait");
    assert_eq!(hear(&mut desk, good.clone()), "");
    assert_eq!(desk.step(), "go");
    desk.edit();
    assert_eq!(desk.step(), "wait");
    let again = Statement { inputs: inputs(desk.now), ..good };
    assert_eq!(hear(&mut desk, again), "STATEMENT_REPLAYED");
    let red = statement(&desk, "n-2");
    let fields = BTreeMap::from([("status".to_owned(), FieldValue::from("failure"))]);
    assert_eq!(hear(&mut desk, Statement { fields, ..red }), "");
    assert_eq!(desk.step(), "wait");
    assert_eq!(desk.receipts().last().unwrap().assurance, Separation::Remote);
}

#[test]
fn h01_j12_the_card_says_step_done_missing_and_next_within_its_limit() {
    let mut desk = Desk::new();
    desk.run("lint", 0);
    desk.run("test", 1);
    insta::assert_snapshot!(desk.card().lines(8).join("\n"), @r"
    procedure commit-gate, step test
    failed here: 1 of 3
    done: lint.ok
    missing: test.ok (run test; exit is 1, and has to be 0)
    next: commit when lint.ok && test.ok
    callable: lint, test, edit
    ");
    let view = desk.bench.view();
    let text = format!("{view:?}");
    assert!(text.contains("procedure commit-gate, step test"), "each turn shows it");
}

#[test]
fn j12_where_nobody_composes_the_context_each_change_brings_the_card() {
    let tools = ["lint", "test"].map(tool).into_iter().chain(["edit", "git_commit"].map(writing));
    let mut desk = Desk::at(Bench::blind(Vec::new(), tools.collect()));
    desk.bench.settings.procedures.same_uid = true;
    desk.follow(&[COMMIT_GATE]);
    let told = desk.run("lint", 0);
    let text = answer(&told);
    assert!(text.starts_with("<step"), "what changed comes first: {text}");
    assert!(text.contains("step test") && text.contains("callable: lint, test, edit"), "{text}");
}

/// What somebody who wrote everything down by hand would say of the work.
#[derive(Default)]
struct Notes {
    /// Calls under way: which, on which state of the work they began, and what ends them.
    under_way: Vec<(Origin, u64, &'static str, u8)>,
    /// The state of the work on which each check was last seen to pass, with nothing that failed since.
    passed: BTreeMap<&'static str, u8>,
    /// The state of the work that a person agreed to.
    agreed: Option<u8>,
}

impl Notes {
    fn ended(&mut self, tool: &'static str, began: u8, now: u8, exit: i32) {
        if exit == 0 && began == now {
            self.passed.insert(tool, now);
        } else {
            self.passed.remove(tool);
        }
    }

    fn opens(&self, now: u8) -> bool {
        let is_quiet = self.under_way.iter().all(|(_, _, tool, _)| *tool != "edit");
        let is_proven = |tool: &str| self.passed.get(tool) == Some(&now);
        is_quiet && is_proven("lint") && is_proven("test") && self.agreed == Some(now)
    }
}

/// Any order of calls that overlap, end late, fail, are asked about and change the work, a step of a generator at a
/// time.
#[test]
fn j09_calls_in_any_order_and_at_once_open_nothing_that_is_not_proven() {
    const CASES: u64 = 1_000;
    const STEPS: usize = 40;
    let (mut opened, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let (mut desk, mut notes) = (Desk::new(), Notes::default());
        for _ in 0..STEPS {
            let choice = next(14);
            match choice {
                0..=8 => {
                    let tools = ["lint", "test", "git_commit", "git_commit", "edit"];
                    // What leads on is tried more often than what leads back.
                    let tool =
                        tools[usize::try_from(next(if choice < 7 { 4 } else { 5 })).unwrap()];
                    desk.bench.apply(Command::Look { inputs: inputs(desk.now) });
                    let (origin, mut decision) = desk.bench.call(tool, json!({}));
                    if decision.intent.is_none() {
                        refused += usize::from(tool == "git_commit");
                        continue;
                    }
                    if tool == "git_commit" {
                        assert!(notes.opens(desk.now), "seed {seed}: opened for nothing");
                        opened += 1;
                    }
                    let ticket = intent(&mut decision).admit(&desk.bench.log).unwrap();
                    notes.under_way.push((origin, ticket.id(), tool, desk.now));
                }
                9..=11 if !notes.under_way.is_empty() => {
                    let at = usize::try_from(next(notes.under_way.len() as u64)).unwrap();
                    let (origin, id, tool, began) = notes.under_way.remove(at);
                    let exit = i32::from(next(5) == 0);
                    desk.now += u8::from(tool == "edit");
                    let changed = if began == desk.now { vec![] } else { vec!["src".to_owned()] };
                    let of_check = |name: &str| (format!("{name}.ok"), changed.clone());
                    let witness = Witness {
                        inputs: inputs(desk.now),
                        changed: ["lint", "test"].map(of_check).into(),
                        ..Witness::default()
                    };
                    let outcome = CallOutcome::Done { exit, output: Blob::of(""), dropped: 0 };
                    let held = Held { witness: Some(Box::new(witness)), ..Held::default() };
                    let output = String::new();
                    desk.bench.apply(Command::Done { origin, id, outcome, output, held });
                    notes.ended(tool, began, desk.now, exit);
                }
                12 => {
                    let question = desk.card().lacking.into_iter().find_map(|one| one.question);
                    let Some(id) = question else { continue };
                    let (scope, by) = (ApprovalScope::Once, Means::Command.into());
                    let told = desk.bench.apply(Command::Agree { id, scope, by, typed: None });
                    if code(&told).is_empty() {
                        notes.agreed = Some(desk.now);
                    }
                }
                // Somebody edits by other means, now and then.
                13 if next(4) == 0 => desk.edit(),
                _ => {}
            }
        }
    }
    assert!(opened > 100 && refused > 1_000, "both happen: {opened} and {refused}");
}
