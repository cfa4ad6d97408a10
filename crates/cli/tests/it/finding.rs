//! What a search says: of skills, of tools, of parts, in two languages, and of itself.

use serde_json::Value;

use crate::kit::{Place, names};

/// Two skills that send requests to each other, one in Chinese, and tools in categories.
const FILES: &str = "\
//- skills/lesson-plan/SKILL.md
---
name: lesson-plan
description: Writes a lesson plan with goals and key points for a lesson
not_for: [setting exercises]
---
# Lesson plan

## Goals

What pupils can do afterwards.
//- skills/exercise-set/SKILL.md
---
name: exercise-set
description: Sets exercises with answers on the key points
not_for: [writing a lesson plan]
examples: [{query: fractions for ten-year-olds, text: \"1/2 + 1/4\", tags: [maths]}, {query: vowels, tags: [reading]}]
---
# Exercises
//- skills/退款/SKILL.md
---
name: 退款
description: 核实订单，给顾客退款
---
# 退款
//- concertina.toml
[tool.bell]
argv = [\"true\"]
description = \"Rings the bell of the school.\"
category = \"building\"
danger = \"safe\"
";

fn place() -> Place {
    Place::with(FILES).trusted()
}

fn refs(found: &Value) -> Vec<String> {
    names(&found["hits"], "ref")
}

#[test]
fn b07_the_same_skill_is_reached_by_search_by_list_and_by_name() {
    let place = place();
    let found = place.json(&["find", "exercises with answers"]);
    assert_eq!(refs(&found)[0], "skill:exercise-set");
    let listed = names(&place.json(&["skill", "list"])["skills"], "id");
    assert!(listed.contains(&"exercise-set".to_owned()), "{listed:?}");
    let shown = place.json(&["skill", "show", "exercise-set"]);
    assert!(shown.to_string().contains("Sets exercises"), "{shown}");
    // A skill in another language than the request.
    assert_eq!(refs(&place.json(&["find", "refund a customer's order"]))[0], "skill:退款");
    let found = place.json(&["find", "写一份教案 lesson plan"]);
    assert_eq!(refs(&found)[0], "skill:lesson-plan");
}

#[test]
fn m05_what_is_found_is_a_list_of_skills_to_activate() {
    let place = place();
    let found =
        place.json(&["find", "a lesson plan and exercises with answers", "--kind", "skill"]);
    let refs = refs(&found);
    assert!(refs.len() >= 2 && refs.iter().all(|one| !one.contains('#')), "{refs:?}");
    assert_eq!(
        place.json(&["find", "goals", "--kind", "section"])["hits"][0]["ref"],
        "skill:lesson-plan#goals"
    );
}

#[test]
fn l12_the_request_stands_beside_what_each_hit_made_of_it() {
    let place = place();
    let request = "The lesson plan is done, now exercises.";
    let shown = place.run(&["find", request, "--explain"]).exits(0);
    insta::assert_snapshot!(shown.out);
    let found = place.json(&["find", request, "--explain"]);
    assert_eq!(refs(&found)[0], "skill:exercise-set");
    assert_eq!(found["explanation"]["ranked"][1]["below"], "skill:exercise-set");
    let floor = &found["explanation"]["floor"];
    assert!(floor["reached"].as_f64() >= floor["needed"].as_f64(), "{floor}");
    assert!(place.json(&["find", request])["explanation"].is_null());
}

#[test]
fn e15_examples_are_found_by_words_and_by_tag_and_given_by_both() {
    let place = place();
    let found = place.json(&["find", "maths", "--kind", "example", "-k", "3"]);
    let all = found["hits"].as_array().unwrap().iter().chain(found["nearest"].as_array().unwrap());
    let first = all.map(|hit| hit["ref"].clone()).next();
    assert_eq!(first.unwrap(), "skill:exercise-set#examples/1");
    for part in ["examples?tag=maths", "examples?query=fractions"] {
        let reference = format!("skill:exercise-set#{part}");
        place.run(&["open", &reference]).exits(0).shows(&["1/2 + 1/4"]);
    }
    place
        .run(&["open", "skill:exercise-set#examples?query=zeppelins"])
        .exits(4)
        .says(&["none of the 2"]);
}

#[test]
fn where_nothing_fits_the_categories_are_named() {
    let place = place();
    let found = place.json(&["find", "zeppelin rides over the Alps"]);
    assert_eq!(found["enough"], false);
    assert!(refs(&found).is_empty());
    let browse: Vec<&str> =
        found["browse"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(browse.iter().all(|menu| menu.starts_with("menu:")), "{browse:?}");
    assert_eq!(place.json(&["find", "lesson plan"])["browse"], serde_json::json!([]));
}
