//! Sessions: a log, its state, and the way back to it.

use concertina_core::session::{Origin, Part};
use concertina_runtime::{Cancel, OpenOptions, RuntimeError, Session, Started, Workspace};
use concertina_store::Store;
use concertina_types::{CallOutcome, Fact, ListingKind, SessionId};
use serde_json::{Value, json};

use crate::kit::{World, begin, call, calls, drive, fold, open, says, script, skill, skill_with};

/// Three skills, one of which brings a tool, and a tool that stands alone.
fn world() -> World {
    let world = World::new();
    world.skill("work/skills/plain", "Plain work.").skill("work/skills/other", "Other work.");
    world.write(
        "work/skills/tooled/SKILL.md",
        skill_with(
            "tooled",
            "permissions:\n  tools: [\"say\"]",
            "# Steps\n\nSay it.\n\n## Detail\n\nLoudly.",
        ),
    );
    world.config(
        r#"
[tool.say]
argv = ["printf", "%s", "${text}"]
danger = "writes"
needs_skill = true
parameters = {type = "object", required = ["text"], properties = {text = {type = "string"}}}
"#,
    );
    world
}

/// A session in which about everything happened, kept below the state directory.
fn eventful(world: &World) -> (Workspace, SessionId) {
    let mut workspace = world.alone();
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    let model = script(json!([
        calls("find", json!({"query": "tooled"})),
        calls("open", json!({"ref": "skill:plain"})),
        calls("open", json!({"ref": "skill:tooled"})),
        calls("call", json!({"tool": "say", "args": {"text": "hello"}})),
        calls("close", json!({"ref": "skill:plain"})),
        calls("open", json!({"ref": "skill:nothing"})),
        says("It says ${last.text}"),
    ]));
    drive(&mut workspace, &mut session, &model, Some("Say hello.")).unwrap();
    session.compact().unwrap();
    session.task("Once more.").unwrap();
    session.turn(&mut workspace).unwrap();
    let id = session.id().clone();
    (workspace, id)
}

#[test]
fn n02_the_state_is_the_fold_of_the_log_at_every_event() {
    let world = world();
    let (_workspace, id) = eventful(&world);
    let events = world.store().events.read(&id, 0).unwrap();
    assert!(events.len() > 30);
    for seq in 1..=events.len() {
        let session = Session::at(world.store(), id.clone(), seq as u64).unwrap();
        assert_eq!(*session.state(), fold(&events[..seq]), "event {seq}");
    }
    let resumed = Session::resume(world.store(), id).unwrap();
    assert_eq!(*resumed.state(), fold(&events));
}

#[test]
fn n02_a_session_goes_on_from_wherever_it_was_cut() {
    let world = world();
    let (_workspace, id) = eventful(&world);
    let events = world.store().events.read(&id, 0).unwrap();
    let model = script(json!([calls("open", json!({"ref": "skill:other"})), says("Done.")]));
    for cut in 1..events.len() {
        // The log as a kill after event `cut` leaves it: the content is there, the rest is not.
        let store = Store { content: world.store().content, ..Store::memory() };
        for event in &events[..cut] {
            let draft = concertina_types::Draft {
                step: event.step,
                turn: event.turn,
                at: event.at,
                actor: event.actor,
                cause: event.cause,
                fact: event.fact.clone(),
            };
            let durability = concertina_store::Durability::KillSafe;
            store.append(&id, event.seq - 1, vec![draft], durability).unwrap();
        }
        let mut workspace = world.alone();
        let mut session = Session::resume(store, id.clone()).unwrap();
        session.take_note(&mut workspace).unwrap();
        session.recover().unwrap();
        assert!(
            session.state().pending.is_empty() && session.state().unanswered().is_empty(),
            "cut at {cut}"
        );
        let view = session.view().render();
        assert!(!view.contains("missing from the store"), "cut at {cut}: {view}");
        let answer = drive(&mut workspace, &mut session, &model, Some("Go on.")).unwrap();
        assert_eq!(answer, "Done.", "cut at {cut}");
        assert_eq!(*session.state(), fold(&session.events().unwrap()));
    }
}

#[test]
fn n02_the_view_is_the_same_after_a_restart() {
    let world = world();
    let (mut workspace, id) = eventful(&world);
    let mut session = Session::resume(world.store(), id.clone()).unwrap();
    open(&mut session, &mut workspace, "skill:tooled").unwrap();
    let before = session.view();
    let again = Session::resume(world.store(), id).unwrap();
    assert_eq!(again.view(), before);
    assert_eq!(again.view().digest(), before.digest());
    assert_eq!(again.settings(), session.settings());
    assert_eq!(again.snapshot(), session.snapshot());
}

#[test]
fn c06_second_turn_sends_nothing_new_c07_nor_does_a_resumed_one() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    session.turn(&mut workspace).unwrap();
    let index = session.view().part(Part::Index);
    assert!(index.contains("plain") && index.contains("other"));
    session.turn(&mut workspace).unwrap();
    assert_eq!(session.view().part(Part::Index), index);
    let mut session = Session::resume(world.store(), session.id().clone()).unwrap();
    session.turn(&mut workspace).unwrap();
    assert_eq!(session.view().part(Part::Index), index);
    // One new skill is one new line.
    world.skill("work/skills/newcomer", "New work.");
    session.turn(&mut workspace).unwrap();
    let delta = session.view().part(Part::Index).replace(&index, "");
    assert!(delta.contains("newcomer") && !delta.contains("plain"), "{delta}");
    let listings = session.events().unwrap().into_iter().filter_map(|event| match event.fact {
        Fact::ListingDisclosed { listing, .. } => Some(listing),
        _ => None,
    });
    assert_eq!(listings.collect::<Vec<_>>(), [ListingKind::Full, ListingKind::Delta]);
}

#[test]
fn c08_after_a_compaction_every_name_stands_in_the_index_once() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    session.turn(&mut workspace).unwrap();
    world.skill("work/skills/newcomer", "New work.");
    session.turn(&mut workspace).unwrap();
    session.compact().unwrap();
    session.turn(&mut workspace).unwrap();
    let index = session.view().part(Part::Index);
    for name in ["plain", "other", "tooled", "newcomer"] {
        assert_eq!(
            index.matches(&format!("{name}:")).count() + index.matches(&format!("{name} ")).count(),
            1,
            "{name}: {index}"
        );
    }
}

#[test]
fn c09_few_small_skills_are_open_from_the_start() {
    let world = world();
    let inline = |tokens: u64| {
        let mut workspace = world.alone();
        workspace.settings_mut().listing.inline_tokens = tokens;
        let session = begin(&mut workspace);
        session.state().open_references()
    };
    assert!(inline(0).is_empty());
    assert_eq!(inline(1_000), ["skill:other", "skill:plain", "skill:tooled"]);
    // One that is larger, one that takes arguments, and one that runs apart wait to be asked for.
    world.write(
        "work/skills/plain/SKILL.md",
        skill("plain", "Plain.", &"many words here ".repeat(400)),
    );
    world.write(
        "work/skills/other/SKILL.md",
        skill_with("other", "parameters:\n  who: {type: string, required: true}", "B."),
    );
    assert_eq!(inline(1_000), ["skill:tooled"]);
    world.write("work/skills/tooled/SKILL.md", skill_with("tooled", "context: fork", "B."));
    assert!(inline(1_000).is_empty());
    // With more than a handful the index is cheaper.
    for number in 0..6 {
        world.skill(&format!("work/skills/more-{number}"), "More.");
    }
    assert!(inline(1_000).is_empty());
}

#[test]
fn n03_two_sessions_do_not_mix() {
    let world = world();
    let mut workspace = world.alone();
    let mut one = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    let mut two = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    one.task("First.").unwrap();
    open(&mut one, &mut workspace, "skill:tooled").unwrap();
    two.task("Second.").unwrap();
    assert!(call(&mut one, &workspace, "say", json!({"text": "a"})).is_ok());
    let refusal = call(&mut two, &workspace, "say", json!({"text": "b"})).unwrap_err();
    assert_eq!(refusal.code, "NOT_VISIBLE");
    assert!(refusal.message.contains("skill:tooled"), "e16: {refusal}");
    assert!(!two.view().render().contains("First."));
    assert!(one.events().unwrap().iter().all(|event| event.session == *one.id()));
    assert!(two.state().open.is_empty());
}

#[test]
fn several_writers_lose_nothing() {
    let world = world();
    let mut workspace = world.alone();
    let session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    let id = session.id().clone();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (world, id) = (&world, id.clone());
            scope.spawn(move || {
                // Each with its own connection, as another process would have.
                let mut session = Session::resume(world.store(), id).unwrap();
                let mut workspace = world.alone();
                for round in 0..10 {
                    session.task(format!("{writer}-{round}")).unwrap();
                    open(&mut session, &mut workspace, "skill:tooled").unwrap();
                    call(
                        &mut session,
                        &workspace,
                        "say",
                        json!({"text": format!("{writer}/{round}")}),
                    )
                    .unwrap();
                    assert_eq!(
                        *session.state(),
                        fold(
                            &world.store().events.read(session.id(), 0).unwrap()
                                [..usize::try_from(session.state().seq).unwrap()]
                        )
                    );
                }
            });
        }
    });
    let session = Session::resume(world.store(), id).unwrap();
    let events = session.events().unwrap();
    let tasks = events.iter().filter(|event| matches!(event.fact, Fact::TaskGiven { .. })).count();
    let done =
        events.iter().filter(|event| matches!(event.fact, Fact::CallFinished { .. })).count();
    let admitted: Vec<u64> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::CallAdmitted { id, .. } => Some(*id),
            _ => None,
        })
        .collect();
    assert_eq!((tasks, done), (40, 40));
    assert_eq!(admitted, (1..=40).collect::<Vec<u64>>(), "no number is given twice");
    let mut said: Vec<String> =
        session.state().evidence.values().map(|blob| session.text(blob).unwrap()).collect();
    said.sort();
    said.dedup();
    assert_eq!(said.len(), 40);
}

#[test]
fn another_writers_catalogue_is_taken_over() {
    let world = world();
    let mut early = world.alone();
    let mut one = Session::create(&mut early, world.store(), Started::default()).unwrap();
    world.skill("work/skills/newcomer", "New work.");
    let mut late = world.alone();
    let mut two = Session::resume(world.store(), one.id().clone()).unwrap();
    two.take_note(&mut late).unwrap();
    // The first has not looked again; its next command brings it up to date.
    one.task("Go.").unwrap();
    assert_eq!(one.snapshot(), two.snapshot());
    // And its own note of the older catalogue is a note like any other.
    one.take_note(&mut early).unwrap();
    assert_eq!(one.snapshot(), early.snapshot().as_ref());
    assert_eq!(*one.state(), fold(&one.events().unwrap()));
}

#[test]
fn a_crash_between_intent_and_outcome_is_said_to_be_unknown() {
    let world = world();
    let (_workspace, id) = eventful(&world);
    let store = world.store();
    let events = store.events.read(&id, 0).unwrap();
    let admitted =
        events.iter().position(|event| matches!(event.fact, Fact::CallAdmitted { .. })).unwrap();
    let mut session = Session::at(store.clone(), id, events[admitted].seq).unwrap();
    assert_eq!(session.state().pending.len(), 1);
    // The past cannot be written on.
    let error = session.recover();
    let after = session.events().unwrap();
    assert!(error.is_ok() && after.len() >= events.len(), "it caught up instead");
    assert!(!after.iter().any(|event| matches!(
        event.fact,
        Fact::CallFinished { outcome: CallOutcome::Unknown, .. }
    )));
}

#[test]
fn content_that_is_gone_is_a_clear_error() {
    let world = world();
    // A catalogue too large to stand in the database.
    for n in 0..80 {
        world.skill(&format!("work/skills/more-{n}"), &"Says much of it. ".repeat(20));
    }
    let (_workspace, id) = eventful(&world);
    std::fs::remove_dir_all(world.path("state/content")).unwrap();
    let error = Session::resume(world.store(), id).unwrap_err();
    assert!(matches!(error, RuntimeError::ContentMissing { .. }), "{error}");
    assert_eq!(error.code(), "CONTENT_MISSING");
    assert!(error.to_string().contains("backup"));
}

#[test]
fn an_unknown_session_is_a_clear_error() {
    let world = world();
    let id = SessionId::new("s-none").unwrap();
    assert_eq!(Session::resume(world.store(), id.clone()).unwrap_err().code(), "NO_SESSION");
    assert_eq!(Session::at(Store::memory(), id, 3).unwrap_err().code(), "NO_SESSION");
}

#[test]
fn a_damaged_log_is_not_gone_on_with() {
    let world = world();
    let (_workspace, id) = eventful(&world);
    let log = rusqlite::Connection::open(world.path("state/events.db")).unwrap();
    log.execute("UPDATE events SET event = replace(event, 'hello', 'jello')", []).unwrap();
    log.execute("DELETE FROM events WHERE seq = 5", []).unwrap();
    let error = Session::resume(world.store(), id).unwrap_err();
    assert_eq!(error.code(), "STORE_CORRUPT", "{error}");
}

#[test]
fn a_state_directory_that_cannot_be_written_is_said_so() {
    let world = world();
    std::fs::remove_dir_all(world.path("state")).unwrap();
    world.write("state", "a file in the way");
    assert_eq!(Store::open(&world.path("state")).unwrap_err().code(), "STORE_NOT_A_DIRECTORY");
    let store = Store::open(&world.path("state/below")).unwrap();
    let mut workspace = world.alone();
    let error = Session::create(&mut workspace, store, Started::default()).unwrap_err();
    assert_eq!(error.code(), "STORE_NOT_A_DIRECTORY", "{error}");
}

/// A file system of one megabyte, where this user may mount one.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(at: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let done = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(&at)
            .stderr(std::process::Stdio::null())
            .status();
        done.is_ok_and(|status| status.success()).then_some(Self(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_stops_the_work_and_loses_nothing() {
    let world = world();
    let Some(disk) = Small::mount(world.path("small")) else {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    };
    let store = Store::open(&disk.0.join("state")).unwrap();
    let mut workspace = world.alone();
    let mut session = Session::create(&mut workspace, store.clone(), Started::default()).unwrap();
    let mut error = None;
    for round in 0..1_000 {
        // Texts that no compression makes small.
        let text: String = (0..2_000_u64)
            .map(|at| format!("{:x}", at.wrapping_mul(0x9E37_79B9_7F4A_7C15 + round)))
            .collect();
        if let Err(found) = session.task(text) {
            error = Some(found);
            break;
        }
    }
    let error = error.expect("a megabyte fills up");
    assert_eq!(error.code(), "STORE_FULL", "{error}");
    let tasks = session.state().step;
    assert_eq!(
        *session.state(),
        fold(&session.events().unwrap()),
        "memory is not ahead of the log"
    );
    // A new skill cannot be noted either; the session still sees what its log says.
    world.skill("work/skills/newcomer", "New.");
    workspace.refresh();
    let before = session.snapshot().clone();
    if session.take_note(&mut workspace).is_err() {
        assert_eq!(*session.snapshot(), before);
    }
    let resumed = Session::resume(store, session.id().clone()).unwrap();
    assert_eq!(resumed.state().step, tasks);
}

#[test]
fn e09_permissions_unwind_in_any_order() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let visible = |session: &Session| {
        session
            .world()
            .snapshot
            .tools
            .iter()
            .filter(|tool| {
                let reference = concertina_types::Ref::Tool(tool.name.clone());
                concertina_core::session::visibility(
                    session.state(),
                    &session.world(),
                    &reference,
                    concertina_types::Subject::Model,
                )
                .callable
            })
            .count()
    };
    assert_eq!(visible(&session), 0);
    for order in [["tooled", "plain"], ["plain", "tooled"]] {
        open(&mut session, &mut workspace, "skill:tooled").unwrap();
        open(&mut session, &mut workspace, "skill:plain").unwrap();
        assert_eq!(visible(&session), 1);
        for name in order {
            session.close(Origin::model("x"), &format!("skill:{name}")).unwrap();
        }
        assert_eq!(visible(&session), 0);
        assert!(session.state().open.is_empty());
    }
}

#[test]
fn whatever_a_model_writes_gets_an_answer() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    for (name, arguments, code) in [
        ("open", "{not json", "BAD_ARGUMENTS"),
        ("open", "[1]", "BAD_ARGUMENTS"),
        ("open", "", "BAD_ARGUMENTS"),
        ("open", r#"{"ref": 5}"#, "BAD_ARGUMENTS"),
        ("open", r#"{"ref": "plain"}"#, "BAD_REF"),
        ("open", r#"{"ref": "skill:"}"#, "BAD_REF"),
        ("open", r#"{"ref": "skill:plian"}"#, "NOT_FOUND"),
        ("open", r#"{"ref": "skill:tooled#nothing"}"#, "NO_SUCH_PART"),
        ("open", r#"{"ref": "menu:none"}"#, "NOT_FOUND"),
        ("open", r#"{"ref": "tool:none"}"#, "UNKNOWN_TOOL"),
        ("open", r#"{"ref": "ev:9"}"#, "NOT_FOUND"),
        ("open", r#"{"ref": "file:a.rs"}"#, "NOT_GRANTED"),
        ("find", "{}", "BAD_ARGUMENTS"),
        ("find", r#"{"query": "x", "kind": "cheese"}"#, "BAD_ARGUMENTS"),
        ("find", r#"{"query": "x", "in": "tool:say"}"#, "BAD_SCOPE"),
        ("call", "{}", "BAD_ARGUMENTS"),
        ("call", r#"{"tool": "no such"}"#, "BAD_REF"),
        ("call", r#"{"tool": "rm"}"#, "UNKNOWN_TOOL"),
        ("call", r#"{"tool": "say", "args": {"text": "x"}}"#, "NOT_VISIBLE"),
        ("close", r#"{"ref": "skill:plain"}"#, "NOT_OPEN"),
        ("close", r#"{"ref": "tool:say"}"#, "NOT_CLOSABLE"),
        ("say", "{}", "UNKNOWN_TOOL"),
        ("bash", "{}", "UNKNOWN_TOOL"),
    ] {
        let call = concertina_types::ModelCall {
            id: "1".into(),
            name: name.into(),
            arguments: arguments.into(),
        };
        let reply = session.dispatch(&mut workspace, &call, false, &Cancel::default()).unwrap();
        let refusal = reply.refusal.unwrap_or_else(|| panic!("{name} {arguments} was met"));
        assert_eq!(refusal.code, code, "{name} {arguments}: {refusal}");
        let answer = reply.answer.unwrap();
        assert!(answer.error && answer.text.starts_with("error "), "{}", answer.text);
    }
    assert_eq!(*session.state(), fold(&session.events().unwrap()));
    // Arguments as a text that holds JSON are understood.
    let call = concertina_types::ModelCall {
        id: "2".into(),
        name: "open".into(),
        arguments: r#"{"ref": "skill:plain", "args": "{}"}"#.into(),
    };
    assert!(
        session
            .dispatch(&mut workspace, &call, false, &Cancel::default())
            .unwrap()
            .refusal
            .is_none()
    );
}

#[test]
fn an_effect_leaves_its_intent_before_it() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    open(&mut session, &mut workspace, "skill:tooled").unwrap();
    call(&mut session, &workspace, "say", json!({"text": "x"})).unwrap();
    let kinds: Vec<&str> =
        session.events().unwrap().iter().map(|event| event.fact.kind()).collect();
    let admitted = kinds.iter().position(|kind| *kind == "call.admitted").unwrap();
    assert_eq!(kinds[admitted + 1], "call.finished");
    // What is refused leaves no intent.
    let before = session.events().unwrap().len();
    assert!(call(&mut session, &workspace, "say", Value::Null).is_err());
    let after: Vec<String> = session.events().unwrap()[before..]
        .iter()
        .map(|event| event.fact.kind().to_owned())
        .collect();
    assert!(!after.contains(&"call.admitted".to_owned()), "{after:?}");
}

#[test]
fn e13_parts_of_a_skill_open_by_section_and_line() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let detail = open(&mut session, &mut workspace, "skill:tooled#detail").unwrap().text;
    assert!(detail.contains("Loudly.") && !detail.contains("Say it."), "{detail}");
    let options = OpenOptions { part: Some("Detail".into()), ..OpenOptions::default() };
    let reply = session.open(&mut workspace, Origin::model("x"), "skill:tooled", &options).unwrap();
    assert_eq!(reply.answer.unwrap().text, detail.replace("#detail", "#Detail"));
    let lines = open(&mut session, &mut workspace, "skill:tooled@3-3").unwrap().text;
    assert!(lines.contains("Say it.") && !lines.contains("Loudly"), "{lines}");
    assert!(session.state().open.is_empty(), "a part opens nothing else");
}
