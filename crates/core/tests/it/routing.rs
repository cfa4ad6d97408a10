//! What is read off logs on searches, openings and calls.

use concertina_core::session::{Opened, Routing};
use concertina_types::{
    Actor, Blob, CallOutcome, Disclosed, DisclosureKind, Draft, Event, Fact, Ref, SessionId,
    Timestamp, Tokens, ToolName,
};

/// A log of requests, each with all that was decided for it at once.
fn counted(requests: &[Vec<Fact>]) -> Routing {
    let session = SessionId::new("s-1").unwrap();
    let mut events: Vec<Event> = Vec::new();
    for facts in requests {
        let cause = events.last().map(|event| event.seq);
        for fact in facts.clone() {
            let (at, actor) = (Timestamp(0), Actor::Model);
            let draft = Draft { step: 1, turn: None, at, actor, cause, fact };
            events.push(draft.seal(&session, events.last()));
        }
    }
    let mut routing = Routing::default();
    routing.add(&events);
    routing
}

fn reference(text: &str) -> Ref {
    text.parse().unwrap()
}

fn find(hits: &[&str], enough: Option<bool>) -> Vec<Fact> {
    let hits = hits.iter().map(|hit| reference(hit)).collect();
    vec![Fact::SearchAnswered { query: Blob::of("q"), hits, enough }, answer(10, &[])]
}

fn answer(tokens: u64, disclosed: &[(&str, DisclosureKind, u64)]) -> Fact {
    let disclosed = disclosed.iter().map(|(name, kind, tokens)| Disclosed {
        reference: reference(name),
        kind: *kind,
        tokens: Tokens(*tokens),
    });
    Fact::RequestAnswered {
        call: None,
        text: Blob::of("t"),
        tokens: Tokens(tokens),
        error: false,
        disclosed: disclosed.collect(),
    }
}

fn open_tool(name: &str) -> Vec<Fact> {
    vec![answer(50, &[(name, DisclosureKind::Tool, 50)])]
}

fn call(name: &str) -> Vec<Fact> {
    let (tool, arguments) = (ToolName::new(name).unwrap(), Blob::of("{}"));
    vec![Fact::CallAdmitted { id: 1, tool, arguments, writes: false, approval: None }]
}

fn refused(request: &str, code: &str) -> Vec<Fact> {
    let (request, code) = (request.to_owned(), code.to_owned());
    let reason = "r".to_owned();
    let (source, object, skill, tool) = (None, None, None, None);
    let fact = Fact::RequestRefused { request, code, reason, source, object, skill, tool };
    vec![fact, answer(5, &[])]
}

const TWO: [&str; 2] = ["tool:a", "tool:b"];

#[test]
fn l09_an_opening_counts_once_for_the_latest_search_that_named_it() {
    for (name, requests, followed) in [
        ("nothing followed", vec![find(&TWO, Some(true))], vec![]),
        ("opened", vec![find(&TWO, Some(true)), open_tool("tool:b")], vec![2]),
        ("called without being opened", vec![find(&TWO, Some(true)), call("a")], vec![1]),
        ("something else", vec![find(&TWO, Some(true)), call("c")], vec![]),
        ("before the search", vec![call("a"), find(&TWO, Some(true))], vec![]),
        (
            "opened and called",
            vec![find(&TWO, Some(true)), open_tool("tool:b"), call("b")],
            vec![2],
        ),
        ("both hits", vec![find(&TWO, Some(true)), call("b"), call("a")], vec![2]),
        (
            "two searches at once",
            vec![find(&TWO, Some(true)), find(&["tool:c"], Some(true)), call("a"), call("c")],
            vec![1, 1],
        ),
        (
            "searched again",
            vec![
                find(&TWO, Some(true)),
                find(&["tool:b", "tool:a"], Some(true)),
                call("a"),
                call("a"),
            ],
            vec![2],
        ),
        ("a log that does not tell", vec![find(&TWO, None), call("b")], vec![2]),
    ] {
        assert_eq!(counted(&requests).finds.followed, followed, "{name}");
    }
}

#[test]
fn l09_searches_that_found_nothing_are_counted_apart() {
    let requests = [find(&TWO, Some(false)), find(&[], None), find(&[], Some(true)), call("b")];
    let finds = counted(&requests).finds;
    assert_eq!((finds.fitting, finds.nothing_fits), (0, 3));
    assert_eq!((finds.followed.len(), finds.followed_anyway), (0, 1));
}

#[test]
fn l09_a_menu_is_opened_and_the_tools_it_names_are_not() {
    let menu = || Fact::MenuOpened { menu: "port".into() };
    let names = [("tool:port/a", DisclosureKind::Tool, 0)];
    let hits = ["tool:port/a", "menu:port"];
    let opened = counted(&[find(&hits, Some(true)), vec![menu(), answer(80, &names)]]);
    assert_eq!(opened.finds.followed, [2]);
    assert_eq!(opened.opens, [(Opened::Menu, vec![Tokens(80)])].into());
    // Whoever opens a tool opens the menu that holds it.
    let definition = answer(60, &[("tool:port/a", DisclosureKind::Tool, 50)]);
    let opened = counted(&[find(&hits, Some(true)), vec![menu(), definition]]);
    assert_eq!(opened.finds.followed, [1]);
    assert_eq!(opened.opens, [(Opened::Tool, vec![Tokens(60)])].into());
}

#[test]
fn l09_a_result_that_comes_back_is_no_opening() {
    let outcome = CallOutcome::Done { exit: 0, output: Blob::of("o"), dropped: 0 };
    let result = || answer(900, &[("ev:1", DisclosureKind::Evidence, 900)]);
    let came_back = vec![Fact::CallFinished { id: 1, outcome, held: None }, result()];
    let routing = counted(&[find(&["ev:1"], Some(true)), call("a"), came_back.clone()]);
    assert_eq!((routing.opens.len(), routing.finds.followed.len()), (0, 0));
    let routing = counted(&[call("a"), came_back, find(&["ev:1"], Some(true)), vec![result()]]);
    assert_eq!(routing.opens, [(Opened::Part, vec![Tokens(900)])].into());
    assert_eq!(routing.finds.followed, [1]);
}

#[test]
fn l09_permission_stops_calls_before_the_tool_and_in_it() {
    let message = String::new();
    let failed = |code: &str| {
        let outcome = CallOutcome::Failed { code: code.into(), message: message.clone() };
        vec![Fact::CallFinished { id: 1, outcome, held: None }, answer(5, &[])]
    };
    let calls = counted(&[
        call("a"),
        failed("WRITE_REFUSED"),
        call("a"),
        failed("TIMEOUT"),
        refused("call b", "NOT_VISIBLE"),
        refused("call b", "BAD_ARGUMENTS"),
        refused("run `ls` of skill:x", "NOT_COVERED"),
        refused("open skill:x", "POLICY_DENIES"),
    ])
    .calls;
    assert_eq!((calls.admitted, calls.refused, calls.blocked), (2, 3, 3));
    assert_eq!(calls.codes.values().sum::<usize>(), 5, "{:?}", calls.codes);
}

#[test]
fn l09_what_was_opened_of_what_was_found_is_counted_by_reference() {
    let three = ["tool:a", "skill:s", "skill:s#part"];
    let section = || vec![answer(50, &[("skill:s#other", DisclosureKind::Evidence, 50)])];
    for (name, requests, found_and_opened) in [
        ("nobody chose", vec![find(&three, Some(true))], [(0, 0), (0, 0)]),
        ("called", vec![find(&three, Some(true)), call("a"), call("a")], [(1, 1), (1, 0)]),
        ("a part is the skill", vec![find(&three, Some(true)), section()], [(1, 0), (1, 1)]),
        ("both", vec![find(&three, Some(true)), section(), call("a")], [(1, 1), (1, 1)]),
        (
            "the latest search that named it",
            vec![find(&three, Some(true)), find(&["tool:a"], Some(true)), call("a"), section()],
            [(2, 1), (1, 1)],
        ),
        ("one of the nearest", vec![find(&three, Some(false)), call("a")], [(1, 1), (1, 0)]),
        ("before the search", vec![call("a"), find(&three, Some(true))], [(0, 0), (0, 0)]),
    ] {
        let usage = counted(&requests).usage;
        let of = |text| usage.of(&reference(text));
        let counts = [of("tool:a"), of("skill:s")].map(|uses| (uses.found, uses.opened));
        assert_eq!(counts, found_and_opened, "{name}");
    }
}
