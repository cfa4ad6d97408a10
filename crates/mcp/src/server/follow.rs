//! While a call runs: what its server says and asks, and how it ends.

use std::sync::Arc;

use rmcp::model::{
    CallToolResponse, ClientResult, ErrorCode, InputRequiredResult, InputResponses,
    ProgressNotificationParam, ServerRequest,
};
#[expect(deprecated, reason = "clients in use still ask for log lines")]
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use super::answer::{refused, result};
use super::asked::{Asked, elicitation};
use super::caller::{Said, cancelled, declined};
use super::connection::{Connection, Request};
use super::desk::Desk;
use super::flight::{Flight, Landed, Parked};
use crate::lock;

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
    ) -> Result<CallToolResponse, ErrorData> {
        let asking = asking(request, context);
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    // Nobody reads this: the flight is dropped, and that stops the call.
                    return Ok(refused("CANCELLED", "the client took the call back").into());
                }
                Some(said) = flight.said.recv() => {
                    let Said::Questions { questions, answers } = said else {
                        self.pass_on(said, context).await;
                        continue;
                    };
                    match asking {
                        Asking::ByRequest => {
                            let peer = context.peer.clone();
                            tokio::spawn(async move {
                                let mut given = Map::new();
                                for (key, question) in questions {
                                    given.insert(key, ask(&peer, question).await);
                                }
                                let _ = answers.send(given);
                            });
                        }
                        Asking::ByAnswer => {
                            let mut asked = Asked::new(questions, answers, &mut flight.lead);
                            if asked.take(&mut flight.given) {
                                asked.close();
                                continue;
                            }
                            let principal = request.principal.clone();
                            let parked = Parked { flight, asked, principal, desk: Arc::clone(&desk) };
                            match self.park(parked) {
                                Ok(required) => return Ok(required.into()),
                                Err(back) => flight = *back,
                            }
                        }
                        Asking::Never => {
                            for question in questions.values() {
                                flight.lead.say(unasked(question));
                            }
                            let declined = questions.into_iter().map(|(key, _)| (key, declined()));
                            let _ = answers.send(declined.collect());
                        }
                    }
                }
                landed = &mut flight.landed => {
                    while let Ok(said) = flight.said.try_recv() {
                        self.pass_on(said, context).await;
                    }
                    let lead = flight.take_lead();
                    return Ok(match landed {
                        // The client can do what it takes, or say that it cannot.
                        Ok(Ok(Landed { error: Some(error), .. }))
                            if request.is_modern
                                && error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY =>
                        {
                            return Err(error);
                        }
                        Ok(Ok(Landed { reply, extra, .. })) => match reply.answer {
                            Some(answer) => result(lead, &answer, extra).into(),
                            None => refused("INTERNAL", "the call has no answer").into(),
                        },
                        Ok(Err(error)) => refused(error.code(), &error.to_string()).into(),
                        Err(_) => refused("INTERNAL", "the call broke off").into(),
                    });
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
        let Some(mut parked) = self.gateway.parking.fetch(handle, &request.principal) else {
            let text = "no call of yours waits under this request state: it was answered, or it waited too long; call again";
            return Err(ErrorData::invalid_params(text, None));
        };
        if !parked.asked.take(&mut answers.unwrap_or_default()) {
            // What is not answered yet is asked again.
            let desk = Arc::clone(&parked.desk);
            return match self.park(parked) {
                Ok(required) => Ok(required.into()),
                Err(flight) => self.follow(*flight, desk, request, context).await,
            };
        }
        let Parked { flight, asked, desk, .. } = parked;
        asked.close();
        self.follow(flight, desk, request, context).await
    }

    /// Keeps a call until its questions are answered, and asks them.
    ///
    /// # Errors
    /// The call, whose questions were declined, where too many wait already.
    fn park(&self, parked: Parked) -> Result<InputRequiredResult, Box<Flight>> {
        let open = parked.asked.open();
        match self.gateway.parking.park(parked) {
            Ok(handle) => Ok(InputRequiredResult::new(Some(open), Some(handle))),
            Err(parked) => {
                let Parked { mut flight, asked, .. } = *parked;
                asked.close();
                flight.lead.say("The tool asked a person something; too many questions wait already, so it was declined.");
                Err(Box::new(flight))
            }
        }
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
            // Nobody is left to ask: they count as cancelled.
            Said::Questions { .. } => {}
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

/// Whether a person can be asked at all.
pub(super) fn can_ask(request: &Request, context: &RequestContext<RoleServer>) -> bool {
    asking(request, context) != Asking::Never
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

/// Asks a person through the client; no answer is a cancelled one.
async fn ask(peer: &Peer<RoleServer>, question: Value) -> Value {
    let Ok(elicit) = elicitation(question) else { return declined() };
    match peer.send_request(ServerRequest::ElicitRequest(elicit)).await {
        Ok(ClientResult::ElicitResult(answer)) => {
            serde_json::to_value(answer).unwrap_or_else(|_| cancelled())
        }
        Ok(_) | Err(_) => cancelled(),
    }
}
