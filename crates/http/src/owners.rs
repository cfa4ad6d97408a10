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

/// Sessions that are remembered: more than a team's clients have open. The oldest makes room.
const SESSIONS: usize = 1_024;

/// The header in which MCP names a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The owners of sessions.
#[derive(Debug, Default)]
pub(crate) struct Owners(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    owner: HashMap<String, String>,
    /// In the order in which they began.
    order: VecDeque<String>,
}

impl Owners {
    fn owns(&self, principal: &str, session: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.owner.get(session).is_some_and(|owner| owner == principal)
    }

    fn add(&self, principal: String, session: String) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.owner.insert(session.clone(), principal).is_none() {
            known.order.push_back(session);
        }
        while known.order.len() > SESSIONS {
            if let Some(oldest) = known.order.pop_front() {
                known.owner.remove(&oldest);
            }
        }
    }

    fn remove(&self, session: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.owner.remove(session);
        known.order.retain(|one| one != session);
    }
}

/// Lets a request reach the session that it names where it is its own. That of somebody else is
/// answered like one that there is not.
pub(crate) async fn check(
    State(owners): State<Arc<Owners>>,
    request: Request,
    next: Next,
) -> Response {
    let principal = request.extensions().get::<Principal>().map(|one| one.0.clone());
    let principal = principal.unwrap_or_default();
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
        (Some(asked), _) if ends && response.status().is_success() => owners.remove(&asked),
        (None, Some(begun)) => owners.add(principal, begun),
        _ => {}
    }
    response
}

fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION)?.to_str().ok().map(str::to_owned)
}
