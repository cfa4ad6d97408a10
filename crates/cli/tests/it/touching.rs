//! Skills that wait for a file, and skills that lie beside one.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::kit::{Place, names, skill};

fn knots(patterns: &str) -> String {
    let keys = format!("name: knots\ndescription: Ties knots.\npaths: {patterns}");
    skill("skills/knots", &keys, "Tie it.")
}

/// A skill in the directory of skills `layout`, named by `name`.
fn nested(layout: &str, name: &str) -> String {
    let keys = format!("name: {name}\ndescription: Knows {name}.");
    skill(&format!("{layout}/{name}"), &keys, &format!("Do {name}."))
}

fn touch(place: &Place, session: &str, file: &str) -> Value {
    place.json(&["touch", file, "--session", session])
}

#[test]
fn d01_a_skill_with_paths_is_hidden_at_the_start() {
    let place = Place::with(&knots("'*.rope'"));
    let turn = place.run(&["session", "turn", &place.session()]).exits(0);
    assert!(!turn.out.contains("knots"), "{}", turn.out);
    assert!(!place.lists("knots"));
}

#[test]
fn d02_reading_writing_and_editing_each_activate() {
    let place = Place::with(&knots("['deck/**/*.rope', '!deck/old/*']"));
    for op in ["read", "write", "edit"] {
        let touched = |file| {
            let session = place.session();
            place.json(&["touch", "--op", op, file, "--session", &session])["activated"].clone()
        };
        assert_eq!(touched("deck/a/b.rope"), json!(["knots"]), "{op}");
        assert_eq!(touched("a.rope"), json!([]), "{op}: relative to the workspace");
        assert_eq!(touched("deck/old/b.rope"), json!([]), "{op}: taken back");
    }
}

#[test]
fn d03_what_is_active_stays_so_and_is_recorded_once() {
    let place = Place::with(&knots("'*.rope'"));
    let session = place.session();
    touch(&place, &session, "a.rope");
    assert_eq!(touch(&place, &session, "b.rope")["activated"], json!([]));
    let shown = place.json(&["session", "show", &session]);
    let once = json!([{"ref": "skill:knots", "path": "a.rope", "pattern": "*.rope"}]);
    assert_eq!(shown["activated"], once);
    place.run(&["open", "skill:knots", "--as", "model", "--session", &session]).exits(0);
}

#[test]
fn d04_skills_are_found_between_the_file_and_the_workspace_and_nowhere_else() {
    let place = Place::with(&nested("pkgs/x/.agent/skills", "pump"));
    let outside = place.work().parent().unwrap().join("elsewhere");
    crate::kit::write(&outside, &nested("skills", "thief"));
    crate::kit::write(&outside, &nested(".claude/skills", "above"));
    std::fs::create_dir_all(place.work().join("pkgs/x/.claude")).unwrap();
    symlink(outside.join("skills"), place.work().join("pkgs/x/.claude/skills")).unwrap();
    let session = place.session();
    let touched = touch(&place, &session, "pkgs/x/src/f.rs");
    assert_eq!(touched["discovered"], json!(["pkgs/x/.agent/skills"]));
    assert!(touched["left"][0].as_str().unwrap().contains("LEAVES_WORKSPACE"), "{touched}");
    let above = touch(&place, &session, "../elsewhere/f.rs");
    assert_eq!(above["discovered"], json!([]));
    let turn = place.run(&["session", "turn", &session]).exits(0).shows(&["pump"]);
    assert!(!turn.out.contains("thief") && !turn.out.contains("above"), "{}", turn.out);
}

#[test]
fn d05_each_layout_is_read() {
    for layout in [".agent/skills", ".agents/skills", ".claude/skills"] {
        let files = [nested(layout, "here"), nested(&format!("sub/{layout}"), "below")].concat();
        let place = Place::with(&files);
        assert!(place.lists("here"), "{layout}");
        let session = place.session();
        touch(&place, &session, "sub/file");
        place.run(&["session", "turn", &session]).exits(0).shows(&["below"]);
    }
}

#[test]
fn d06_what_a_touch_changes_is_shown_as_a_delta() {
    let place = Place::with(&[knots("'*.rope'"), nested("skills", "anchor")].concat());
    let session = place.session();
    let turn = || place.run(&["session", "turn", &session]).exits(0).out;
    assert!(turn().contains("anchor"));
    touch(&place, &session, "a.rope");
    let delta = turn();
    assert!(delta.contains("knots") && !delta.contains("anchor"), "{delta}");
    assert_eq!(turn(), "");
}

#[test]
fn d07_what_is_active_survives_a_resume() {
    let place = Place::with(&[knots("'*.rope'"), nested("sub/.claude/skills", "pump")].concat());
    let session = place.session();
    place.run(&["touch", "a.rope", "sub/file", "--session", &session]).exits(0);
    place.run(&["session", "resume", &session]).exits(0);
    for id in ["knots", "pump"] {
        let open = format!("skill:{id}");
        place.run(&["open", &open, "--as", "model", "--session", &session]).exits(0);
    }
}

#[test]
fn a13_patterns_mean_what_they_mean_in_a_gitignore() {
    let place = Place::with(&knots("[/deck, 'sails/', '*.rope', '!wet.rope']"));
    for (file, activates) in [
        ("deck/plank", true),
        ("lower/deck/plank", false),
        ("upper/sails/jib", true),
        ("any/where/a.rope", true),
        ("any/where/wet.rope", false),
        ("deck.txt", false),
    ] {
        let touched = touch(&place, &place.session(), file);
        let expected = if activates { json!(["knots"]) } else { json!([]) };
        assert_eq!(touched["activated"], expected, "{file}");
    }
}

#[test]
fn b10_skills_in_an_ignored_directory_are_left_with_a_reason() {
    let files =
        [nested("vendor/lib/.claude/skills", "smuggled"), "//- .gitignore\nvendor/\n".into()];
    let place = Place::with(&files.concat());
    let session = place.session();
    let touched = touch(&place, &session, "vendor/lib/a.rs");
    assert_eq!(touched["discovered"], json!([]));
    assert!(touched["left"][0].as_str().unwrap().contains("IGNORED"), "{touched}");
    let turn = place.run(&["session", "turn", &session]).exits(0);
    assert!(!turn.out.contains("smuggled"), "{}", turn.out);
}

#[test]
fn b11_a_directory_is_looked_at_once() {
    let place = Place::new();
    let probes =
        |files: &[&str]| place.json(&[&["touch"], files].concat())["dir_probes"].as_u64().unwrap();
    let once = probes(&["a/b/c.rs"]);
    assert!(once > 0);
    assert_eq!(probes(&["a/b/c.rs", "a/b/c.rs", "a/b/d.rs"]), once);
    assert!(probes(&["a/b/c.rs", "a/e/f.rs"]) > once);
}

#[test]
fn report_b16_a_touch_by_any_means_counts_and_its_absence_is_said() {
    let place = Place::with(&knots("['**/*.rope']"));
    let why = || place.json(&["explain", "skill:knots"])["reasons"].to_string();
    assert!(why().contains("PATHS_NOT_TOUCHED"), "{}", why());
    // Whatever read the file, a shell for one, may report it.
    let touched = touch(&place, &place.session(), "locker/a.rope");
    assert_eq!(touched["activated"], json!(["knots"]));
}

#[test]
fn report_b17_a_person_opens_a_waiting_skill_by_its_name() {
    let place = Place::with(&knots("'*.rope,rigging.toml'"));
    assert!(!place.lists("knots"));
    assert!(place.listed("user").contains(&"knots".to_owned()));
    place.run(&["open", "/knots"]).exits(0).shows(&["Tie it."]);
    let touched = touch(&place, &place.session(), "rigging.toml");
    assert_eq!(touched["activated"], json!(["knots"]));
}

#[test]
fn report_b28_patterns_that_explode_or_break_cost_nothing_else() {
    let many = "{a,b}".repeat(24);
    let place = Place::with(&knots(&format!("['{many}', 'charts [2024/**', '*.rope']")));
    let session = place.session();
    let outside = touch(&place, &session, "/etc/hosts");
    assert_eq!((&outside["activated"], &outside["discovered"]), (&json!([]), &json!([])));
    assert_eq!(touch(&place, &session, "a.rope")["activated"], json!(["knots"]));
    let why = place.run(&["explain", "skill:knots", "--touch", "b.rope"]).exits(0);
    why.shows(&["PATTERN_MATCHES `*.rope`", "BAD_PATTERN", "charts [2024/**", "TOUCH_ACTIVATES"]);
    let why = place.run(&["explain", "skill:knots", "--touch", "/etc/hosts"]).exits(0);
    why.shows(&["TOUCH_OUTSIDE"]);
}

#[test]
fn a_word_of_trust_covers_skills_that_a_touch_would_find() {
    let place = Place::strange(&nested("sub/.claude/skills", "pump"));
    let session = place.session();
    let touched = place.run(&["touch", "sub/file", "--session", &session]).exits(0);
    touched.shows(&["found sub/.claude/skills"]).says(&["concertina trust"]);
    let open = ["open", "skill:pump", "--as", "model", "--session", &session];
    place.run(&open).exits(3).fails_clearly("UNTRUSTED");
    let waiting = place.json(&["trust", "--list"]);
    assert_eq!(names(&waiting["files"], "skill"), ["pump"]);
    place.trust();
    place.run(&open).exits(0).shows(&["Do pump."]);
}
