//! What earlier sessions opened after they had found it.

use concertina_core::catalog::search::Usage;
use concertina_core::session::Routing;
use concertina_store::{SessionSummary, Store, StoreError};
use concertina_types::{Fact, SessionId, limits};

use super::{Logs, Unreadable};

/// What the logs of earlier sessions say of what is found, for one principal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    /// What was opened after it was found.
    pub usage: Usage,
    /// The sessions that this is read off.
    pub sessions: usize,
    /// The sessions whose logs were not read, because more recent ones, or shorter ones, came first:
    /// [`limits::USAGE_SESSIONS`], [`limits::USAGE_EVENTS`].
    pub left_out: usize,
    /// The sessions whose logs could not be read; they say nothing.
    pub unreadable: Vec<Unreadable>,
}

impl Learned {
    /// Reads what sessions of `principal` in `store`, other than `but`, opened after finding it. The
    /// sessions of others say nothing here.
    pub(crate) fn read(
        store: &Store,
        principal: &str,
        but: &SessionId,
    ) -> Result<Self, StoreError> {
        let mut all = store.events.sessions()?;
        all.retain(|summary| summary.session != *but);
        let known = all.len();
        let recent = recent(all);
        let left_out = known - recent.len();
        let (mut sessions, mut counted) = (0, Routing::default());
        let logs = Logs::of(store, recent, |events| {
            let first = events.first().map(|event| &event.fact);
            if matches!(first, Some(Fact::SessionStarted { principal: whose, .. }) if whose == principal)
            {
                sessions += 1;
                counted.add(events);
            }
        });
        Ok(Self { usage: counted.usage, sessions, left_out, unreadable: logs.unreadable })
    }
}

/// The first of `sessions` that are not too many and together not too long.
fn recent(sessions: Vec<SessionSummary>) -> Vec<SessionSummary> {
    let mut left = limits::USAGE_EVENTS;
    let fitting = sessions.into_iter().filter(|summary| {
        let rest = left.checked_sub(summary.events);
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    fitting.take(limits::USAGE_SESSIONS).collect()
}
