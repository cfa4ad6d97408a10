//! `cargo xtask test --peers`: Concertina between programs that others wrote.
//!
//! The programs are installed by name from lists with pinned versions (`peers/packages`) into a cache. The cases are
//! functions in `peers/*.py`; here they are started, counted, and stopped when they take too long.

mod conformance;
mod install;
mod script;

use std::path::PathBuf;

use self::install::{Node, Python};
use crate::Outcome;
use crate::summary::Tally;
use crate::workspace::Workspace;

/// How one case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

/// A case by its name.
type Case = (String, Verdict);

/// Whether what is written down may be replaced by what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    Compare,
    Replace,
}

/// Which cases to run, and what to do with what they find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice<'a> {
    record: Record,
    /// A part of their names.
    only: Option<&'a str>,
}

impl<'a> Choice<'a> {
    /// The words after `test --peers`.
    pub(crate) fn of(words: &[&'a str]) -> Outcome<Self> {
        let (record, rest) = match words {
            ["--bless", rest @ ..] => (Record::Replace, rest),
            rest => (Record::Compare, rest),
        };
        match rest {
            [] => Ok(Self { record, only: None }),
            [only] if !only.starts_with('-') => Ok(Self { record, only: Some(only) }),
            _ => Err("after `test --peers` come `--bless` and a part of the names of cases".into()),
        }
    }
}

/// Everything that the cases are given.
#[derive(Debug)]
struct Stage {
    /// The command under test.
    concertina: PathBuf,
    /// The scripts and package lists.
    scripts: PathBuf,
    /// Where programs are installed.
    cache: PathBuf,
}

impl Stage {
    /// What scripts are told by their environment.
    fn variables(&self, python: &Python, node: &Node) -> [(&'static str, PathBuf); 5] {
        [
            ("PEERS_CONCERTINA", self.concertina.clone()),
            ("PEERS_PYTHON", python.program()),
            ("PEERS_NODE", node.program()),
            ("PEERS_MODULES", node.module("")),
            // Nothing is written beside the scripts.
            ("PYTHONDONTWRITEBYTECODE", PathBuf::from("1")),
        ]
    }
}

/// Runs the chosen cases; true when none failed. The last line printed is the summary.
pub(crate) fn run(workspace: &Workspace, choice: Choice<'_>) -> Outcome<bool> {
    println!("== peers: programs that others wrote, behind Concertina and in front of it");
    let stage = Stage {
        concertina: build(workspace)?,
        scripts: workspace.root.join("peers"),
        cache: install::cache()?,
    };
    let installed = install::python(&stage, "python")
        .and_then(|python| install::node(&stage, &python, "node").map(|node| (python, node)));
    let shared = || installed.as_ref().map(|(python, node)| (python, node)).map_err(Clone::clone);
    let mut tally = Tally::default();
    for script in script::ALL {
        script::run(&stage, script, shared(), choice.only, &mut |case| report(&mut tally, &case))?;
    }
    println!("\n== conformance");
    for case in conformance::run(workspace, &stage, &shared(), choice)? {
        report(&mut tally, &case);
    }
    println!("\n{tally}");
    Ok(tally.failed == 0)
}

/// The command, built as its tests build it.
fn build(workspace: &Workspace) -> Outcome<PathBuf> {
    if !workspace.cargo(&["build", "--package", "concertina-cli"]).status()?.success() {
        return Err("the build of the command failed".into());
    }
    Ok(workspace.target_directory()?.join("debug/concertina"))
}

fn report(tally: &mut Tally, (name, verdict): &Case) {
    match verdict {
        Verdict::Passed => {
            tally.passed += 1;
            println!("passed: {name}");
        }
        Verdict::Failed(why) => {
            tally.failed += 1;
            println!("failed: {name}: {why}");
        }
        Verdict::Skipped(why) => {
            tally.skipped += 1;
            println!("skipped: {name}: {why}");
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn words_choose_cases() {
        let choice = |record, only| Choice { record, only };
        for (words, expected) in [
            (&[][..], choice(Record::Compare, None)),
            (&["time"], choice(Record::Compare, Some("time"))),
            (&["--bless"], choice(Record::Replace, None)),
            (&["--bless", "conformance"], choice(Record::Replace, Some("conformance"))),
        ] {
            assert_eq!(Choice::of(words).unwrap(), expected, "{words:?}");
        }
        assert!(Choice::of(&["--blesss"]).is_err());
        assert!(Choice::of(&["a", "b"]).is_err());
    }
}
