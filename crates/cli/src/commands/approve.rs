//! `concertina approve list|grant|deny`.

use std::collections::BTreeMap;

use concertina_core::session::escaped;
use concertina_runtime::approval::{Choice, Inbox, Question, Standing, Whose};
use concertina_types::{ApprovalScope, Means};
use serde_json::{Value, json};

use crate::args::{ApproveCommand, Scope};
use crate::error::{CliError, Exit};
use crate::output::{Output, count};
use crate::place;

pub(crate) fn run(command: &ApproveCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        ApproveCommand::List { all } => list(*all, out),
        ApproveCommand::Grant { id, scope, phrase } => grant(id, *scope, phrase.clone(), out),
        ApproveCommand::Deny { id } => deny(id, out),
    }
}

fn inbox() -> Result<Inbox, CliError> {
    Ok(Inbox::new(place::store()?, place::home()?))
}

fn list(all: bool, out: &mut Output) -> Result<u8, CliError> {
    let everybody = &Whose::Everybody;
    let inbox = inbox()?;
    let found = if all { inbox.all(everybody)? } else { inbox.waiting(everybody)? };
    for (session, error) in &found.left_out {
        out.say(format!("session {session} left out: {error} [{}]", error.code()));
    }
    let shown = found.questions;
    let standing = if all { Standing::below(&place::home()?).all()? } else { BTreeMap::default() };
    if out.is_json() {
        let standing: Vec<Value> = standing
            .iter()
            .map(|(key, one)| json!({"key": key, "request": one.request, "at": one.at.to_string()}))
            .collect();
        out.json(&json!({"approvals": shown, "standing": standing}))?;
        return Ok(0);
    }
    for one in &shown {
        let workspace = escaped(&one.workspace);
        out.line(format!("{} ({}, session {}, in {workspace})", one.id, one.state, one.session))?;
        for line in one.action.lines() {
            out.line(format!("  {line}"))?;
        }
        if !one.why.is_empty() {
            out.line(format!("  why: {}", escaped(&one.why)))?;
        }
        if let Some(phrase) = &one.phrase {
            out.line(format!("  to agree: --phrase {phrase:?}"))?;
        }
    }
    for (key, one) in &standing {
        out.line(format!("{} (for good, since {}) {}", key.short(), one.at, one.request))?;
    }
    if shown.is_empty() && standing.is_empty() {
        out.say("nothing waits for an answer");
    } else if !all {
        let questions = count(shown.len(), "question");
        out.say(format!("{questions}; answer one with: concertina approve grant ID, or deny ID"));
    }
    Ok(0)
}

fn grant(id: &str, scope: Scope, typed: Option<String>, out: &mut Output) -> Result<u8, CliError> {
    let scope = match scope {
        Scope::Once => ApprovalScope::Once,
        Scope::Session => ApprovalScope::Session,
        Scope::Digest => ApprovalScope::Digest,
    };
    answer(id, Choice::Grant { scope, typed }, "granted", out)
}

fn deny(id: &str, out: &mut Output) -> Result<u8, CliError> {
    if !id.starts_with("ask-") {
        let withdrawn = Standing::below(&place::home()?).withdraw(id)?;
        if withdrawn.is_empty() {
            let message = format!("nothing was agreed to for good under {id}");
            return Err(CliError::new(Exit::NotFound, "NOT_FOUND", message)
                .help("`concertina approve list --all` shows what was"));
        }
        if out.is_json() {
            let withdrawn: Vec<Value> = withdrawn
                .iter()
                .map(|one| json!({"request": one.request, "at": one.at.to_string()}))
                .collect();
            out.json(&json!({"withdrawn": withdrawn}))?;
        } else {
            for one in &withdrawn {
                out.line(format!("taken back: {}", one.request))?;
            }
        }
        return Ok(0);
    }
    answer(id, Choice::Deny, "denied", out)
}

fn answer(id: &str, choice: Choice, word: &str, out: &mut Output) -> Result<u8, CliError> {
    let answered = inbox()?.answer(&Whose::Everybody, id, choice, Means::Command.into())?;
    let question = answered.map_err(|refusal| match refusal.code.as_str() {
        "NOT_FOUND" => CliError::from(refusal).help("`concertina approve list` shows what waits"),
        _ => refusal.into(),
    })?;
    let Question { session, request, .. } = question;
    if out.is_json() {
        out.json(&json!({"id": id, "answer": word, "session": session, "request": request}))?;
    } else {
        out.line(format!("{word}: {request} in session {session}"))?;
    }
    Ok(0)
}
