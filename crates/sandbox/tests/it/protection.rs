//! What stays as it is in a directory that may be written, whether it is there or not.

use std::fs;
use std::path::PathBuf;
use std::sync::Barrier;

use concertina_sandbox::{Confinement, SandboxError, run};
use libc::{EACCES, EBUSY, EEXIST, EISDIR, EPERM, EROFS, EXDEV};

use crate::scene::{Hold, Said, Scene, at, content, is_refusal, is_root, writing};

const HELD: &[i32] = &[EACCES, EPERM, EROFS, EBUSY, EEXIST, EISDIR, EXDEV];
const PROTECTED: &[&str] =
    &["w/.git/hooks", "w/.git/config", "w/.bashrc", "w/.mcp.json", "w/.concertina"];

fn confinement(scene: &Scene, hold: &Hold) -> Confinement {
    Confinement {
        protect: PROTECTED.iter().map(|name| scene.at(name)).collect(),
        ..scene.confinement(hold.tier)
    }
}

fn repository(scene: &Scene) {
    fs::create_dir_all(scene.at("w/.git/hooks")).unwrap();
    fs::write(scene.at("w/.git/config"), "[core]").unwrap();
    fs::write(scene.at("w/.git/HEAD"), "ref: refs/heads/main").unwrap();
}

#[test]
fn s38_what_is_absent_cannot_come_to_be() {
    for hold in writing("s38_what_is_absent_cannot_come_to_be") {
        let scene = Scene::new();
        let confinement = confinement(&scene, &hold);
        let before = content(&scene.at("w"));
        for attack in [
            &["create", "@w/.bashrc"][..],
            &["create", "@w/.mcp.json"],
            &["write", "@w/.mcp.json"],
            &["mkdir", "@w/.git"],
            &["mkdir", "@w/.git/hooks"],
            &["create", "@w/.git/config"],
            &["create", "@w/.concertina/concertina.toml"],
            &["symlink", "@w/.bashrc", "own"],
            &["rename", "@w/own", "@w/.bashrc"],
            &["exchange", "@w/own", "@w/.bashrc"],
            &["link", "@w/own", "@w/.mcp.json"],
            &["rmdir", "@w/.mcp.json"],
            &["rename", "@w/.mcp.json", "@w/moved"],
        ] {
            let said = scene.tries_with(&hold, &confinement, &at(&scene, attack));
            assert!(is_refusal(&said, HELD), "{}: {attack:?}: {said:?}", hold.name);
        }
        assert_eq!(content(&scene.at("w")), before, "{}: nothing is left behind", hold.name);
        for twin in [&["create", "@w/.bashrc2"][..], &["mkdir", "@w/git"]] {
            let said = scene.tries_with(&hold, &confinement, &at(&scene, twin));
            assert_eq!(said, Said::Open, "{}: {twin:?}", hold.name);
        }
    }
}

#[test]
fn s38_what_is_there_stays_as_it_is() {
    for hold in writing("s38_what_is_there_stays_as_it_is") {
        let scene = Scene::new();
        repository(&scene);
        fs::write(scene.at("w/.bashrc"), "alias").unwrap();
        let confinement = confinement(&scene, &hold);
        for attack in [
            &["write", "@w/.bashrc"][..],
            &["truncate", "@w/.bashrc"],
            &["unlink", "@w/.bashrc"],
            &["chmod", "@w/.bashrc"],
            &["rename", "@w/.bashrc", "@w/moved"],
            &["rename", "@w/own", "@w/.bashrc"],
            &["exchange", "@w/own", "@w/.bashrc"],
            &["link", "@w/.bashrc", "@w/second"],
            &["create", "@w/.git/hooks/pre-commit"],
            &["write", "@w/.git/config"],
            // Another in the place of what is above it.
            &["replace", "@w/.git", "@w/.git/hooks/pre-commit"],
            &["exchange", "@w/.git", "@w/own"],
            &["replace", "@w/.git/hooks", "@w/.git/hooks/pre-commit"],
        ] {
            let said = scene.tries_with(&hold, &confinement, &at(&scene, attack));
            assert!(is_refusal(&said, HELD), "{}: {attack:?}: {said:?}", hold.name);
        }
        assert!(content(&scene.at("w/.git/hooks")).is_empty());
        assert_eq!(fs::read(scene.at("w/.git/config")).unwrap(), b"[core]");
        for twin in [
            &["write", "@w/.git/HEAD"][..],
            &["create", "@w/.git/index"],
            &["read", "@w/.git/config"],
            &["list", "@w/.git/hooks"],
        ] {
            let said = scene.tries_with(&hold, &confinement, &at(&scene, twin));
            assert_eq!(said, Said::Open, "{}: {twin:?}", hold.name);
        }
    }
}

/// What is protected whole, or above what may be written, wins over the grant.
#[test]
fn protection_wins_over_a_grant() {
    for hold in writing("protection_wins_over_a_grant") {
        for held in ["w", "."] {
            let scene = Scene::new();
            let mut confinement = confinement(&scene, &hold);
            confinement.protect.push(scene.at(held).components().collect());
            let said = scene.tries_with(&hold, &confinement, &["create", &scene.text("w/new")]);
            assert!(is_refusal(&said, HELD), "{}: {said:?}", hold.name);
        }
    }
}

/// A link cannot be held, so what could be put behind it is not granted at all.
#[test]
fn a_protected_link_is_an_error() {
    for hold in writing("a_protected_link_is_an_error") {
        let scene = Scene::new();
        std::os::unix::fs::symlink("own", scene.at("w/.bashrc")).unwrap();
        let confinement = confinement(&scene, &hold);
        let program = scene.program(&["create", &scene.text("w/new")]);
        let error = run(&hold.machine, &program, &confinement, None, &|| false).unwrap_err();
        assert_eq!(error.code(), "GRANT_UNUSABLE", "{error}");
        assert!(!scene.at("w/new").exists());
    }
}

/// Runs at the same time share what stands in, and the last one takes it away.
#[test]
fn runs_side_by_side_protect_the_same() {
    for hold in writing("runs_side_by_side_protect_the_same") {
        let scene = Scene::new();
        let confinement = confinement(&scene, &hold);
        let start = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..5 {
                        let attack = ["create", &scene.text("w/.mcp.json")];
                        let said = scene.tries_with(&hold, &confinement, &attack);
                        assert!(is_refusal(&said, HELD), "{}: {said:?}", hold.name);
                    }
                });
            }
        });
        let left: Vec<PathBuf> = content(&scene.at("w")).into_keys().collect();
        assert_eq!(left, [scene.at("w/other"), scene.at("w/own")], "{}", hold.name);
    }
}

/// A directory that somebody made is not taken for one that stands in, nor removed.
#[test]
fn an_empty_directory_of_somebody_else_stays() {
    for hold in writing("an_empty_directory_of_somebody_else_stays") {
        let scene = Scene::new();
        fs::create_dir(scene.at("w/.concertina")).unwrap();
        let confinement = confinement(&scene, &hold);
        let attack = ["create", &scene.text("w/.concertina/concertina.toml")];
        let said = scene.tries_with(&hold, &confinement, &attack);
        assert!(is_refusal(&said, HELD), "{}: {said:?}", hold.name);
        assert!(scene.at("w/.concertina").is_dir());
    }
}

/// Programs in a directory that may be written can be started, and not be changed.
#[test]
fn a_program_that_may_be_started_cannot_be_written() {
    for hold in writing("a_program_that_may_be_started_cannot_be_written") {
        let scene = Scene::new();
        fs::copy(scene.at("x/tool"), scene.at("w/tool")).unwrap();
        let mut confinement = scene.confinement(hold.tier);
        let tool = scene.text("w/tool");
        let said = scene.tries_with(&hold, &confinement, &["exec", &tool]);
        assert!(is_refusal(&said, &[EACCES]), "{}: {said:?}", hold.name);
        confinement.execute.push(scene.at("w/tool"));
        assert_eq!(scene.tries_with(&hold, &confinement, &["exec", &tool]), Said::Open);
        for attack in [["write", &tool], ["unlink", &tool]] {
            let said = scene.tries_with(&hold, &confinement, &attack);
            assert!(is_refusal(&said, HELD), "{}: {said:?}", hold.name);
        }
        // A directory that may be written whole cannot hold programs.
        confinement.execute.push(scene.at("w"));
        let program = scene.program(&["say"]);
        let result = run(&hold.machine, &program, &confinement, None, &|| false);
        assert!(matches!(result, Err(SandboxError::Grant { .. })), "{result:?}");
    }
}

/// Where the system's mounts are shared between views, as they usually are, those of a run are not.
#[test]
fn mounts_of_a_run_are_seen_by_nobody_else() {
    if !is_root() {
        eprintln!("skipped: mounts_of_a_run_are_seen_by_nobody_else: only root can share mounts");
        return;
    }
    // In a view of this thread's own, so that nothing else is shared.
    let test = || {
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
        let change = |flags| {
            let none = std::ptr::null();
            let done = unsafe { libc::mount(none, c"/".as_ptr(), none, flags, none.cast()) };
            assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        };
        change(libc::MS_REC | libc::MS_PRIVATE);
        change(libc::MS_REC | libc::MS_SHARED);
        let mounts = || fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        let before = mounts();
        assert!(before.contains("shared:"));
        for hold in writing("mounts_of_a_run_are_seen_by_nobody_else") {
            let scene = Scene::new();
            let confinement = confinement(&scene, &hold);
            // Long enough to be looked at from here while it runs.
            let program = scene.program(&["sleep", "1"]);
            std::thread::scope(|scope| {
                let run = scope
                    .spawn(|| run(&hold.machine, &program, &confinement, None, &|| false).unwrap());
                while !run.is_finished() {
                    assert_eq!(mounts(), before, "{}", hold.name);
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            });
        }
    };
    std::thread::scope(|scope| scope.spawn(test).join().unwrap());
}
