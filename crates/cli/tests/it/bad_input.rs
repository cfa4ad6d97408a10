//! Whatever goes in: one clear error, the right exit code, and nothing lost.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::kit::{Done, Place, done, repository, write};

#[test]
fn a_model_that_cannot_be_used_says_why_and_what_to_do() {
    let place = Place::harbour();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    for (model, code, exit, advice) in [
        (
            &["--model", "gpt-5"][..],
            "MODEL_UNKNOWN",
            2,
            "scripted:FILE, openai:NAME or anthropic:NAME",
        ),
        (&["--model", "opnai:gpt-5"], "MODEL_UNKNOWN", 2, "perhaps `openai` was meant"),
        (&["--model", "openai:gpt-5"], "MODEL_KEY_MISSING", 5, "set OPENAI_API_KEY"),
        (&["--model", "anthropic:claude"], "MODEL_KEY_MISSING", 5, "set ANTHROPIC_API_KEY"),
        (&["--model", "scripted:nowhere.json"], "SCRIPT_UNREADABLE", 5, "nowhere.json"),
        (
            &["--model", "openai:x", "--base-url", "nonsense"],
            "MODEL_BASE_URL_INVALID",
            5,
            "--base-url",
        ),
        (
            &["--model", "openai:x", "--base-url", &closed],
            "MODEL_UNREACHABLE",
            5,
            "check that a server runs there",
        ),
        (&[], "USAGE", 2, "--model scripted:FILE"),
    ] {
        let run = place.run(&[&["run", ".", "A task"], model].concat());
        run.exits(exit).fails_clearly(code).says(&[advice]);
    }
}

#[test]
fn what_was_done_before_the_endpoint_died_is_kept() {
    let place = Place::harbour();
    let run = ["run", ".", "A task", "--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1"];
    let failed = place.run(&run).exits(5);
    let hint =
        failed.err.lines().find_map(|line| line.split("go on with: concertina ").nth(1)).unwrap();
    let hint = hint.strip_suffix(" [MODEL_UNREACHABLE]").unwrap();
    place
        .run(&hint.split_whitespace().collect::<Vec<_>>())
        .exits(5)
        .fails_clearly("MODEL_UNREACHABLE");
    place.run(&["session", "render", "last"]).exits(0).shows(&["A task"]);
}

#[test]
fn arguments_that_are_not_json_say_where() {
    let place = Place::harbour();
    let open = place.run(&["open", "skill:tides", "--args", "{\"port\": north}"]).exits(2);
    open.fails_clearly("USAGE").says(&["line 1 column 1", "write an object"]);
    let call = place.run(&["call", "clock", "{{"]).exits(2);
    call.fails_clearly("USAGE").says(&["the arguments are not JSON"]);
}

#[test]
fn an_unknown_tool_and_a_hidden_one_are_told_apart() {
    let place = Place::harbour();
    place.run(&["call", "clok"]).exits(4).fails_clearly("UNKNOWN_TOOL");
    place.run(&["call", "clock"]).exits(3).fails_clearly("NOT_VISIBLE");
    place.run(&["tool", "show", "clok"]).exits(4).fails_clearly("UNKNOWN_TOOL");
}

#[test]
fn a_skill_that_disappears_is_said_and_costs_no_other() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session]).exits(0);
    fs::remove_dir_all(place.work().join("skills/logbook")).unwrap();
    place
        .run(&["open", "skill:logbook", "--session", &session])
        .exits(4)
        .fails_clearly("NOT_FOUND");
    place.run(&["open", "skill:pilots", "--session", &session]).exits(0);
    place.run(&["session", "turn", &session]).exits(0).shows(&["logbook"]);
}

/// The files of the log.
fn log_of(place: &Place) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(place.state()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    assert!(!files.is_empty());
    files
}

#[test]
fn a_damaged_log_is_named_and_kept_as_it_is() {
    let place = Place::harbour();
    let session = place.session();
    for file in log_of(&place) {
        fs::write(&file, "This is no database, only words.".repeat(200)).unwrap();
    }
    let state = place.state().display().to_string();
    for command in [&["session", "show", &session][..], &["session", "list"], &["session", "new"]] {
        place.run(command).exits(5).fails_clearly("STORE_CORRUPT").says(&[&state]);
    }
    assert!(
        log_of(&place)
            .iter()
            .any(|file| fs::read(file).unwrap().starts_with(b"This is no database"))
    );
    // What needs no log still works.
    place.run(&["skill", "list"]).exits(0);
    place.run(&["open", "skill:logbook"]).exits(0);
}

/// Runs as nobody, for whom permissions hold even when the tests run as root.
fn as_nobody(place: &Place, arguments: &[&str]) -> Option<Done> {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !is_root {
        return Some(place.run(arguments));
    }
    let binary = place.work().join("concertina");
    fs::copy(env!("CARGO_BIN_EXE_concertina"), &binary).ok()?;
    for directory in [place.work().parent().unwrap(), &place.work()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).ok()?;
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(binary)
        .args(arguments)
        .env_clear()
        .env("HOME", place.home())
        .env("CONCERTINA_HOME", place.state())
        .current_dir(place.work());
    match command.output() {
        Ok(_) => Some(done(command)),
        Err(_) => None,
    }
}

#[test]
fn a_state_directory_that_cannot_be_written_is_an_error_of_the_environment() {
    let place = Place::strange_harbour();
    fs::set_permissions(place.state(), fs::Permissions::from_mode(0o555)).unwrap();
    let Some(new) = as_nobody(&place, &["session", "new"]) else {
        eprintln!("skipped: setpriv is needed to give up the rights of root");
        return;
    };
    new.exits(5).fails_clearly("STORE_READ_ONLY").says(&["CONCERTINA_HOME"]);
    as_nobody(&place, &["skill", "list"]).unwrap().exits(0);
    fs::set_permissions(place.state(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_in_place_of_the_state_directory_is_said() {
    let place = Place::strange_harbour();
    fs::remove_dir(place.state()).unwrap();
    fs::write(place.state(), "a file").unwrap();
    let new = place.run(&["session", "new"]).exits(5);
    new.fails_clearly("STORE_NOT_A_DIRECTORY").says(&["CONCERTINA_HOME"]);
    assert_eq!(fs::read(place.state()).unwrap(), b"a file");
}

#[test]
fn a_full_disk_is_said_and_earlier_sessions_stay_whole() {
    let place = Place::strange_harbour();
    let mount = |size: &str| {
        let options = ["-t", "tmpfs", "-o", size, "tmpfs"];
        let done = Command::new("mount").args(options).arg(place.state()).output();
        done.is_ok_and(|done| done.status.success())
    };
    if !mount("size=256k") {
        eprintln!("skipped: mounting a small disk needs the rights of root");
        return;
    }
    let session = place.session();
    place.run(&["session", "turn", &session, "kept"]).exits(0);
    let filler = place.state().join("filler");
    let mut failed = None;
    for _ in 0..100 {
        let _ = fs::write(&filler, vec![7; 256 * 1_024]);
        let turn = place.run(&["session", "turn", &session, &"more ".repeat(2_000)]);
        if turn.code != 0 {
            failed = Some(turn);
            break;
        }
    }
    fs::remove_file(&filler).unwrap();
    let shown = place.run(&["session", "render", &session]);
    let unmounted = Command::new("umount").arg(place.state()).status();
    failed.expect("the disk fills").exits(5).fails_clearly("STORE_FULL").says(&["free some"]);
    shown.exits(0).shows(&["kept"]);
    assert!(unmounted.unwrap().success());
}

#[test]
fn arguments_that_are_no_text_are_a_usage_error_or_a_path() {
    let place = Place::harbour();
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let mut find = place.command(&["find"]);
    find.arg(odd);
    let found = done(find).exits(2);
    assert!(!found.err.contains("panicked"), "{}", found.err);
    let mut tokens = place.command(&["tokens"]);
    tokens.arg(odd);
    done(tokens).exits(4).fails_clearly("UNREADABLE");
    fs::write(place.work().join(odd), "two words").unwrap();
    let mut tokens = place.command(&["tokens"]);
    tokens.arg(odd);
    assert_eq!(done(tokens).exits(0).out, "2\n");
}

#[test]
fn empty_and_huge_arguments_end_in_an_answer() {
    let place = Place::harbour();
    let huge = "word ".repeat(20_000);
    for arguments in [
        &["find", ""][..],
        &["find", &huge],
        &["open", ""],
        &["open", &huge],
        &["call", ""],
        &["call", &huge],
        &["explain", ""],
        &["skill", "show", ""],
        &["skill", "show", &huge],
        &["session", "show", ""],
        &["session", "show", &huge],
        &["close", "", "--session", "x"],
        &["skill", "check", ""],
        &["open", "skill:logbook", "--args", ""],
        &["open", "skill:logbook", "--raw-args", &huge],
        &["run", "", "task"],
    ] {
        let done = place.run(arguments);
        let short: Vec<String> =
            arguments.iter().map(|text| text.chars().take(20).collect()).collect();
        assert!([0, 2, 3, 4].contains(&done.code), "{short:?}: {} {}", done.code, done.err);
        assert!(!done.err.contains("panicked"), "{short:?}: {}", done.err);
        assert!(done.err.len() < 5_000, "{short:?}: {} bytes of words", done.err.len());
    }
}

#[test]
fn files_that_are_no_skill_cost_only_themselves() {
    let place = Place::harbour();
    let put = |name: &str, bytes: &[u8]| {
        write(&place.work(), &format!("//- skills/{name}/SKILL.md\n"));
        fs::write(place.work().join(format!("skills/{name}/SKILL.md")), bytes).unwrap();
    };
    put("empty", b"");
    put("binary", &[0, 159, 146, 150, 0, 1, 2, 255].repeat(500));
    put("huge", "x".repeat(5_000_000).as_bytes());
    put("cut", b"---\nname: cut\ndescr");
    let list = place.json(&["skill", "list", "--all"]);
    let skipped = crate::kit::names(&list["skipped"], "path");
    for name in ["empty", "binary"] {
        assert!(skipped.iter().any(|path| path.contains(name)), "{name} in {skipped:?}");
    }
    assert_ne!(place.run(&["open", "skill:huge"]).code, 0);
    assert!(crate::kit::names(&list["skills"], "id").contains(&"tides".to_owned()));
    place.run(&["skill", "check", "skills"]).exits(1).shows(&["FILE_EMPTY", "FILE_TOO_LARGE"]);
    let binary = Place::new();
    fs::write(binary.work().join("noise"), [0, 255, 254, 128]).unwrap();
    binary.run(&["tokens", "noise"]).exits(0).says(&["NOT_UTF8"]);
}

#[test]
fn without_a_home_skills_can_be_seen_and_state_says_what_to_set() {
    let place = Place::harbour();
    let homeless = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env_remove("HOME").env_remove("CONCERTINA_HOME");
        done(command)
    };
    homeless(&["skill", "list"]).exits(0).shows(&["tides"]);
    homeless(&["session", "new"]).exits(5).fails_clearly("NO_HOME").says(&["set CONCERTINA_HOME"]);
    assert!(!place.work().join("sessions.db").exists());
}

#[test]
fn a_write_through_the_reading_tool_is_refused() {
    let place = Place::new();
    let example = repository("examples/sql-assistant");
    place.run(&["trust", example.to_str().unwrap()]).exits(0);
    let mut new = place.command(&["session", "new", "--json"]);
    new.current_dir(&example);
    let session = done(new).exits(0).json()["session"].as_str().unwrap().to_owned();
    place.run(&["open", "skill:inventory", "--session", &session]).exits(0);
    let query = |sql: &str| {
        let arguments = serde_json::json!({"query": sql}).to_string();
        place.run(&["call", "sql/query", &arguments, "--session", &session])
    };
    let before = query("SELECT count(*) AS n FROM orders").exits(0).out;
    for sql in [
        "DELETE FROM orders",
        "UPDATE orders SET total_amount = 0",
        "DROP TABLE orders",
        "ATTACH DATABASE 'other.db' AS other",
        "SELECT 1; DELETE FROM orders",
        "PRAGMA writable_schema = 1",
    ] {
        let refused = query(sql);
        assert!(!refused.err.contains("panicked"));
        assert_eq!(refused.code, 3, "{sql}: {} {}", refused.out, refused.err);
    }
    let count = |text: &str| text.split("\"rows\"").nth(1).unwrap_or_default().to_owned();
    assert_eq!(count(&query("SELECT count(*) AS n FROM orders").exits(0).out), count(&before));
}

#[test]
fn a_broken_tool_does_not_cost_the_other() {
    let place = Place::with(
        "//- concertina.toml\n[tool.good]\ndescription = \"Works.\"\nargv = [\"/bin/echo\", \"hello\"]\n\n\
         [tool.bad]\ndescription = \"Does not.\"\nargv = 7\n",
    );
    place.run(&["call", "good"]).exits(0).shows(&["hello"]).says(&["concertina.toml:7:"]);
    place.run(&["call", "bad"]).exits(4).says(&["[UNKNOWN_TOOL]"]);
}

#[test]
fn an_unreadable_policy_denies_everything() {
    let place = Place::harbour();
    write(&place.work(), "//- concertina.toml\n[policy]\nrules = \"all of it\"\n");
    place.run(&["open", "skill:logbook"]).exits(3);
    let list = place.run(&["skill", "list", "--for", "model"]).exits(0);
    assert_eq!(list.out, "");
    list.says(&["concertina.toml:2:"]);
}

#[test]
fn an_unknown_key_is_shown_with_its_place_and_the_one_that_was_meant() {
    let place = Place::with("//- concertina.toml\n[listing]\nchrs = 4000\n");
    let list = place.run(&["skill", "list"]).exits(0);
    list.says(&["concertina.toml:2:1", "chrs", "`chars`"]);
}

#[test]
fn settings_that_are_no_toml_are_said_with_their_place() {
    let place = Place::with("//- concertina.toml\n[listing\nchars = 4000\n");
    place.run(&["skill", "list"]).exits(0).says(&["error: ", "concertina.toml:1:"]);
    fs::write(place.work().join("concertina.toml"), [0xff, 0xfe, 0, 1]).unwrap();
    place.run(&["skill", "list"]).exits(0).says(&["concertina.toml"]);
}

#[test]
fn what_is_not_there_is_exit_four_and_named() {
    let place = Place::harbour();
    for (arguments, code) in [
        (&["skill", "check", "nowhere"][..], "UNREADABLE"),
        (&["skill", "show", "nowhere"], "NOT_FOUND"),
        (&["skill", "show", "tides", "--part", "nowhere"], "NO_SUCH_PART"),
        (&["tokens", "nowhere"], "UNREADABLE"),
        (&["run", "nowhere", "task"], "NOT_FOUND"),
        (&["session", "show", "nowhere"], "NO_SESSION"),
        (&["session", "show", "last"], "NO_SESSION"),
        (&["open", "skill:nowhere"], "NOT_FOUND"),
    ] {
        let done = place.run(arguments).exits(4).fails_clearly(code);
        assert!(
            done.err.contains("nowhere") || arguments.contains(&"last"),
            "{arguments:?}: {}",
            done.err
        );
    }
    assert!(!Path::new(&place.state().join("sessions.db")).exists(), "looking makes no log");
}

#[test]
fn a_usage_error_is_json_where_json_was_asked_for() {
    let place = Place::new();
    let done = place.run(&["find", "--json", "--nonsense"]).exits(2);
    assert_eq!(done.json()["error"]["code"], "USAGE");
    place.run(&["find"]).exits(2).says(&["Usage:"]);
}

#[test]
fn a_file_that_is_not_there_is_not_found_whoever_wants_it() {
    let place = Place::harbour();
    let session = place.run(&["session", "new"]).exits(0).out.trim().to_owned();
    for (arguments, code) in [
        (&["skill", "check", "nowhere"][..], "UNREADABLE"),
        (&["skill", "install", "nowhere"], "NOT_FOUND"),
        (&["skill", "sign", "nowhere"], "NOT_FOUND"),
        (&["sop", "check", "nowhere"], "UNREADABLE"),
        (&["sop", "graph", "nowhere"], "UNREADABLE"),
        (&["sop", "start", "nowhere"], "PROCEDURE_NOT_FOUND"),
        (&["sop", "submit", "nowhere", "--session", &session], "UNREADABLE"),
        (&["receipt", "verify", "nowhere"], "UNREADABLE"),
        (&["receipt", "verify", "nowhere", "--procedure", "nowhere.yaml"], "UNREADABLE"),
        (&["audit", "verify", "--file", "nowhere"], "UNREADABLE"),
        (&["audit", "claims", &session, "--transcript", "nowhere"], "UNREADABLE"),
        (&["eval", "tools", "--catalog", "nowhere", "--queries", "nowhere"], "UNREADABLE"),
        (&["tokens", "nowhere"], "UNREADABLE"),
        (&["run", "nowhere", "A task"], "NOT_FOUND"),
    ] {
        place.run(arguments).exits(4).fails_clearly(code);
    }
}
