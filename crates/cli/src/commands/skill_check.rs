//! `concertina skill check PATH…`.

use concertina_format::skill::{Mode, Status};
use concertina_runtime::{Checked, check as check_paths};
use concertina_types::Severity;
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::error::{CliError, Exit};
use crate::output::{Output, count, finding};

pub(crate) fn check(args: &CheckArgs, out: &mut Output) -> Result<u8, CliError> {
    for path in &args.paths {
        if let Err(error) = std::fs::metadata(path) {
            let exit = match error.kind() {
                std::io::ErrorKind::NotFound => Exit::NotFound,
                _ => Exit::Environment,
            };
            let message = format!("{} cannot be read: {error}", path.display());
            return Err(CliError::new(exit, "UNREADABLE", message));
        }
    }
    let mode = if args.strict { Mode::Strict } else { Mode::Lenient };
    let checked = check_paths(&args.paths, mode);
    if checked.is_empty() {
        let shown: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
        out.say(format!(
            "no skill was found in {}: looked for SKILL.md there, in its subdirectories, and in the layouts of known clients",
            shown.join(", ")
        ));
    }
    let rejected = checked.iter().any(|one| one.status == Status::Rejected);
    let twins =
        checked.iter().flat_map(|one| &one.diagnostics).any(|found| found.code == "NAME_TAKEN");
    let findings = checked
        .iter()
        .flat_map(|one| &one.diagnostics)
        .any(|found| found.severity > Severity::Info);
    if out.is_json() {
        let skills: Vec<Value> = checked.iter().map(shown).collect();
        out.json(&json!({"skills": skills, "summary": summary(&checked)}))?;
    } else {
        human(&checked, out)?;
    }
    Ok(u8::from(rejected || twins || (args.strict && findings)))
}

fn shown(one: &Checked) -> Value {
    json!({
        "path": one.path,
        "name": one.document.as_ref().map(|document| &document.name),
        "description": one.document.as_ref().and_then(|document| document.description.as_ref()),
        "status": one.status,
        "listed": one.is_listed(),
        "digest": one.digest,
        "diagnostics": one.diagnostics,
    })
}

fn summary(checked: &[Checked]) -> Value {
    let with = |status| checked.iter().filter(|one| one.status == status).count();
    let severity = |severity| {
        let found = checked.iter().flat_map(|one| &one.diagnostics);
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
        for found in &one.diagnostics {
            out.line(finding(&one.path.display().to_string(), found))?;
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
