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
            "tags: [revenue]\npermissions:\n  tools: [\"sql\"]\nexamples:\n  - query: Which customers are inactive?\n    text: SELECT 1\n    tags: [churn]\n  - query: Which customers are lost?\n  - query: Who are inactive customers by region?\n  - query: Inactive customers, again?",
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
fn a_heading_that_is_asked_for_stands_behind_its_skill() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let hits = find(&mut session, &mut workspace, Origin::model("f"), &asked("sales churn"));
    assert_eq!(hits[..2], ["skill:sales", "skill:sales#churn"], "{hits:?}");
    let few = FindRequest { limit: Some(1), ..asked("sales churn") };
    assert_eq!(find(&mut session, &mut workspace, Origin::model("f"), &few), ["skill:sales"]);
    let whole = FindRequest { kind: Some(Kind::Skill), ..asked("sales churn") };
    let hits = find(&mut session, &mut workspace, Origin::model("f"), &whole);
    assert_eq!(hits, ["skill:sales"], "m05: a list of skills to activate");
    let sections = FindRequest { kind: Some(Kind::Section), ..asked("regions") };
    let hits = find(&mut session, &mut workspace, Origin::model("f"), &sections);
    assert_eq!(hits, ["skill:sales#regions"]);
    for query in ["llamas", "okapis"] {
        let sections = FindRequest { kind: Some(Kind::Section), ..asked(query) };
        let hits = find(&mut session, &mut workspace, Origin::model("f"), &sections);
        assert!(hits.is_empty(), "{query}: {hits:?}");
    }
}

#[test]
fn e15_two_or_three_examples_that_fit_are_given_on_demand() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let mut given = |part: &str| open(&mut session, &mut workspace, &format!("skill:sales#{part}"));
    let text = given("examples?query=customers that are lost").unwrap().text;
    assert_eq!(text.matches("Request: ").count(), 3, "{text}");
    assert!(text.find("lost").unwrap() < text.find("inactive").unwrap(), "best first: {text}");
    let text = given("examples?tag=Churn").unwrap().text;
    assert!(text.contains("SELECT 1") && text.matches("Request: ").count() == 1, "{text}");
    let text = given("examples?tag=churn&query=inactive").unwrap().text;
    assert!(text.matches("Request: ").count() == 1, "{text}");
    for (part, words) in [
        ("examples?query=zeppelins", "none of the 4 examples"),
        ("examples?tag=none", "none of the 4 examples"),
        ("examples?best", "`best` chooses no example"),
        ("examples?", "chooses no example"),
        ("examples/99", "has 4 examples"),
    ] {
        let refusal = given(part).unwrap_err();
        assert_eq!(refusal.code, "NO_SUCH_PART", "{part}");
        assert!(refusal.message.contains(words), "{part}: {}", refusal.message);
    }
}

#[test]
fn q06_what_is_edited_or_removed_is_found_as_it_is_now() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let mut hits = |workspace: &mut Workspace, query: &str| {
        workspace.refresh();
        find(&mut session, workspace, Origin::user(), &asked(query))
    };
    assert!(hits(&mut workspace, "axolotls").is_empty());
    let sales = world.path("work/skills/sales/SKILL.md");
    let edited = std::fs::read_to_string(&sales).unwrap().replace("Intro.", "About axolotls.");
    std::fs::write(&sales, edited).unwrap();
    assert_eq!(hits(&mut workspace, "axolotls"), ["skill:sales"]);
    let hidden = world.path("work/skills/hidden/SKILL.md");
    let edited = std::fs::read_to_string(&sales).unwrap().replace("axolotls", "capybaras");
    std::fs::write(&sales, edited).unwrap();
    assert_eq!(hits(&mut workspace, "capybaras"), ["skill:sales"]);
    assert!(hits(&mut workspace, "axolotls").is_empty());
    assert_eq!(hits(&mut workspace, "llamas"), ["skill:hidden"]);
    std::fs::remove_file(&hidden).unwrap();
    assert!(hits(&mut workspace, "llamas").is_empty());
    assert_eq!(hits(&mut workspace, "capybaras"), ["skill:sales"]);
}

#[test]
fn q06_parts_that_are_gone_are_not_found_any_more() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let mut hits = |workspace: &mut Workspace, query: &str, kind: Option<Kind>| {
        workspace.refresh();
        let request = FindRequest { kind, ..asked(query) };
        find(&mut session, workspace, Origin::user(), &request)
    };
    assert_eq!(hits(&mut workspace, "regions", Some(Kind::Section)), ["skill:sales#regions"]);
    assert_eq!(hits(&mut workspace, "lost", Some(Kind::Example)), ["skill:sales#examples/2"]);
    let sales = world.path("work/skills/sales/SKILL.md");
    let text = std::fs::read_to_string(&sales).unwrap();
    let text = text.replace("## Regions", "## Countries");
    let text = text.replace("  - query: Which customers are lost?\n", "");
    std::fs::write(&sales, &text).unwrap();
    assert!(hits(&mut workspace, "regions", Some(Kind::Section)).is_empty());
    assert!(hits(&mut workspace, "lost", Some(Kind::Example)).is_empty());
    assert_eq!(hits(&mut workspace, "countries", Some(Kind::Section)), ["skill:sales#countries"]);
    std::fs::write(&sales, text.replace("name: sales", "name: turnover")).unwrap();
    let found = hits(&mut workspace, "revenue customers", None);
    assert!(found.iter().all(|one| !one.starts_with("skill:sales")), "{found:?}");
}

#[test]
fn a_heading_that_is_the_request_is_an_answer_and_others_stay_away() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let mut hits = |query: &str| find(&mut session, &mut workspace, Origin::user(), &asked(query));
    assert_eq!(hits("churn"), ["skill:sales#churn"]);
    let found = hits("sales revenue");
    assert!(found.iter().all(|one| !one.contains('#')), "no word of a heading: {found:?}");
    let examples = FindRequest {
        kind: Some(Kind::Example),
        within: Some("skill:sales".parse().unwrap()),
        ..asked("lost")
    };
    let found = find(&mut session, &mut workspace, Origin::user(), &examples);
    assert_eq!(found, ["skill:sales#examples/2"]);
}

#[test]
fn what_is_found_opens_what_was_found() {
    let world = World::new();
    let body = "# Pears\n\n## Examples\n\nUnripe.\n\n## Storing\n\nCool.";
    let keys = "examples:\n  - query: R&D pippins\n    text: crossed\n  - query: others";
    world.write("work/skills/pears/SKILL.md", skill_with("pears", keys, body));
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    for within in [None, Some("skill:pears".parse().unwrap())] {
        let request = FindRequest { kind: Some(Kind::Section), within, ..asked("examples") };
        let request = match &request.within {
            Some(_) => FindRequest { kind: None, ..request },
            None => request,
        };
        let hits = find(&mut session, &mut workspace, Origin::user(), &request);
        assert_eq!(hits[0], "skill:pears@3-5");
        assert!(!hits.contains(&"skill:pears#examples".to_owned()), "{hits:?}");
    }
    let text = open(&mut session, &mut workspace, "skill:pears@3-5").unwrap().text;
    assert!(text.contains("Unripe.") && !text.contains("Cool."), "{text}");
    let wanted = "skill:pears#examples?query=R&D pippins";
    assert!(open(&mut session, &mut workspace, wanted).unwrap().text.contains("crossed"));
}

#[test]
fn examples_do_not_change_how_rare_a_word_of_a_skill_is() {
    let score = |examples: usize| {
        let world = World::new();
        let list: Vec<String> = (0..examples).map(|n| format!("  - knit a quokka {n}")).collect();
        let keys =
            if list.is_empty() { String::new() } else { format!("examples:\n{}", list.join("\n")) };
        world.write("work/skills/knit/SKILL.md", skill_with("knit", &keys, "Knit."));
        world.skill("work/skills/quokka", "Feeds the quokka.");
        world.skill("work/skills/other", "Feeds others.");
        let mut workspace = world.alone();
        let mut session = begin(&mut workspace);
        let found = session.find(&mut workspace, Origin::user(), &asked("feed quokka")).unwrap().0;
        let all: Vec<_> = found.hits.iter().chain(&found.nearest).cloned().collect();
        all.into_iter().find(|hit| hit.reference.to_string() == "skill:quokka").unwrap().score
    };
    assert!((score(1) - score(300)).abs() < 1e-3, "{} {}", score(1), score(300));
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
