//! Actions that wait for a person whom the client can ask.

use std::sync::Arc;

use concertina_core::session::{Ask, Origin};
use concertina_runtime::upstream::Caller;
use concertina_runtime::{Admission, Cancel, Reply, RuntimeError};
use concertina_types::{ApprovalScope, Means};
use serde_json::{Value, json};

use super::answer::Extra;
use super::desk::Desk;
use super::flight::{Flight, Landed, set_out, start};
use super::gateway::Gateway;

/// Questions that one request may lead to.
const QUESTIONS: usize = 8;

/// What was asked for, to be asked for again.
#[derive(Debug, Clone)]
pub(super) enum Again {
    /// A tool, as `call` names it.
    Call(Value),
    /// One of the other verbs.
    Verb(String, Value),
}

/// Asks a person through the client, and does what was asked for once they agree.
pub(super) fn ask_first(
    gateway: &Arc<Gateway>,
    desk: Arc<Desk>,
    origin: Origin,
    reply: Box<Reply>,
    again: Again,
) -> Flight {
    let (flight, talker, land, cancel) = set_out();
    let gateway = Arc::clone(gateway);
    gateway.under_way.send_modify(|calls| *calls += 1);
    tokio::spawn(async move {
        let talker: Arc<dyn Caller> = Arc::new(talker);
        let done = settle(&gateway, &desk, &origin, reply, again, &talker, &cancel).await;
        let _ = land.send(done);
        gateway.under_way.send_modify(|calls| *calls = calls.saturating_sub(1));
    });
    flight
}

async fn settle(
    gateway: &Arc<Gateway>,
    desk: &Arc<Desk>,
    origin: &Origin,
    mut reply: Box<Reply>,
    again: Again,
    talker: &Arc<dyn Caller>,
    cancel: &Cancel,
) -> Result<Landed, RuntimeError> {
    for _ in 0..QUESTIONS {
        let Some(ask) = reply.ask.take() else { break };
        let answer = talker.elicit(question(&ask)).await;
        let given = match read(&answer) {
            Given::Nothing => break,
            Given::No => {
                let id = ask.id.clone();
                desk.work(move |seat| seat.session.disagree(&id, Means::Client)).await?
            }
            Given::Yes { scope, typed } => {
                let id = ask.id.clone();
                let agree = move |session: &mut concertina_runtime::Session| {
                    session.agree(&id, scope, Means::Client, typed)
                };
                desk.work(move |seat| agree(&mut seat.session)).await?
            }
        };
        // What was typed was not what was wanted: the question stays open and is told as such.
        if let Some(refusal) = given {
            if let Some(answer) = &mut reply.answer {
                answer.text = format!("error {}: {}", refusal.code, refusal.message);
            }
            break;
        }
        let (gate, asker, again, stop) =
            (Arc::clone(gateway), origin.clone(), again.clone(), cancel.clone());
        let admission = desk
            .work(move |seat| match again {
                Again::Call(arguments) => {
                    let admission =
                        seat.session.admit_written(gate.toolbox(), asker.clone(), &arguments)?;
                    match admission {
                        Admission::Asked(ask) => {
                            let reply = seat.session.unanswered(asker, &ask)?;
                            Ok(Admission::Answered(Box::new(reply)))
                        }
                        other => Ok(other),
                    }
                }
                Again::Verb(name, arguments) => {
                    let opening = gate.with_workspace(|workspace| {
                        seat.session.verb(workspace, asker, &name, &arguments, false, &stop)
                    })?;
                    seat.session.complete(opening).map(|reply| Admission::Answered(Box::new(reply)))
                }
            })
            .await?;
        match admission {
            Admission::Answered(next) => reply = next,
            // It was turned into an answer above.
            Admission::Asked(_) => break,
            Admission::Admitted(ticket) => {
                let (desk, talker) = (Arc::clone(desk), Arc::clone(talker));
                return start(gateway, desk, origin.clone(), ticket, cancel, talker).await;
            }
        }
    }
    Ok(Landed { reply: *reply, extra: Extra::default(), error: None })
}

/// The question as the protocol has it.
fn question(ask: &Ask) -> Value {
    let message = format!("{}\n\n{}", ask.why, ask.action);
    let (properties, required) = if let Some(phrase) = &ask.phrase {
        let typed = json!({"type": "string", "title": "To agree, type", "description": phrase});
        (json!({"typed": typed}), "typed")
    } else if ask.checkpoint.is_some() {
        let agree = json!({
            "type": "string", "title": "Agree", "enum": ["once"],
            "enumNames": ["to the work as it is now"], "default": "once",
        });
        (json!({"answer": agree}), "answer")
    } else {
        let answer = json!({
            "type": "string",
            "title": "Agree",
            "enum": ["once", "session", "digest"],
            "enumNames": ["once", "for this session", "for good, as long as its bytes stay the same"],
            "default": "once",
        });
        (json!({"answer": answer}), "answer")
    };
    let schema = json!({"type": "object", "properties": properties, "required": [required]});
    json!({"message": message, "requestedSchema": schema})
}

enum Given {
    Yes { scope: ApprovalScope, typed: Option<String> },
    No,
    Nothing,
}

fn read(answer: &Value) -> Given {
    let text = |key: &str| answer.pointer(key).and_then(Value::as_str);
    match text("/action") {
        Some("accept") => {
            let scope = match text("/content/answer") {
                Some("session") => ApprovalScope::Session,
                Some("digest") => ApprovalScope::Digest,
                _ => ApprovalScope::Once,
            };
            Given::Yes { scope, typed: text("/content/typed").map(str::to_owned) }
        }
        Some("decline") => Given::No,
        _ => Given::Nothing,
    }
}
