//! `concertina skill lock [PATH…]`.

use std::path::{Path, PathBuf};

use concertina_runtime::supply::{
    LOCK_FILE, LockMode, LockReport, LockStanding, LockedSkill, lock_skills,
};
use serde_json::json;

use crate::args::LockArgs;
use crate::error::{CliError, Exit};
use crate::output::{Output, count, table};

/// How far above a path its lock file is looked for.
const LEVELS: usize = 8;

pub(crate) fn lock(args: &LockArgs, out: &mut Output) -> Result<u8, CliError> {
    let paths = args.paths.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>()?;
    let directory = match &args.lock {
        Some(directory) => absolute(directory)?,
        None => lock_directory(&paths)?,
    };
    let file = directory.join(LOCK_FILE);
    if args.check && !file.exists() {
        let message = format!("there is no {}", file.display());
        return Err(CliError::new(Exit::NotFound, "NO_LOCK", message)
            .help("`concertina skill lock` makes it"));
    }
    let mode = if args.check { LockMode::Check } else { LockMode::Write };
    let report = lock_skills(&directory, &paths, mode)?;
    if out.is_json() {
        let LockReport { skills, skipped, .. } = &report;
        out.json(&json!({
            "lock": file, "ok": report.is_same(), "written": !args.check, "skills": skills,
            "skipped": skipped,
        }))?;
    } else {
        human(&report, args.check, out)?;
    }
    let is_wrong = args.check && !report.is_same() || !report.skipped.is_empty();
    Ok(u8::from(is_wrong))
}

fn human(report: &LockReport, check: bool, out: &mut Output) -> Result<(), CliError> {
    let rows: Vec<Vec<String>> = report.skills.iter().map(row).collect();
    out.raw(&table(&rows, &[]))?;
    for skipped in &report.skipped {
        out.say(format!("warning: not locked: {} [{}]", skipped.reason, skipped.code));
    }
    let (file, skills) = (report.file.display(), count(report.skills.len(), "skill"));
    let other = report.skills.iter().filter(|skill| skill.standing != LockStanding::Same).count();
    out.say(match (check, report.skills.is_empty()) {
        (_, true) => "no skill was found there".to_owned(),
        (true, false) if other == 0 => format!("{skills} as {file} says"),
        (true, false) => format!(
            "not as {file} says: {other} of {skills}; look at what changed, then lock it: concertina skill lock [LOCK_MISMATCH]"
        ),
        (false, false) => format!("{skills} locked in {file}"),
    });
    Ok(())
}

fn row(skill: &LockedSkill) -> Vec<String> {
    let standing = match skill.standing {
        LockStanding::Same => "same",
        LockStanding::Changed => "changed",
        LockStanding::Added => "new",
        LockStanding::Gone => "gone",
    };
    let digest = skill.digest.map(|digest| digest.short()).unwrap_or_default();
    let mut row = vec![standing.to_owned(), skill.path.clone(), digest];
    if !skill.differences.is_empty() {
        row.push(skill.differences.join(", "));
    }
    row
}

/// The absolute path that was typed, without `.`. Links are kept as written.
fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    Ok(std::path::absolute(path)?.components().collect())
}

fn lock_directory(paths: &[PathBuf]) -> Result<PathBuf, CliError> {
    let current = std::env::current_dir()?;
    let first = paths.first().unwrap_or(&current);
    let mut above = first.ancestors().take(LEVELS);
    if let Some(found) = above.find(|directory| directory.join(LOCK_FILE).is_file()) {
        return Ok(found.to_owned());
    }
    let is_skill = |path: &Path| path.is_file() || path.join("SKILL.md").is_file();
    Ok(if paths.iter().all(|path| path.starts_with(&current)) {
        current
    } else if is_skill(first) {
        first.parent().unwrap_or(first).to_owned()
    } else {
        first.clone()
    })
}
