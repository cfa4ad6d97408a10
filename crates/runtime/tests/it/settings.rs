//! Settings from three files, and what happens where one cannot be read.

use concertina_core::catalog::search::Weights;
use concertina_core::session::{Origin, visibility};
use concertina_runtime::{FindRequest, load_config};
use concertina_types::Subject;

use crate::kit::{World, begin, open, open_as};

fn codes(workspace: &concertina_runtime::Workspace) -> Vec<String> {
    workspace.loaded().findings.iter().map(|(_, found)| found.code.to_string()).collect()
}

#[test]
fn s29_neither_other_variables_nor_a_file_of_them_moves_the_settings() {
    let world = World::new();
    world.write("home/.config/concertina/concertina.toml", "[policy]\ndeny = [\"tool:mine\"]\n");
    world.write("evil/concertina/concertina.toml", "[policy]\nallow = [\"*\"]\n");
    let evil = world.path("evil").display().to_string();
    let lines = ["SKILLRT_CONFIG", "CONCERTINA_CONFIG", "XDG_CONFIG_HOME", "HOME"]
        .map(|name| format!("{name}={evil}"))
        .join("\n");
    world.write("work/.env", lines);
    let home = world.path("home").display().to_string();
    let variable = |name: &str| match name {
        "HOME" => Some(home.clone()),
        "SKILLRT_CONFIG" | "CONCERTINA_CONFIG" => Some(evil.clone()),
        _ => None,
    };
    let policy = load_config(&world.path("work"), None, &variable).settings().policy;
    assert_eq!(policy.rules.deny[0].as_str(), "tool:mine");
    assert!(policy.rules.allow.is_empty());
}

#[test]
fn law5_a_rule_that_does_not_do_what_its_example_says_denies_everything() {
    let world = World::new();
    let rule = "[[policy.rule]]\ndeny = \"Bash(rm *)\"\nexamples = [\"rm x\", \"ls\"]\n";
    world.write("home/.config/concertina/concertina.toml", rule);
    let home = world.path("home").display().to_string();
    let variable = |name: &str| (name == "HOME").then(|| home.clone());
    let loaded = load_config(&world.path("work"), None, &variable);
    let (path, found) = loaded.findings.iter().find(|(_, found)| found.code == "BAD_RULE").unwrap();
    assert!(path.ends_with("concertina/concertina.toml"));
    assert_eq!(found.line, Some(2));
    assert_eq!(found.message, "rule `run:rm *`: its example `ls` is not covered");
    let denied = loaded.settings().policy.decide("local", "tool:x");
    assert_eq!(denied.reasons[0].code, "POLICY_UNREADABLE");
    // A rule about paths is one of this workspace and this home.
    world.write(
        "home/.config/concertina/concertina.toml",
        "[[policy.rule]]\ndeny = \"Read(~/.ssh/**)\"\nexamples = [\"~/.ssh/id\"]\nnot = [\".ssh/id\"]\n",
    );
    let loaded = load_config(&world.path("work"), None, &variable);
    assert!(loaded.findings.is_empty(), "{:?}", loaded.findings);
    let rule = loaded.settings().policy.rules.deny[0].to_string();
    assert!(rule.starts_with("read:/") && rule.ends_with("home/.ssh/**"), "{rule}");
}

#[test]
fn settings_that_cannot_be_read_deny_everything() {
    for place in ["work", "home/.config/concertina", "managed"] {
        let world = World::new();
        world.skill("work/skills/a", "A.");
        let file = format!("{place}/concertina.toml");
        for broken in 0..3 {
            match broken {
                0 => world.write(&file, [0xff, 0xfe]),
                1 => world.write(&file, "[policy]\ndeny = \"not a list\"\n"),
                _ => {
                    std::fs::remove_file(world.path(&file)).unwrap();
                    std::fs::create_dir_all(world.path(&file)).unwrap();
                    &world
                }
            };
            let mut workspace = world.open();
            let mut session = begin(&mut workspace);
            let refusal = open(&mut session, &mut workspace, "skill:a").unwrap_err();
            assert_eq!(refusal.code, "POLICY_UNREADABLE", "{place} {broken}: {refusal}");
            assert!(!codes(&workspace).is_empty());
            let seen = visibility(
                session.state(),
                &session.world(),
                &"skill:a".parse().unwrap(),
                Subject::User,
            );
            assert!(!seen.visible);
        }
    }
}

#[test]
fn absent_settings_say_nothing() {
    let world = World::new();
    world.skill("work/skills/a", "A.");
    let mut workspace = world.open();
    assert!(codes(&workspace).is_empty());
    let mut session = begin(&mut workspace);
    open_as(&mut session, &mut workspace, Origin::user(), "skill:a").unwrap();
}

#[test]
fn a_broken_key_costs_only_itself() {
    let world = World::new();
    world.skill("work/skills/a", "A.").config(
        "[listing]\npercent = \"many\"\nchars = 4000\n[tool.ok]\nargv = [\"true\"]\n[tool.bad]\nargv = 5\n",
    );
    let workspace = world.alone();
    assert_eq!(workspace.settings().listing.chars, 4_000);
    assert_eq!(workspace.snapshot().tools.len(), 1);
    assert!(codes(&workspace).len() >= 2);
}

#[test]
fn a_workspace_that_is_not_there_is_a_clear_error() {
    let world = World::new();
    world.write("file", "");
    for path in ["nowhere", "file"] {
        let options =
            concertina_runtime::WorkspaceOptions::only(world.path("state"), &|_: &str| None);
        let error = concertina_runtime::Workspace::open(&world.path(path), options).unwrap_err();
        assert_eq!(error.code(), "NO_DIRECTORY", "{error}");
    }
}

#[test]
fn weights_of_the_settings_rank() {
    let world = World::new();
    world.skill("work/skills/knob", "Turns.").skill("work/skills/lamp", "Lights a knob, a knob.");
    let names = "k1 b b_short name description tags parameters body examples likeness not_for frame character pair joined alike typo";
    // Each another number, so that none can stand in the place of another.
    let all: String = (1..)
        .zip(names.split(' '))
        .map(|(part, name)| format!("{name} = {}\n", f64::from(part) / 32.0))
        .collect();
    world.write("home/.config/concertina/concertina.toml", format!("[search.weights]\n{all}"));
    let expected = Weights {
        k1: 1.0 / 32.0,
        b: 2.0 / 32.0,
        b_short: 3.0 / 32.0,
        name: 4.0 / 32.0,
        description: 5.0 / 32.0,
        tags: 6.0 / 32.0,
        parameters: 7.0 / 32.0,
        body: 8.0 / 32.0,
        examples: 9.0 / 32.0,
        likeness: 10.0 / 32.0,
        not_for: 11.0 / 32.0,
        frame: 12.0 / 32.0,
        character: 13.0 / 32.0,
        pair: 14.0 / 32.0,
        joined: 15.0 / 32.0,
        alike: 16.0 / 32.0,
        typo: 17.0 / 32.0,
    };
    assert_eq!(world.open().loaded().weights(), expected);
    world.write("home/.config/concertina/concertina.toml", "[search.weights]\nname = 0\nk1 = 0\n");
    let mut workspace = world.open();
    assert!(workspace.loaded().weights().k1 > 0.0, "nothing is divided by nothing");
    let mut session = begin(&mut workspace);
    let request = FindRequest { query: "a knob".into(), ..FindRequest::default() };
    let found = session.find(&mut workspace, Origin::user(), &request).unwrap().0;
    let first = found.hits.iter().chain(&found.nearest).next().unwrap();
    assert_eq!(first.reference.to_string(), "skill:lamp");
}

#[test]
fn the_files_of_an_encoder_are_found_from_the_file_that_names_them() {
    let world = World::new();
    let text = "[search.encoder]\nmodel = \"m/model.onnx\"\nvocabulary = \"/v.txt\"\n";
    world.write(
        "managed/concertina.toml",
        "[search.encoder]\nmodel = \"a.onnx\"\nvocabulary = \"v\"\n",
    );
    let encoder = |world: &World| world.open().loaded().config.search.encoder.clone().unwrap();
    let managed = encoder(&world);
    assert_eq!(managed.model, world.path("managed/a.onnx").display().to_string());
    std::fs::remove_file(world.path("managed/concertina.toml")).unwrap();
    world.write("home/.config/concertina/concertina.toml", text);
    let own = encoder(&world);
    let model = world.path("home/.config/concertina/m/model.onnx").display().to_string();
    assert_eq!((own.model, own.vocabulary.as_str()), (model, "/v.txt"));
}
