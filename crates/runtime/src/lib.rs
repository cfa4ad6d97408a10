//! The runtime: everything that touches the world.
//!
//! It owns the ports (where skills come from, what runs tools, which model answers), drives the
//! pure core, and stops cleanly.
//!
//! - [`Workspace`]: a directory with its settings, skills and tools;
//! - [`Session`]: one log, its state, and the four verbs on it;
//! - [`agent`]: the loop that lets a model use a session.

pub mod agent;
pub mod approval;
pub mod audit;
mod cancel;
mod check;
mod clock;
pub mod doctor;
mod error;
pub mod eval;
mod find;
pub mod git;
pub mod inputs;
mod inside;
pub mod llm;
pub mod private;
pub mod procedures;
pub mod receipts;
pub mod semantic;
mod session;
mod settings;
pub mod sources;
pub mod stats;
pub mod supply;
pub mod tools;
pub mod touch;
mod trust;
pub mod upstream;
mod versions;
mod workspace;

pub use cancel::Cancel;
pub use check::{Checked, check};
pub use clock::{new_session_id, now};
pub use error::{ErrorKind, RuntimeError};
pub use find::{FindRequest, Found};
pub use session::{
    Admission, CommandPolicy, NeedsApproval, OpenOptions, Opening, ReadySearch, ReadySkill, Reply,
    STATEMENT_TYPE, Session, Started, Touched,
};
pub use settings::{Loaded, NamedRoot, SettingsFile, load_config};
pub use trust::{Standing, Trust};
pub use versions::compare_versions;
pub use workspace::{Brought, Distrust, LoadedSkill, Workspace, WorkspaceOptions};
