//! `concertina audit claims`.

use std::io::Read as _;
use std::path::Path;

use concertina_core::session::{Claim, Standing, claims, claims_in};
use concertina_runtime::Session;
use concertina_types::ToolName;
use serde_json::json;

use crate::args::AuditCommand;
use crate::error::{CliError, Exit};
use crate::output::{Output, count, table};
use crate::place;

pub(crate) fn run(command: &AuditCommand, out: &mut Output) -> Result<u8, CliError> {
    let AuditCommand::Claims { session, transcript, all } = command;
    let session = Session::resume(place::store()?, place::parse_id(session)?)?;
    let events = session.events()?;
    let tools: Vec<ToolName> =
        session.snapshot().tools.iter().map(|tool| tool.name.clone()).collect();
    let found = match transcript {
        Some(file) => claims_in(&read(file)?, &events, &tools),
        None => claims(&events, &|blob| session.text(blob).ok(), &tools),
    };
    let unbacked = found.iter().filter(|claim| claim.standing != Standing::Backed).count();
    let shown: Vec<&Claim> =
        found.iter().filter(|claim| *all || claim.standing != Standing::Backed).collect();
    if out.is_json() {
        out.json(&json!({
            "session": session.id(), "claims": shown, "checked": found.len(), "unbacked": unbacked,
        }))?;
    } else {
        let row = |claim: &&Claim| {
            let turn = claim.turn.map_or("-".to_owned(), |turn| format!("turn {turn}"));
            let call = claim.call.map(|call| format!(" (ev:{call})")).unwrap_or_default();
            let standing = match claim.standing {
                Standing::Backed => format!("backed{call}"),
                Standing::OnlyFailed => format!("only failed{call}"),
                Standing::NoCall => "never called".to_owned(),
            };
            vec![turn, claim.tool.to_string(), standing, claim.sentence.clone()]
        };
        out.raw(&table(&shown.iter().map(row).collect::<Vec<_>>(), &[]))?;
        out.say(format!(
            "{} that a tool ran; {unbacked} without a call that ended well",
            count(found.len(), "claim")
        ));
    }
    Ok(u8::from(unbacked > 0))
}

fn read(file: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|read| text = read)
    };
    read.map_err(|error| {
        let message = format!("{} cannot be read: {error}", file.display());
        CliError::new(Exit::Environment, "UNREADABLE", message).help("give a file of UTF-8 text")
    })?;
    Ok(text)
}
