//! How a server talks back to the client while a call runs.

use concertina_runtime::upstream::Caller;
use concertina_types::limits;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::cut::cut;

/// What a server said during a call.
#[derive(Debug)]
pub(super) enum Said {
    /// How far it is.
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    /// A line for the log.
    Log(Value),
    /// A question to a person, and where the answer goes.
    Question { question: Value, answer: oneshot::Sender<Value> },
}

/// Hands what is said to whoever waits for the call.
#[derive(Debug)]
pub(super) struct Talker {
    pub(super) said: mpsc::Sender<Said>,
}

impl Caller for Talker {
    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let message = message.map(|message| cut(&message, limits::SAID_BYTES));
        let _ = self.said.try_send(Said::Progress { done, total, message });
    }

    fn log(&self, entry: Value) {
        let _ = self.said.try_send(Said::Log(short(entry)));
    }

    fn elicit(&self, question: Value) -> BoxFuture<'static, Value> {
        let said = self.said.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let asked = said.send(Said::Question { question, answer }).await;
            match asked {
                Ok(()) => answered.await.unwrap_or_else(|_| cancelled()),
                Err(_) => cancelled(),
            }
        })
    }
}

/// The same line. Where it is too long its data become text that is cut.
fn short(entry: Value) -> Value {
    let limit = limits::SAID_BYTES;
    if entry.to_string().len() <= limit {
        return entry;
    }
    let text = |key: &str, limit: usize| {
        let value = entry.get(key).filter(|value| !value.is_null());
        value.map(|value| match value.as_str() {
            Some(text) => cut(text, limit),
            None => cut(&value.to_string(), limit),
        })
    };
    let (level, logger) = (text("level", limits::NAME_BYTES), text("logger", limits::NAME_BYTES));
    json!({"level": level, "logger": logger, "data": text("data", limit)})
}

/// The answer of nobody.
pub(super) fn cancelled() -> Value {
    json!({"action": "cancel"})
}
