//! What a runaway gets: its limits, and no more.

use std::time::{Duration, Instant};

use concertina_sandbox::{Confinement, Limits, SandboxError, Tier, run};
use libc::{EAGAIN, EFBIG, ENOMEM, ENOSPC};

use crate::endings::assert_nobody_survives;
use crate::scene::{Hold, Said, Scene, holds, is_refusal, is_root};

fn limited(scene: &Scene, hold: &Hold, limits: impl Fn(&mut Limits)) -> Confinement {
    let mut confinement = scene.confinement(hold.tier);
    limits(&mut confinement.limits);
    confinement
}

#[test]
fn a_fork_bomb_goes_off_inside() {
    for hold in holds("a_fork_bomb_goes_off_inside") {
        let scene = Scene::new();
        let confinement = limited(&scene, &hold, |limits| {
            limits.processes = 20;
            limits.time = Duration::from_secs(1);
        });
        // Root without a process namespace has no limit but the machine's: that must not be tried.
        if is_root() && !(hold.machine.has_namespaces() && hold.machine.process_limit) {
            eprintln!("skipped: a_fork_bomb_goes_off_inside: root has no limit with {}", hold.name);
            continue;
        }
        let program = scene.program(&["bomb"]);
        let started = Instant::now();
        let result = run(&hold.machine, &program, &confinement, None, &|| false);
        assert!(matches!(result, Err(SandboxError::Timeout(_))), "{}: {result:?}", hold.name);
        assert!(started.elapsed() < Duration::from_secs(8), "{}", hold.name);
        assert_nobody_survives(&scene, Duration::from_millis(500), hold.name);
    }
}

#[test]
fn processes_are_counted_for_each_run() {
    if is_root() {
        eprintln!("skipped: processes_are_counted_for_each_run: root is not counted exactly");
        return;
    }
    for hold in holds("processes_are_counted_for_each_run") {
        let scene = Scene::new();
        let tool = scene.text("x/tool");
        let few = limited(&scene, &hold, |limits| limits.processes = 1);
        // A program that tells of its own end does not fork; with one more it may.
        let said = scene.tries_with(&hold, &few, &["fork", &tool]);
        assert!(
            is_refusal(&said, &[EAGAIN]) || !hold.machine.has_namespaces(),
            "{}: {said:?}",
            hold.name
        );
        let more = limited(&scene, &hold, |limits| limits.processes = 50);
        assert_eq!(scene.tries_with(&hold, &more, &["fork", &tool]), Said::Open, "{}", hold.name);
    }
}

#[test]
fn a_gigabyte_of_output_is_counted_and_dropped() {
    let scene = Scene::new();
    for hold in holds("a_gigabyte_of_output_is_counted_and_dropped") {
        if !matches!(hold.name, "L1" | "L2") {
            continue;
        }
        let confinement = limited(&scene, &hold, |limits| {
            limits.output = 1_000_000;
            limits.time = Duration::from_mins(1);
        });
        let gigabyte: u64 = 1 << 30;
        let program = scene.program(&["flood", &gigabyte.to_string()]);
        let started = Instant::now();
        let finished = run(&hold.machine, &program, &confinement, None, &|| false).unwrap();
        assert_eq!(finished.stdout.len(), 1_000_000);
        assert_eq!(finished.dropped, gigabyte - 1_000_000);
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

#[test]
fn memory_has_a_limit() {
    for hold in holds("memory_has_a_limit") {
        let scene = Scene::new();
        let confinement = limited(&scene, &hold, |limits| limits.memory = 500_000_000);
        let said = scene.tries_with(&hold, &confinement, &["eat", "600000000"]);
        assert!(is_refusal(&said, &[ENOMEM]), "{}: {said:?}", hold.name);
        let said = scene.tries_with(&hold, &confinement, &["eat", "100000000"]);
        assert_eq!(said, Said::Open, "{}", hold.name);
    }
}

#[test]
fn s52_a_file_has_a_limit() {
    for hold in holds("s52_a_file_has_a_limit") {
        if hold.tier == Tier::L1 {
            continue;
        }
        let scene = Scene::new();
        let confinement = limited(&scene, &hold, |limits| limits.file = 3 << 20);
        let path = scene.text("w/big");
        let said = scene.tries_with(&hold, &confinement, &["big", &path, "8000000"]);
        assert!(is_refusal(&said, &[EFBIG]), "{}: {said:?}", hold.name);
        assert_eq!(std::fs::metadata(scene.at("w/big")).unwrap().len(), 3 << 20);
        let said = scene.tries_with(&hold, &confinement, &["big", &path, "2000000"]);
        assert_eq!(said, Said::Open, "{}", hold.name);
    }
}

/// Temporary files are held in memory, so they have a limit of their own.
#[test]
fn s52_temporary_files_have_a_limit() {
    for hold in holds("s52_temporary_files_have_a_limit") {
        if hold.tier == Tier::L1 {
            continue;
        }
        let scene = Scene::new();
        let said = scene.tries(&hold, &["big", "/tmp/big", "400000000"]);
        assert!(is_refusal(&said, &[ENOSPC, EFBIG]), "{}: {said:?}", hold.name);
    }
}

#[test]
fn a_full_disk_is_the_programs_to_see() {
    if !is_root() {
        eprintln!("skipped: a_full_disk_is_the_programs_to_see: only root can mount a small disk");
        return;
    }
    // In a view of this thread's own: nobody else sees the small disk, and it ends with the thread.
    let test = || {
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
        let scene = Scene::new();
        let mount = |source: &std::ffi::CStr, target: &str, kind: *const i8, flags, data| {
            let target = std::ffi::CString::new(target).unwrap();
            let done = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, data) };
            assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        };
        let none = std::ptr::null();
        mount(c"none", "/", none, libc::MS_REC | libc::MS_PRIVATE, none.cast());
        let size = c"size=1m".as_ptr().cast();
        mount(c"tmpfs", &scene.text("w"), c"tmpfs".as_ptr(), 0, size);
        for hold in holds("a_full_disk_is_the_programs_to_see") {
            if hold.tier == Tier::L1 {
                continue;
            }
            let path = scene.text("w/all");
            let said = scene.tries(&hold, &["full", &path]);
            assert!(is_refusal(&said, &[ENOSPC]), "{}: {said:?}", hold.name);
            assert_eq!(scene.tries(&hold, &["unlink", &path]), Said::Open, "{}", hold.name);
        }
        let target = std::ffi::CString::new(scene.text("w")).unwrap();
        unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    };
    std::thread::scope(|scope| scope.spawn(test).join().unwrap());
}
