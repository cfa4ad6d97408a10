//! What a SKILL.md says, as the commands show it.

use crate::kit::{Place, names, write};

#[test]
fn a01_a_skill_is_frontmatter_for_programs_and_a_body_for_the_model() {
    let place = Place::with(
        "//- skills/ferry/SKILL.md\n---\nname: ferry\ndescription: Times of the ferry.\n---\n# Ferry\n\nEvery hour.\n",
    );
    place.run(&["skill", "check", "skills"]).exits(0).shows(&["1 skill: 1 fine"]);
    let meta = place.run(&["skill", "show", "ferry", "--part", "meta"]).exits(0);
    assert_eq!(meta.out, "name: ferry\ndescription: Times of the ferry.\n");
    let body = place.run(&["skill", "show", "ferry", "--part", "body"]).exits(0);
    assert_eq!(body.out, "# Ferry\n\nEvery hour.\n");
}

#[test]
fn a01_the_frontmatter_is_exactly_what_stands_between_the_fences() {
    let yaml = "name: ferry\ndescription: Times of the ferry.\n";
    for (style, file) in [
        ("usual", format!("---\n{yaml}---\nBody.\n")),
        ("blanks behind", format!("---  \n{yaml}--- \nBody.\n")),
        ("a list at the end", format!("---\n{yaml}---\n- one\n- two\n")),
        ("carriage returns", format!("---\n{yaml}---\nBody.\n").replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}---\n{yaml}---\nBody.\n")),
        ("long dashes", format!("-----\n{yaml}-----\nBody.\n")),
        ("dots at the end", format!("---\n{yaml}...\nBody.\n")),
        ("a code fence", format!("```yaml\n{yaml}```\nBody.\n")),
    ] {
        let place = Place::new();
        write(&place.work(), "//- skills/ferry/SKILL.md\n");
        std::fs::write(place.work().join("skills/ferry/SKILL.md"), &file).unwrap();
        let meta = place.run(&["skill", "show", "ferry", "--part", "meta"]).exits(0);
        assert_eq!(meta.out, yaml, "{style}");
    }
    let place = Place::with("//- skills/ferry/SKILL.md\n# Ferry\n\nEvery hour.\n");
    let meta = place.run(&["skill", "show", "ferry", "--part", "meta"]).exits(0);
    assert_eq!(meta.out, "", "no frontmatter");
}

#[test]
fn a02_two_skills_of_one_name_are_both_named() {
    let place = Place::with(
        "//- skills/a/SKILL.md\n---\nname: ferry\ndescription: One.\n---\nOne.\n\
         //- skills/b/SKILL.md\n---\nname: ferry\ndescription: Two.\n---\nTwo.\n",
    );
    let done = place.run(&["skill", "check", "skills"]).exits(1);
    done.shows(&["skills/a/SKILL.md", "skills/b/SKILL.md", "NAME_TAKEN"]);
}

#[test]
fn a02_a_name_that_the_standard_does_not_allow_fails_strictly() {
    let place = Place::with(
        "//- skills/ferry/SKILL.md\n---\nname: Ferry Boat!\ndescription: Boats.\n---\nBody.\n",
    );
    place.run(&["skill", "check", "--strict", "skills"]).exits(1).shows(&["SKILL.md:2"]);
}

#[test]
fn a03_a_skill_without_a_description_is_listed_to_people_only() {
    let place = Place::harbour();
    let listed = |who| names(&place.json(&["skill", "list", "--for", who])["skills"], "id");
    assert!(!listed("model").contains(&"quiet".to_owned()));
    assert!(listed("user").contains(&"quiet".to_owned()));
}

#[test]
fn a04_what_a_person_may_open_and_what_the_model_sees_are_two_things() {
    let place = Place::harbour();
    place.run(&["open", "skill:quiet", "--as", "user"]).exits(0);
    place.run(&["open", "skill:quiet", "--as", "model"]).exits(3).fails_clearly("NO_DESCRIPTION");
    place.run(&["open", "skill:inspection", "--as", "model"]).exits(0);
    place
        .run(&["open", "skill:inspection", "--as", "user"])
        .exits(3)
        .fails_clearly("USER_DISABLED");
}

#[test]
fn a05_when_to_use_stands_beside_the_description() {
    let place = Place::harbour();
    let listing = place.run(&["skill", "list", "--render"]).exits(0);
    listing.shows(&["- tides: Reads tide tables", "A ship asks when it can pass the bar."]);
}

#[test]
fn a06_a_skill_closed_to_the_model_stays_closed_after_a_resume() {
    let place = Place::harbour();
    let listed = names(&place.json(&["skill", "list", "--for", "model"])["skills"], "id");
    assert!(!listed.contains(&"berths".to_owned()));
    let session = place.session();
    for _ in 0..2 {
        let open = ["open", "skill:berths", "--as", "model", "--session", &session];
        place.run(&open).exits(3).fails_clearly("MODEL_DISABLED");
        place.run(&["session", "resume", &session]).exits(0);
    }
    let turn = place.run(&["session", "turn", &session]).exits(0);
    assert!(!turn.out.contains("berths"), "{}", turn.out);
}

#[test]
fn a07_missing_argument_is_refused_with_a_pointer() {
    let place = Place::harbour();
    let done = place.run(&["open", "skill:tides", "--args", "{}", "--json"]).exits(2);
    let error = &done.json()["error"];
    assert_eq!(error["code"], "BAD_ARGUMENTS");
    assert!(error["message"].as_str().unwrap().contains("/port: is required"), "{error}");
}

#[test]
fn a07_a_value_outside_the_enum_is_refused_and_a_default_is_filled_in() {
    let place = Place::harbour();
    let wrong = place.run(&["open", "skill:tides", "--args", r#"{"port": "west"}"#]).exits(2);
    wrong.says(&["/port", "\"north\"", "\"south\""]);
    let right = place.json(&["open", "skill:tides", "--args", r#"{"port": "north"}"#, "--dry-run"]);
    assert!(right["text"].as_str().unwrap().contains("a draught of 4.5 metres"), "{right}");
}

#[test]
fn a08_arguments_are_put_in_only_when_a_skill_is_opened() {
    let place = Place::harbour();
    let session = place.session();
    let open =
        ["open", "skill:logbook", "--args", "Aurora late", "--dry-run", "--session", &session];
    let directory = place.work().join("skills/logbook");
    place.run(&open).exits(0).shows(&[
        "Enter: Aurora late",
        &format!("Kept in {} by session {session}.", directory.display()),
    ]);
    let shown = place.run(&["skill", "show", "logbook"]).exits(0);
    shown.shows(&["Enter: $ARGUMENTS", "${SKILL_DIR}", "${SESSION_ID}"]);
}

#[test]
fn a10_metadata_is_kept() {
    let place = Place::harbour();
    let shown = place.json(&["skill", "show", "tides"]);
    assert_eq!(shown["metadata"]["author"], "Harbour office");
    assert_eq!(shown["metadata"]["updated"], "2026-05-01");
}

#[test]
fn a12_what_a_skill_changes_is_carried_and_ends_with_it() {
    let place = Place::harbour();
    let opened = place.json(&["open", "skill:pilots"]);
    assert_eq!((opened["model"].as_str(), opened["effort"].as_str()), (Some("small"), Some("low")));
    let session = place.session();
    let open = ["open", "skill:tides", "--args", r#"{"port": "north"}"#, "--session", &session];
    let opened = place.json(&open);
    assert_eq!(opened["allowed_tools"], serde_json::json!(["clock", "Read"]));
    place.run(&["call", "clock", "--session", &session]).exits(0).shows(&["06:00"]);
    place.run(&["close", "skill:tides", "--session", &session]).exits(0);
    place.run(&["call", "clock", "--session", &session]).exits(3);
}

#[test]
fn a14_a_skill_that_forks_says_so() {
    let place = Place::harbour();
    assert_eq!(place.json(&["skill", "show", "pilots"])["context"], "fork");
    assert_eq!(place.json(&["skill", "show", "tides"])["context"], "inline");
}
