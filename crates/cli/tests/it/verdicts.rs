//! One judge for all: the command line, the library and MCP come to the same verdict.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use concertina_runtime::{Cancel, Session, Started, Workspace, WorkspaceOptions};
use concertina_store::Store;
use concertina_types::ModelCall;
use serde_json::{Value, json};

use crate::kit::{Place, skill};
use crate::mcp::Peer;

/// Whatever can be asked for: paths that are read or written, commands, hosts, tools and skills; declared or
/// not, and with a rule that denies, one that asks, and none.
const SETTINGS: &str = r#"//- concertina.toml
[tool.show]
description = "Shows a file of one directory."
argv = ["cat", "--", "${path}"]
danger = "safe"
permissions = {read = ["open/**", "ask/**"]}
parameters = {properties = {path = {type = "string"}}, required = ["path"]}
[tool.look]
description = "Shows any file of the workspace."
argv = ["cat", "--", "${path}"]
danger = "safe"
parameters = {properties = {path = {type = "string"}}, required = ["path"]}
[tool.keep]
description = "Writes a file."
argv = ["touch", "--", "${path}"]
permissions = {read = ["**"], write = ["out/**"]}
parameters = {properties = {path = {type = "string"}}, required = ["path"]}
[tool.say]
description = "Runs what may be ruled about."
argv = ["echo", "${verb}", "${word}"]
danger = "safe"
parameters = {properties = {verb = {type = "string"}, word = {type = "string", maxLength = 9}}, required = ["verb", "word"]}
[tool.fetch]
description = "Reaches a host."
argv = ["true"]
danger = "safe"
permissions = {network = ["a.test"]}
[tool.far]
description = "Would reach everything."
argv = ["true"]
permissions = {network = ["*"]}
[tool.send]
description = "Before this a rule asks."
argv = ["true"]
[tool.drop]
description = "A rule denies this."
argv = ["true"]
[tool.wipe]
description = "Destroys."
argv = ["true"]
danger = "destructive"
[tool.careful]
description = "Asks by itself."
argv = ["true"]
permissions = {confirm = ["*"]}
[tool.lone]
description = "Comes with a skill."
argv = ["cat", "--", "${path}"]
danger = "safe"
needs_skill = true
parameters = {properties = {path = {type = "string"}}, required = ["path"]}
[policy]
deny = ["tool:drop", "skill:shut", "Bash(echo push *)", "Read(secret/**)"]
ask = ["tool:send", "skill:asking", "Bash(echo commit *)", "Read(ask/**)", "Edit(out/ask/**)"]
//- open/a.txt
ahoy
//- open-evil/c.txt
hush
//- ask/q.txt
well
//- out/own.txt
mine
//- out/ask/x.txt
mine
//- secret/b.txt
hush
"#;

fn place() -> Place {
    let skills = [
        ("plain", "description: Reads.\npermissions: {read: [open/**], tools: [lone]}", "Look."),
        ("writer", "description: Writes.\npermissions: {write: [out/**]}", "Write."),
        ("runner", "description: Runs.\npermissions: {execute: ['echo *']}", "Now !`echo x`."),
        ("asking", "description: Asks.", "Ask."),
        ("shut", "description: Shut.", "Never."),
        ("quiet", "description: Quiet.\ndisable-model-invocation: true", "Hush."),
        ("odd", "description: Odd.\npermissions: {teleport: [home]}", "Odd."),
    ];
    let files = skills.map(|(name, keys, body)| {
        skill(&format!("skills/{name}"), &format!("name: {name}\n{keys}"), body)
    });
    let place = Place::strange(&[SETTINGS, &files.concat()].concat());
    let work = place.work();
    for (at, to) in [
        ("open/link", "../secret/b.txt"),
        ("open/up", ".."),
        ("open/near", "a.txt"),
        ("out/link", "../secret"),
        ("out/gone", "/nowhere/at/all"),
        ("open/loop", "loop"),
        ("skills/plain/link.md", "../../secret/b.txt"),
    ] {
        symlink(to, work.join(at)).unwrap();
    }
    place.trusted()
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn path(&mut self, place: &Place) -> String {
        const KNOWN: [&str; 9] = [
            "open/a.txt",
            "open/link",
            "open/near",
            "ask/q.txt",
            "out/own.txt",
            "out/ask/x.txt",
            "secret/b.txt",
            "open-evil/c.txt",
            "out/new.txt",
        ];
        const PIECES: [&str; 15] = [
            "open", "secret", "out", "ask", "..", ".", "", "up", "link", "gone", "loop", "a.txt",
            "b.txt", "OPEN", "new",
        ];
        let work = place.work().display().to_string();
        let path = match self.below(3) {
            0 => self.of(&KNOWN).to_owned(),
            1 => {
                format!("{}/{}", self.of(&["open/up", "open/..", "./", "../work"]), self.of(&KNOWN))
            }
            _ => (0..=self.below(4)).map(|_| self.of(&PIECES)).collect::<Vec<_>>().join("/"),
        };
        match self.below(8) {
            0 => format!("{work}/{path}"),
            1 => {
                self.of(&["/etc/passwd", "~/x", "-rf", "", "/proc/self/environ", "a\0b"]).to_owned()
            }
            _ => path,
        }
    }

    /// What a model asks for: one of the verbs, with its arguments.
    fn request(&mut self, place: &Place) -> (&'static str, Value) {
        if self.below(5) == 0 {
            let reference = match self.below(4) {
                0 => {
                    format!("skill:plain#{}", self.of(&["SKILL.md", "link.md", "../shut/SKILL.md"]))
                }
                1 => format!("tool:{}", self.of(&["show", "drop", "wipe", "lone", "nothing"])),
                _ => {
                    let names =
                        ["plain", "writer", "runner", "asking", "shut", "quiet", "odd", "none"];
                    format!("skill:{}", self.of(&names))
                }
            };
            return ("open", json!({"ref": reference}));
        }
        let tool = match self.below(2) {
            0 => self.of(&["show", "look", "keep", "lone"]),
            _ => self.of(&[
                "say", "say", "say", "fetch", "far", "send", "drop", "wipe", "careful", "nothing",
            ]),
        };
        let args = match tool {
            "show" | "look" | "keep" | "lone" => json!({"path": self.path(place)}),
            "say" => {
                let words = ["a", "--", "*", "; rm x", "$(id)", "much too long"];
                json!({"verb": self.of(&["pull", "push", "commit"]), "word": self.of(&words)})
            }
            _ if self.below(9) == 0 => json!({"more": 1}),
            _ => json!({}),
        };
        ("call", json!({"tool": tool, "args": args}))
    }
}

/// Allowed, or the code for which it is not: `APPROVAL_NEEDED` where somebody is asked.
type Verdict = Result<(), String>;

fn by_command(place: &Place, session: &str, verb: &str, request: &Value) -> Verdict {
    let text = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
    let (what, args) =
        (text(if verb == "call" { "tool" } else { "ref" }), request["args"].to_string());
    let mut words = vec![verb, &what];
    if verb == "call" {
        words.push(&args);
    }
    words.extend(["--as", "model", "--session", session, "--json"]);
    let done = place.run(&words);
    let said = done.json();
    let Some(code) = said["error"]["code"].as_str() else { return Ok(()) };
    let is_asked = said.get("needs_confirmation").is_some();
    assert_eq!(is_asked, code == "APPROVAL_NEEDED", "{said:#}");
    Err(code.to_owned())
}

fn by_library(
    session: &mut Session,
    workspace: &mut Workspace,
    number: usize,
    verb: &str,
    request: &Value,
) -> Verdict {
    let call =
        ModelCall { id: number.to_string(), name: verb.to_owned(), arguments: request.to_string() };
    let reply = session.dispatch(workspace, &call, false, &Cancel::default()).unwrap();
    let Some(refusal) = reply.refusal else { return Ok(()) };
    assert_eq!(reply.ask.is_some(), refusal.code == "APPROVAL_NEEDED", "{refusal:?}");
    Err(refusal.code)
}

fn by_protocol(peer: &mut Peer, verb: &str, request: &Value) -> Verdict {
    let text = peer.tool(verb, request);
    let Some(error) = text.strip_prefix("error ") else { return Ok(()) };
    let (code, words) = error.split_once(':').unwrap();
    // It ran; how it ended is its own affair.
    if code == "TOOL_FAILED" {
        return Ok(());
    }
    assert_eq!(words.contains("ask-"), code == "APPROVAL_NEEDED", "{text}");
    Err(code.to_owned())
}

#[test]
fn s32_a_thousand_requests_get_the_same_verdict_by_command_library_and_protocol() {
    const SESSIONS: usize = 40;
    const REQUESTS: usize = 25;
    let place = place();
    let home = place.home().display().to_string();
    let variable = move |name: &str| match name {
        "PATH" => Some("/usr/bin:/bin".to_owned()),
        "HOME" => Some(home.clone()),
        _ => None,
    };
    let options = WorkspaceOptions {
        only_workspace: false,
        vouched: false,
        ..WorkspaceOptions::only(place.state(), &variable)
    };
    let mut workspace = Workspace::open(&place.work(), options).unwrap();
    let mut dice = Dice(20_260_728);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..SESSIONS {
        let id = place.session();
        let mut session =
            Session::create(&mut workspace, Store::memory(), Started::default()).unwrap();
        let mut peer = Peer::greeted(place.command(&["mcp"]));
        for number in 0..REQUESTS {
            let (verb, request) = dice.request(&place);
            let verdict = by_library(&mut session, &mut workspace, number, verb, &request);
            assert_eq!(by_command(&place, &id, verb, &request), verdict, "{verb} {request}");
            assert_eq!(by_protocol(&mut peer, verb, &request), verdict, "{verb} {request}");
            let code = verdict.err().unwrap_or_else(|| "allowed".to_owned());
            *counts.entry(code).or_default() += 1;
        }
    }
    let of = |code: &str| counts.get(code).copied().unwrap_or_default();
    let (allowed, asked) = (of("allowed"), of("APPROVAL_NEEDED"));
    let denied = SESSIONS * REQUESTS - allowed - asked;
    assert!(allowed > 200 && asked > 100 && denied > 300, "{counts:?}");
    for code in ["POLICY_DENIES", "PATH_OUTSIDE", "NOT_VISIBLE", "UNKNOWN_TOOL", "BAD_ARGUMENTS"] {
        assert!(of(code) > 5, "{code}: {counts:?}");
    }
}
