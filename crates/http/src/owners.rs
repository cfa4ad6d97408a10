//! Whose session is whose: a session belongs to the principal that began it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use concertina_mcp::server::Principal;
use http::header::HeaderName;
use http::{HeaderMap, Method, StatusCode};

use crate::guard::refuse;

/// Sessions of one principal: more than one person's clients have open. Their own oldest makes room,
/// never that of somebody else.
const SESSIONS: usize = 256;

/// The header in which MCP names a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The owners of sessions.
#[derive(Debug, Default)]
pub(crate) struct Owners(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    owner: HashMap<String, String>,
    /// The sessions of each principal, in the order in which they began.
    order: HashMap<String, VecDeque<String>>,
}

impl Owners {
    fn owns(&self, principal: &str, session: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.owner.get(session).is_some_and(|owner| owner == principal)
    }

    fn add(&self, principal: &str, session: String) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.owner.insert(session.clone(), principal.to_owned());
        let order = known.order.entry(principal.to_owned()).or_default();
        order.push_back(session);
        let oldest = if order.len() > SESSIONS { order.pop_front() } else { None };
        if let Some(oldest) = oldest {
            known.owner.remove(&oldest);
        }
    }

    fn remove(&self, principal: &str, session: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.owner.remove(session);
        if let Some(order) = known.order.get_mut(principal) {
            order.retain(|one| one != session);
        }
    }
}

/// Lets a client's request reach the session that it names where it is its own. That of somebody else is
/// answered like one that there is not.
pub(crate) async fn check(
    State(owners): State<Arc<Owners>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(Principal(principal)) = request.extensions().get::<Principal>().cloned() else {
        let text = "a token for answering questions opens nothing else; ask with a client's token";
        return refuse(StatusCode::FORBIDDEN, "NOT_A_CLIENT", text);
    };
    let asked = session(request.headers());
    let ends = request.method() == Method::DELETE;
    if let Some(asked) = &asked
        && !owners.owns(&principal, asked)
    {
        return refuse(
            StatusCode::NOT_FOUND,
            "NO_SESSION",
            "there is no such session; begin a new one",
        );
    }
    let mut response = next.run(request).await;
    // It is ended, not only heard; clients look for that.
    if ends && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    match (asked, session(response.headers())) {
        (Some(asked), _) if ends && response.status().is_success() => {
            owners.remove(&principal, &asked);
        }
        (None, Some(begun)) => owners.add(&principal, begun),
        _ => {}
    }
    response
}

/// The session that a message names.
pub(crate) fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION)?.to_str().ok().map(str::to_owned)
}
