//! How a server talks back to the client while a call runs.

use std::sync::{Arc, Mutex};

use concertina_runtime::upstream::Caller;
use concertina_types::limits;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::cut::cut;
use crate::lock;

/// What has to stand before the answer of a call.
pub(super) type Notes = Arc<Mutex<Vec<String>>>;

/// The key of a question that came without one.
const ONLY: &str = "question";

/// What a server said during a call.
#[derive(Debug)]
pub(super) enum Said {
    /// How far it is.
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    /// A line for the log.
    Log(Value),
    /// Questions to a person by key, and where the answers go.
    Questions { questions: Map<String, Value>, answers: oneshot::Sender<Map<String, Value>> },
}

/// Hands what is said to whoever waits for the call.
#[derive(Debug)]
pub(super) struct Talker {
    pub(super) said: mpsc::Sender<Said>,
    pub(super) notes: Notes,
}

impl Caller for Talker {
    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let message = message.map(|message| cut(&message, limits::SAID_BYTES));
        let _ = self.said.try_send(Said::Progress { done, total, message });
    }

    fn log(&self, entry: Value) {
        let _ = self.said.try_send(Said::Log(short(entry)));
    }

    fn note(&self, words: String) {
        let mut notes = lock(&self.notes);
        // Said twice it says no more.
        if !notes.contains(&words) {
            notes.push(words);
        }
    }

    fn elicit(&self, question: Value) -> BoxFuture<'static, Value> {
        let all = self.elicit_all([(ONLY.to_owned(), question)].into_iter().collect());
        Box::pin(async move { all.await.remove(ONLY).unwrap_or_else(cancelled) })
    }

    fn elicit_all(&self, questions: Map<String, Value>) -> BoxFuture<'static, Map<String, Value>> {
        let said = self.said.clone();
        Box::pin(async move {
            let keys: Vec<String> = questions.keys().cloned().collect();
            let (answers, answered) = oneshot::channel();
            let mut given = match said.send(Said::Questions { questions, answers }).await {
                Ok(()) => answered.await.unwrap_or_default(),
                Err(_) => Map::new(),
            };
            for key in keys {
                given.entry(key).or_insert_with(cancelled);
            }
            given
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

/// The answer where nobody can be asked.
pub(super) fn declined() -> Value {
    json!({"action": "decline"})
}
