//! One agent's work: what it was shown, what it may do, what it did.
//!
//! - [`decide`]: a command on a state gives events, texts to keep, and at most one [`Intent`];
//! - [`evolve`]: a state and an event give the next state;
//! - [`project`]: a state gives the [`View`] that the model sees.
//!
//! All three are pure. The runtime appends what was decided, and only then runs what was intended.

mod access;
mod answer;
mod approval;
mod claims;
mod command;
mod commands;
mod decide;
mod evolve;
mod project;
mod report;
mod routing;
mod settings;
mod skill;
mod state;
mod task;
mod ticket;
mod tools;
mod view;
mod visibility;
mod world;

pub use crate::procedure::TaskCard;
pub use access::{access_of_fork, access_of_skill, access_of_tool};
pub use answer::{Answer, Details, Refusal};
pub use approval::{Action, Answered, Approval, Ask, escaped};
pub use claims::{Claim, Claimable, Standing, claims, claims_in};
pub use command::{
    Command, Held, KeptFrom, Origin, Pin, Shown, Statement, Targets, Unfolded, Witness,
};
pub use commands::COMMANDS;
pub use decide::{Decision, decide};
pub use evolve::evolve;
pub use project::{Shelf, project};
pub use report::{Called, Counted, TurnReport, report};
pub use routing::{Calls, Finds, Opened, Routing};
pub use settings::{Listed, ListingSettings, Procedures, Settings, Site};
pub use skill::{PreparedSkill, Request, declaration_faults, prepare};
pub use state::{Item, OpenSkill, PendingCall, State};
pub use task::{STEP_NAMES, lend, step_block, task_card};
pub use ticket::{Intent, NotRecorded, SkillCommand, Ticket};
pub use tools::{FOUR_TOOLS, client_tool_definitions, mechanism, tool_definitions};
pub use view::{Block, Message, Part, ToolDefinition, View};
pub use visibility::{
    Visibility, asks, by_rules, known_tool, meant, menus, visibility, visible_skills, visible_tools,
};
pub use world::World;
