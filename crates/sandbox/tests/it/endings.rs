//! How a run ends: by itself, by a signal, by time, by a stop; and that nobody survives it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use concertina_sandbox::{Confinement, Limits, SandboxError, Tier, run};

use crate::scene::{Hold, Scene, content, holds, machine, nothing};

/// How soon after a run nobody may be left.
const SOON: Duration = Duration::from_millis(500);

/// Processes of this machine whose command line names the scene.
pub(crate) fn survivors(scene: &Scene) -> Vec<String> {
    let name = scene.root.path().to_str().unwrap().to_owned();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&name) && line.contains("x/attack"))
        .collect()
}

/// Waits until nobody is left, but not for long.
pub(crate) fn assert_nobody_survives(scene: &Scene, within: Duration, what: &str) {
    let until = Instant::now() + within;
    while !survivors(scene).is_empty() {
        assert!(Instant::now() < until, "{what}: {:?}", survivors(scene));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn short(hold: &Hold, scene: &Scene, time: Duration) -> Confinement {
    let confinement = scene.confinement(hold.tier);
    Confinement { limits: Limits { time, ..confinement.limits.clone() }, ..confinement }
}

#[test]
fn an_exit_code_is_that_of_the_program() {
    for hold in holds("an_exit_code_is_that_of_the_program") {
        let scene = Scene::new();
        for code in [0, 1, 3, 127, 255] {
            let finished = scene.run(&hold, &["exit", &code.to_string()]).unwrap();
            assert_eq!(finished.exit, code, "{}", hold.name);
        }
    }
}

#[test]
fn a_signal_is_128_and_its_number() {
    for hold in holds("a_signal_is_128_and_its_number") {
        // Where no signal can be sent, not even to oneself, there is none to die of.
        if hold.name == "L1 without namespaces, with Landlock 3" {
            continue;
        }
        let scene = Scene::new();
        for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGABRT] {
            let finished = scene.run(&hold, &["die", &signal.to_string()]).unwrap();
            assert_eq!(finished.exit, 128 + signal, "{}", hold.name);
        }
    }
}

#[test]
fn output_and_errors_are_apart() {
    for hold in holds("output_and_errors_are_apart") {
        let scene = Scene::new();
        let finished = scene.run(&hold, &["print", "one", "two words"]).unwrap();
        assert_eq!(finished.stdout, b"one\ntwo words\n", "{}", hold.name);
        assert_eq!(finished.stderr, b"", "{}", hold.name);
        assert_eq!(finished.dropped, 0);
        assert_eq!(finished.held.tier, hold.tier);
    }
}

#[test]
fn a_program_that_takes_too_long_is_stopped() {
    for hold in holds("a_program_that_takes_too_long_is_stopped") {
        let scene = Scene::new();
        let time = Duration::from_millis(200);
        for attack in [&["sleep", "30"][..], &["spin"], &["hide", "30"]] {
            let started = Instant::now();
            let confinement = short(&hold, &scene, time);
            let result = run(&hold.machine, &scene.program(attack), &confinement, None, &|| false);
            assert!(matches!(result, Err(SandboxError::Timeout(_))), "{}: {result:?}", hold.name);
            assert!(started.elapsed() < time + Duration::from_secs(2), "{}", hold.name);
            assert_nobody_survives(&scene, SOON, hold.name);
        }
    }
}

#[test]
fn a_program_is_stopped_on_demand() {
    for hold in holds("a_program_is_stopped_on_demand") {
        let scene = Scene::new();
        let started = Instant::now();
        let is_stopped = || started.elapsed() > Duration::from_millis(100);
        let program = scene.program(&["hide", "30"]);
        let confinement = scene.confinement(hold.tier);
        let result = run(&hold.machine, &program, &confinement, None, &is_stopped);
        assert!(matches!(result, Err(SandboxError::Cancelled)), "{}: {result:?}", hold.name);
        assert_nobody_survives(&scene, SOON, hold.name);
    }
}

/// Whoever asks whether to stop may fail, too.
#[test]
fn a_caller_that_panics_leaves_nobody() {
    for hold in holds("a_caller_that_panics_leaves_nobody") {
        let scene = Scene::new();
        let program = scene.program(&["hide", "30"]);
        let confinement = scene.confinement(hold.tier);
        let result = std::panic::catch_unwind(|| {
            run(&hold.machine, &program, &confinement, None, &|| panic!("on purpose"))
        });
        assert!(result.is_err());
        assert_nobody_survives(&scene, SOON, hold.name);
    }
}

#[test]
fn s46_who_hides_in_a_session_of_their_own_does_not_survive() {
    for hold in holds("s46_who_hides_in_a_session_of_their_own_does_not_survive") {
        let scene = Scene::new();
        // The program ends at once; what it left behind must end with it.
        let finished = scene.run(&hold, &["hide", "0", &scene.text("w/mark")]).unwrap();
        assert_eq!(finished.exit, 0);
        assert_eq!(survivors(&scene), Vec::<String>::new(), "{}", hold.name);
        let before = content(&scene.at("w"));
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(content(&scene.at("w")), before, "{}", hold.name);
    }
}

#[test]
fn a_pipe_that_a_grandchild_holds_does_not_delay_the_end() {
    for hold in holds("a_pipe_that_a_grandchild_holds_does_not_delay_the_end") {
        let scene = Scene::new();
        let started = Instant::now();
        scene.run(&hold, &["hide", "0"]).unwrap();
        assert!(started.elapsed() < Duration::from_secs(3), "{}", hold.name);
    }
}

/// Without a process namespace of which it is the first, or with Landlock that knows no signals, the
/// process that keeps the program can be reached by it. It then ends, and the program with it.
#[test]
fn who_attacks_the_keeper_ends_their_own_run() {
    for hold in holds("who_attacks_the_keeper_ends_their_own_run") {
        for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGSTOP] {
            let scene = Scene::new();
            let program = scene.program(&["kill", "1", &signal.to_string()]);
            let confinement = short(&hold, &scene, Duration::from_secs(2));
            let _ = run(&hold.machine, &program, &confinement, None, &|| false);
            assert_nobody_survives(&scene, SOON, hold.name);
        }
    }
}

#[test]
fn after_200_time_outs_nobody_is_left() {
    let scene = Scene::new();
    let tiers = [Tier::L1, Tier::L2, Tier::L3];
    let usable = holds("after_200_time_outs_nobody_is_left");
    let next = AtomicUsize::new(0);
    let timed_out = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < 200 {
                    let index = next.load(Ordering::Relaxed);
                    let tier = tiers[index % tiers.len()];
                    let Some(hold) = usable.iter().find(|hold| hold.tier == tier) else { continue };
                    let confinement = short(hold, &scene, Duration::from_millis(40));
                    let program = scene.program(&["hide", "30"]);
                    let result = run(&hold.machine, &program, &confinement, None, &|| false);
                    assert!(matches!(result, Err(SandboxError::Timeout(_))), "{result:?}");
                    timed_out.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(timed_out.load(Ordering::Relaxed) >= 200 / tiers.len());
    assert_nobody_survives(&scene, SOON, "after 200 time-outs");
}

/// Names the scene for a process that runs a program and is killed.
const RUNTIME: &str = "CONCERTINA_SANDBOX_RUNTIME";

/// Not a test of its own: what [`s47_who_loses_their_runtime_does_not_survive`] starts and kills.
#[test]
fn a_runtime_that_will_be_killed() {
    let Ok(words) = std::env::var(RUNTIME) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let [scene, number] = words.as_slice() else { panic!("{words:?}") };
    let hold = &holds("a_runtime_that_will_be_killed")[number.parse::<usize>().unwrap()];
    let at = |name: &str| Path::new(scene).join(name);
    let program = concertina_sandbox::Program {
        argv: vec![at("x/attack").to_str().unwrap().to_owned(), "hide".into(), "30".into()],
        directory: at("r"),
        environment: vec![],
    };
    let confinement = Confinement {
        write: if hold.tier > Tier::L1 { vec![at("w")] } else { vec![] },
        execute: vec![at("x/attack")],
        protect: vec![at("w/.git/hooks")],
        at_least: hold.tier,
        ..nothing()
    };
    let _ = run(&hold.machine, &program, &confinement, None, &|| false);
}

fn runtime(scene: &Scene, index: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "endings::a_runtime_that_will_be_killed"])
        .env(RUNTIME, format!("{} {index}", scene.root.path().display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn s47_who_loses_their_runtime_does_not_survive() {
    for (index, hold) in holds("s47_who_loses_their_runtime_does_not_survive").iter().enumerate() {
        let scene = Scene::new();
        let mut runtime = runtime(&scene, index);
        // The program and its grandchild.
        let until = Instant::now() + Duration::from_secs(10);
        while survivors(&scene).len() < 2 {
            assert!(Instant::now() < until, "{}: never started", hold.name);
            std::thread::sleep(Duration::from_millis(5));
        }
        runtime.kill().unwrap();
        runtime.wait().unwrap();
        assert_nobody_survives(&scene, Duration::from_secs(1), hold.name);
        // Nor does what stood in for a protected path.
        let until = Instant::now() + SOON;
        while scene.at("w/.git").exists() {
            assert!(Instant::now() < until, "{}: a placeholder is left", hold.name);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_run_says_what_was_missing() {
    let scene = Scene::new();
    let mut program = scene.program(&[]);
    program.argv = vec!["no-such-program".into()];
    let confinement = scene.confinement(Tier::L1);
    let error = run(machine(), &program, &confinement, None, &|| false).unwrap_err();
    assert_eq!(error.code(), "NOT_STARTED");
    assert!(error.to_string().contains("no-such-program"), "{error}");

    let mut program = scene.program(&["say"]);
    program.directory = scene.at("nowhere");
    let error = run(machine(), &program, &confinement, None, &|| false).unwrap_err();
    assert_eq!(error.code(), "NO_DIRECTORY");

    let mut program = scene.program(&["say"]);
    program.argv = vec![scene.text("o/tool"), "say".into()];
    let error = run(machine(), &program, &confinement, None, &|| false).unwrap_err();
    assert_eq!(error.code(), "NOT_STARTED");
    assert!(error.to_string().contains("not among the programs"), "{error}");

    // A file of the right kind and the wrong content.
    std::fs::write(scene.at("x/garbage"), "no program").unwrap();
    let mut program = scene.program(&[]);
    program.argv = vec![scene.text("x/garbage")];
    let mut confinement = scene.confinement(Tier::L1);
    confinement.execute.push(scene.at("x/garbage"));
    let error = run(machine(), &program, &confinement, None, &|| false).unwrap_err();
    assert_eq!(error.code(), "NOT_STARTED");
}
