//! The servers behind, against a real one that misbehaves on request.

mod calls;
mod definitions;
mod drift;
mod http;
mod kit;
mod lists;
mod processes;
mod provided;
mod records;
mod skills;
mod subscriptions;
mod supervision;
