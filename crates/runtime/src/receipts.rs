//! The receipts that sessions hold.

use std::path::Path;

use concertina_core::session::Settings;
use concertina_store::Store;
use concertina_types::{Event, Fact, SessionId, SignedReceipt};

use crate::error::RuntimeError;
use crate::stats::Unreadable;

/// The receipts of `session`, in the order in which they were issued.
pub fn of_session(store: &Store, session: &SessionId) -> Result<Vec<SignedReceipt>, RuntimeError> {
    let events = store.verify(session)?;
    if events.is_empty() {
        return Err(RuntimeError::NoSession(session.clone()));
    }
    Ok(issued(&events))
}

/// The receipts of the sessions in `workspace`, or in any, one session after another, the one written to last first,
/// until `take` wants no more. Gives the sessions whose log cannot be read.
pub fn of_sessions(
    store: &Store,
    workspace: Option<&Path>,
    mut take: impl FnMut(&SessionId, Vec<SignedReceipt>) -> bool,
) -> Result<Vec<Unreadable>, RuntimeError> {
    let workspace = workspace.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    let mut unreadable = Vec::new();
    for summary in store.events.sessions()? {
        let session = summary.session;
        let events = match store.verify(&session) {
            Ok(events) => events,
            Err(error) => {
                unreadable.push(Unreadable { session, why: error.to_string() });
                continue;
            }
        };
        let receipts = issued(&events);
        let is_there = || workspace.as_ref().is_none_or(|path| works_in(store, &events, path));
        if !receipts.is_empty() && is_there() && !take(&session, receipts) {
            break;
        }
    }
    Ok(unreadable)
}

/// The receipts that `events` issue, in their order.
pub fn issued(events: &[Event]) -> Vec<SignedReceipt> {
    let receipts = events.iter().filter_map(|event| match &event.fact {
        Fact::ReceiptIssued { receipt, .. } => Some(receipt.as_ref().clone()),
        _ => None,
    });
    receipts.collect()
}

/// Whether the session began in `workspace`, a real path.
fn works_in(store: &Store, events: &[Event], workspace: &Path) -> bool {
    let settings = events.iter().find_map(|event| match &event.fact {
        Fact::SessionStarted { settings, .. } => Some(settings.digest),
        _ => None,
    });
    let text = settings.and_then(|digest| store.content.get(&digest).ok().flatten());
    let settings = text.and_then(|text| serde_json::from_slice::<Settings>(&text).ok());
    settings.is_some_and(|settings| {
        let site = settings.site;
        let real =
            if site.real_workspace.is_empty() { site.workspace } else { site.real_workspace };
        Path::new(&real) == workspace
    })
}
