//! Commands of an open skill that the model calls for.

use std::os::unix::fs::PermissionsExt as _;

use concertina_core::catalog::search::Kind;
use concertina_core::session::Origin;
use concertina_runtime::{FindRequest, Session, Started, Workspace};
use concertina_types::{Fact, Ref};
use serde_json::json;

use crate::kit::{World, agreeing, call, code, open_as, skill_with};

const TOOL: &str = "command/reports";
const SCRIPT: &str = "#!/bin/sh\necho \"report for $1 in $PWD\"\n";

/// A skill with a script of its own, which it declares.
fn with_script() -> World {
    let world = World::new();
    let more =
        "permissions:\n  execute: [\"sh ${CLAUDE_SKILL_DIR}/scripts/report.sh *\", \"cat *\"]";
    world.write("work/.claude/skills/reports/SKILL.md", skill_with("reports", more, "Report."));
    world.write("work/.claude/skills/reports/scripts/report.sh", SCRIPT);
    world.write("work/.claude/skills/reports/hint.txt", "a hint\n");
    world.write("work/data.txt", "forty-two\n");
    world
}

fn script(world: &World) -> String {
    world.path("work/.claude/skills/reports/scripts/report.sh").display().to_string()
}

fn opened(world: &World) -> (Workspace, Session) {
    let mut workspace = world.open();
    workspace.trust(&world.path("work")).unwrap();
    let mut session = agreeing(&mut workspace);
    open_as(&mut session, &mut workspace, Origin::user(), "skill:reports").unwrap();
    (workspace, session)
}

fn said(session: &mut Session, workspace: &Workspace, command: &str) -> Result<String, String> {
    let called = call(session, workspace, TOOL, json!({"command": command}));
    called.map(|answer| answer.text).map_err(|refusal| refusal.code)
}

#[test]
fn k05_a_declared_command_runs_in_the_workspace_and_its_output_is_evidence() {
    let world = with_script();
    let (workspace, mut session) = opened(&world);
    let text = said(&mut session, &workspace, &format!("sh {} 'May 5'", script(&world))).unwrap();
    let work = world.path("work").canonicalize().unwrap();
    assert!(text.contains(&format!("report for May 5 in {}", work.display())), "{text}");
    assert!(text.contains("ev:1"), "{text}");
    let admitted = session.events().unwrap().into_iter().any(
        |event| matches!(event.fact, Fact::CallAdmitted { tool, .. } if tool.as_str() == TOOL),
    );
    assert!(admitted);
}

#[test]
fn k06_a_command_reads_its_skill_and_what_is_declared_and_nothing_else() {
    let world = with_script();
    let (workspace, mut session) = opened(&world);
    let hint = world.path("work/.claude/skills/reports/hint.txt").display().to_string();
    assert!(said(&mut session, &workspace, &format!("cat {hint}")).unwrap().contains("a hint"));
    let text = said(&mut session, &workspace, "cat data.txt").unwrap();
    assert!(text.contains("Permission denied") && !text.contains("forty-two"), "{text}");
    assert_eq!(said(&mut session, &workspace, "touch x"), Err("NOT_COVERED".into()));
    assert_eq!(said(&mut session, &workspace, "cat data.txt > x"), Err("NEEDS_SHELL".into()));
    assert!(!world.path("work/x").exists());
}

#[test]
fn e16_another_process_goes_on_with_it_and_closing_ends_it() {
    let world = with_script();
    let mut workspace = world.open();
    workspace.trust(&world.path("work")).unwrap();
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    open_as(&mut session, &mut workspace, Origin::user(), "skill:reports").unwrap();
    let mut session = Session::resume(world.store(), session.id().clone()).unwrap();
    session.take_up(&mut workspace).unwrap();
    let command = format!("sh {} May", script(&world));
    assert!(said(&mut session, &workspace, &command).unwrap().contains("report for May"));
    session.close(Origin::model("c"), "skill:reports").unwrap();
    assert_eq!(said(&mut session, &workspace, &command), Err("NOT_VISIBLE".into()));
}

#[test]
fn s56_a_script_that_is_not_what_was_trusted_does_not_run() {
    let world = with_script();
    let (mut workspace, mut session) = opened(&world);
    let command = format!("sh {} May", script(&world));
    assert!(said(&mut session, &workspace, &command).is_ok());
    for (file, bytes) in [
        ("scripts/report.sh", "echo evil\n"),
        ("scripts/report.sh", ""),
        ("scripts/beside.sh", "echo evil\n"),
        ("hint.txt", "another hint\n"),
    ] {
        let file = format!("work/.claude/skills/reports/{file}");
        let before = std::fs::read(world.path(&file)).ok();
        world.write(&file, bytes);
        assert_eq!(said(&mut session, &workspace, &command), Err("SKILL_CHANGED".into()), "{file}");
        assert_eq!(code(&mut session, &mut workspace, "skill:reports"), "UNTRUSTED", "{file}");
        // A person may look at it, and still nothing of it runs.
        open_as(&mut session, &mut workspace, Origin::user(), "skill:reports").unwrap();
        assert_eq!(said(&mut session, &workspace, &command), Err("SKILL_CHANGED".into()), "{file}");
        match before {
            Some(bytes) => drop(world.write(&file, bytes)),
            None => std::fs::remove_file(world.path(&file)).unwrap(),
        }
        assert!(said(&mut session, &workspace, &command).is_ok(), "{file}");
    }
}

/// A skill of the person's own needs no trust; what it runs is what was there when the call was admitted.
#[test]
fn s56_a_skill_of_ones_own_runs_as_it_is_when_it_is_called() {
    let world = World::new();
    let more = "permissions:\n  execute: [\"${CLAUDE_SKILL_DIR}/report.sh\"]";
    world.write("home/.claude/skills/reports/SKILL.md", skill_with("reports", more, "Report."));
    let (mut workspace, place) =
        (world.open(), world.path("home/.claude/skills/reports/report.sh"));
    let mut session = agreeing(&mut workspace);
    open_as(&mut session, &mut workspace, Origin::user(), "skill:reports").unwrap();
    for words in ["first", "second"] {
        world.write("home/.claude/skills/reports/report.sh", format!("#!/bin/sh\necho {words}\n"));
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        let text = said(&mut session, &workspace, &place.display().to_string()).unwrap();
        assert!(text.contains(words), "{text}");
    }
    let held = session.events().unwrap().into_iter().find_map(|event| match event.fact {
        Fact::CallFinished { held, .. } => held,
        _ => None,
    });
    assert_eq!(held.as_deref(), Some("L3"), "its code is pinned");
}

#[test]
fn k06_a_search_finds_it_only_while_it_can_be_called() {
    let world = with_script();
    let (mut workspace, mut session) = opened(&world);
    let request = FindRequest {
        query: "run a command of reports".into(),
        kind: Some(Kind::Tool),
        within: None,
        limit: None,
    };
    let found = |session: &mut Session, workspace: &mut Workspace| {
        let (found, _) = session.find(workspace, Origin::model("f"), &request).unwrap();
        let is_it = |reference: &Ref| reference.to_string() == format!("tool:{TOOL}");
        found.hits.iter().any(|hit| is_it(&hit.reference))
    };
    assert!(found(&mut session, &mut workspace));
    session.close(Origin::model("c"), "skill:reports").unwrap();
    assert!(!found(&mut session, &mut workspace));
}
