//! Events and content that are gone with the process.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use concertina_types::{Blob, Digest, Draft, Event, SessionId};

use crate::{ContentStore, Durability, EventStore, SessionSummary, StoreError, Writing};

/// Both stores in memory, for tests and for looking without leaving traces.
#[derive(Debug, Default)]
pub struct MemoryStore {
    events: Mutex<BTreeMap<SessionId, Vec<Event>>>,
    content: Mutex<BTreeMap<Digest, Vec<u8>>>,
}

/// Content that is named and let go: nobody reads it back.
#[derive(Debug)]
pub(crate) struct NoContent;

impl ContentStore for NoContent {
    fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        Ok(Digest::of(bytes))
    }

    fn put_written(&self, _: &Blob, _: Writing<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn get(&self, _: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
}

/// No operation leaves a value half changed, so a thread that panicked spoils nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The drafts as events after `last`, or the conflict.
pub(crate) fn seal_after(
    session: &SessionId,
    after: u64,
    last: Option<&Event>,
    drafts: Vec<Draft>,
) -> Result<Vec<Event>, StoreError> {
    let found = last.map_or(0, |event| event.seq);
    if found != after {
        return Err(StoreError::Conflict { session: session.clone(), expected: after, found });
    }
    let mut events: Vec<Event> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let event = draft.seal(session, events.last().or(last));
        events.push(event);
    }
    Ok(events)
}

impl EventStore for MemoryStore {
    fn append(
        &self,
        session: &SessionId,
        after: u64,
        drafts: Vec<Draft>,
        _: Durability,
    ) -> Result<Vec<Event>, StoreError> {
        let mut logs = lock(&self.events);
        let last = logs.get(session).and_then(|log| log.last());
        let events = seal_after(session, after, last, drafts)?;
        if !events.is_empty() {
            logs.entry(session.clone()).or_default().extend_from_slice(&events);
        }
        Ok(events)
    }

    fn read(&self, session: &SessionId, after: u64) -> Result<Vec<Event>, StoreError> {
        let logs = lock(&self.events);
        let log = logs.get(session).map_or(&[][..], Vec::as_slice);
        Ok(log.iter().filter(|event| event.seq > after).cloned().collect())
    }

    fn is_kept(&self) -> bool {
        false
    }

    fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        let logs = lock(&self.events);
        let summaries = logs.iter().filter_map(|(session, log)| {
            let (first, last) = (log.first()?, log.last()?);
            Some(SessionSummary {
                session: session.clone(),
                events: last.seq,
                started: first.at,
                last: last.at,
            })
        });
        let mut summaries: Vec<_> = summaries.collect();
        summaries.sort_by_key(|summary| Reverse(summary.last));
        Ok(summaries)
    }
}

impl ContentStore for MemoryStore {
    fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::of(bytes);
        lock(&self.content).entry(digest).or_insert_with(|| bytes.to_vec());
        Ok(digest)
    }

    fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(lock(&self.content).get(digest).cloned())
    }
}
