//! `concertina sop …`.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::str::Utf8Error;

use concertina_core::procedure::check::Finding;
use concertina_core::procedure::{GraphFormat, check, graph};
use concertina_format::procedure::{PROCEDURE_BYTES, Procedure, parse};
use concertina_runtime::procedures::key_faults;
use concertina_types::{Diagnostic, LineIndex, Severity};
use serde_json::{Value, json};

use super::procedure;
use crate::args::{FormatArg, GraphArgs, SopCommand};
use crate::error::{CliError, Exit};
use crate::output::{Output, count, notice};

pub(crate) fn run(command: &SopCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        SopCommand::Check { files } => checked(files, out),
        SopCommand::Graph(args) => drawn(args, out),
        SopCommand::Start(args) => procedure::start(args, out),
        SopCommand::Status(args) => procedure::status(args, out),
        SopCommand::Leave(args) => procedure::leave(args, out),
        SopCommand::Submit(args) => procedure::submit(args, out),
    }
}

fn checked(files: &[impl AsRef<Path>], out: &mut Output) -> Result<u8, CliError> {
    let mut all = Vec::new();
    for file in files {
        let (procedure, found) = read(file.as_ref())?;
        if let Some(procedure) = &procedure {
            procedure::say_unbound(procedure, out);
        }
        all.push((file.as_ref(), found));
    }
    let is_ok = all.iter().all(|(_, found)| is_ok(found));
    if out.is_json() {
        let findings = all.iter().flat_map(|(file, found)| found.iter().map(|one| told(file, one)));
        out.json(&json!({"ok": is_ok, "findings": findings.collect::<Vec<_>>()}))?;
        return Ok(u8::from(!is_ok));
    }
    for (file, found) in &all {
        for one in found {
            out.lines(shown(file, one))?;
        }
        let errors = found.iter().filter(|one| one.severity == Severity::Error).count();
        let verdict = match (errors, found.len() - errors) {
            (0, 0) => "it can be followed".to_owned(),
            (0, others) => format!("it can be followed; {}", count(others, "finding")),
            (errors, 0) => count(errors, "error"),
            (errors, others) => {
                format!("{}, {}", count(errors, "error"), count(others, "other finding"))
            }
        };
        out.line(format!("{}: {verdict}", file.display()))?;
    }
    Ok(u8::from(!is_ok))
}

fn drawn(args: &GraphArgs, out: &mut Output) -> Result<u8, CliError> {
    let (procedure, found) = read(&args.file)?;
    let Some(procedure) = procedure else {
        for one in &found {
            out.say_styled(&shown(&args.file, one));
        }
        let message = format!("{} is no procedure that could be drawn", args.file.display());
        return Err(CliError::new(Exit::Findings, "NO_PROCEDURE", message)
            .help("correct what `concertina sop check` finds"));
    };
    let (format, name) = match args.format {
        FormatArg::Mermaid => (GraphFormat::Mermaid, "mermaid"),
        FormatArg::Svg => (GraphFormat::Svg, "svg"),
    };
    let text = graph(&procedure, format);
    if let Some(file) = &args.output {
        std::fs::write(file, &text).map_err(|error| {
            let message = format!("{} cannot be written: {error}", file.display());
            CliError::new(Exit::Environment, "UNWRITABLE", message)
        })?;
        if out.is_json() {
            out.json(&json!({"format": name, "file": file}))?;
        }
    } else if out.is_json() {
        out.json(&json!({"format": name, "text": text}))?;
    } else {
        out.raw(&text)?;
    }
    Ok(0)
}

/// The procedure in `file`, where it is one, and what is wrong with it.
fn read(file: &Path) -> Result<(Option<Procedure>, Vec<Finding>), CliError> {
    // One byte more than a procedure can have: the reader says that it is too large.
    let most = PROCEDURE_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file);
    let read = opened.and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| CliError::unreadable(file, &error))?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Ok((None, vec![not_text(error.as_bytes(), error.utf8_error())])),
    };
    let parsed = parse(&text);
    let mut found = Finding::of_reading(&parsed);
    if let Some(procedure) = &parsed.procedure {
        found.extend(check(procedure));
        found.extend(key_faults(procedure).into_iter().map(Finding::from));
        found.sort_by_key(|one| one.at);
    }
    Ok((parsed.procedure, found))
}

/// That `bytes` are no text, and from where on.
fn not_text(bytes: &[u8], error: Utf8Error) -> Finding {
    let at = error.valid_up_to();
    let before = String::from_utf8_lossy(bytes.get(..at).unwrap_or_default());
    let message = format!("this is not UTF-8 text, from byte {at} on");
    let place = LineIndex::new(&before).position(&before, at);
    Diagnostic::new("NOT_UTF8", Severity::Error, message).at(place).help("save it as UTF-8").into()
}

fn is_ok(found: &[Finding]) -> bool {
    found.iter().all(|one| one.severity != Severity::Error)
}

/// A finding for a program.
fn told(file: &Path, one: &Finding) -> Value {
    json!({
        "file": file, "code": one.code, "severity": one.severity, "state": one.state, "path": one.path,
        "message": one.message, "help": one.help, "line": one.at.line, "column": one.at.column,
    })
}

/// A finding for a person, with the way there.
fn shown(file: &Path, one: &Finding) -> String {
    let mut place = format!("{}:{}:{}", file.display(), one.at.line, one.at.column);
    for (at, step) in one.path.iter().enumerate() {
        let _ = write!(place, "\n  {:>3}. {step}", at + 1);
    }
    let help = Some(one.help.as_str()).filter(|help| !help.is_empty());
    notice(one.severity, &one.message, Some(&place), help, &one.code)
}
