//! Figures over the logs of all sessions of a store.
//!
//! Logs are read one after another, so that no more than one is held; a damaged one is named and costs
//! only itself.

mod routing;
mod usage;

use concertina_store::{SessionSummary, Store};
use concertina_types::{Event, SessionId};
use serde::Serialize;

pub use routing::{CallFigures, FindFigures, Load, RoutingReport, routing};
pub use usage::Learned;

/// Whose logs were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Logs {
    /// The sessions whose logs were read.
    pub sessions: usize,
    /// The sessions whose logs could not be read; they are in no figure.
    pub unreadable: Vec<Unreadable>,
}

/// A session whose log could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Which session.
    pub session: SessionId,
    /// Why.
    pub why: String,
}

impl Logs {
    /// Gives the logs of `sessions` in `store` to `take`, one after another.
    pub(crate) fn of(
        store: &Store,
        sessions: impl IntoIterator<Item = SessionSummary>,
        mut take: impl FnMut(&[Event]),
    ) -> Self {
        let mut logs = Self::default();
        for summary in sessions {
            match store.verify(&summary.session) {
                Ok(events) => {
                    logs.sessions += 1;
                    take(&events);
                }
                Err(error) => {
                    let (session, why) = (summary.session, error.to_string());
                    logs.unreadable.push(Unreadable { session, why });
                }
            }
        }
        logs
    }
}
