//! `concertina mcp`: a real process on pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use concertina_store::Store;
use concertina_types::SessionId;
use serde_json::{Value, json};

use crate::kit::{Place, skill};

/// Longer than anything that is expected to happen takes.
const LONG: Duration = Duration::from_mins(1);

/// A client of a server process: it writes lines and reads lines.
pub(crate) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// Everything that was read, in order.
    pub(crate) seen: Vec<Value>,
}

impl Peer {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, input, lines, next: 1, seen: Vec::new() }
    }

    /// The same, once it has shaken hands.
    pub(crate) fn greeted(command: Command) -> Self {
        let mut peer = Self::start(command);
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        peer.ask("initialize", &hello);
        peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        peer
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// The answer to a request.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.read(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Sends a request and gives its id.
    fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Calls a tool and does not wait for its answer; gives the id of the request.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> u64 {
        self.request("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// The next message that is `wanted`.
    #[track_caller]
    pub(crate) fn read(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.lines.recv_timeout(LONG).expect("an answer in time");
            let message: Value = serde_json::from_str(&line)
                .unwrap_or_else(|_| panic!("standard output belongs to the protocol: {line}"));
            self.seen.push(message.clone());
            if wanted(&message) {
                return message;
            }
        }
    }

    /// The text of a tool call.
    #[track_caller]
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    fn hang_up(&mut self) {
        self.input = None;
    }

    /// How it ends: its code, and how long that took.
    #[track_caller]
    fn ends(&mut self) -> (Option<i32>, Duration) {
        let began = Instant::now();
        while began.elapsed() < LONG {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code(), began.elapsed());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it does not end");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server for tests.
fn fixture() -> PathBuf {
    concertina_fixture_server::program().unwrap()
}

/// A place with a server behind it.
fn sea(words: &[&str]) -> Place {
    let program = fixture();
    let settings = format!(
        "[upstream.sea]\ncommand = {:?}\nargs = {words:?}\n",
        program.display().to_string()
    );
    Place::with(&format!("//- concertina.toml\n{settings}"))
}

/// The events of a session, without what differs each time.
fn facts(place: &Place, session: &str) -> Vec<Value> {
    let store = Store::open_existing(&place.state()).unwrap();
    let events = store.verify(&SessionId::new(session).unwrap()).unwrap();
    let without_moment = |event: &concertina_types::Event| {
        json!({
            "seq": event.seq, "step": event.step, "turn": event.turn, "cause": event.cause,
            "actor": event.actor, "fact": event.fact,
        })
    };
    events.iter().map(without_moment).collect()
}

#[test]
fn n01_one_scenario_by_command_and_by_protocol_leaves_equal_logs() {
    let place = Place::harbour();
    let by_command =
        place.json(&["session", "new", "--mode", "blind"])["session"].as_str().unwrap().to_owned();
    let session = by_command.as_str();
    place.run(&["session", "turn", session]).exits(0);
    place.run(&["find", "which pilot takes which ship", "--session", session]).exits(0);
    let args = r#"{"port":"north"}"#;
    let opened =
        place.run(&["open", "skill:tides", "--args", args, "--as", "model", "--session", session]);
    assert!(opened.code == 0, "{opened:?}");
    let called = place.run(&["call", "clock", "{}", "--as", "model", "--session", session]);
    assert!(called.code == 0, "{called:?}");
    place.run(&["call", "no/such", "{}", "--as", "model", "--session", session]);
    place.run(&["close", "skill:tides", "--as", "model", "--session", session]);

    let mut peer = Peer::greeted(place.command(&["mcp"]));
    peer.tool("find", &json!({"query": "which pilot takes which ship"}));
    let shown = peer.tool("open", &json!({"ref": "skill:tides", "args": {"port": "north"}}));
    for shown in [&opened.out, &shown] {
        assert!(shown.contains("Find the next high water at north"), "{shown}");
    }
    peer.tool("call", &json!({"tool": "clock", "args": {}}));
    peer.tool("call", &json!({"tool": "no/such", "args": {}}));
    peer.tool("close", &json!({"ref": "skill:tides"}));
    peer.hang_up();
    assert_eq!(peer.ends().0, Some(0));

    let sessions = place.json(&["session", "list"]);
    let all = sessions["sessions"].as_array().unwrap().iter();
    let mut others = all.filter(|one| one["session"] != by_command.as_str());
    let by_protocol = others.next().unwrap()["session"].as_str().unwrap().to_owned();
    assert_eq!(others.next(), None, "one connection is one session");
    let (one, two) = (facts(&place, &by_command), facts(&place, &by_protocol));
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(one, two);
    }
    assert_eq!(one.len(), two.len());
    assert!(one.len() >= 10, "{}", one.len());
}

#[test]
fn signals_and_closed_input_end_it_and_everything_behind_it() {
    for how in ["closed input", "-TERM", "-INT"] {
        let pids = tempfile::NamedTempFile::new().unwrap();
        let place = sea(&["--spawn", "--pids", pids.path().to_str().unwrap()]);
        let mut peer = Peer::greeted(place.command(&["mcp"]));
        let said = peer.tool("call", &json!({"tool": "sea/echo", "args": {"text": "ahoy"}}));
        assert!(said.contains("ahoy"), "{said}");
        match how {
            "closed input" => peer.hang_up(),
            signal => peer.signal(signal),
        }
        let (code, time) = peer.ends();
        assert_eq!(code, Some(0), "{how}");
        assert!(time < Duration::from_secs(20), "{how}: {time:?}");
        let started = std::fs::read_to_string(pids.path()).unwrap();
        assert!(started.lines().count() >= 2, "{started}");
        for id in started.lines() {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let lives =
                stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'));
            assert!(!lives, "{how}: {id} is left behind");
        }
    }
}

#[test]
fn words_go_to_standard_error_and_the_protocol_alone_to_standard_output() {
    let place = Place::strange_harbour();
    let mut peer = Peer::greeted(place.command(&["mcp"]));
    let root = peer.tool("open", &json!({"ref": "menu:"}));
    assert!(!root.contains("warning"), "{root}");
    peer.hang_up();
    assert_eq!(peer.ends().0, Some(0));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut peer.child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("wait for trust"), "{said}");
}

#[test]
fn gateway_26_nothing_is_listed_twice_in_any_revision() {
    let place = Place::harbour();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for params in [json!({"_meta": meta}), json!({})] {
        let modern = params.get("_meta").is_some();
        let start = if modern { Peer::start } else { Peer::greeted };
        let mut peer = start(place.command(&["mcp"]));
        let list = peer.ask("tools/list", &params);
        let tools = list["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["find", "open", "call", "close"]);
    }
}

#[test]
fn the_session_that_the_environment_names_is_gone_on_with() {
    let place = Place::harbour();
    let new = place.json(&["session", "new", "--mode", "blind"]);
    let session = new["session"].as_str().unwrap();
    let with = |session: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("CONCERTINA_SESSION", session);
        Peer::greeted(command)
    };
    let opened = with(session, &["mcp"]).tool("open", &json!({"ref": "skill:logbook"}));
    assert!(opened.starts_with("Opened"), "{opened}");
    let closed = with(session, &["mcp"]).tool("close", &json!({"ref": "skill:logbook"}));
    assert!(closed.contains("Closed skill:logbook"), "{closed}");
    // Somebody else's is refused like none, and so is one of another kind.
    let foreign =
        with(session, &["mcp", "--principal", "anna"]).tool("find", &json!({"query": "tides"}));
    assert!(foreign.starts_with("error SESSION_UNKNOWN"), "{foreign}");
    let owned = with(&place.session(), &["mcp"]).tool("find", &json!({"query": "tides"}));
    assert!(owned.starts_with("error SESSION_OTHER_MODE"), "{owned}");
}

#[test]
fn gateway_52_a_search_is_narrowed_before_it_is_ranked() {
    let many: String = (0..400)
        .map(|number| {
            skill(
                &format!("skills/report-{number:03}"),
                &format!("name: report-{number:03}\ndescription: Writes the report on ships number {number}."),
                "Write it.",
            )
        })
        .collect();
    let tool = "//- concertina.toml\n[tool.\"db/ships\"]\ndescription = \"Lists ships for a report.\"\nargv = [\"/bin/echo\", \"ships\"]\n";
    let place = Place::with(&(many + tool));
    let mut peer = Peer::greeted(place.command(&["mcp"]));
    let found = peer.tool("find", &json!({"query": "report on ships", "kind": "tool"}));
    assert!(found.contains("tool:db/ships"), "{found}");
}

#[test]
fn gateway_67_what_needs_consent_says_so_and_does_not_run() {
    let place = Place::with(
        "//- concertina.toml\n[tool.\"db/drop\"]\ndescription = \"Drops it.\"\nargv = [\"/bin/echo\", \"dropped\"]\n[policy]\nask = [\"tool:db/drop\"]\n",
    );
    let mut peer = Peer::greeted(place.command(&["mcp"]));
    let refused = peer.tool("call", &json!({"tool": "db/drop", "args": {}}));
    assert!(refused.starts_with("error APPROVAL_NEEDED"), "{refused}");
    assert!(!refused.contains("dropped"), "{refused}");
}
