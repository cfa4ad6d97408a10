//! Commits that wait for receipts, with the real git.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::kit::{Done, Place, done};
use crate::receipts::{PROCEDURE, Run, public_key};
use crate::schemas::conforms;

/// `git` in `directory`, with the state of `place` and nothing else of the surroundings.
fn git_in(place: &Place, directory: &Path, arguments: &[&str]) -> Done {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", place.home())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.org")])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@example.org")])
        .current_dir(directory)
        .args(arguments);
    done(command)
}

fn git(place: &Place, arguments: &[&str]) -> Done {
    git_in(place, &place.work(), arguments)
}

/// A repository with one commit, in which everything is staged.
fn repository() -> Place {
    let place = Place::with(&format!("{PROCEDURE}//- code\none\n"));
    git(&place, &["init", "-q", "-b", "main"]).exits(0);
    git(&place, &["add", "-A"]).exits(0);
    git(&place, &["commit", "-q", "-m", "first"]).exits(0);
    place
}

/// The same, with commits that wait for receipts.
fn gated() -> Place {
    let place = repository();
    place.run(&["setup", "git"]).exits(0).says(&["commits wait for receipts"]);
    place
}

fn change(place: &Place, text: &str) {
    std::fs::write(place.work().join("code"), text).unwrap();
    git(place, &["add", "-A"]).exits(0);
}

fn commit(place: &Place) -> Done {
    git(place, &["commit", "-q", "-m", "next"])
}

fn head(place: &Place) -> String {
    git(place, &["rev-parse", "HEAD"]).exits(0).out
}

fn hook(place: &Place, name: &str) -> PathBuf {
    place.work().join(".git/hooks").join(name)
}

fn write_hook(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o750)).unwrap();
}

/// What continuous integration runs, in a clone of its own, with the public key alone.
fn arrives(place: &Place, key: &str) -> Done {
    let ci = tempfile::tempdir().unwrap();
    let clone = ci.path().join("clone");
    let from = place.work().display().to_string();
    git_in(place, ci.path(), &["clone", "-q", &from, "clone"]).exits(0);
    let setup = place.run(&["setup", "git", "--json"]).exits(0).json();
    let step = setup["ci"]["shell"].as_str().unwrap();
    assert!(step.contains(key), "{step}");
    let mut command = Command::new("sh");
    let binary = Path::new(env!("CARGO_BIN_EXE_concertina")).parent().unwrap().display();
    command
        .env_clear()
        .env("PATH", format!("{binary}:/usr/bin:/bin"))
        .env("HOME", ci.path())
        .current_dir(clone)
        .args(["-c", step]);
    done(command)
}

#[test]
fn j04_a_commit_waits_for_receipts_and_takes_them_along() {
    let place = gated();
    change(&place, "two\n");
    let before = head(&place);
    commit(&place).exits(1).says(&[
        "there is no receipt",
        "test.ok is not proven",
        "concertina call test",
    ]);
    assert_eq!(head(&place), before);
    // Half of what is wanted is not enough.
    Run::new(&place, "r-1").issue("lint", "lint.ok");
    commit(&place).exits(1).says(&["test.ok is not proven: no receipt proves it"]);
    let run = Run::pass(&place, "r-2");
    commit(&place).exits(0);
    assert_ne!(head(&place), before);
    let note = git(&place, &["notes", "--ref=concertina", "show", "HEAD"]).exits(0).out;
    let export = place.run(&["receipt", "export", "--session", &run.session]).exits(0).out;
    assert_eq!(note, export);
    // Where it arrives nobody knows the home.
    let key = public_key(&place);
    arrives(&place, &key).exits(0).says(&["2 receipts, all in order"]);
}

#[test]
fn j10_an_edit_after_the_receipts_keeps_the_commit_back() {
    let place = gated();
    change(&place, "two\n");
    Run::pass(&place, "r-1");
    change(&place, "three\n");
    commit(&place).exits(1).says(&["[RECEIPT_STALE]"]);
    change(&place, "two\n");
    commit(&place).exits(0);
    change(&place, "three\n");
    git(&place, &["commit", "-q", "-a", "-m", "more"]).exits(1);
    // A later failure takes back what was proven.
    let mut run = Run::pass(&place, "r-2");
    run.issue("test", "");
    commit(&place).exits(1).says(&["a later call of test did not prove it"]);
    run.issue("test", "test.ok");
    commit(&place).exits(0);
}

#[test]
fn j04_what_is_staged_has_to_be_what_was_tested() {
    let place = gated();
    change(&place, "two\n");
    std::fs::write(place.work().join("code"), "three\n").unwrap();
    Run::pass(&place, "r-1");
    commit(&place).exits(1).says(&["code: what is staged is not what lies", "[NOT_STAGED]"]);
    // `-a` stages it, and then it is.
    git(&place, &["commit", "-q", "-a", "-m", "all"]).exits(0);
    std::fs::write(place.work().join("code"), "four\n").unwrap();
    std::fs::write(place.work().join("helper"), "of the tests\n").unwrap();
    Run::pass(&place, "r-2");
    git(&place, &["commit", "-q", "-a", "-m", "a file is missing"]).exits(1).says(&["helper"]);
    git(&place, &["add", "helper"]).exits(0);
    git(&place, &["commit", "-q", "-m", "one only", "helper"]).exits(1).says(&["code"]);
    git(&place, &["commit", "-q", "-a", "-m", "both"]).exits(0);
    arrives(&place, &public_key(&place)).exits(0);
}

#[test]
fn j04_whoever_goes_around_the_hook_is_found_where_the_commit_arrives() {
    let place = gated();
    change(&place, "two\n");
    Run::pass(&place, "r-1");
    commit(&place).exits(0);
    let key = public_key(&place);
    arrives(&place, &key).exits(0);
    change(&place, "three\n");
    git(&place, &["commit", "-q", "--no-verify", "-m", "around"]).exits(0);
    git(&place, &["notes", "--ref=concertina", "show", "HEAD"]).exits(1);
    arrives(&place, &key).exits(1).says(&["there is no receipt"]);
    // Receipts of the commit before do not help.
    git(&place, &["notes", "--ref=concertina", "copy", "HEAD~1", "HEAD"]).exits(0);
    arrives(&place, &key).exits(1).says(&["[RECEIPT_STALE]"]);
}

#[test]
fn j04_a_hook_that_was_there_runs_first_and_comes_back_byte_for_byte() {
    let place = repository();
    let (pre, post) = (hook(&place, "pre-commit"), hook(&place, "post-commit"));
    let texts = [
        "#!/bin/sh\necho before >> \"$HOME/ran\"\ntest ! -e \"$HOME/no\"",
        "not even a script\r\n\0",
    ];
    write_hook(&pre, texts[0]);
    std::fs::write(&post, texts[1]).unwrap();
    let look = |path: &Path| {
        let mode = path.metadata().unwrap().permissions().mode();
        (std::fs::read(path).unwrap(), mode)
    };
    let were = (look(&pre), look(&post));
    let plan = place.json(&["setup", "git", "--dry-run"]);
    conforms("setup-git", &plan);
    assert_eq!(plan["hooks"][0]["action"], "wrapped");
    assert_eq!((look(&pre), look(&post)), were);
    let all = || {
        let mut names: Vec<_> = std::fs::read_dir(pre.parent().unwrap())
            .unwrap()
            .map(|one| one.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let names = all();
    let installed = place.json(&["setup", "git"]);
    conforms("setup-git", &installed);
    assert!(std::fs::read_to_string(&pre).unwrap().contains("# >>> concertina >>>"));
    let again = place.json(&["setup", "git"]);
    assert_eq!(again["hooks"][0]["action"], "unchanged");
    change(&place, "two\n");
    Run::pass(&place, "r-1");
    std::fs::write(place.home().join("no"), "").unwrap();
    commit(&place).exits(1);
    std::fs::remove_file(place.home().join("no")).unwrap();
    commit(&place).exits(0);
    let ran = std::fs::read_to_string(place.home().join("ran")).unwrap();
    assert_eq!(ran, "before\nbefore\n");
    let undone = place.json(&["setup", "git", "--undo"]);
    conforms("setup-git", &undone);
    assert_eq!(undone["hooks"][0]["action"], "restored");
    assert_eq!((look(&pre), look(&post)), were);
    assert_eq!(all(), names);
    assert_eq!(place.json(&["setup", "git", "--undo"])["hooks"][0]["action"], "unchanged");
    assert_eq!((look(&pre), look(&post)), were);
}

#[test]
fn j04_a_hook_of_ours_that_somebody_changed_stays() {
    let place = gated();
    let pre = hook(&place, "pre-commit");
    let ours = std::fs::read_to_string(&pre).unwrap();
    write_hook(&pre, &format!("{ours}echo more\n"));
    place.run(&["setup", "git", "--undo"]).exits(1).fails_clearly("HOOK_CHANGED");
    place.run(&["setup", "git"]).exits(1).fails_clearly("HOOK_CHANGED");
    assert!(hook(&place, "post-commit").exists(), "nothing was half undone");
    write_hook(&pre, &ours);
    place.run(&["setup", "git", "--undo"]).exits(0);
    assert!(!pre.exists() && !hook(&place, "post-commit").exists());
}

#[test]
fn j04_hooks_lie_where_git_looks_for_them() {
    // In a directory that the repository names, from inside a directory of it.
    let place = repository();
    git(&place, &["config", "core.hooksPath", ".git/mine"]).exits(0);
    std::fs::create_dir(place.work().join("inner")).unwrap();
    let mut command = place.command(&["setup", "git", "--procedure", "../sop.yaml", "--json"]);
    command.current_dir(place.work().join("inner"));
    let found = done(command).exits(0).json();
    assert!(found["ci"]["shell"].as_str().unwrap().contains("--workspace 'inner'"));
    assert!(place.work().join(".git/mine/pre-commit").exists());
    change(&place, "two\n");
    commit(&place).exits(1).says(&["test.ok is not proven"]);
    place.run(&["setup", "git", "--undo"]).exits(0);
    commit(&place).exits(0);
    // In another working tree of the same repository.
    let place = repository();
    let tree = place.home().join("tree");
    let at = tree.display().to_string();
    git(&place, &["worktree", "add", "-q", &at, "-b", "other"]).exits(0);
    let mut command = place.command(&["setup", "git"]);
    command.current_dir(&tree);
    done(command).exits(0);
    assert!(hook(&place, "pre-commit").exists());
    std::fs::write(tree.join("code"), "two\n").unwrap();
    git_in(&place, &tree, &["commit", "-q", "-a", "-m", "next"]).exits(1).says(&["test.ok"]);
    // Not where they would run for everything else as well.
    let place = repository();
    let shared = place.home().join("hooks").display().to_string();
    git(&place, &["config", "--global", "core.hooksPath", &shared]).exits(0);
    let refused = place.run(&["setup", "git"]).exits(1).fails_clearly("HOOKS_NOT_OURS");
    refused.says(&["receipt verify - --staged"]);
    git(&place, &["config", "core.hooksPath", ".husky/_"]).exits(0);
    place.run(&["setup", "git"]).exits(1).fails_clearly("HOOKS_NOT_OURS");
}

#[test]
fn j04_a_setup_without_a_repository_or_a_gate_says_so() {
    let place = Place::with(PROCEDURE);
    place.run(&["setup", "git"]).exits(4).fails_clearly("NO_WORKING_TREE");
    git(&place, &["init", "-q", "--bare", "."]).exits(0);
    place.run(&["setup", "git"]).exits(4).fails_clearly("NO_WORKING_TREE");
    let place = Place::with("//- code\none\n");
    git(&place, &["init", "-q"]).exits(0);
    place.run(&["setup", "git"]).exits(2).says(&["--procedure FILE"]);
    crate::kit::write(&place.work(), &PROCEDURE.replace("git_commit", "publish"));
    place.run(&["setup", "git"]).exits(2).says(&["--gate TOOL"]);
    place.run(&["setup", "git", "--gate", "lint"]).exits(2).says(&["nothing stands before"]);
    place.run(&["setup", "git", "--gate", "publish"]).exits(0);
    place.run(&["setup", "git", "--procedure", "code"]).exits(1).fails_clearly("BAD_PROCEDURE");
    let found: Value = place.json(&["setup", "git", "--gate", "publish", "--dry-run"]);
    assert_eq!(found["dry_run"], json!(true));
    assert!(found["ci"]["github"].as_str().unwrap().contains("actions/checkout"));
}

#[test]
fn j04_names_with_quotes_and_blanks_are_one_word() {
    let place = repository();
    let odd = "it's a $(touch oops) procedure.yaml";
    git(&place, &["mv", "sop.yaml", odd]).exits(0);
    std::fs::copy(place.work().join(odd), place.work().join("sop.yaml")).unwrap();
    place.run(&["setup", "git", "--procedure", odd]).exits(0);
    change(&place, "two\n");
    commit(&place).exits(1).says(&["test.ok is not proven"]);
    Run::pass(&place, "r-1");
    commit(&place).exits(0);
    assert!(!place.work().join("oops").exists());
}

#[test]
fn j14_a_hook_stands_for_the_directory_and_the_tool_it_was_set_up_for() {
    let place = repository();
    let tool = |name: &str| format!("[tool.{name}]\nargv = ['true']\n");
    let tools: String = ["lint", "test", "read", "git_commit"].map(tool).concat();
    std::fs::write(place.work().join("concertina.toml"), tools).unwrap();
    place.run(&["trust", "."]).exits(0);
    let level = |place: &Place| {
        let started = place.json(&["sop", "start", "sop.yaml", "--client", "codex"]);
        let held = started["assurance"].as_array().unwrap().clone();
        let commit = held.into_iter().find(|one| one["tool"] == "git_commit").unwrap();
        commit["level"].as_str().unwrap().to_owned()
    };
    assert_eq!(level(&place), "advisory");
    place.run(&["setup", "git"]).exits(0);
    assert_eq!(level(&place), "hooked");
    let path = hook(&place, "pre-commit");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(level(&place), "advisory", "git passes over a hook that cannot be run");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Another directory of the repository does not silently take its place.
    let sub = place.work().join("sub");
    std::fs::create_dir(&sub).unwrap();
    std::fs::copy(place.work().join("sop.yaml"), sub.join("sop.yaml")).unwrap();
    let mut command = place.command(&["setup", "git"]);
    command.current_dir(&sub);
    done(command).exits(1).says(&["HOOK_TAKEN", "another directory of this repository"]);
    assert_eq!(level(&place), "hooked");
}
