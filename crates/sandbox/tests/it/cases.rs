//! Cases that are about starting programs, and ways in which other products were broken.

use std::process::Command;

use concertina_sandbox::{
    Confinement, Namespaces, Network, Program, SandboxError, Tier, choose, run, started_by,
};
use libc::{EACCES, ENOENT, EPERM, EROFS};

use crate::scene::{Said, Scene, content, holds, is_refusal, machine, nothing};

const FILE: &[i32] = &[EACCES, EPERM, ENOENT, EROFS];

#[test]
fn s34_an_old_landlock_is_refused_and_never_silently_weaker() {
    let scene = Scene::new();
    for abi in [0, 1, 2] {
        let mut old = machine().clone();
        old.landlock = abi;
        for tier in [Tier::L1, Tier::L2, Tier::L3] {
            let confinement = scene.confinement(tier);
            let program = scene.program(&["truncate", &scene.text("o/trunc")]);
            let error = run(&old, &program, &confinement, None, &|| false).unwrap_err();
            assert_eq!(error.code(), "SANDBOX_UNAVAILABLE", "{error}");
            assert!(error.to_string().contains("Landlock"), "{error}");
        }
    }
    assert_eq!(std::fs::read(scene.at("o/trunc")).unwrap(), b"some words here");
}

#[test]
fn s34_no_tier_is_lowered_for_want_of_a_feature() {
    let mut bare = machine().clone();
    bare.namespaces = Namespaces::Absent { reason: "as a test".into() };
    let wants = [
        Confinement { write: vec!["/w".into()], ..nothing() },
        Confinement { network: Network::Domains(vec![]), ..nothing() },
        Confinement { at_least: Tier::L3, ..nothing() },
    ];
    for confinement in wants {
        let error = choose(&confinement, &bare).unwrap_err();
        assert_eq!(error.code(), "SANDBOX_UNAVAILABLE");
        assert!(error.to_string().contains("as a test"), "{error}");
    }
    let mut unfiltered = machine().clone();
    unfiltered.seccomp = false;
    assert!(matches!(choose(&nothing(), &unfiltered), Err(SandboxError::Unavailable { .. })));
}

#[test]
fn s53_the_environment_is_what_was_given() {
    for hold in holds("s53_the_environment_is_what_was_given") {
        let scene = Scene::new();
        let mut program = scene.program(&["variable", "GIVEN"]);
        program.environment = vec![("GIVEN".into(), "yes".into())];
        let confinement = scene.confinement(hold.tier);
        let given = run(&hold.machine, &program, &confinement, None, &|| false).unwrap();
        assert_eq!(given.stdout, b"open\n", "{}", hold.name);
        for (name, _) in std::env::vars() {
            let said = scene.tries(&hold, &["variable", &name]);
            assert!(is_refusal(&said, &[ENOENT]), "{}: {name}", hold.name);
        }
    }
}

/// For [`s58_a_hundred_at_once_do_not_see_each_other`]: descriptors can only be counted where nobody else
/// opens any.
const ALONE: &str = "CONCERTINA_SANDBOX_ALONE";

#[test]
fn s58_a_hundred_at_once_do_not_see_each_other() {
    const NAME: &str = "cases::s58_a_hundred_at_once_do_not_see_each_other";
    if std::env::var_os(ALONE).is_none() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(ALONE, "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    for hold in holds(NAME) {
        let scene = Scene::new();
        for number in 0..100 {
            std::fs::create_dir(scene.at(&format!("o/{number}"))).unwrap();
            std::fs::write(scene.at(&format!("o/{number}/mine")), number.to_string()).unwrap();
        }
        let before = open();
        let may_write = hold.tier > Tier::L1;
        std::thread::scope(|scope| {
            for number in 0..100 {
                let (scene, hold) = (&scene, &hold);
                scope.spawn(move || {
                    let own = scene.at(&format!("o/{number}"));
                    let mut confinement = scene.confinement(hold.tier);
                    confinement.write = if may_write { vec![own.clone()] } else { vec![] };
                    confinement.read = vec![own];
                    let mine = scene.text(&format!("o/{number}/mine"));
                    let theirs = scene.text(&format!("o/{}/mine", (number + 1) % 100));
                    let said = |words: &[&str]| scene.tries_with(hold, &confinement, words);
                    let program = scene.program(&["cat", &mine]);
                    let read = run(&hold.machine, &program, &confinement, None, &|| false).unwrap();
                    assert!(read.stdout.starts_with(number.to_string().as_bytes()), "{read:?}");
                    assert!(is_refusal(&said(&["read", &theirs]), FILE), "{}", hold.name);
                    if may_write {
                        assert_eq!(said(&["write", "/tmp/shared"]), Said::Open);
                        assert!(is_refusal(&said(&["read", "/tmp/shared"]), &[ENOENT]));
                    }
                });
            }
        });
        assert_eq!(open(), before, "{}: descriptors", hold.name);
    }
}

#[test]
fn s65_a_program_with_nothing_to_write_writes_nothing() {
    for hold in holds("s65_a_program_with_nothing_to_write_writes_nothing") {
        let scene = Scene::new();
        let confinement = Confinement { write: vec![], ..scene.confinement(hold.tier) };
        let before = content(scene.root.path());
        for path in ["r/new", "w/new", "w/own", "o/victim"] {
            let said = scene.tries_with(&hold, &confinement, &["write", &scene.text(path)]);
            assert!(is_refusal(&said, FILE), "{}: {path}: {said:?}", hold.name);
        }
        assert_eq!(content(scene.root.path()), before, "{}", hold.name);
    }
}

#[test]
fn advisory_02_an_argument_is_never_a_command() {
    for hold in holds("advisory_02_an_argument_is_never_a_command") {
        let scene = Scene::new();
        let argument = format!("\"; touch {}; echo \"", scene.text("w/pwn"));
        let finished = scene.run(&hold, &["print", &argument, "$(id)", "`id`", "-rf"]).unwrap();
        let printed = String::from_utf8(finished.stdout).unwrap();
        assert_eq!(printed, format!("{argument}\n$(id)\n`id`\n-rf\n"), "{}", hold.name);
        assert!(!scene.at("w/pwn").exists());
    }
}

#[test]
fn advisory_08_no_parser_stands_between_a_program_and_a_file() {
    for hold in holds("advisory_08_no_parser_stands_between_a_program_and_a_file") {
        let scene = Scene::new();
        let finished = scene.run(&hold, &["print", "cat${IFS}/etc/shadow"]).unwrap();
        assert_eq!(finished.stdout, b"cat${IFS}/etc/shadow\n");
        let said = scene.tries(&hold, &["read", "/etc/shadow"]);
        assert!(is_refusal(&said, FILE), "{}: {said:?}", hold.name);
    }
}

#[test]
fn advisory_13_a_program_that_starts_programs_starts_no_others() {
    for hold in holds("advisory_13_a_program_that_starts_programs_starts_no_others") {
        let scene = Scene::new();
        for other in [scene.text("o/tool"), scene.text("r/tool"), "/usr/bin/id".to_owned()] {
            let said = scene.tries(&hold, &["exec", &other]);
            assert!(is_refusal(&said, FILE), "{}: {other}: {said:?}", hold.name);
        }
        assert_eq!(scene.tries(&hold, &["exec", &scene.text("x/tool")]), Said::Open);
    }
}

#[test]
fn advisory_14_a_path_is_judged_by_where_it_leads() {
    let scene = Scene::new();
    for link in ["r/link", "r/dlink", "r/dlink/secret"] {
        for tier in [Tier::L1, Tier::L2] {
            let mut confinement = scene.confinement(tier);
            confinement.read.push(scene.at(link));
            let program = scene.program(&["read", &scene.text(link)]);
            let error = run(machine(), &program, &confinement, None, &|| false).unwrap_err();
            assert_eq!(error.code(), "GRANT_UNUSABLE", "{error}");
            assert!(error.to_string().contains("link"), "{error}");
        }
    }
}

#[test]
fn advisory_19_nothing_planted_in_the_temporary_directory_is_met() {
    for hold in holds("advisory_19_nothing_planted_in_the_temporary_directory_is_met") {
        if hold.tier == Tier::L1 {
            continue;
        }
        let scene = Scene::new();
        let planted = std::env::temp_dir()
            .join(scene.root.path().file_name().unwrap())
            .with_extension("planted");
        std::os::unix::fs::symlink(scene.at("o/victim"), &planted).unwrap();
        let said = scene.tries(&hold, &["write", planted.to_str().unwrap()]);
        std::fs::remove_file(&planted).unwrap();
        assert_eq!(said, Said::Open, "{}: its own directory is empty", hold.name);
        assert_eq!(std::fs::read(scene.at("o/victim")).unwrap(), b"some words here");
    }
}

#[test]
fn advisory_25_a_file_with_variables_sets_none() {
    for hold in holds("advisory_25_a_file_with_variables_sets_none") {
        let scene = Scene::new();
        std::fs::write(scene.at("r/.env"), "HOME=/evil\nCONCERTINA_HOME=/evil\n").unwrap();
        for name in ["HOME", "CONCERTINA_HOME", "LD_PRELOAD"] {
            let said = scene.tries(&hold, &["variable", name]);
            assert!(is_refusal(&said, &[ENOENT]), "{}: {name}", hold.name);
        }
    }
}

#[test]
fn advisory_28_a_reader_with_an_option_to_write_writes_nothing() {
    for hold in holds("advisory_28_a_reader_with_an_option_to_write_writes_nothing") {
        let scene = Scene::new();
        std::fs::create_dir(scene.at("r/.git")).unwrap();
        std::fs::write(scene.at("r/.git/config"), "[core]").unwrap();
        for attack in ["write", "open-truncate", "truncate", "unlink"] {
            let said = scene.tries(&hold, &[attack, &scene.text("r/.git/config")]);
            assert!(is_refusal(&said, FILE), "{}: {attack}: {said:?}", hold.name);
        }
        assert_eq!(std::fs::read(scene.at("r/.git/config")).unwrap(), b"[core]");
    }
}

#[test]
fn a_grant_that_says_too_much_or_nothing_is_an_error() {
    let scene = Scene::new();
    let fifo = std::ffi::CString::new(scene.text("r/fifo")).unwrap();
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    let wrong = ["/", "/proc", "/proc/self", "/sys/kernel", "/dev", "relative", ""]
        .map(Into::into)
        .into_iter()
        .chain([scene.at("nowhere"), scene.at("r/fifo"), scene.root.path().join("r/../o")]);
    for path in wrong {
        for list in 0..3 {
            let mut confinement = scene.confinement(Tier::L2);
            match list {
                0 => confinement.read.push(path.clone()),
                1 => confinement.write.push(path.clone()),
                _ => confinement.execute.push(path.clone()),
            }
            let program = scene.program(&["say"]);
            let error = run(machine(), &program, &confinement, None, &|| false).unwrap_err();
            assert_eq!(error.code(), "GRANT_UNUSABLE", "{}: {error}", path.display());
        }
    }
}

/// Programs that people have: they start, and do what they are for.
#[test]
fn ordinary_programs_run() {
    let scene = Scene::new();
    std::fs::write(scene.at("r/words"), "b\na\n").unwrap();
    std::fs::write(scene.at("r/hello.py"), "import json, os, sys\nprint(json.dumps([1]))\n")
        .unwrap();
    let python = python();
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["sort", "words"], "a\nb\n"),
        (vec!["sh", "-c", "echo $((1 + 2)) > /dev/null; echo fine"], "fine\n"),
        (vec![python.as_deref().unwrap_or("python3"), "hello.py"], "[1]\n"),
        (vec!["git", "--version"], "git version"),
    ];
    for (argv, expected) in cases {
        let program = Program {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            directory: scene.at("r"),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        };
        let execute = started_by(&program);
        if execute.is_empty() {
            eprintln!("skipped: ordinary_programs_run: there is no {}", argv[0]);
            continue;
        }
        for hold in holds("ordinary_programs_run") {
            let confinement =
                Confinement { execute: execute.clone(), ..scene.confinement(hold.tier) };
            let finished = run(&hold.machine, &program, &confinement, None, &|| false).unwrap();
            let printed = String::from_utf8_lossy(&finished.stdout);
            assert!(printed.starts_with(expected), "{}: {argv:?}: {finished:?}", hold.name);
        }
    }
}

/// A Python that really is one: a name may be a script that chooses another.
fn python() -> Option<String> {
    let output = Command::new("python3")
        .args(["-c", "import os, sys; print(os.path.realpath(sys.executable))"])
        .output()
        .ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    // What lies in a home that others may not enter cannot be started by them.
    std::fs::metadata(&path).ok().map(|_| path)
}
