//! `tools/call`: the four tools, and tools by their own name.

use std::sync::Arc;

use concertina_core::session::{COMMANDS, Origin};
use concertina_runtime::{Admission, Cancel, Reply, RuntimeError, Session};
use concertina_types::Subject;
use rmcp::model::{CallToolRequestParams, CallToolResponse, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::answer::{Extra, refused, result};
use super::connection::{Connection, Request, broken};
use super::consent::{Again, ask_first};
use super::desk::Desk;
use super::flight::{Flight, launch};
use super::follow::can_ask;
use super::gateway::Exposure;
use super::names::{Meant, meant};
use super::notes::{self, Lead};
use super::tools;

/// What one request led to, before it is put into words.
enum Step {
    Answered(Box<Reply>),
    /// The answer says that a person has to agree first.
    Asked(Box<Reply>, Again),
    Started(Flight),
}

impl Connection {
    pub(super) async fn call(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let request = self.request(&context);
        if let Some(handle) = &call.request_state {
            return self.go_on(handle, call.input_responses, &request, &context).await;
        }
        let given = call.input_responses.unwrap_or_default();
        let name = call.name.into_owned();
        let arguments = call.arguments.unwrap_or_default();
        let own = tools::is_own(&name);
        let named = arguments.get("session").filter(|_| own).and_then(Value::as_str);
        let named = named.or_else(|| request.session()).map(str::to_owned);
        let mut lead = Lead::default();
        let desk = match self.desk(&request, named.as_deref(), &mut lead).await {
            Ok(Ok(desk)) => desk,
            Ok(Err(refusal)) => return Ok(refused(&refusal.code, &refusal.message).into()),
            Err(error) => return Ok(refused(error.code(), &error.to_string()).into()),
        };
        self.gateway.look().await;
        let arguments = Value::Object(arguments);
        let wanted = Wanted::of(&name, &arguments);
        if wanted.is_unknown(&self.gateway.snapshot()) {
            self.gateway.settle().await;
            self.gateway.look().await;
        }
        let window = request.said("windowId").map(str::to_owned);
        let cancel = Cancel::default();
        let step = self.step(&desk, name, arguments, window, &cancel);
        let step = tokio::select! {
            step = step => step,
            // A command of a skill stops; what is admitted still has to be on the record.
            never = stop(&context, &cancel) => match never {},
        };
        let response = match step {
            Err(error) => refused(error.code(), &error.to_string()).into(),
            Ok((Step::Asked(reply, again), shown)) if can_ask(&request, &context) => {
                self.mention(shown, request.is_alone, &mut lead);
                let whose = Arc::clone(&desk);
                let mut flight = ask_first(&self.gateway, whose, origin(), reply, again);
                flight.lead = lead;
                flight.given = given;
                self.follow(flight, desk, &request, &context).await?
            }
            Ok((Step::Answered(reply) | Step::Asked(reply, _), shown)) => {
                self.mention(shown, request.is_alone, &mut lead);
                self.complain(&wanted, &reply, &mut lead);
                match reply.answer {
                    Some(answer) => result(lead, &answer, Extra::default()).into(),
                    None => refused("INTERNAL", "the request has no answer").into(),
                }
            }
            Ok((Step::Started(mut flight), shown)) => {
                self.mention(shown, request.is_alone, &mut lead);
                flight.lead = lead;
                flight.given = given;
                self.follow(flight, desk, &request, &context).await?
            }
        };
        if self.gateway.exposure() == Exposure::Listed && !request.is_alone {
            self.tell(&request, &context.peer).await;
        }
        Ok(response)
    }

    /// What happens in the session, up to the start of a tool; and what was shown of the index.
    async fn step(
        &self,
        desk: &Arc<Desk>,
        name: String,
        arguments: Value,
        window: Option<String>,
        cancel: &Cancel,
    ) -> Result<(Step, Option<Shown>), RuntimeError> {
        let (gateway, cancel) = (Arc::clone(&self.gateway), cancel.clone());
        let whose = Arc::clone(desk);
        desk.work(move |seat| {
            let mut shown = seat.bring_up(&gateway)?.map(Shown::Index);
            if let Some(window) = window
                && let Some(again) = seat.enter(&window)?
            {
                shown = Some(Shown::Again(again));
            }
            let session = &mut seat.session;
            let mut again = match name.as_str() {
                "call" => Again::Call(arguments.clone()),
                _ => Again::Verb(name.clone(), arguments.clone()),
            };
            let verb = |session: &mut Session, name: &str, arguments: &Value| {
                let opening = gateway.with_workspace(|workspace| {
                    session.verb(workspace, origin(), name, arguments, false, &cancel)
                })?;
                // The commands of a skill and an encoder take their time, and nobody else waits for them.
                session.complete(opening).map(|reply| Admission::Answered(Box::new(reply)))
            };
            let admission = match name.as_str() {
                "call" => session.admit_written(gateway.toolbox(), origin(), &arguments)?,
                "find" | "open" | "close" => verb(session, &name, &arguments)?,
                _ => match meant(session, &name) {
                    Meant::Tool(tool) => {
                        again = Again::Call(json!({"tool": tool, "args": arguments}));
                        session.admit(gateway.toolbox(), origin(), &tool, arguments)?
                    }
                    Meant::Opened(reference) => {
                        let args = arguments.get("args").cloned().unwrap_or_default();
                        let arguments = json!({"ref": reference, "args": args});
                        again = Again::Verb("open".to_owned(), arguments.clone());
                        verb(session, "open", &arguments)?
                    }
                    Meant::OneOf(tools) => {
                        let text = format!(
                            "several tools are called {name}: {}; use call with one of these names",
                            tools.join(", ")
                        );
                        declined(session, &name, "AMBIGUOUS_TOOL", text)?
                    }
                    Meant::Nearest(tools) => {
                        let text = format!(
                            "there is no tool {name}; the nearest are {}",
                            tools.join(", ")
                        );
                        declined(session, &name, "UNKNOWN_TOOL", text)?
                    }
                },
            };
            // Started here, so that whatever becomes of the request, it runs on the record.
            let step = match admission {
                Admission::Answered(reply) => answered(reply, again),
                Admission::Asked(ask) => {
                    let reply = session.unanswered(origin(), &ask)?;
                    answered(Box::new(reply), again)
                }
                Admission::Admitted(ticket) => {
                    Step::Started(launch(&gateway, whose, origin(), ticket))
                }
            };
            Ok((step, shown))
        })
        .await
    }

    /// Says what was shown of the index, where the client does not have it.
    fn mention(&self, shown: Option<Shown>, is_alone: bool, lead: &mut Lead) {
        match shown {
            Some(Shown::Again(text)) => lead.say(text),
            // The words at connecting hold the root; where each request stands for itself, nobody
            // knows, and the client can ask for them.
            Some(Shown::Index(text)) if !is_alone && !self.was_told(&text) => lead.say(text),
            Some(Shown::Index(_)) | None => {}
        }
    }

    /// Says which servers are missing, where that may be why something was not found.
    fn complain(&self, wanted: &Wanted, reply: &Reply, lead: &mut Lead) {
        let Some(offer) = self.gateway.offer() else { return };
        let is_refused = reply.refusal.as_ref().is_some_and(|refusal| {
            matches!(refusal.code.as_str(), "UNKNOWN_TOOL" | "NOT_FOUND" | "NOT_VISIBLE")
        });
        let lines = match wanted {
            Wanted::Everything => notes::missing(&offer, None),
            Wanted::Search => {
                let found_nothing = reply
                    .answer
                    .as_ref()
                    .is_some_and(|answer| answer.text.starts_with("Nothing fits"));
                if found_nothing {
                    notes::missing(&offer, None)
                } else {
                    notes::starting(&offer).into_iter().collect()
                }
            }
            Wanted::Tool(name) if is_refused => match name.split_once('/') {
                Some((server, _)) => notes::missing(&offer, Some(server)),
                None => notes::missing(&offer, None),
            },
            Wanted::Tool(_) | Wanted::Other => Vec::new(),
        };
        for line in lines {
            lead.say(line);
        }
    }

    /// The tools that are visible in the session of `request`, which begins with this.
    pub(super) async fn visible(&self, request: &Request) -> Result<Vec<Tool>, ErrorData> {
        self.gateway.settle().await;
        self.gateway.look().await;
        if !request.is_alone || request.session().is_some() {
            let desk = self.plain_desk(request).await?;
            return self.visible_at(&desk).await.map_err(|error| broken(&error));
        }
        self.glance(request, |_, glance| Ok(tools::listed(&glance.session))).await
    }

    /// The same, for a look that begins nothing.
    pub(super) async fn visible_now(&self, request: &Request) -> Option<Vec<Tool>> {
        match self.present_desk() {
            Some(desk) => self.visible_at(&desk).await.ok(),
            None if request.is_alone => self.visible(request).await.ok(),
            None => None,
        }
    }

    async fn visible_at(&self, desk: &Desk) -> Result<Vec<Tool>, RuntimeError> {
        let gateway = Arc::clone(&self.gateway);
        desk.work(move |seat| {
            seat.take_note(&gateway)?;
            Ok(tools::listed(&seat.session))
        })
        .await
    }
}

/// A step that ends with `reply`; where a person could change that, how to ask for it again.
fn answered(reply: Box<Reply>, again: Again) -> Step {
    if reply.ask.is_some() { Step::Asked(reply, again) } else { Step::Answered(reply) }
}

/// What was shown of the index on the way.
enum Shown {
    /// What is new.
    Index(String),
    /// All of it, since the client's model has forgotten it.
    Again(String),
}

/// What a request is after, for what is said when it cannot be had.
enum Wanted {
    /// The root of all tools.
    Everything,
    /// Whatever fits.
    Search,
    /// This tool.
    Tool(String),
    /// Something that no server brings.
    Other,
}

impl Wanted {
    fn of(name: &str, arguments: &Value) -> Self {
        let text =
            |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default().trim();
        match name {
            "find" => Self::Search,
            "call" => Self::Tool(text("tool").trim_start_matches("tool:").to_owned()),
            "close" => Self::Other,
            "open" => match text("ref").split_once(':') {
                Some(("menu", "" | "/")) => Self::Everything,
                Some(("menu", menu)) => Self::Tool(format!("{menu}/")),
                Some(("tool", tool)) => Self::Tool(tool.to_owned()),
                None if text("ref") == "menu" => Self::Everything,
                _ => Self::Other,
            },
            other => Self::Tool(other.to_owned()),
        }
    }

    /// Whether servers that still start may bring it.
    fn is_unknown(&self, snapshot: &concertina_core::catalog::Snapshot) -> bool {
        match self {
            Self::Everything | Self::Search => true,
            Self::Other => false,
            // No server brings the commands of a skill.
            Self::Tool(name) if name.strip_prefix(COMMANDS).is_some_and(is_below) => false,
            Self::Tool(name) => match name.strip_suffix('/') {
                Some(menu) => !snapshot.tools.iter().any(|tool| tool.category.starts_with(menu)),
                None => !snapshot
                    .tools
                    .iter()
                    .any(|tool| tool.name.as_str() == name || super::alias(&tool.name) == *name),
            },
        }
    }
}

/// Whether what follows the name of a group is a name in it.
fn is_below(rest: &str) -> bool {
    rest.starts_with('/') || rest.starts_with("__")
}

/// Stops what runs once the client takes the request back.
async fn stop(context: &RequestContext<RoleServer>, cancel: &Cancel) -> std::convert::Infallible {
    context.ct.cancelled().await;
    cancel.stop();
    std::future::pending().await
}

fn origin() -> Origin {
    Origin { subject: Subject::Model, call: None }
}

/// A call that is refused before it is one.
fn declined(
    session: &mut Session,
    name: &str,
    code: &str,
    text: String,
) -> Result<Admission, RuntimeError> {
    let reply = session.refuse(origin(), format!("call {name}"), code, text)?;
    Ok(Admission::Answered(Box::new(reply)))
}
