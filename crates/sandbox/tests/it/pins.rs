//! Files that run as they were approved, or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use concertina_sandbox::{Confinement, Pin, Program, SandboxError, Tier, run};
use concertina_types::Digest;

use crate::scene::{Hold, Said, Scene, holds, is_refusal};

const REFUSED: &[i32] = &[libc::EACCES, libc::EPERM, libc::ENOENT, libc::EROFS];

/// Every tier is raised to the one that can keep approved files.
fn all_holds(test: &str) -> Vec<Hold> {
    holds(test).into_iter().filter(|hold| hold.machine.has_namespaces()).collect()
}

/// A script whose interpreter prints it.
fn script(scene: &Scene, words: &str) -> Vec<u8> {
    format!("#!{} cat\n{words}\n", scene.text("x/attack")).into_bytes()
}

fn put(at: &Path, bytes: &[u8]) {
    fs::write(at, bytes).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
}

fn confinement(scene: &Scene, hold: &Hold, script: &str, bytes: &[u8]) -> Confinement {
    let mut confinement = scene.confinement(hold.tier);
    confinement.execute.push(scene.at(script));
    confinement.pins = vec![Pin { path: scene.at(script), digest: Digest::of(bytes) }];
    confinement
}

fn started(scene: &Scene, script: &str) -> Program {
    Program { argv: vec![scene.text(script)], directory: scene.at("r"), environment: vec![] }
}

#[test]
fn s61_an_approved_file_runs_and_a_changed_one_does_not() {
    for hold in all_holds("s61_an_approved_file_runs_and_a_changed_one_does_not") {
        for (place, writes) in [("r/script", false), ("w/script", true), ("w/deep/er/script", true)]
        {
            let scene = Scene::new();
            fs::create_dir_all(scene.at("w/deep/er")).unwrap();
            let bytes = script(&scene, "approved");
            put(&scene.at(place), &bytes);
            let mut confinement = confinement(&scene, &hold, place, &bytes);
            if writes {
                confinement.write = vec![scene.at("w")];
            }
            let program = started(&scene, place);
            let finished = run(&hold.machine, &program, &confinement, None, &|| false).unwrap();
            assert!(finished.stdout.starts_with(&bytes), "{}: {place}: {finished:?}", hold.name);
            assert_eq!(finished.held.tier, Tier::L3);

            // What others may write is run from where only this program is.
            let printed = scene.program(&["print", &scene.text(place)]);
            let printed = run(&hold.machine, &printed, &confinement, None, &|| false).unwrap();
            assert_eq!(printed.stdout.starts_with(b"/.approved/"), writes, "{printed:?}");

            // By its interpreter, with a path that is relative to the directory.
            let mut by_interpreter = scene.program(&["cat", &format!("../{place}")]);
            by_interpreter.argv[2] = scene.text(place);
            let finished =
                run(&hold.machine, &by_interpreter, &confinement, None, &|| false).unwrap();
            assert!(finished.stdout.starts_with(&bytes), "{}: {place}: {finished:?}", hold.name);

            // One byte more.
            put(&scene.at(place), &[bytes.as_slice(), b"x"].concat());
            let error = run(&hold.machine, &program, &confinement, None, &|| false).unwrap_err();
            assert_eq!(error.code(), "APPROVED_CHANGED", "{error}");
        }
    }
}

/// What lies beside an approved file is seen as it is.
#[test]
fn the_neighbours_of_an_approved_file_are_there() {
    for hold in all_holds("the_neighbours_of_an_approved_file_are_there") {
        let scene = Scene::new();
        fs::create_dir_all(scene.at("r/skill/scripts/lib")).unwrap();
        fs::write(scene.at("r/skill/scripts/lib/part"), "part").unwrap();
        fs::write(scene.at("r/skill/beside"), "beside").unwrap();
        std::os::unix::fs::symlink("../beside", scene.at("r/skill/scripts/link")).unwrap();
        let bytes = script(&scene, "approved");
        put(&scene.at("r/skill/scripts/run"), &bytes);
        let confinement = confinement(&scene, &hold, "r/skill/scripts/run", &bytes);
        for seen in ["scripts/run", "scripts/lib/part", "beside", "scripts/link"] {
            let path = scene.text(&format!("r/skill/{seen}"));
            let said = scene.tries_with(&hold, &confinement, &["read", &path]);
            assert_eq!(said, Said::Open, "{}: {seen}", hold.name);
        }
        for attack in [["write", "r/skill/scripts/run"], ["write", "r/skill/beside"]] {
            let path = scene.text(attack[1]);
            let said = scene.tries_with(&hold, &confinement, &[attack[0], &path]);
            assert!(is_refusal(&said, REFUSED), "{}: {attack:?}", hold.name);
        }
        // What only lies beside it cannot be started.
        fs::copy(scene.at("x/tool"), scene.at("r/skill/scripts/tool")).unwrap();
        let path = scene.text("r/skill/scripts/tool");
        let said = scene.tries_with(&hold, &confinement, &["exec", &path]);
        assert!(is_refusal(&said, REFUSED), "{}", hold.name);
    }
}

/// What is approved in a directory that may be written opens no way to start what was written there.
#[test]
fn an_approved_file_lends_its_rights_to_nobody() {
    for hold in all_holds("an_approved_file_lends_its_rights_to_nobody") {
        let scene = Scene::new();
        let bytes = script(&scene, "approved");
        put(&scene.at("w/script"), &bytes);
        fs::create_dir(scene.at("w/dir")).unwrap();
        fs::copy(scene.at("x/tool"), scene.at("w/dir/evil")).unwrap();
        let mut confinement = confinement(&scene, &hold, "w/script", &bytes);
        confinement.write = vec![scene.at("w")];
        for path in [scene.text("w/dir/evil"), format!("/.approved{}", scene.text("w/dir/evil"))] {
            for attack in ["exec", "load"] {
                let said = scene.tries_with(&hold, &confinement, &[attack, &path]);
                assert!(is_refusal(&said, REFUSED), "{}: {attack} {path}", hold.name);
            }
        }
        let path = format!("/.approved{}", scene.text("w/own"));
        let said = scene.tries_with(&hold, &confinement, &["write", &path]);
        assert!(is_refusal(&said, REFUSED), "{}", hold.name);
        let path = scene.text("w/own");
        let said = scene.tries_with(&hold, &confinement, &["write", &path]);
        assert_eq!(said, Said::Open, "{}", hold.name);
    }
}

/// Ends the other thread when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Exchanged again and again while it is approved, started and read: by a rename, and in place.
#[test]
fn s56_a_script_that_changes_meanwhile_never_runs_unapproved() {
    const SWAPS: usize = 10_000;
    const RUNS: usize = 60;
    /// Now and then it rests as it was approved, for longer than a busy machine takes to start it:
    /// whoever never gets to run proves nothing.
    const BURST: usize = 200;
    const REST: Duration = Duration::from_millis(60);
    for hold in all_holds("s56_a_script_that_changes_meanwhile_never_runs_unapproved") {
        if hold.name != "L3" {
            continue;
        }
        for place in ["r/skill/script", "w/script"] {
            let scene = Scene::new();
            fs::create_dir_all(scene.at("r/skill")).unwrap();
            let approved = script(&scene, "approved");
            let evil = script(&scene, "evil");
            put(&scene.at(place), &approved);
            let mut confinement = confinement(&scene, &hold, place, &approved);
            confinement.write = vec![scene.at("w")];
            let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
            let (mut tries, mut ran, mut refused) = (0, 0, 0);
            std::thread::scope(|scope| {
                // However this ends: the other thread is waited for.
                let _end = End(&is_over);
                scope.spawn(|| {
                    let next = scene.at("o/next");
                    while !is_over.load(Ordering::Relaxed) {
                        for bytes in [&evil, &approved] {
                            put(&next, bytes);
                            fs::rename(&next, scene.at(place)).unwrap();
                        }
                        put(&scene.at(place), &evil);
                        put(&scene.at(place), &approved);
                        let so_far = swaps.fetch_add(4, Ordering::Relaxed);
                        if so_far % BURST == 0 {
                            std::thread::sleep(REST);
                        }
                    }
                });
                let is_enough = |tries: usize, ran: usize| {
                    let swaps = swaps.load(Ordering::Relaxed);
                    tries >= RUNS && swaps >= SWAPS && (ran > 0 || tries >= 20 * RUNS)
                };
                while !is_enough(tries, ran) {
                    tries += 1;
                    let program = started(&scene, place);
                    match run(&hold.machine, &program, &confinement, None, &|| false) {
                        Ok(finished) => {
                            assert!(finished.stdout.starts_with(&approved), "{finished:?}");
                            assert!(!String::from_utf8_lossy(&finished.stdout).contains("evil"));
                            ran += 1;
                        }
                        Err(SandboxError::Changed { .. }) => refused += 1,
                        // While it was written it was no script, or not there.
                        Err(error) => assert!(
                            matches!(error.code(), "NOT_STARTED" | "GRANT_UNUSABLE"),
                            "{error}"
                        ),
                    }
                }
            });
            assert!(ran > 0, "{place}: it never ran, so it proves nothing ({refused} refused)");
        }
    }
}

/// What lies beside an approved file is shown with it, but for what is closed.
#[test]
fn what_is_closed_beside_an_approved_file_stays_closed() {
    for hold in all_holds("what_is_closed_beside_an_approved_file_stays_closed") {
        let scene = Scene::new();
        fs::create_dir_all(scene.at("w/deep/er")).unwrap();
        fs::create_dir(scene.at("w/beside")).unwrap();
        for name in ["w/deep/key", "w/deep/er/key", "w/beside/key", "w/beside/open"] {
            fs::write(scene.at(name), "hush").unwrap();
        }
        let bytes = script(&scene, "approved");
        put(&scene.at("w/deep/script"), &bytes);
        let mut confinement = confinement(&scene, &hold, "w/deep/script", &bytes);
        confinement.write = vec![scene.at("w")];
        let keys = ["w/deep/key", "w/deep/er/key", "w/beside/key"];
        confinement.closed = keys.iter().map(|name| scene.at(name)).collect();
        let approved = |name: &str| format!("/.approved{}", scene.text(name));
        for key in keys {
            for path in [scene.text(key), approved(key)] {
                let said = scene.tries_with(&hold, &confinement, &["read", &path]);
                assert!(is_refusal(&said, REFUSED), "{}: {path}: {said:?}", hold.name);
            }
        }
        let said = scene.tries_with(&hold, &confinement, &["read", &approved("w/beside/open")]);
        assert_eq!(said, Said::Open, "{}", hold.name);
    }
}
