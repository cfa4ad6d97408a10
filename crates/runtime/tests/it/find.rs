//! Searching: what may be found, by whom, and what comes first.

use concertina_core::catalog::search::Kind;
use concertina_core::session::Origin;
use concertina_runtime::{FindRequest, Session, Workspace};
use serde_json::json;

use crate::kit::{World, begin, call, calls, drive, open, says, script, skill_with};

fn world() -> World {
    let world = World::new();
    world.write(
        "work/skills/sales/SKILL.md",
        skill_with(
            "sales",
            "tags: [revenue]\npermissions:\n  tools: [\"sql\"]\nexamples:\n  - query: Which customers are inactive?\n    text: SELECT 1\n  - query: Which customers are lost?\n  - query: Who are inactive customers by region?\n  - query: Inactive customers, again?",
            "# Sales\n\nIntro.\n\n## Churn\n\nInactive customers ordered nothing for months.\n\n## Regions\n\nNorth and south.",
        ),
    );
    world.write(
        "work/skills/hidden/SKILL.md",
        skill_with("hidden", "disable-model-invocation: true", "About llamas."),
    );
    world.write(
        "work/skills/inner/SKILL.md",
        skill_with("inner", "user-invocable: false", "About alpacas."),
    );
    let mut config = String::from("[policy]\ndeny = [\"tool:forbidden\", \"skill:secret\"]\n");
    for name in ["forbidden", "refunds"] {
        config += &format!(
            "[tool.{name}]\nargv = [\"true\"]\ndescription = \"Pays {name} money back to buyers.\"\ncategory = \"payments\"\ndanger = \"safe\"\n"
        );
    }
    for number in 0..30 {
        config += &format!(
            "[tool.filler-{number}]\nargv = [\"true\"]\ndescription = \"Turns knob {number}.\"\ncategory = \"knobs\"\ndanger = \"safe\"\n"
        );
    }
    config += "[tool.sql]\nargv = [\"printf\", \"alpha zebra\\nbeta\\n\"]\ndescription = \"Runs a query over the warehouse.\"\ndanger = \"safe\"\nneeds_skill = true\n";
    config += "[menu.payments]\ntitle = \"Payments\"\ndescription = \"Invoices, ledgers and dunning.\"\n[menu.knobs]\ntitle = \"Knobs\"\n";
    world.config(&config);
    world.skill("work/skills/secret", "About okapis.");
    world
}

fn find(
    session: &mut Session,
    workspace: &mut Workspace,
    origin: Origin,
    request: &FindRequest,
) -> Vec<String> {
    let found = session.find(workspace, origin, request).unwrap().0;
    found.hits.iter().chain(&found.nearest).map(|hit| hit.reference.to_string()).collect()
}

fn asked(query: &str) -> FindRequest {
    FindRequest { query: query.into(), ..FindRequest::default() }
}

#[test]
fn an_exact_name_comes_first() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    for (query, reference) in [
        ("sales", "skill:sales"),
        ("skill:sales", "skill:sales"),
        ("refunds", "tool:refunds"),
        ("filler-7", "tool:filler-7"),
    ] {
        let hits = find(&mut session, &mut workspace, Origin::model("f"), &asked(query));
        assert_eq!(hits.first().map(String::as_str), Some(reference), "{query}: {hits:?}");
    }
}

#[test]
fn examples_are_found_by_those_who_ask_for_them() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let plain =
        find(&mut session, &mut workspace, Origin::model("f"), &asked("inactive customers"));
    assert_eq!(plain.first().map(String::as_str), Some("skill:sales"));
    assert!(plain.iter().all(|reference| !reference.contains("examples")), "{plain:?}");
    let request =
        FindRequest { kind: Some(Kind::Example), limit: Some(3), ..asked("inactive customers") };
    let examples = find(&mut session, &mut workspace, Origin::model("f"), &request);
    assert_eq!(examples.len(), 3);
    assert!(
        examples.iter().all(|reference| reference.starts_with("skill:sales#examples/")),
        "{examples:?}"
    );
    let text = open(&mut session, &mut workspace, "skill:sales#examples/1").unwrap().text;
    assert!(text.contains("SELECT 1"), "{text}");
    for (kind, prefix) in [(Kind::Tool, "tool:"), (Kind::Skill, "skill:"), (Kind::Menu, "menu:")] {
        let request = FindRequest { kind: Some(kind), ..asked("payments money revenue knob") };
        let hits = find(&mut session, &mut workspace, Origin::model("f"), &request);
        assert!(!hits.is_empty() && hits.iter().all(|hit| hit.starts_with(prefix)), "{hits:?}");
    }
}

#[test]
fn e13_a_search_inside_a_skill_finds_its_sections() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let within = |reference: &str, query: &str| FindRequest {
        within: Some(reference.parse().unwrap()),
        ..asked(query)
    };
    let hits = find(
        &mut session,
        &mut workspace,
        Origin::model("f"),
        &within("skill:sales", "inactive for months"),
    );
    assert_eq!(hits.first().map(String::as_str), Some("skill:sales#churn"), "{hits:?}");
    let hits = session
        .find(&mut workspace, Origin::model("f"), &within("skill:sales", "north"))
        .unwrap()
        .0;
    let first = hits.hits.iter().chain(&hits.nearest).next().unwrap();
    assert!(first.title.contains("line "), "{}", first.title);
    for (reference, code) in [
        ("skill:hidden", "MODEL_DISABLED"),
        ("skill:none", "NOT_FOUND"),
        ("menu:none", "NOT_FOUND"),
        ("dir:knobs", "BAD_SCOPE"),
    ] {
        let reply = session
            .find(&mut workspace, Origin::model("f"), &within(reference, "llamas"))
            .unwrap()
            .1;
        assert_eq!(reply.refusal.unwrap().code, code, "{reference}");
    }
}

#[test]
fn earlier_results_are_searched_when_asked_for() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let request = FindRequest { kind: Some(Kind::Evidence), ..asked("zebra") };
    assert!(find(&mut session, &mut workspace, Origin::model("f"), &request).is_empty());
    open(&mut session, &mut workspace, "skill:sales").unwrap();
    call(&mut session, &workspace, "sql", json!({})).unwrap();
    assert_eq!(find(&mut session, &mut workspace, Origin::model("f"), &request), ["ev:1"]);
    assert!(
        find(&mut session, &mut workspace, Origin::model("f"), &asked("zebra"))
            .iter()
            .all(|hit| !hit.starts_with("ev:"))
    );
}

#[test]
fn each_finds_what_they_may_see() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    for (query, reference, user, model) in [
        ("llamas", "skill:hidden", true, false),
        ("alpacas", "skill:inner", false, true),
        ("okapis", "skill:secret", false, false),
        ("forbidden money", "tool:forbidden", false, false),
        // Folded away is not forbidden.
        ("money back to buyers", "tool:refunds", true, true),
        ("query the warehouse", "tool:sql", true, true),
        ("dunning", "menu:payments", true, true),
    ] {
        for (origin, may) in [(Origin::user(), user), (Origin::model("f"), model)] {
            let hits = find(&mut session, &mut workspace, origin, &asked(query));
            assert_eq!(hits.contains(&reference.to_owned()), may, "{query}: {hits:?}");
        }
    }
    // What was found leads somewhere.
    assert_eq!(
        call(&mut session, &workspace, "refunds", json!({})).unwrap_err().code,
        "NOT_VISIBLE"
    );
    open(&mut session, &mut workspace, "menu:payments").unwrap();
    call(&mut session, &workspace, "refunds", json!({})).unwrap();
    assert!(
        !find(&mut session, &mut workspace, Origin::model("f"), &asked("dunning"))
            .contains(&"menu:payments".to_owned()),
        "it is open"
    );
}

#[test]
fn where_nothing_fits_that_is_said() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let model = script(json!([calls("find", json!({"query": "brew espresso"})), says("No.")]));
    drive(&mut workspace, &mut session, &model, Some("Brew.")).unwrap();
    let view = session.view().render();
    assert!(view.contains("Nothing fits") && view.contains("menu:payments"), "{view}");
    for query in ["", "   ", "?!", "the of and"] {
        let (found, reply) =
            session.find(&mut workspace, Origin::model("f"), &asked(query)).unwrap();
        assert!(!found.enough && reply.answer.is_some(), "{query:?}");
    }
}
