//! Who may see a skill, on every way to it: the list, the search, opening, explaining, the index.

use serde_json::{Value, json};

use crate::kit::{Place, names};

/// Whether `who` reaches `skill` by each of the ways there are: list, find, open, explain.
fn ways(place: &Place, skill: &str, about: &str, who: &str) -> [bool; 4] {
    let reference = format!("skill:{skill}");
    let hits = |found: &Value| {
        [names(&found["hits"], "ref"), names(&found["nearest"], "ref")]
            .concat()
            .contains(&reference)
    };
    [
        place.listed(who).iter().any(|id| id == skill),
        hits(&place.json(&["find", about, "--as", who])),
        place.run(&["open", &reference, "--as", who]).code == 0,
        place.json(&["explain", &reference, "--as", who])["visible"] == json!(true),
    ]
}

#[test]
fn a04_a_skill_without_a_description_is_for_people_on_every_way() {
    let place = Place::harbour();
    let [listed, _, opened, explained] = ways(&place, "quiet", "quiet", "user");
    assert!(listed && opened && explained);
    assert_eq!(ways(&place, "quiet", "quiet", "model"), [false; 4]);
    let refused = place.run(&["open", "skill:quiet", "--as", "model"]).exits(3);
    refused.fails_clearly("NO_DESCRIPTION");
}

#[test]
fn a06_each_flag_closes_every_way_to_one_of_the_two() {
    let place = Place::harbour();
    for (skill, about, open_to, closed_to, code) in [
        ("berths", "assigns berths", "user", "model", "MODEL_DISABLED"),
        ("inspection", "inspects a ship", "model", "user", "USER_DISABLED"),
    ] {
        assert_eq!(ways(&place, skill, about, open_to), [true; 4], "{skill} as {open_to}");
        assert_eq!(ways(&place, skill, about, closed_to), [false; 4], "{skill} as {closed_to}");
        let open = ["open", &format!("skill:{skill}"), "--as", closed_to];
        place.run(&open).exits(3).fails_clearly(code);
    }
}

#[test]
fn a06_a_part_is_as_closed_as_its_skill_also_after_a_resume() {
    let place = Place::harbour();
    let session = place.session();
    for _ in 0..2 {
        for reference in ["skill:berths", "skill:berths#body", "skill:berths@1-2"] {
            let open = ["open", reference, "--as", "model", "--session", &session];
            place.run(&open).exits(3).fails_clearly("MODEL_DISABLED");
        }
        let find = ["find", "harbour", "--in", "skill:berths", "--session", &session];
        assert_ne!(place.run(&find).code, 0);
        let turn = place.run(&["session", "turn", &session]).exits(0);
        assert!(!turn.out.contains("berths"), "{}", turn.out);
        place.run(&["session", "resume", &session]).exits(0);
    }
}

#[test]
fn a06_a_tool_of_a_closed_skill_stays_closed_and_does_not_name_it_to_the_model() {
    let skill = "//- skills/crane/SKILL.md\n---\nname: crane\ndescription: Lifts.\n\
        disable-model-invocation: true\npermissions: {tools: [hoist]}\n---\nLift.\n";
    let tool = "//- concertina.toml\n[tool.hoist]\ndescription = \"Hoists.\"\n\
        argv = [\"/bin/echo\", \"up\"]\nneeds_skill = true\n";
    let place = Place::with(&[skill, tool].concat());
    let session = place.session();
    let call = || place.run(&["call", "hoist", "--as", "model", "--session", &session]);
    let refused = call().exits(3).fails_clearly("NOT_VISIBLE");
    assert!(!refused.err.contains("crane"), "{}", refused.err);
    place.run(&["open", "skill:crane", "--session", &session]).exits(0);
    call().exits(0).shows(&["up"]);
}

#[test]
fn report_b61_a_person_opens_what_the_model_may_not_and_the_session_goes_on() {
    let place = Place::harbour();
    let session = place.session();
    place.run(&["session", "turn", &session, "Where does Aurora berth?"]).exits(0);
    place.run(&["open", "/berths", "--as", "user", "--session", &session]).exits(0);
    place.run(&["session", "render", &session]).exits(0).shows(&["Only the harbour master"]);
    let open = ["open", "skill:berths", "--as", "model", "--session", &session];
    place.run(&open).exits(3).fails_clearly("MODEL_DISABLED");
}

#[test]
fn report_b85_what_a_person_opens_is_on_record_as_what_the_model_opens() {
    let place = Place::harbour();
    for who in ["user", "model"] {
        let session = place.session();
        place.run(&["session", "turn", &session, "Log it."]).exits(0);
        place.run(&["open", "skill:logbook", "--as", who, "--session", &session]).exits(0);
        let refused = ["open", "skill:nowhere", "--as", who, "--session", &session];
        place.run(&refused).exits(4);
        let shown = place.json(&["session", "show", &session]);
        let turn = &shown["turns"][0];
        assert!(turn["disclosed"]["skills"].to_string().contains("logbook"), "{who}: {turn}");
        assert_eq!(turn["decisions"][0]["code"], "NOT_FOUND", "{who}: {turn}");
    }
}
