//! `concertina audit …`.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read as _, Write as _};
use std::path::Path;

use concertina_core::procedure::Machine;
use concertina_core::session::{Claim, Claimable, Standing, claims, claims_in};
use concertina_format::nearest;
use concertina_runtime::Session;
use concertina_runtime::audit::{
    By, Denied, Record, Wanted, account, denials, records, said_by_model,
};
use concertina_store::{Against, Audit, Verdict, verify_export};
use concertina_types::{Blob, Digest, Fact, SessionId, Timestamp, ToolName};
use serde_json::{Value, json};

use crate::args::{AuditCommand, AuditVerifyArgs, ByArg};
use crate::commands::stats::say_unreadable;
use crate::error::{CliError, Exit};
use crate::output::page::{Page, parts, save};
use crate::output::{Output, clip, count, fitting_table, table};
use crate::place;

pub(crate) fn run(command: &AuditCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        AuditCommand::Verify(args) => verify(args, out),
        AuditCommand::Show { session, html: Some(file), .. } => {
            page(&place::parse_id(session.as_deref().unwrap_or("last"))?, file, out)
        }
        AuditCommand::Show { session, kind, since, html: None } => {
            let since = since.as_deref().map(str::parse::<Timestamp>).transpose();
            let since = since.map_err(|error| CliError::usage(error.to_string()))?;
            let kind = kind.as_deref().map(known_kind).transpose()?;
            let session = place::parse_id(session.as_deref().unwrap_or("last"))?;
            show(&session, &Wanted { kind, since }, out)
        }
        AuditCommand::Denials { session, by } => list_denials(session.as_deref(), *by, out),
        AuditCommand::Claims { session, transcript, all } => {
            check_claims(session, transcript.as_deref(), *all, out)
        }
        AuditCommand::Keys => keys(out),
        AuditCommand::Rotate => {
            let id = Audit::of(&place::home()?).rotate(concertina_runtime::now())?;
            if out.is_json() {
                out.json(&json!({ "key": id.to_string() }))?;
            } else {
                out.line(format!("{id} signs from now on"))?;
            }
            Ok(0)
        }
        AuditCommand::Anchor { session, file } => anchor(session.as_deref(), file.as_deref(), out),
        AuditCommand::Export { session } => export(session, out),
    }
}

fn verify(args: &AuditVerifyArgs, out: &mut Output) -> Result<u8, CliError> {
    let head = args.expect_head.as_deref().map(|text| {
        let text = text.strip_prefix("sha256:").unwrap_or(text);
        format!("sha256:{text}").parse::<Digest>()
    });
    let head = head.transpose().map_err(|error| CliError::usage(error.to_string()))?;
    let (key, anchor) = (args.expect_key.clone(), args.anchor.clone());
    let against = Against { head, key, anchor };
    let verdicts = if let Some(file) = &args.file {
        vec![verify_file(file, &against)?]
    } else {
        verify_kept(args.session.as_deref(), &against)?
    };
    let bad = verdicts.iter().find(|verdict| !verdict.ok);
    let torn = verdicts.iter().any(|verdict| verdict.torn);
    let records: u64 = verdicts.iter().map(|verdict| verdict.records).sum();
    let not_kept: u64 = verdicts.iter().map(|verdict| verdict.not_kept).sum();
    if out.is_json() {
        let reason = bad.and_then(|bad| bad.reason).map(|fault| json!(fault));
        out.json(&json!({
            "ok": bad.is_none(),
            "records": records,
            "first_bad": bad.and_then(|bad| bad.first_bad),
            "reason": reason.or(torn.then(|| json!("TORN_TAIL"))),
            "session": bad.map(|bad| &bad.session),
            "not_kept": not_kept,
            "sessions": verdicts,
        }))?;
        return Ok(u8::from(bad.is_some()));
    }
    for verdict in verdicts.iter().filter(|verdict| !verdict.ok || verdicts.len() == 1) {
        out.line(told(verdict))?;
    }
    if torn {
        out.say("note: a file of heads ends within a line, since a writer was stopped there; nothing is lost, and the next one mends it [TORN_TAIL]");
    }
    if not_kept > 0 {
        out.say(format!(
            "note: {} that records name {} not kept any more; what they said cannot be shown, and nothing else is lost",
            count(usize::try_from(not_kept).unwrap_or(usize::MAX), "text"),
            if not_kept == 1 { "is" } else { "are" }
        ));
    }
    let unsigned: u64 = verdicts.iter().map(|verdict| verdict.records - verdict.signed).sum();
    let bad = verdicts.iter().filter(|verdict| !verdict.ok).count();
    out.say(format!(
        "{} in {}: {}{}",
        count(usize::try_from(records).unwrap_or(usize::MAX), "record"),
        count(verdicts.len(), "log"),
        if bad == 0 { "in order".to_owned() } else { format!("{bad} of the logs changed") },
        if unsigned == 0 { String::new() } else { format!("; {unsigned} not signed yet") },
    ));
    Ok(u8::from(bad > 0))
}

fn verify_kept(session: Option<&str>, against: &Against) -> Result<Vec<Verdict>, CliError> {
    let session = session.map(place::parse_id).transpose()?;
    let verdicts = Audit::of(&place::home()?).verify(session.as_ref(), against)?;
    let is_known = |verdict: &Verdict| verdict.records > 0 || !verdict.ok;
    match session {
        Some(session) if !verdicts.iter().any(is_known) => {
            Err(concertina_runtime::RuntimeError::NoSession(session).into())
        }
        _ => Ok(verdicts),
    }
}

/// The verdict on one log in words.
fn told(verdict: &Verdict) -> String {
    let Verdict { session, records, first_bad, reason, head, .. } = verdict;
    let Some(fault) = reason else {
        let head = head.map(|head| format!(", head {head}")).unwrap_or_default();
        return format!("{session}: {records} records in order{head}");
    };
    // What cannot be read may have no name.
    let session = if session.is_empty() { "the log" } else { session };
    let place = first_bad.map(|seq| format!(" from record {seq}")).unwrap_or_default();
    let code = json!(fault);
    format!(
        "{session}: cannot be trusted{place}: {} [{}]",
        fault.words(),
        code.as_str().unwrap_or_default()
    )
}

fn verify_file(file: &Path, against: &Against) -> Result<Verdict, CliError> {
    if file.as_os_str() == "-" {
        return Ok(verify_export(&mut std::io::stdin().lock(), against)?);
    }
    let opened = File::open(file).map_err(|error| CliError::unreadable(file, &error))?;
    Ok(verify_export(&mut BufReader::new(opened), against)?)
}

/// The kind of record that `word` names, or the group of them.
fn known_kind(word: &str) -> Result<String, CliError> {
    let groups: BTreeSet<&str> =
        Fact::KINDS.iter().filter_map(|kind| Some(kind.split_once('.')?.0)).collect();
    let names = || Fact::KINDS.iter().chain(&groups).copied();
    if names().any(|name| name == word) {
        return Ok(word.to_owned());
    }
    let groups = groups.iter().map(|group| format!("`{group}`")).collect::<Vec<_>>().join(", ");
    let help = nearest(word, names()).map(|near| format!("the nearest is `{near}`"));
    Err(CliError::usage(format!("there is no kind of record `{word}`")).help(
        help.unwrap_or_else(|| {
            format!("give a kind such as `call.admitted`, or a group: {groups}")
        }),
    ))
}

fn show(session: &SessionId, wanted: &Wanted, out: &mut Output) -> Result<u8, CliError> {
    let records = records(&place::store()?, session, wanted)?;
    if out.is_json() {
        out.json(&json!({ "session": session, "records": records }))?;
        return Ok(0);
    }
    let row = |record: &Record| {
        let actor = json!(record.actor).as_str().unwrap_or_default().to_owned();
        let at = record.at.clone();
        vec![record.seq.to_string(), at, actor, record.kind.to_owned(), line_of(&record.data)]
    };
    // Whoever wants less than all of it says so with --kind.
    out.raw(&table(&records.iter().map(row).collect::<Vec<_>>(), &[0]))?;
    out.say(format!("{} of session {session}", count(records.len(), "record")));
    Ok(0)
}

/// Writes a session as a page.
fn page(id: &SessionId, file: &Path, out: &mut Output) -> Result<u8, CliError> {
    let session = Session::resume(place::store()?, id.clone())?;
    let told = account(&session.events()?, &|blob| session.text(blob).ok());
    let verdicts = Audit::of(&place::home()?).verify(Some(id), &Against::default())?;
    let (title, parts) = (format!("Session {id}"), parts(told));
    let lead = format!(
        "On behalf of {}, in {}.",
        session.state().principal,
        session.settings().site.workspace
    );
    let page = Page {
        title: &title,
        lead: &lead,
        parts: &parts,
        outcome: None,
        verdict: verdicts.first(),
    };
    save(&page, file)?;
    out.say(format!("session {id} as a page: {}", file.display()));
    Ok(0)
}

/// What a record says on one line: texts in place of their digests, what is empty left out.
fn line_of(data: &Value) -> String {
    let fields = data.as_object().into_iter().flatten();
    let each = fields.filter_map(|(name, value)| Some(format!("{name}={}", short(value)?)));
    each.collect::<Vec<_>>().join(" ")
}

fn short(value: &Value) -> Option<String> {
    /// More of one field would push the others off the screen.
    const COLUMNS: usize = 160;
    let text = match said(value)? {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(clip(&text, COLUMNS))
}

/// The value without what is empty, and with texts in place of their digests.
fn said(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Object(fields) if fields.contains_key("digest") && fields.contains_key("text") => {
            let text = fields.get("text").and_then(Value::as_str);
            Some(Value::from(text.unwrap_or("(not kept)")))
        }
        Value::Object(fields) => {
            let each = fields.iter().filter_map(|(name, value)| Some((name.clone(), said(value)?)));
            Some(Value::Object(each.collect()))
        }
        other => Some(other.clone()),
    }
}

fn list_denials(
    session: Option<&str>,
    by: Option<ByArg>,
    out: &mut Output,
) -> Result<u8, CliError> {
    let session = session.map(place::parse_id).transpose()?;
    let found = denials(&place::store()?, session.as_ref())?;
    let by = by.map(|by| match by {
        ByArg::Skill => By::Skill,
        ByArg::Tool => By::Tool,
        ByArg::Code => By::Code,
    });
    let groups = by.map(|by| found.grouped(by)).unwrap_or_default();
    if out.is_json() {
        let (denials, logs) = (&found.denials, &found.logs);
        out.json(&json!({ "denials": denials, "by": by, "groups": groups, "logs": logs }))?;
        return Ok(0);
    }
    let row = |denied: &Denied| {
        let about = denied.object.as_ref().map(|object| format!(" ({object})")).unwrap_or_default();
        let source = denied.source.clone().unwrap_or_else(|| denied.reason.clone());
        let times = format!("{}x", denied.count);
        vec![times, denied.code.clone(), format!("{}{about}", denied.request), source]
    };
    match by {
        None => out.raw(&fitting_table(found.denials.iter().map(row).collect(), &[0]))?,
        Some(by) => {
            for group in &groups {
                let name = group.name.as_deref().unwrap_or("(not known)");
                out.line(format!("{name}: {}", times(group.count)))?;
                let of = found.denials.iter().filter(|denied| denied.name(by) == group.name);
                let rows = of.map(|denied| {
                    let mut row = row(denied);
                    row.insert(0, " ".to_owned());
                    row
                });
                out.raw(&fitting_table(rows.collect(), &[1]))?;
            }
        }
    }
    let total: u64 = found.denials.iter().map(|denied| denied.count).sum();
    out.say(format!("refused {} in {}", times(total), count(found.logs.sessions, "session")));
    say_unreadable(&found.logs.unreadable, out);
    Ok(0)
}

fn times(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

fn keys(out: &mut Output) -> Result<u8, CliError> {
    let log = Audit::of(&place::home()?).keys()?;
    let latest = log.keys().last().map(|key| key.id);
    if out.is_json() {
        let key = |key: &concertina_store::PublicKey| {
            json!({
                "id": key.id.to_string(), "since": key.since.to_string(),
                "verifier": key.verifier(), "signs": Some(key.id) == latest,
            })
        };
        out.json(&json!({ "keys": log.keys().iter().map(key).collect::<Vec<_>>() }))?;
        return Ok(0);
    }
    let row = |key: &concertina_store::PublicKey| {
        let standing = if Some(key.id) == latest { "signs" } else { "signed" };
        vec![key.id.to_string(), standing.to_owned(), key.since.to_string(), key.verifier()]
    };
    out.raw(&table(&log.keys().iter().map(row).collect::<Vec<_>>(), &[]))?;
    out.say(count(log.keys().len(), "key"));
    Ok(0)
}

fn anchor(session: Option<&str>, file: Option<&Path>, out: &mut Output) -> Result<u8, CliError> {
    let session = session.map(place::parse_id).transpose()?;
    let lines = Audit::of(&place::home()?).anchor(session.as_ref())?;
    let number = lines.lines().count();
    match file {
        Some(file) => {
            let written =
                OpenOptions::new().append(true).create(true).open(file).and_then(|mut to| {
                    to.write_all(lines.as_bytes())?;
                    to.sync_all()
                });
            written.map_err(|error| {
                let message = format!("{} cannot be written: {error}", file.display());
                CliError::new(Exit::Environment, "NOT_SAVED", message)
                    .help("give a file that you can write")
            })?;
            if out.is_json() {
                out.json(&json!({ "file": file, "heads": number }))?;
            }
        }
        None if out.is_json() => {
            let heads: Vec<Value> =
                lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            out.json(&json!({ "heads": heads }))?;
        }
        None => out.raw(&lines)?,
    }
    out.say(format!(
        "{}; keep them where nobody who can write the logs can write",
        count(number, "signed head")
    ));
    Ok(0)
}

fn export(session: &str, out: &mut Output) -> Result<u8, CliError> {
    let session = place::parse_id(session)?;
    let mut text = Vec::new();
    let records = Audit::of(&place::home()?).export(&session, &mut text)?;
    if records == 0 {
        return Err(concertina_runtime::RuntimeError::NoSession(session).into());
    }
    out.exact(&String::from_utf8_lossy(&text))?;
    out.say(format!("{records} records of session {session}"));
    Ok(0)
}

fn check_claims(
    session: &str,
    transcript: Option<&Path>,
    all: bool,
    out: &mut Output,
) -> Result<u8, CliError> {
    let session = Session::resume(place::store()?, place::parse_id(session)?)?;
    let events = session.events()?;
    let tools: Vec<ToolName> =
        session.snapshot().tools.iter().map(|tool| tool.name.clone()).collect();
    // Where the workspace is gone, the log still tells which procedures were followed.
    let workspace = place::quietly(Path::new(&session.settings().site.workspace)).ok();
    let known = workspace.iter().flat_map(|workspace| workspace.procedures().known.values());
    let procedures: Vec<Machine> = known.map(|file| file.machine.clone()).collect();
    let named = Claimable { tools: &tools, procedures: &procedures };
    let text = |blob: &Blob| session.text(blob).ok();
    let found = match transcript {
        Some(file) => claims_in(&said_by_model(&read(file)?), &events, &text, named),
        None => claims(&events, &text, named),
    };
    let unbacked = found.iter().filter(|claim| claim.standing != Standing::Backed).count();
    let shown: Vec<&Claim> =
        found.iter().filter(|claim| all || claim.standing != Standing::Backed).collect();
    if out.is_json() {
        out.json(&json!({
            "session": session.id(), "claims": shown, "checked": found.len(), "unbacked": unbacked,
        }))?;
    } else {
        out.raw(&table(&shown.into_iter().map(claimed).collect::<Vec<_>>(), &[]))?;
        out.say(format!(
            "{}; {unbacked} not backed by a call that ended well or a receipt",
            count(found.len(), "claim")
        ));
    }
    Ok(u8::from(unbacked > 0))
}

/// A claim as a row.
fn claimed(claim: &Claim) -> Vec<String> {
    let turn = claim.turn.map_or("-".to_owned(), |turn| format!("turn {turn}"));
    let call = claim.call.map(|call| format!(" (ev:{call})"));
    let receipt = claim.receipt.map(|receipt| format!(" ({})", receipt.short()));
    let proof = call.or(receipt).unwrap_or_default();
    let standing = match claim.standing {
        Standing::Backed => format!("backed{proof}"),
        Standing::OnlyFailed => format!("only failed{proof}"),
        Standing::NoCall => "never called".to_owned(),
        Standing::Stale => format!("stale{proof}"),
        Standing::NotProven => "not proven".to_owned(),
    };
    let tool = claim.tool.as_ref().map(ToString::to_string);
    let subject = tool.or_else(|| claim.checkpoint.clone()).unwrap_or_default();
    vec![turn, subject, standing, claim.sentence.clone()]
}

fn read(file: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| text = read)
    };
    read.map_err(|error| CliError::unreadable(file, &error).help("give a file of UTF-8 text"))?;
    Ok(text)
}
