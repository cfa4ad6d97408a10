//! How requests were routed: searches, openings and calls.

use std::collections::BTreeMap;

use concertina_core::session::{Calls, Finds, Routing};
use concertina_store::{Store, StoreError};
use concertina_types::Tokens;
use serde::Serialize;

use super::Logs;
use crate::eval::{Estimate, Interval, Ranks};

/// What [`routing`] finds. Shares are from 0 to 1, and none (`null`) where there is nothing to take a
/// share of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoutingReport {
    /// Whose logs were read.
    #[serde(flatten)]
    pub logs: Logs,
    /// Searches, and what followed.
    pub finds: FindFigures,
    /// What opening took, over everything that was opened; none where nothing was.
    pub load: Option<Load>,
    /// The same by what was opened: `menu`, `part`, `skill` or `tool`.
    pub load_of: BTreeMap<&'static str, Load>,
    /// Calls of tools, and of commands in the text of skills.
    pub calls: CallFigures,
}

/// Searches, and what followed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindFigures {
    /// All searches.
    pub all: usize,
    /// Searches that were answered with hits that fit.
    pub fitting: usize,
    /// Searches that were told that nothing fits.
    pub nothing_fits: usize,
    /// Fitting searches of which a hit was opened or called later in the session. An opening counts for
    /// the latest search that named the thing.
    pub followed: usize,
    /// The share of the fitting searches that were followed so.
    pub hit_rate: Option<f64>,
    /// What that share may be at 95 %, as [`Estimate::of`] finds it.
    pub hit_rate_ci95: Option<Interval>,
    /// The ranks of the hits that were opened or called first.
    pub followed_rank: Ranks,
    /// Searches that were told that nothing fits, of which one of the nearest was opened or called.
    pub followed_anyway: usize,
}

/// What opening took, in tokens: the text of a skill, or the answer that shows anything else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Load {
    /// How often something was opened.
    pub opens: usize,
    /// All that was loaded.
    pub tokens: Tokens,
    /// For one opening, on average.
    pub mean: f64,
    /// For the one in the middle.
    pub median: Tokens,
    /// For the largest.
    pub most: Tokens,
}

/// Calls of tools, and of commands in the text of skills.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallFigures {
    /// Calls that were asked for.
    pub asked: usize,
    /// Calls that reached their tool.
    pub admitted: usize,
    /// Calls that were refused before, for any reason.
    pub refused: usize,
    /// Calls that permission stopped, before the tool or in it.
    pub blocked: usize,
    /// The share of the calls that permission stopped.
    pub permission_block_rate: Option<f64>,
    /// What that share may be at 95 %.
    pub permission_block_rate_ci95: Option<Interval>,
    /// The codes of the calls that were refused or failed, with how often.
    pub codes: BTreeMap<String, usize>,
}

/// How requests were routed in the sessions of `store`.
///
/// ```
/// use concertina_runtime::stats::routing;
/// use concertina_store::Store;
///
/// let report = routing(&Store::memory())?;
/// assert_eq!((report.finds.all, report.finds.hit_rate), (0, None));
/// # Ok::<(), concertina_store::StoreError>(())
/// ```
///
/// # Errors
/// Where the store cannot be read at all. A damaged log is named in [`Logs::unreadable`].
pub fn routing(store: &Store) -> Result<RoutingReport, StoreError> {
    let mut counted = Routing::default();
    let logs = Logs::of(store, store.events.sessions()?, |events| counted.add(events));
    let Routing { finds, opens, calls, .. } = counted;
    let load_of = opens.iter().filter_map(|(what, taken)| Some((what.as_str(), Load::of(taken)?)));
    Ok(RoutingReport {
        logs,
        finds: finds.into(),
        load_of: load_of.collect(),
        load: Load::of(&opens.into_values().flatten().collect::<Vec<_>>()),
        calls: calls.into(),
    })
}

impl From<Finds> for FindFigures {
    fn from(finds: Finds) -> Self {
        let followed = finds.followed.len();
        let rate = Estimate::share(followed, finds.fitting);
        Self {
            all: finds.fitting + finds.nothing_fits,
            fitting: finds.fitting,
            nothing_fits: finds.nothing_fits,
            followed,
            hit_rate: rate.map(|rate| rate.value),
            hit_rate_ci95: rate.map(|rate| rate.interval),
            followed_rank: Ranks::count(finds.followed.into_iter().map(Some)),
            followed_anyway: finds.followed_anyway,
        }
    }
}

impl From<Calls> for CallFigures {
    fn from(calls: Calls) -> Self {
        let asked = calls.admitted + calls.refused;
        let rate = Estimate::share(calls.blocked, asked);
        Self {
            asked,
            admitted: calls.admitted,
            refused: calls.refused,
            blocked: calls.blocked,
            permission_block_rate: rate.map(|rate| rate.value),
            permission_block_rate_ci95: rate.map(|rate| rate.interval),
            codes: calls.codes,
        }
    }
}

impl Load {
    fn of(taken: &[Tokens]) -> Option<Self> {
        let mut taken = taken.to_vec();
        taken.sort_unstable();
        let tokens: Tokens = taken.iter().copied().sum();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let mean = tokens.0 as f64 / taken.len().max(1) as f64;
        Some(Self {
            opens: taken.len(),
            tokens,
            mean: (mean * 10.0).round() / 10.0,
            median: *taken.get((taken.len().checked_sub(1)?) / 2)?,
            most: *taken.last()?,
        })
    }
}
