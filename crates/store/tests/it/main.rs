//! One test binary: laws that every store obeys, and what files and processes add.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

mod audit;
mod child;
mod content;
mod crash;
mod damage;
mod laws;
mod oracle;
mod processes;
mod receipts;
mod refusals;
mod vectors;

use concertina_store::{EventStore, StoreError};
use concertina_types::{Actor, Draft, Event, Fact, SessionId, Timestamp};

fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// A draft that says who wrote it and which of theirs it is.
fn draft(writer: &str, number: u32) -> Draft {
    Draft {
        step: number,
        turn: None,
        at: Timestamp(1_000 + i64::from(number)),
        actor: Actor::System,
        cause: None,
        fact: Fact::RequestRefused {
            request: writer.to_owned(),
            code: "NOT_VISIBLE".to_owned(),
            reason: "é\u{0}\"\n".repeat(usize::try_from(number % 50).unwrap()),
            source: None,
            object: None,
            skill: None,
            tool: None,
        },
    }
}

fn writer(event: &Event) -> &str {
    match &event.fact {
        Fact::RequestRefused { request, .. } => request,
        other => panic!("unexpected {other:?}"),
    }
}

/// Appends one draft after whatever there is, as often as others come first.
fn append_retrying(store: &dyn EventStore, session: &SessionId, draft: &Draft) -> Event {
    let mut seen = 0;
    loop {
        let durability = concertina_store::Durability::KillSafe;
        match store.append(session, seen, vec![draft.clone()], durability) {
            Ok(events) => return events.into_iter().next().unwrap(),
            Err(StoreError::Conflict { found, .. }) => seen = found,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Every draft of every writer exactly once, in the writer's order, in one verified chain.
fn assert_complete(events: &[Event], writers: &[&str], each: u32) {
    concertina_types::verify_chain(events).unwrap();
    for name in writers {
        let steps: Vec<u32> =
            events.iter().filter(|e| writer(e) == *name).map(|e| e.step).collect();
        assert_eq!(steps, (0..each).collect::<Vec<_>>(), "writer {name}");
    }
    assert_eq!(events.len(), writers.len() * each as usize);
}
