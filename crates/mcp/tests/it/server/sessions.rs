//! Which session a request belongs to, and that two never see each other.

use concertina_mcp::server::Handler;
use serde_json::json;

use super::kit::{Client, Room, many_tools, modern, text};

fn harbour() -> Room {
    Room::new()
        .skill("tides", "Reads tide tables and names the next high water.", "Look at the table.")
        .file("concertina.toml", &many_tools(30))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_connections_never_see_each_other() {
    let room = harbour();
    let gateway = room.open().await;
    let (one, two) = (Client::of(&gateway).await, Client::of(&gateway).await);
    one.text("open", json!({"ref": "menu:harbour"})).await;
    let result = one.call("harbour/bell_001", json!({})).await;
    assert!(result.contains("ev:1"), "{result}");
    let refused = two.call("harbour/bell_001", json!({})).await;
    assert!(refused.starts_with("error NOT_VISIBLE"), "{refused}");
    let refused = two.text("open", json!({"ref": "ev:1"})).await;
    assert!(refused.starts_with("error "), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_an_encoder_holds_up_nobody_else() {
    let encoder = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = encoder.local_addr().unwrap();
    let room = harbour();
    let settings = format!(
        "[search.embeddings]\nurl = \"http://{address}\"\nmodel = \"m\"\ntimeout_ms = 30000\n"
    );
    room.write("../config/concertina/concertina.toml", &settings);
    let gateway = room.open().await;
    let (one, two) = (Client::of(&gateway).await, Client::of(&gateway).await);
    let find = json!({"query": "something rather different"});
    let waiting = tokio::spawn(async move { one.text("find", find).await });
    let (silent, _) = encoder.accept().await.unwrap();
    let found = two.text("find", json!({"query": "tides"})).await;
    assert!(found.contains("skill:tides"), "{found}");
    let opened = two.text("open", json!({"ref": "menu:harbour"})).await;
    assert!(opened.contains("harbour/bell_001"), "{opened}");
    assert!(!waiting.is_finished());
    drop((silent, encoder));
    let found = waiting.await.unwrap();
    assert!(found.contains("Ranked by words alone [ENCODER_UNREACHABLE]."), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_handle_and_a_foreign_one_are_refused_alike() {
    let room = harbour();
    let gateway = room.open().await;
    let theirs = Client::raw(Handler::new(gateway.clone(), Some("anna".to_owned())));
    let meta = modern(&json!({}));
    // A session of anna's.
    let call = json!({"name": "find", "arguments": {"query": "tides"}, "_meta": meta});
    theirs.result("tools/call", call).await;
    let handle = room.store().events.sessions().unwrap().remove(0).session.to_string();
    let ours = Client::of(&gateway).await;
    let foreign = ours.text("find", json!({"query": "tides", "session": handle})).await;
    let unknown = format!("s-{}", "0".repeat(32));
    let missing = ours.text("find", json!({"query": "tides", "session": unknown})).await;
    assert!(foreign.starts_with("error SESSION_UNKNOWN"), "{foreign}");
    assert_eq!(foreign.replace(&handle, "ID"), missing.replace(&unknown, "ID"));
    let odd = ours.text("find", json!({"query": "tides", "session": "../../etc"})).await;
    assert!(odd.starts_with("error SESSION_UNKNOWN"), "{odd}");
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_of_one_client_are_sessions_of_their_own_and_outlive_it() {
    let room = harbour();
    let gateway = room.open().await;
    let client = Client::of(&gateway).await;
    let call = |thread: &str, tool: &str, arguments: serde_json::Value| json!({"name": tool, "arguments": arguments, "_meta": {"sessionId": "main", "threadId": thread}});
    let open = json!({"ref": "menu:harbour"});
    client.result("tools/call", call("a", "open", open)).await;
    let ring = json!({"tool": "harbour/bell_002"});
    let rang = client.result("tools/call", call("a", "call", ring.clone())).await;
    assert!(text(&rang).contains("rang 2"));
    let refused = client.result("tools/call", call("b", "call", ring.clone())).await;
    assert_eq!(refused["isError"], true);
    // The client began again, and goes on with the same thread.
    let again = Client::of(&room.open().await).await;
    let rang = again.result("tools/call", call("a", "call", ring)).await;
    assert!(text(&rang).contains("rang 2"), "{rang}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_window_shows_the_index_again_and_names_what_is_open() {
    let client = harbour().client().await;
    let find = |window: &str| {
        json!({"name": "find", "arguments": {"query": "tide tables"},
            "_meta": {"threadId": "t", "windowId": format!("t:{window}")}})
    };
    let first = text(&client.result("tools/call", find("0")).await);
    assert!(!first.contains("A new context began"), "{first}");
    let open = json!({"name": "open", "arguments": {"ref": "skill:tides"}, "_meta": {"threadId": "t", "windowId": "t:0"}});
    client.result("tools/call", open).await;
    let second = text(&client.result("tools/call", find("1")).await);
    assert!(second.starts_with("A new context began. Still open: skill:tides"), "{second}");
    assert!(second.contains("- tides: "), "the index is shown again: {second}");
    let third = text(&client.result("tools/call", find("1")).await);
    assert!(!third.contains("A new context began"), "{third}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_55_what_changes_is_told_with_the_next_answer_and_found_at_once() {
    let room = harbour();
    let client = room.client().await;
    client.text("find", json!({"query": "tides"})).await;
    let room = room.skill("moorings", "Says which berth is free.", "Look out of the window.");
    // A look is taken once a second at most.
    let mut answer = String::new();
    for _ in 0..100 {
        answer = client.text("find", json!({"query": "which berth is free"})).await;
        if answer.contains("skill:moorings") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let (news, hits) = answer.split_once("<hits>").unwrap();
    assert!(news.contains("moorings"), "what is new stands first: {answer}");
    assert!(hits.contains("skill:moorings"), "{answer}");
    drop(room);
}

#[tokio::test(flavor = "multi_thread")]
async fn k13_policy_holds_in_what_is_seen_and_in_what_is_done() {
    let settings = format!(
        "{}\n[policy]\ndeny = [\"tool:harbour/bell_013\"]\n[policy.principals.anna]\nallow = [\"tool:harbour/bell_001\"]\n",
        many_tools(30)
    );
    let room = Room::new().file("concertina.toml", &settings);
    let gateway = room.open().await;
    let owner = Client::of(&gateway).await;
    let menu = owner.text("open", json!({"ref": "menu:harbour"})).await;
    assert!(menu.contains("bell_012") && !menu.contains("bell_013"), "{menu}");
    for written in ["harbour/bell_013", "tool:harbour/bell_013"] {
        let refused = owner.call(written, json!({})).await;
        assert!(refused.starts_with("error NOT_VISIBLE"), "{refused}");
    }
    for written in ["harbour/bell_013", "harbour__bell_013", "bell_013"] {
        let refused = owner.tool(written, json!({})).await;
        assert_eq!(refused["isError"], true, "{written}");
        assert!(!text(&refused).contains("rang"), "{refused}");
    }
    let anna = Client::raw(Handler::new(gateway, Some("anna".to_owned())));
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    anna.result("initialize", hello).await;
    let menu = anna.text("open", json!({"ref": "menu:harbour"})).await;
    assert!(menu.contains("bell_001") && !menu.contains("bell_002"), "{menu}");
    assert!(anna.call("harbour/bell_001", json!({})).await.contains("rang 1"));
    assert!(anna.call("harbour/bell_002", json!({})).await.starts_with("error "));
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_65_every_call_is_on_the_record() {
    let room = harbour();
    let client = room.client().await;
    client.text("open", json!({"ref": "menu:harbour"})).await;
    client.call("harbour/bell_001", json!({})).await;
    client.call("harbour/no_such_bell", json!({})).await;
    let session = room.store().events.sessions().unwrap().remove(0).session;
    let kinds: Vec<&str> =
        room.store().verify(&session).unwrap().iter().map(|event| event.fact.kind()).collect();
    for kind in
        ["session.started", "menu.opened", "call.admitted", "call.finished", "request.refused"]
    {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_client_is_gone_still_ends_on_the_record() {
    let room = Room::new().server("sea", &[]);
    let gateway = room.open().await;
    {
        let client = Client::of(&gateway).await;
        let wait = json!({"tool": "sea/wait", "args": {"ms": 20_000, "steps": 2_000}});
        let call = json!({"name": "call", "arguments": wait, "_meta": {"progressToken": 1}});
        let _ = client.begin("tools/call", call).await;
        client.hears_method("notifications/progress").await;
        client.hang_up().await;
    }
    let session = room.store().events.sessions().unwrap().remove(0).session;
    let is_finished = || {
        let events = room.store().verify(&session).unwrap();
        events.iter().any(|event| event.fact.kind() == "call.finished")
    };
    for _ in 0..400 {
        if is_finished() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the call never ended: {:?}", room.store().verify(&session));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_the_command_of_a_skill_that_another_opens() {
    let body = "---\nname: slow\ndescription: Waits.\npermissions:\n  execute: [\"sh wait.sh\", \"sleep *\", \"cat *\"]\n  read: [{paths: ['**']}]\n---\nIt says !`sh wait.sh` now.\n";
    let script = "while [ ! -e go ]; do sleep 0.05; done; cat go\n";
    let room = harbour().file("skills/slow/SKILL.md", body).file("wait.sh", script);
    let go = room.path("go");
    let gateway = room.open().await;
    let (one, two) = (Client::of(&gateway).await, Client::of(&gateway).await);
    let refused = one.text("open", json!({"ref": "skill:slow"})).await;
    assert!(refused.starts_with("error APPROVAL_NEEDED"), "{refused}");
    room.agree();
    let open = json!({"name": "open", "arguments": {"ref": "skill:slow"}});
    let (_, mut opened) = one.begin("tools/call", open).await;
    let early = tokio::time::timeout(std::time::Duration::from_millis(500), &mut opened).await;
    assert!(early.is_err(), "the command did not wait: {early:?}");
    assert!(two.text("find", json!({"query": "tides"})).await.contains("skill:tides"));
    assert!(two.text("open", json!({"ref": "skill:tides"})).await.contains("Look at the table."));
    let three = Client::of(&gateway).await;
    assert!(three.text("open", json!({"ref": "menu:harbour"})).await.contains("bell_001"));
    std::fs::write(go, "high water").unwrap();
    let answer = opened.await.unwrap()["result"].clone();
    assert!(text(&answer).contains("It says high water now."), "{answer}");
}
