//! Tools as a person looks at them: menus, reasons, doubles.

use serde_json::Value;

use crate::kit::Place;

/// Two tools that do one thing, one that may not be called without consent, one that destroys.
const TOOLS: &str = "//- concertina.toml\n\
    [tool.\"disk/read_file\"]\nargv = [\"true\"]\ndescription = \"Read a file.\"\ndanger = \"safe\"\n\
    [tool.\"files/read_files\"]\nargv = [\"true\"]\ndescription = \"Reads one file.\"\n\
    [tool.\"files/erase\"]\nargv = [\"true\"]\ndescription = \"Erases a disk.\"\ndanger = \"destructive\"\n\
    [tool.tide]\nargv = [\"true\"]\ndescription = \"Tells when the water is high.\"\nneeds_skill = true\n\
    [tool.quiet]\nargv = [\"true\"]\n";

fn config(place: &Place, text: &str) {
    let directory = place.home().join(".config/concertina");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("concertina.toml"), text).unwrap();
}

fn codes(explained: &Value) -> Vec<&str> {
    let reasons = explained["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

#[test]
fn i06_lint_names_doubles_and_menus_count_one_of_them() {
    let place = Place::with(TOOLS);
    let lint = place.run(&["tool", "lint", "--json"]).exits(1).json();
    let pair = &lint["pairs"][0];
    assert_eq!(
        (&pair["first"], &pair["second"]),
        (&"disk/read_file".into(), &"files/read_files".into())
    );
    assert!(pair["score"].as_f64().unwrap() >= 0.6, "{pair}");
    let found = lint["findings"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["tool"], &found[0]["code"]),
        (&"quiet".into(), &"DESCRIPTION_EMPTY".into())
    );
    place
        .run(&["tool", "lint"])
        .exits(1)
        .shows(&[
            "tool:disk/read_file and tool:files/read_files are easily mistaken",
            "[SIMILAR_TOOLS]",
        ])
        .says(&["5 tools, 1 pair, 1 finding"]);
    let menu = place.json(&["tool", "menu", "--dedupe"]);
    assert_eq!(menu["left_out"][0]["tool"], "files/read_files");
    assert_eq!(menu["left_out"][0]["like"], "disk/read_file");
}

#[test]
fn i06_a_catalogue_without_doubles_has_nothing_to_say() {
    let place = Place::with(
        "//- concertina.toml\n[tool.tide]\nargv = [\"true\"]\ndescription = \"Tells when the water is high.\"\n",
    );
    let lint = place.run(&["tool", "lint", "--json"]).exits(0).json();
    assert_eq!(lint["summary"]["pairs"], 0);
}

#[test]
fn i08_verify_finds_what_is_visible_and_cannot_be_called() {
    let place = Place::with(TOOLS);
    place.run(&["tool", "list", "--verify"]).exits(0);
    config(&place, "[policy]\nask = [\"tool:disk/*\"]\n");
    place
        .run(&["tool", "list", "--verify"])
        .exits(1)
        .says(&["tool:disk/read_file is visible and cannot be called now"]);
}

#[test]
fn i10_explain_says_which_of_principal_skill_trust_and_danger_hides_a_tool() {
    let place = Place::strange(TOOLS);
    config(&place, "[policy.principals.intern]\nallow = [\"tool:tide\", \"tool:quiet\"]\n");
    let explain = |tool: &str, more: &[&str]| {
        place.run(&[&["explain", tool, "--json"], more].concat()).json()
    };
    assert_eq!(codes(&explain("tool:quiet", &[])), ["UNTRUSTED"]);
    place.trust();
    assert_eq!(codes(&explain("tool:quiet", &[])), [""; 0]);
    assert_eq!(codes(&explain("tool:tide", &[])), ["SKILL_NOT_OPEN"]);
    assert_eq!(codes(&explain("tool:files/erase", &[])), ["DESTRUCTIVE_HIDDEN"]);
    let intern = ["--principal", "intern"];
    let hidden = explain("tool:disk/read_file", &intern);
    assert_eq!(codes(&hidden), ["PRINCIPAL_NOT_GIVEN"]);
    assert_eq!(hidden["visible"], false);
    let both = explain("tool:tide", &intern);
    assert_eq!(codes(&both)[0], "SKILL_NOT_OPEN", "what it was given still needs its skill");
}

#[test]
fn servers_of_a_project_wait_for_trust_and_are_listed_with_it() {
    let place = Place::strange(
        "//- .mcp.json\n{\"mcpServers\": {\"notes\": {\"command\": \"./touch-me.sh\"}}}\n\
         //- touch-me.sh\ntouch started\n",
    );
    place.run(&["tool", "list"]).exits(0).says(&["waits for trust"]);
    place.run(&["trust", "--list"]).exits(0).shows(&["waits", ".mcp.json"]);
    assert!(!place.work().join("started").exists(), "nothing is started to be listed");
    place.run(&["trust", "."]).exits(0).shows(&[".mcp.json"]);
    place.run(&["trust", "--list"]).exits(0).shows(&["trusted"]);
}
