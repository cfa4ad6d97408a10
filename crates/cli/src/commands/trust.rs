//! `concertina trust PATH`.

use std::path::{Component, Path, PathBuf};

use concertina_runtime::supply::Changes;
use concertina_runtime::{Brought, Workspace};
use serde_json::{Value, json};

use crate::args::TrustArgs;
use crate::consent::ask;
use crate::error::{CliError, Exit};
use crate::output::{Output, count, table};
use crate::place;

pub(crate) fn run(args: &TrustArgs, out: &mut Output) -> Result<u8, CliError> {
    let path = named(&args.path)?;
    // Trust in what is gone can still be taken back.
    if !path.exists() && !args.undo {
        let message = format!("there is no {}", args.path.display());
        return Err(CliError::new(Exit::NotFound, "NOT_FOUND", message).help("check the path"));
    }
    let mut workspace = workspace_of(&path)?;
    if let Some(why) = workspace.trust_unreadable() {
        out.say(format!("warning: {why}, so nothing was trusted so far [TRUST_UNREADABLE]"));
    }
    if args.undo {
        undo(&mut workspace, &path, out)
    } else if args.diff {
        diff(&changes(&mut workspace, &path)?, &path, out)
    } else if args.list {
        list(&workspace.brought(&path)?, &path, out)
    } else {
        give(&mut workspace, &path, out)
    }
}

/// The absolute path that was typed, without `.` and `..`. Links are kept as written.
fn named(path: &Path) -> Result<PathBuf, CliError> {
    let mut clean = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    Ok(clean)
}

/// How far above a path its workspace is looked for: `.claude/skills/NAME/SKILL.md` is four below.
const LEVELS: usize = 5;

/// The workspace that `path` belongs to: the current directory where it lies there, else the
/// nearest directory that brings something there.
fn workspace_of(path: &Path) -> Result<Workspace, CliError> {
    let current = std::env::current_dir()?;
    if path.starts_with(&current) {
        return place::quietly(&current);
    }
    for root in path.ancestors().filter(|root| root.is_dir()).take(LEVELS) {
        let mut workspace = place::quietly(root)?;
        if !workspace.brought(path)?.is_empty() {
            return Ok(workspace);
        }
    }
    place::quietly(&current)
}

fn give(workspace: &mut Workspace, path: &Path, out: &mut Output) -> Result<u8, CliError> {
    let changes = changes(workspace, path)?;
    if !out.is_json() {
        tell(&changes, out)?;
    }
    if !changes.is_empty() && ask("trust this?", out)? == Some(false) {
        return Err(CliError::new(
            Exit::Denied,
            "APPROVAL_NEEDED",
            "nothing was trusted: you said no",
        )
        .help("what was trusted before and is unchanged stays trusted"));
    }
    let given = workspace.trust(path)?;
    if out.is_json() {
        let changes: Vec<Value> = changes.iter().map(data).collect();
        out.json(&json!({"trusted": given, "changes": changes}))?;
        return Ok(0);
    }
    for file in &given {
        out.line(format!("trusted {file}"))?;
    }
    if given.is_empty() {
        out.say(nothing(path));
    } else {
        out.say(format!(
            "{} trusted as now; a change needs trust again; --undo takes it back",
            count(given.len(), "file")
        ));
    }
    Ok(0)
}

/// What was trusted at or below `path` and is another now, and how; none where that was not kept.
fn changes(
    workspace: &mut Workspace,
    path: &Path,
) -> Result<Vec<(Brought, Option<Changes>)>, CliError> {
    let changed = workspace.brought(path)?.into_iter().filter(|one| one.changed);
    let changed: Vec<Brought> = changed.collect();
    Ok(changed.into_iter().map(|one| (one.clone(), workspace.changes(&one))).collect())
}

/// Shows what changed since it was trusted.
fn tell(changes: &[(Brought, Option<Changes>)], out: &mut Output) -> Result<(), CliError> {
    for (one, changes) in changes {
        out.line(format!("{} is not what you trusted:", one.path))?;
        match changes {
            Some(changes) if !changes.is_empty() => {
                for line in changes.text().lines() {
                    out.line(format!("  {line}"))?;
                }
            }
            Some(_) => {
                out.line("  its bytes are the same; where they lie or link to is another")?;
            }
            None => out.line("  what it was then was not kept, so look at all of it")?,
        }
    }
    Ok(())
}

fn data((one, changes): &(Brought, Option<Changes>)) -> Value {
    json!({"path": one.path, "skill": one.skill, "changes": changes})
}

fn undo(workspace: &mut Workspace, path: &Path, out: &mut Output) -> Result<u8, CliError> {
    let files = workspace.distrust(path)?;
    if out.is_json() {
        out.json(&json!({"withdrawn": files}))?;
    } else {
        let files = count(files, "file");
        out.line(format!("trust was taken back from {files} at or below {}", path.display()))?;
    }
    Ok(0)
}

/// Shows what changed since it was trusted, and trusts nothing.
fn diff(
    changes: &[(Brought, Option<Changes>)],
    path: &Path,
    out: &mut Output,
) -> Result<u8, CliError> {
    if out.is_json() {
        out.json(&json!({"changes": changes.iter().map(data).collect::<Vec<_>>()}))?;
    } else if changes.is_empty() {
        out.say(format!("nothing that was trusted below {} has changed", path.display()));
    } else {
        tell(changes, out)?;
    }
    Ok(0)
}

fn list(brought: &[Brought], path: &Path, out: &mut Output) -> Result<u8, CliError> {
    if out.is_json() {
        out.json(&json!({"files": brought}))?;
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = brought
        .iter()
        .map(|one| {
            let word = match (one.trusted, one.changed) {
                (true, _) => "trusted",
                (false, true) => "changed",
                (false, false) => "waits",
            };
            let what = one.skill.as_ref().map_or("settings".to_owned(), |id| format!("skill:{id}"));
            vec![word.to_owned(), what, one.path.clone()]
        })
        .collect();
    out.raw(&table(&rows, &[]))?;
    if brought.is_empty() {
        out.say(nothing(path));
    }
    Ok(0)
}

fn nothing(path: &Path) -> String {
    format!("{} brings no skills and no settings that need trust", path.display())
}
