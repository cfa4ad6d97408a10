//! Orders that hold whatever the model says: which skill comes before which, and which step of a procedure before
//! which.
//!
//! - [`Machine`] is a procedure as it can be asked: what a state shows, what a result proves, where to go next;
//! - [`Run`] is one passage through it, as the events of a session tell it;
//! - [`TaskCard`] says where a run stands, for a model and for people;
//! - [`judge`] says whether receipts by themselves are what somebody asks for;
//! - [`check()`] says beforehand whether a procedure leads anywhere, and whether what it forbids can happen, and
//!   [`graph()`] draws it.

mod card;
pub mod check;
mod graph;
mod machine;
mod order;
mod receipts;
mod run;

pub use card::{Lacking, TaskCard, Way};
pub use check::check;
pub use graph::{GraphFormat, graph};
pub(crate) use machine::unmet;
pub use machine::{Finding, Lack, Machine, Moment, Move, Produced, Why};
pub use order::{Cycle, closure, missing};
pub use receipts::{Demand, Judged, Judgement, Missing, judge};
pub use run::{Passage, Proof, Run, WEBHOOK, follow};
