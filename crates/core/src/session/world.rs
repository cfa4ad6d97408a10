//! What a decision may look at beside the state.

use std::collections::BTreeSet;

use concertina_types::{Digest, Notary, Redactor, Timestamp, TokenCounter};

use super::settings::Settings;
use super::state::State;
use crate::catalog::Snapshot;
use crate::procedure::{Machine, Moment, Run};

/// No standing consent.
static NOTHING_STANDING: BTreeSet<Digest> = BTreeSet::new();

/// The material of a decision: immutable, given by the runtime.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The settings the session runs under.
    pub settings: &'a Settings,
    /// The catalogue that the state names.
    pub snapshot: &'a Snapshot,
    /// The catalogue that the last listing was made from, where there was one.
    pub listed: Option<&'a Snapshot>,
    /// Actions that a person agreed to for as long as their bytes stay the same, by key.
    pub standing: &'a BTreeSet<Digest>,
    /// The procedure that is followed, and those that may follow it.
    pub machines: &'a [Machine],
    /// Who signs receipts; without one no procedure is followed.
    pub notary: Option<&'a dyn Notary>,
    /// When a decision is made; nobody knows the time for a mere look.
    pub now: Option<Timestamp>,
    /// Counts tokens.
    pub counter: &'a dyn TokenCounter,
    /// Takes secrets out of whatever a decision keeps or says.
    pub redactor: &'a Redactor,
}

impl<'a> World<'a> {
    /// The material for a look at what there is: nothing is done or kept by it.
    pub fn for_looking(
        settings: &'a Settings,
        snapshot: &'a Snapshot,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        let (standing, redactor) = (&NOTHING_STANDING, Redactor::UNKEYED);
        let (listed, notary, now) = (None, None, None);
        Self { settings, snapshot, listed, standing, machines: &[], notary, now, counter, redactor }
    }

    /// The point of the log at which something is asked: now, where that is known.
    pub(super) fn moment(&self, state: &State) -> Moment {
        let now = self.now.map_or(state.at, |now| now.max(state.at));
        Moment { now, event: state.seq }
    }

    /// The procedure of `run`.
    pub fn machine(&self, run: &Run) -> Option<&'a Machine> {
        self.machines.iter().find(|machine| run.procedure == Some(machine.digest()))
    }
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("settings", self.settings).finish_non_exhaustive()
    }
}
