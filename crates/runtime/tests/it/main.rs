//! The runtime, against real files, sockets and processes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that panics is a test that fails"
)]

mod http_server;
mod llm;
mod llm_anthropic;
mod llm_openai;
mod llm_script;
mod llm_sse;
mod llm_transport;
