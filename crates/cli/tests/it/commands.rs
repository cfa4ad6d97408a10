//! Commands that an open skill declares, called for at the edge.

use serde_json::json;

use crate::kit::{Place, skill};
use crate::mcp::Peer;

fn reports() -> Place {
    let text = skill(
        "skills/reports",
        "name: reports\ndescription: Makes reports.\npermissions: {execute: ['printf report-%s *']}",
        "Make a report of a month.",
    );
    Place::with(&text)
}

#[test]
fn e16_a_command_of_an_open_skill_is_called_from_the_command_line() {
    let place = reports();
    let session = place.session();
    let on = ["--session", session.as_str()];
    let call = |command: &str| {
        let arguments = json!({"command": command}).to_string();
        place.run(&[&["call", "command/reports", &arguments], &on[..]].concat())
    };
    call("printf report-%s 5").exits(3).says(&["open skill:reports first"]);
    place.run(&[&["open", "skill:reports"], &on[..]].concat()).exits(0);
    call("printf report-%s 5").exits(0).shows(&["report-5"]);
    call("printf '%s' 5").exits(3).fails_clearly("NOT_COVERED");
    call("printf report-%s 5 | sh").exits(3).fails_clearly("NEEDS_SHELL");
    place
        .run(&[&["tool", "list"], &on[..]].concat())
        .exits(0)
        .shows(&["command/reports", "`printf report-%s *`"]);
    place.run(&[&["close", "skill:reports"], &on[..]].concat()).exits(0);
    call("printf report-%s 5").exits(3).fails_clearly("NOT_VISIBLE");
}

#[test]
fn e16_a_client_calls_it_too_by_call_or_by_its_own_name() {
    let place = reports();
    std::fs::create_dir_all(place.home().join(".config/concertina")).unwrap();
    std::fs::write(
        place.home().join(".config/concertina/concertina.toml"),
        "[policy]\nallow = [\"skill:reports\"]\n",
    )
    .unwrap();
    let mut peer = Peer::greeted(place.command(&["mcp"]));
    let arguments = json!({"tool": "command/reports", "args": {"command": "printf report-%s 5"}});
    let hidden = peer.tool("call", &arguments);
    assert!(hidden.contains("NOT_VISIBLE"), "{hidden}");
    let opened = peer.tool("open", &json!({"ref": "skill:reports"}));
    assert!(opened.contains("Callable now: command/reports."), "{opened}");
    assert!(opened.contains("printf report-%s *"), "its definition follows: {opened}");
    let said = peer.tool("call", &arguments);
    assert!(said.contains("report-5"), "{said}");
    let said = peer.tool("command__reports", &json!({"command": "printf report-%s 6"}));
    assert!(said.contains("report-6"), "{said}");
    peer.tool("close", &json!({"ref": "skill:reports"}));
    assert!(peer.tool("call", &arguments).contains("NOT_VISIBLE"));
    let listed = peer.ask("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 4);
}
