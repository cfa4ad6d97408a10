//! What a workspace brings is hidden from the model until a person trusts it, byte by byte.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use concertina_core::session::{Origin, Part};
use concertina_runtime::{FindRequest, Workspace};
use serde_json::json;

use crate::kit::{World, begin, call, code, is_root, open, open_as, settle, skill, skill_with};

/// A workspace that brings two skills, one of them with files, and a person who has one of their own.
fn brought() -> World {
    let world = World::new();
    world.skill("home/.claude/skills/mine", "Mine.");
    world.skill("work/.claude/skills/plain", "Plain.");
    world.write("work/.claude/skills/full/SKILL.md", skill("full", "Full.", "# One\n\nRead on."));
    world.write("work/.claude/skills/full/references/a.md", "about a");
    world.write("work/.claude/skills/full/scripts/deep/run.sh", "echo run");
    world.write("work/.claude/skills/full/.hidden.md", "hidden");
    settle();
    world
}

fn trusted(world: &World) -> Workspace {
    let mut workspace = world.open();
    workspace.trust(&world.path("work")).unwrap();
    workspace
}

#[test]
fn x06_what_a_workspace_brings_is_hidden_until_it_is_trusted() {
    let world = brought();
    let mut workspace = world.open();
    assert_eq!(workspace.untrusted(), 2);
    let mut session = begin(&mut workspace);
    session.turn(&mut workspace).unwrap();
    let index = session.view().part(Part::Index);
    assert!(index.contains("mine") && !index.contains("plain") && !index.contains("full"));
    for reference in ["skill:plain", "skill:full#references/a.md", "skill:full#one"] {
        assert_eq!(code(&mut session, &mut workspace, reference), "UNTRUSTED", "{reference}");
    }
    for query in ["plain", "full"] {
        let request = FindRequest { query: query.into(), ..FindRequest::default() };
        let found = session.find(&mut workspace, Origin::model("f"), &request).unwrap().0;
        let named = found.hits.iter().chain(&found.nearest).map(|hit| hit.reference.to_string());
        assert!(!named.into_iter().any(|name| name.contains(query)));
    }
    // A person may look at it.
    open_as(&mut session, &mut workspace, Origin::user(), "skill:plain").unwrap();

    let given = workspace.trust(&world.path("work")).unwrap();
    assert_eq!(given.len(), 2);
    session.turn(&mut workspace).unwrap();
    let delta = session.view().part(Part::Index).replace(&index, "");
    assert!(
        delta.contains("plain") && delta.contains("full") && !delta.contains("mine"),
        "{delta}"
    );
    assert_eq!(code(&mut session, &mut workspace, "skill:full"), "OPEN");
}

#[test]
fn x06_trust_survives_a_restart_and_is_taken_back() {
    let world = brought();
    drop(trusted(&world));
    let mut workspace = world.open();
    assert_eq!(workspace.untrusted(), 0);
    assert_eq!(workspace.distrust(&world.path("work/.claude/skills/full")).unwrap(), 1);
    assert_eq!(workspace.untrusted(), 1);
    assert_eq!(world.open().untrusted(), 1);
    // Trust in a part is trust in no more.
    workspace.distrust(&world.path("work")).unwrap();
    workspace.trust(&world.path("work/.claude/skills/plain")).unwrap();
    assert_eq!(world.open().untrusted(), 1);
    assert_eq!(workspace.trust(&world.path("work/.claude/skills/pla")).unwrap(), [""; 0]);
}

#[test]
fn x06_any_changed_byte_voids_trust() {
    type Change = fn(&World);
    let changes: [(&str, Change); 8] = [
        ("head", |world| {
            world.write(
                "work/.claude/skills/full/SKILL.md",
                skill("full", "Fall.", "# One\n\nRead on."),
            );
        }),
        ("body", |world| {
            world.write(
                "work/.claude/skills/full/SKILL.md",
                skill("full", "Full.", "# One\n\nRead in."),
            );
        }),
        ("resource", |world| {
            world.write("work/.claude/skills/full/references/a.md", "about b");
        }),
        ("script, with its size and its time", |world| {
            let path = world.path("work/.claude/skills/full/scripts/deep/run.sh");
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, "echo ran").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }),
        ("a file more", |world| {
            world.write("work/.claude/skills/full/references/b.md", "");
        }),
        ("a file less", |world| {
            fs::remove_file(world.path("work/.claude/skills/full/references/a.md")).unwrap();
        }),
        ("a name", |world| {
            let at = world.path("work/.claude/skills/full/references");
            fs::rename(at.join("a.md"), at.join("c.md")).unwrap();
        }),
        ("far down", |world| {
            world.write("work/.claude/skills/full/a/b/c/d/e/f/g.md", "deep");
        }),
    ];
    for (what, change) in changes {
        let world = brought();
        let mut workspace = trusted(&world);
        let mut session = begin(&mut workspace);
        session.turn(&mut workspace).unwrap();
        assert_eq!(code(&mut session, &mut workspace, "skill:full#one"), "OPEN");
        settle();
        change(&world);
        // At once, on the next turn, and after a restart.
        assert_eq!(code(&mut session, &mut workspace, "skill:full"), "UNTRUSTED", "{what}");
        assert_eq!(code(&mut session, &mut workspace, "skill:full#one"), "UNTRUSTED", "{what}");
        session.turn(&mut workspace).unwrap();
        assert_eq!(code(&mut session, &mut workspace, "skill:full"), "UNTRUSTED", "{what}");
        let mut workspace = world.open();
        let mut session = begin(&mut workspace);
        assert_eq!(code(&mut session, &mut workspace, "skill:full"), "UNTRUSTED", "{what}");
        assert_eq!(
            code(&mut session, &mut workspace, "skill:plain"),
            "OPEN",
            "others stay trusted"
        );
        workspace.trust(&world.path("work")).unwrap();
        session.turn(&mut workspace).unwrap();
        assert_eq!(code(&mut session, &mut workspace, "skill:full"), "OPEN", "{what}");
    }
}

#[test]
fn x06_a_changed_skill_is_not_opened_at_the_start_either() {
    let world = brought();
    trusted(&world);
    let settings = "home/.config/concertina/concertina.toml";
    world.write(settings, "[listing]\ninline_tokens = 1000\n");
    world.write("work/.claude/skills/full/references/a.md", "about b");
    let mut workspace = world.open();
    let session = begin(&mut workspace);
    let open: Vec<_> = session.state().open.iter().map(|open| open.opened.id.to_string()).collect();
    assert!(open.contains(&"plain".to_owned()) && !open.contains(&"full".to_owned()), "{open:?}");
}

#[test]
fn x06_a_file_that_trust_does_not_cover_is_not_shown() {
    let world = brought();
    let mut workspace = trusted(&world);
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:full#references/a.md"), "OPEN");
    assert_eq!(code(&mut session, &mut workspace, "skill:full#./references/a.md"), "OPEN");
    assert_eq!(code(&mut session, &mut workspace, "skill:full#.hidden.md"), "UNTRUSTED");
}

#[test]
fn x06_the_record_is_private_and_written_whole() {
    let world = brought();
    trusted(&world);
    let file = world.path("state/trust.json");
    let meta = fs::metadata(&file).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    // It is replaced, not written over: whoever reads it meanwhile has all of the old one.
    world.open().distrust(&world.path("work")).unwrap();
    assert_ne!(fs::metadata(&file).unwrap().ino(), meta.ino());
    let others: Vec<_> = fs::read_dir(world.path("state"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("trust") && name != "trust.json")
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn x06_a_damaged_record_trusts_nothing_and_is_said() {
    for damage in ["", "{", "[]", "{\"v\":1}", "{\"v\":9,\"files\":{}}", "\u{0}\u{1}"] {
        let world = brought();
        trusted(&world);
        world.write("state/trust.json", damage);
        let mut workspace = world.open();
        assert_eq!(workspace.untrusted(), 2, "{damage:?}");
        assert!(workspace.trust_unreadable().unwrap().contains("trust.json"), "{damage:?}");
        // Trust that is given anew mends it.
        workspace.trust(&world.path("work")).unwrap();
        assert!(workspace.trust_unreadable().is_none());
        assert_eq!(world.open().untrusted(), 0);
    }
}

#[test]
fn x06_a_record_that_cannot_be_written_is_an_error_and_nothing_is_trusted() {
    if is_root() {
        // No permission stops root: a directory stands where the record would.
        let world = brought();
        fs::create_dir_all(world.path("state/trust.json/x")).unwrap();
        let mut workspace = world.open();
        assert!(workspace.trust_unreadable().is_some());
        assert_eq!(workspace.trust(&world.path("work")).unwrap_err().code(), "NOT_SAVED");
        assert_eq!(workspace.untrusted(), 2);
    } else {
        let world = brought();
        fs::set_permissions(world.path("state"), fs::Permissions::from_mode(0o500)).unwrap();
        let mut workspace = world.open();
        assert_eq!(workspace.trust(&world.path("work")).unwrap_err().code(), "NOT_SAVED");
        assert_eq!(workspace.untrusted(), 2);
        fs::set_permissions(world.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn x06_what_another_process_took_back_stays_taken_back() {
    let world = brought();
    let mut first = trusted(&world);
    let mut second = world.open();
    second.distrust(&world.path("work/.claude/skills/full")).unwrap();
    first.trust(&world.path("work/.claude/skills/plain")).unwrap();
    let session_sees = |workspace: &Workspace| workspace.untrusted();
    assert_eq!(session_sees(&world.open()), 1, "the first did not write back what it knew before");
}

#[test]
fn x06_a_nested_skill_waits_for_trust_too() {
    let world = World::new();
    world.skill("work/a/.claude/skills/nested", "Nested.");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    let touched = session.touch(&mut workspace, Path::new("a/f")).unwrap();
    assert_eq!(touched.discovered, ["a/.claude/skills"]);
    assert_eq!(code(&mut session, &mut workspace, "skill:nested"), "UNTRUSTED");
    session.turn(&mut workspace).unwrap();
    assert!(!session.view().part(Part::Index).contains("nested"));
    workspace.trust(&world.path("work/a")).unwrap();
    session.turn(&mut workspace).unwrap();
    assert!(session.view().part(Part::Index).contains("nested"));
    // Trusted before anybody touched anything.
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    session.touch(&mut workspace, Path::new("a/f")).unwrap();
    assert_eq!(code(&mut session, &mut workspace, "skill:nested"), "OPEN");
}

#[test]
fn x06_a_directory_that_the_workspace_names_needs_trust_as_well() {
    let world = World::new();
    world.skill("work/extra/sly", "Sly.").config("[sources]\nroots = [\"extra\"]\n");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:sly"), "UNTRUSTED");
    // One that the person names does not.
    world
        .write("home/.config/concertina/concertina.toml", "[sources]\nroots = [\"/dev/null/x\"]\n");
    world.write("home/.config/concertina/own/known/SKILL.md", skill("known", "Known.", "Do."));
    world.write("home/.config/concertina/concertina.toml", "[sources]\nroots = [\"own\"]\n");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    assert_eq!(code(&mut session, &mut workspace, "skill:known"), "OPEN");
}

#[test]
fn x06_tools_of_a_workspace_wait_for_trust_in_its_settings() {
    let world = World::new();
    let settings = "[tool.say]\nargv = [\"printf\", \"said\"]\ndescription = \"Says.\"\n";
    world.config(settings);
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    let refusal = call(&mut session, &workspace, "say", json!({})).unwrap_err();
    assert!(refusal.message.contains("nobody has trusted it"), "{refusal}");
    workspace.trust(&world.path("work")).unwrap();
    session.turn(&mut workspace).unwrap();
    assert!(call(&mut session, &workspace, "say", json!({})).is_ok());
    world.config(&settings.replace("said", "sold"));
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    assert!(call(&mut session, &workspace, "say", json!({})).is_err(), "a changed byte, again");
}

#[test]
fn x06_trust_in_settings_covers_the_files_that_tools_name() {
    let changes: [(&str, &str, Vec<u8>); 6] = [
        ("a program", "run.sh", "echo ran".into()),
        ("an argument", "scripts/x.py", "print(2)".into()),
        ("seen from its directory", "sub/in.sh", "echo on".into()),
        ("a seed", "data/seed.sql", "CREATE TABLE u(x);".into()),
        ("one that was not there", "late.sh", "echo late".into()),
        ("a large one", "large.bin", vec![1; 5_000_001]),
    ];
    for (what, file, bytes) in changes {
        let world = World::new();
        world.config(
            "[tool.a]\nargv = [\"./run.sh\", \"${x}\"]\n\
             [tool.a.parameters.properties.x]\ntype = \"string\"\n\
             [tool.b]\nargv = [\"python3\", \"scripts/x.py\", \"large.bin\"]\n\
             [tool.c]\nargv = [\"sh\", \"in.sh\"]\ncwd = \"sub\"\n\
             [tool.d]\nargv = [\"sh\", \"../late.sh\"]\ncwd = \"sub\"\n\
             [tool.e]\nkind = \"sqlite\"\nseed = \"data/seed.sql\"\n",
        );
        world.write("work/run.sh", "echo run").write("work/scripts/x.py", "print(1)");
        world.write("work/sub/in.sh", "echo in").write("work/large.bin", vec![0; 5_000_000]);
        world.write("work/data/seed.sql", "CREATE TABLE t(x);").write("work/other.txt", "1");
        let mut workspace = world.open();
        assert_eq!(workspace.untrusted(), 5, "{:?}", workspace.loaded().findings);
        let settings = world.path("work/concertina.toml");
        let is_trusted = |workspace: &mut Workspace| {
            let brought = workspace.brought(&settings).unwrap();
            brought.iter().all(|one| one.trusted)
        };
        workspace.trust(&settings).unwrap();
        assert_eq!(workspace.untrusted(), 0);
        world.write("work/other.txt", "2");
        assert!(is_trusted(&mut workspace), "a file that no tool names");
        world.write(&format!("work/{file}"), bytes);
        assert!(!is_trusted(&mut workspace), "{what}: in the open workspace");
        assert_eq!(world.open().untrusted(), 5, "{what}: in one that is opened");
        workspace.trust(&settings).unwrap();
        assert_eq!(world.open().untrusted(), 0, "{what}: trusted again");
    }
}

#[test]
fn x06_what_lies_outside_a_skill_is_refused_whether_or_not_it_exists() {
    let world = brought();
    world.write("work/secret.txt", "secret");
    let outside = world.path("work/secret.txt");
    let skill = world.path("work/.claude/skills/full");
    std::os::unix::fs::symlink(&outside, skill.join("link.txt")).unwrap();
    let mut workspace = trusted(&world);
    let mut session = begin(&mut workspace);
    let there = outside.display().to_string();
    for part in [&there, &format!("{there}.no"), "../../../secret.txt", "../../../no.txt"] {
        let reference = format!("skill:full#{part}");
        assert_eq!(code(&mut session, &mut workspace, &reference), "ESCAPES", "{part}");
    }
    assert_eq!(code(&mut session, &mut workspace, "skill:full#link.txt"), "ESCAPES");
}

#[test]
fn report_b67_case_x06_a_repository_of_strangers_shows_nothing_unless_trusted() {
    let world = brought();
    world.write("work/.claude/commands/run.md", "Run everything.\n");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    session.turn(&mut workspace).unwrap();
    let view = session.view().render();
    for name in ["plain", "full", "Run everything"] {
        assert!(!view.contains(name), "{name}");
    }
    workspace.trust(&world.path("work")).unwrap();
    session.turn(&mut workspace).unwrap();
    assert!(session.view().render().contains("plain"));
}

#[test]
fn report_b68_looking_for_skills_runs_nothing() {
    let world = World::new();
    let mark = world.path("ran").display().to_string();
    world.write("work/.claude/skills/s/setup.py", format!("open({mark:?}, 'w')"));
    world.write("work/.claude/skills/s/build.sh", format!("touch {mark}"));
    world.write("work/.git/hooks/post-checkout", format!("#!/bin/sh\ntouch {mark}"));
    let more = format!(
        "permissions:\n  execute: [\"touch {mark}\"]\nhooks:\n  SessionStart: \"touch {mark}\""
    );
    world.write(
        "work/.claude/skills/s/SKILL.md",
        skill_with("s", &more, &format!("!`touch {mark}`")),
    );
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    session.turn(&mut workspace).unwrap();
    session.touch(&mut workspace, Path::new("a/b")).unwrap();
    assert!(open(&mut session, &mut workspace, "skill:s").is_err());
    concertina_runtime::check(&[world.path("work")], concertina_format::skill::Mode::Lenient);
    workspace.trust(&world.path("work")).unwrap();
    workspace.refresh();
    assert!(!Path::new(&mark).exists());
}

#[test]
fn x06_commands_of_a_skill_that_nobody_trusts_do_not_run_for_a_person_either() {
    let world = World::new();
    let more = "permissions:\n  execute: [\"touch ran\"]\n  write: [{paths: ['**']}]";
    world
        .write("work/.claude/skills/s/SKILL.md", skill_with("s", more, "Begin. !`touch ran` End."));
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    open_as(&mut session, &mut workspace, Origin::user(), "skill:s").unwrap();
    assert!(session.view().part(Part::Skills).contains("[not run: `touch ran`"));
    assert!(!world.path("work/ran").exists());
    workspace.trust(&world.path("work")).unwrap();
    session.turn(&mut workspace).unwrap();
    open_as(&mut session, &mut workspace, Origin::user(), "skill:s").unwrap();
    assert!(world.path("work/ran").exists());
}
