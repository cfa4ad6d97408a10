//! `concertina receipt …`.

use std::collections::BTreeMap;
use std::path::Path;

use concertina_core::procedure::judge;
use concertina_runtime::receipts::{of_session, of_sessions};
use concertina_runtime::stats::Unreadable;
use concertina_store::{Keyring, Store};
use concertina_types::{Genuine, ReceiptFault, SessionId, SignedReceipt};
use serde_json::{Value, json};

use super::receipt_verify::{About, summary, verify};
use super::stats::say_unreadable;
use crate::args::{ExportArgs, ReceiptCommand};
use crate::error::{CliError, Exit};
use crate::output::{Output, count, table};
use crate::place;

pub(crate) fn run(command: &ReceiptCommand, out: &mut Output) -> Result<u8, CliError> {
    match command {
        ReceiptCommand::Verify(args) => verify(args, out),
        ReceiptCommand::List { session } => list(session.as_deref(), out),
        ReceiptCommand::Show { digest } => show(digest, out),
        ReceiptCommand::Export(args) => export(args, out),
    }
}

/// The receipts of one session, or of all of them.
fn kept(
    store: &Store,
    session: Option<&str>,
    out: &mut Output,
) -> Result<Vec<SignedReceipt>, CliError> {
    if let Some(session) = session {
        return Ok(of_session(store, &place::parse_id(session)?)?);
    }
    let mut receipts = Vec::new();
    let unreadable = of_sessions(store, None, |_, found| {
        receipts.extend(found);
        true
    })?;
    say_unreadable(&unreadable, out);
    Ok(receipts)
}

fn list(session: Option<&str>, out: &mut Output) -> Result<u8, CliError> {
    let receipts = kept(&place::store()?, session, out)?;
    if out.is_json() {
        let keys = keys()?;
        let each = receipts.iter().map(|signed| as_json(signed, &keys.verify(&signed.envelope())));
        out.json(&json!({ "receipts": each.collect::<Vec<_>>() }))?;
        return Ok(0);
    }
    let row = |signed: &SignedReceipt| {
        let receipt = &signed.receipt;
        vec![
            receipt.digest().short(),
            receipt.ended.to_string(),
            receipt.run.clone(),
            receipt.seq.to_string(),
            receipt.tool.clone(),
            receipt.exit.to_string(),
            receipt.proves.join(", "),
        ]
    };
    out.raw(&table(&receipts.iter().map(row).collect::<Vec<_>>(), &[3, 5]))?;
    out.say(count(receipts.len(), "receipt"));
    Ok(0)
}

fn keys() -> Result<Keyring, CliError> {
    Ok(Keyring::of(&place::home()?)?)
}

fn as_json(signed: &SignedReceipt, checked: &Result<Genuine, ReceiptFault>) -> Value {
    let mut value = summary(&signed.receipt, &signed.receipt.digest(), &signed.key);
    if let Some(fields) = value.as_object_mut() {
        let fault = checked.as_ref().err();
        fields.insert("ok".to_owned(), fault.is_none().into());
        fields.insert("code".to_owned(), json!(fault.map(|fault| fault.kind.code())));
    }
    value
}

fn show(digest: &str, out: &mut Output) -> Result<u8, CliError> {
    let receipts = kept(&place::store()?, None, out)?;
    let mut named: BTreeMap<_, SignedReceipt> = BTreeMap::new();
    for signed in receipts {
        let own = signed.receipt.digest();
        if own.is_abbreviated(digest) {
            named.insert(own, signed);
        }
    }
    let Some((own, signed)) = named.pop_first() else {
        let message = format!("there is no receipt `{digest}`");
        return Err(CliError::new(Exit::NotFound, "NO_RECEIPT", message)
            .help("`concertina receipt list` shows the ones there are"));
    };
    if !named.is_empty() {
        let message = format!("several receipts begin with `{digest}`");
        return Err(CliError::usage(message).help("give more of its digits"));
    }
    let checked = keys()?.verify(&signed.envelope());
    let fault = checked.as_ref().err();
    if out.is_json() {
        out.json(&json!({
            "digest": own, "ok": fault.is_none(),
            "code": fault.map(|fault| fault.kind.code()),
            "receipt": signed.receipt, "envelope": signed.envelope(),
        }))?;
    } else {
        out.json(&signed.receipt)?;
    }
    match fault {
        None => out.say(format!("{own}, signed by {}", signed.key)),
        Some(fault) => out.say(format!("{own}: {fault} [{}]", fault.kind.code())),
    }
    Ok(u8::from(fault.is_some()))
}

fn export(args: &ExportArgs, out: &mut Output) -> Result<u8, CliError> {
    let store = place::store()?;
    let (receipts, unreadable) = match (&args.session, &args.about.workspace) {
        (Some(session), _) => (of_session(&store, &place::parse_id(session)?)?, Vec::new()),
        (None, Some(workspace)) => {
            let about = About::read(&args.about, &[], out)?;
            of_workspace(&store, workspace, &about)?
        }
        (None, None) => return Err(CliError::usage("name a session or a workspace")),
    };
    say_unreadable(&unreadable, out);
    let envelopes: Vec<_> = receipts.iter().map(SignedReceipt::envelope).collect();
    let lines = envelopes.iter().filter_map(|one| serde_json::to_string(one).ok());
    let text: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
    match &args.output {
        Some(file) => {
            std::fs::write(file, text).map_err(|error| {
                let message = format!("{} cannot be written: {error}", file.display());
                CliError::new(Exit::Environment, "NOT_SAVED", message)
                    .help("give a file that you can write")
            })?;
            if out.is_json() {
                out.json(&json!({ "file": file, "receipts": envelopes }))?;
            }
            out.say(count(receipts.len(), "receipt"));
        }
        None if out.is_json() => out.json(&json!({ "file": null, "receipts": envelopes }))?,
        None => out.raw(&text)?,
    }
    Ok(0)
}

/// The receipts of the sessions in `workspace`: with a gate those of the run that opens it, else of the latest run.
fn of_workspace(
    store: &Store,
    workspace: &Path,
    about: &About,
) -> Result<(Vec<SignedReceipt>, Vec<Unreadable>), CliError> {
    let demand = about.demand(concertina_runtime::now());
    let keys = keys()?;
    let mut all: Vec<SignedReceipt> = Vec::new();
    let take = |_: &SessionId, found: Vec<SignedReceipt>| {
        if demand.gate.is_none() {
            all.extend(found);
            return true;
        }
        let judged = judge(found.iter().map(|one| keys.verify(&one.envelope())), &demand);
        // The first is the latest: it is what remains to be said where none opens the gate.
        if judged.missing.is_empty() || all.is_empty() {
            let is_of_run = |one: &SignedReceipt| judged.run.as_ref() == Some(&one.receipt.run);
            all = found.into_iter().filter(is_of_run).collect();
        }
        !judged.missing.is_empty()
    };
    let unreadable = of_sessions(store, Some(workspace), take)?;
    Ok((all, unreadable))
}
