//! Tools of servers behind the gateway, called through it.

use serde_json::{Value, json};

use super::kit::{Client, Room, fixture, modern, text};
use concertina_mcp::server::{Handler, alias};
use concertina_types::ToolName;

fn sea() -> Room {
    Room::new().server("sea", &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_19_a_schema_is_shown_whole_and_arguments_are_checked_before_the_call() {
    let client = sea().client().await;
    let shown = client.text("open", json!({"ref": "tool:sea/draw"})).await;
    assert!(shown.contains("$ref") && shown.contains("$defs"), "{shown}");
    let refused = client.call("sea/echo", json!({"text": 5})).await;
    assert!(refused.starts_with("error BAD_ARGUMENTS"), "{refused}");
    assert!(refused.contains("\"required\":[\"text\"]"), "the schema helps: {refused}");
    assert!(client.call("sea/echo", json!({"text": "ahoy"})).await.contains("ahoy"));
    // Some models write the arguments as a text.
    assert!(client.call("sea/echo", json!("{\"text\": \"written\"}")).await.contains("written"));
}

#[tokio::test(flavor = "multi_thread")]
async fn i04_gateway_58_59_and_61_a_hidden_tool_never_runs_by_whatever_name() {
    let room = Room::new()
        .file("concertina.toml", "[policy]\ndeny = [\"tool:sea/echo\"]\n")
        .server("sea", &[]);
    let client = Client::raw(Handler::new(room.open().await, None));
    let meta = modern(&json!({}));
    for (name, arguments) in [
        ("call", json!({"tool": "sea/echo", "args": {"text": "ran"}})),
        ("call", json!({"tool": "tool:sea/echo", "args": {"text": "ran"}})),
        ("sea/echo", json!({"text": "ran"})),
        ("sea__echo", json!({"text": "ran"})),
        ("echo", json!({"text": "ran"})),
        ("call", json!({"tool": "sea/wipe", "args": {}})),
        ("sea__wipe", json!({})),
        ("wipe", json!({})),
    ] {
        let call = json!({"name": name, "arguments": arguments, "_meta": meta});
        let result = client.result("tools/call", call).await;
        assert_eq!(result["isError"], true, "{name} {arguments}");
        let said = text(&result);
        assert!(said.starts_with("error "), "{said}");
        assert!(!said.contains("wiped") && !said.contains("ev:"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i07_what_destroys_is_hidden_until_a_rule_allows_it_by_name() {
    let client = sea().client().await;
    let root = client.text("open", json!({"ref": "menu:"})).await;
    assert!(!root.contains("sea/wipe"), "{root}");
    assert!(!client.text("find", json!({"query": "delete everything"})).await.contains("wipe"));
    let allowed = Room::new()
        .file("../config/concertina/concertina.toml", "[policy]\nallow = [\"tool:sea/wipe\"]\n")
        .server("sea", &[]);
    let said = allowed.client().await.call("sea/wipe", json!({})).await;
    assert!(said.contains("wiped"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_called_by_its_own_name_runs_through_the_same_gate() {
    let room = Room::new().server("sea", &[]).server("lake", &["--bare", "--tools", "3"]);
    let client = room.client().await;
    for name in ["sea/echo", "sea__echo", "echo"] {
        assert!(client.text(name, json!({"text": "ahoy"})).await.contains("ahoy"), "{name}");
    }
    let unknown = client.tool("eco", json!({})).await;
    assert_eq!(unknown["isError"], true);
    let said = text(&unknown);
    assert!(said.starts_with("error UNKNOWN_TOOL") && said.contains("sea/echo"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_16_two_tools_of_one_name_are_both_there_and_neither_is_guessed() {
    let room = Room::new().server("sea", &[]).server("lake", &[]);
    let client = room.client().await;
    // There are more than are shown at once, so each server is a menu.
    for server in ["sea", "lake"] {
        client.text("open", json!({"ref": format!("menu:{server}")})).await;
        let tool = format!("{server}/echo");
        assert!(client.call(&tool, json!({"text": "ahoy"})).await.contains("ahoy"), "{server}");
    }
    let ambiguous = client.text("echo", json!({"text": "ahoy"})).await;
    assert!(ambiguous.starts_with("error AMBIGUOUS_TOOL"), "{ambiguous}");
    assert!(ambiguous.contains("lake/echo") && ambiguous.contains("sea/echo"), "{ambiguous}");
}

#[test]
fn gateway_17_an_alias_is_short_and_two_names_never_share_one() {
    let name = |text: &str| ToolName::new(text).unwrap();
    assert_eq!(alias(&name("sea/echo")), "sea__echo");
    let long = "a-very-long-server-name/".to_owned() + &"tool".repeat(20);
    let odd = ["a__b/c", "a/b__c", "a_/b", "a/_b", "a.b/c", "a_b/c", "find", "open", &long];
    let aliases: std::collections::BTreeSet<String> =
        odd.iter().map(|text| alias(&name(text))).collect();
    assert_eq!(aliases.len(), odd.len(), "{aliases:?}");
    for alias in aliases {
        assert!(alias.len() <= 64, "{alias}");
        assert!(!["find", "open", "call", "close"].contains(&alias.as_str()));
        assert!(alias.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{alias}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_43_progress_comes_under_the_clients_own_token() {
    let client = sea().client().await;
    for token in [json!(77), json!("a-b-c")] {
        let call = json!({
            "name": "call", "arguments": {"tool": "sea/wait", "args": {"ms": 30, "steps": 3}},
            "_meta": {"progressToken": token},
        });
        client.result("tools/call", call).await;
        let progress: Vec<Value> = client
            .heard()
            .into_iter()
            .filter(|message| message["params"]["progressToken"] == token)
            .collect();
        assert_eq!(progress.len(), 3, "{token}: all of it came before the answer");
        assert_eq!(progress[2]["params"]["progress"].as_f64(), Some(3.0));
        assert_eq!(progress[2]["params"]["message"], "step 3");
    }
    let before = client.heard().len();
    client.call("sea/wait", json!({"ms": 10, "steps": 2})).await;
    assert_eq!(client.heard().len(), before, "nobody asked for progress");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_44_a_cancelled_call_stops_at_once_and_a_stray_cancellation_is_ignored() {
    let client = sea().client().await;
    let wait = json!({"tool": "sea/wait", "args": {"ms": 20_000, "steps": 2_000}});
    let call = json!({"name": "call", "arguments": wait, "_meta": {"progressToken": 1}});
    let (id, _answered) = client.begin("tools/call", call).await;
    client.hears_method("notifications/progress").await;
    let began = std::time::Instant::now();
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"})).await;
    for stray in [json!(id), json!(4_711), json!("never")] {
        client.notify("notifications/cancelled", json!({"requestId": stray})).await;
    }
    // The server is free again long before the call would have ended.
    assert!(client.call("sea/echo", json!({"text": "ahoy"})).await.contains("ahoy"));
    assert!(began.elapsed().as_secs() < 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_come_to_those_who_set_a_level() {
    let client = sea().client().await;
    client.call("sea/log", json!({"text": "unheard"})).await;
    client.result("logging/setLevel", json!({"level": "warning"})).await;
    client.call("sea/log", json!({"text": "too quiet"})).await;
    client.result("logging/setLevel", json!({"level": "debug"})).await;
    client.call("sea/log", json!({"text": "heard"})).await;
    client.call("sea/log", json!({"text": "x".repeat(100_000)})).await;
    let heard: Vec<Value> = client
        .heard()
        .into_iter()
        .filter(|message| message["method"] == "notifications/message")
        .collect();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(heard[0]["params"]["data"], "heard");
    let long = heard[1]["params"]["data"].as_str().unwrap();
    assert!(long.ends_with("xxx [cut: 100000 bytes in all]") && long.len() < 4_100, "{long}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_40_a_question_reaches_a_client_that_can_ask_a_person() {
    let room = sea();
    let can = json!({"elicitation": {"form": {}}});
    let client = Client::with(&room.open().await, "2025-11-25", can, None).await;
    let (_, answered) =
        client.begin("tools/call", json!({"name": "call", "arguments": {"tool": "sea/ask"}})).await;
    let question = client.hears_method("elicitation/create").await;
    assert_eq!(question["params"]["message"], "Which colour?");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["colour"]));
    let answer = json!({"action": "accept", "content": {"colour": "blue"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    let result = answered.await.unwrap()["result"].clone();
    assert!(text(&result).contains("blue"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_40_where_nobody_can_be_asked_the_answer_says_so_first() {
    let client = sea().client().await;
    let said = client.call("sea/ask", json!({})).await;
    assert!(said.starts_with("The tool asked a person: \"Which colour?\""), "{said}");
    assert!(said.contains("declined") && said.contains("decline"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_40_where_a_question_may_be_anybodys_the_answer_says_so_first() {
    let room = sea();
    let can = json!({"elicitation": {"form": {}}});
    let client = Client::with(&room.open().await, "2025-11-25", can, None).await;
    let wait = json!({"tool": "sea/wait", "args": {"ms": 60_000, "steps": 6_000}});
    let call = json!({"name": "call", "arguments": wait, "_meta": {"progressToken": 1}});
    let (_, _under_way) = client.begin("tools/call", call).await;
    client.hears_method("notifications/progress").await;
    let said = client.call("sea/ask", json!({})).await;
    assert!(said.starts_with("The server asked a person something while several"), "{said}");
    assert!(said.contains("decline"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_46_a_question_waits_for_another_request_where_each_stands_for_itself() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let room = Room::new().server("sea", &["--revision", revision]);
        let gateway = room.open().await;
        let client = Client::raw(Handler::new(gateway.clone(), None));
        let meta = modern(&json!({"elicitation": {"form": {}}}));
        let call = json!({"name": "call", "arguments": {"tool": "sea/ask"}, "_meta": meta});
        let asked = client.result("tools/call", call.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "Which colour?");
        let mut retry = call;
        retry["requestState"] = asked["requestState"].clone();
        let answer = json!({"action": "accept", "content": {"colour": "green"}});
        retry["inputResponses"] = json!({key: answer});
        // Nobody else can bring the answer, and it counts once.
        let other = Client::raw(Handler::new(gateway, Some("anna".to_owned())));
        assert_eq!(other.error("tools/call", retry.clone()).await.0, -32602);
        let done = client.result("tools/call", retry.clone()).await;
        assert!(text(&done).contains("green"), "{revision}: {done}");
        assert_eq!(client.error("tools/call", retry).await.0, -32602);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_46_several_questions_come_at_once_under_the_servers_own_keys() {
    let room = Room::new().server("sea", &["--revision", "2026-07-28"]);
    let client = Client::raw(Handler::new(room.open().await, None));
    let meta = modern(&json!({"elicitation": {"form": {}}}));
    let call = json!({
        "name": "call", "arguments": {"tool": "sea/ask", "args": {"also": "size"}}, "_meta": meta
    });
    let keys = |asked: &Value| -> Vec<String> {
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        asked["inputRequests"].as_object().unwrap().keys().cloned().collect()
    };
    let asked = client.result("tools/call", call.clone()).await;
    assert_eq!(keys(&asked), ["colour", "size"]);
    // What is missing, or is no answer, is asked again, under another state.
    let answer = |word: &str| json!({"action": "accept", "content": {"word": word}});
    let mut retry = call.clone();
    retry["requestState"] = asked["requestState"].clone();
    retry["inputResponses"] = json!({"colour": answer("green"), "size": 3, "weight": answer("x")});
    let again = client.result("tools/call", retry.clone()).await;
    assert_eq!(keys(&again), ["size"]);
    assert_ne!(again["requestState"], asked["requestState"]);
    retry["requestState"] = again["requestState"].clone();
    retry["inputResponses"] = json!({"size": answer("large")});
    let done = text(&client.result("tools/call", retry).await);
    assert!(done.contains("green") && done.contains("large") && !done.contains("weight"), "{done}");
    // Answers may come with the first request.
    let mut first = call;
    first["inputResponses"] = json!({"colour": answer("red"), "size": answer("small")});
    let done = text(&client.result("tools/call", first).await);
    assert!(done.contains("red") && done.contains("small"), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_and_structured_form_say_the_same() {
    let client = sea().client().await;
    let result = client.tool("call", json!({"tool": "sea/add", "args": {"a": 1, "b": 2}})).await;
    let said = text(&result);
    assert!(said.contains("{\"sum\":3.0}"), "{said}");
    assert_eq!(result["structuredContent"], json!({"text": said}), "the text holds it already");
    assert_eq!(result["_meta"], json!({"unit": "none"}));
    let refused = client.tool("call", json!({"tool": "sea/fail"})).await;
    assert_eq!(refused["isError"], true);
    let said = text(&refused);
    assert!(said.starts_with("error TOOL_FAILED") && said.contains("it did not work"), "{said}");
    assert_eq!(refused["structuredContent"]["text"], said);
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_sounds_and_links_are_passed_on_and_no_form_hides_them() {
    let client = sea().client().await;
    let result = client.tool("call", json!({"tool": "sea/picture"})).await;
    let kinds: Vec<&str> = result["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|piece| piece["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource_link", "resource", "resource"]);
    assert_eq!(result["content"][1]["data"], "iVBORw0KGgo=");
    assert!(result.get("structuredContent").is_none(), "{result}");
    assert!(text(&result).contains("one: note://one (the first note)"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_result_is_a_page_with_the_way_to_the_rest_and_read_back_whole() {
    let client = sea().client().await;
    let long = "0123456789".repeat(3_000);
    let first = client.call("sea/echo", json!({"text": long})).await;
    assert!(first.len() <= 10_000, "{}", first.len());
    let mut whole = String::new();
    let mut page = first;
    for _ in 0..10 {
        let next =
            page.split_once("next=\"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned());
        let body = page.split_once(">\n").unwrap().1.rsplit_once("\n</").unwrap().0;
        whole.push_str(body);
        let Some(next) = next else { break };
        page = client.text("open", json!({"ref": next})).await;
        assert!(page.len() <= 10_000);
    }
    assert_eq!(whole.replace('\n', ""), long);
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_resources_and_completions_of_a_server_are_passed_on() {
    let client = sea().client().await;
    let prompts = client.result("prompts/list", json!({})).await;
    let named = prompts["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|prompt| prompt["name"].as_str().unwrap().starts_with("sea/"));
    let name = named.unwrap_or_else(|| panic!("{prompts}"))["name"].clone();
    let arguments = json!({"name": "Ada", "topic": "tides", "colour": "blue"});
    let got = client.ask("prompts/get", json!({"name": name, "arguments": arguments})).await;
    assert!(got["result"]["messages"].is_array(), "{got}");
    let resources = client.result("resources/list", json!({})).await;
    let resources = resources["resources"].as_array().unwrap().clone();
    let ours = |resource: &&Value| !resource["uri"].as_str().unwrap().starts_with("skill://");
    let uri = resources.iter().find(ours).unwrap()["uri"].clone();
    let read = client.result("resources/read", json!({"uri": uri})).await;
    assert_eq!(read["contents"][0]["uri"], uri, "{read}");
    // A link that a tool returned leads to the server that returned it.
    client.tool("call", json!({"tool": "sea/picture"})).await;
    let linked = client.ask("resources/read", json!({"uri": "note://one"})).await;
    assert!(!linked.to_string().contains("nothing here has the address"), "{linked}");
    let (code, _) = client.error("resources/read", json!({"uri": "nowhere://x"})).await;
    assert_eq!(code, -32002);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_is_not_there_is_named_in_the_error() {
    let room = sea().skill("tides", "Reads the tides.", "Look at the moon.");
    let gateway = room.open().await;
    let modern_client = Client::raw(Handler::new(gateway.clone(), None));
    let older_client = Client::of(&gateway).await;
    for uri in ["gone://nowhere", "skill://tides/gone.md", "note://gone"] {
        let params = json!({"uri": uri, "_meta": modern(&json!({}))});
        let error = modern_client.ask("resources/read", params).await["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert_eq!(error["data"]["uri"], uri, "{error}");
        let error = older_client.ask("resources/read", json!({"uri": uri})).await["error"].clone();
        assert_eq!(error["code"], -32002, "{error}");
        assert_eq!(error["data"]["uri"], uri, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capability_that_a_server_misses_is_an_error_of_the_protocol_in_2026() {
    let gateway = sea().open().await;
    let call = |code: i64, meta: Value| {
        let arguments = json!({"tool": "sea/refuse", "args": {"code": code}});
        json!({"name": "call", "arguments": arguments, "_meta": meta})
    };
    let client = Client::raw(Handler::new(gateway.clone(), None));
    let (code, words) = client.error("tools/call", call(-32021, modern(&json!({})))).await;
    assert_eq!((code, words.as_str()), (-32021, "internal trouble"));
    // Anything else is for the model, and so is this before 2026.
    let result = client.result("tools/call", call(-32603, modern(&json!({})))).await;
    assert!(text(&result).contains("error UPSTREAM_REFUSED"), "{result}");
    let older = Client::of(&gateway).await;
    let result = older.result("tools/call", call(-32021, json!({}))).await;
    assert!(text(&result).contains("-32021"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_53_a_server_that_does_not_serve_is_named_with_the_reason() {
    let room = Room::new()
        .server("sea", &[])
        .server("dead", &["--exit", "--stderr", "the harbour is closed"]);
    let client = room.client().await;
    let root = client.text("open", json!({"ref": "menu:"})).await;
    assert!(root.starts_with("server dead failed"), "{root}");
    let refused = client.call("dead/echo", json!({"text": "x"})).await;
    assert!(refused.contains("server dead failed"), "{refused}");
    assert!(client.call("sea/echo", json!({"text": "ahoy"})).await.contains("ahoy"));
    let nothing = client.text("find", json!({"query": "zymurgy quixotic"})).await;
    assert!(nothing.contains("server dead failed"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_never_seen_is_waited_for_and_the_answer_is_complete() {
    let room = Room::new().server("slow", &["--slow", "initialize=700"]);
    let gateway = room.gateway(room.pool());
    let client = Client::of(&gateway).await;
    assert!(client.call("slow/echo", json!({"text": "ahoy"})).await.contains("ahoy"));
    assert!(fixture().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn s74_a_secret_in_a_servers_result_goes_neither_on_record_nor_to_the_client() {
    let room = sea();
    let client = room.client().await;
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let call = json!({"tool": "sea/echo", "args": {"text": secret}});
    let result = client.tool("call", call).await.to_string();
    assert!(result.contains("[redacted:github:") && !result.contains(secret), "{result}");
    let session = &room.store().events.sessions().unwrap()[0].session;
    let log = serde_json::to_string(&room.store().verify(session).unwrap()).unwrap();
    assert!(log.contains("call.finished") && !log.contains(secret), "{log}");
}
