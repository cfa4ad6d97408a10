//! While a call runs: what its server says and asks, and how it ends.

use std::sync::Arc;

use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitRequestParams, InputRequest,
    InputRequiredResult, InputResponses, ProgressNotificationParam, ServerRequest,
};
#[expect(deprecated, reason = "clients in use still ask for log lines")]
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::answer::{refused, result};
use super::caller::{Said, cancelled};
use super::connection::{Connection, Request};
use super::desk::Desk;
use super::flight::{Flight, Landed, Parked};
use super::lock;

/// The one question that a parked call waits for.
const QUESTION: &str = "question";

/// How a person can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    /// By a request to the client.
    ByRequest,
    /// By an answer that wants another request.
    ByAnswer,
    /// Not at all.
    Never,
}

impl Connection {
    /// Waits for the end of a call, and passes on what is said meanwhile.
    pub(super) async fn follow(
        &self,
        mut flight: Flight,
        desk: Arc<Desk>,
        request: &Request,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let asking = asking(request, context);
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    // Nobody reads this: the flight is dropped, and that stops the call.
                    return refused("CANCELLED", "the client took the call back").into();
                }
                Some(said) = flight.said.recv() => {
                    let Said::Question { question, answer } = said else {
                        self.pass_on(said, context).await;
                        continue;
                    };
                    match asking {
                        Asking::ByRequest => {
                            let peer = context.peer.clone();
                            tokio::spawn(async move {
                                let _ = answer.send(ask(&peer, question).await);
                            });
                        }
                        Asking::ByAnswer => match elicitation(question) {
                            Ok(elicit) => {
                                let parked = Parked {
                                    flight,
                                    answer,
                                    principal: request.principal.clone(),
                                    desk: Arc::clone(&desk),
                                };
                                match self.gateway.parking.park(parked) {
                                    Ok(handle) => {
                                        let asked = InputRequest::Elicitation(elicit);
                                        let asked = [(QUESTION.to_owned(), asked)].into();
                                        return InputRequiredResult::new(Some(asked), Some(handle)).into();
                                    }
                                    Err(parked) => {
                                        let Parked { flight: back, answer, .. } = *parked;
                                        flight = back;
                                        let _ = answer.send(json!({"action": "decline"}));
                                        flight.lead.say("The tool asked a person something; too many questions wait already, so it was declined.");
                                    }
                                }
                            }
                            Err(error) => {
                                let _ = answer.send(json!({"action": "decline"}));
                                flight.lead.say(format!("The tool asked a person something that cannot be passed on ({error}); it was declined."));
                            }
                        },
                        Asking::Never => {
                            let _ = answer.send(json!({"action": "decline"}));
                            flight.lead.say(unasked(&question));
                        }
                    }
                }
                landed = &mut flight.landed => {
                    while let Ok(said) = flight.said.try_recv() {
                        self.pass_on(said, context).await;
                    }
                    let lead = std::mem::take(&mut flight.lead);
                    return match landed {
                        Ok(Ok(Landed { reply, extra })) => match reply.answer {
                            Some(answer) => result(lead, &answer, extra).into(),
                            None => refused("INTERNAL", "the call has no answer").into(),
                        },
                        Ok(Err(error)) => refused(error.code(), &error.to_string()).into(),
                        Err(_) => refused("INTERNAL", "the call broke off").into(),
                    };
                }
            }
        }
    }

    /// Goes on with a call that waited for a person.
    pub(super) async fn go_on(
        &self,
        handle: &str,
        answers: Option<InputResponses>,
        request: &Request,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(parked) = self.gateway.parking.fetch(handle, &request.principal) else {
            let text = "no call of yours waits under this request state: it was answered, or it waited too long; call again";
            return Err(ErrorData::invalid_params(text, None));
        };
        let Parked { flight, answer, desk, .. } = parked;
        let said = answers.and_then(|mut answers| answers.remove(QUESTION));
        let _ = answer.send(said.unwrap_or_else(cancelled));
        Ok(self.follow(flight, desk, request, context).await)
    }

    /// Tells the client what a server said, as far as the client asked for it.
    async fn pass_on(&self, said: Said, context: &RequestContext<RoleServer>) {
        match said {
            Said::Progress { done, total, message } => {
                let Some(token) = context.meta.get_progress_token() else { return };
                let mut progress = ProgressNotificationParam::new(token, done);
                progress.total = total;
                progress.message = message;
                let _ = context.peer.notify_progress(progress).await;
            }
            Said::Log(entry) => self.pass_log(entry, context).await,
            Said::Question { answer, .. } => {
                let _ = answer.send(cancelled());
            }
        }
    }

    #[expect(deprecated, reason = "clients in use still ask for log lines")]
    async fn pass_log(&self, entry: Value, context: &RequestContext<RoleServer>) {
        let wanted = context.meta.log_level().map(|level| level as usize);
        let Some(wanted) = wanted.or(*lock(&self.level)) else { return };
        let level = entry.get("level").cloned().unwrap_or_default();
        let level = serde_json::from_value(level).unwrap_or(LoggingLevel::Info);
        if (level as usize) < wanted {
            return;
        }
        let data = entry.get("data").cloned().unwrap_or_default();
        let mut line = LoggingMessageNotificationParam::new(level, data);
        line.logger = entry.get("logger").and_then(Value::as_str).map(str::to_owned);
        let _ = context.peer.notify_logging_message(line).await;
    }
}

fn asking(request: &Request, context: &RequestContext<RoleServer>) -> Asking {
    let can = context.client_capabilities().is_some_and(|can| can.elicitation.is_some());
    match (can, request.is_modern) {
        (false, _) => Asking::Never,
        (true, false) => Asking::ByRequest,
        (true, true) => Asking::ByAnswer,
    }
}

/// That a question was declined, with the question.
fn unasked(question: &Value) -> String {
    let message = question.get("message").and_then(Value::as_str).unwrap_or_default();
    let message: String = message.chars().take(300).collect();
    let message = concertina_core::context::disarm(&message);
    format!("The tool asked a person: {message:?}. This client cannot ask, so it was declined.")
}

fn elicitation(question: Value) -> Result<ElicitRequest, serde_json::Error> {
    serde_json::from_value::<ElicitRequestParams>(question).map(ElicitRequest::new)
}

/// Asks a person through the client; no answer is a cancelled one.
async fn ask(peer: &Peer<RoleServer>, question: Value) -> Value {
    let Ok(elicit) = elicitation(question) else { return json!({"action": "decline"}) };
    match peer.send_request(ServerRequest::ElicitRequest(elicit)).await {
        Ok(ClientResult::ElicitResult(answer)) => {
            serde_json::to_value(answer).unwrap_or_else(|_| cancelled())
        }
        Ok(_) | Err(_) => cancelled(),
    }
}
