//! Changes are seen, and what did not change is not read again.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use concertina_runtime::Workspace;

use crate::kit::{World, id, ids, settle, skill, skipped};

fn description(workspace: &Workspace, name: &str) -> String {
    workspace.snapshot().skill(&id(name)).unwrap().description.clone().unwrap().to_string()
}

fn settled() -> (World, Workspace) {
    let world = World::new();
    world.skill("work/skills/a", "First.").skill("work/skills/b", "Second.");
    settle();
    let workspace = world.open();
    (world, workspace)
}

#[test]
fn b04_an_unchanged_catalogue_reads_nothing() {
    let (_world, mut workspace) = settled();
    let (before, bytes) = (workspace.snapshot().clone(), workspace.bytes_read());
    for _ in 0..3 {
        assert!(!workspace.refresh());
    }
    assert_eq!(workspace.bytes_read(), bytes);
    assert!(std::sync::Arc::ptr_eq(&before, workspace.snapshot()));
}

#[test]
fn one_edit_reads_one_file() {
    let (world, mut workspace) = settled();
    let before = workspace.bytes_read();
    world.skill("work/skills/b", "Changed.");
    assert!(workspace.refresh());
    assert_eq!(description(&workspace, "b"), "Changed.");
    assert!(workspace.bytes_read() - before < 100, "only b was read");
}

#[test]
fn skills_come_go_and_move() {
    let (world, mut workspace) = settled();
    world.skill("work/skills/c", "Third.");
    assert!(workspace.refresh());
    assert_eq!(ids(&workspace), ["a", "b", "c", "write-a-skill"]);

    fs::remove_dir_all(world.path("work/skills/a")).unwrap();
    assert!(workspace.refresh());
    assert_eq!(ids(&workspace), ["b", "c", "write-a-skill"]);

    fs::rename(world.path("work/skills/b"), world.path("work/skills/z")).unwrap();
    assert!(workspace.refresh());
    assert!(workspace.snapshot().skill(&id("b")).unwrap().path.ends_with("skills/z/SKILL.md"));

    // A layout that was not there at the start, and a level of grouping.
    world.skill("work/.gemini/skills/late", "Late.").skill("work/skills/group/inner", "Inner.");
    assert!(workspace.refresh());
    assert_eq!(ids(&workspace), ["b", "c", "inner", "late", "write-a-skill"]);
}

#[test]
fn a_layout_that_appears_in_a_named_root_is_seen() {
    let world = World::new();
    world.skill("repo/skills/a", "A.");
    let mut workspace = world.rooted(&["repo", "later"]);
    settle();
    workspace.refresh();
    world.skill("repo/.claude/skills/b", "B.").skill("later/c", "C.");
    assert!(workspace.refresh());
    assert_eq!(ids(&workspace), ["a", "b", "c"]);
}

#[test]
fn an_edit_of_the_same_size_in_the_same_tick_is_seen() {
    let world = World::new();
    for round in 0..20 {
        let name = format!("s{round}");
        let path = format!("work/skills/{name}/SKILL.md");
        world.write(&path, skill(&name, "Before.", "B."));
        let mut workspace = world.alone();
        world.write(&path, skill(&name, "Behind.", "B."));
        workspace.refresh();
        assert_eq!(description(&workspace, &name), "Behind.");
    }
}

#[test]
fn an_edit_that_hides_its_time_is_seen() {
    let (world, mut workspace) = settled();
    let path = world.path("work/skills/a/SKILL.md");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, skill("a", "Farst.", "Do it.")).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    workspace.refresh();
    assert_eq!(description(&workspace, "a"), "Farst.");
}

#[test]
fn a_file_from_the_future_is_not_read_each_turn() {
    let (world, mut workspace) = settled();
    let path = world.path("work/skills/a/SKILL.md");
    let future = SystemTime::now() + Duration::from_secs(1_000_000);
    File::options().write(true).open(&path).unwrap().set_modified(future).unwrap();
    settle();
    workspace.refresh();
    let bytes = workspace.bytes_read();
    workspace.refresh();
    assert_eq!(workspace.bytes_read(), bytes);
}

#[test]
fn what_was_broken_is_seen_when_it_is_mended() {
    let world = World::new();
    world.skill("work/skills/good", "Good.");
    fs::create_dir_all(world.path("work/skills/bad/SKILL.md")).unwrap();
    world.link("work/skills/gone", "../elsewhere");
    settle();
    let mut workspace = world.alone();
    assert_eq!(
        skipped(&workspace),
        [
            ("SKILL.md".to_owned(), "NOT_A_FILE".to_owned()),
            ("gone".to_owned(), "BROKEN_LINK".to_owned()),
        ]
    );
    fs::remove_dir(world.path("work/skills/bad/SKILL.md")).unwrap();
    world.skill("work/skills/bad", "Mended.").skill("work/elsewhere", "Back.");
    assert!(workspace.refresh());
    assert_eq!(ids(&workspace), ["bad", "elsewhere", "good"]);
    assert!(skipped(&workspace).is_empty());
}

#[test]
fn a_changed_body_is_searched_as_it_is() {
    let world = World::new();
    world.write("work/skills/a/SKILL.md", skill("a", "Lists things.", "Talks of marmots."));
    let mut workspace = world.alone();
    let mut session = crate::kit::begin(&mut workspace);
    let mut hits = |workspace: &mut Workspace, query: &str| {
        let request = concertina_runtime::FindRequest { query: query.into(), ..Default::default() };
        let origin = concertina_core::session::Origin::user();
        let found = session.find(workspace, origin, &request).unwrap().0;
        found.hits.len() + found.nearest.len()
    };
    assert_eq!(hits(&mut workspace, "marmots"), 1);
    settle();
    world.write("work/skills/a/SKILL.md", skill("a", "Lists things.", "Talks of lizards."));
    workspace.refresh();
    assert_eq!(hits(&mut workspace, "lizards"), 1);
    assert_eq!(hits(&mut workspace, "marmots"), 0);
}
