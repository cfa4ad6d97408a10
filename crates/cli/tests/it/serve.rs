//! `concertina serve`: who answers questions, with the real binary.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::kit::Place;
use crate::schemas::conforms;

const CLIENT: &str = "0123456789abcdef-client";
const APPROVER: &str = "0123456789abcdef-approver";

const MARKS: &str = r#"//- concertina.toml
[tool.mark]
argv = ["touch", "${path}"]
danger = "destructive"
parameters = {properties = {path = {type = "string"}}, required = ["path"]}
[policy]
ask = ["tool:mark"]
"#;

/// A file of tokens that only its owner reads.
fn tokens(path: &Path, lines: &str) -> String {
    std::fs::write(path, lines).unwrap();
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

struct Served {
    child: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(place: &Place) -> Served {
    let clients = tokens(&place.home().join("clients"), CLIENT);
    let approvers = tokens(&place.home().join("approvers"), &format!("vera {APPROVER}\n"));
    let words = ["serve", "127.0.0.1:0", "--token-file", &clients];
    let more = ["--approver-token-file", &approvers, "--json"];
    let mut command = place.command(&[&words[..], &more[..]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let said = serde_json::Deserializer::from_reader(child.stdout.take().unwrap());
    let said: Value = said.into_iter().next().unwrap().unwrap();
    Served { child, address: said["address"].as_str().unwrap().to_owned() }
}

impl Served {
    fn ask(&self, method: &str, token: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{method} /v1/approvals{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len(),
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }
}

#[test]
fn k08_a_question_of_another_process_is_answered_over_http() {
    let place = Place::with(MARKS).trusted();
    let served = serve(&place);
    let session = place.session();
    let call = ["call", "mark", r#"{"path": "a"}"#, "--session", session.as_str()];
    place.run(&call).exits(3).fails_clearly("APPROVAL_NEEDED");
    let (status, list) = served.ask("GET", APPROVER, "", "");
    assert_eq!(status, 200, "{list}");
    conforms("http-approvals", &list);
    let listed = place.json(&["approve", "list"]);
    assert_eq!(list["approvals"], listed["approvals"], "the same as on the command line");
    let question = &list["approvals"][0];
    let id = format!("/{}", question["id"].as_str().unwrap());
    let answer = json!({"decision": "grant", "scope": "once", "typed": question["phrase"]});
    conforms("http-answer", &answer);
    let (status, refused) = served.ask("POST", CLIENT, &id, &answer.to_string());
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("NOT_AN_APPROVER")));
    let (status, answered) = served.ask("POST", APPROVER, &id, &answer.to_string());
    assert_eq!(status, 200, "{answered}");
    conforms("http-approval", &answered);
    place.run(&call).exits(0);
    assert!(place.work().join("a").exists());
    let log = place.json(&["audit", "show", &session, "--kind", "approval.given"]);
    let given = &log["records"][0]["data"];
    assert_eq!((&given["by"], &given["who"]), (&json!("http"), &json!("vera")));
}

#[test]
fn no_tool_is_given_the_tokens_of_the_service() {
    for name in ["serve", "keys"] {
        let place = Place::new();
        let state = place.state().display().to_string();
        place.add(&format!(
            "//- concertina.toml\n[tool.look]\nargv = [\"cat\", \"{state}/{name}/approvers\"]\n\
             permissions = {{read = [\"{state}/{name}/**\"]}}\n"
        ));
        std::fs::create_dir_all(place.state().join(name)).unwrap();
        tokens(&place.state().join(name).join("approvers"), APPROVER);
        let done = place
            .run(&["call", "look"])
            .exits(3)
            .fails_clearly("BAD_PERMISSIONS")
            .says(&["no skill may read"]);
        assert!(!done.out.contains(APPROVER), "{}", done.out);
    }
}

#[test]
fn an_approver_s_token_is_not_where_an_agent_has_it() {
    let place = Place::with(MARKS).trusted();
    let clients = tokens(&place.home().join("clients"), CLIENT);
    let same = tokens(&place.home().join("same"), &format!("vera {CLIENT}\n"));
    let inside = tokens(&place.work().join("approvers"), &format!("vera {APPROVER}\n"));
    let linked = place.home().join("linked");
    std::os::unix::fs::symlink(place.work().join("approvers"), &linked).unwrap();
    for (file, says) in [
        (same.as_str(), "whoever asks must not be able to answer"),
        (inside.as_str(), "where an agent reads it"),
        (linked.to_str().unwrap(), "where an agent reads it"),
        ("/no/such/file", "/no/such/file"),
    ] {
        let words = ["serve", "127.0.0.1:0", "--token-file", &clients];
        place
            .run(&[&words[..], &["--approver-token-file", file]].concat())
            .exits(5)
            .fails_clearly("TOKENS")
            .says(&[says]);
    }
}
