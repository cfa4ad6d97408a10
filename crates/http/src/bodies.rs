//! What a request says: within its size and its time, and under a number that is free.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use concertina_types::limits;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Method, StatusCode};
use http_body::{Frame, SizeHint};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::guard::{json, refuse};
use crate::owners;

/// How long a request may take to say what it wants.
pub const BODY: Duration = Duration::from_secs(20);

/// The numbers of requests under way, with their sessions. In one session an answer is told from
/// another by its number alone.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<HashSet<(String, String)>>);

/// Frees a number.
struct Place {
    key: (String, String),
    under_way: Arc<UnderWay>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.under_way.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.key);
    }
}

impl UnderWay {
    fn take(self: &Arc<Self>, key: (String, String)) -> Option<Place> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(key.clone()).then(|| Place { key, under_way: Arc::clone(self) })
    }
}

/// What tells a request from another message.
#[derive(Deserialize)]
struct Head {
    id: Option<Value>,
    method: Option<String>,
}

/// What a request says, of at most `limit` bytes, or why it is not read.
pub(crate) async fn read(request: Request, limit: usize) -> Result<(Parts, Bytes), Response> {
    let too_large = || {
        let text = format!("the message is longer than {limit} bytes; send less at once");
        refuse(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", &text)
    };
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if declared.and_then(|length| length.parse().ok()).is_some_and(|length: usize| length > limit) {
        return Err(too_large());
    }
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(BODY, to_bytes(body, limit)).await {
        Err(_) => {
            let text = format!("the message did not come within {} seconds", BODY.as_secs());
            Err(refuse(StatusCode::REQUEST_TIMEOUT, "TOO_SLOW", &text))
        }
        Ok(Err(_)) => Err(too_large()),
        Ok(Ok(bytes)) => Ok((parts, bytes)),
    }
}

/// Reads what a request says, and passes it on with a number that no other request of its session has
/// while it is answered.
pub(crate) async fn check(
    State(under_way): State<Arc<UnderWay>>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, bytes) = match read(request, limits::MESSAGE_BYTES).await {
        Ok(read) => read,
        Err(refused) => return refused,
    };
    let place = match (owners::session(&parts.headers), serde_json::from_slice::<Head>(&bytes)) {
        (Some(session), Ok(Head { id: Some(id), method: Some(_) })) => {
            let Some(place) = under_way.take((session, id.to_string())) else {
                let message = format!("a request with the id {id} is under way");
                let error = json!({"code": -32600, "message": message});
                let body = json!({"jsonrpc": "2.0", "id": null, "error": error});
                return json(StatusCode::BAD_REQUEST, &body);
            };
            Some(place)
        }
        _ => None,
    };
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    response.map(|body| Body::new(Held { body, _place: place }))
}

/// An answer that keeps its request's number until it was sent.
struct Held {
    body: Body,
    _place: Option<Place>,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
