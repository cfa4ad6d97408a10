//! What a decision may look at beside the state.

use std::collections::BTreeSet;

use concertina_types::{Digest, Redactor, TokenCounter};

use super::settings::Settings;
use crate::catalog::Snapshot;

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
        Self { settings, snapshot, listed: None, standing, counter, redactor }
    }
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("settings", self.settings).finish_non_exhaustive()
    }
}
