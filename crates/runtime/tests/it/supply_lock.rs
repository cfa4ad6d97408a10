//! Skills that are locked, and what happens to those that change after that.

use std::fs;
use std::path::PathBuf;

use concertina_core::catalog::Loaded;
use concertina_core::session::{Origin, visible_skills};
use concertina_format::skill::Mode;
use concertina_runtime::supply::{
    LOCK_FILE, LockMode, LockStanding, Manifest, lock_skills, permissions_digest,
};
use concertina_runtime::{Workspace, check};
use concertina_types::{Digest, NetworkScope, PathScope, Permissions, Subject};
use proptest::prelude::*;

use crate::kit::{World, begin, code, open_as, settle, skill, skill_with};

/// Two trusted and locked skills, one of them with files.
fn locked() -> World {
    let world = World::new();
    world.write("work/skills/tides/SKILL.md", skill("tides", "Reads tide tables.", "Read."));
    world.write("work/skills/tides/run.sh", "echo 1").write("work/skills/tides/.lib.sh", "x=1");
    world.write("work/skills/buoy/SKILL.md", skill("buoy", "Sets buoys.", "Set."));
    world.open().trust(&world.path("work")).unwrap();
    lock(&world, LockMode::Write);
    world
}

fn lock(world: &World, mode: LockMode) -> Vec<(String, LockStanding)> {
    let work = world.path("work");
    let report = lock_skills(&work, std::slice::from_ref(&work), mode).unwrap();
    report.skills.into_iter().map(|skill| (skill.name, skill.standing)).collect()
}

fn seen_by(workspace: &mut Workspace, subject: Subject) -> Vec<String> {
    let session = begin(workspace);
    let world = session.world();
    let visible = visible_skills(session.state(), &world, subject);
    visible.map(|entry| entry.id.to_string()).filter(|id| id != "write-a-skill").collect()
}

/// Something that somebody does to a skill.
type Change = fn(&World);

#[test]
fn s80_a_skill_whose_bytes_differ_from_the_lock_is_used_by_nobody() {
    let changes: [(&str, Change); 6] = [
        ("a byte of a script", |w| _ = w.write("work/skills/tides/run.sh", "echo 2")),
        ("a byte of a hidden file", |w| _ = w.write("work/skills/tides/.lib.sh", "x=2")),
        ("a byte of the body", |w| {
            w.write("work/skills/tides/SKILL.md", skill("tides", "Reads tide tables.", "Read!"));
        }),
        ("a file that is new", |w| _ = w.write("work/skills/tides/sub/new.py", "")),
        ("a file that is gone", |w| fs::remove_file(w.path("work/skills/tides/run.sh")).unwrap()),
        ("a link in place of a file", |w| {
            fs::remove_file(w.path("work/skills/tides/run.sh")).unwrap();
            w.link("work/skills/tides/run.sh", "/bin/true");
        }),
    ];
    for (what, change) in changes {
        let world = locked();
        let mut workspace = world.open();
        let mut session = begin(&mut workspace);
        assert_eq!(code(&mut session, &mut workspace, "skill:tides#run.sh"), "OPEN", "{what}");
        settle();
        change(&world);
        // At once, on the next turn, after a restart, and for a person as well.
        assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "LOCK_MISMATCH", "{what}");
        session.turn(&mut workspace).unwrap();
        assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "LOCK_MISMATCH", "{what}");
        let mut workspace = world.open();
        workspace.trust(&world.path("work")).unwrap();
        for subject in [Subject::Model, Subject::User] {
            assert_eq!(seen_by(&mut workspace, subject), ["buoy"], "{what}: {subject:?}");
        }
        let mut session = begin(&mut workspace);
        let refused = open_as(&mut session, &mut workspace, Origin::user(), "skill:tides");
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, "LOCK_MISMATCH");
        assert!(refused.message.contains("concertina skill lock"), "{refused}");
        let wanted =
            [("buoy".to_owned(), LockStanding::Same), ("tides".to_owned(), LockStanding::Changed)];
        if what != "a link in place of a file" {
            assert_eq!(lock(&world, LockMode::Check), wanted, "{what}");
        }
        let checked = check(&[world.path("work/skills")], Mode::Lenient);
        let altered: Vec<bool> =
            checked.iter().map(concertina_runtime::Checked::is_altered).collect();
        assert_eq!(altered, [false, true], "{what}");
    }
}

#[test]
fn s80_locked_again_it_is_usable_again_without_a_restart() {
    let world = locked();
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    settle();
    world.write("work/skills/tides/run.sh", "echo 2");
    session.turn(&mut workspace).unwrap();
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "LOCK_MISMATCH");
    lock(&world, LockMode::Write);
    workspace.trust(&world.path("work")).unwrap();
    session.turn(&mut workspace).unwrap();
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "OPEN");
    // The bytes that were locked first are the wrong ones now.
    settle();
    world.write("work/skills/tides/run.sh", "echo 1");
    session.turn(&mut workspace).unwrap();
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "LOCK_MISMATCH");
}

#[test]
fn s80_a_lock_that_cannot_be_read_locks_all_below_it() {
    let text = fs::read_to_string(locked().path("work").join(LOCK_FILE)).unwrap();
    for damage in [
        "",
        "{",
        "{\"v\":1}",
        "{\"v\":2,\"skills\":[]}",
        &text.replace("\"bytes\": 6", "\"bytes\": 7"),
        &text.replace("\"path\": \"skills/tides\"", "\"path\": \"../skills/tides\""),
    ] {
        let world = locked();
        world.write("work/skills.lock", damage);
        let mut workspace = world.open();
        assert_eq!(seen_by(&mut workspace, Subject::Model), [""; 0], "{damage:?}");
        let work = world.path("work");
        let error = lock_skills(&work, std::slice::from_ref(&work), LockMode::Check).unwrap_err();
        assert_eq!(error.code(), "LOCK_BROKEN", "{error}");
    }
    // What is not below it is not its business.
    let world = locked();
    world.write("work/skills.lock", "");
    world.write("home/.claude/skills/mine/SKILL.md", skill("mine", "Mine.", "Do."));
    assert_eq!(seen_by(&mut world.open(), Subject::Model), ["mine"]);
}

#[test]
fn a_lock_speaks_only_of_what_it_names() {
    let world = locked();
    world.write("work/skills/new/SKILL.md", skill("new", "New.", "Do."));
    world.open().trust(&world.path("work")).unwrap();
    assert_eq!(seen_by(&mut world.open(), Subject::Model), ["buoy", "new", "tides"]);
    let standing = lock(&world, LockMode::Check);
    assert!(standing.contains(&("new".to_owned(), LockStanding::Added)), "{standing:?}");
    fs::remove_dir_all(world.path("work/skills/buoy")).unwrap();
    let standing = lock(&world, LockMode::Check);
    assert!(standing.contains(&("buoy".to_owned(), LockStanding::Gone)), "{standing:?}");
    lock(&world, LockMode::Write);
    let names: Vec<String> = lock(&world, LockMode::Check).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["new", "tides"]);
}

#[test]
fn the_same_skills_give_the_same_bytes() {
    let world = locked();
    let read = || fs::read_to_string(world.path("work/skills.lock")).unwrap();
    let first = read();
    let skills = ["work/skills/tides", "work/skills/buoy"].map(|path| world.path(path));
    // In another order, and piece by piece.
    fs::remove_file(world.path("work/skills.lock")).unwrap();
    for skill in skills {
        lock_skills(&world.path("work"), &[skill], LockMode::Write).unwrap();
    }
    assert_eq!(read(), first);
    let moved = World::new();
    for name in ["tides/SKILL.md", "tides/run.sh", "tides/.lib.sh", "buoy/SKILL.md"] {
        let path = format!("work/skills/{name}");
        moved.write(&path, fs::read(world.path(&path)).unwrap());
    }
    lock(&moved, LockMode::Write);
    assert_eq!(fs::read_to_string(moved.path("work/skills.lock")).unwrap(), first);
}

#[test]
fn a_skill_that_is_the_whole_directory_is_locked_without_its_lock() {
    let world = World::new();
    world.write("work/SKILL.md", skill("work", "Works.", "x")).write("work/run.sh", "echo 1");
    for _ in 0..2 {
        lock(&world, LockMode::Write);
        assert_eq!(lock(&world, LockMode::Check), [("work".to_owned(), LockStanding::Same)]);
    }
    world.write("work/run.sh", "echo 2");
    assert_eq!(lock(&world, LockMode::Check), [("work".to_owned(), LockStanding::Changed)]);
}

#[test]
fn a_command_is_locked_as_its_one_file() {
    let world = World::new();
    world.write("work/.claude/commands/sail.md", "Set sail.\n");
    world.write("work/.claude/commands/other.md", "Do other things.\n");
    lock(&world, LockMode::Write);
    world.write("work/.claude/commands/other.md", "Do evil.\n");
    world.open().trust(&world.path("work")).unwrap();
    assert_eq!(seen_by(&mut world.open(), Subject::User), ["sail"]);
}

#[test]
fn s61_advisory_44_a_byte_that_changes_after_trust_is_asked_about_and_shown() {
    let world = World::new();
    let more = "permissions:\n  read: [{paths: [\"tables/**\"]}]";
    let tides = "work/skills/tides";
    world.write(&format!("{tides}/SKILL.md"), skill_with("tides", more, "Read one.\nRead two."));
    world.write(&format!("{tides}/run.sh"), "echo one\necho two\n");
    world.write(&format!("{tides}/data.bin"), [0, 1, 2, 255]);
    world.write(&format!("{tides}/old.md"), "old");
    let mut workspace = world.open();
    workspace.trust(&world.path("work")).unwrap();
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "OPEN");
    let changes = |world: &World| {
        let mut workspace = world.open();
        let brought = workspace.brought(&world.path("work")).unwrap();
        let [one] = brought.as_slice() else { panic!("{brought:?}") };
        one.changed.then(|| workspace.changes(one).unwrap())
    };
    assert_eq!(changes(&world), None);
    // One byte of a script.
    world.write(&format!("{tides}/run.sh"), "echo one\necho twO\n");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:tides"), "UNTRUSTED");
    insta::assert_snapshot!(changes(&world).unwrap().text(), @r"
    changed run.sh, 18 bytes before, 18 now:
      @@ -1,2 +1,2 @@
       echo one
      -echo two
      +echo twO
    ");
    // What it declares, and more.
    let more = "permissions:\n  read: [{paths: [\"**\"]}]\n  execute: [\"curl *\"]";
    world.write(
        &format!("{tides}/SKILL.md"),
        skill_with("tides", more, "Read one.\nRead\u{200b} three."),
    );
    world.write(&format!("{tides}/data.bin"), [0, 1, 2, 254]).write(&format!("{tides}/.new"), "x");
    fs::remove_file(world.path(&format!("{tides}/old.md"))).unwrap();
    insta::assert_snapshot!(changes(&world).unwrap().text(), @r#"
    what it declares is another:
      - reads `tables/**`
      + reads `**`
      + runs `curl *`
    new file .new
    gone: old.md
    changed SKILL.md, 114 bytes before, 134 now:
      @@ -3,6 +3,7 @@
       description: Use for tides.
       permissions:
      -  read: [{paths: ["tables/**"]}]
      +  read: [{paths: ["**"]}]
      +  execute: ["curl *"]
       ---
       Read one.
      -Read two.
      +Read\u{200b} three.
    changed data.bin, 4 bytes before, 4 now; its lines cannot be shown
    changed run.sh, 18 bytes before, 18 now:
      @@ -1,2 +1,2 @@
       echo one
      -echo two
      +echo twO
    "#);
    // Trusted again, it is as before.
    world.open().trust(&world.path("work")).unwrap();
    assert_eq!(changes(&world), None);
}

#[test]
fn a_skill_that_cannot_be_looked_through_costs_no_other_its_trust() {
    let world = World::new();
    world.write("work/skills/a/SKILL.md", skill("a", "A.", "x"));
    world.write("work/skills/b/SKILL.md", skill("b", "B.", "x"));
    fs::create_dir_all(world.path("work/skills/a").join("d/".repeat(40))).unwrap();
    let mut workspace = world.open();
    assert_eq!(workspace.trust(&world.path("work")).unwrap_err().code(), "UNREADABLE");
    assert_eq!(seen_by(&mut world.open(), Subject::Model), ["b"]);
}

#[test]
fn s61_settings_and_the_programs_they_name_are_shown_as_well() {
    let world = World::new();
    world.config("[tool.a]\nargv = [\"./run.sh\"]\n").write("work/run.sh", "echo 1\n");
    let settings = world.path("work/concertina.toml");
    world.open().trust(&settings).unwrap();
    world.write("work/run.sh", "echo 2\n");
    let mut workspace = world.open();
    let brought = workspace.brought(&settings).unwrap();
    let changes = workspace.changes(&brought[0]).unwrap();
    assert_eq!(changes.changed[0].path, "run.sh");
    assert!(changes.text().contains("+echo 2"), "{}", changes.text());
}

#[test]
fn s61_a_change_without_an_end_is_shown_in_part() {
    let world = World::new();
    world.write("work/skills/a/SKILL.md", skill("a", "A.", "One."));
    world.open().trust(&world.path("work")).unwrap();
    let lines: String = (0..50_000).map(|at| format!("line {at} {}\n", "x".repeat(400))).collect();
    world.write("work/skills/a/SKILL.md", skill("a", "A.", &lines[..900_000]));
    let mut workspace = world.open();
    let brought = workspace.brought(&world.path("work")).unwrap();
    let text = workspace.changes(&brought[0]).unwrap().text();
    assert!(text.lines().count() < 100 && text.len() < 40_000, "{}", text.len());
    assert!(text.contains("more lines"), "{text}");
}

fn manifest(world: &World, text: &str) -> Manifest {
    world.write("work/skills/a/SKILL.md", text);
    Manifest::of(&world.path("work/skills/a/SKILL.md"), Loaded::Skills).unwrap().0
}

#[test]
fn a_manifest_is_its_files_and_what_they_declare() {
    let world = World::new();
    let one = manifest(&world, &skill_with("a", "version: 1.0", "x"));
    assert_eq!(one, manifest(&world, &skill_with("a", "version: 1.0", "x")));
    assert_eq!((one.name.as_str(), one.version.as_deref()), ("a", Some("1.0")));
    assert_eq!(one.digest(), Digest::of(&one.bytes()));
    let other =
        manifest(&world, &skill_with("a", "version: 1.0\npermissions:\n  execute: [ls]", "x"));
    assert_ne!(one.permissions, other.permissions);
    assert_eq!(one.permissions, permissions_digest(&Permissions::default()));
}

#[test]
fn a_skill_that_cannot_be_locked_says_why() {
    let world = World::new();
    world.write("work/skills/a/SKILL.md", skill("a", "A.", "x"));
    world.link("work/skills/a/link", "/etc/passwd");
    let work = world.path("work");
    let locking = |paths: &[PathBuf]| {
        lock_skills(&work, paths, LockMode::Write).map_err(|error| error.code())
    };
    world
        .write("work/skills/b/SKILL.md", "")
        .write("work/skills/c/SKILL.md", skill("c", "C.", "x"));
    let report = locking(std::slice::from_ref(&work)).unwrap();
    let codes: Vec<_> = report.skipped.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["SPECIAL_FILE", "REJECTED"]);
    assert_eq!((report.skills.len(), report.is_same()), (1, false), "c is locked all the same");
    assert_eq!(locking(&[world.path("nowhere")]).map(|_| ()), Err("NOT_FOUND"));
    world.write("elsewhere/b/SKILL.md", skill("b", "B.", "x"));
    assert_eq!(locking(&[world.path("elsewhere")]).map(|_| ()), Err("LOCK_ELSEWHERE"));
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-c*/]{1,3}", 0..4)
}

proptest! {
    /// The digest of what is declared is the same for the same sets, and another for other sets.
    #[test]
    fn a_permissions_digest_is_one_of_sets(
        read in texts(), execute in texts(), other in texts(), domains in texts(), turn in 0_usize..4,
    ) {
        let declared = |read: &[String], execute: &[String]| Permissions {
            // In one scope or in several, it is the same that may be read.
            read: read.chunks(turn + 1).map(|paths| PathScope { paths: paths.to_vec() }).collect(),
            execute: execute.to_vec(),
            network: vec![NetworkScope { domains: domains.clone(), methods: Vec::new() }],
            ..Permissions::default()
        };
        let turned = |texts: &[String]| {
            let mut texts = texts.to_vec();
            let length = texts.len().max(1);
            texts.rotate_left(turn % length);
            let first = texts.first().cloned();
            texts.extend(first);
            texts
        };
        let set = |texts: &[String]| texts.iter().cloned().collect::<std::collections::BTreeSet<_>>();
        let one = permissions_digest(&declared(&read, &execute));
        prop_assert_eq!(one, permissions_digest(&declared(&turned(&read), &turned(&execute))));
        let another = permissions_digest(&declared(&read, &other));
        prop_assert_eq!(one == another, set(&execute) == set(&other));
    }
}
