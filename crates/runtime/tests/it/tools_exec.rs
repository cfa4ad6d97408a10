//! Programs: arguments and never a shell, a clean environment, an end to everything they start.

use std::path::Path;
use std::time::{Duration, Instant};

use concertina_core::policy::Access;
use concertina_runtime::tools::{Executor as _, Invocation, PlainExecutor};
use concertina_runtime::{Cancel, Session, Workspace};
use serde_json::{Value, json};

use crate::kit::{World, begin, call};

fn with_tools(config: &str) -> (World, Workspace, Session) {
    let world = World::new();
    world.config(config);
    let mut workspace = world.alone();
    let session = begin(&mut workspace);
    (world, workspace, session)
}

fn echo() -> (World, Workspace, Session) {
    with_tools(
        r#"
[tool.echo]
argv = ["printf", "[%s]", "${text}", "--name=${name}"]
danger = "safe"
parameters = {type = "object", required = ["text"], properties = {text = {type = "string"}, name = {type = "string"}}}
"#,
    )
}

fn run(session: &mut Session, workspace: &Workspace, text: &str) -> String {
    call(session, workspace, "echo", json!({"text": text})).unwrap().text
}

#[test]
fn what_a_shell_would_take_for_commands_is_text() {
    let (world, workspace, mut session) = echo();
    let target = world.path("work/made-by-a-shell");
    let file = target.display();
    for text in [
        format!("; touch {file}"),
        format!("$(touch {file})"),
        format!("`touch {file}`"),
        format!("| touch {file}"),
        format!("&& touch {file}"),
        "${HOME} $PATH".to_owned(),
        "a b\tc\nd".to_owned(),
        "'\"\\".to_owned(),
        "*".to_owned(),
        "%s".to_owned(),
        "${text}".to_owned(),
        "é漢".to_owned(),
    ] {
        let answer = run(&mut session, &workspace, &text);
        assert!(answer.contains(&format!("[{text}]")), "{text:?}: {answer}");
    }
    assert!(!target.exists());
}

#[test]
fn s20_a_value_that_would_be_an_option_is_refused_before_anything_runs() {
    let (_world, workspace, mut session) = echo();
    for text in ["-n", "--help", "-"] {
        let refusal = call(&mut session, &workspace, "echo", json!({"text": text})).unwrap_err();
        assert_eq!(refusal.code, "ARGUMENT_IS_OPTION", "{text}");
        let named = json!({"text": "x", "name": text});
        let answer = call(&mut session, &workspace, "echo", named).unwrap().text;
        assert!(answer.contains(&format!("[--name={text}]")), "{text}: {answer}");
    }
}

#[test]
fn arguments_are_checked_and_left_out_where_not_given() {
    let (_world, workspace, mut session) = echo();
    assert!(!run(&mut session, &workspace, "x").contains("--name"));
    let with =
        call(&mut session, &workspace, "echo", json!({"text": "x", "name": "a b"})).unwrap().text;
    assert!(with.contains("[--name=a b]"), "{with}");
    for bad in [json!({}), json!({"text": 5}), json!([1]), json!("x")] {
        let refusal = call(&mut session, &workspace, "echo", bad.clone()).unwrap_err();
        assert_eq!(refusal.code, "BAD_ARGUMENTS", "{bad}");
    }
    let nul = call(&mut session, &workspace, "echo", json!({"text": "a\0b"})).unwrap_err();
    assert!(nul.code == "BAD_ARGUMENTS" && nul.message.contains("NUL"), "{nul}");
}

#[test]
fn the_environment_is_clean() {
    let mut world = World::new();
    world.config("[tool.env]\nargv = [\"env\"]\ndanger = \"safe\"\nenv = [\"WANTED\"]\n");
    world.variables.insert("WANTED".into(), "yes".into());
    world.variables.insert("OPENAI_API_KEY".into(), "sk-secret".into());
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let text = call(&mut session, &workspace, "env", Value::Null).unwrap().text;
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"WANTED") && names.contains(&"PATH"), "{text}");
    assert!(
        names
            .iter()
            .all(|name| ["WANTED", "PATH", "HOME", "LANG"].contains(name) || name.contains(' ')),
        "{text}"
    );
    assert!(!text.contains("secret"));
}

#[test]
fn how_it_ended_is_told() {
    let (_world, workspace, mut session) = with_tools(
        r#"
[tool.fail]
argv = ["sh", "-c", "echo out; echo err >&2; exit 3"]
danger = "safe"
[tool.die]
argv = ["sh", "-c", "kill -TERM $$"]
danger = "safe"
[tool.missing]
argv = ["no-such-program-here"]
danger = "safe"
[tool.nowhere]
argv = ["true"]
cwd = "no/such/place"
danger = "safe"
[tool.here]
argv = ["pwd"]
cwd = "sub"
danger = "safe"
"#,
    );
    let failed = call(&mut session, &workspace, "fail", Value::Null).unwrap();
    assert!(
        failed.error
            && failed.text.contains("exit=\"3\"")
            && failed.text.contains("out\n[standard error]\nerr"),
        "{}",
        failed.text
    );
    let died = call(&mut session, &workspace, "die", Value::Null).unwrap();
    assert!(died.text.contains("exit=\"143\""), "{}", died.text);
    let missing = call(&mut session, &workspace, "missing", Value::Null).unwrap_err();
    assert_eq!(missing.code, "NOT_STARTED");
    assert!(missing.message.contains("`no-such-program-here` could not be started"), "{missing}");
    let nowhere = call(&mut session, &workspace, "nowhere", Value::Null).unwrap_err();
    assert_eq!(nowhere.code, "NO_DIRECTORY", "{nowhere}");
    std::fs::create_dir(workspace.root().join("sub")).unwrap();
    let below = workspace.root().join("sub").display().to_string();
    assert!(call(&mut session, &workspace, "here", Value::Null).unwrap().text.contains(&below));
    // Every call has its outcome in the log.
    assert!(session.state().pending.is_empty());
}

fn shell(script: &str) -> Invocation {
    Invocation {
        pins: Vec::new(),
        argv: ["sh", "-c", script].map(str::to_owned).into(),
        directory: std::env::temp_dir(),
        environment: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        timeout: Duration::from_secs(20),
        output_bytes: 1_000,
        access: Access::nothing(),
        closed: Default::default(),
        readable: Vec::new(),
        keeps_home: true,
    }
}

/// Whether the process whose number stands in `path` is still there.
fn lives(path: &Path) -> bool {
    let pid = std::fs::read_to_string(path).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_ok_and(|status| !status.contains(") Z "))
}

fn is_gone(path: &Path) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !lives(path)
    })
}

#[test]
fn a_time_limit_ends_what_the_program_started_too() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script = format!("sh -c 'sleep 60 & echo $! > {}; wait' & sleep 60", pid.display());
    let invocation = Invocation { timeout: Duration::from_millis(400), ..shell(&script) };
    let begun = Instant::now();
    let error = PlainExecutor.execute(&invocation, &Cancel::default()).unwrap_err();
    assert_eq!(error.code(), "TIMEOUT");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(is_gone(&pid));
}

#[test]
fn a_stop_from_outside_ends_it() {
    let cancel = Cancel::default();
    let stopper = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stopper.stop();
    });
    let begun = Instant::now();
    let error = PlainExecutor.execute(&shell("sleep 60"), &cancel).unwrap_err();
    assert_eq!(error.code(), "CANCELLED");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn output_over_the_limit_is_counted() {
    let invocation = shell("head -c 300000 /dev/zero; head -c 5000 /dev/zero >&2");
    let done = PlainExecutor.execute(&invocation, &Cancel::default()).unwrap();
    assert_eq!((done.exit, done.stdout.len(), done.stderr.len()), (0, 1_000, 1_000));
    assert_eq!(done.dropped, 299_000 + 4_000);
}

#[test]
fn a_child_left_behind_ends_and_costs_no_output() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script = format!("sleep 60 & echo $! > {}; echo done", pid.display());
    let begun = Instant::now();
    let done = PlainExecutor.execute(&shell(&script), &Cancel::default()).unwrap();
    assert_eq!(done.stdout, b"done\n");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(is_gone(&pid));
}

#[test]
fn a_child_that_left_the_group_costs_no_output_either() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script =
        format!("setsid sh -c 'echo $$ > {}; exec sleep 60' & sleep 0.3; echo done", pid.display());
    let done = PlainExecutor.execute(&shell(&script), &Cancel::default()).unwrap();
    assert_eq!(done.stdout, b"done\n");
    let left = std::fs::read_to_string(&pid).unwrap();
    std::process::Command::new("kill").args(["-9", left.trim()]).status().unwrap();
}

#[test]
fn a_program_that_reads_gets_nothing() {
    let done = PlainExecutor.execute(&shell("cat; echo end"), &Cancel::default()).unwrap();
    assert_eq!(done.stdout, b"end\n");
}

#[test]
fn a_workspace_names_only_its_own_files() {
    let world = World::new();
    world.link("work/way-out", "../home").write("home/x.db", "").write("work/ok.db", "");
    world.config(
        r#"
[tool.a]
argv = ["true"]
cwd = ".."
[tool.b]
kind = "sqlite"
database = "/etc/passwd"
[tool.c]
kind = "sqlite"
database = "way-out/x.db"
[tool.d]
kind = "sqlite"
seed = "way-out/not-there-yet.sql"
[tool.ok]
kind = "sqlite"
database = "ok.db"
[sources]
roots = ["../home", "fine"]
"#,
    );
    world.skill("home/stolen", "Stolen.").skill("work/fine/own", "Own.");
    let workspace = world.alone();
    let found: Vec<String> = workspace
        .loaded()
        .findings
        .iter()
        .map(|(_, found)| format!("{} {}", found.code, found.message))
        .collect();
    assert_eq!(
        found
            .iter()
            .filter(
                |line| line.starts_with("TOOL_LEFT_OUT") && line.contains("outside the workspace")
            )
            .count(),
        4,
        "{found:?}"
    );
    assert_eq!(
        found.iter().filter(|line| line.starts_with("ROOT_LEFT_OUT")).count(),
        1,
        "{found:?}"
    );
    assert_eq!(workspace.snapshot().tools.len(), 1);
    assert_eq!(crate::kit::ids(&workspace), ["own"]);
    // What a person names themselves may lie anywhere.
    world.write(
        "home/.config/concertina/concertina.toml",
        "[tool.mine]\nkind = \"sqlite\"\ndatabase = \"../../x.db\"\n",
    );
    let names: Vec<String> =
        world.open().snapshot().tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["mine", "ok"]);
}
