//! What a workspace brings is somebody else's until a person trusts it.

use std::fs;

use crate::kit::{Place, repository, skill};

fn buoy(body: &str) -> String {
    skill("skills/buoy", "name: buoy\ndescription: Sets buoys.", body)
}

#[test]
fn report_b67_skills_of_a_workspace_that_nobody_trusts_are_for_people_only() {
    let place = Place::strange_harbour();
    assert_eq!(place.listed("model"), ["write-a-skill"]);
    assert!(place.listed("user").contains(&"tides".to_owned()));
    let session = place.session();
    let turn = place.run(&["session", "turn", &session]).exits(0);
    assert!(!turn.out.contains("logbook"), "{}", turn.out);
    turn.says(&["concertina trust", "[UNTRUSTED]"]);
    let open = ["open", "skill:logbook", "--as", "model", "--session", &session];
    place.run(&open).exits(3).fails_clearly("UNTRUSTED").says(&["then: concertina trust"]);
    place.run(&["skill", "list"]).exits(0).shows(&["user (waits for trust)"]);
    place.run(&["explain", "skill:logbook"]).exits(0).shows(&["visible no", "UNTRUSTED"]);
    let found = place.run(&["find", "harbour log"]).exits(0);
    assert!(!found.out.contains("logbook"), "{}", found.out);
    // A person may use their eyes, and the tools stay closed.
    let args = r#"{"port": "north"}"#;
    place.run(&["open", "skill:tides", "--args", args, "--session", &session]).exits(0);
    place.run(&["call", "clock", "--session", &session]).exits(3).says(&["nobody has trusted"]);
}

#[test]
fn case_x06_trust_holds_for_the_content_that_was_seen() {
    let place = Place::with(&[&buoy("Red."), "//- skills/buoy/chart.md\nHere.\n"].concat());
    let open = || place.run(&["open", "skill:buoy", "--as", "model"]);
    assert!(place.lists("buoy"));
    open().exits(0);
    fs::write(place.work().join("skills/buoy/chart.md"), "Elsewhere.\n").unwrap();
    open().exits(3).fails_clearly("UNTRUSTED");
    let chart = ["open", "skill:buoy#chart.md", "--as", "model"];
    place.run(&chart).exits(3).fails_clearly("UNTRUSTED");
    place.trust();
    place.run(&chart).exits(0).shows(&["Elsewhere."]);
    crate::kit::write(&place.work(), &buoy("Green."));
    assert!(!place.lists("buoy"), "its file changed");
    place.trust();
    open().exits(0).shows(&["Green."]);
}

/// Every file below `directory`.
fn everything(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { everything(&path, found) } else { found.push(path) }
    }
}

#[test]
fn k12_what_is_trusted_is_kept_without_its_secrets_and_compared_with_them() {
    const SECRETS: [&str; 3] =
        ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "hunter2-hunter2", "Sup3r-s3cret-0ne"];
    let [token, password, other] = SECRETS;
    let files = |token: &str, port: u32| {
        format!(
            "{}//- skills/buoy/notes.md\npassword={password}\n\
             //- concertina.toml\n[tool.say]\nkind = \"exec\"\ndescription = \"Says.\"\nargv = [\"bash\", \"say.sh\"]\n\
             //- say.sh\nexport API_KEY={other}\necho {port}\n\
             //- .mcp.json\n{{\"mcpServers\": {{\"x\": {{\"command\": \"/bin/true\", \"env\": {{\"GITHUB_TOKEN\": \"{token}\"}}}}}}}}\n",
            buoy("Red.")
        )
    };
    let place = Place::with(&files(token, 1));
    let holds_none = || {
        let mut found = Vec::new();
        everything(&place.state(), &mut found);
        for file in found {
            let bytes = fs::read(&file).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for secret in SECRETS {
                assert!(!text.contains(secret), "{secret} in {}", file.display());
            }
        }
    };
    holds_none();
    let diff = place.run(&["trust", "--diff"]);
    assert!(!diff.out.contains("is not what you trusted"), "{}", diff.out);
    assert!(place.lists("buoy"), "what was trusted is compared as it is");
    let changed = token.replace("ghp_0", "ghp_9");
    crate::kit::write(&place.work(), &files(&changed, 2));
    let diff = place.run(&["trust", "--diff"]).out;
    assert!(diff.contains("[redacted:") && diff.contains("echo 2"), "{diff}");
    assert!(!diff.contains(&changed) && !diff.contains(token), "{diff}");
    place.trust();
    holds_none();
}

#[test]
fn trust_is_taken_back_and_listed() {
    let place = Place::with(&buoy("Red."));
    place.run(&["trust", "--list"]).exits(0).shows(&["trusted", "skill:buoy"]);
    place.run(&["trust", "--undo"]).exits(0).shows(&["1 file"]);
    place.run(&["trust", "--list"]).exits(0).shows(&["waits", "skill:buoy"]);
    assert!(!place.lists("buoy"));
    place.run(&["trust", "nowhere"]).exits(4).fails_clearly("NOT_FOUND");
}

#[test]
fn trust_in_one_skill_covers_no_other() {
    let other = skill("skills/crane", "name: crane\ndescription: Lifts.", "Lift.");
    let place = Place::strange(&[buoy("Red."), other].concat());
    place.run(&["trust", "skills/buoy"]).exits(0);
    assert_eq!((place.lists("buoy"), place.lists("crane")), (true, false));
    place.trust();
    assert!(place.lists("crane"));
}

#[test]
fn what_to_trust_can_be_named_from_anywhere() {
    for path in ["../work/skills/buoy", "../work/./skills/../skills/buoy/SKILL.md", "../work"] {
        let place = Place::strange(&buoy("Red."));
        let mut trust = place.command(&["trust", path]);
        trust.current_dir(place.home());
        crate::kit::done(trust).exits(0).shows(&["trusted ", "work/skills/buoy/SKILL.md"]);
        assert!(place.lists("buoy"), "{path}");
    }
}

#[test]
fn a_record_of_trust_that_cannot_be_read_trusts_nothing() {
    let place = Place::with(&buoy("Red."));
    fs::write(place.state().join("trust.json"), "{\"v\": 1, \"files\": ").unwrap();
    let list = place.run(&["skill", "list", "--for", "model"]).exits(0).says(&["TRUST_UNREADABLE"]);
    assert!(!list.out.contains("buoy"), "{}", list.out);
    place.trust();
    assert!(place.lists("buoy"));
}

#[test]
fn whoever_names_a_directory_answers_for_it() {
    let place = Place::strange(&buoy("Red."));
    let model = ["open", "skill:buoy", "--as", "model", "--root", "skills"];
    place.run(&model).exits(0).shows(&["Red."]);
    let example = repository("examples/sql-assistant");
    let done = place.run(&["run", example.to_str().unwrap()]).exits(0);
    assert!(!done.err.contains("UNTRUSTED"), "{}", done.err);
}

#[test]
fn report_b59_what_a_rule_denies_is_not_advertised() {
    let secret = skill("skills/vault", "name: vault\ndescription: Opens the vault.", "Open it.");
    let rules = "//- concertina.toml\n[policy]\ndeny = [\"skill:vault\"]\n";
    let place = Place::with(&[&buoy("Red."), &secret, rules].concat());
    let session = place.session();
    let turn = place.run(&["session", "turn", &session]).exits(0).shows(&["buoy"]);
    let find = place.run(&["find", "opens the vault"]).exits(0);
    for shown in [turn.out, find.out, place.listed("model").join(" ")] {
        assert!(!shown.contains("vault"), "{shown}");
    }
    place.run(&["open", "skill:vault"]).exits(3);
    place.run(&["explain", "skill:vault"]).exits(0).shows(&["skill:vault"]);
}

const MARK: &str = "//- concertina.toml\n[tool.mark]\nargv = [\"touch\", \"made\"]\n";

#[test]
fn a_named_root_does_not_vouch_for_the_settings_of_the_workspace() {
    let place = Place::strange(
        &[MARK, &skill("other/buoy", "name: buoy\ndescription: Sets buoys.", "Red.")].concat(),
    );
    place.run(&["call", "mark", "--root", "other"]).exits(3).says(&["nobody has trusted"]);
    assert!(!place.work().join("made").exists());
    place.run(&["trust", "."]).exits(0);
    place.run(&["call", "mark", "--root", "other"]).exits(0);
    assert!(place.work().join("made").exists());
}

#[test]
fn run_vouches_only_for_a_directory_that_is_named() {
    let script = r#"{"script":"v1","label":"x","dialogues":[{"turns":[
        {"say":"a","calls":[{"name":"call","arguments":{"tool":"mark"}}]},{"say":"b"}]}]}"#;
    let run = "[run]\ntask = \"x\"\nmodel = \"scripted:m.json\"\n";
    let place = Place::strange(&format!("{MARK}{run}//- m.json\n{script}\n"));
    place.run(&["run"]).exits(0);
    assert!(!place.work().join("made").exists());
    place.run(&["run", "."]).exits(0);
    assert!(place.work().join("made").exists());
}

#[test]
fn rules_that_come_later_hold_in_sessions_that_began_before() {
    let place = Place::with(MARK);
    let session = place.session();
    let call = ["call", "mark", "--as", "model", "--session", &session];
    place.run(&call).exits(0);
    fs::write(
        place.work().join("concertina.toml"),
        format!("{}[policy]\ndeny = [\"tool:mark\"]\n", MARK.split_once('\n').unwrap().1),
    )
    .unwrap();
    place.run(&["trust", "."]).exits(0);
    place.run(&call).exits(3).says(&["denies tool:mark"]);
}
