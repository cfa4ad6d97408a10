//! How well requests reach what serves them, measured on labelled requests.
//!
//! A [`LabelledSet`] is a catalogue and the requests with what serves each of them; how its files are
//! written is said there. [`Route`] asks the search of the catalogue for every request and counts;
//! [`eval_tools`] holds a search and menus against all tools in view.
//!
//! No figure stands alone: each has an [`Interval`] that says how far it can be trusted on so many
//! requests, and two configurations are compared on the same requests ([`Comparison`]).

mod compare;
mod confusion;
mod figures;
mod interval;
mod labelled;
mod lines;
mod options;
mod route;
mod tools;

use serde::Serialize;

pub use compare::{Comparison, Decided};
pub use confusion::{Confusion, WinningWord};
pub use figures::{Figures, Intervals, Ranks};
pub use interval::{Estimate, Interval, PairedDifference};
pub use labelled::{EvalError, LabelledSet, Request, Row, Unknown};
pub use lines::{Place, Skipped};
pub use options::RouteOptions;
pub use route::{Route, RouteReport};
pub use tools::{Way, WayReport, Ways, WaysFigures, eval_tools};

/// The lines and requests that a report names; what is wrong with a file is soon plain.
const NAMED: usize = 20;
/// The characters of a request that a report quotes: enough to know it again.
const QUOTED_CHARACTERS: usize = 200;

/// A list of which a report holds the first few.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capped<T> {
    /// How many there are.
    pub count: usize,
    /// The first of them.
    pub first: Vec<T>,
}

impl<T> Capped<T> {
    fn of(items: Vec<T>, limit: usize) -> Self {
        let count = items.len();
        Self { count, first: items.into_iter().take(limit).collect() }
    }
}

/// The beginning of a request.
fn quoted(query: &str) -> String {
    match query.char_indices().nth(QUOTED_CHARACTERS) {
        Some((end, _)) => format!("{}…", query.get(..end).unwrap_or_default()),
        None => query.to_owned(),
    }
}
