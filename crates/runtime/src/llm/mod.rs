//! Models: one trait, a scripted one that needs no network, and two wire formats over HTTP.
//!
//! | spec | what answers |
//! |---|---|
//! | `scripted:FILE` | dialogues read from a file ([`script`]) |
//! | `openai:NAME` | any server that speaks the Chat Completions format |
//! | `anthropic:NAME` | any server that speaks the Messages format |
//!
//! A request is tried again only while the caller has been shown nothing of its reply: once a piece
//! of text went to `on_text`, a failure is returned, never repeated behind the caller's back.
//!
//! ```no_run
//! use concertina_runtime::llm::ModelSpec;
//!
//! let spec: ModelSpec = "openai:qwen3".parse()?;
//! let model = spec.at("http://127.0.0.1:11434/v1").connect(&|name| std::env::var(name).ok())?;
//! assert_eq!(model.name(), "openai:qwen3");
//! # Ok::<(), concertina_runtime::llm::ModelError>(())
//! ```

mod anthropic;
mod error;
pub(crate) mod http;
mod openai;
pub mod script;
mod spec;
pub mod sse;

use std::fmt::Debug;

use concertina_core::session::{Message, View};
use concertina_types::{ModelCall, Usage};
use futures_util::future::BoxFuture;

pub use error::ModelError;
pub use http::Patience;
pub use spec::ModelSpec;

/// Whatever can answer a view.
pub trait Model: Debug + Send + Sync {
    /// How the model is named in logs, such as `scripted:high-value-orders` or `openai:gpt-5`.
    fn name(&self) -> &str;

    /// Whether the answers come from a file: nothing was understood, and no figure says otherwise.
    fn is_scripted(&self) -> bool;

    /// Answers the view. Text goes to `on_text` as it arrives; together those pieces are
    /// [`Reply::text`]. Dropping the future gives the request up.
    fn reply<'a>(
        &'a self,
        view: &'a View,
        on_text: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

/// What a model answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// What it says.
    pub text: String,
    /// What it wants called, in its order. Arguments are the text it wrote, valid JSON or not.
    pub calls: Vec<ModelCall>,
    /// What the provider counted; a script counts nothing.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub stop: Stop,
}

/// Why a model stopped writing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stop {
    /// It said what it had to say.
    #[default]
    Finished,
    /// It waits for the results of its calls.
    Calls,
    /// It ran into the limit on a reply: the text or the last arguments may be cut.
    Length,
    /// The provider withheld the rest.
    Filtered,
    /// Another reason, in the provider's word.
    Other(String),
}

/// Numbers for calls that come without an id: the first is above every one in the view, so that ids
/// stay apart when a compaction takes earlier messages away.
fn free_call_number(view: &View) -> u64 {
    let numbers = view.messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    numbers
        .filter_map(|call| call.id.strip_prefix(CALL_PREFIX)?.parse::<u64>().ok())
        .max()
        .map_or(1, |highest| highest.saturating_add(1))
}

/// How the ids begin that are given here.
const CALL_PREFIX: &str = "call_";

/// The id of a call that came without one.
fn call_id(number: u64) -> String {
    format!("{CALL_PREFIX}{number}")
}
