//! What the model is shown of the catalogue, and at what price.

use serde_json::Value;

use crate::kit::{Place, names, write};

/// `number` skills whose descriptions have `words` words.
fn many(number: usize, words: usize) -> Place {
    let place = Place::new();
    let about = "harbour ".repeat(words);
    let skill = |at: usize| {
        format!(
            "//- skills/s{at:03}/SKILL.md\n---\nname: s{at:03}\ndescription: Number {at}. About {about}. Not for boats.\n---\nDo {at}.\n"
        )
    };
    write(&place.work(), &(0..number).map(skill).collect::<String>());
    place
}

fn listing(place: &Place, more: &[&str]) -> Value {
    place.json(&[&["skill", "list", "--render", "--root", "skills"], more].concat())
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn c01_the_mechanism_names_no_skill() {
    let place = Place::harbour();
    let shown = place.json(&["session", "render", "--layer", "mechanism"]);
    let text = shown["text"].as_str().unwrap();
    for id in names(&place.json(&["skill", "list", "--all"])["skills"], "id") {
        assert!(!text.contains(&id), "{id} in {text}");
    }
    assert!(number(&shown["tokens"]) <= 150, "{shown}");
}

#[test]
fn c02_the_index_holds_names_and_short_descriptions() {
    let place = Place::harbour();
    let shown = place.run(&["session", "render", "--layer", "index"]).exits(0);
    shown
        .shows(&["- logbook: Writes an entry into the harbour log.", "- tides: Reads tide tables"]);
    assert_eq!(
        place.json(&["session", "render", "--layer", "index"])["text"],
        place.json(&["skill", "list", "--render"])["text"],
    );
}

#[test]
fn c03_five_hundred_skills_stay_inside_one_percent_of_the_window() {
    let place = many(500, 20);
    let shown = place
        .json(&["session", "render", "--layer", "index", "--window", "200000", "--root", "skills"]);
    assert!(number(&shown["tokens"]) <= 2_000, "{}", shown["tokens"]);
    assert!(number(&shown["chars"]) <= 8_000, "{}", shown["chars"]);
    let small = listing(&place, &["--window", "20000"]);
    assert!(number(&small["tokens"]) <= 200, "{}", small["tokens"]);
}

#[test]
fn c04_no_entry_is_longer_than_its_cap_and_a_cut_is_marked() {
    let place = many(3, 100);
    let shown = listing(&place, &[]);
    let text = shown["text"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert!(line.chars().count() <= 250, "{} characters: {line}", line.chars().count());
        assert!(line.contains('…') && line.contains("Not for boats."), "{line}");
    }
    assert_eq!(number(&shown["shortened"]), 3);
}

#[test]
fn c05_over_budget_text_is_lost_first_and_no_name_without_a_count() {
    for (number_of_skills, budget, form) in [
        (10, "8000", "full"),
        (40, "3000", "shortened"),
        (40, "700", "names_only"),
        (400, "700", "omitted"),
    ] {
        let place = many(number_of_skills, 10);
        let shown = listing(&place, &["--budget-chars", budget]);
        assert!(number(&shown[form]) > 0, "{form}: {shown}");
        assert!(number(&shown["chars"]) <= budget.parse().unwrap(), "{form}: {shown}");
        let forms = ["full", "shortened", "names_only", "omitted"];
        let sum: u64 = forms.iter().map(|form| number(&shown[form])).sum();
        assert_eq!(sum, number_of_skills as u64, "{form}: {shown}");
        let text = shown["text"].as_str().unwrap();
        let omitted = number(&shown["omitted"]);
        assert!(omitted == 0 || text.contains(&omitted.to_string()), "{form}: {text}");
    }
}

#[test]
fn c06_a_second_turn_shows_only_what_is_new() {
    let place = Place::harbour();
    let session = place.session();
    let turn = || place.json(&["session", "turn", &session]);
    assert!(number(&turn()["tokens"]) > 0);
    assert_eq!(turn()["text"], "");
    place.add(
        "//- skills/ferry/SKILL.md\n---\nname: ferry\ndescription: Times of the ferry.\n---\nEvery hour.\n",
    );
    let third = turn();
    let text = third["text"].as_str().unwrap();
    assert!(text.contains("ferry") && text.contains("Times of the ferry."), "{text}");
    assert!(!text.contains("tides") && !text.contains("logbook"), "{text}");
    assert_eq!(turn()["tokens"], 0);
}

#[test]
fn c07_a_resumed_session_is_not_sent_the_index_again() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session]).exits(0);
    place.run(&["session", "resume", &session]).exits(0);
    assert_eq!(place.json(&["session", "turn", &session])["tokens"], 0);
}

#[test]
fn c08_after_a_fold_the_index_is_there_once() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session, "Hello"]).exits(0);
    place.run(&["session", "compact", &session]).exits(0);
    place.run(&["session", "turn", &session]).exits(0);
    let shown = place.run(&["session", "render", &session]).exits(0);
    for id in names(&place.json(&["skill", "list", "--for", "model"])["skills"], "id") {
        assert_eq!(shown.out.matches(&format!("\n- {id}:")).count(), 1, "{id} in {}", shown.out);
    }
}

#[test]
fn c09_a_few_skills_are_listed_whole() {
    let place = many(3, 5);
    let shown = listing(&place, &[]);
    assert_eq!(number(&shown["full"]), 3, "{shown}");
    let why = place.run(&["explain", "skill:s001", "--root", "skills"]).exits(0);
    why.shows(&["listing.inline_tokens", "the index shows it as: - s001:"]);
}

#[test]
fn c10_a_skill_has_a_size_and_a_way_to_be_shown() {
    let place = Place::new();
    for (name, lines) in [("small", 10), ("medium", 600), ("large", 3_000)] {
        let body = "Look at the lines of the ship.\n".repeat(lines);
        let file = format!(
            "//- skills/{name}/SKILL.md\n---\nname: {name}\ndescription: A {name} one.\n---\n{body}"
        );
        write(&place.work(), &file);
        let done = place.run(&["explain", &format!("skill:{name}")]).exits(0);
        let way = match name {
            "small" => "may be inlined",
            "medium" => "on demand",
            _ => "by section or by page",
        };
        done.shows(&[&format!("SIZE_CLASS {name}, "), way]);
    }
}

#[test]
fn c11_an_unknown_skill_is_an_error_that_names_the_nearest() {
    let place = Place::harbour();
    let done = place.run(&["open", "skill:tide"]).exits(4).fails_clearly("NOT_FOUND");
    done.says(&["there is no skill:tide", "skill:tides"]);
    // What the model may not see is not named to it.
    let done = place.run(&["open", "skill:berth", "--as", "model"]).exits(4);
    assert!(!done.err.contains("berths"), "{}", done.err);
}
