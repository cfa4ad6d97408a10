//! What the tests of models share: a view, a model at a local server, and a way to ask.

use std::time::Duration;

use concertina_core::session::{Block, Message, Part, ToolDefinition, View};
use concertina_runtime::llm::{Model, ModelError, ModelSpec, Patience, Reply};
use concertina_types::ModelCall;
use serde_json::json;

/// The kinds of models behind HTTP.
pub(crate) const REMOTE: [&str; 2] = ["openai:lyra", "anthropic:lyra"];

pub(crate) fn block(part: Part, text: &str) -> Block {
    Block { part, text: text.into() }
}

pub(crate) fn task(text: &str) -> Message {
    Message::User { blocks: vec![block(Part::Conversation, text)] }
}

pub(crate) fn said(text: &str, calls: Vec<ModelCall>) -> Message {
    Message::Assistant { text: text.into(), calls }
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> ModelCall {
    ModelCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

pub(crate) fn result(call: &str, text: &str, error: bool) -> Message {
    Message::Tool { call: call.to_owned(), block: block(Part::Evidence, text), error }
}

pub(crate) fn asking(text: &str) -> View {
    View { messages: vec![task(text)], ..View::default() }
}

/// A conversation with everything in it: two system blocks, two calls and their results, a card.
pub(crate) fn full_view() -> View {
    View {
        tools: vec![ToolDefinition {
            name: "open".to_owned(),
            description: "Unfolds one thing.".to_owned(),
            parameters: json!({"type": "object", "properties": {"ref": {"type": "string"}}}),
        }],
        system: vec![
            block(Part::Mechanism, "Open what you need."),
            block(Part::Index, "skills: 2"),
        ],
        messages: vec![
            Message::User {
                blocks: vec![
                    block(Part::Index, "+ skill:tides"),
                    block(Part::Conversation, "When is high water in Husum?"),
                ],
            },
            said(
                "Looking.",
                vec![
                    call("a1", "open", r#"{"ref":"skill:tides"}"#),
                    call("a2", "open", r#"{"ref": oops"#),
                ],
            ),
            result("a1", "Use the table.", false),
            result("a2", "arguments are not JSON", true),
            Message::User { blocks: vec![block(Part::Card, "step 1 of 2")] },
        ],
    }
}

/// Patience for tests: every retry, no time to lose.
pub(crate) fn quick() -> Patience {
    Patience {
        connect: Duration::from_secs(5),
        idle: Duration::from_secs(5),
        whole: Duration::from_secs(20),
        pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(50),
        ..Patience::default()
    }
}

/// The model at a base URL, without a key.
pub(crate) fn model_at(spec: &str, url: &str) -> Box<dyn Model> {
    model_with(spec, url, quick())
}

pub(crate) fn model_with(spec: &str, url: &str, patience: Patience) -> Box<dyn Model> {
    spec.parse::<ModelSpec>().unwrap().at(url).waiting(patience).connect(&|_| None).unwrap()
}

/// Asks, and checks that the pieces shown are the text of the reply.
pub(crate) async fn ask(model: &dyn Model, view: &View) -> Result<Reply, ModelError> {
    let (reply, shown) = ask_showing(model, view).await;
    if let Ok(reply) = &reply {
        assert_eq!(shown.concat(), reply.text);
    }
    reply
}

/// Asks, and returns the pieces shown as well.
pub(crate) async fn ask_showing(
    model: &dyn Model,
    view: &View,
) -> (Result<Reply, ModelError>, Vec<String>) {
    let mut shown = Vec::new();
    let reply = model.reply(view, &mut |text| shown.push(text.to_owned())).await;
    (reply, shown)
}

/// A small complete reply of each kind: the text `Hello`, streamed in two pieces.
pub(crate) fn hello(spec: &str) -> &'static str {
    if spec.starts_with("openai") {
        concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        )
    } else {
        concat!(
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hel\"}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"lo\"}}\n\n",
            "data: {\"type\":\"message_stop\"}\n\n",
        )
    }
}
