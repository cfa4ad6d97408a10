//! One call to a tool of a server.

use std::sync::Arc;

use concertina_runtime::Cancel;
use concertina_runtime::tools::Outcome;
use concertina_runtime::upstream::Caller;
use concertina_types::{ToolName, limits};
use serde_json::{Map, Value, json};

use super::content;
use super::failure::Failure;
use super::server::Upstream;

/// Calls `tool`, and stops at once when `cancel` says so, wherever the call is by then.
pub(super) async fn call(
    upstream: Arc<Upstream>,
    tool: ToolName,
    arguments: Value,
    cancel: Cancel,
    caller: Arc<dyn Caller>,
) -> Outcome {
    let run = run(&upstream, &tool, arguments, &caller);
    tokio::select! {
        biased;
        () = cancel.stopped() => Outcome::failed("CANCELLED", "the call was stopped; whether it had an effect is not known"),
        result = run => match result {
            Ok(result) => content::outcome(result),
            Err(failure) => {
                if matches!(failure, Failure::NeedsLogin(_)) {
                    upstream.wants_login(&failure);
                }
                failure.outcome(upstream.name())
            }
        },
    }
}

async fn run(
    upstream: &Arc<Upstream>,
    name: &ToolName,
    arguments: Value,
    caller: &Arc<dyn Caller>,
) -> Result<Value, Failure> {
    let wait = upstream.shared.options.waits.place;
    let place = tokio::time::timeout(wait, upstream.places.acquire()).await;
    let _place =
        place.map_err(|_| Failure::Busy(limits::CALLS_AT_ONCE))?.map_err(|_| Failure::Closed)?;
    let connection = upstream.connect().await?;
    // Asked once the server runs: starting it read its list again.
    let tool = upstream.tool(name).ok_or_else(|| {
        Failure::Unknown(format!("`{name}` is no longer among the tools of the server"))
    })?;
    if let Some(why) = &tool.offered.quarantined {
        return Err(Failure::Quarantined(format!("`{name}` is quarantined: {why}")));
    }
    let mut params = Map::new();
    params.insert("name".to_owned(), json!(tool.raw));
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    params.insert("arguments".to_owned(), arguments);
    let result = rounds(upstream, &connection.peer, "tools/call", params, caller).await;
    if result.is_ok() {
        upstream.answered();
    }
    result
}

/// Asks, and answers what the server asks back, until it has what it needs.
pub(super) async fn rounds(
    upstream: &Upstream,
    peer: &Arc<super::peer::Peer>,
    method: &str,
    mut params: Map<String, Value>,
    caller: &Arc<dyn Caller>,
) -> Result<Value, Failure> {
    let patience = upstream.patience();
    for _ in 0..limits::INPUT_ROUNDS {
        let sent = Value::Object(params.clone());
        let mut result = peer.request(method, sent, patience, Some(Arc::clone(caller))).await?;
        match result.get("resultType").and_then(Value::as_str) {
            Some("input_required") => {}
            None | Some("complete") => return Ok(result),
            Some(other) => {
                return Err(Failure::Malformed(format!(
                    "it returned a result of the type `{other}`, which is not supported here"
                )));
            }
        }
        let questions = match result.get_mut("inputRequests").map(Value::take) {
            Some(Value::Object(questions)) => questions,
            _ => Map::new(),
        };
        let mut answers = Map::new();
        let mut for_a_person = Map::new();
        for (key, mut question) in questions {
            if question.get("method").is_some_and(|method| method == "elicitation/create") {
                let asked = question.get_mut("params").map(Value::take).unwrap_or_default();
                for_a_person.insert(key, asked);
            } else {
                answers.insert(key, answer(peer, &question)?);
            }
        }
        if !for_a_person.is_empty() {
            answers.extend(caller.elicit_all(for_a_person).await);
        }
        params.insert("inputResponses".to_owned(), Value::Object(answers));
        match result.get_mut("requestState").map(Value::take) {
            Some(state) => params.insert("requestState".to_owned(), state),
            None => params.remove("requestState"),
        };
    }
    let limit = limits::INPUT_ROUNDS;
    Err(Failure::Malformed(format!("it asked back more than {limit} times in one call")))
}

/// The answer to what is asked of nobody in particular.
fn answer(peer: &super::peer::Peer, question: &Value) -> Result<Value, Failure> {
    let method = question.get("method").and_then(Value::as_str);
    let roots = peer.roots().filter(|_| method == Some("roots/list"));
    roots.ok_or_else(|| {
        let method = method.unwrap_or("nothing");
        Failure::Malformed(format!("it asked for `{method}`, which is not answered here"))
    })
}
