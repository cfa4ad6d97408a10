//! Questions of consent: who they are shown to, and who answers them.
//!
//! A client sees the questions of its principal's sessions. Only an [`Approver`] answers: what asks must
//! not be what agrees.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use concertina_core::session::Refusal;
use concertina_mcp::server::Principal;
use concertina_runtime::RuntimeError;
use concertina_runtime::approval::{Choice, Inbox, Question, Questions, Whose};
use concertina_types::{Answerer, ApprovalScope, Means};
use http::{Extensions, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::bodies;
use crate::guard::{json, refuse};
use crate::token::Approver;

/// The longest answer, in bytes: a phrase is a line, and the rest are four words.
const ANSWER_BYTES: usize = 16 * 1024;

/// Questions in one list: more than one session may have open, and no more than somebody reads.
const LISTED: usize = 200;

/// The questions, and room to look at them. Logs are read from one disk and consent for good is kept in
/// one file, so one request at a time looks and one answers; those who look never hold up an answer.
struct Window {
    inbox: Inbox,
    looking: Arc<Semaphore>,
    answering: Arc<Semaphore>,
}

/// The routes, below where they are nested.
pub(crate) fn routes(inbox: Inbox) -> Router {
    let one = || Arc::new(Semaphore::new(1));
    let window = Window { inbox, looking: one(), answering: one() };
    Router::new().route("/", get(list)).route("/{id}", post(answer)).with_state(Arc::new(window))
}

/// What waits for an answer, for whoever asks.
async fn list(State(window): State<Arc<Window>>, extensions: Extensions) -> Response {
    let whose = whose(&extensions);
    let room = Arc::clone(&window.looking);
    let found = apart(room, move || {
        let found = window.inbox.waiting(&whose)?;
        Ok(listed(found, whose == Whose::Everybody))
    });
    match found.await {
        Ok(list) => json(StatusCode::OK, &list),
        Err(error) => broken(&error),
    }
}

/// Whose questions are shown. Whoever is known as nobody sees nobody's.
fn whose(extensions: &Extensions) -> Whose {
    if let Some(approver) = extensions.get::<Approver>() {
        return approver.whose.clone();
    }
    Whose::Only(extensions.get::<Principal>().map(|one| one.0.clone()).into_iter().collect())
}

/// The oldest, which expire first, and how many more there are. Whose a session is that cannot be read
/// is not known, so it is named only to those who see all.
fn listed(found: Questions, sees_all: bool) -> serde_json::Value {
    let more = found.questions.len().saturating_sub(LISTED);
    let shown: Vec<Question> = found.questions.into_iter().take(LISTED).collect();
    let left_out = found.left_out.iter().filter(|_| sees_all);
    let left_out: Vec<_> = left_out
        .map(|(session, error)| json!({"session": session, "code": error.code()}))
        .collect();
    json!({"approvals": shown, "more": more, "left_out": left_out})
}

/// An answer as it is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    decision: Decision,
    /// How far a yes reaches.
    #[serde(default)]
    scope: ApprovalScope,
    typed: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Grant,
    Deny,
}

/// Takes an answer, and says how the question stands then.
async fn answer(
    State(window): State<Arc<Window>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    // Before anything of the question is looked at: a client learns nothing of it here.
    let Some(approver) = request.extensions().get::<Approver>().cloned() else {
        let text = "a client's token answers no question: an agent could agree to what it asks for; \
                    send a token of the file that `concertina serve --approver-token-file` names";
        return refuse(StatusCode::FORBIDDEN, "NOT_AN_APPROVER", text);
    };
    let bytes = match bodies::read(request, ANSWER_BYTES).await {
        Ok((_, bytes)) => bytes,
        Err(refused) => return refused,
    };
    let Sent { decision, scope, typed } = match serde_json::from_slice(&bytes) {
        Ok(sent) => sent,
        Err(error) => {
            let text = format!(
                "an answer is {{\"decision\": \"grant\" or \"deny\", \"scope\": \"once\", \"session\" or \"digest\", \"typed\": WORDS}}: {error}"
            );
            return refuse(StatusCode::BAD_REQUEST, "BAD_ANSWER", &text);
        }
    };
    let choice = match decision {
        Decision::Grant => Choice::Grant { scope, typed },
        Decision::Deny => Choice::Deny,
    };
    let room = Arc::clone(&window.answering);
    let answered = apart(room, move || {
        let by = Answerer::named(Means::Http, approver.who);
        window.inbox.answer(&approver.whose, &id, choice, by)
    });
    match answered.await {
        Ok(Ok(question)) => json(StatusCode::OK, &json!(question)),
        Ok(Err(refusal)) => refused(&refusal),
        Err(error) => broken(&error),
    }
}

/// Does something that reads files away from the threads that serve others, once there is room.
pub(crate) async fn apart<T: Send + 'static>(
    room: Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, RuntimeError> + Send + 'static,
) -> Result<T, RuntimeError> {
    let broken_off = |error: &dyn std::fmt::Display| {
        RuntimeError::Internal(format!("a request broke off: {error}"))
    };
    let place = room.acquire_owned().await.map_err(|error| broken_off(&error))?;
    let done = tokio::task::spawn_blocking(move || {
        // It is freed when the work is done, whether or not somebody still waits for it.
        let _place = place;
        work()
    });
    done.await.map_err(|error| broken_off(&error))?
}

/// Why an answer does not count.
fn refused(refusal: &Refusal) -> Response {
    let status = match refusal.code.as_str() {
        "NOT_FOUND" => StatusCode::NOT_FOUND,
        "APPROVAL_ANSWERED" | "APPROVAL_EXPIRED" => StatusCode::CONFLICT,
        _ => StatusCode::FORBIDDEN,
    };
    refuse(status, &refusal.code, &refusal.message)
}

/// What is said where the service itself cannot.
pub(crate) fn broken(error: &RuntimeError) -> Response {
    let status = match error {
        RuntimeError::Contended(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refuse(status, error.code(), &error.to_string())
}
