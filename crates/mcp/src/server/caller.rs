//! How a server talks back to the client while a call runs.

use std::sync::{Arc, Mutex};

use concertina_runtime::upstream::Caller;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::lock;

/// What has to stand before the answer of a call.
pub(super) type Notes = Arc<Mutex<Vec<String>>>;

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
    pub(super) notes: Notes,
}

impl Caller for Talker {
    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let _ = self.said.try_send(Said::Progress { done, total, message });
    }

    fn log(&self, entry: Value) {
        let _ = self.said.try_send(Said::Log(entry));
    }

    fn note(&self, words: String) {
        let mut notes = lock(&self.notes);
        // Said twice it says no more.
        if !notes.contains(&words) {
            notes.push(words);
        }
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

/// The answer of nobody.
pub(super) fn cancelled() -> Value {
    json!({"action": "cancel"})
}
