//! `concertina demo`: the whole of it, with a real repository and tests that really run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::kit::{Place, done};
use crate::schemas::conforms;

/// The binary where git is: wherever whoever runs the tests has it.
fn with_git(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("PATH", std::env::var("PATH").unwrap());
    command
}

fn lines<'v>(result: &'v Value, part: usize, about: &str) -> Vec<&'v str> {
    let lines = result["parts"][part]["lines"].as_array().unwrap().iter();
    let lines = lines.filter(|line| line["about"] == about);
    lines.map(|line| line["text"].as_str().unwrap()).collect()
}

fn git(work: &Path, arguments: &[&str]) -> String {
    let ran = Command::new("git").args(arguments).current_dir(work).output().unwrap();
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

#[test]
fn j09_j10_j11_the_demo_commits_only_what_really_ran() {
    let place = Place::new();
    let kept = place.work().join("kept");
    let arguments = ["demo", "--json", "--keep", "kept", "--html", "page.html"];
    let result = done(with_git(&place, &arguments)).exits(0).json();
    conforms("demo", &result);

    // A claim is no proof: the commit is refused, and the step stays.
    let refused = lines(&result, 0, "refused");
    assert!(refused.len() == 1 && refused[0].contains("[NOT_VISIBLE]"), "{refused:?}");
    assert!(result["parts"][0]["standing"].as_str().unwrap().contains("step lint"), "{result}");
    // It says that the tests ran, and that they passed.
    assert_eq!(result["claims"]["unbacked"], 2, "{}", result["claims"]);

    // What runs moves it, and a person is asked.
    assert_eq!(lines(&result, 1, "step"), ["lint → test", "test → commit"]);
    assert_eq!(lines(&result, 1, "asked").len(), 1);
    let standing = result["parts"][1]["standing"].as_str().unwrap();
    assert!(standing.ends_with("not callable yet: git_commit"), "{standing}");

    // An edit closes it again.
    assert!(lines(&result, 2, "step")[0].starts_with("commit → lint"), "{result}");
    assert!(lines(&result, 2, "refused")[0].contains("[NOT_VISIBLE]"), "{result}");

    // Old, of another run, forged; and there is no way to hand one in.
    let codes = crate::kit::names(&result["rejected"], "code");
    assert_eq!(codes, ["RECEIPT_STALE", "RECEIPT_WRONG_RUN", "RECEIPT_FORGED"]);
    assert!(lines(&result, 3, "refused").last().unwrap().contains("[STATEMENT_UNREADABLE]"));
    assert!(lines(&result, 3, "proven").is_empty(), "{result}");

    // The tests fail for real, and pass once the program is right.
    assert!(lines(&result, 4, "unproven")[0].contains("test.ok: exit is 1"), "{result}");
    assert!(lines(&result, 4, "proven").last().unwrap().contains("passed 3"), "{result}");

    // A person agrees, as the same user, and the receipt says so; then there is a commit, once.
    let person = result["receipts"].as_array().unwrap().iter();
    let person: Vec<_> = person.filter(|one| one["issuer"] == "human:maintainer").collect();
    assert!(person.len() == 1 && person[0]["assurance"] == "same_uid", "{person:?}");
    let work = kept.join("work");
    assert_eq!(git(&work, &["log", "-1", "--oneline"]), result["commit"].as_str().unwrap());
    assert_eq!(git(&work, &["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(git(&work, &["status", "--porcelain"]), "");
    let program = std::fs::read_to_string(work.join("price.sh")).unwrap();
    assert!(program.contains("shipping=590\nif [ \"$amount\" -ge 5000 ]"), "{program}");

    assert_eq!(result["audit"]["ok"], true);
    assert_eq!(result["audit"]["logs"], 2);

    // The kept log can be verified and shown afterwards.
    let mut verify = with_git(&place, &["audit", "verify", "--json"]);
    verify.env("CONCERTINA_HOME", kept.join("state"));
    assert_eq!(done(verify).exits(0).json()["records"], result["audit"]["records"]);
}

#[test]
fn j04_the_page_of_a_run_stands_alone() {
    let place = Place::new();
    done(with_git(&place, &["demo", "--keep", "kept", "--html", "page.html"])).exits(0);
    let own = std::fs::read_to_string(place.work().join("page.html")).unwrap();
    let session = ["audit", "show", "last", "--html", "session.html"];
    let mut session = with_git(&place, &session);
    session.env("CONCERTINA_HOME", place.work().join("kept/state"));
    done(session).exits(0);
    let any = std::fs::read_to_string(place.work().join("session.html")).unwrap();
    assert!(own.contains("[RECEIPT_FORGED]"), "what was brought and did not count");
    for page in [&own, &any] {
        for needed in ["prefers-color-scheme: dark", "same_uid", "test.ok", "in order"] {
            assert!(page.contains(needed), "{needed}");
        }
        for absent in ["<script", "http://", "https://", "url(", "src=", "<link", "\u{1b}"] {
            assert!(!page.contains(absent), "{absent}");
        }
        // What the tests printed and what was edited stands in it, escaped.
        assert!(page.contains("[ \\&quot;$amount\\&quot; -gt 5000 ]"), "escaped");
    }
}

#[test]
fn a_demo_without_git_says_what_to_install() {
    let place = Place::new();
    let mut command = place.command(&["demo"]);
    command.env("PATH", place.home());
    done(command).exits(5).fails_clearly("GIT_MISSING").says(&["apt-get install git"]);
}

#[test]
fn a_demo_writes_over_nothing() {
    let place = Place::new();
    crate::kit::write(&place.work(), "//- kept/mine.txt\nmine\n");
    done(with_git(&place, &["demo", "--keep", "kept"])).exits(2).fails_clearly("NOT_EMPTY");
}
