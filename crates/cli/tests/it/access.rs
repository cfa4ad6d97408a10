//! Who may see a skill, on every way to it: the list, the search, opening, explaining, the index.

use serde_json::{Value, json};

use crate::kit::{Place, names, write};

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

/// A skill that reads what its parameters name, and what else a workspace needs for it.
fn scoped() -> Place {
    Place::with(
        "//- skills/scoped/SKILL.md\n---\nname: scoped\ndescription: Reads orders.\nversion: 1.0.0\n\
         parameters:\n  type: object\n  properties: {order: {type: string}, host: {type: string}}\n\
         permissions:\n  read: [\"orders/${order}/**\", \"${order}.csv\", \"${skill_dir}/**\"]\n  execute: [\"cat ${order} *\", \"ls ${skill_dir}/note\"]\n\
         \x20 tools: [\"db/${order}\"]\n  network: {domains: [\"${host}.example.com\"]}\n---\nRead.\n\
         //- skills/scoped/note\nn\n//- orders/17/a\nseventeen\n//- orders/18/a\neighteen\n",
    )
}

#[test]
fn k03_k07_a_value_opens_what_it_names_and_never_more() {
    let place = scoped();
    for value in ["", ".", "./", "/", "/etc", "..", "17/../18", "*", "-R", "1?", "/root"] {
        let session = place.session();
        let arguments = json!({"order": value, "host": "api"}).to_string();
        for who in ["model", "user"] {
            let open = ["open", "skill:scoped", "--args", &arguments, "--as", who, "--yes"];
            let open = [&open[..], &["--session", &session]].concat();
            place.run(&open).exits(3).fails_clearly("VALUE_REFUSED");
        }
        let call = ["call", "command/scoped", r#"{"command":"cat /etc/shadow x"}"#];
        place.run(&[&call[..], &["--session", &session]].concat()).exits(3);
    }
    let opened = place.json(&["open", "skill:scoped", "--args", r#"{"order":"a b;c"}"#]);
    let permissions = &opened["permissions"];
    assert_eq!(permissions["read"][0]["paths"][0], "orders/a b;c/**");
    assert_eq!(permissions["execute"][0], "cat 'a b;c' *");
    assert_eq!(permissions["tools"], json!(["db/a b;c"]));
    assert_eq!(permissions["network"][0]["domains"], json!([]), "a host that was not given");
    let note = permissions["execute"][1].as_str().unwrap();
    assert!(note.starts_with("ls /") && note.ends_with("skills/scoped/note"), "{note}");
}

#[test]
fn k08_a_question_about_a_skill_is_about_its_arguments_and_all_that_it_needs() {
    let place = scoped();
    let session = place.session();
    let open = |order: &str| {
        let arguments = json!({"order": order}).to_string();
        let open = ["open", "skill:scoped", "--as", "model", "--session", &session, "--args"];
        let refused = place.run(&[&open[..], &[&arguments]].concat());
        (refused.code, refused.err)
    };
    assert_eq!(open("17").0, 3);
    let asked = place.json(&["approve", "list"])["approvals"][0].clone();
    let action = asked["action"].as_str().unwrap();
    for part in [r#"with: {"order":"17"}"#, "needs: to read orders/17/**", "needs: to call db/17"] {
        assert!(action.contains(part), "{part} in {action}");
    }
    place.run(&["approve", "grant", asked["id"].as_str().unwrap()]).exits(0);
    let other = open("18");
    assert!(other.0 == 3 && other.1.contains("APPROVAL_NEEDED"), "{other:?}");
    assert_eq!(open("17").0, 0);
}

#[test]
fn a11_what_cannot_be_declared_is_said_by_the_check_and_opens_nothing() {
    for (declared, code) in [
        ("write: [\"/\"]", "WRITE_TOO_WIDE"),
        ("write: [\"~\"]", "WRITE_TOO_WIDE"),
        ("write: [\"~/.local/state/concertina/**\"]", "COVERS_PROTECTED"),
        ("read: [\"~/.local/state/concertina/keys/k\"]", "COVERS_PROTECTED"),
        ("write: [\"out/*.csv\"]", "WRITE_NOT_DIRECTORY"),
        ("network: {domains: [\"*\"]}", "NETWORK_EVERYTHING"),
        ("network: {domains: [\"*.com\"]}", "NETWORK_TOP_LEVEL"),
        ("execute: [\"a; b\"]", "BAD_COMMAND"),
        ("execute: [\"*\"]", "BAD_COMMAND"),
        ("read: [\"${nobody}/**\"]", "UNKNOWN_VARIABLE"),
    ] {
        let place = Place::with(&format!(
            "//- skills/wide/SKILL.md\n---\nname: wide\ndescription: Does too much.\nversion: 1.0.0\npermissions: {{{declared}}}\n---\nDo.\n"
        ));
        let checked = place.run(&["skill", "check", "skills", "--json"]).exits(1);
        let checked: Value = serde_json::from_str(&checked.out).unwrap();
        let skill = &checked["skills"][0];
        assert_eq!(skill["status"], "rejected", "{declared}");
        let codes = names(&skill["diagnostics"], "code");
        assert!(codes.contains(&code.to_owned()), "{declared}: {codes:?}");
        // The state of this test lies elsewhere.
        if code == "COVERS_PROTECTED" {
            continue;
        }
        for (who, code) in [("model", "SECURITY_KEY_UNREADABLE"), ("user", "BAD_PERMISSIONS")] {
            let open = ["open", "skill:wide", "--as", who];
            place.run(&open).exits(3).fails_clearly(code);
        }
    }
}

#[test]
fn s54_a_rule_about_opening_a_skill_holds_for_its_parts() {
    let place = Place::with(
        "//- skills/beta/SKILL.md\n---\nname: beta\ndescription: Has parts.\n---\n# Beta\n\nText.\n\
         //- skills/beta/refs/k.md\nkept\n",
    );
    for rule in ["deny = [\"Skill(beta)\"]", "ask = [\"Skill(beta)\"]", "deny = [\"skill:beta\"]"] {
        let settings = format!("//- .config/concertina/concertina.toml\n[policy]\n{rule}\n");
        write(&place.home(), &settings);
        for reference in ["skill:beta", "skill:beta#beta", "skill:beta#refs/k.md", "skill:beta@1-2"]
        {
            let refused = place.run(&["open", reference, "--as", "model"]).exits(3);
            assert!(!refused.out.contains("kept") && !refused.out.contains("Text"), "{reference}");
        }
    }
}
