//! Transcripts that are documentation as well: `tests/cmd/*.md`.
//!
//! `TRYCMD=overwrite` writes them anew; session ids and digests are then to be replaced by `[..]`.

use std::fmt::Write as _;
use std::process::Command;

fn transcript(name: &str) {
    let state = tempfile::tempdir().unwrap();
    let path = |name: &str| state.path().join(name).display().to_string();
    trycmd::TestCases::new()
        .env("HOME", path("home"))
        .env("CONCERTINA_HOME", path("state"))
        .env("CONCERTINA_SESSION", "")
        .env("XDG_CONFIG_HOME", "")
        .env("CLAUDE_CONFIG_DIR", "")
        .env("CODEX_HOME", "")
        .case(format!("tests/cmd/{name}.md"));
}

#[test]
fn first_steps() {
    transcript("first-steps");
}

#[test]
fn opening_a_skill() {
    transcript("opening");
}

#[test]
fn the_life_of_a_session() {
    transcript("sessions");
}

#[test]
fn skills_that_wait_for_a_file() {
    transcript("touching");
}

#[test]
fn where_skills_come_from() {
    transcript("supply");
}

#[test]
fn the_sql_assistant() {
    transcript("sql-assistant");
}

#[test]
fn the_demo() {
    transcript("demo");
}

/// The help of `path` and of everything below it.
fn help(path: &[&str], text: &mut String) {
    let output = Command::new(env!("CARGO_BIN_EXE_concertina"))
        .args(path)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    assert!(output.status.success(), "{path:?}");
    let shown = String::from_utf8(output.stdout).unwrap();
    let _ = writeln!(text, "## {}\n\n{shown}", [&["concertina"], path].concat().join(" "));
    let commands = shown.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in commands.take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().unwrap();
        if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
            help(&[path, &[name]].concat(), text);
        }
    }
}

#[test]
fn the_whole_reference() {
    let mut text = String::new();
    help(&[], &mut text);
    insta::assert_snapshot!("reference", text);
}
