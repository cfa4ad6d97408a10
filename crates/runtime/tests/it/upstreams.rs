//! Tools that servers bring, in the catalogue and behind the gate.

use std::sync::{Arc, Mutex};

use concertina_core::session::{Origin, visibility};
use concertina_runtime::tools::Outcome;
use concertina_runtime::upstream::{
    Call, Hints, Offer, OfferedTool, Server, ServerState, Upstreams,
};
use concertina_runtime::{FindRequest, Session, Started, Workspace};
use concertina_store::Store;
use concertina_types::{Digest, Ref, SessionMode, Subject, Tokens, ToolName, limits};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::kit::{World, begin, call, open};

/// The other side of the port: it offers what it is told to and answers calls with their arguments.
#[derive(Default)]
pub(crate) struct Servers {
    offer: Mutex<Arc<Offer>>,
    ran: Mutex<Vec<String>>,
}

impl Upstreams for Servers {
    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.lock().unwrap())
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Outcome> {
        self.ran.lock().unwrap().push(call.tool.to_string());
        Box::pin(std::future::ready(Outcome::done(0, call.arguments.to_string(), 0)))
    }
}

impl Servers {
    pub(crate) fn of(tools: Vec<OfferedTool>) -> Arc<Self> {
        let servers = Arc::new(Self::default());
        servers.change(tools);
        servers
    }

    fn change(&self, tools: Vec<OfferedTool>) {
        self.change_with(tools, |_| ServerState::Ready);
    }

    fn change_with(&self, mut tools: Vec<OfferedTool>, state: impl Fn(&str) -> ServerState) {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let mut names: Vec<String> = tools.iter().map(|tool| tool.server.clone()).collect();
        names.sort();
        names.dedup();
        let servers = names.into_iter().map(|name| Server {
            state: state(&name),
            tools: tools.iter().filter(|tool| tool.server == name).count(),
            name,
            note: None,
            instructions: None,
        });
        let mut offer = self.offer.lock().unwrap();
        *offer = Arc::new(Offer {
            revision: offer.revision + 1,
            servers: servers.collect(),
            tools: tools.into_iter().map(Arc::new).collect(),
            skills: Vec::new(),
        });
    }

    fn ran(&self) -> Vec<String> {
        std::mem::take(&mut *self.ran.lock().unwrap())
    }
}

pub(crate) fn offered(name: &str, description: &str) -> OfferedTool {
    let (server, _) = name.split_once('/').unwrap();
    let input = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    OfferedTool {
        name: ToolName::new(name).unwrap(),
        server: server.to_owned(),
        title: None,
        description: description.to_owned(),
        input: input.into(),
        output: None,
        hints: Hints::default(),
        tags: Vec::new(),
        quarantined: None,
        digest: Digest::of(format!("{name} {description}").as_bytes()),
    }
}

fn many(servers: usize, tools: usize) -> Vec<OfferedTool> {
    let each = (0..tools).map(|n| {
        let name = format!("server-{:02}/thing_{n:04}", n % servers);
        offered(&name, &format!("Handles thing {n} of its kind. It says more than that."))
    });
    each.collect()
}

fn attached(world: &World, servers: &Arc<Servers>) -> Workspace {
    let mut workspace = world.alone();
    workspace.attach(Arc::clone(servers) as Arc<dyn Upstreams>);
    workspace
}

fn blind(workspace: &mut Workspace) -> Session {
    let started = Started { mode: SessionMode::Blind, ..Started::default() };
    Session::create(workspace, Store::memory(), started).unwrap()
}

fn reasons(session: &Session, tool: &str) -> Vec<String> {
    let reference = Ref::Tool(ToolName::new(tool).unwrap());
    let seen = visibility(session.state(), &session.world(), &reference, Subject::Model);
    let codes = seen.reasons.into_iter().map(|reason| reason.code);
    codes.filter(|code| code != "POLICY_ALLOWS").collect()
}

fn find(session: &mut Session, workspace: &mut Workspace, query: &str) -> Vec<String> {
    find_in(session, workspace, query, None)
}

fn find_in(
    session: &mut Session,
    workspace: &mut Workspace,
    query: &str,
    within: Option<&str>,
) -> Vec<String> {
    let request = FindRequest {
        query: query.to_owned(),
        within: within.map(|within| within.parse().unwrap()),
        ..FindRequest::default()
    };
    let (found, _) = session.find(workspace, Origin::model("f"), &request).unwrap();
    found.hits.iter().chain(&found.nearest).map(|hit| hit.reference.to_string()).collect()
}

#[test]
fn a_few_tools_of_servers_are_visible_at_once_and_run_behind_the_gate() {
    let servers = Servers::of(vec![
        offered("mail/send", "Sends a letter."),
        offered("git/log", "Shows commits."),
    ]);
    let mut workspace = attached(&World::new(), &servers);
    let mut session = blind(&mut workspace);
    let root = session.turn(&mut workspace).unwrap().unwrap();
    assert_eq!(root, "<tools>\n- git/log: Shows commits.\n- mail/send: Sends a letter.\n</tools>");
    let answer = call(&mut session, &workspace, "mail/send", json!({"text": "hello"})).unwrap();
    assert!(answer.text.contains(r#"{"text":"hello"}"#), "{}", answer.text);
    assert_eq!(servers.ran(), ["mail/send"]);
    let refused = call(&mut session, &workspace, "mail/send", json!({"text": 5})).unwrap_err();
    assert_eq!(refused.code, "BAD_ARGUMENTS");
    assert_eq!(servers.ran(), [""; 0]);
}

#[test]
fn gateway_05_55_56_a_new_tool_is_callable_and_found_with_the_next_look() {
    let servers = Servers::of(many(3, 40));
    let mut workspace = attached(&World::new(), &servers);
    let mut session = blind(&mut workspace);
    session.turn(&mut workspace).unwrap();
    assert_eq!(find(&mut session, &mut workspace, "invoice"), [""; 0]);

    let mut tools = many(3, 40);
    tools.push(offered("billing/invoice", "Writes an invoice."));
    servers.change(tools);
    assert_eq!(
        session.turn(&mut workspace).unwrap().as_deref(),
        Some("<tools>\n+ menu:billing (1)\n</tools>"),
        "only what changed is said"
    );
    assert_eq!(
        find(&mut session, &mut workspace, "invoice"),
        ["tool:billing/invoice", "menu:billing"]
    );
    open(&mut session, &mut workspace, "menu:billing").unwrap();
    call(&mut session, &workspace, "billing/invoice", json!({})).unwrap();
    assert_eq!(servers.ran(), ["billing/invoice"]);
    assert_eq!(session.turn(&mut workspace).unwrap(), None, "nothing changed, nothing is said");
}

#[test]
fn deltas_name_what_came_what_went_and_why() {
    let mut tools = many(3, 60);
    let world = World::new();
    world.config("[menu]\npinned = [\"server-00/thing_0000\", \"extra/*\"]\n");
    let servers = Servers::of(tools.clone());
    let mut workspace = attached(&world, &servers);
    let mut session = blind(&mut workspace);
    session.turn(&mut workspace).unwrap();

    tools[0].quarantined = Some("it changed; see: concertina upstream approve server-00".into());
    tools[1].quarantined = Some("it changed as well".into());
    tools.pop();
    tools.push(offered("extra/new", "Does <b>new</b> things. And more."));
    servers.change(tools.clone());
    assert_eq!(
        session.turn(&mut workspace).unwrap().unwrap(),
        "<tools>\n\
         - tool:server-00/thing_0000: tool:server-00/thing_0000 is quarantined: it changed; see: \
         concertina upstream approve server-00\n\
         - tool:server-01/thing_0001: tool:server-01/thing_0001 is quarantined: it changed as well\n\
         + tool:extra/new: Does &lt;b&gt;new&lt;/b&gt; things.\n\
         * menu:server-01 (19, was 20)\n\
         * menu:server-02 (19, was 20)\n\
         </tools>"
    );
    assert_eq!(reasons(&session, "server-00/thing_0000"), ["QUARANTINED"]);
    let refused = call(&mut session, &workspace, "server-00/thing_0000", json!({})).unwrap_err();
    assert_eq!(refused.code, "NOT_VISIBLE");
    assert_eq!(servers.ran(), [""; 0]);

    // Very much that changed is counted.
    tools.extend((0..90).map(|n| offered(&format!("late-{n}/only"), "Is late.")));
    servers.change(tools);
    let delta = session.turn(&mut workspace).unwrap().unwrap();
    assert!(concertina_tokens::count(&delta) <= Tokens(limits::ROOT_PART_TOKENS), "{delta}");
    assert!(delta.contains("more changes; open menu: shows what there is]"), "{delta}");
}

#[test]
fn gateway_16_a_name_that_is_taken_is_never_dropped_silently() {
    let world = World::new();
    world.config("[tool.\"git/log\"]\nargv = [\"git\", \"log\"]\ndescription = \"Ours.\"\n");
    let servers = Servers::of(vec![offered("git/log", "Theirs."), offered("git/show", "Theirs.")]);
    let workspace = attached(&world, &servers);
    let snapshot = workspace.snapshot();
    let log = snapshot.tool(&ToolName::new("git/log").unwrap()).unwrap();
    assert_eq!((log.description.as_str(), log.runner.as_str()), ("Ours.", "exec"));
    let skipped = &snapshot.skipped[0];
    assert_eq!((skipped.path.as_str(), skipped.code.as_str()), ("server git", "NAME_TAKEN"));
    assert!(skipped.reason.contains("tool:git/log is left out"), "{}", skipped.reason);
}

#[test]
fn gateway_20_22_a_definition_stays_as_its_server_wrote_it() {
    let schema = json!({
        "type": "object",
        "properties": {
            "where": {"$ref": "#/$defs/place"},
            "any": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "a": {"type": "integer", "x-order": 1},
        },
        "required": ["where"],
        "$defs": {"place": {"type": "object", "required": ["lat"],
                            "properties": {"lat": {"type": "number"}}}},
    });
    let strange =
        OfferedTool { input: schema.clone().into(), ..offered("map/find", "Finds a place.") };
    let broken = OfferedTool {
        input: json!({"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}}).into(),
        ..offered("map/broken", "Has a bad schema.")
    };
    let servers = Servers::of(vec![strange, broken, offered("map/good", "Is fine.")]);
    let mut workspace = attached(&World::new(), &servers);
    let mut session = blind(&mut workspace);
    let shown = open(&mut session, &mut workspace, "tool:map/find").unwrap().text;
    assert!(shown.contains(&schema.to_string()), "{shown}");
    let refused =
        call(&mut session, &workspace, "map/find", json!({"where": {"lat": "x"}})).unwrap_err();
    assert!(refused.message.contains("/where/lat: must be number"), "{}", refused.message);
    assert!(refused.message.contains(&schema.to_string()), "{}", refused.message);
    call(&mut session, &workspace, "map/find", json!({"where": {"lat": 1.5}, "any": null}))
        .unwrap();
    call(&mut session, &workspace, "map/broken", json!({"x": 1})).unwrap();
    call(&mut session, &workspace, "map/good", json!({})).unwrap();
    assert_eq!(servers.ran(), ["map/find", "map/broken", "map/good"]);
}

#[test]
fn a_definition_too_long_for_one_answer_is_read_page_by_page() {
    let properties: serde_json::Map<String, Value> = (0..600)
        .map(|n| (format!("field_{n:03}"), json!({"description": "A field among many."})))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["field_000"]});
    let long = OfferedTool { input: schema.clone().into(), ..offered("big/form", "Fills a form.") };
    let servers = Servers::of(vec![long]);
    let mut workspace = attached(&World::new(), &servers);
    let mut session = blind(&mut workspace);
    let (mut reference, mut whole) = ("tool:big/form".to_owned(), String::new());
    for _ in 0..20 {
        let page = open(&mut session, &mut workspace, &reference).unwrap().text;
        assert!(page.len() <= limits::RESULT_BYTES);
        let (head, body) = page.split_once('\n').unwrap();
        whole.push_str(body.strip_suffix("\n</tools>").unwrap());
        match head.split_once("next=\"") {
            Some((_, next)) => reference = next.split_once('"').unwrap().0.to_owned(),
            None => break,
        }
    }
    let definition = workspace.snapshot().tools[0].definition();
    assert_eq!(whole.replace('\n', ""), definition);
    let refused = call(&mut session, &workspace, "big/form", json!({})).unwrap_err();
    assert!(
        refused.message.ends_with("Its definition is long: open tool:big/form"),
        "{}",
        refused.message
    );
}

#[test]
fn i01_i02_i03_the_root_of_many_servers_names_every_category_and_opens_level_by_level() {
    let mut tools = many(69, 477);
    let verbs = ["create", "delete", "list", "merge", "search"];
    tools.extend((0..50).map(|n| offered(&format!("hub/{}_{n}", verbs[n % 5]), "Does it.")));
    let servers = Servers::of(tools);
    let mut workspace = attached(&World::new(), &servers);
    let mut session = begin(&mut workspace);
    let root = open(&mut session, &mut workspace, "menu:").unwrap();
    assert!(root.tokens <= Tokens(limits::ROOT_TOKENS), "{}", root.tokens);
    for n in 0..69 {
        assert!(root.text.contains(&format!("menu:server-{n:02} (")), "{n}: {}", root.text);
    }
    assert!(
        root.text.contains("menu:hub (50)") && !root.text.contains("\"type\""),
        "{}",
        root.text
    );

    let page = open(&mut session, &mut workspace, "menu:hub").unwrap();
    for verb in verbs {
        assert!(page.text.contains(&format!("menu:hub/{verb} (10)")), "{}", page.text);
    }
    let page = open(&mut session, &mut workspace, "menu:hub/merge").unwrap();
    assert!(page.text.contains("- hub/merge_3: Does it.") && !page.text.contains("hub/list_"));
    call(&mut session, &workspace, "hub/merge_3", json!({})).unwrap();
    let refused = call(&mut session, &workspace, "hub/list_2", json!({})).unwrap_err();
    assert!(refused.message.contains("open menu:hub/list first"), "{}", refused.message);
    assert_eq!(servers.ran(), ["hub/merge_3"]);
}

/// The menus that a page names, with the number of tools in each.
fn menus_of(page: &str) -> Vec<(String, usize)> {
    let named = page.split("menu:").skip(1);
    let menus = named.filter_map(|menu| {
        let (name, rest) = menu.split_once(" (")?;
        let count = rest.split_once(')')?.0.parse().ok()?;
        Some((name.to_owned(), count))
    });
    menus.collect()
}

#[test]
fn every_page_stays_within_its_limit_and_tells_of_every_tool() {
    for (servers, tools) in [(1, 5_000), (3, 5_000), (70, 5_000), (70, 527)] {
        let offered = Servers::of(many(servers, tools));
        let mut workspace = attached(&World::new(), &offered);
        let mut session = blind(&mut workspace);
        let first = session.turn(&mut workspace).unwrap().unwrap();
        let tokens = concertina_tokens::count(&first);
        assert!(tokens <= Tokens(limits::ROOT_PART_TOKENS), "{tokens}: {first}");
        // Follow the first menu of each page to its end.
        let mut page = open(&mut session, &mut workspace, "menu:").unwrap();
        assert!(page.tokens <= Tokens(limits::ROOT_TOKENS), "{}", page.text);
        let mut counted = tools;
        loop {
            let menus = menus_of(&page.text);
            let Some((name, inside)) = menus.first() else { break };
            assert_eq!(
                menus.iter().map(|(_, count)| count).sum::<usize>(),
                counted,
                "{}",
                page.text
            );
            counted = *inside;
            page = open(&mut session, &mut workspace, &format!("menu:{name}")).unwrap();
            assert!(page.tokens <= Tokens(limits::MENU_TOKENS + 20), "{}", page.text);
        }
        assert_eq!(page.text.matches("/thing_").count(), counted, "{}", page.text);
    }
}

#[test]
fn i07_a_tool_that_can_destroy_is_hidden_unless_a_rule_names_it() {
    let hints = |read_only, destructive| Hints { read_only, destructive, ..Hints::default() };
    let with = |name: &str, hints| OfferedTool { hints, ..offered(name, "Does it.") };
    let tools = vec![
        with("db/drop", hints(None, Some(true))),
        with("db/liar", hints(Some(true), Some(true))),
        with("db/read", hints(Some(true), None)),
        with("db/wipe", hints(Some(false), Some(true))),
        with("db/write", hints(None, None)),
    ];
    let world = World::new();
    world
        .write("home/.config/concertina/concertina.toml", "[policy]\nallow = [\"tool:db/wipe\"]\n");
    let servers = Servers::of(tools);
    let mut workspace = attached(&world, &servers);
    let mut session = blind(&mut workspace);
    let root = session.turn(&mut workspace).unwrap().unwrap();
    let names: Vec<&str> = root
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["db/read", "db/wipe", "db/write"]);
    let refused = call(&mut session, &workspace, "db/drop", json!({})).unwrap_err();
    assert!(refused.message.contains("no rule allows it, or asks, by name"), "{}", refused.message);
    assert_eq!(reasons(&session, "db/liar"), ["DESTRUCTIVE_HIDDEN"]);
    assert_eq!(servers.ran(), [""; 0]);
}

#[test]
fn i10_each_hidden_tool_says_what_hides_it() {
    let world = World::new();
    world
        .write(
            "home/.config/concertina/concertina.toml",
            "[policy]\ndeny = [\"tool:*/denied\"]\n\
             [policy.principals.intern]\nallow = [\"tool:open/*\", \"tool:theirs/*\", \"tool:bound\"]\n\
             [tool.bound]\nargv = [\"true\"]\nneeds_skill = true\n",
        );
    let mut tools = many(2, 30);
    tools.extend(
        ["open/seen", "open/denied", "theirs/new", "closed/off"]
            .map(|name| offered(name, "Does it.")),
    );
    let servers = Servers::default();
    servers.change_with(tools, |name| match name {
        "theirs" => ServerState::Untrusted,
        _ => ServerState::Ready,
    });
    let servers = Arc::new(servers);
    let mut workspace = attached(&world, &servers);
    let started = Started {
        principal: Some("intern".to_owned()),
        mode: SessionMode::Blind,
        ..Started::default()
    };
    let mut session = Session::create(&mut workspace, Store::memory(), started).unwrap();
    for (tool, expected) in [
        ("open/seen", &["MENU_CLOSED"][..]),
        ("open/denied", &["MENU_CLOSED", "POLICY_DENIES"]),
        ("theirs/new", &["MENU_CLOSED", "UNTRUSTED"]),
        ("closed/off", &["MENU_CLOSED", "PRINCIPAL_NOT_GIVEN"]),
        ("bound", &["SKILL_NOT_OPEN"]),
    ] {
        let mut found = reasons(&session, tool);
        found.sort();
        assert_eq!(found, expected, "{tool}");
        let refused = call(&mut session, &workspace, tool, json!({})).unwrap_err();
        assert_eq!(refused.code, "NOT_VISIBLE", "{tool}");
    }
    open(&mut session, &mut workspace, "menu:open").unwrap();
    assert_eq!(reasons(&session, "open/seen"), [""; 0]);
    assert_eq!(servers.ran(), [""; 0], "none of the refused calls ran");
}

#[test]
fn gateway_49_pinned_tools_stand_outside_the_menus() {
    let world = World::new();
    world.write(
        "home/.config/concertina/concertina.toml",
        "[menu]\npinned = [\"server-01/thing_0001\"]\n",
    );
    let servers = Servers::of(many(4, 200));
    let mut workspace = attached(&world, &servers);
    let mut session = blind(&mut workspace);
    let root = session.turn(&mut workspace).unwrap().unwrap();
    assert!(root.starts_with("<tools>\n- server-01/thing_0001: Handles thing 1"), "{root}");
    call(&mut session, &workspace, "server-01/thing_0001", json!({})).unwrap();
    assert_eq!(servers.ran(), ["server-01/thing_0001"]);
}

#[test]
fn too_many_pins_are_said_and_fold_nothing_open() {
    let world = World::new();
    world.write("home/.config/concertina/concertina.toml", "[menu]\npinned = [\"*\"]\n");
    let workspace = attached(&world, &Servers::of(many(4, 200)));
    let pinned = workspace.snapshot().tools.iter().filter(|tool| tool.category.is_empty()).count();
    assert_eq!(pinned, limits::PINNED_TOOLS);
    assert_eq!(workspace.snapshot().skipped[0].code, "PINS_OVER_LIMIT");
}

#[test]
fn gateway_52_a_scope_holds_before_ranking() {
    let mut tools = many(5, 1_500);
    // A thousand tools fit the words better than the three that are asked for.
    for tool in &mut tools {
        tool.description = "Convert currency, convert currency rates.".to_owned();
    }
    let words = ["Convert currency of an invoice.", "Convert currency amounts.", "Currency names."];
    tools.extend(words.iter().enumerate().map(|(n, words)| offered(&format!("money/m{n}"), words)));
    let world = World::new();
    world.write(
        "home/.config/concertina/concertina.toml",
        "[policy.principals.clerk]\nallow = [\"tool:money/*\", \"menu:*\"]\n",
    );
    let mut workspace = attached(&world, &Servers::of(tools));
    assert_eq!(workspace.snapshot().tools.len(), 1_503);
    let started = Started { principal: Some("clerk".to_owned()), ..Started::default() };
    let mut clerk = Session::create(&mut workspace, Store::memory(), started).unwrap();
    let found = find(&mut clerk, &mut workspace, "convert currency");
    assert!(
        found.contains(&"tool:money/m0".to_owned()) && found.contains(&"tool:money/m1".to_owned()),
        "{found:?}"
    );
    assert!(found.iter().all(|hit| hit.contains("money")), "{found:?}");

    let mut anyone = begin(&mut workspace);
    let found = find_in(&mut anyone, &mut workspace, "convert currency", Some("menu:money"));
    assert_eq!(found[..2], ["tool:money/m0", "tool:money/m1"], "{found:?}");
    assert!(found.iter().all(|hit| hit.starts_with("tool:money/")), "{found:?}");
}

#[test]
fn i04_k13_gateway_58_59_61_a_hidden_tool_called_by_name_is_refused_whoever_asks() {
    let world = World::new();
    world.write(
        "home/.config/concertina/concertina.toml",
        "[policy]\ndeny = [\"tool:server-00/*\"]\nask = [\"tool:server-01/*\"]\n",
    );
    let servers = Servers::of(many(3, 60));
    let mut workspace = attached(&world, &servers);
    let mut session = blind(&mut workspace);
    for menu in ["menu:server-01", "menu:server-02"] {
        open(&mut session, &mut workspace, menu).unwrap();
    }
    for (tool, code) in [
        ("server-00/thing_0000", "NOT_VISIBLE"),
        ("server-01/thing_0001", "APPROVAL_NEEDED"),
        ("server-02/thing_9999", "UNKNOWN_TOOL"),
    ] {
        for origin in [Origin::user(), Origin::model("x")] {
            let cancel = concertina_runtime::Cancel::default();
            let reply = session.call(&workspace, origin, tool, json!({}), &cancel).unwrap();
            assert_eq!(reply.refusal.unwrap().code, code, "{tool}");
        }
    }
    assert_eq!(servers.ran(), [""; 0]);
    call(&mut session, &workspace, "server-02/thing_0002", json!({})).unwrap();
    assert_eq!(servers.ran(), ["server-02/thing_0002"]);
}

#[test]
fn i08_every_visible_tool_can_be_called_now() {
    let servers = Servers::of(many(3, 60));
    let mut workspace = attached(&World::new(), &servers);
    let mut session = blind(&mut workspace);
    open(&mut session, &mut workspace, "menu:server-01").unwrap();
    let visible: Vec<String> =
        concertina_core::session::visible_tools(session.state(), &session.world())
            .iter()
            .map(|tool| tool.name.to_string())
            .collect();
    assert_eq!(visible.len(), 20);
    for tool in &visible {
        call(&mut session, &workspace, tool, json!({})).unwrap();
    }
    assert_eq!(servers.ran(), visible);
}

#[test]
fn a_look_at_nothing_new_leaves_the_catalogue_as_it_is() {
    let servers = Servers::of(many(3, 60));
    let mut workspace = attached(&World::new(), &servers);
    let before = Arc::clone(workspace.snapshot());
    assert!(!workspace.refresh());
    assert!(Arc::ptr_eq(&before, workspace.snapshot()));
    // The same once more is the same.
    servers.change(many(3, 60));
    assert!(!workspace.refresh());
    assert!(Arc::ptr_eq(&before, workspace.snapshot()));
}

#[test]
fn gateway_70_the_order_of_servers_changes_no_byte() {
    let mut workspace = attached(&World::new(), &Servers::of(many(7, 300)));
    let mut other = many(7, 300);
    other.reverse();
    let mut again = attached(&World::new(), &Servers::of(other));
    let root = |workspace: &mut Workspace| {
        let mut session = blind(workspace);
        session.turn(workspace).unwrap()
    };
    assert_eq!(root(&mut workspace), root(&mut again));
}
