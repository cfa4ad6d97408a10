//! The runtime, against real files, sockets and processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that panics is a test that fails"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::format_push_string,
    clippy::format_collect,
    reason = "fixtures are short, and read better so"
)]

mod agent;
mod agent_live;
mod approvals;
mod audit;
mod case_lists;
mod cases;
mod commands;
mod commands_called;
mod definitions;
mod doctor;
mod examples;
mod find;
mod http_server;
mod inputs;
mod inputs_git;
mod kit;
mod laws;
mod llm;
mod llm_anthropic;
mod llm_openai;
mod llm_script;
mod llm_sse;
mod llm_transport;
mod pins;
mod reports;
mod resources;
mod routing;
mod routing_by_meaning;
mod semantic;
mod session;
mod settings;
mod sources;
mod sources_bad;
mod sources_change;
mod stats;
mod steps;
mod supply_fetch;
mod supply_install;
mod supply_lock;
mod supply_sign;
mod supply_unpack;
mod tools_exec;
mod tools_sqlite;
mod touch;
mod trust;
mod upstreams;
mod usage;
