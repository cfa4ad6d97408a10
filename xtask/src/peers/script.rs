//! Runs a script of cases and hears how each of them ended.
//!
//! A case is a function under `@case`; its name is known here before anything runs, so that one that never ends, or
//! that cannot be run at all, is counted too.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::install::{self, Missing, Node, Python};
use super::{Case, Stage, Verdict};
use crate::Outcome;

/// For all cases of one script together.
const LIMIT: Duration = Duration::from_mins(4);

/// A script with cases.
#[derive(Debug)]
pub(super) struct Script {
    file: &'static str,
    /// A virtual environment of its own, where it cannot share the one that holds Node.
    python: Option<&'static str>,
    /// Node packages of its own, beside the servers.
    node: Option<&'static str>,
}

pub(super) const ALL: &[Script] = &[
    Script { file: "upstreams.py", python: None, node: None },
    Script { file: "clients.py", python: None, node: None },
    Script { file: "older_client.py", python: Some("python-older"), node: None },
    Script { file: "agents.py", python: None, node: Some("agents") },
];

/// What a script runs with.
#[derive(Debug)]
pub(super) struct Needs {
    python: Python,
    shared: Python,
    node: Node,
    own: Option<Node>,
}

impl Script {
    /// What it runs with, given what all share, or why that is not there.
    fn needs(&self, stage: &Stage, shared: Missing<(&Python, &Node)>) -> Missing<Needs> {
        let (shared, node) = shared.map(|(python, node)| (python.clone(), node.clone()))?;
        let python = match self.python {
            Some(name) => install::python(stage, name)?,
            None => shared.clone(),
        };
        let own = self.node.map(|name| install::node(stage, &shared, name)).transpose()?;
        Ok(Needs { python, shared, node, own })
    }
}

/// Runs the cases of `script` whose name holds `only`; `tell` hears of each as it ends.
pub(super) fn run(
    stage: &Stage,
    script: &Script,
    shared: Missing<(&Python, &Node)>,
    only: Option<&str>,
    tell: &mut dyn FnMut(Case),
) -> Outcome<()> {
    let path = stage.scripts.join(script.file);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let mut waiting = cases(&text);
    waiting.retain(|name| only.is_none_or(|part| name.contains(part)));
    if waiting.is_empty() {
        return Ok(());
    }
    println!("\n== {}", script.file);
    let why = match script.needs(stage, shared) {
        Err(why) => Verdict::Skipped(why),
        Ok(needs) => Verdict::Failed(listen(stage, &path, &needs, &mut waiting, tell)?),
    };
    for name in waiting {
        tell((name, why.clone()));
    }
    Ok(())
}

/// Tells of the cases as they end and takes them out of `waiting`; why no more will be heard.
fn listen(
    stage: &Stage,
    path: &Path,
    needs: &Needs,
    waiting: &mut Vec<String>,
    tell: &mut dyn FnMut(Case),
) -> Outcome<String> {
    let mut child = command(stage, path, needs, waiting).spawn()?;
    let stdout = child.stdout.take().ok_or("the script has no output")?;
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let end = Instant::now() + LIMIT;
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        match ended(&line) {
            Some((name, verdict)) if waiting.contains(&name) => {
                waiting.retain(|one| *one != name);
                tell((name, verdict));
            }
            _ => println!("  {line}"),
        }
    }
    if Instant::now() >= end {
        child.kill()?;
        child.wait()?;
        return Ok(format!("its script was stopped after {} seconds", LIMIT.as_secs()));
    }
    Ok(format!("its script ended with {} and said nothing of it", child.wait()?))
}

fn command(stage: &Stage, path: &Path, needs: &Needs, names: &[String]) -> Command {
    let mut command = Command::new(needs.python.program());
    command
        .args(["-u", "-W", "ignore"])
        .arg(path)
        .args(names)
        .envs(stage.variables(&needs.shared, &needs.node))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if let Some(own) = &needs.own {
        command.env("PEERS_AGENTS", own.module(""));
    }
    command
}

/// The names of the functions under `@case`.
fn cases(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut names = Vec::new();
    while lines.by_ref().any(|line| line == "@case") {
        let definition = lines.next().and_then(|line| line.strip_prefix("async def "));
        if let Some((name, _)) = definition.and_then(|rest| rest.split_once('(')) {
            names.push(name.to_owned());
        }
    }
    names
}

/// `passed: NAME`, `failed: NAME: WHY` or `skipped: NAME: WHY`.
fn ended(line: &str) -> Option<Case> {
    let (word, rest) = line.split_once(": ")?;
    let (name, why) = rest.split_once(": ").unwrap_or((rest, "no reason was given"));
    let verdict = match word {
        "passed" => Verdict::Passed,
        "failed" => Verdict::Failed(why.to_owned()),
        "skipped" => Verdict::Skipped(why.to_owned()),
        _ => return None,
    };
    Some((name.to_owned(), verdict))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn cases_are_known_before_they_run() {
        let text = "@case\nasync def one(x):\n    pass\n\nasync def helper():\n\n@case\nasync def two():\n";
        assert_eq!(cases(text), ["one", "two"]);
    }

    #[test]
    fn a_line_says_how_a_case_ended() {
        let failed = |why: &str| Some(("a".to_owned(), Verdict::Failed(why.to_owned())));
        assert_eq!(ended("passed: a"), Some(("a".to_owned(), Verdict::Passed)));
        assert_eq!(ended("failed: a: b: c"), failed("b: c"));
        assert_eq!(ended("failed: a"), failed("no reason was given"));
        assert_eq!(ended("noise: a"), None);
        assert_eq!(ended("noise"), None);
    }
}
