//! Procedures that are followed in a real directory, with programs that really run.

use concertina_core::procedure::TaskCard;
use concertina_core::session::{Origin, Part, Ticket};
use concertina_runtime::{Admission, Cancel, Reply, RuntimeError, Session, Started, Workspace};
use concertina_store::{Keyring, Store};
use concertina_types::{ApprovalScope, Fact, Means, SignedReceipt};
use serde_json::json;

use crate::kit::{World, open_as, skill_with};

const SETTINGS: &str = r#"
[procedures]
files = ["gate.sop.yaml"]

[tool.lint]
argv = ["sh", "lint.sh"]
danger = "safe"
[tool.test]
argv = ["sh", "test.sh"]
danger = "safe"
[tool.edit]
argv = ["cp", "new.txt", "src.txt"]
[tool.ship]
argv = ["cp", "src.txt", "shipped.txt"]
"#;

const GATE: &str = r#"
sop: gate
inputs: {workspace: {ignore: ["shipped.txt", "report.xml"]}}
checkpoints:
  lint.ok: {tool: lint, binds: workspace}
  test.ok: {tool: test, parse: tap, expect: {failed: 0, passed: ">=1"}, binds: workspace}
states:
  lint: {show: {tools: [lint, edit]}, next: [{to: test, when: lint.ok}]}
  test: {show: {tools: [lint, test, edit]}, next: [{to: ship, when: "lint.ok && test.ok"}], on_fail: {max: 3, then: blocked}}
  ship: {show: {tools: [edit, {ship: {when: "lint.ok && test.ok"}}]}, on_stale: {goto: lint}, next: [{to: done, when: "receipt(ship).exit == 0"}]}
  done: {final: true}
  blocked: {final: true, needs: human}
invariants:
  - {never: ship, without: "lint.ok && test.ok"}
"#;

fn world() -> World {
    let world = World::new();
    world
        .config(SETTINGS)
        .write("work/gate.sop.yaml", GATE)
        .write("work/lint.sh", "exit 0\n")
        .write("work/test.sh", "echo 1..1\necho ok 1 - it works\n")
        .write("work/src.txt", "one\n")
        .write("work/new.txt", "two\n");
    world
}

/// The workspace, for which whoever runs this vouches.
fn open(world: &World) -> Workspace {
    world.vouched()
}

struct Seat {
    workspace: Workspace,
    session: Session,
}

impl Seat {
    fn in_world(world: &World) -> Self {
        let mut workspace = open(world);
        let mut session =
            Session::create(&mut workspace, world.store(), Started::default()).unwrap();
        let texts = workspace.procedures().texts("gate", workspace.root()).unwrap();
        let reply = session.follow(Origin::user(), texts).unwrap();
        assert!(reply.refusal.is_none(), "{:?}", reply.refusal);
        Self { workspace, session }
    }

    fn call(&mut self, tool: &str) -> Reply {
        let origin = Origin { subject: concertina_types::Subject::Model, call: None };
        self.session.call(&self.workspace, origin, tool, json!({}), &Cancel::default()).unwrap()
    }

    /// The text of a skill.
    fn open(&mut self, reference: &str) -> String {
        let reply = open_as(&mut self.session, &mut self.workspace, Origin::user(), reference);
        reply.unwrap();
        self.session.view().part(Part::Skills)
    }

    fn card(&self) -> TaskCard {
        self.session.task_card().unwrap()
    }

    fn receipts(&self) -> Vec<SignedReceipt> {
        let events = self.session.events().unwrap().into_iter();
        let receipts = events.filter_map(|event| match event.fact {
            Fact::ReceiptIssued { receipt, .. } => Some(*receipt),
            _ => None,
        });
        receipts.collect()
    }
}

fn code(reply: &Reply) -> &str {
    reply.refusal.as_ref().map_or("", |refusal| refusal.code.as_str())
}

#[test]
fn j03_j10_real_programs_open_the_next_step_and_a_real_edit_closes_it() {
    let world = world();
    let mut seat = Seat::in_world(&world);
    assert_eq!(code(&seat.call("ship")), "NOT_VISIBLE");
    seat.call("lint");
    assert_eq!(seat.card().state, "test");
    seat.call("test");
    assert_eq!(
        (seat.card().state.as_str(), seat.card().tools),
        ("ship", vec!["edit".to_owned(), "ship".to_owned()])
    );
    world.write("work/src.txt", "ONE\n");
    assert_eq!(code(&seat.call("ship")), "NOT_VISIBLE", "an edit that nobody reported");
    assert_eq!(seat.card().state, "lint");
    assert!(!world.path("work/shipped.txt").exists());
    seat.call("lint");
    seat.call("test");
    seat.call("edit");
    assert_eq!(seat.card().state, "lint", "an edit by a tool");
    seat.call("lint");
    seat.call("test");
    let shipped = seat.call("ship");
    assert_eq!(code(&shipped), "");
    assert_eq!(std::fs::read_to_string(world.path("work/shipped.txt")).unwrap(), "two\n");
    assert!(seat.card().ended);
    assert_eq!(code(&seat.call("ship")), "NOT_VISIBLE", "once is once");
}

#[test]
fn j04_receipts_of_a_run_are_signed_by_the_key_of_the_home() {
    let world = world();
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    seat.call("test");
    let keys = Keyring::of(&world.path("state")).unwrap();
    let receipts = seat.receipts();
    assert_eq!(receipts.len(), 2);
    for receipt in &receipts {
        assert!(keys.verify(&receipt.envelope()).is_ok());
    }
    let said = &receipts[1].receipt;
    assert_eq!(said.parsed.get("passed"), Some(&1.into()));
    assert_eq!((said.tool.as_str(), said.issuer.as_str()), ("test", "executor"));
    assert!(said.tier.is_some(), "{said:?}");
    let mut forged = receipts[1].clone();
    forged.receipt.parsed.insert("failed".into(), 7.into());
    assert!(keys.verify(&forged.envelope()).is_err());
}

#[test]
fn j07_what_a_program_says_counts_and_not_only_how_it_ends() {
    let world = world();
    world.write("work/test.sh", "echo 1..2\necho ok 1\necho not ok 2\nexit 0\n");
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    let told = seat.call("test");
    let text = told.answer.unwrap().text;
    assert!(text.contains("test.ok is not proven: failed is 1"), "{text}");
    world.write("work/test.sh", "echo 1..0\nexit 0\n");
    seat.call("lint");
    let told = seat.call("test");
    let text = told.answer.unwrap().text;
    assert!(text.contains("passed is 0"), "no test is no proof: {text}");
    assert_eq!(seat.card().state, "test");
}

#[test]
fn j10_a_program_that_edits_its_own_inputs_proves_nothing() {
    let world = world();
    world.config(&SETTINGS.replace("danger = \"safe\"\n", ""));
    world.write("work/lint.sh", "echo fixed >> src.txt\n");
    let mut seat = Seat::in_world(&world);
    let told = seat.call("lint");
    let text = told.answer.unwrap().text;
    assert!(text.contains("INPUTS_CHANGED") && text.contains("src.txt"), "{text}");
    assert_eq!(seat.card().state, "lint");
    let allowed = GATE.replace("lint.ok: {tool: lint,", "lint.ok: {tool: lint, writes: [src.txt],");
    world.write("work/gate.sop.yaml", allowed);
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    assert_eq!(seat.card().state, "test", "a formatter may say that it writes");
}

#[test]
fn j04_a_report_counts_only_where_the_run_itself_wrote_it() {
    let world = world();
    let report = r#"<testsuite tests="1" failures="0" errors="0" skipped="0"><testcase name="a"/></testsuite>"#;
    let gate = GATE.replace("parse: tap,", "parse: junit-xml, from: report.xml,");
    world.write("work/gate.sop.yaml", gate).write("work/report.xml", report);
    world.config(&SETTINGS.replace("danger = \"safe\"\n", ""));
    world.write("work/test.sh", "exit 0\n");
    // Any program can date a file.
    let dated = std::fs::File::options().append(true).open(world.path("work/report.xml")).unwrap();
    dated.set_modified(std::time::SystemTime::now() + std::time::Duration::from_hours(24)).unwrap();
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    let text = seat.call("test").answer.unwrap().text;
    assert!(text.contains("this run did not write it"), "{text}");
    world.write("work/test.sh", format!("echo '{report}' > report.xml\n"));
    seat.call("lint");
    let text = seat.call("test").answer.unwrap().text;
    assert_eq!(seat.card().state, "ship", "{text}");
}

#[test]
fn j10_a_proof_is_about_the_files_that_its_call_began_on() {
    let world = world();
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    let test = begun(&mut seat, "test");
    let id = test.id();
    let outcome = seat.workspace.toolbox().run(test, &Cancel::default());
    // Before that is on the record, somebody changes the work, and it is looked at.
    world.write("work/src.txt", "three\n");
    seat.session.look().unwrap();
    let text = seat.session.finish(Origin::user(), id, outcome).unwrap().answer.unwrap().text;
    assert!(text.contains("INPUTS_CHANGED") && text.contains("src.txt"), "{text}");
    assert!(seat.receipts().iter().all(|one| one.receipt.proves != ["test.ok"]));
    assert_eq!(seat.card().state, "test");
}

#[test]
fn j07_a_line_that_ends_the_output_of_the_runner_is_no_line_of_the_runner() {
    let world = world();
    // Of two tests one printed what would end the output, then failed.
    let tap =
        "echo 1..1\necho ok 1 - it works\necho '[standard error]'\necho not ok 2 - it fails\n";
    world.write("work/test.sh", tap);
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    let text = seat.call("test").answer.unwrap().text;
    assert!(text.contains("there are two lines"), "{text}");
    assert_eq!(seat.card().state, "test");
}

#[test]
fn j09_each_command_in_the_text_of_a_skill_is_judged_on_the_work_as_the_one_before_left_it() {
    let world = world();
    let gate = GATE
        .replace(
            "{ship: {when: \"lint.ok && test.ok\"}}",
            "{command/shipping: {when: \"lint.ok && test.ok\"}}",
        )
        .replace("receipt(ship)", "receipt(command/shipping)")
        .replace("never: ship", "never: command/shipping")
        .replace("on_stale: {goto: lint}, ", "");
    world.write("work/gate.sop.yaml", gate);
    let more = "permissions:\n  read: [{paths: [\"**\"]}]\n  write: [{paths: [\"src/**\"]}]\n  execute: [\"cp *\"]";
    let body = "!`cp new.txt src/a.txt`\n\n!`cp src/a.txt src/shipped.txt`";
    world.write("work/src/a.txt", "one\n");
    world.write("work/.claude/skills/shipping/SKILL.md", skill_with("shipping", more, body));
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    seat.call("test");
    assert_eq!(seat.card().state, "ship");
    let text = seat.open("skill:shipping");
    let left = std::fs::read_to_string(world.path("work/src/a.txt")).unwrap();
    assert!(left == "two\n" && !world.path("work/src/shipped.txt").exists(), "{left}{text}");
    assert!(text.contains("[not run: `cp src/a.txt src/shipped.txt`"), "{text}");
    let last = seat.receipts().pop().unwrap().receipt;
    assert_eq!(last.tool, "command/shipping", "and each leaves a receipt");
}

/// The first half of a call, which is left under way.
fn begun(seat: &mut Seat, tool: &str) -> Ticket {
    let origin = Origin { subject: concertina_types::Subject::Model, call: None };
    match seat.session.admit(seat.workspace.toolbox(), origin, tool, json!({})).unwrap() {
        Admission::Admitted(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn j10_no_other_session_writes_under_what_tells_of_the_work() {
    let world = world();
    let mut seat = Seat::in_world(&world);
    let mut workspace = open(&world);
    let session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    let mut other = Seat { workspace, session };
    let lint = begun(&mut seat, "lint");
    let refused = other.call("edit").refusal.unwrap();
    assert_eq!(refused.code, "STEP_WAITS", "{}", refused.message);
    let outcome = seat.workspace.toolbox().run(lint, &Cancel::default());
    seat.session.finish(Origin::user(), 1, outcome).unwrap();
    assert_eq!(code(&other.call("edit")), "", "it has ended");
    // And the other way round.
    let edit = begun(&mut other, "edit");
    assert_eq!(code(&seat.call("lint")), "STEP_WAITS");
    drop((edit, other));
    assert_eq!(code(&seat.call("lint")), "", "a session that is gone holds nothing");
}

#[test]
fn j18_what_another_process_has_under_way_is_not_given_up() {
    let world = world();
    let mut seat = Seat::in_world(&world);
    let lint = begun(&mut seat, "lint");
    let id = seat.session.id().clone();
    let mut workspace = open(&world);
    let mut other = Session::resume(world.store(), id.clone()).unwrap();
    other.take_up(&mut workspace).unwrap();
    other.recover().unwrap();
    assert_eq!(other.state().pending.len(), 1, "it goes on");
    let outcome = seat.workspace.toolbox().run(lint, &Cancel::default());
    seat.session.finish(Origin::user(), 1, outcome).unwrap();
    assert_eq!(seat.card().state, "test");
    // What nobody has under way any more is settled.
    let test = begun(&mut seat, "test");
    drop((test, seat));
    let mut last = Session::resume(world.store(), id).unwrap();
    last.take_up(&mut workspace).unwrap();
    last.recover().unwrap();
    assert!(last.state().pending.is_empty());
    assert_eq!(last.task_card().unwrap().state, "test");
}

#[test]
fn j18_another_process_goes_on_exactly_there() {
    let world = world();
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    let (id, before) = (seat.session.id().clone(), seat.card());
    drop(seat);
    let mut workspace = open(&world);
    let mut session = Session::resume(world.store(), id).unwrap();
    session.take_up(&mut workspace).unwrap();
    assert_eq!(session.task_card().unwrap(), before);
    let mut seat = Seat { workspace, session };
    seat.call("test");
    assert_eq!(seat.card().state, "ship");
}

#[test]
fn j05_a_person_over_another_way_than_the_agents_proves_it() {
    let world = world();
    let gate = GATE
        .replace("states:", "  ship.ok: {human: {role: owner, challenge: \"ship {workspace.digest}\"}, binds: workspace}\nstates:")
        .replace("{ship: {when: \"lint.ok && test.ok\"}}", "{ship: {when: \"lint.ok && test.ok && ship.ok\"}}");
    world.write("work/gate.sop.yaml", gate);
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    seat.call("test");
    let question = seat.card().lacking[0].question.clone().unwrap();
    let no = seat.session.agree(&question, ApprovalScope::Once, Means::Command, None).unwrap();
    assert_eq!(no.unwrap().code, "SEPARATION_NEEDED");
    assert_eq!(code(&seat.call("ship")), "NOT_VISIBLE");
    let yes = seat.session.agree(&question, ApprovalScope::Once, Means::Http, None).unwrap();
    assert!(yes.is_none(), "{yes:?}");
    assert_eq!(code(&seat.call("ship")), "");
}

#[test]
fn j01_every_session_follows_what_the_settings_say_or_does_not_begin() {
    let world = world();
    world.config(&SETTINGS.replace("[procedures]", "[procedures]\nalways = \"gate\""));
    let mut workspace = open(&world);
    let session = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
    assert_eq!(session.task_card().unwrap().state, "lint");
    let mut seat = Seat { workspace, session };
    for tool in ["lint", "test", "ship"] {
        seat.call(tool);
    }
    assert_eq!((seat.card().state.as_str(), seat.card().ended), ("lint", false), "and again");
    world.write(
        "work/gate.sop.yaml",
        "sop: gate\nstates: {a: {next: [{to: b, when: looks fine}]}}\n",
    );
    let mut workspace = open(&world);
    let error = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap_err();
    assert!(matches!(error, RuntimeError::NoProcedure(_)), "{error}");
}

const CHAIN: &str = r#"
[tool.query_order]
argv = ["cat", "order.json"]
danger = "safe"
needs_skill = ["query-order"]
[tool.analyse]
argv = ["echo", "${orders}"]
danger = "safe"
needs_skill = ["analyse"]
parameters = {type = "object", properties = {orders = {type = "integer"}}}
"#;

fn chained(world: &World) {
    world
        .config(CHAIN)
        .write("work/order.json", r#"{"orders": [3, 5], "total": 8}"#)
        .write("work/skills/query-order/SKILL.md", "---\nname: query-order\ndescription: Queries an order.\npermissions: {tools: [query_order]}\n---\nQuery it.\n")
        .write("work/skills/analyse/SKILL.md", "---\nname: analyse\ndescription: Analyses orders.\npermissions: {tools: [analyse]}\nparameters: {total: {type: integer, required: true}}\nrequires: [{skill: query-order, pass: {total: result.total}}]\n---\nThe total is $total.\n");
}

#[test]
fn a16_j16_a_skill_comes_after_the_one_it_requires_and_takes_over_its_result() {
    let world = World::new();
    chained(&world);
    let mut workspace = open(&world);
    let session = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
    let mut seat = Seat { workspace, session };
    let open_skill = |seat: &mut Seat, name: &str| {
        let options = concertina_runtime::OpenOptions::default();
        let Seat { workspace, session } = seat;
        session.open(workspace, Origin::user(), name, &options).unwrap()
    };
    assert_eq!(code(&open_skill(&mut seat, "skill:analyse")), "HANDOVER_MISSING");
    open_skill(&mut seat, "skill:query-order");
    let told = open_skill(&mut seat, "skill:analyse");
    assert_eq!(code(&told), "HANDOVER_MISSING", "it was opened, and brought nothing about");
    // A model cannot give what a result has to.
    let as_model = |seat: &mut Seat, arguments: serde_json::Value, raw: Option<&str>| {
        let raw_arguments = raw.map(str::to_owned);
        let options =
            concertina_runtime::OpenOptions { arguments, raw_arguments, ..Default::default() };
        let origin = Origin { subject: concertina_types::Subject::Model, call: None };
        seat.session.open(&mut seat.workspace, origin, "skill:analyse", &options).unwrap()
    };
    let told = as_model(&mut seat, json!({"total": 9}), None);
    assert_eq!(code(&told), "HANDOVER_MISSING");
    assert_eq!(code(&as_model(&mut seat, json!(null), Some("9"))), "BAD_ARGUMENTS");
    seat.call("query_order");
    let opened = as_model(&mut seat, json!({"total": 9}), None).opened.expect("it opens");
    assert!(opened.text.contains("The total is 8."), "{}", opened.text);
    let opened = open_skill(&mut seat, "skill:analyse").opened.expect("it opens");
    assert!(opened.text.contains("The total is 8."), "{}", opened.text);
}

#[test]
fn j17_a_skill_brings_its_procedure_and_is_not_open_without_it() {
    let world = world();
    let skill = "---\nname: shipping\ndescription: Ships it.\nprocedure: ship.sop.yaml\n---\nFollow the steps.\n";
    let gate = GATE.replace("sop: gate", "sop: shipping");
    world
        .write("work/skills/shipping/SKILL.md", skill)
        .write("work/skills/shipping/ship.sop.yaml", &gate);
    let mut workspace = open(&world);
    let session = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
    let mut seat = Seat { workspace, session };
    let options = concertina_runtime::OpenOptions::default();
    let told = seat.session.open(&mut seat.workspace, Origin::user(), "skill:shipping", &options);
    assert_eq!(code(&told.unwrap()), "");
    assert_eq!((seat.card().procedure.as_str(), seat.card().state.as_str()), ("shipping", "lint"));
    world.write(
        "work/skills/shipping/ship.sop.yaml",
        gate.replace("when: lint.ok", "when: it is fine"),
    );
    let mut workspace = open(&world);
    let mut session = Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
    let told = session.open(&mut workspace, Origin::user(), "skill:shipping", &options).unwrap();
    assert_eq!(code(&told), "PROCEDURE_UNSOUND");
    assert!(session.state().open.is_empty());
}

#[test]
fn s_no_tool_leads_git_to_other_settings() {
    let world = world();
    let settings = format!(
        "{SETTINGS}[tool.lead]\nargv = [\"sh\", \"-c\", \"mkdir -p .git/alt; echo alt > .git/commondir; echo done\"]\n[tool.exclude]\nargv = [\"sh\", \"-c\", \"echo '*' > .git/info/exclude\"]\n"
    );
    world.config(&settings.replace("files = [\"gate.sop.yaml\"]", ""));
    world.write("work/.git/HEAD", "ref: refs/heads/main\n").write("work/.git/info/exclude", "");
    let mut workspace = open(&world);
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    let mut call = |tool: &str| {
        session.call(&workspace, Origin::user(), tool, json!({}), &Cancel::default()).unwrap()
    };
    let refused = call("lead").refusal.unwrap();
    assert_eq!(refused.code, "PROTECTED", "{}", refused.message);
    assert!(!world.path("work/.git/commondir").exists());
    call("exclude");
    assert_eq!(std::fs::read_to_string(world.path("work/.git/info/exclude")).unwrap(), "");
}

#[test]
fn j09_after_its_end_a_procedure_in_a_file_keeps_its_tools_until_it_begins_anew() {
    let world = world();
    world.config(&SETTINGS.replace("[procedures]\nfiles = [\"gate.sop.yaml\"]\n", ""));
    let mut workspace = open(&world);
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    let texts = |workspace: &Workspace| {
        workspace.procedures().texts("gate.sop.yaml", workspace.root()).unwrap()
    };
    assert!(session.follow(Origin::user(), texts(&workspace)).unwrap().refusal.is_none());
    let mut seat = Seat { workspace, session };
    for tool in ["lint", "test", "ship"] {
        assert_eq!(code(&seat.call(tool)), "", "{tool}");
    }
    assert!(seat.card().ended);
    world.write("work/src.txt", "not tested\n");
    for tool in ["ship", "test"] {
        assert_eq!(code(&seat.call(tool)), "NOT_VISIBLE", "{tool}");
    }
    for tool in ["edit", "lint"] {
        assert_eq!(code(&seat.call(tool)), "", "it stands before neither: {tool}");
    }
    let again = seat.session.follow(Origin::user(), texts(&seat.workspace)).unwrap();
    assert!(again.refusal.is_none(), "{:?}", again.refusal);
    for tool in ["lint", "test", "ship"] {
        assert_eq!(code(&seat.call(tool)), "", "{tool}");
    }
}

#[test]
fn j04_what_a_tool_proved_holds_no_longer_once_the_tool_is_another() {
    let world = world();
    let mut seat = Seat::in_world(&world);
    seat.call("lint");
    seat.call("test");
    assert_eq!(seat.card().state, "ship");
    let id = seat.session.id().clone();
    drop(seat);
    world.config(&SETTINGS.replace(r#"["sh", "test.sh"]"#, r#"["echo", "1..0"]"#));
    let mut workspace = open(&world);
    let mut session = Session::resume(world.store(), id).unwrap();
    session.take_up(&mut workspace).unwrap();
    let mut seat = Seat { workspace, session };
    let refused = seat.call("ship");
    assert_eq!(code(&refused), "NOT_VISIBLE");
    assert_eq!(seat.card().state, "lint", "{:?}", seat.card());
    seat.call("lint");
    let why = seat.card().lacking.iter().map(|one| one.why.clone()).collect::<Vec<_>>();
    assert_eq!(why, ["the tool that proved it was changed since"]);
}
