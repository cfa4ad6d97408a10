//! The commands that README.md shows do what it shows.
//!
//! In blocks marked `console`, a line `$ cargo run --release -- …` is run in the root, and the lines
//! up to the next `$` are what it prints, on both streams together. `[..]` stands for anything
//! within a line, a line `...` for any lines. A command shown without output must only succeed.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::workspace::{Finding, Workspace};

const README: &str = "README.md";
/// What is run. Anything else that the README shows is for the reader's own machine.
const RUNNABLE: &str = "cargo run --release -- ";

/// A command with the output shown below it.
#[derive(Debug, PartialEq, Eq)]
struct Example<'a> {
    line: usize,
    command: String,
    output: Vec<&'a str>,
}

/// Runs every command; finds those that fail or print something else.
pub(crate) fn check(workspace: &Workspace) -> Outcome<Vec<Finding>> {
    let source = workspace.sources.iter().find(|source| source.path == README);
    let text = &source.ok_or("there is no README.md")?.text;
    let (runnable, other): (Vec<_>, Vec<_>) =
        examples(text).into_iter().partition(|example| example.command.starts_with(RUNNABLE));
    for example in &other {
        println!("{README}:{}: not run: {}", example.line, example.command);
    }
    if runnable.is_empty() {
        let message = format!("no `console` block shows a command that starts with `{RUNNABLE}`");
        return Ok(vec![Finding::new(README, 1, message)]);
    }
    if !workspace.cargo(&["build", "--release", "--bin", "concertina"]).status()?.success() {
        return Err("the release build failed".into());
    }
    // One home for all: a later command may build on an earlier one, as it does for the reader.
    let home = tempfile::tempdir()?;
    let mut findings = Vec::new();
    for example in &runnable {
        println!("$ {}", example.command);
        if let Some(message) = try_out(example, &workspace.root, home.path())? {
            findings.push(Finding::new(README, example.line, message));
        }
    }
    Ok(findings)
}

/// Why the example does not hold.
fn try_out(example: &Example<'_>, root: &Path, home: &Path) -> Outcome<Option<String>> {
    let run = Command::new("sh")
        // Both streams into one pipe keep the order in which a terminal would show them.
        .args(["-c", &format!("exec 2>&1\n{}", example.command)])
        .current_dir(root)
        .stdin(Stdio::null())
        .env("CARGO_TERM_QUIET", "true")
        .env("NO_COLOR", "1")
        .env("CONCERTINA_HOME", home.join("state"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("CLAUDE_CONFIG_DIR", home.join("claude"))
        .env("CODEX_HOME", home.join("codex"))
        .env_remove("CONCERTINA_SESSION")
        .output()?;
    let printed = String::from_utf8_lossy(&run.stdout);
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let shown = lines.join("\n");
    Ok(if !run.status.success() {
        Some(format!("`{}` ended with {}:\n{shown}", example.command, run.status))
    } else if !example.output.is_empty() && !matches(&example.output, &lines) {
        Some(format!("`{}` printed something else:\n{shown}", example.command))
    } else {
        None
    })
}

fn examples(text: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let (mut inside, mut continued) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.starts_with("```") {
            inside = !inside && line == "```console";
            continued = false;
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            continued = command.ends_with('\\');
            let command = command.to_owned();
            examples.push(Example { line: index + 1, command, output: Vec::new() });
        } else if let Some(example) = examples.last_mut() {
            if continued {
                continued = line.ends_with('\\');
                example.command.push('\n');
                example.command.push_str(line.trim_start_matches("> "));
            } else {
                example.output.push(line);
            }
        }
    }
    // Blank lines between one output and the next command are layout.
    for example in &mut examples {
        while example.output.last().is_some_and(|line| line.is_empty()) {
            example.output.pop();
        }
    }
    examples
}

/// Whether `lines` are what `pattern` shows.
fn matches(pattern: &[&str], lines: &[&str]) -> bool {
    match (pattern.split_first(), lines.split_first()) {
        (None, None) => true,
        (None, Some((line, lines))) => line.is_empty() && matches(pattern, lines),
        (Some((&"...", rest)), _) => {
            (0..=lines.len()).any(|n| lines.get(n..).is_some_and(|lines| matches(rest, lines)))
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((line, lines))) => {
            line_matches(first, line) && matches(rest, lines)
        }
    }
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((head, tail)) = pattern.split_once("[..]") else { return pattern == line };
    let Some(rest) = line.strip_prefix(head) else { return false };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| rest.get(at..).is_some_and(|rest| line_matches(tail, rest)))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn commands_and_outputs_are_read() {
        let text = "# T\n```sh\n$ no\n```\n```console\n$ a b\none\n\ntwo\n\n$ c \\\n>   d\n```\n$ outside\n";
        assert_eq!(
            examples(text),
            [
                Example { line: 6, command: "a b".into(), output: vec!["one", "", "two"] },
                Example { line: 11, command: "c \\\n  d".into(), output: vec![] },
            ]
        );
    }

    #[test]
    fn wildcards_stand_for_what_varies() {
        let yes =
            |pattern: &[&str], lines: &[&str]| assert!(matches(pattern, lines), "{pattern:?}");
        let no =
            |pattern: &[&str], lines: &[&str]| assert!(!matches(pattern, lines), "{pattern:?}");
        yes(&["a", "b"], &["a", "b"]);
        yes(&["a[..]c[..]"], &["abcd"]);
        yes(&["[..]ab"], &["aab"]);
        yes(&["...", "z"], &["a", "z", "z"]);
        yes(&["a", "..."], &["a"]);
        yes(&["a"], &["a", ""]);
        no(&["a"], &["a", "b"]);
        no(&["a", "b"], &["a"]);
        no(&["a[..]c"], &["abd"]);
        no(&["...", "z"], &["a", "y"]);
        no(&["A"], &["a"]);
    }

    #[test]
    fn an_example_holds_or_says_why_not() {
        let example = |command: &str, output| Example { line: 1, command: command.into(), output };
        let home = tempfile::tempdir().unwrap();
        let run = |example: Example<'_>| try_out(&example, home.path(), home.path()).unwrap();
        assert_eq!(run(example("echo one; echo two >&2", vec!["one", "two"])), None);
        assert_eq!(run(example("test -n \"$CONCERTINA_HOME\"", vec![])), None);
        assert!(run(example("echo one", vec!["two"])).unwrap().contains("something else:\none"));
        assert!(run(example("echo why; exit 3", vec!["why"])).unwrap().contains("exit status: 3"));
    }
}
