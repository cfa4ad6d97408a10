//! `concertina run`: a model at work.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kit::{Place, repository, write};

const SCRIPT: &str = r#"//- model.json
{"script": "v1", "label": "harbour", "dialogues": [
  {"when": ["skill:pilots"], "turns": [{"say": "Anna takes the Aurora."}]},
  {"when": ["pilots"], "turns": [
    {"calls": [{"name": "open", "arguments": {"ref": "skill:pilots"}}]},
    {"say": "Done."}]},
  {"turns": [
    {"say": "I open the tables.", "calls": [{"name": "open", "arguments": {"ref": "skill:tides", "args": {"port": "north"}}}]},
    {"calls": [{"name": "call", "arguments": {"tool": "clock"}}]},
    {"say": "High water is at 06:10."}]}]}
"#;

fn harbour() -> Place {
    let place = Place::harbour();
    write(&place.work(), SCRIPT);
    place
}

#[test]
fn n08_the_example_answers_without_a_key_or_a_network() {
    let place = Place::new();
    let example = repository("examples/sql-assistant");
    for (task, skill, column) in [
        (None, "skill:sales-analytics", "spent"),
        (
            Some("Which products are at or below their reorder point?"),
            "skill:inventory",
            "short_by",
        ),
        (Some("上个月哪些客户有超过 1,000 的订单？"), "skill:sales-analytics-zh", "金额"),
        (Some("哪些产品需要补货？"), "skill:inventory-zh", "缺口"),
    ] {
        let directory = example.to_str().unwrap();
        let result = place.json(&[&["run", directory][..], task.as_slice()].concat());
        assert_eq!(result["scripted"], true, "{task:?}");
        assert_eq!(result["opened"], serde_json::json!([skill]));
        let rows = result["rows"].as_array().unwrap();
        assert!(!rows.is_empty() && rows[0][column].is_number(), "{task:?}: {rows:?}");
        let answer = result["answer"].as_str().unwrap();
        assert!(answer.contains(&rows.len().to_string()), "{answer}");
        parts_add_up(&result);
    }
}

fn parts_add_up(result: &Value) {
    let turns = result["turns"].as_array().unwrap();
    let mut all = 0;
    for (at, turn) in turns.iter().enumerate() {
        assert_eq!(turn["turn"], at + 1);
        let tokens = turn["tokens"].as_object().unwrap();
        let parts = tokens.iter().filter(|(name, _)| *name != "total");
        let sum: u64 = parts.map(|(_, tokens)| tokens.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), turn["tokens"]["total"].as_u64(), "{turn}");
        all += sum;
    }
    assert_eq!(Some(all), result["tokens"]["total"].as_u64());
    assert!(all > 0);
}

#[test]
fn e05_a_skill_that_forks_runs_apart_and_only_its_result_comes_back() {
    let place = harbour();
    let result = place.json(&["run", ".", "Plan the pilots", "--model", "scripted:model.json"]);
    assert_eq!(result["answer"], "Done.");
    let session = result["session"].as_str().unwrap();
    let main = place.run(&["session", "render", session]).exits(0);
    let main = main.shows(&["Anna takes the Aurora."]);
    assert!(!main.out.contains("one line per ship"), "the skill's text stays in the child");
    // The child is a session of its own, linked to its parent.
    let sessions = place.json(&["session", "list"]);
    let ids = crate::kit::names(&sessions["sessions"], "session");
    assert_eq!(ids.len(), 2, "{sessions}");
    let child = ids.iter().find(|id| *id != session).unwrap();
    assert_eq!(place.json(&["session", "show", child])["parent"], session);
    assert!(main.out.contains(child.as_str()), "the result names {child}: {}", main.out);
}

#[test]
fn the_answer_ends_a_run_and_the_session_can_be_looked_at() {
    let place = harbour();
    let done =
        place.run(&["run", ".", "When is high water?", "--model", "scripted:model.json"]).exits(0);
    let done = done.shows(&["High water is at 06:10.", "its words are read from a file"]);
    let next =
        done.err.lines().find_map(|line| line.strip_prefix("look closer: concertina ")).unwrap();
    place.run(&next.split_whitespace().collect::<Vec<_>>()).exits(0).shows(&["skill:tides"]);
}

#[test]
fn a_task_can_be_given_where_the_settings_name_none() {
    let place = harbour();
    let done = place.run(&["run", ".", "--model", "scripted:model.json"]).exits(2);
    done.fails_clearly("USAGE").says(&["there is no task", "concertina run ."]);
}

/// Takes requests and never answers them.
fn silent_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let held: Vec<_> = listener.incoming().take(8).collect();
        std::thread::sleep(Duration::from_mins(1));
        drop(held);
    });
    url
}

#[test]
fn ctrl_c_in_the_middle_keeps_the_session_and_says_how_to_go_on() {
    let place = harbour();
    let url = silent_server();
    let arguments =
        ["run", ".", "When is high water?", "--model", "openai:slow", "--base-url", &url];
    let mut child =
        place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first turn is announced before the model is asked.
    let mut out = child.stdout.take().unwrap();
    let mut seen = String::new();
    let mut byte = [0];
    while !seen.contains("turn 1") {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "ended early: {seen}");
        seen.push(char::from(byte[0]));
    }
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let status = child.wait().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "it ends at once");
    assert_eq!(status.code(), Some(5));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert!(err.contains("[INTERRUPTED]") && err.contains("concertina session resume s-"), "{err}");

    place.run(&["session", "resume", "last"]).exits(0).says(&["--model scripted:FILE"]);
    let resumed = place.json(&["session", "resume", "last", "--model", "scripted:model.json"]);
    assert_eq!(resumed["answer"], "High water is at 06:10.");
}

/// Answers one request with a script's worth of events, the way an OpenAI-compatible server does.
fn speaking_server(text: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut block = [0; 4_096];
        while !request.windows(4).any(|four| four == b"\r\n\r\n") {
            let read = stream.read(&mut block).unwrap();
            request.extend_from_slice(&block[..read]);
        }
        let event =
            serde_json::json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
        let body = format!("data: {event}\n\ndata: [DONE]\n\n");
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    });
    url
}

#[test]
fn a_live_model_needs_only_an_address() {
    let place = harbour();
    let url = speaking_server("At ten past six.");
    let result = place.json(&["run", ".", "When?", "--model", "openai:local", "--base-url", &url]);
    assert_eq!(
        (result["answer"].as_str(), result["scripted"].as_bool()),
        (Some("At ten past six."), Some(false))
    );
}
