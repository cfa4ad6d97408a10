//! No effect without its record, whatever stops the program; nothing silently lost.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use concertina_core::session::Origin;
use concertina_runtime::tools::{Execution, ExecutionError, Executor, Invocation};
use concertina_runtime::{
    Admission, Cancel, RuntimeError, Session, Started, Workspace, WorkspaceOptions,
};
use concertina_store::{Against, Audit, Store};
use concertina_types::{Event, Fact, SessionId};
use serde_json::{Value, json};

/// A tool with an effect that can be counted: it makes a file.
const TOOL: &str = r#"
[tool.mark]
kind = "exec"
description = "Makes a file."
danger = "writes"
argv = ["/usr/bin/touch", "${path}"]

[tool.mark.parameters]
type = "object"
properties.path.type = "string"
"#;

/// Does what the program would do, whatever limits hold for programs.
struct Marks;

impl Executor for Marks {
    fn execute(&self, invocation: &Invocation, _: &Cancel) -> Result<Execution, ExecutionError> {
        let done = fs::write(&invocation.argv[1], "");
        let exit = i32::from(done.is_err());
        Ok(Execution { exit, stdout: Vec::new(), stderr: Vec::new(), dropped: 0, held: None })
    }
}

fn workspace(world: &Path) -> Workspace {
    fs::create_dir_all(world.join("work")).unwrap();
    fs::create_dir_all(world.join("work/effects")).unwrap();
    fs::write(world.join("work/concertina.toml"), TOOL).unwrap();
    let variable = |name: &str| (name == "PATH").then(|| "/usr/bin:/bin".to_owned());
    let options = WorkspaceOptions {
        executor: Some(Arc::new(Marks)),
        ..WorkspaceOptions::only(world.join("home"), &variable)
    };
    Workspace::open(&world.join("work"), options).unwrap()
}

fn session_id() -> SessionId {
    SessionId::new("s").unwrap()
}

/// Calls the tool once; the path of the file that it makes is `effects/NUMBER`.
fn mark(
    session: &mut Session,
    workspace: &Workspace,
    world: &Path,
    number: u64,
) -> Result<(), RuntimeError> {
    let path = world.join("work/effects").join(number.to_string());
    let arguments = json!({"path": path.to_str().unwrap()});
    match session.admit(workspace.toolbox(), Origin::user(), "mark", arguments)? {
        Admission::Answered(reply) => panic!("{:?}", reply.refusal),
        Admission::Asked(ask) => panic!("{ask:?}"),
        Admission::Admitted(ticket) => {
            let id = ticket.id();
            let outcome = workspace.toolbox().run(ticket, &Cancel::default());
            session.finish(Origin::user(), id, outcome).map(drop)
        }
    }
}

const ROLE: &str = "AUDIT_TEST_ROLE";
const WORLD: &str = "AUDIT_TEST_WORLD";

#[test]
#[ignore = "other tests start this as a process of its own"]
fn play() {
    let world = std::path::PathBuf::from(std::env::var_os(WORLD).unwrap());
    let mut workspace = workspace(&world);
    let store = Store::open(&world.join("state")).unwrap();
    let known = store.events.sessions().unwrap().iter().any(|one| one.session == session_id());
    let mut session = if known {
        let mut session = Session::resume(store, session_id()).unwrap();
        session.recover().unwrap();
        session
    } else {
        let started = Started { id: Some(session_id()), ..Started::default() };
        Session::create(&mut workspace, store, started).unwrap()
    };
    match std::env::var(ROLE).unwrap().as_str() {
        "endless" => {
            println!("\n>begun");
            loop {
                let number = session.state().calls + 1;
                mark(&mut session, &workspace, &world, number).unwrap();
            }
        }
        // Until something is in the way; says how often it was done, and the code of what was in the way.
        "until" => {
            let error = loop {
                let number = session.state().calls + 1;
                if let Err(error) = mark(&mut session, &workspace, &world, number) {
                    break error;
                }
                assert!(number < 20_000, "nothing was in the way");
            };
            println!("\n>{}", error.code());
        }
        other => panic!("no role {other}"),
    }
}

fn spawn(role: &str, world: &Path, prefix: &[&str]) -> Child {
    let program = std::env::current_exe().unwrap();
    let words: Vec<&str> = prefix.iter().copied().chain([program.to_str().unwrap()]).collect();
    Command::new(words[0])
        .args(&words[1..])
        .args(["--exact", "audit::play", "--ignored", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(WORLD, world)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The first line that the process says.
fn answer(process: &mut Child) -> Option<String> {
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).find_map(|line| line.strip_prefix('>').map(str::to_owned))
}

fn effects(world: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(world.join("work/effects")).unwrap();
    names.map(|entry| entry.unwrap().path().to_string_lossy().into_owned()).collect()
}

/// The files that the log says were to be made.
fn intents(store: &Store, events: &[Event]) -> BTreeSet<String> {
    let arguments = events.iter().filter_map(|event| match &event.fact {
        Fact::CallAdmitted { arguments, .. } => Some(arguments.digest),
        _ => None,
    });
    arguments
        .map(|digest| {
            let text = store.content.get(&digest).unwrap().expect("what was intended is kept");
            let value: Value = serde_json::from_slice(&text).unwrap();
            value["path"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// Every effect has its record, and the log is in order; how many of each there are.
fn check(world: &Path) -> (usize, usize) {
    let store = Store::open(&world.join("state")).unwrap();
    let events = store.verify(&session_id()).unwrap();
    let (effects, intents) = (effects(world), intents(&store, &events));
    let without: Vec<_> = effects.difference(&intents).collect();
    assert!(without.is_empty(), "effects without a record: {without:?}");
    let found = Audit::of(&world.join("state")).verify(None, &Against::default()).unwrap();
    assert!(found.iter().all(|found| found.ok), "{found:?}");
    (effects.len(), intents.len())
}

/// How often programs of one world are killed.
const KILLS_EACH: usize = 20;

/// How often programs are killed: enough to see the test fail, or what the environment says.
fn kills() -> u64 {
    std::env::var("CONCERTINA_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

#[test]
fn s71_a_killed_program_leaves_no_effect_without_an_intent() {
    let (mut done, kills) = (0, kills());
    // The same moments in every run, and spread over all that a call does.
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for first in (0..kills).step_by(KILLS_EACH) {
        // Each time the whole log is checked, so none grows for ever.
        let world = tempfile::tempdir().unwrap();
        let mut effects = 0;
        for _ in first..kills.min(first + KILLS_EACH as u64) {
            let mut process = spawn("endless", world.path(), &[]);
            if answer(&mut process).is_some() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                std::thread::sleep(Duration::from_micros(500 + (random >> 33) % 60_000));
            }
            process.kill().unwrap();
            process.wait().unwrap();
            effects = check(world.path()).0;
        }
        done += effects;
    }
    println!("{kills} kills, {done} effects, none without an intent");
    assert!(done as u64 > kills / 4, "{done} effects in {kills} runs");
}

/// What stops the record stops the effect.
#[track_caller]
fn refused(world: &Path, prefix: &[&str], codes: &[&str]) {
    let mut process = spawn("until", world, prefix);
    let code = answer(&mut process).expect("it says what was in the way");
    process.wait().unwrap();
    assert!(codes.contains(&code.as_str()), "{code}");
    let store = Store::open(&world.join("state")).unwrap();
    let events = store.verify(&session_id()).unwrap();
    let (effects, intents) = (effects(world), intents(&store, &events));
    assert!(effects.is_subset(&intents), "an effect without a record");
    // The call that was refused had none: at most one intent was written before something failed.
    assert!(intents.len() - effects.len() <= 1, "{} of {}", effects.len(), intents.len());
}

#[test]
fn s73_where_files_may_not_grow_nothing_is_done() {
    let world = tempfile::tempdir().unwrap();
    drop(workspace(world.path()));
    // 300 KB, in blocks of 512 bytes; and without the signal that would end the program.
    let limited = ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 600; exec \"$0\" \"$@\""];
    refused(world.path(), &limited, &["STORE_FULL", "STORE_IO"]);
    assert!(!effects(world.path()).is_empty(), "it began");
}

/// A small file system below `at`, until it is dropped.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs", at.to_str().unwrap()])
            .then_some(Self(at))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        run("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn s73_on_a_full_disk_nothing_is_done() {
    let world = tempfile::tempdir().unwrap();
    let state = world.path().join("state");
    let Some(_disk) = Disk::mount(&state) else {
        eprintln!(
            "skipped: s73_on_a_full_disk_nothing_is_done: this user may not mount a small file system"
        );
        return;
    };
    refused(world.path(), &["/usr/bin/env"], &["STORE_FULL", "STORE_IO"]);
    assert!(!effects(world.path()).is_empty(), "it began");
}

#[test]
fn s73_on_a_disk_that_became_read_only_nothing_is_done() {
    let world = tempfile::tempdir().unwrap();
    let state = world.path().join("state");
    let Some(_disk) = Disk::mount(&state) else {
        eprintln!(
            "skipped: s73_on_a_disk_that_became_read_only_nothing_is_done: this user may not mount a small file system"
        );
        return;
    };
    let mut workspace = workspace(world.path());
    let started = Started { id: Some(session_id()), ..Started::default() };
    let mut session =
        Session::create(&mut workspace, Store::open(&state).unwrap(), started).unwrap();
    mark(&mut session, &workspace, world.path(), 1).unwrap();
    let before = effects(world.path());
    let remount = ["-o", "remount,ro", state.to_str().unwrap()];
    if !run("mount", &remount) {
        // Whoever has a file open to write keeps it from becoming so.
        drop(session);
        assert!(run("mount", &remount));
        session = Session::resume(Store::open(&state).unwrap(), session_id()).unwrap();
    }
    let error = mark(&mut session, &workspace, world.path(), 2).unwrap_err();
    assert_eq!(error.code(), "STORE_READ_ONLY", "{error}");
    assert_eq!(effects(world.path()), before);
}

#[test]
fn s73_where_the_signature_cannot_be_kept_nothing_is_done() {
    let world = tempfile::tempdir().unwrap();
    let mut workspace = workspace(world.path());
    let state = world.path().join("state");
    let started = Started { id: Some(session_id()), ..Started::default() };
    let mut session =
        Session::create(&mut workspace, Store::open(&state).unwrap(), started).unwrap();
    let refused = |session: &mut Session, workspace: &Workspace| {
        let error = mark(session, workspace, world.path(), 1).unwrap_err();
        assert!(["STORE_FULL", "STORE_IO"].contains(&error.code()), "{error}");
        assert!(effects(world.path()).is_empty());
    };
    // A device that is always full, and a directory where the file belongs.
    let heads = state.join("heads");
    std::os::unix::fs::symlink("/dev/full", &heads).unwrap();
    refused(&mut session, &workspace);
    fs::remove_file(&heads).unwrap();
    fs::create_dir(&heads).unwrap();
    refused(&mut session, &workspace);
    fs::remove_dir(&heads).unwrap();
    mark(&mut session, &workspace, world.path(), 1).unwrap();
    assert_eq!(effects(world.path()).len(), 1);
}
