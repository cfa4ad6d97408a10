//! `concertina skill check PATH…`.

use std::collections::BTreeSet;
use std::time::Duration;

use concertina_format::skill::{Mode, Status};
use concertina_runtime::sources::{FileSystem, Place, Source as _};
use concertina_runtime::{Checked, check as check_paths, compare_versions};
use concertina_types::{Diagnostic, Severity, limits};
use serde_json::{Value, json};

use super::open::stop_on_signal;
use crate::args::CheckArgs;
use crate::error::CliError;
use crate::output::{Output, count, finding};
use crate::place;

pub(crate) fn check(args: &CheckArgs, out: &mut Output) -> Result<u8, CliError> {
    for path in &args.paths {
        if let Err(error) = std::fs::metadata(path) {
            return Err(CliError::unreadable(path, &error));
        }
    }
    if args.watch {
        return watch(args, out);
    }
    once(args, out)
}

/// How often files are looked at while watching. Looking costs one stat a file and keeps nothing
/// open, so a skill of twenty thousand files takes no descriptor.
const LOOK: Duration = Duration::from_millis(400);

/// Checks again whenever something changes, until a stop is asked for.
fn watch(args: &CheckArgs, out: &mut Output) -> Result<u8, CliError> {
    let cancel = stop_on_signal()?;
    let places = args.paths.iter().map(|path| Place::named(path.clone()));
    let mut source = FileSystem::new(places.collect());
    let mut code = 0;
    while !cancel.is_stopped() {
        if source.is_stale() {
            source.scan();
            code = once(args, out)?;
            out.say("watching for changes; Ctrl-C stops");
        }
        std::thread::sleep(LOOK);
    }
    Ok(code)
}

fn once(args: &CheckArgs, out: &mut Output) -> Result<u8, CliError> {
    let mode = if args.strict { Mode::Strict } else { Mode::Lenient };
    let mut checked = check_paths(&args.paths, mode);
    // Without a place for state there is nothing to compare with, and the check stands all the same.
    if let Ok(home) = place::home()
        && let Err(error) = compare_versions(&home, &mut checked)
    {
        out.say(format!("warning: {error} [{}]", error.code()));
    }
    if checked.is_empty() {
        let shown: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
        out.say(format!(
            "no skill was found in {}: looked for SKILL.md there, in its subdirectories, and in the layouts of known clients",
            shown.join(", ")
        ));
    }
    if checked.len() > limits::ADVISED_FILES {
        out.say(format!(
            "note: advice to authors is left out for more than {} files; check a part of them for it",
            limits::ADVISED_FILES
        ));
    }
    let rejected = checked.iter().any(|one| one.status == Status::Rejected);
    let twins =
        checked.iter().flat_map(|one| &one.diagnostics).any(|found| found.code == "NAME_TAKEN");
    let altered = checked.iter().any(Checked::is_altered);
    let findings = checked
        .iter()
        .flat_map(|one| &one.diagnostics)
        .any(|found| found.severity > Severity::Info);
    if args.sarif {
        out.json(&sarif(&checked))?;
    } else if out.is_json() {
        let skills: Vec<Value> = checked.iter().map(shown).collect();
        out.json(&json!({"skills": skills, "summary": summary(&checked)}))?;
    } else {
        human(&checked, out)?;
    }
    Ok(u8::from(rejected || twins || altered || (args.strict && findings)))
}

fn shown(one: &Checked) -> Value {
    json!({
        "path": one.path,
        "name": one.document.as_ref().map(|document| &document.name),
        "description": one.document.as_ref().and_then(|document| document.description.as_ref()),
        "status": one.status,
        "listed": one.is_listed(),
        "digest": one.digest,
        "diagnostics": all(one).collect::<Vec<_>>(),
    })
}

/// What was found, then what could be better.
fn all(one: &Checked) -> impl Iterator<Item = &Diagnostic> {
    one.diagnostics.iter().chain(&one.advice)
}

/// The findings as SARIF 2.1.0: one run, one rule a code, one result a finding.
fn sarif(checked: &[Checked]) -> Value {
    let found = || checked.iter().flat_map(|one| all(one).map(move |found| (one, found)));
    let rules: BTreeSet<&str> = found().map(|(_, found)| found.code.as_ref()).collect();
    let results: Vec<Value> = found()
        .map(|(one, found)| {
            let level = match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "note",
            };
            let message = match &found.help {
                Some(help) => format!("{}; {help}", found.message),
                None => found.message.clone(),
            };
            // The address of a file in a log has slashes on every system.
            let uri = one.path.to_string_lossy().replace('\\', "/");
            let file = json!({"uri": uri});
            let place = match found.line {
                None => json!({"artifactLocation": file}),
                Some(line) => json!({
                    "artifactLocation": file,
                    "region": {"startLine": line, "startColumn": found.column.unwrap_or(1)},
                }),
            };
            json!({
                "ruleId": found.code, "level": level, "message": {"text": message},
                "locations": [{"physicalLocation": place}],
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "concertina", "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_iter().map(|code| json!({"id": code})).collect::<Vec<_>>(),
            }},
            "results": results,
        }],
    })
}

fn summary(checked: &[Checked]) -> Value {
    let with = |status| checked.iter().filter(|one| one.status == status).count();
    let severity = |severity| {
        let found = checked.iter().flat_map(all);
        found.filter(|found| found.severity == severity).count()
    };
    json!({
        "total": checked.len(),
        "ok": with(Status::Ok),
        "derived": with(Status::Derived),
        "repaired": with(Status::Repaired),
        "rejected": with(Status::Rejected),
        "listed": checked.iter().filter(|one| one.is_listed()).count(),
        "errors": severity(Severity::Error),
        "warnings": severity(Severity::Warning),
        "infos": severity(Severity::Info),
    })
}

fn human(checked: &[Checked], out: &mut Output) -> Result<(), CliError> {
    for one in checked {
        for found in all(one) {
            out.lines(finding(&one.path.display().to_string(), found))?;
        }
    }
    let with = |status| checked.iter().filter(|one| one.status == status).count();
    out.line(format!(
        "{}: {} fine, {} repaired, {} derived, {} rejected; the model can be shown {}",
        count(checked.len(), "skill"),
        with(Status::Ok),
        with(Status::Repaired),
        with(Status::Derived),
        with(Status::Rejected),
        checked.iter().filter(|one| one.is_listed()).count()
    ))
}
