//! The Chat Completions format over a real connection.

use concertina_core::session::View;
use concertina_runtime::llm::{ModelSpec, Reply, Stop};
use concertina_types::{Tokens, Usage};
use serde_json::{Value, json};

use crate::http_server::{Answer, Server};
use crate::llm::{ask, ask_showing, asking, call, full_view, model_at, quick};

const SPEC: &str = "openai:lyra";

/// As a server streams it: a comment, mixed line ends, text outside ASCII, two interleaved calls
/// whose second never becomes JSON, usage in a last chunk without choices.
const STREAM: &str = concat!(
    ": waking\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
    "\r\n\r\n",
    r#"data: {"choices":[{"index":0,"delta":{"content":"潮の"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"content":"時刻🌊"},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"open","arguments":""}}]},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"t2","type":"function","function":{"name":"find","arguments":"{\"query\""}}]},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"ref\":\"skill:é\"}"}}]},"finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":": oops"}}]},"finish_reason":null}]}"#,
    "\r\r",
    r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "\n\n",
    r#"data: {"choices":[],"usage":{"prompt_tokens":120,"completion_tokens":17,"prompt_tokens_details":{"cached_tokens":100}}}"#,
    "\n\n",
    "data: [DONE]\n\n",
);

fn streamed() -> Reply {
    Reply {
        text: "潮の時刻🌊".to_owned(),
        calls: vec![
            call("t1", "open", r#"{"ref":"skill:é"}"#),
            call("t2", "find", r#"{"query": oops"#),
        ],
        usage: Some(Usage { input: Tokens(120), cached: Tokens(100), output: Tokens(17) }),
        stop: Stop::Calls,
    }
}

#[tokio::test]
async fn a_view_goes_out_in_the_documented_shape() {
    let server = Server::start([Answer::events(STREAM)]);
    let spec: ModelSpec = SPEC.parse().unwrap();
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-test-0123456789".to_owned());
    let model = spec.at(server.url() + "/v1/").waiting(quick()).connect(&env).unwrap();
    assert_eq!(model.name(), SPEC);
    assert!(!model.is_scripted());
    assert!(!format!("{model:?}").contains("0123456789"));

    let (reply, shown) = ask_showing(&*model, &full_view()).await;
    assert_eq!(reply.unwrap(), streamed());
    assert_eq!(shown, ["潮の", "時刻🌊"]);

    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("one request, not {}", requests.len()) };
    assert_eq!(request.line, "POST /v1/chat/completions");
    assert_eq!(request.header("authorization"), Some("Bearer sk-test-0123456789"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.json(),
        json!({
            "model": "lyra",
            "stream": true,
            "stream_options": {"include_usage": true},
            "messages": [
                {"role": "system", "content": "Open what you need.\n\nskills: 2"},
                {"role": "user", "content": "+ skill:tides\n\nWhen is high water in Husum?"},
                {"role": "assistant", "content": "Looking.", "tool_calls": [
                    {"id": "a1", "type": "function",
                     "function": {"name": "open", "arguments": "{\"ref\":\"skill:tides\"}"}},
                    {"id": "a2", "type": "function",
                     "function": {"name": "open", "arguments": r#"{"invalid":"{\"ref\": oops"}"#}},
                ]},
                {"role": "tool", "tool_call_id": "a1", "content": "Use the table."},
                {"role": "tool", "tool_call_id": "a2", "content": "arguments are not JSON"},
                {"role": "user", "content": "step 1 of 2"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "open",
                "description": "Unfolds one thing.",
                "parameters": {"type": "object", "properties": {"ref": {"type": "string"}}},
            }}],
        })
    );
}

#[tokio::test]
async fn without_a_key_or_tools_neither_is_sent() {
    let server = Server::start([Answer::events(STREAM)]);
    ask(&*model_at(SPEC, &server.url()), &asking("hi")).await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /chat/completions");
    assert_eq!(request.header("authorization"), None);
    let body = request.json();
    assert_eq!(body["messages"], json!([{"role": "user", "content": "hi"}]));
    assert_eq!(body.get("tools"), None);
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
    let single = bytes.iter().map(|byte| [*byte]);
    let server = Server::start([Answer::pieces(200, "text/event-stream", single)]);
    let reply = ask(&*model_at(SPEC, &server.url()), &asking("hi")).await.unwrap();
    assert_eq!(reply, streamed(), "byte by byte");
}

async fn answered(answer: Answer) -> Reply {
    let server = Server::start([answer]);
    ask(&*model_at(SPEC, &server.url()), &asking("hi")).await.unwrap()
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_read_too() {
    let document = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant",
            "content": "Hello",
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "open", "arguments": "{}"}},
                {"id": "t2", "type": "function", "function": {"name": "find", "arguments": "{}"}},
            ],
        }}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    });
    let expected = Reply {
        text: "Hello".to_owned(),
        calls: vec![call("t1", "open", "{}"), call("t2", "find", "{}")],
        usage: Some(Usage { input: Tokens(5), cached: Tokens(0), output: Tokens(2) }),
        stop: Stop::Calls,
    };
    assert_eq!(answered(Answer::json(200, &document)).await, expected);
    // The header does not decide, and the document may come in pieces after a blank line.
    let text = format!("\n{document}");
    let (head, tail) = text.as_bytes().split_at(1);
    let (middle, tail) = tail.split_at(50);
    let pieces = Answer::pieces(200, "text/event-stream", [head, middle, tail]);
    assert_eq!(answered(pieces).await, expected);
}

fn chunks(choices: &[Value]) -> Answer {
    let events: Vec<_> = choices
        .iter()
        .map(|choice| format!("data: {}\n\n", json!({"choices": [choice]})))
        .collect();
    Answer::events(events.concat())
}

#[tokio::test]
async fn servers_that_number_calls_their_own_way_are_understood() {
    // No ids and no indices in the first; the same index for every call in the second.
    let no_ids = chunks(&[
        json!({"delta": {"tool_calls": [{"index": 0, "function": {"name": "open", "arguments": {"ref": "x"}}}]}}),
        json!({"delta": {"tool_calls": [{"index": 1, "function": {"name": "find", "arguments": "{}"}}]}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ]);
    let calls = answered(no_ids).await.calls;
    assert_eq!(calls, [call("call_1", "open", r#"{"ref":"x"}"#), call("call_2", "find", "{}")]);

    let same_index = chunks(&[
        json!({"delta": {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "open", "arguments": "{"}}]}}),
        json!({"delta": {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "open", "arguments": "}"}}]}}),
        json!({"delta": {"tool_calls": [{"index": 0, "id": "y", "function": {"name": "find", "arguments": "{"}}]}}),
        json!({"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}}),
        json!({"delta": {}, "finish_reason": "tool_calls"}),
    ]);
    let calls = answered(same_index).await.calls;
    assert_eq!(calls, [call("x", "open", "{}"), call("y", "find", "{}")]);

    let no_index = chunks(&[
        json!({"delta": {"tool_calls": [{"id": "x", "function": {"name": "open", "arguments": "{"}}]}}),
        json!({"delta": {"tool_calls": [{"function": {"arguments": "}"}}]}}),
        json!({"delta": {"tool_calls": [{"id": "y", "function": {"name": "find", "arguments": "{}"}}]}}),
        json!({"delta": {}, "finish_reason": "tool_calls"}),
    ]);
    let calls = answered(no_index).await.calls;
    assert_eq!(calls, [call("x", "open", "{}"), call("y", "find", "{}")]);
}

#[tokio::test]
async fn the_reason_for_stopping_is_told() {
    let reasons = [
        ("stop", Stop::Finished),
        ("length", Stop::Length),
        ("content_filter", Stop::Filtered),
        ("lunch", Stop::Other("lunch".to_owned())),
    ];
    for (reason, stop) in reasons {
        let reply =
            answered(chunks(&[json!({"delta": {"content": "a"}, "finish_reason": reason})]));
        assert_eq!(reply.await.stop, stop);
    }
}

#[tokio::test]
async fn given_ids_stay_clear_of_those_in_the_view() {
    let answer = chunks(&[
        json!({"delta": {"tool_calls": [{"index": 0, "function": {"name": "open", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}),
    ]);
    let server = Server::start([answer]);
    let mut view = View { messages: asking("hi").messages, ..View::default() };
    view.messages.push(crate::llm::said("", vec![call("call_41", "open", "{}")]));
    view.messages.push(crate::llm::result("call_41", "done", false));
    let reply = ask(&*model_at(SPEC, &server.url()), &view).await.unwrap();
    assert_eq!(reply.calls[0].id, "call_42");
    assert_eq!(server.requests()[0].json()["messages"][1]["content"], Value::Null);
}

#[tokio::test]
async fn a_flood_of_calls_is_refused() {
    let many: Vec<_> = (0..200)
        .map(|i| json!({"delta": {"tool_calls": [{"index": i, "id": format!("t{i}"), "function": {"name": "open"}}]}}))
        .collect();
    let server = Server::start([chunks(&many)]);
    let error = ask(&*model_at(SPEC, &server.url()), &asking("hi")).await.unwrap_err();
    assert_eq!(error.code(), "MODEL_BAD_REPLY");
    assert!(error.to_string().contains("128 calls"), "{error}");
}
