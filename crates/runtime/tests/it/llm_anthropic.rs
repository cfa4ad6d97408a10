//! The Messages format over a real connection.

use concertina_core::session::{Message, Part, View};
use concertina_runtime::llm::{ModelSpec, Reply, Stop};
use concertina_types::{Tokens, Usage};
use serde_json::json;

use crate::http_server::{Answer, Server};
use crate::llm::{ask, ask_showing, asking, block, call, full_view, model_at, quick, said, task};

const SPEC: &str = "anthropic:lyra";

const STREAM: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"lyra","stop_reason":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":30,"cache_read_input_tokens":50,"output_tokens":1}}}"#,
    "\n\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    "\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\r\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"潮の"}}"#,
    "\r\n\r\n",
    "event: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"時刻🌊"}}"#,
    "\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"open","input":{}}}"#,
    "\n\n",
    "event: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"ref\":"}}"#,
    "\n\n",
    "event: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"skill:é\"}"}}"#,
    "\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t2","name":"find","input":{}}}"#,
    "\n\n",
    "event: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"query\": oops"}}"#,
    "\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t3","name":"close","input":{}}}"#,
    "\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "event: message_delta\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":17}}"#,
    "\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

fn streamed() -> Reply {
    Reply {
        text: "潮の時刻🌊".to_owned(),
        calls: vec![
            call("t1", "open", r#"{"ref":"skill:é"}"#),
            call("t2", "find", r#"{"query": oops"#),
            call("t3", "close", "{}"),
        ],
        usage: Some(Usage { input: Tokens(100), cached: Tokens(50), output: Tokens(17) }),
        stop: Stop::Calls,
    }
}

#[tokio::test]
async fn a_view_goes_out_in_the_documented_shape() {
    let server = Server::start([Answer::events(STREAM)]);
    let spec: ModelSpec = SPEC.parse().unwrap();
    let env = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-test-0123456789".to_owned());
    let model = spec.at(server.url()).waiting(quick()).connect(&env).unwrap();
    assert_eq!(model.name(), SPEC);
    assert!(!format!("{model:?}").contains("0123456789"));

    let (reply, shown) = ask_showing(&*model, &full_view()).await;
    assert_eq!(reply.unwrap(), streamed());
    assert_eq!(shown, ["潮の", "時刻🌊"]);

    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("one request, not {}", requests.len()) };
    assert_eq!(request.line, "POST /v1/messages");
    assert_eq!(request.header("x-api-key"), Some("sk-test-0123456789"));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(
        request.json(),
        json!({
            "model": "lyra",
            "max_tokens": 8192,
            "stream": true,
            "system": [
                {"type": "text", "text": "Open what you need."},
                {"type": "text", "text": "skills: 2", "cache_control": {"type": "ephemeral"}},
            ],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "+ skill:tides"},
                    {"type": "text", "text": "When is high water in Husum?"},
                ]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "a1", "name": "open", "input": {"ref": "skill:tides"}},
                    {"type": "tool_use", "id": "a2", "name": "open", "input": {"invalid": "{\"ref\": oops"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a1", "content": "Use the table."},
                    {"type": "tool_result", "tool_use_id": "a2", "content": "arguments are not JSON",
                     "is_error": true, "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": "step 1 of 2"},
                ]},
            ],
            "tools": [{
                "name": "open",
                "description": "Unfolds one thing.",
                "input_schema": {"type": "object", "properties": {"ref": {"type": "string"}}},
            }],
        })
    );
}

#[tokio::test]
async fn roles_alternate_and_blank_texts_are_left_out() {
    let server = Server::start([Answer::events(STREAM)]);
    let view = View {
        system: vec![block(Part::Mechanism, " ")],
        messages: vec![
            task("one"),
            said("", vec![]),
            task("two"),
            Message::User { blocks: vec![block(Part::Index, "\n")] },
            said("yes", vec![]),
            Message::User { blocks: vec![block(Part::Card, "card")] },
        ],
        ..View::default()
    };
    ask(&*model_at(SPEC, &(server.url() + "/v1")), &view).await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /v1/messages", "the version is not doubled");
    assert_eq!(request.header("x-api-key"), None);
    let body = request.json();
    assert_eq!((body.get("system"), body.get("tools")), (None, None));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "yes", "cache_control": {"type": "ephemeral"}}]},
            {"role": "user", "content": [{"type": "text", "text": "card"}]},
        ])
    );
}

#[tokio::test]
async fn a_stream_reads_the_same_cut_at_every_byte() {
    let bytes = STREAM.as_bytes();
    let server = Server::start((0..=bytes.len()).map(|at| {
        let (head, tail) = bytes.split_at(at);
        Answer::pieces(200, "text/event-stream", [head, tail])
    }));
    let model = model_at(SPEC, &server.url());
    for at in 0..=bytes.len() {
        assert_eq!(ask(&*model, &asking("hi")).await.unwrap(), streamed(), "cut at {at}");
    }
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_read_too() {
    let document = json!({
        "id": "m", "type": "message", "role": "assistant", "model": "lyra",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "t1", "name": "open", "input": {"ref": "menu:db"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 2},
    });
    let server = Server::start([Answer::json(200, &document)]);
    let reply = ask(&*model_at(SPEC, &server.url()), &asking("hi")).await.unwrap();
    let expected = Reply {
        text: "Hello".to_owned(),
        calls: vec![call("t1", "open", r#"{"ref":"menu:db"}"#)],
        usage: Some(Usage { input: Tokens(5), cached: Tokens(0), output: Tokens(2) }),
        stop: Stop::Calls,
    };
    assert_eq!(reply, expected);
}

#[tokio::test]
async fn the_reason_for_stopping_is_told() {
    let reasons = [
        ("end_turn", Stop::Finished),
        ("max_tokens", Stop::Length),
        ("refusal", Stop::Filtered),
        ("pause_turn", Stop::Other("pause_turn".to_owned())),
    ];
    for (reason, stop) in reasons {
        let events = format!(
            "data: {}\n\ndata: {}\n\n",
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"})
        );
        let server = Server::start([Answer::events(events)]);
        let reply = ask(&*model_at(SPEC, &server.url()), &asking("hi")).await.unwrap();
        assert_eq!((reply.stop, reply.usage), (stop, None));
    }
}

#[tokio::test]
async fn a_provider_that_is_overloaded_before_it_speaks_is_asked_again() {
    let overloaded = concat!(
        "event: error\n",
        "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
    );
    let server = Server::start([Answer::events(overloaded), Answer::events(STREAM)]);
    let reply = ask(&*model_at(SPEC, &server.url()), &asking("hi")).await.unwrap();
    assert_eq!(reply, streamed());
    assert_eq!(server.requests().len(), 2);
}
