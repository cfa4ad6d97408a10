//! Progressive disclosure for agents, as a library.
//!
//! A [`Workspace`] is a directory with skills and tools. A [`Session`] shows a model an index of
//! them and unfolds one thing at a time; what it shows is what it enforces, and both are in its log.
//!
//! # With your own loop
//!
//! Send [`Session::view`] to a model, hand what it wants called to [`Session::dispatch`], repeat:
//!
//! ```
//! use concertina::{Cancel, ModelCall, Session, Started, Store, Workspace, WorkspaceOptions};
//! # use std::path::Path;
//! # let directory = Path::new("../../examples/sql-assistant");
//! # let home = std::env::temp_dir().join("concertina-doc");
//!
//! let options = WorkspaceOptions::only(home, &|name| std::env::var(name).ok());
//! let mut workspace = Workspace::open(directory, options)?;
//! let mut session = Session::create(&mut workspace, Store::memory(), Started::default())?;
//! session.task("Which customers had orders over 1,000 last month?")?;
//! session.turn(&mut workspace)?;
//! let view = session.view(); // four tools, an index, the task: send it to your model
//! assert!(view.part(concertina::Part::Index).contains("sales-analytics"));
//!
//! // The model cannot call what it cannot see …
//! let call = |id: &str, name: &str, arguments: &str| ModelCall {
//!     id: id.into(), name: name.into(), arguments: arguments.into(),
//! };
//! let query = r#"{"tool": "sql/query", "args": {"query": "SELECT count(*) FROM orders"}}"#;
//! let reply = session.dispatch(&mut workspace, &call("1", "call", query), false, &Cancel::default())?;
//! assert_eq!(reply.refusal.unwrap().code, "NOT_VISIBLE");
//!
//! // … until the skill that brings it is open.
//! let open = r#"{"ref": "skill:sales-analytics"}"#;
//! session.dispatch(&mut workspace, &call("2", "open", open), false, &Cancel::default())?;
//! let reply = session.dispatch(&mut workspace, &call("3", "call", query), false, &Cancel::default())?;
//! assert!(reply.answer.unwrap().text.contains("rows"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # With ours
//!
//! [`agent::Agent`] is that loop, with forks, folding and a model behind [`llm::Model`].

pub use concertina_core::catalog;
pub use concertina_core::policy;
pub use concertina_core::session::{
    Answer, Block, Message, Origin, Part, Refusal, Settings, TurnReport, View, report, visibility,
};
pub use concertina_format as format;
pub use concertina_runtime::{
    Cancel, FindRequest, Found, OpenOptions, Reply, RuntimeError, Session, Started, Workspace,
    WorkspaceOptions, agent, llm, sources, supply, tools,
};
pub use concertina_store::{ContentStore, EventStore, Store, StoreError};
pub use concertina_tokens as tokens;
pub use concertina_types::{
    Diagnostic, Digest, Event, Fact, ModelCall, Ref, SessionId, SkillId, Timestamp, Tokens,
    ToolName,
};
