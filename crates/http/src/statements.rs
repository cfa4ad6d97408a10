//! Statements on checkpoints of procedures, sent by whoever signs them: a build service, a deployment.
//!
//! The token lets a sender in, as it does everybody. What counts is the signature.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::post;
use concertina_runtime::RuntimeError;
use concertina_runtime::approval::Inbox;
use concertina_types::{Envelope, SessionId};
use http::StatusCode;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::approvals::{apart, broken};
use crate::bodies;
use crate::guard::{json, refuse};

/// One statement, in bytes: it holds some fields and a signature.
const STATEMENT_BYTES: usize = 64 * 1024;

/// The sessions, and room to speak to one of them at a time.
struct Desk {
    inbox: Inbox,
    hearing: Arc<Semaphore>,
}

/// The route, below where it is nested.
pub(crate) fn routes(inbox: Inbox) -> Router {
    let desk = Desk { inbox, hearing: Arc::new(Semaphore::new(1)) };
    Router::new().route("/{session}", post(hear)).with_state(Arc::new(desk))
}

async fn hear(
    State(desk): State<Arc<Desk>>,
    Path(session): Path<String>,
    request: Request,
) -> Response {
    let unknown = || {
        let text = "there is no such session, or no key of its procedure signed this";
        refuse(StatusCode::NOT_FOUND, "NO_SESSION", text)
    };
    let Ok(session) = SessionId::new(&session) else { return unknown() };
    let bytes = match bodies::read(request, STATEMENT_BYTES).await {
        Ok((_, bytes)) => bytes,
        Err(refused) => return refused,
    };
    let envelope = std::str::from_utf8(&bytes).ok().map(Envelope::parse);
    let envelope = match envelope {
        Some(Ok(envelope)) => envelope,
        Some(Err(error)) => {
            return refuse(StatusCode::BAD_REQUEST, "STATEMENT_UNREADABLE", &error.to_string());
        }
        None => {
            return refuse(StatusCode::BAD_REQUEST, "STATEMENT_UNREADABLE", "it is no text");
        }
    };
    let room = Arc::clone(&desk.hearing);
    let heard = apart(room, move || desk.inbox.hear(session, &envelope));
    match heard.await {
        Ok(Ok(card)) => json(StatusCode::OK, &json!({ "card": card })),
        Ok(Err(refusal)) => refuse(StatusCode::FORBIDDEN, &refusal.code, &refusal.message),
        Err(RuntimeError::NoSession(_)) => unknown(),
        Err(error) => broken(&error),
    }
}
