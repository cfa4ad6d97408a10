//! `concertina approve list|grant|deny`.

use std::collections::BTreeMap;

use concertina_core::session::{Answered, Approval};
use concertina_runtime::approval::Standing;
use concertina_runtime::{Session, now};
use concertina_store::Store;
use concertina_types::{ApprovalScope, Fact, Means, SessionId};
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

/// Sessions that ever asked something, the latest first. What cannot be read is named and left out.
fn asking(store: &Store, out: &mut Output) -> Result<Vec<Session>, CliError> {
    let mut asking = Vec::new();
    for summary in store.events.sessions()? {
        let events = match store.verify(&summary.session) {
            Ok(events) => events,
            Err(error) => {
                out.say(format!("left out: {error} [{}]", error.code()));
                continue;
            }
        };
        if events.iter().any(|event| matches!(event.fact, Fact::ApprovalAsked { .. })) {
            asking.push(Session::resume(store.clone(), summary.session)?);
        }
    }
    Ok(asking)
}

fn list(all: bool, out: &mut Output) -> Result<u8, CliError> {
    let store = place::store()?;
    let mut shown = Vec::new();
    for session in asking(&store, out)? {
        for (id, one) in &session.state().approvals {
            if all || one.is_open(now()) {
                let text = one.action.map(|blob| session.text(&blob)).transpose()?;
                shown.push(row(id, one, session.id(), &text.unwrap_or_default()));
            }
        }
    }
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
        let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        out.line(format!("{} ({}, session {})", text("id"), text("state"), text("session")))?;
        for line in text("action").lines() {
            out.line(format!("  {line}"))?;
        }
        if let Some(phrase) = one.get("phrase").and_then(Value::as_str) {
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

fn row(id: &str, one: &Approval, session: &SessionId, action: &str) -> Value {
    let state = match one.answered {
        Answered::No if one.is_open(now()) => "waits",
        Answered::No => "expired",
        Answered::Given(ApprovalScope::Once) => "agreed once",
        Answered::Given(ApprovalScope::Session) => "agreed for the session",
        Answered::Given(ApprovalScope::Digest) => "agreed for these bytes",
        Answered::Used => "used",
        Answered::Refused => "refused",
    };
    json!({
        "id": id, "session": session, "request": one.request, "action": action,
        "phrase": one.phrase, "state": state, "at": one.at.to_string(),
    })
}

/// The session in which `id` was asked.
fn asked_in(id: &str, out: &mut Output) -> Result<Session, CliError> {
    let store = place::store()?;
    let sessions = asking(&store, out)?;
    let found = sessions.into_iter().find(|session| session.state().approvals.contains_key(id));
    found.ok_or_else(|| {
        CliError::new(Exit::NotFound, "NOT_FOUND", format!("no session asked {id}"))
            .help("`concertina approve list` shows what waits")
    })
}

fn grant(id: &str, scope: Scope, phrase: Option<String>, out: &mut Output) -> Result<u8, CliError> {
    let mut session = asked_in(id, out)?.kept_below(&place::home()?);
    let scope = match scope {
        Scope::Once => ApprovalScope::Once,
        Scope::Session => ApprovalScope::Session,
        Scope::Digest => ApprovalScope::Digest,
    };
    if let Some(refusal) = session.agree(id, scope, Means::Command, phrase)? {
        return Err(refusal.into());
    }
    answered(&session, id, "granted", out)
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
    let mut session = asked_in(id, out)?;
    if let Some(refusal) = session.disagree(id, Means::Command)? {
        return Err(refusal.into());
    }
    answered(&session, id, "denied", out)
}

fn answered(session: &Session, id: &str, word: &str, out: &mut Output) -> Result<u8, CliError> {
    let Some(one) = session.state().approvals.get(id) else { return Ok(0) };
    if out.is_json() {
        out.json(
            &json!({"id": id, "answer": word, "session": session.id(), "request": one.request}),
        )?;
    } else {
        out.line(format!("{word}: {} in session {}", one.request, session.id()))?;
    }
    Ok(0)
}
