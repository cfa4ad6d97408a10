//! Whoever called a tool, as far as its server may talk back.

use futures_util::future::{BoxFuture, join_all};
use serde_json::{Map, Value, json};

/// Takes what a server says while a call runs.
pub trait Caller: Send + Sync {
    /// The server says how far it is: `done` of `total`.
    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>);

    /// The server logs something, as its protocol has it: an object with `level` and `data`.
    fn log(&self, entry: Value);

    /// What has to stand before the answer of the call.
    fn note(&self, words: String);

    /// The server asks a person something, as its protocol has it: the parameters of an elicitation.
    /// The answer is an object with `action` (`accept`, `decline` or `cancel`) and, where it was
    /// accepted, `content`.
    fn elicit(&self, question: Value) -> BoxFuture<'static, Value>;

    /// The server asks a person several things at once, each under a key of its own. The answers
    /// stand under the same keys.
    fn elicit_all(&self, questions: Map<String, Value>) -> BoxFuture<'static, Map<String, Value>> {
        let answers: Vec<_> = questions
            .into_iter()
            .map(|(key, question)| {
                let answer = self.elicit(question);
                async move { (key, answer.await) }
            })
            .collect();
        Box::pin(async move { join_all(answers).await.into_iter().collect() })
    }
}

/// A caller who hears nothing and declines every question.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Caller for Nobody {
    fn progress(&self, _: f64, _: Option<f64>, _: Option<String>) {}

    fn log(&self, _: Value) {}

    fn note(&self, _: String) {}

    fn elicit(&self, _: Value) -> BoxFuture<'static, Value> {
        Box::pin(std::future::ready(json!({"action": "decline"})))
    }
}
