//! What the model is shown of the index, and when.

use std::sync::Arc;

use concertina_core::catalog::{Category, NeedsSkill, SkillEntry, ToolEntry};
use concertina_core::session::{Command, Part, Settings};
use concertina_types::{Fact, ListingKind, Tokens, limits};

use crate::kit::{Bench, code, count, skill, snapshot, tool};

fn bench(skills: usize, tools: usize) -> Bench {
    let skills = (0..skills)
        .map(|i| {
            skill(
                &format!("skill-{i:04}"),
                &format!("Reads table {i} and explains it. Not for maps."),
            )
        })
        .collect();
    let tools = (0..tools)
        .map(|i| ToolEntry {
            category: format!("group-{}", i % 70),
            ..tool(&format!("tool-{i:04}"))
        })
        .collect();
    Bench::of(skills, tools)
}

fn first_turn(bench: &mut Bench) -> Tokens {
    bench.turn();
    bench.view().tokens(&count).into_values().sum()
}

#[test]
fn c06_second_turn_sends_nothing_new() {
    let mut bench = bench(500, 30);
    assert!(bench.disclosed().contains("skill-0001"));
    let before = bench.view();
    assert_eq!(bench.turn(), [Fact::TurnStarted {}]);
    assert_eq!(bench.view(), before);
}

#[test]
fn c06_a_skill_more_is_one_line_more() {
    let mut bench = bench(20, 3);
    bench.turn();
    bench.change(|catalogue| catalogue.skills.push(skill("zoo", "Counts animals.")));
    assert_eq!(bench.disclosed(), "<skill added=\"zoo\">Counts animals.</skill>");
    assert_eq!(bench.disclosed(), "");
    assert_eq!(bench.view().part(Part::Index).matches("zoo").count(), 1);
}

#[test]
fn c06_what_the_model_may_not_see_changes_nothing_for_it() {
    let mut bench = bench(20, 3);
    bench.turn();
    bench.change(|catalogue| {
        catalogue
            .skills
            .push(SkillEntry { model_disabled: true, ..skill("zoo", "Counts animals.") });
        catalogue.tools.push(Arc::new(ToolEntry { needs_skill: NeedsSkill::Any, ..tool("zz") }));
    });
    assert_eq!(bench.disclosed(), "");
    // A skill that becomes hidden is one that is gone.
    bench.change(|catalogue| catalogue.skills[0].model_disabled = true);
    assert_eq!(bench.disclosed(), "<skill removed=\"skill-0000\"/>");
}

#[test]
fn c06_new_tools_are_shown_once() {
    let mut bench = bench(2, 3);
    bench.turn();
    bench.change(|catalogue| catalogue.tools.push(Arc::new(tool("zip"))));
    assert_eq!(bench.disclosed(), "<tools>\n+ tool:zip: Does zip.\n</tools>");
    assert_eq!(bench.disclosed(), "");
}

#[test]
fn c07_resume_does_not_resend() {
    let mut bench = bench(50, 3);
    bench.turn();
    let (state, view) = (bench.state.clone(), bench.view());
    bench.resume();
    assert_eq!(bench.state, state);
    assert_eq!(bench.disclosed(), "");
    assert_eq!(bench.view(), view);
}

#[test]
fn c08_after_compaction_every_name_stands_exactly_once() {
    let mut bench = bench(40, 3);
    bench.turn();
    bench.change(|catalogue| catalogue.skills.push(skill("zoo", "Counts animals.")));
    bench.turn();
    bench.apply(Command::Compact);
    assert_eq!(bench.disclosed(), "", "it was shown when the context was folded");
    let index = bench.view().part(Part::Index);
    for entry in &bench.snapshot.skills {
        assert_eq!(index.matches(&format!("- {}: ", entry.id)).count(), 1, "{}", entry.id);
    }
    assert_eq!(bench.state.epoch, 1);
    assert!(matches!(
        bench.log.iter().rev().find_map(|event| match &event.fact {
            Fact::ListingDisclosed { listing, .. } => Some(listing),
            _ => None,
        }),
        Some(ListingKind::Full)
    ));
    bench.change(|catalogue| catalogue.skills.push(skill("zoo-2", "Counts more.")));
    assert_eq!(bench.disclosed().lines().count(), 1, "and then deltas again");
}

#[test]
fn the_first_turn_is_within_its_limit_at_any_size() {
    for skills in [0, 3, 500, 5_000] {
        for tools in [0, 25, 5_000] {
            let tokens = first_turn(&mut bench(skills, tools));
            assert!(
                tokens <= Tokens(limits::FIRST_TURN_TOKENS),
                "{skills} skills, {tools} tools: {tokens}"
            );
        }
    }
}

#[test]
fn the_first_turn_is_within_its_limit_where_no_tool_has_a_category() {
    let tools = (0..5_000).map(|i| tool(&format!("a-rather-long-name-{i:04}"))).collect();
    let mut bench = Bench::of(vec![skill("x", "Does x.")], tools);
    assert!(first_turn(&mut bench) <= Tokens(limits::FIRST_TURN_TOKENS));
    let index = bench.view().part(Part::Index);
    assert!(index.contains("- x: Does x."));
    assert!(index.contains(" tools more; open menu: lists menus, find searches all]"), "{index}");
}

#[test]
fn i01_the_root_shows_categories_and_no_schema() {
    let mut bench = bench(0, 140);
    bench.snapshot.categories.insert(
        "group-3".into(),
        Category {
            title: "Three".into(),
            description: "All about three.".into(),
            ..Category::default()
        },
    );
    let index = bench.disclosed();
    assert!(count(&index) <= Tokens(800), "70 categories take {}", count(&index));
    assert!(index.contains("- menu:group-3 (2): All about three.\n"));
    assert!(!index.contains("tool-0003") && !index.contains("properties"));
    assert_eq!(index.matches("- menu:").count(), 70);
}

#[test]
fn c01_the_mechanism_names_nothing_of_the_catalogue() {
    let mut bench = bench(3, 3);
    bench.turn();
    let view = bench.view();
    for part in [Part::Mechanism, Part::Tools] {
        let text = view.part(part);
        assert!(!text.contains("skill-00") && !text.contains("tool-00"));
    }
    assert!(count(&view.part(Part::Tools)) <= Tokens(500));
}

#[test]
fn l07_a_skill_that_is_hidden_from_the_model_is_not_listed() {
    let hidden = |change: fn(&mut SkillEntry)| {
        let mut entry = skill("hidden", "Does it.");
        change(&mut entry);
        let mut bench = Bench::of(vec![entry, skill("seen", "Does it.")], vec![]);
        let index = bench.disclosed();
        assert!(index.contains("- seen: "));
        assert!(!index.contains("hidden"));
        let by_model = bench.open("hidden");
        let by_hand = bench.open_by_hand("hidden");
        bench.resume();
        assert_eq!(code(&bench.open("hidden")), code(&by_model), "a06: also after a resume");
        (code(&by_model).to_owned(), code(&by_hand).to_owned())
    };
    let refused = |code: &str| (code.to_owned(), String::new());
    assert_eq!(hidden(|entry| entry.model_disabled = true), refused("MODEL_DISABLED"));
    assert_eq!(hidden(|entry| entry.description = None), refused("NO_DESCRIPTION"));
    assert_eq!(
        hidden(|entry| entry.unreadable = vec!["permissions".into()]),
        refused("SECURITY_KEY_UNREADABLE")
    );
    assert_eq!(hidden(|entry| entry.paths = vec!["*.rs".into()]), refused("PATHS_NOT_TOUCHED"));
}

#[test]
fn a06_a_skill_that_only_the_model_may_open() {
    let entry = SkillEntry { user_invocable: false, ..skill("inner", "Does it.") };
    let mut bench = Bench::of(vec![entry], vec![]);
    assert!(bench.disclosed().contains("- inner: "));
    assert_eq!(code(&bench.open_by_hand("inner")), "USER_DISABLED");
    assert_eq!(code(&bench.open("inner")), "");
}

#[test]
fn b43_excluded_skills_are_not_listed() {
    let settings: Settings = serde_json::from_str(r#"{"listing":{"exclude":["old-*"]}}"#).unwrap();
    let skills = vec![skill("old-x", "Was."), skill("new-x", "Is.")];
    let mut bench = Bench::new(settings, snapshot(skills, vec![]));
    let index = bench.disclosed();
    assert!(index.contains("new-x") && !index.contains("old-x"));
}

#[test]
fn a_budget_of_nothing_is_on_the_record() {
    let settings: Settings = serde_json::from_str(r#"{"listing":{"chars":0}}"#).unwrap();
    let mut bench = Bench::new(settings, snapshot(vec![skill("x", "Does x.")], vec![]));
    let facts = bench.turn();
    assert!(facts.iter().any(|fact| matches!(fact, Fact::ListingDisclosed { omitted: 1, .. })));
    assert_eq!(bench.turn(), [Fact::TurnStarted {}]);
}

#[test]
fn c08_an_index_of_nothing_replaces_one_of_something() {
    let mut bench = bench(3, 0);
    bench.turn();
    bench.change(|catalogue| catalogue.skills.clear());
    bench.apply(Command::Compact);
    bench.turn();
    assert_eq!(bench.view().part(Part::Index), "");
}

#[test]
fn c08_tools_of_an_open_skill_stand_with_its_text_alone() {
    let bound = ToolEntry { needs_skill: NeedsSkill::Any, ..tool("query") };
    let sales = SkillEntry { claims: vec!["query".into()], ..skill("sales", "Sells.") };
    let mut bench = Bench::of(vec![sales], vec![bound, tool("echo")]);
    bench.turn();
    bench.open("sales");
    bench.apply(Command::Compact);
    let view = bench.view();
    assert!(view.part(Part::Index).contains("- echo: "));
    assert!(!view.part(Part::Index).contains("query"));
    assert!(view.part(Part::Skills).contains("\"tool\":\"query\""));
}
