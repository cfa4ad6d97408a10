//! Files that are touched: skills that wait for them, and directories of skills beside them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use concertina_core::session::{Origin, Part};
use concertina_runtime::touch::{first_match, judge};
use concertina_runtime::{Session, Started, Touched, Workspace};
use concertina_types::Fact;
use proptest::prelude::*;

use crate::kit::{World, begin, id, ids, open, open_as, settle, skill, skill_with};

fn touch(session: &mut Session, workspace: &mut Workspace, file: &str) -> Touched {
    session.touch(workspace, Path::new(file)).unwrap()
}

fn activated(touched: &Touched) -> Vec<&str> {
    touched.activated.iter().map(concertina_types::SkillId::as_str).collect()
}

/// A skill that waits for files, one that does not, and enough for no listing to be left out.
fn waiting(patterns: &str) -> World {
    let world = World::new();
    let more = format!("paths: {patterns}");
    world.write("work/skills/waits/SKILL.md", skill_with("waits", &more, "Mind the files."));
    world.skill("work/skills/always", "Always there.");
    world
}

fn activates(patterns: &str, file: &str) -> bool {
    let world = waiting(patterns);
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    activated(&touch(&mut session, &mut workspace, file)) == ["waits"]
}

#[test]
fn d01_a_skill_with_paths_is_hidden_d06_until_a_touch_adds_its_line() {
    let world = waiting("\"*.rs\"");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    session.turn(&mut workspace).unwrap();
    let index = session.view().part(Part::Index);
    assert!(index.contains("always") && !index.contains("waits"), "{index}");
    let refusal = open(&mut session, &mut workspace, "skill:waits").unwrap_err();
    assert_eq!(refusal.code, "PATHS_NOT_TOUCHED");

    touch(&mut session, &mut workspace, "src/main.rs");
    session.turn(&mut workspace).unwrap();
    let after = session.view().part(Part::Index);
    let delta = after.strip_prefix(&index).expect("what was shown stays");
    assert!(delta.contains("waits") && !delta.contains("always"), "{delta}");
    open(&mut session, &mut workspace, "skill:waits").unwrap();
}

#[test]
fn d02_a13_patterns_mean_what_they_mean_in_a_gitignore() {
    for (patterns, file, expected) in [
        ("\"*.tsx\"", "web/deep/a.tsx", true),
        ("\"*.tsx\"", "web/deep/a.ts", false),
        ("[web/**/*.tsx]", "web/a.tsx", true),
        ("[/a.tsx]", "a.tsx", true),
        ("[/a.tsx]", "web/a.tsx", false),
        ("[docs/]", "x/docs/guide/start.md", true),
        ("[docs/]", "docs", false),
        ("[src/*.rs]", "src/deep/a.rs", false),
        ("[\"*.rs\", \"!build.rs\"]", "src/lib.rs", true),
        ("[\"*.rs\", \"!build.rs\"]", "build.rs", false),
        ("[\"!build.rs\", \"*.rs\"]", "build.rs", true),
        ("[\"{src,test}/**/*.{js,ts}\"]", "test/a/b.ts", true),
        ("[\"{src,test}/**/*.{js,ts}\"]", "lib/a/b.ts", false),
        ("[\"file[0-9].txt\"]", "file7.txt", true),
        ("[\"**\"]", "anything", true),
        ("[\"*.RS\"]", "a.rs", false),
        ("[\"データ/*.csv\"]", "データ/a.csv", true),
    ] {
        assert_eq!(activates(patterns, file), expected, "{patterns} and {file}");
    }
}

#[test]
fn d03_an_activation_is_recorded_once_and_lasts() {
    let world = waiting("\"*.rs\"");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    for file in ["a.rs", "b.rs", "a.rs", "none.txt"] {
        touch(&mut session, &mut workspace, file);
    }
    let facts = session.events().unwrap().into_iter().filter_map(|event| match event.fact {
        Fact::SkillActivated { id, path, pattern } => Some((id.to_string(), path, pattern)),
        _ => None,
    });
    let facts: Vec<_> = facts.collect();
    assert_eq!(facts, [("waits".to_owned(), "a.rs".to_owned(), "*.rs".to_owned())]);
    session.compact().unwrap();
    session.turn(&mut workspace).unwrap();
    assert!(session.view().part(Part::Index).contains("waits"), "it stays over a compaction");
}

#[test]
fn d04_directories_of_skills_are_found_between_the_file_and_the_workspace() {
    let world = World::new();
    world
        .skill("work/pkgs/.agent/skills/outer", "Outer.")
        .skill("work/pkgs/x/.agent/skills/inner", "Inner.")
        .skill("work/pkgs/y/.agent/skills/aside", "Aside.")
        .skill(".agent/skills/above", "Above the workspace.");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let touched = touch(&mut session, &mut workspace, "pkgs/x/src/f.rs");
    assert_eq!(touched.discovered, ["pkgs/.agent/skills", "pkgs/x/.agent/skills"]);
    assert_eq!(ids(&workspace), ["inner", "outer"]);
    assert!(open(&mut session, &mut workspace, "skill:inner").is_ok());
}

#[test]
fn d04_never_through_a_link_out() {
    let world = World::new();
    world.skill("elsewhere/.claude/skills/foreign", "Foreign.");
    world.skill("elsewhere/plain/foreign-too", "Foreign.");
    world
        .link("work/out", "../elsewhere")
        .link("work/pkg/.claude/skills", "../../../elsewhere/plain");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    for file in ["out/f.rs", "pkg/f.rs"] {
        let touched = touch(&mut session, &mut workspace, file);
        assert!(touched.discovered.is_empty());
        assert!(touched.left[0].contains("LEAVES_WORKSPACE"), "{:?}", touched.left);
    }
    assert!(ids(&workspace).is_empty());
}

#[test]
fn d05_every_layout_is_found_beside_a_touched_file() {
    for layout in [".agent", ".agents", ".claude", ".codex", ".gemini"] {
        let world = World::new();
        world.skill(&format!("work/a/{layout}/skills/here"), "Here.");
        let mut workspace = world.alone();
        let mut session = begin(&mut workspace);
        let touched = touch(&mut session, &mut workspace, "a/f");
        assert_eq!(touched.discovered, [format!("a/{layout}/skills")]);
        assert_eq!(ids(&workspace), ["here"]);
    }
}

#[test]
fn d07_activation_and_discovery_survive_a_resume_in_a_fresh_process() {
    let world = waiting("\"*.rs\"");
    world.write(
        "work/a/.claude/skills/nested/SKILL.md",
        skill_with("nested", "paths: \"*.py\"", "Nested."),
    );
    let mut workspace = world.alone();
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    touch(&mut session, &mut workspace, "a/f.rs");
    touch(&mut session, &mut workspace, "a/f.py");
    session.turn(&mut workspace).unwrap();
    let (before, index) = (session.state().activated.clone(), session.view().part(Part::Index));
    let id = session.id().clone();
    drop((session, workspace));

    let mut workspace = world.alone();
    assert_eq!(ids(&workspace), ["always", "waits"], "nothing was touched in this process");
    let mut session = Session::resume(world.store(), id).unwrap();
    assert_eq!(session.state().activated, before);
    session.turn(&mut workspace).unwrap();
    assert_eq!(ids(&workspace), ["always", "nested", "waits"]);
    assert_eq!(session.view().part(Part::Index), index, "nothing is shown anew");
    open(&mut session, &mut workspace, "skill:nested").unwrap();
    open(&mut session, &mut workspace, "skill:waits").unwrap();
    let again = touch(&mut session, &mut workspace, "a/f.py");
    assert!(again.discovered.is_empty() && again.activated.is_empty());
}

#[test]
fn d07_two_sessions_on_one_workspace_each_remember_what_they_touched() {
    let world = World::new();
    world.skill("work/a/.claude/skills/nested", "Nested.");
    let mut workspace = world.alone();
    let mut first = begin(&mut workspace);
    let mut second = begin(&mut workspace);
    assert_eq!(touch(&mut first, &mut workspace, "a/f").discovered, ["a/.claude/skills"]);
    assert_eq!(touch(&mut second, &mut workspace, "a/f").discovered, ["a/.claude/skills"]);
    assert!(second.state().nested.contains("a/.claude/skills"));
}

#[test]
fn b05_what_changes_in_a_nested_directory_is_seen_on_the_next_turn() {
    let world = World::new();
    world.skill("work/a/.claude/skills/one", "One.");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    touch(&mut session, &mut workspace, "a/f");
    session.turn(&mut workspace).unwrap();
    settle();
    world.skill("work/a/.claude/skills/two", "Two.");
    session.turn(&mut workspace).unwrap();
    assert!(session.view().part(Part::Index).contains("two"));
    fs::remove_dir_all(world.path("work/a/.claude/skills/one")).unwrap();
    session.turn(&mut workspace).unwrap();
    assert_eq!(ids(&workspace), ["two"]);
}

#[test]
fn b10_what_git_ignores_is_left_with_a_reason() {
    let left = |gitignores: &[(&str, &str)], directory: &str| {
        let world = World::new();
        for (file, text) in gitignores {
            world.write(&format!("work/{file}"), text);
        }
        world.skill(&format!("work/{directory}/.claude/skills/vendored"), "Vendored.");
        let mut workspace = world.alone();
        let mut session = begin(&mut workspace);
        let touched = touch(&mut session, &mut workspace, &format!("{directory}/f"));
        assert_eq!(touched.left.is_empty(), !ids(&workspace).is_empty(), "{:?}", touched.left);
        assert_eq!(touched.left.is_empty(), !touched.discovered.is_empty());
        touched.left.iter().any(|left| left.contains("IGNORED"))
    };
    assert!(left(&[(".gitignore", "vendor/\n")], "vendor/pkg"));
    assert!(left(&[("pkg/.gitignore", ".claude\n")], "pkg/deep"));
    assert!(left(&[(".git/info/exclude", "/scratch\n")], "scratch"));
    assert!(!left(&[(".gitignore", "*.log\n/pkg\n")], "sub/pkg"));
    assert!(!left(&[(".gitignore", "**/gen/\n!/lib/gen/\n")], "lib/gen"));
    assert!(!left(&[(".gitignore", "skills\n"), ("pkg/.gitignore", "!skills\n")], "pkg"));
    // What lies in an ignored directory cannot take itself back.
    assert!(left(&[(".gitignore", "vendor/\n"), ("vendor/.gitignore", "!*\n")], "vendor"));
    // One line that cannot be read costs no other.
    assert!(left(&[(".gitignore", "a[\nvendor/\n")], "vendor"));
}

#[test]
fn b10_rules_of_the_repository_hold_in_a_workspace_below_its_root_and_behind_a_link() {
    let world = World::new();
    world.write("work/.gitignore", "third/\n");
    world.skill("work/app/third/.claude/skills/vendored", "Vendored.");
    world.link("work/app/alias", "third");
    let mut workspace = world.open_at("work/app");
    let mut session = begin(&mut workspace);
    for file in ["third/f", "alias/f"] {
        let touched = touch(&mut session, &mut workspace, file);
        assert!(touched.left[0].contains("IGNORED"), "{touched:?}");
    }
    assert_eq!(ids(&workspace), ["write-a-skill"]);
}

#[test]
fn b10_a_directory_that_git_began_to_ignore_is_not_read_after_a_restart() {
    let world = World::new();
    world.skill("work/a/.claude/skills/nested", "Nested.");
    let mut workspace = world.alone();
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    touch(&mut session, &mut workspace, "a/f");
    assert_eq!(ids(&workspace), ["nested"]);
    world.write("work/.gitignore", "a/\n");
    let mut workspace = world.alone();
    let mut session = Session::resume(world.store(), session.id().clone()).unwrap();
    session.turn(&mut workspace).unwrap();
    assert!(ids(&workspace).is_empty());
}

#[test]
fn b11_a_directory_is_looked_at_once() {
    let world = World::new();
    world.skill("work/a/.claude/skills/one", "One.");
    fs::create_dir_all(world.path("work/a/b")).unwrap();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let first = touch(&mut session, &mut workspace, "a/b/f").dir_probes;
    assert_eq!(first, 10, "five layouts in two directories");
    assert_eq!(touch(&mut session, &mut workspace, "a/b/f").dir_probes, first);
    assert_eq!(touch(&mut session, &mut workspace, "a/b/g").dir_probes, first);
    assert_eq!(touch(&mut session, &mut workspace, "a/h").dir_probes, first);
    assert_eq!(touch(&mut session, &mut workspace, "c/h").dir_probes, first + 5);
}

#[test]
fn report_b16_b19_any_report_of_a_touch_counts_and_none_is_said_so() {
    let world = waiting("[\"**/*.rb\"]");
    world.skill("work/sub/.claude/skills/nested", "Nested.");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    // Nobody reported anything: the reason names what it waits for.
    let refusal = open(&mut session, &mut workspace, "skill:waits").unwrap_err();
    assert!(refusal.message.contains("waits for a file that matches **/*.rb"), "{refusal}");
    // Whoever ran `sed -i a.rb` tells of it, and that is enough.
    assert_eq!(activated(&touch(&mut session, &mut workspace, "a.rb")), ["waits"]);
    assert_eq!(touch(&mut session, &mut workspace, "sub/x").discovered, ["sub/.claude/skills"]);
}

#[test]
fn report_b17_a_person_may_open_what_waits_for_files() {
    let world = waiting("\"*.rs,Cargo.toml\"");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    assert!(open(&mut session, &mut workspace, "skill:waits").is_err());
    open_as(&mut session, &mut workspace, Origin::user(), "skill:waits").unwrap();
}

#[test]
fn report_b17_patterns_stand_in_one_line_with_commas() {
    for file in ["src/a.rs", "Cargo.toml", "deep/Cargo.toml"] {
        assert!(activates("\"*.rs,Cargo.toml\"", file), "{file}");
    }
    assert!(!activates("\"*.rs,Cargo.toml\"", "Cargo.lock"));
    assert!(activates("\"*.{rs,toml}, docs/**\"", "x.toml"), "commas in braces divide nothing");
}

#[test]
fn report_b20_siblings_are_found_in_the_order_of_touches_once_each() {
    let world = World::new();
    world.skill("work/a/.claude/skills/x", "X.").skill("work/b/.claude/skills/y", "Y.");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    for file in ["b/g", "a/f", "b/g", "a/other"] {
        touch(&mut session, &mut workspace, file);
    }
    let facts = session.events().unwrap().into_iter().filter_map(|event| match event.fact {
        Fact::NestedDiscovered { directory, path } => Some((directory, path)),
        _ => None,
    });
    assert_eq!(
        facts.collect::<Vec<_>>(),
        [
            ("b/.claude/skills".to_owned(), "b/g".to_owned()),
            ("a/.claude/skills".to_owned(), "a/f".to_owned()),
        ]
    );
}

#[test]
fn report_b20_a_directory_that_comes_later_is_found_later() {
    let world = World::new();
    fs::create_dir_all(world.path("work/a")).unwrap();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    assert!(touch(&mut session, &mut workspace, "a/f").discovered.is_empty());
    world.skill("work/a/.claude/skills/late", "Late.");
    // The touch of the skill itself shows that its directory has come.
    let touched = touch(&mut session, &mut workspace, "a/.claude/skills/late/SKILL.md");
    assert_eq!(touched.discovered, ["a/.claude/skills"]);

    world.skill("work/a/.agents/skills/later", "Later.");
    session.turn(&mut workspace).unwrap();
    assert_eq!(touch(&mut session, &mut workspace, "a/f").discovered, ["a/.agents/skills"]);
    assert_eq!(ids(&workspace), ["late", "later"]);
}

#[test]
fn report_b28_many_braces_are_quick_and_one_bad_pattern_costs_no_other() {
    let braces = "{a,b}".repeat(24);
    let nested = format!("{}{}", "{a,".repeat(60), "}".repeat(60));
    let stars = "*a".repeat(300);
    let begun = Instant::now();
    for pattern in [&braces, &nested, &stars, &"**/".repeat(300)] {
        first_match(std::slice::from_ref(pattern), &"ab".repeat(12));
        first_match(std::slice::from_ref(pattern), &"a".repeat(4_000));
    }
    assert!(first_match(&[braces], &"ab".repeat(12)).is_some());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());

    let bad = "docs [2024/**".to_owned();
    let patterns = [bad.clone(), "*.md".to_owned(), "x".repeat(1_001)];
    let results = judge(&patterns, "docs/a.md");
    let problems: Vec<_> = results.iter().filter(|result| result.problem.is_some()).collect();
    assert_eq!(problems.len(), 2);
    assert_eq!(problems[0].pattern, bad);
    assert_eq!(results[1].matches, Some(true));
    assert_eq!(first_match(&patterns, "docs/a.md").as_deref(), Some("*.md"));
    assert!(activates("[\"docs [2024/**\", \"*.md\"]", "a.md"));
}

#[test]
fn report_b28_one_bad_pattern_is_one_finding() {
    let world = waiting("[\"docs [2024/**\", \"*.md\"]");
    let checked = concertina_runtime::check(
        &[world.path("work/skills/waits")],
        concertina_format::skill::Mode::Lenient,
    );
    let about: Vec<_> = checked[0]
        .diagnostics
        .iter()
        .filter(|found| found.message.contains("docs [2024/**"))
        .collect();
    assert_eq!(about.len(), 1, "{:?}", checked[0].diagnostics);
}

#[test]
fn report_b28_a_touch_outside_matches_nothing_and_never_fails() {
    let world = waiting("[\"**\", \"*\", \"/etc/**\"]");
    world.skill("elsewhere/.claude/skills/foreign", "Foreign.");
    let outside = world.path("elsewhere/f").display().to_string();
    let inside = world.path("work/src/a.rs").display().to_string();
    let root = world.path("work").display().to_string();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let before = session.events().unwrap().len();
    for file in [
        "/etc/hosts",
        "../elsewhere/f",
        "src/../../elsewhere/f",
        &outside,
        "..",
        "/",
        "",
        ".",
        &root,
    ] {
        let touched = touch(&mut session, &mut workspace, file);
        assert_eq!(touched, Touched::default(), "{file}");
    }
    assert_eq!(session.events().unwrap().len(), before, "nothing is recorded of them");
    assert_eq!(judge(&["**".to_owned()], "/etc/hosts")[0].matches, Some(false));
    // Inside, by its absolute path, through `..`, and though it does not exist.
    assert_eq!(activated(&touch(&mut session, &mut workspace, &inside)), ["waits"]);
}

#[test]
fn report_b28_a_path_may_wander_as_long_as_it_ends_inside() {
    for file in ["gone/../a.rs", "./a.rs", "a/b/c/../../../a.rs", "//a.rs", "never/was/a.rs"] {
        assert_eq!(activates("\"*.rs\"", file), !file.starts_with('/'), "{file}");
    }
}

#[test]
fn a_workspace_that_is_a_link_is_known_by_both_names() {
    let world = waiting("\"src/*.rs\"");
    world.link("alias", "work");
    fs::create_dir_all(world.path("work/src")).unwrap();
    let real = world.path("work").canonicalize().unwrap();
    let mut workspace = world.open_at("alias");
    let mut session = begin(&mut workspace);
    let touched = session.touch(&mut workspace, &real.join("src/a.rs")).unwrap();
    assert_eq!(activated(&touched), ["waits"]);
}

#[test]
fn a_nested_skill_outweighs_the_projects_while_both_stay_reachable() {
    let world = World::new();
    world
        .skill("work/skills/same", "The project's.")
        .skill("work/a/.claude/skills/same", "Nested.");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    touch(&mut session, &mut workspace, "a/f");
    let snapshot = workspace.snapshot();
    assert!(snapshot.skill(&id("same")).unwrap().path.contains("/a/.claude/"));
    assert!(snapshot.skill(&id("project/same")).unwrap().path.contains("work/skills/"));
}

#[test]
fn a_touch_of_a_name_that_is_not_text_matches_nothing() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = waiting("\"**\"");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let file = Path::new(std::ffi::OsStr::from_bytes(b"a\xff.rs"));
    assert_eq!(session.touch(&mut workspace, file).unwrap(), Touched::default());
    for file in ["a\nb.rs", "a\0b", "\u{202e}rs.a", &"x/".repeat(2_000), &"y".repeat(5_000)] {
        session.touch(&mut workspace, Path::new(file)).unwrap();
    }
}

#[test]
fn case_p02_a_skill_that_comes_while_a_session_sleeps_is_there_when_it_wakes() {
    let world = World::new();
    world.skill("work/skills/a", "A.");
    let mut workspace = world.alone();
    let mut session = Session::create(&mut workspace, world.store(), Started::default()).unwrap();
    session.turn(&mut workspace).unwrap();
    let id = session.id().clone();
    drop((session, workspace));
    world.write("work/skills/b/SKILL.md", skill("b", "B.", "Body of b."));
    let mut workspace = world.alone();
    let mut session = Session::resume(world.store(), id).unwrap();
    session.turn(&mut workspace).unwrap();
    open(&mut session, &mut workspace, "skill:b").unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any patterns and any path get a verdict, and a bad pattern changes no other's.
    #[test]
    fn d02_any_pattern_gets_a_verdict(
        patterns in prop::collection::vec("[a-c*?!/{},\\[\\]\\\\# -]{0,14}", 0..5),
        path in "[a-c./\\\\ -]{0,20}",
    ) {
        let results = judge(&patterns, &path);
        prop_assert_eq!(results.len(), patterns.len());
        let readable: Vec<String> = results
            .iter()
            .filter(|result| result.problem.is_none())
            .map(|result| result.pattern.clone())
            .collect();
        prop_assert_eq!(first_match(&patterns, &path), first_match(&readable, &path));
        if let Some(pattern) = first_match(&patterns, &path) {
            let named = results.iter().find(|result| result.pattern.trim_end() == pattern.trim_end());
            prop_assert!(named.is_some_and(|result| result.matches == Some(true)), "{}", pattern);
        }
    }
}
