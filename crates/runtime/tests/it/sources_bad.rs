//! Bad input in sources: each costs only itself, and is named.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use concertina_format::skill::Mode;
use concertina_runtime::check;
use concertina_types::limits;

use crate::kit::{World, begin, id, ids, is_root, open, skill, skipped};

fn codes(workspace: &concertina_runtime::Workspace) -> Vec<String> {
    workspace.snapshot().skipped.iter().map(|one| one.code.clone()).collect()
}

#[test]
fn one_bad_skill_never_costs_another() {
    let world = World::new();
    world.skill("work/skills/good", "Good.");
    world.write("work/skills/empty/SKILL.md", "");
    world.write("work/skills/binary/SKILL.md", [0xff, 0xfe, 0x00, 0x81]);
    world.write("work/skills/open-end/SKILL.md", "---\nname: open-end\ndescription: x\n");
    world.write(
        "work/skills/bomb/SKILL.md",
        format!("---\nname: bomb\ndescription: {}\n---\n", "[".repeat(5_000)),
    );
    world.write(
        "work/skills/huge/SKILL.md",
        format!("---\nname: huge\n{}---\n", "key: value\n".repeat(50_000)),
    );
    fs::create_dir_all(world.path("work/skills/directory/SKILL.md")).unwrap();
    let workspace = world.alone();
    assert!(ids(&workspace).contains(&"good".to_owned()));
    // Each of the others is either a skill with what could be saved of it, or named among the skipped.
    let named = ids(&workspace).len() + workspace.snapshot().skipped.len();
    assert_eq!(named, 7, "{:?} {:?}", ids(&workspace), workspace.snapshot().skipped);
    assert!(skipped(&workspace).contains(&("SKILL.md".to_owned(), "NOT_A_FILE".to_owned())));
}

#[test]
fn a_pipe_is_not_waited_for() {
    let world = World::new();
    world.skill("work/skills/good", "Good.");
    fs::create_dir_all(world.path("work/skills/pipe")).unwrap();
    let path = world.path("work/skills/pipe/SKILL.md");
    let done = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(done.success());
    let workspace = world.alone();
    assert_eq!(ids(&workspace), ["good"]);
    assert_eq!(codes(&workspace), ["NOT_A_FILE"]);
    let checked = check(&[world.path("work/skills")], Mode::Lenient);
    assert_eq!(checked.len(), 2);
}

#[test]
fn what_may_not_be_read_is_named() {
    let world = World::new();
    world.skill("work/skills/good", "Good.").skill("work/skills/shut", "Shut.");
    let path = world.path("work/skills/shut/SKILL.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if is_root() {
        eprintln!("skipped: no permission stops this user");
        return;
    }
    let mut workspace = world.alone();
    assert_eq!(ids(&workspace), ["good"]);
    assert_eq!(codes(&workspace), ["UNREADABLE"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(workspace.refresh());
    assert_eq!(ids(&workspace), ["good", "shut"]);
}

#[test]
fn b31_linked_skills_and_roots_work() {
    let world = World::new();
    world.skill("store/a", "A.").skill("store/b", "B.").skill("shelf/c", "C.");
    world.link("work/.agents/skills", "../../store").link("work/skills/c", "../../shelf/c");
    fs::create_dir_all(world.path("work/skills/d")).unwrap();
    world.write("elsewhere.md", skill("d", "D.", "B."));
    world.link("work/skills/d/SKILL.md", "../../../elsewhere.md");
    assert_eq!(ids(&world.alone()), ["a", "b", "c", "d"]);
}

#[test]
fn b32_loops_end_and_nothing_is_found_twice() {
    let world = World::new();
    world.skill("work/skills/group/a", "A.").skill("store/b", "B.");
    world
        .link("work/skills/group/up", "..")
        .link("work/skills/group/root", "../../..")
        .link("work/skills/self", "self")
        .link("work/skills/one", "../../store")
        .link("work/skills/two", "../../store")
        .link("work/.claude/skills/b", "../../../store/b")
        .link("store/back", "../work/skills")
        .write("work/.claude/commands/x.md", "X.\n")
        .link("work/.claude/commands/loop", ".")
        .link("work/.claude/commands/loop2", "../commands");
    let workspace = world.alone();
    assert_eq!(ids(&workspace), ["a", "b", "x"]);
    let b = workspace.snapshot().skill(&id("b")).unwrap();
    assert_eq!(b.also_at.len(), 1, "one text, two places: {b:?}");
    let all = skipped(&workspace);
    for (name, code) in [
        ("up", "SEEN_ALREADY"),
        ("self", "BROKEN_LINK"),
        ("two", "SEEN_ALREADY"),
        ("loop", "SEEN_ALREADY"),
    ] {
        assert!(all.contains(&(name.to_owned(), code.to_owned())), "{name}: {all:?}");
    }
}

#[test]
fn depth_is_bounded_and_said() {
    let world = World::new();
    let deep = (0..=limits::DISCOVERY_DEPTH).map(|level| format!("l{level}")).collect::<Vec<_>>();
    world.skill(&format!("work/skills/{}/deep", deep.join("/")), "Too deep.");
    world.skill(
        &format!("work/skills/{}/edge", deep[..limits::DISCOVERY_DEPTH - 1].join("/")),
        "Just there.",
    );
    world.write(&format!("work/.claude/commands/{}/deep.md", deep.join("/")), "Too deep.\n");
    let workspace = world.alone();
    assert_eq!(ids(&workspace), ["edge"]);
    assert_eq!(codes(&workspace), ["TOO_DEEP", "TOO_DEEP"]);
}

#[test]
fn a_skill_may_be_called_like_a_directory_of_machines() {
    let world = World::new();
    world
        .skill("work/skills/build", "Builds.")
        .skill("work/skills/node_modules/pkg/skills/x", "Not ours.");
    assert_eq!(ids(&world.alone()), ["build"]);
}

#[test]
fn a_name_that_cannot_be_typed_is_replaced_by_the_directory() {
    let world = World::new();
    world.write("work/skills/pdf-forms/SKILL.md", skill("PDF: forms", "Forms.", "B."));
    world.write("work/skills/园艺/SKILL.md", skill("园艺助手", "浇水。", "B."));
    world.write("work/skills/two words/SKILL.md", "---\ndescription: Two.\n---\nB.\n");
    let workspace = world.alone();
    let ids = ids(&workspace);
    assert!(
        ids.contains(&"pdf-forms".to_owned()) && ids.contains(&"园艺助手".to_owned()),
        "{ids:?}"
    );
    assert!(ids.iter().all(|id| format!("skill:{id}").parse::<concertina_types::Ref>().is_ok()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_not_text_is_named() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let odd = world.path("work/skills").join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    fs::create_dir_all(&odd).unwrap();
    fs::write(odd.join("SKILL.md"), skill("odd", "Odd.", "B.")).unwrap();
    let workspace = world.alone();
    assert_eq!(codes(&workspace), ["PATH_NOT_TEXT"]);
}

#[test]
fn a_skill_that_disappears_before_it_is_opened_is_said_to_be_gone() {
    let world = World::new();
    world.skill("work/skills/a", "A.");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    fs::remove_dir_all(world.path("work/skills/a")).unwrap();
    let refusal = open(&mut session, &mut workspace, "skill:a").unwrap_err();
    assert_eq!(refusal.code, "SKILL_GONE");
    assert!(refusal.message.contains("refreshed on the next turn"), "{refusal}");
    session.turn(&mut workspace).unwrap();
    assert_eq!(open(&mut session, &mut workspace, "skill:a").unwrap_err().code, "NOT_FOUND");
}

#[test]
fn a_skill_that_grew_out_of_bounds_is_not_read() {
    let world = World::new();
    world.skill("work/skills/a", "A.");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let size = usize::try_from(limits::SKILL_BYTES).unwrap() + 1;
    world.write("work/skills/a/SKILL.md", skill("a", "A.", &"x".repeat(size)));
    assert_eq!(open(&mut session, &mut workspace, "skill:a").unwrap_err().code, "FILE_TOO_LARGE");
    // To the index it is a skill like any other: its frontmatter is in order.
    assert!(workspace.refresh());
    let checked = check(&[world.path("work/skills/a")], Mode::Lenient);
    assert_eq!(checked.len(), 1);
    assert_eq!(checked[0].diagnostics[0].code, "FILE_TOO_LARGE");
}

#[test]
fn a_check_names_every_file_once() {
    let world = World::new();
    world.skill("work/skills/good", "Good.");
    world.write("work/skills/open-end/SKILL.md", "---\nname: open-end\ndescription: x\n");
    world.write("work/.claude/commands/tidy.md", "Tidies up the branch.\n");
    world.write("work/skills/binary/SKILL.md", [0xff, 0xfe, 0x00, 0x81]);
    fs::create_dir_all(world.path("work/skills/directory/SKILL.md")).unwrap();
    let checked = check(&[world.path("work")], Mode::Lenient);
    let paths: Vec<_> = checked.iter().map(|one| one.path.clone()).collect();
    let mut once = paths.clone();
    once.dedup();
    assert_eq!(paths, once);
    assert_eq!(paths.len(), 5, "{paths:?}");
    let command = checked.iter().find(|one| one.path.ends_with("tidy.md")).unwrap();
    assert_eq!(
        command.document.as_ref().unwrap().name,
        "tidy",
        "a command is named after its file"
    );
}
