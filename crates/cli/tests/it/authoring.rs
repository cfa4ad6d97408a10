//! What an author is told: findings, advice, versions, and the same for code hosts.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use concertina_format::parameters::check_schema;
use serde_json::{Value, json};

use crate::kit::{Place, skill, write};

const BERTHS: &str = "name: berths\ndescription: Assigns a berth to an arriving ship and writes it \
    into the berth plan. Use when a ship asks where to moor. Not for pilots or departures.";

const STEPS: &str = "# Assign a berth\n\n1. Read the length and the draught of the ship.\n\
    2. List the berths that are deep enough.\n3. Write ship and berth into the plan.\n\n\
    ## Output\n\nOne line: ship, berth, time.\n\nNever assign a berth that is occupied.";

/// The codes of everything that `skill check` says about `paths`.
fn codes(place: &Place, paths: &[&str]) -> Vec<String> {
    let checked = place.run(&[&["skill", "check", "--json"], paths].concat()).json();
    let skills = checked["skills"].as_array().unwrap();
    let found = skills.iter().flat_map(|one| one["diagnostics"].as_array().unwrap());
    found.map(|found| found["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a17_a_vague_description_and_a_missing_negative_are_said_and_a_good_one_is_left_alone() {
    let place = Place::new();
    let vague = skill("skills/vague", "name: vague\ndescription: Helps with stuff.", STEPS);
    write(&place.work(), &[vague, skill("skills/berths", BERTHS, STEPS)].concat());
    let found = codes(&place, &["skills/vague"]);
    for code in ["DESCRIPTION_VAGUE", "NO_NEGATIVE_CLAUSE"] {
        assert!(found.iter().any(|known| known == code), "{code} in {found:?}");
    }
    assert_eq!(codes(&place, &["skills/berths"]), [""; 0]);
}

#[test]
fn a17_descriptions_that_nearly_say_the_same_are_named_with_a_score() {
    let place = Place::new();
    let twin = BERTHS.replace("name: berths", "name: moorings").replace("arriving", "incoming");
    let files = [skill("skills/berths", BERTHS, STEPS), skill("skills/moorings", &twin, STEPS)];
    write(&place.work(), &files.concat());
    let done = place.run(&["skill", "check", "skills"]).exits(0);
    done.shows(&["`berths` and `moorings`", "score 0.", "[SIMILAR_DESCRIPTIONS]"]);
}

#[test]
fn a18_a_body_of_prose_gets_codes_and_one_of_steps_gets_none() {
    let place = Place::new();
    let prose = "It can be good to think about the tide and about the wind, and to remember what \
        happened the last time that a ship of this size lay here. "
        .repeat(6);
    let prose = skill("skills/prose", &BERTHS.replace("name: berths", "name: prose"), &prose);
    write(&place.work(), &[prose, skill("skills/berths", BERTHS, STEPS)].concat());
    let found = codes(&place, &["skills/prose"]);
    for code in ["NO_STEPS", "NO_OUTPUT_FORMAT", "NO_CLOSING_CONSTRAINT"] {
        assert!(found.iter().any(|known| known == code), "{code} in {found:?}");
    }
    assert_eq!(codes(&place, &["skills/berths"]), [""; 0]);
    // Advice changes no exit code, however strict the reading.
    place.run(&["skill", "check", "skills/prose"]).exits(0);
    place.run(&["skill", "check", "skills/prose", "--strict"]).exits(0);
}

#[test]
fn a09_content_that_changed_under_the_same_version_is_said() {
    let place = Place::new();
    let at = |version: &str, body: &str| {
        let keys = format!("{BERTHS}\nversion: {version}");
        write(&place.work(), &skill("skills/berths", &keys, body));
    };
    let check = |more: &[&str]| place.run(&[&["skill", "check", "skills"], more].concat());
    at("1.0.0", STEPS);
    check(&[]).exits(0);
    at("1.0.0", &STEPS.replace("deep", "long"));
    for _ in 0..2 {
        let told = check(&[]).exits(0);
        told.shows(&["content changed, version same", "[VERSION_SAME]"]);
    }
    check(&["--strict"]).exits(1);
    at("1.1.0", &STEPS.replace("deep", "long"));
    let quiet = check(&["--strict"]).exits(0);
    assert!(!quiet.out.contains("VERSION_SAME"), "{}", quiet.out);
}

/// What SARIF 2.1.0 requires of a log, as far as this one goes.
fn sarif_schema() -> Value {
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let text = || json!({"type": "string"});
    let position = || json!({"type": "integer", "minimum": 1});
    let region =
        object(json!({"startLine": position(), "startColumn": position()}), &["startLine"]);
    let artifact = object(json!({"uri": text()}), &["uri"]);
    let place =
        object(json!({"artifactLocation": artifact, "region": region}), &["artifactLocation"]);
    let locations = json!({"type": "array", "items": object(json!({"physicalLocation": place}), &["physicalLocation"])});
    let result = object(
        json!({
            "ruleId": text(), "level": {"enum": ["none", "note", "warning", "error"]},
            "message": object(json!({"text": text()}), &["text"]), "locations": locations,
        }),
        &["message", "ruleId", "level", "locations"],
    );
    let rule = object(json!({"id": text()}), &["id"]);
    let driver =
        object(json!({"name": text(), "rules": {"type": "array", "items": rule}}), &["name"]);
    let run = object(
        json!({"tool": object(json!({"driver": driver}), &["driver"]), "results": {"type": "array", "items": result}}),
        &["tool", "results"],
    );
    object(
        json!({"version": {"enum": ["2.1.0"]}, "$schema": text(), "runs": {"type": "array", "items": run}}),
        &["version", "runs"],
    )
}

#[test]
fn sarif_holds_what_its_standard_requires() {
    let place = Place::new();
    let files = [
        skill("skills/vague", "name: vague\ndescription: Helps: with stuff.", "Help."),
        "//- skills/empty/SKILL.md\n".to_owned(),
    ];
    write(&place.work(), &files.concat());
    let done = place.run(&["skill", "check", "skills", "--sarif"]).exits(1);
    let log = done.json();
    assert!(check_schema(&sarif_schema(), &log).is_empty(), "{log:#}");
    let run = &log["runs"][0];
    let rules: Vec<&Value> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| &rule["id"]).collect();
    let results = run["results"].as_array().unwrap();
    assert!(results.iter().all(|result| rules.contains(&&result["ruleId"])), "{log:#}");
    let levels: Vec<&Value> = results.iter().map(|result| &result["level"]).collect();
    assert!(levels.contains(&&json!("error")) && levels.contains(&&json!("warning")), "{levels:?}");
}

#[test]
fn watching_checks_again_when_a_file_changes_and_stops_when_told() {
    let place = Place::new();
    write(&place.work(), &skill("skills/berths", BERTHS, STEPS));
    let mut child = place
        .command(&["skill", "check", "skills", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (send, lines) = std::sync::mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        out.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
    });
    let wait_for = |text: &str| {
        while let Ok(line) = lines.recv_timeout(Duration::from_secs(20)) {
            if line.contains(text) {
                return true;
            }
        }
        false
    };
    let first = wait_for("1 skill: 1 fine");
    write(&place.work(), "//- skills/empty/SKILL.md\n");
    let second = wait_for("2 skills: 1 fine");
    let stop = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(stop.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1), "what was found last decides");
    assert!(first && second, "first {first}, after a change {second}");
}

#[test]
fn a16_skills_that_require_each_other_are_rejected_and_a_plan_knows_every_step() {
    let skill = |name: &str, needs: &str| {
        format!(
            "//- skills/{name}/SKILL.md\n---\nname: {name}\ndescription: Is {name}.\nrequires: [{needs}]\n---\nDo.\n"
        )
    };
    let place = Place::with(
        &[skill("a", "b"), skill("b", "c"), skill("c", "a"), skill("d", "d"), skill("e", "nope")]
            .concat(),
    );
    let checked = place.run(&["skill", "check", "skills"]).exits(1);
    let text = [checked.out, checked.err].concat();
    assert_eq!(text.matches("REQUIRES_CYCLE").count(), 4, "{text}");
    assert!(text.contains("a → b → c → a"), "{text}");
    place.run(&["skill", "plan", "e"]).exits(4).fails_clearly("NOT_FOUND");
    place.run(&["skill", "plan", "a"]).exits(1).fails_clearly("REQUIRES_CYCLE");
}
