//! Settings from three files, and what happens where one cannot be read.

use concertina_core::session::{Origin, visibility};
use concertina_types::Subject;

use crate::kit::{World, begin, open, open_as};

fn codes(workspace: &concertina_runtime::Workspace) -> Vec<String> {
    workspace.loaded().findings.iter().map(|(_, found)| found.code.to_string()).collect()
}

#[test]
fn settings_that_cannot_be_read_deny_everything() {
    for place in ["work", "home/.config/concertina", "managed"] {
        let world = World::new();
        world.skill("work/skills/a", "A.");
        let file = format!("{place}/concertina.toml");
        for broken in 0..3 {
            match broken {
                0 => world.write(&file, [0xff, 0xfe]),
                1 => world.write(&file, "[policy]\ndeny = \"not a list\"\n"),
                _ => {
                    std::fs::remove_file(world.path(&file)).unwrap();
                    std::fs::create_dir_all(world.path(&file)).unwrap();
                    &world
                }
            };
            let mut workspace = world.open();
            let mut session = begin(&mut workspace);
            let refusal = open(&mut session, &mut workspace, "skill:a").unwrap_err();
            assert_eq!(refusal.code, "POLICY_UNREADABLE", "{place} {broken}: {refusal}");
            assert!(!codes(&workspace).is_empty());
            let seen = visibility(
                session.state(),
                &session.world(),
                &"skill:a".parse().unwrap(),
                Subject::User,
            );
            assert!(!seen.visible);
        }
    }
}

#[test]
fn absent_settings_say_nothing() {
    let world = World::new();
    world.skill("work/skills/a", "A.");
    let mut workspace = world.open();
    assert!(codes(&workspace).is_empty());
    let mut session = begin(&mut workspace);
    open_as(&mut session, &mut workspace, Origin::user(), "skill:a").unwrap();
}

#[test]
fn a_broken_key_costs_only_itself() {
    let world = World::new();
    world.skill("work/skills/a", "A.").config(
        "[listing]\npercent = \"many\"\nchars = 4000\n[tool.ok]\nargv = [\"true\"]\n[tool.bad]\nargv = 5\n",
    );
    let workspace = world.alone();
    assert_eq!(workspace.settings().listing.chars, 4_000);
    assert_eq!(workspace.snapshot().tools.len(), 1);
    assert!(codes(&workspace).len() >= 2);
}

#[test]
fn a_workspace_that_is_not_there_is_a_clear_error() {
    let world = World::new();
    world.write("file", "");
    for path in ["nowhere", "file"] {
        let options =
            concertina_runtime::WorkspaceOptions::only(world.path("state"), &|_: &str| None);
        let error = concertina_runtime::Workspace::open(&world.path(path), options).unwrap_err();
        assert_eq!(error.code(), "NO_DIRECTORY", "{error}");
    }
}
