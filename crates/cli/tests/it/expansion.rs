//! What is put into the text of a skill when it is opened, and what is left as written.

use serde_json::json;

use crate::kit::{Done, Place, skill};

fn opened(place: &Place, name: &str, more: &[&str]) -> Done {
    place.run(&[&["open", &format!("skill:{name}")], more].concat())
}

/// Two skills with one text; only the second says that it takes arguments.
fn prices() -> Place {
    let text = "Costs $1,000; run `awk '{print $2}'`; then $0.";
    let quiet = skill("skills/quiet", "name: quiet\ndescription: Pays.", text);
    let keys = "name: asked\ndescription: Pays.\nargument-hint: '[who]'";
    Place::with(&[quiet, skill("skills/asked", keys, text)].concat())
}

#[test]
fn report_b47_prices_and_code_keep_their_dollars() {
    let place = prices();
    let quiet = opened(&place, "quiet", &["--raw-args", "a b c"]).exits(0);
    quiet.shows(&["Costs $1,000; run `awk '{print $2}'`; then $0."]);
    let asked = opened(&place, "asked", &["--raw-args", "a b c"]).exits(0);
    asked.shows(&["Costs $1,000; run `awk '{print $2}'`; then a."]);
}

#[test]
fn report_b47_the_profile_of_another_client_follows_its_rules() {
    let place = prices();
    let done = opened(&place, "quiet", &["--raw-args", "a b c", "--profile", "claude"]).exits(0);
    done.shows(&["Costs b,000; run `awk '{print c}'`; then a."]);
}

#[test]
fn each_substitution_is_listed_with_its_place() {
    let place = prices();
    let done = opened(&place, "asked", &["--raw-args", "a b", "--trace"]).exits(0);
    assert!(done.err.contains("$0 -> a") && !done.err.contains("$1 ->"), "{}", done.err);
    let listed = place.json(&["open", "skill:asked", "--raw-args", "a b"])["substitutions"].clone();
    assert_eq!(listed, json!([{"token": "$0", "value": "a", "line": 1, "column": 44}]));
}

#[test]
fn report_b49_values_are_never_read_again() {
    let body = "All: $ARGUMENTS";
    let place = Place::with(&skill("skills/echo", "name: echo\ndescription: Echoes.", body));
    let raw = "!`id` ${CLAUDE_SESSION_ID} $0 ${SKILL_DIR}";
    for profile in ["safe", "claude"] {
        let done = opened(&place, "echo", &["--raw-args", raw, "--profile", profile]).exits(0);
        done.shows(&[&format!("All: {raw}")]);
    }
}

#[test]
fn report_b52_code_that_looks_like_a_command_is_none() {
    let body = "Call `format!` and keep `//!` and `a!`b.";
    let place = Place::with(&skill("skills/macros", "name: macros\ndescription: Writes.", body));
    let done = place.json(&["open", "skill:macros"]);
    assert_eq!(done["text"].as_str().unwrap().trim_end(), body);
    assert_eq!(done["needs_approval"], json!([]));
}

#[test]
fn report_b53_documentation_of_the_syntax_is_not_run() {
    let body = "Write it so:\n\n```md\nToday: !`date`\n```\n\nor ``!`date` `` in a line.";
    let place = Place::with(&skill("skills/manual", "name: manual\ndescription: Tells.", body));
    let done = place.json(&["open", "skill:manual"]);
    assert_eq!(done["text"].as_str().unwrap().trim_end(), body);
    assert_eq!(done["needs_approval"], json!([]));
    assert!(!codes(&place).contains("COMMAND"), "{}", codes(&place));
}

fn codes(place: &Place) -> String {
    place.run(&["skill", "check", "skills", "--json"]).out
}

const BELL: &str = "Now !`echo ding` and !`touch rang` here.";

fn bell() -> Place {
    let keys = "name: bell\ndescription: Rings.\npermissions: {execute: {allowed: ['echo *']}}";
    Place::with(&skill("skills/bell", keys, BELL))
}

#[test]
fn a_command_runs_where_it_is_declared_and_is_marked_where_it_is_not() {
    let place = bell();
    let done = place.json(&["open", "skill:bell"]);
    assert_eq!(
        done["text"].as_str().unwrap().trim_end(),
        "Now ding and [not run: `touch rang`: no pattern of permissions.execute covers `touch rang`] here."
    );
    assert_eq!(done["needs_approval"][0]["command"], "touch rang");
    assert_eq!(done["needs_approval"][0]["code"], "NOT_COVERED");
    assert!(!place.work().join("rang").exists());
}

#[test]
fn what_happens_to_other_commands_can_be_chosen() {
    let place = bell();
    opened(&place, "bell", &["--commands", "skip"]).exits(0).shows(&["Now ding and  here."]);
    let aborted = opened(&place, "bell", &["--commands", "abort"]).exits(3);
    assert_eq!(aborted.out, "");
    aborted.fails_clearly("COMMAND_NOT_RUN");
}

#[test]
fn a_rehearsal_runs_nothing() {
    let place = Place::with(&skill(
        "skills/bell",
        "name: bell\ndescription: Rings.\npermissions: {write: {paths: ['**']}, execute: {allowed: ['touch *']}}",
        "Now !`touch rang`.",
    ));
    let done = place.json(&["open", "skill:bell", "--dry-run"]);
    assert_eq!(done["commands"][0]["command"], "touch rang");
    assert!(!place.work().join("rang").exists());
    opened(&place, "bell", &[]).exits(0);
    assert!(place.work().join("rang").exists());
}

#[test]
fn a_shell_is_never_asked() {
    let keys = "name: bell\ndescription: Rings.\npermissions: {execute: {allowed: ['echo *']}}";
    for command in
        ["echo a; touch rang", "echo $(touch rang)", "echo a > rang", "echo a && touch rang"]
    {
        let place = Place::with(&skill("skills/bell", keys, &format!("Now !`{command}`.")));
        opened(&place, "bell", &[]).exits(0).shows(&["[not run:"]).says(&["needs a shell"]);
        assert!(!place.work().join("rang").exists(), "{command}");
    }
}

#[test]
fn e03_a_rule_that_asks_stops_opening_with_its_reason() {
    let safe = skill("skills/safe", "name: safe\ndescription: Reads.", "Read.");
    let risky = skill("skills/risky", "name: risky\ndescription: Deploys.", "Deploy.");
    let rule = "//- concertina.toml\n[policy]\nask = [\"skill:risky\"]\n";
    let place = Place::with(&[&safe, &risky, rule].concat());
    opened(&place, "safe", &[]).exits(0);
    for who in ["user", "model"] {
        let refused = opened(&place, "risky", &["--as", who]).exits(3);
        refused.fails_clearly("APPROVAL_NEEDED").says(&["a rule asks before skill:risky"]);
    }
}

#[test]
fn report_b55_the_skill_directory_is_filled_in_wherever_it_stands() {
    let keys =
        "name: bell\ndescription: Rings.\nallowed-tools: Bash(${CLAUDE_SKILL_DIR}/ring.sh *)";
    let place = Place::with(&skill("skills/bell", keys, "Run ${SKILL_DIR}/ring.sh."));
    let opened = place.json(&["open", "skill:bell"]);
    let directory = place.work().join("skills/bell").display().to_string();
    assert_eq!(opened["allowed_tools"][0], format!("Bash({directory}/ring.sh *)"));
    assert!(opened["text"].as_str().unwrap().contains(&format!("{directory}/ring.sh")));
}
