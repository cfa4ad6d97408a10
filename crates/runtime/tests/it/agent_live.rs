//! The agent loop against a server that speaks the providers' formats, streaming.

use std::path::Path;

use concertina_core::session::{Part, report};
use concertina_runtime::llm::{Model, ModelSpec};
use concertina_runtime::{Session, Started, Workspace, WorkspaceOptions};
use concertina_store::Store;
use concertina_types::{Fact, Tokens};
use serde_json::{Value, json};

use crate::http_server::{Answer, Server};
use crate::kit::{World, begin, drive, fold, skill};
use crate::llm::quick;

/// A reply that calls one of the four tools, with its arguments in two pieces.
fn openai_call(id: &str, name: &str, arguments: &Value) -> Answer {
    let text = arguments.to_string();
    let (head, tail) = text.split_at(text.len() / 2);
    let piece = |value: Value| format!("data: {value}\n\n");
    let delta = |delta: Value| {
        piece(json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
    };
    Answer::pieces(
        200,
        "text/event-stream",
        [
            delta(json!({"role": "assistant", "content": "Let me see. "})),
            delta(
                json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": head}}]}),
            ),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": tail}}]})),
            piece(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})),
            piece(
                json!({"choices": [], "usage": {"prompt_tokens": 1_000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 900}}}),
            ),
            "data: [DONE]\n\n".to_owned(),
        ],
    )
}

fn openai_text(text: &str) -> Answer {
    Answer::events(format!(
        "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ))
}

fn anthropic(blocks: &[String], stop: &str) -> Answer {
    let start = json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "lyra", "usage": {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 1}}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}});
    Answer::events(format!(
        "event: message_start\ndata: {start}\n\n{}event: message_delta\ndata: {delta}\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n",
        blocks.concat(),
    ))
}

fn anthropic_block(begin: &Value, deltas: &[Value]) -> String {
    let mut text = format!(
        "event: content_block_start\ndata: {}\n\n",
        json!({"type": "content_block_start", "index": 0, "content_block": begin})
    );
    for delta in deltas {
        text += &format!(
            "event: content_block_delta\ndata: {}\n\n",
            json!({"type": "content_block_delta", "index": 0, "delta": delta})
        );
    }
    text + "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
}

fn anthropic_call(id: &str, name: &str, arguments: &Value) -> Answer {
    let text = arguments.to_string();
    let (head, tail) = text.split_at(text.len() / 2);
    let deltas =
        [head, tail].map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
    let block =
        anthropic_block(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}), &deltas);
    anthropic(&[block], "tool_use")
}

fn anthropic_text(text: &str) -> Answer {
    let block = anthropic_block(
        &json!({"type": "text", "text": ""}),
        &[json!({"type": "text_delta", "text": text})],
    );
    anthropic(&[block], "end_turn")
}

fn model(spec: &str, server: &Server) -> Box<dyn Model> {
    let spec: ModelSpec = spec.parse().unwrap();
    let key = |name: &str| name.ends_with("_API_KEY").then(|| "sk-test".to_owned());
    spec.at(server.url()).waiting(quick()).connect(&key).unwrap()
}

const LARGE_ORDERS: &str = "SELECT c.customer_id, c.name FROM orders AS o JOIN customers AS c USING (customer_id), calendar \
    WHERE o.status = 'completed' AND o.total_amount > 1000 \
    AND o.order_date >= date(today, 'start of month', '-1 month') AND o.order_date < date(today, 'start of month') \
    GROUP BY c.customer_id ORDER BY sum(o.total_amount) DESC";

#[test]
fn the_sql_assistant_works_over_both_wires() {
    let query = json!({"tool": "sql/query", "args": {"query": LARGE_ORDERS}});
    let skill = json!({"ref": "skill:sales-analytics", "args": {"period": "last_month"}});
    let search = json!({"query": "customers with large orders last month"});
    let answers = |call: fn(&str, &str, &Value) -> Answer, text: fn(&str) -> Answer| {
        [
            call("c1", "call", &query),
            call("c2", "find", &search),
            call("c3", "open", &skill),
            call("c4", "call", &query),
            text("Those are they."),
        ]
    };
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sql-assistant");
    for (spec, answers) in [
        ("openai:lyra", answers(openai_call, openai_text)),
        ("anthropic:lyra", answers(anthropic_call, anthropic_text)),
    ] {
        let home = tempfile::tempdir().unwrap();
        let options = WorkspaceOptions::only(home.path().to_owned(), &|_| None);
        let mut workspace = Workspace::open(&example, options).unwrap();
        let store = Store::open(home.path()).unwrap();
        let mut session = Session::create(&mut workspace, store, Started::default()).unwrap();
        let server = Server::start(answers);
        let model = model(spec, &server);
        let task = "Which customers had orders over 1,000 last month?";
        let answer = drive(&mut workspace, &mut session, model.as_ref(), Some(task)).unwrap();
        assert_eq!(answer, "Those are they.", "{spec}");

        // The rows are those of the database, asked directly.
        let evidence = session.state().evidence.values().last().unwrap();
        let rows: Value = serde_json::from_str(&session.text(evidence).unwrap()).unwrap();
        let file =
            std::fs::read_dir(home.path().join("seeded")).unwrap().next().unwrap().unwrap().path();
        let database = rusqlite::Connection::open(file).unwrap();
        let mut statement = database.prepare(LARGE_ORDERS).unwrap();
        let direct: Vec<Value> = statement
            .query_map([], |row| Ok(json!([row.get::<_, i64>(0)?, row.get::<_, String>(1)?])))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(!direct.is_empty());
        assert_eq!(rows["rows"], Value::Array(direct), "{spec}");

        // Before the skill was open the same call was refused, and nothing ran.
        let turns = report(&session.events().unwrap());
        assert_eq!(turns.len(), 5);
        assert_eq!(turns[0].decisions[0].code, "NOT_VISIBLE");
        assert_eq!(turns[2].disclosed.skills, ["skill:sales-analytics"]);
        assert_eq!(turns[2].disclosed.tools, ["tool:sql/query"]);
        let usage = turns[0].usage.unwrap();
        assert_eq!(
            (usage.input, usage.cached, usage.output),
            (Tokens(1_000), Tokens(900), Tokens(20)),
            "{spec}"
        );
        assert_eq!(*session.state(), fold(&session.events().unwrap()));

        // What went out: constant tools, each answer under the id of its call.
        let requests: Vec<Value> =
            server.requests().iter().map(crate::http_server::Request::json).collect();
        assert_eq!(requests.len(), 5);
        assert!(requests.iter().all(|request| request["tools"] == requests[0]["tools"]));
        let last = requests[4].to_string();
        for id in ["c1", "c2", "c3", "c4"] {
            assert!(last.contains(id), "{spec}");
        }
        assert!(!requests[1].to_string().contains("Business rules"), "no body before it is opened");
        assert!(requests[3].to_string().contains("Business rules"));
    }
}

#[test]
fn e07_a_full_window_is_folded_and_the_skill_stays() {
    let world = World::new();
    world.write("work/skills/kept/SKILL.md", skill("kept", "Kept.", "BODY-OF-KEPT"));
    world.write("work/long.txt", "a line of a long file\n".repeat(400));
    world.config("[tool.read]\nargv = [\"cat\", \"long.txt\"]\ndanger = \"safe\"\n");
    let mut workspace = world.alone();
    workspace.settings_mut().window = 6_000;
    let mut session = begin(&mut workspace);
    let server = Server::start([
        openai_call("c1", "open", &json!({"ref": "skill:kept"})),
        openai_call("c2", "call", &json!({"tool": "read"})),
        openai_call("c3", "call", &json!({"tool": "read"})),
        openai_call("c4", "call", &json!({"tool": "read"})),
        openai_call("c5", "open", &json!({"ref": "ev:1@1-3"})),
        openai_text("Read."),
    ]);
    let model = model("openai:lyra", &server);
    drive(&mut workspace, &mut session, model.as_ref(), Some("Read it.")).unwrap();
    assert!(session.state().epoch >= 1, "it was folded");
    let folded = session.events().unwrap().iter().any(|event| {
        matches!(&event.fact, Fact::ContextCompacted { kept, dropped, .. } if kept.len() == 1 && dropped.is_empty())
    });
    assert!(folded);
    let view = session.view();
    assert_eq!(view.render().matches("BODY-OF-KEPT").count(), 1, "e07: the skill was carried over");
    assert!(view.render().contains("Read it."), "the task is never lost");
    assert!(view.part(Part::Card).contains("ev:1"), "and the way back to what was folded is named");
    assert!(view.part(Part::Evidence).contains("a line of a long file"));
    for event in session.events().unwrap() {
        if let Fact::ModelAsked { tokens, .. } = event.fact {
            assert!(tokens["total"].0 <= 6_000, "no request is larger than the window: {tokens:?}");
        }
    }
}

#[test]
fn an_answer_that_was_cut_is_no_answer() {
    let world = World::new();
    for (stop, code) in [("length", "ANSWER_CUT"), ("content_filter", "ANSWER_CUT")] {
        let mut workspace = world.alone();
        let mut session = begin(&mut workspace);
        let server = Server::start([Answer::events(format!(
            "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
            json!({"choices": [{"index": 0, "delta": {"content": "Half of it"}, "finish_reason": null}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}),
        ))]);
        let model = model("openai:lyra", &server);
        let error =
            drive(&mut workspace, &mut session, model.as_ref(), Some("Do it.")).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(session.view().render().contains("Half of it"), "what arrived is kept");
        assert!(session.state().answer.is_none());
    }
}

#[test]
fn a_server_that_fails_midway_leaves_a_session_to_go_on_with() {
    let world = World::new();
    world.skill("work/skills/plain", "Plain.");
    let mut workspace = world.alone();
    let store = world.store();
    let mut session = Session::create(&mut workspace, store.clone(), Started::default()).unwrap();
    let broken = Server::start([
        openai_call("c1", "open", &json!({"ref": "skill:plain"})),
        Answer::json(400, &json!({"error": {"message": "no such model"}})),
    ]);
    let error =
        drive(&mut workspace, &mut session, model("openai:lyra", &broken).as_ref(), Some("Do it."))
            .unwrap_err();
    assert!(error.to_string().contains("no such model"), "{error}");
    let mended = Server::start([openai_text("Done.")]);
    let mut session = Session::resume(store, session.id().clone()).unwrap();
    let answer =
        drive(&mut workspace, &mut session, model("openai:lyra", &mended).as_ref(), None).unwrap();
    assert_eq!(answer, "Done.");
    let request = mended.requests()[0].json().to_string();
    assert!(
        request.contains("Do it.") && request.contains("Opened skill:plain"),
        "it knows what was done"
    );
}
