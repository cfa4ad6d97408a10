//! Questions of a server that wait for a person, whose answers come with another request.

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest, InputRequests, InputResponses,
};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::caller::declined;
use super::notes::Lead;

/// Questions under the keys that the server gave them.
#[derive(Debug)]
pub(super) struct Asked {
    open: InputRequests,
    answers: Map<String, Value>,
    back: oneshot::Sender<Map<String, Value>>,
}

impl Asked {
    /// What cannot be passed on is declined, and `lead` says so.
    pub(super) fn new(
        questions: Map<String, Value>,
        back: oneshot::Sender<Map<String, Value>>,
        lead: &mut Lead,
    ) -> Self {
        let mut asked = Self { open: InputRequests::new(), answers: Map::new(), back };
        for (key, question) in questions {
            match elicitation(question) {
                Ok(elicit) => {
                    asked.open.insert(key, InputRequest::Elicitation(elicit));
                }
                Err(error) => {
                    lead.say(format!("The tool asked a person something that cannot be passed on ({error}); it was declined."));
                    asked.answers.insert(key, declined());
                }
            }
        }
        asked
    }

    /// Takes the answers to what is open, and says whether that was all of them. What is no answer
    /// leaves its question open.
    pub(super) fn take(&mut self, given: &mut InputResponses) -> bool {
        let answers = &mut self.answers;
        self.open.retain(|key, _| {
            let answer = given.remove(key).filter(is_answer);
            let is_open = answer.is_none();
            answers.extend(answer.map(|answer| (key.clone(), answer)));
            is_open
        });
        self.open.is_empty()
    }

    /// What is not answered yet.
    pub(super) fn open(&self) -> InputRequests {
        self.open.clone()
    }

    /// Hands the answers to the server. What is open counts as declined.
    pub(super) fn close(mut self) {
        self.answers.extend(self.open.into_keys().map(|key| (key, declined())));
        let _ = self.back.send(self.answers);
    }
}

fn is_answer(answer: &Value) -> bool {
    serde_json::from_value::<ElicitResult>(answer.clone()).is_ok()
}

/// A question as the protocol has it.
pub(super) fn elicitation(question: Value) -> Result<ElicitRequest, serde_json::Error> {
    serde_json::from_value::<ElicitRequestParams>(question).map(ElicitRequest::new)
}
