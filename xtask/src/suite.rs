//! `cargo xtask test`: everything that must hold, cheapest first, up to the first failure.

use std::io::{BufRead, BufReader};
use std::process::Command;

use crate::summary::{Reader, Tally};
use crate::workspace::{Finding, Workspace};
use crate::{Outcome, arch, links, readme, requirements};

/// What this suite does not cover, and how to cover it.
const LEFT_OUT: &[&str] = &[
    "left out: the real clients, servers and databases; run cargo xtask test --peers",
    "left out: time and memory; run cargo xtask bench",
];

type Step = fn(&Workspace, &mut Reader) -> Outcome<()>;

const STEPS: &[(&str, Step)] = &[
    ("formatting", |workspace, _| succeed(&mut cargo(workspace, "fmt --all --check"))),
    ("architecture", |workspace, _| nothing_in(&arch::check(workspace)?)),
    ("requirements", |workspace, _| nothing_in(&requirements::check(&workspace.sources)?)),
    ("links", |workspace, _| nothing_in(&links::check(workspace))),
    ("lints", |workspace, _| {
        // With the feature, so that the generator of the token table is not forgotten.
        let clippy = "clippy --workspace --all-targets --features xtask/token-table -- -D warnings";
        succeed(&mut cargo(workspace, clippy))
    }),
    ("documentation", |workspace, _| {
        // Libraries only: the program and the library facade share the name `concertina`.
        let doc = "doc --workspace --no-deps --lib";
        succeed(cargo(workspace, doc).env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("tests", tests),
    ("README commands", |workspace, _| nothing_in(&readme::check(workspace)?)),
];

/// Runs the steps; true when all of them held. The last line printed is the summary.
pub(crate) fn run(workspace: &Workspace) -> bool {
    let mut reader = Reader::default();
    let mut failure = None;
    let mut steps = STEPS.iter().enumerate();
    for (index, (title, step)) in steps.by_ref() {
        println!("\n== {}/{} {title}", index + 1, STEPS.len());
        if let Err(error) = step(workspace, &mut reader) {
            println!("error: {error}");
            failure = Some(*title);
            break;
        }
    }
    println!("\n== summary");
    for (test, reason) in reader.skips() {
        println!("skipped: {test} ({reason})");
    }
    for line in LEFT_OUT {
        println!("{line}");
    }
    if let Some(title) = failure {
        println!("failed: {title}");
    }
    for (_, (title, _)) in steps {
        println!("not run: {title}");
    }
    println!("{}", total(reader.tally(), failure.is_some()));
    failure.is_none()
}

/// A step that failed without a failed test counts as one failure, so that no summary looks fine
/// when the suite is not.
fn total(tally: Tally, failed: bool) -> Tally {
    Tally { failed: tally.failed.max(usize::from(failed)), ..tally }
}

fn cargo(workspace: &Workspace, arguments: &str) -> Command {
    workspace.cargo(&arguments.split(' ').collect::<Vec<_>>())
}

fn succeed(command: &mut Command) -> Outcome<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{} ended with {status}", words(command)).into())
    }
}

/// The command as one would type it.
fn words(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn nothing_in(findings: &[Finding]) -> Outcome<()> {
    if crate::report(findings) { Ok(()) } else { Err("see the list above".into()) }
}

/// Unit, integration and documentation tests; all of them, also after a failure.
fn tests(workspace: &Workspace, reader: &mut Reader) -> Outcome<()> {
    // One pipe for both streams, so that cargo's headings stay above what they head.
    let (output, input) = std::io::pipe()?;
    let mut child = {
        // The command owns the pipe's other end: it must go before the end can be seen.
        let mut test = cargo(workspace, "test --workspace --no-fail-fast -- --show-output");
        test.stdout(input.try_clone()?).stderr(input).spawn()?
    };
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if reader.line(line.trim_end()) {
            println!("{line}");
        }
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(format!("cargo test ended with {status}").into()) }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_failed_step_never_looks_fine() {
        let fine = Tally { passed: 3, failed: 0, skipped: 1 };
        assert_eq!(total(fine, false), fine);
        assert_eq!(total(fine, true).to_string(), "3 passed, 1 failed, 1 skipped");
        let two = Tally { failed: 2, ..fine };
        assert_eq!(total(two, true), two);
    }

    #[test]
    fn findings_fail_a_step() {
        assert!(nothing_in(&[]).is_ok());
        assert!(nothing_in(&[Finding::new("a.rs", 1, "x")]).is_err());
    }

    #[test]
    fn a_command_that_fails_fails_its_step() {
        assert!(succeed(&mut Command::new("true")).is_ok());
        let error = succeed(Command::new("false").arg("x")).unwrap_err();
        assert_eq!(error.to_string(), "false x ended with exit status: 1");
    }
}
