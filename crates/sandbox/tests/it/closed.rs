//! What is closed in a directory that may be written, which itself stays writable.

use std::fs;
use std::path::Path;

use concertina_sandbox::{Confinement, Tier, run};
use libc::{EACCES, EBUSY, EEXIST, EISDIR, ENOTDIR, EPERM, EROFS, EXDEV};

use crate::scene::{Hold, Said, Scene, at, content, is_refusal, is_root, writing};

const CLOSED: &[i32] = &[EACCES, EPERM, EROFS, EBUSY, EEXIST, EISDIR, ENOTDIR, EXDEV];

/// A workspace with secrets in it, one of them absent.
fn scene(below: &Path) -> Scene {
    let scene = Scene::below(below);
    fs::create_dir_all(scene.at("w/sub/deep")).unwrap();
    fs::create_dir(scene.at("w/private")).unwrap();
    for name in ["w/secrets.env", "w/sub/deep/key.pem", "w/private/diary"] {
        fs::write(scene.at(name), "hush").unwrap();
    }
    for (name, target) in [("w/lead", "secrets.env"), ("w/link.pem", "own"), ("w/in", "private")] {
        std::os::unix::fs::symlink(target, scene.at(name)).unwrap();
    }
    scene
}

fn confinement(scene: &Scene, hold: &Hold) -> Confinement {
    let closed =
        ["secrets.env", "sub/deep/key.pem", "private", "private/diary", "link.pem", "absent.env"];
    Confinement {
        read: vec![scene.at("r"), scene.at("w")],
        closed: closed.iter().map(|name| scene.at("w").join(name)).collect(),
        ..scene.confinement(hold.tier)
    }
}

const ATTACKS: &[&[&str]] = &[
    &["read", "@w/secrets.env"],
    &["opened", "@w/secrets.env"],
    &["read", "@w/./sub/../secrets.env"],
    &["read", "@w/lead"],
    &["read", "@w/sub/deep/key.pem"],
    &["list", "@w/private"],
    &["read", "@w/private/diary"],
    &["read", "@w/in/diary"],
    &["create", "@w/private/new"],
    &["read", "@w/link.pem"],
    &["unlink", "@w/link.pem"],
    &["write", "@w/secrets.env"],
    &["write", "@w/lead"],
    &["truncate", "@w/secrets.env"],
    &["chmod", "@w/secrets.env"],
    &["chmod", "@w/private"],
    &["chown", "@w/secrets.env"],
    &["utimes", "@w/secrets.env"],
    &["exec", "@w/secrets.env"],
    // Another name for the same file.
    &["link", "@w/secrets.env", "@w/second"],
    &["link", "@w/sub/deep/key.pem", "@w/sub/deep/second"],
    &["link", "@w/private/diary", "@w/second"],
    // Its name for another file.
    &["unlink", "@w/secrets.env"],
    &["rename", "@w/secrets.env", "@w/moved"],
    &["rename", "@w/own", "@w/secrets.env"],
    &["exchange", "@w/own", "@w/secrets.env"],
    &["rename", "@w/private", "@w/moved"],
    &["rmdir", "@w/private"],
    &["create", "@w/absent.env"],
    &["mkdir", "@w/absent.env"],
    &["rename", "@w/own", "@w/absent.env"],
    // Another directory in the place of one above it.
    &["rename", "@w/sub", "@w/moved"],
    &["exchange", "@w/sub", "@w/private"],
    &["replace", "@w/sub", "@w/sub/deep/key.pem"],
    &["replace", "@w/sub/deep", "@w/sub/deep/key.pem"],
    // What lies over it.
    &["unmount", "@w/secrets.env"],
    &["bind", "@w/own", "@w/secrets.env"],
];

const TWINS: &[&[&str]] = &[
    &["create", "@w/new"],
    &["mkdir", "@w/made"],
    &["write", "@w/own"],
    &["read", "@w/own"],
    &["link", "@w/own", "@w/second-own"],
    &["rename", "@w/other", "@w/moved-other"],
    &["create", "@w/sub/new"],
    &["create", "@w/sub/deep/new.pem"],
    &["unlink", "@w/lead"],
    &["list", "@w"],
    &["list", "@w/sub/deep"],
];

#[test]
fn what_is_closed_cannot_be_reached_and_its_directory_can_be_written() {
    // Also where the view has a directory of its own for temporary files.
    for below in ["/var/tmp", "/tmp"] {
        for hold in writing("what_is_closed_cannot_be_reached_and_its_directory_can_be_written") {
            let scene = scene(Path::new(below));
            let confinement = confinement(&scene, &hold);
            let before = content(&scene.at("w"));
            for attack in ATTACKS {
                let said = scene.tries_with(&hold, &confinement, &at(&scene, attack));
                assert!(is_refusal(&said, CLOSED), "{}: {attack:?}: {said:?}", hold.name);
            }
            assert_eq!(content(&scene.at("w")), before, "{}: nothing has changed", hold.name);
            for twin in TWINS {
                let said = scene.tries_with(&hold, &confinement, &at(&scene, twin));
                assert_eq!(said, Said::Open, "{}: {twin:?}", hold.name);
            }
            // What was written is there afterwards.
            assert!(scene.at("w/new").is_file() && scene.at("w/made").is_dir(), "{}", hold.name);
            assert_eq!(fs::read(scene.at("w/secrets.env")).unwrap(), b"hush");
        }
    }
}

/// Attacks on what is closed work where nothing is.
#[test]
fn the_attacks_on_what_is_closed_are_real() {
    for hold in writing("the_attacks_on_what_is_closed_are_real") {
        // Refused whatever is closed.
        let always = ["chown", "exec", "unmount", "bind", "rmdir"];
        for attack in ATTACKS.iter().filter(|attack| !always.contains(&attack[0])) {
            let scene = scene(Path::new("/var/tmp"));
            let open = Confinement { closed: vec![], ..confinement(&scene, &hold) };
            let said = scene.tries_with(&hold, &open, &at(&scene, attack));
            assert_eq!(said, Said::Open, "{}: {attack:?}", hold.name);
        }
    }
}

/// What a program is to start or was given to read by name stays so, in a closed directory as well.
#[test]
fn what_is_named_in_a_closed_directory_can_be_read_and_nothing_beside_it() {
    for hold in writing("what_is_named_in_a_closed_directory_can_be_read_and_nothing_beside_it") {
        let scene = scene(Path::new("/var/tmp"));
        fs::create_dir_all(scene.at("w/private/bin")).unwrap();
        fs::copy(scene.at("x/tool"), scene.at("w/private/bin/tool")).unwrap();
        fs::write(scene.at("w/private/note"), "ahoy").unwrap();
        let mut confinement = confinement(&scene, &hold);
        confinement.read.push(scene.at("w/private/note"));
        confinement.execute.push(scene.at("w/private/bin"));
        for twin in [&["read", "@w/private/note"][..], &["exec", "@w/private/bin/tool"]] {
            let said = scene.tries_with(&hold, &confinement, &at(&scene, twin));
            assert_eq!(said, Said::Open, "{}: {twin:?}", hold.name);
        }
        for attack in [
            &["read", "@w/private/diary"][..],
            &["write", "@w/private/note"],
            &["create", "@w/private/new"],
            &["create", "@w/private/bin/new"],
            &["write", "@w/private/bin/tool"],
            &["unlink", "@w/private/note"],
            &["rename", "@w/private", "@w/moved"],
        ] {
            let said = scene.tries_with(&hold, &confinement, &at(&scene, attack));
            assert!(is_refusal(&said, CLOSED), "{}: {attack:?}: {said:?}", hold.name);
        }
    }
}

/// A directory that may be written inside another one cannot be exchanged either.
#[test]
fn a_directory_between_two_that_may_be_written_stays_where_it_is() {
    for hold in writing("a_directory_between_two_that_may_be_written_stays_where_it_is") {
        let scene = scene(Path::new("/var/tmp"));
        let mut confinement = confinement(&scene, &hold);
        confinement.write.push(scene.at("w/sub"));
        confinement.protect.push(scene.at("w/sub/.bashrc"));
        for attack in [
            &["rename", "@w/sub", "@w/moved"][..],
            &["replace", "@w/sub", "@w/sub/.bashrc"],
            &["replace", "@w/sub", "@w/sub/deep/key.pem"],
        ] {
            let said = scene.tries_with(&hold, &confinement, &at(&scene, attack));
            assert!(is_refusal(&said, CLOSED), "{}: {attack:?}: {said:?}", hold.name);
        }
    }
}

/// The same directory mounted at a second place shows the same files.
#[test]
fn what_is_closed_is_closed_wherever_it_is_mounted() {
    if !is_root() {
        eprintln!("skipped: what_is_closed_is_closed_wherever_it_is_mounted: only root can mount");
        return;
    }
    let test = || {
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
        let mount = |from: &Path, to: &Path, flags| {
            let [from, to] =
                [from, to].map(|path| std::ffi::CString::new(path.to_str().unwrap()).unwrap());
            let none = std::ptr::null();
            let done = unsafe { libc::mount(from.as_ptr(), to.as_ptr(), none, flags, none.cast()) };
            assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        };
        mount(Path::new("none"), Path::new("/"), libc::MS_REC | libc::MS_PRIVATE);
        for hold in writing("what_is_closed_is_closed_wherever_it_is_mounted") {
            let scene = scene(Path::new("/var/tmp"));
            let second = scene.at("o/sec ond");
            fs::create_dir(&second).unwrap();
            mount(&scene.at("w"), &second, libc::MS_BIND);
            let confinement = confinement(&scene, &hold);
            for name in ["secrets.env", "sub/deep/key.pem", "private/diary"] {
                let path = second.join(name);
                let attack = ["read", path.to_str().unwrap()];
                let said = scene.tries_with(&hold, &confinement, &attack);
                let refused = [CLOSED, &[libc::ENOENT]].concat();
                assert!(is_refusal(&said, &refused), "{}: {attack:?}: {said:?}", hold.name);
                if hold.tier == Tier::L2 {
                    let open = Confinement { closed: vec![], ..confinement.clone() };
                    assert_eq!(scene.tries_with(&hold, &open, &attack), Said::Open);
                }
            }
            let path = std::ffi::CString::new(second.to_str().unwrap()).unwrap();
            assert_eq!(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) }, 0);
        }
    };
    std::thread::scope(|scope| scope.spawn(test).join().unwrap());
}

#[test]
fn too_many_closed_files_are_an_error_that_says_what_to_do() {
    for hold in writing("too_many_closed_files_are_an_error_that_says_what_to_do") {
        let scene = Scene::new();
        for number in 0..4_001 {
            fs::write(scene.at(&format!("w/{number}.pem")), "hush").unwrap();
        }
        let closed =
            |count| (0..count).map(|number| scene.at(&format!("w/{number}.pem"))).collect();
        let all = Confinement { closed: closed(4_001), ..scene.confinement(hold.tier) };
        let program = scene.program(&["create", &scene.text("w/new")]);
        let error = run(&hold.machine, &program, &all, None, &|| false).unwrap_err();
        assert_eq!(error.code(), "GRANT_UNUSABLE", "{error}");
        assert!(error.to_string().contains("4000") && !scene.at("w/new").exists(), "{error}");
        let most = Confinement { closed: closed(4_000), ..all };
        let said = scene.tries_with(&hold, &most, &["read", &scene.text("w/3999.pem")]);
        assert!(is_refusal(&said, CLOSED), "{}: {said:?}", hold.name);
        let said = scene.tries_with(&hold, &most, &["create", &scene.text("w/new")]);
        assert_eq!(said, Said::Open, "{}", hold.name);
    }
}

#[test]
fn what_may_be_written_cannot_be_closed_at_once() {
    for hold in writing("what_may_be_written_cannot_be_closed_at_once") {
        let scene = Scene::new();
        for closed in ["w", "."] {
            let closed = vec![scene.at(closed).components().collect()];
            let confinement = Confinement { closed, ..scene.confinement(hold.tier) };
            let program = scene.program(&["say"]);
            let error = run(&hold.machine, &program, &confinement, None, &|| false).unwrap_err();
            assert_eq!(error.code(), "GRANT_UNUSABLE", "{error}");
        }
    }
}

/// An editor that saves a closed file renames another over it, and with the old one goes what hid it.
#[test]
fn a_closed_file_that_is_replaced_from_outside_ends_the_run() {
    for hold in writing("a_closed_file_that_is_replaced_from_outside_ends_the_run") {
        for name in ["w/secrets.env", "w/private", "w/link.pem"] {
            let scene = scene(Path::new("/var/tmp"));
            let confinement = confinement(&scene, &hold);
            let program = scene.program(&["sleep", "15"]);
            let result = std::thread::scope(|scope| {
                let start = || run(&hold.machine, &program, &confinement, None, &|| false);
                let run = scope.spawn(start);
                let mut number = 0;
                while !run.is_finished() {
                    number += 1;
                    let old = scene.at(&format!("o/old-{number}"));
                    fs::rename(scene.at(name), old).unwrap();
                    fs::write(scene.at(name), "new").unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                run.join().unwrap()
            });
            let error = result.unwrap_err();
            // It may also be gone at the very moment in which it is looked for.
            let is_known = ["CLOSED_REPLACED", "GRANT_UNUSABLE", "NOT_STARTED"];
            assert!(is_known.contains(&error.code()), "{}: {name}: {error}", hold.name);
        }
    }
}

/// What else becomes of it outside ends nothing.
#[test]
fn a_closed_file_that_is_touched_or_written_outside_ends_nothing() {
    for hold in writing("a_closed_file_that_is_touched_or_written_outside_ends_nothing") {
        let scene = scene(Path::new("/var/tmp"));
        let confinement = confinement(&scene, &hold);
        let program = scene.program(&["sleep", "1"]);
        let finished = std::thread::scope(|scope| {
            let start = || run(&hold.machine, &program, &confinement, None, &|| false);
            let run = scope.spawn(start);
            while !run.is_finished() {
                fs::write(scene.at("w/secrets.env"), "more").unwrap();
                fs::hard_link(scene.at("w/secrets.env"), scene.at("o/second")).unwrap();
                fs::remove_file(scene.at("o/second")).unwrap();
                fs::write(scene.at("w/private/new"), "more").unwrap();
            }
            run.join().unwrap()
        });
        assert_eq!(finished.unwrap().exit, 0, "{}", hold.name);
    }
}

/// A directory of the view that only leads to what was granted takes nothing: it would be lost.
#[test]
fn nothing_is_written_where_it_would_be_lost() {
    for hold in writing("nothing_is_written_where_it_would_be_lost") {
        let scene = Scene::below(Path::new("/tmp"));
        let said = scene.tries(&hold, &["write", &scene.text("lost")]);
        assert!(is_refusal(&said, CLOSED), "{}: {said:?}", hold.name);
        let said = scene.tries(&hold, &["write", &scene.text("w/kept")]);
        assert_eq!(said, Said::Open, "{}", hold.name);
        assert!(scene.at("w/kept").exists());
    }
}
