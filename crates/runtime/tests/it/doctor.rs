//! `doctor`: what it finds in made-up homes, and what a person reads of it.

use std::path::{Path, PathBuf};

use concertina_runtime::doctor::{ClientReport, Loss, Report, Server, ServerState, examine};
use concertina_runtime::{Workspace, WorkspaceOptions};
use serde_json::Value;
use tempfile::TempDir;

/// A home directory and a workspace in it, both empty.
struct World {
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { directory: TempDir::new().unwrap() };
        std::fs::create_dir_all(world.path("home/ws/.git")).unwrap();
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// A skill in the directory `path`, with further lines of frontmatter.
    fn skill(&self, path: &str, description: &str, more: &str) -> &Self {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n{more}---\nDo it.\n");
        self.file(&format!("{path}/SKILL.md"), &text)
    }

    /// The report where the project is trusted.
    fn report(&self) -> Report {
        self.examined(true)
    }

    fn examined(&self, trusted: bool) -> Report {
        let home = self.path("home").display().to_string();
        let variable = |name: &str| (name == "HOME").then(|| home.clone());
        let options = WorkspaceOptions {
            home: self.path("state"),
            roots: Vec::new(),
            only_workspace: false,
            vouched: false,
            managed: None,
            variable: &variable,
            executor: None,
        };
        let mut workspace = Workspace::open(&self.path("home/ws"), options).unwrap();
        if trusted {
            workspace.trust(&self.path("home/ws")).unwrap();
        }
        examine(&workspace, &variable)
    }

    /// The report in words, without the directory that the test runs in.
    fn text(&self) -> String {
        let text = self.report().text();
        for line in text.lines().filter(|line| !line.starts_with("Next")) {
            assert!(line.chars().count() <= 100, "too wide: {line}");
        }
        text.replace(&self.directory.path().display().to_string(), "/tmp")
    }
}

fn client<'a>(report: &'a Report, id: &str) -> &'a ClientReport {
    report.clients.iter().find(|client| client.id == id).unwrap()
}

fn loss<'a>(report: &'a Report, id: &str, code: &str) -> &'a Loss {
    let skills = client(report, id).skills.as_ref().unwrap();
    skills.lost.iter().find(|loss| loss.code == code).unwrap_or_else(|| panic!("{:?}", skills.lost))
}

/// Every client, servers of each, and skills that each loses in its way.
fn busy() -> World {
    let world = World::new();
    world
        .skill("home/ws/.claude/skills/tides", "Reads tide tables. Use it before a bar is crossed.", "")
        .skill("home/ws/.claude/skills/locks", "Tells when locks open.", "")
        .skill("home/ws/.agents/skills/charts", "Draws charts of soundings.", "")
        .skill("home/ws/.agents/skills/marks/buoys", "Lists buoys of a fairway.", "")
        .skill("home/ws/.agents/skills/haul-out", "Takes the boat ashore.", "disable-model-invocation: true\n")
        .skill("home/ws/.agents/skills/sails", "Trims sails.", "paths: \"*.sail\"\n")
        .skill("home/.claude/skills/tides", "Another one on tides.", "")
        .skill("home/ws/.opencode/skills/galley", "Plans meals.", "")
        .skill("home/ws/skill/winch", "Services a winch.", "")
        .file("home/ws/.agents/skills/plain/SKILL.md", "# Plain\n\nKnots and bends.\n")
        .file("home/ws/.agents/skills/void/SKILL.md", "")
        .file("home/ws/.agents/skills/flat.md", "---\nname: flat\n---\n")
        .file("home/ws/.agents/skills/README.md", "about these skills")
        .file("home/ws/.agents/skills/pump/Skill.MD", "---\nname: pump\n---\n")
        .file(
            "home/.codex/config.toml",
            "[mcp_servers.github]\ncommand = \"/usr/bin/npx\"\nargs = [\"gh\", \"--token=HUSH\"]\n\
             env = { TOKEN = \"HUSH\" }\n\n[mcp_servers.old]\ncommand = \"old\"\nenabled = false\n",
        )
        .file("home/ws/.codex/config.toml", "[mcp_servers.here]\nurl = \"http://localhost:1/mcp\"\n")
        .file(
            "home/.gemini/settings.json",
            "{ // mine\n \"mcpServers\": {\n  \"github\": {\"command\": \"/usr/bin/npx\", \"args\": [\"gh\", \"--token=HUSH\"]},\n  \
             \"web\": {\"httpUrl\": \"https://me:HUSH@web.example/HUSH?key=HUSH\", \"headers\": {\"A\": \"HUSH\"}}\n }\n}\n",
        )
        .file("home/.config/opencode/opencode.jsonc", "{\"mcp\": {\"db\": {\"command\": [\"dbd\", \"HUSH\"], \"enabled\": false},}}")
        .file("home/ws/.mcp.json", "{\n  \"mcpServers\": {\"a\": {\"command\": \"HUSH\" \"x\"}}\n}\n")
        .file("home/.cursor/mcp.json", "{\"mcpServers\": {\"line\": {\"command\": \"KEY=HUSH run-it HUSH\"}}}")
        .file(
            "home/ws/concertina.toml",
            "[tool.measure]\ndescription = \"Measures a depth\"\nargv = [\"measure\"]\n\n\
             [upstream.web]\nurl = \"https://me:HUSH@web.example/HUSH?key=HUSH\"\n",
        );
    world
}

#[test]
fn a_busy_home_is_told_in_one_screen() {
    // What a machine can hold is its own.
    let text = busy().text();
    let (before, held) = text.split_once("Sandbox ").unwrap();
    let (_, after) = held.split_once("\nClaude Code").unwrap();
    insta::assert_snapshot!(format!("{before}Sandbox …\nClaude Code{after}"));
}

#[test]
fn nothing_at_all_is_three_lines() {
    let world = World::new();
    insta::assert_snapshot!(world.text());
    assert!(world.report().is_empty());
    assert!(world.report().complete, "nothing is lost");
}

#[test]
fn one_good_skill_loses_nothing() {
    let world = World::new();
    world.skill("home/ws/.agents/skills/charts", "Draws charts of soundings.", "");
    insta::assert_snapshot!(world.text());
    assert!(world.report().complete);
}

#[test]
fn no_secret_is_shown_anywhere() {
    let world = busy();
    let report = world.report();
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains("run-it") && json.contains("web.example"), "servers are shown");
    assert!(!json.contains("HUSH"), "{json}");
    assert!(!report.text().contains("HUSH"));
}

#[test]
fn a_server_counts_once_whoever_names_it() {
    let report = busy().report();
    let server = |name: &str| -> Vec<&Server> {
        report.servers.iter().filter(|server| server.name == name).collect()
    };
    let [github] = server("github")[..] else { panic!("{:?}", report.servers) };
    let clients: Vec<&str> = github.configured.iter().map(|one| one.client.as_str()).collect();
    assert_eq!(clients, ["codex", "gemini"]);
    assert_eq!(server("web").len(), 1, "the settings of Concertina name the same one");
    assert_eq!(server("old")[0].configured[0].state, ServerState::Off);
    assert_eq!(server("db")[0].configured[0].state, ServerState::Off);
    assert_eq!(server("here")[0].configured[0].state, ServerState::IfTrusted);
    assert_eq!(report.tools.of_servers, None, "no server was started");
}

#[test]
fn a_trusted_project_has_its_servers() {
    let world = busy();
    let directory = world.path("home/ws").display().to_string();
    world.file(
        "home/.codex/config.toml",
        &format!("[projects.\"{directory}\"]\ntrust_level = \"trusted\"\n"),
    );
    let report = world.report();
    let here = report.servers.iter().find(|server| server.name == "here").unwrap();
    assert_eq!(here.configured[0].state, ServerState::On);
}

#[test]
fn servers_that_claude_code_was_told_to_leave_out_are_off() {
    let world = World::new();
    let directory = world.path("home/ws").display().to_string();
    let settings = serde_json::json!({
        "mcpServers": {"mine": {"command": "mine"}},
        "projects": {directory: {
            "mcpServers": {"local": {"command": "local"}},
            "disabledMcpServers": ["mine"],
        }},
    });
    world
        .file("home/.claude.json", &settings.to_string())
        .file(
            "home/ws/.mcp.json",
            r#"{"mcpServers": {"team": {"command": "team"}, "on": {"command": "on"}}}"#,
        )
        .file("home/ws/.claude/settings.local.json", r#"{"disabledMcpjsonServers": ["team"]}"#);
    let report = world.report();
    let states: Vec<(&str, ServerState)> = report
        .servers
        .iter()
        .map(|server| (server.name.as_str(), server.configured[0].state))
        .collect();
    let (on, off) = (ServerState::On, ServerState::Off);
    assert_eq!(states, [("local", on), ("mine", off), ("on", on), ("team", off)]);
}

#[test]
fn a_broken_settings_file_costs_only_itself() {
    let world = busy();
    world.file("home/.codex/config.toml", "[mcp_servers.github]\ncommand = \"HUSH\n").file(
        "home/.gemini/settings.json",
        "\u{feff}{\"mcpServers\": {\"ok\": {\"command\": \"ok\"}}}",
    );
    std::fs::remove_file(world.path("home/.cursor/mcp.json")).unwrap();
    std::fs::create_dir(world.path("home/.cursor/mcp.json")).unwrap();
    std::fs::write(world.path("home/ws/opencode.json"), [0xff, 0xfe, 0x00]).unwrap();
    let report = world.report();
    let found: Vec<(&str, &str, Option<u32>)> = report
        .settings
        .iter()
        .map(|found| (found.client.as_str(), found.code.as_str(), found.line))
        .collect();
    assert_eq!(
        found,
        [
            ("claude", "SETTINGS_SYNTAX", Some(2)),
            ("codex", "SETTINGS_SYNTAX", Some(2)),
            ("opencode", "SETTINGS_UNREADABLE", None),
            ("cursor", "SETTINGS_UNREADABLE", None),
        ]
    );
    assert!(report.servers.iter().any(|server| server.name == "ok"));
    assert!(!serde_json::to_string(&report).unwrap().contains("HUSH"));
}

#[test]
fn each_client_loses_in_its_own_way() {
    let report = busy().report();
    let names = |id: &str, code: &str| loss(&report, id, code).names.join(" ");
    assert_eq!(names("codex", "HIDDEN_BUT_LISTED"), "haul-out");
    assert_eq!(names("codex", "NO_FRONTMATTER"), "plain");
    assert_eq!(names("gemini", "TOO_DEEP"), "buoys");
    let opencode = client(&report, "opencode").skills.as_ref().unwrap();
    assert!(opencode.lost.iter().all(|loss| loss.code != "LAYOUT_NOT_READ"), "{:?}", opencode.lost);
    assert_eq!(client(&report, "cursor").skills, None, "nobody has watched it");
    // Known to be withheld by one, not known of the others.
    let claude = client(&report, "claude").skills.as_ref().unwrap();
    assert!(claude.unknown.iter().all(|loss| loss.code != "PATHS"));
    assert!(opencode.unknown.iter().any(|loss| loss.code == "PATHS" && loss.names == ["sails"]));
}

#[test]
fn every_skill_is_accounted_for_at_every_client() {
    let report = busy().report();
    for client in &report.clients {
        let Some(skills) = &client.skills else { continue };
        // What is only changed is listed as well.
        let whole = |loss: &&Loss| {
            ["LAYOUT_NOT_READ", "TOO_DEEP", "NO_FRONTMATTER", "BUDGET_DROPPED"].contains(&loss.code)
        };
        let lost: usize = skills.lost.iter().filter(whole).map(|loss| loss.names.len()).sum();
        let unknown: usize = skills.unknown.iter().map(|loss| loss.names.len()).sum();
        assert_eq!(
            skills.listed + lost + unknown + skills.withheld,
            skills.total,
            "{}",
            client.name
        );
    }
}

#[test]
fn a_home_that_is_the_workspace_counts_once() {
    let world = World::new();
    world.file("home/ws/.codex/config.toml", "[mcp_servers.x]\ncommand = \"x\"\n").skill(
        "home/ws/.agents/skills/charts",
        "Draws charts.",
        "",
    );
    let home = world.path("home/ws").display().to_string();
    let variable = |name: &str| (name == "HOME").then(|| home.clone());
    let options = WorkspaceOptions {
        only_workspace: false,
        vouched: false,
        ..WorkspaceOptions::only(world.path("state"), &variable)
    };
    let report = examine(&Workspace::open(Path::new(&home), options).unwrap(), &variable);
    let [server] = &report.servers[..] else { panic!("{:?}", report.servers) };
    assert_eq!(server.configured.len(), 1);
    assert_eq!(server.configured[0].state, ServerState::On, "the person's own settings");
    assert_eq!(client(&report, "codex").skills.as_ref().unwrap().total, 1);
}

#[test]
fn report_b13_b29_near_misses_say_where_they_belong() {
    let world = busy();
    let report = world.report();
    let base = world.path("home/ws").display().to_string();
    let found: Vec<(String, String)> = report
        .near_misses
        .iter()
        .map(|miss| (miss.path.replace(&base, ""), miss.expected.replace(&base, "")))
        .collect();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        found,
        [
            pair("/.agents/skills/flat.md", "/.agents/skills/flat/SKILL.md"),
            pair("/.agents/skills/pump/Skill.MD", "/.agents/skills/pump/SKILL.md"),
            pair("/.opencode/skills", "/.agents/skills"),
            pair("/skill", "/skills"),
        ]
    );
}

#[test]
fn pages_of_a_website_are_no_near_misses() {
    let world = World::new();
    world
        .file("home/ws/skills/cooking.md", "# Cooking\n")
        .file("home/ws/skill/notes.md", "# Notes\n")
        .skill("home/ws/.agent/skills/tides", "Reads tide tables.", "");
    let report = world.report();
    assert_eq!(report.near_misses.len(), 1, "{:?}", report.near_misses);
    assert!(report.near_misses[0].path.ends_with("/.agent/skills"));
}

/// As many skills as do not fit.
fn crowd(skills: usize, words: usize) -> World {
    let world = World::new();
    let description = "tide ".repeat(words);
    for at in 0..skills {
        world.skill(&format!("home/ws/.agents/skills/skill-{at:03}"), &description, "");
        world.skill(&format!("home/ws/.claude/skills/skill-{at:03}"), &description, "");
    }
    world.file("home/.codex/config.toml", "").file("home/.gemini/settings.json", "");
    world
}

#[test]
fn codex_cuts_an_entry_at_1024_characters() {
    let report = crowd(2, 300).report();
    let cut = loss(&report, "codex", "DESCRIPTION_CUT");
    assert_eq!(cut.names.len(), 2);
    assert!(cut.tokens.0 > 2 * 80, "{cut:?}");
    assert!(client(&report, "gemini").skills.as_ref().unwrap().lost.is_empty(), "it cuts nothing");
}

#[test]
fn codex_shortens_all_alike_then_drops() {
    let some = crowd(60, 100).report();
    let shortened = loss(&some, "codex", "BUDGET_SHORTENED");
    assert_eq!(shortened.names.len(), 60);
    assert_eq!(client(&some, "codex").skills.as_ref().unwrap().listed, 60);

    // A line by name takes 2 + 9 + 30 bytes and its end: 16,000 bytes hold 380 of them.
    let many = crowd(500, 10).report();
    let skills = client(&many, "codex").skills.as_ref().unwrap();
    assert_eq!(skills.listed, 16_000 / "- skill-000 (file: r0/skill-000/SKILL.md)\n".len());
    assert_eq!(loss(&many, "codex", "BUDGET_DROPPED").names.len(), 500 - skills.listed);
    assert_eq!(loss(&many, "codex", "BUDGET_NAMES_ONLY").names.len(), 500);
}

#[test]
fn claude_code_keeps_250_characters_and_8000_in_all() {
    let report = crowd(60, 60).report();
    assert_eq!(loss(&report, "claude", "DESCRIPTION_CUT").names.len(), 60);
    assert_eq!(loss(&report, "claude", "BUDGET_SHORTENED").names.len(), 60);
    let skills = client(&report, "claude").skills.as_ref().unwrap();
    assert_eq!((skills.listed, skills.tokens.exact), (60, false));
    assert!(skills.tokens.tokenizer.contains("estimate"));
}

#[test]
fn too_many_skills_lead_to_the_index() {
    insta::assert_snapshot!(crowd(120, 60).text());
}

#[test]
fn the_next_command_follows_what_is_lost_most() {
    let next = |world: &World| world.report().next.map(|next| next.command).unwrap_or_default();
    assert_eq!(next(&busy()), "concertina skill check .agents/skills");

    let world = World::new();
    world.file("home/ws/.claude/skills/flat it.md", "text");
    assert_eq!(
        next(&world),
        "mkdir -p '.claude/skills/flat it' && mv '.claude/skills/flat it.md' '.claude/skills/flat it/SKILL.md'"
    );

    let world = World::new();
    world.skill("home/ws/skill/winch", "Services a winch.", "");
    assert_eq!(next(&world), "mv skill skills");

    let world = World::new();
    world.skill("home/ws/.agents/skills/tides", "One.", "").skill(
        "home/.agents/skills/tides",
        "Two.",
        "",
    );
    assert_eq!(next(&world), "concertina skill list --shadowed");

    let world = World::new();
    world.skill("home/ws/.agents/skills/tides", "One.", "disable-model-invocation: true\n");
    assert_eq!(next(&world), "concertina explain skill:tides");
}

#[test]
fn hostile_names_cannot_forge_a_line() {
    let world = World::new();
    let name = "evil\\u001b[2J\\nNext  rm -rf\\u202e";
    world.file(
        "home/.cursor/mcp.json",
        &format!("{{\"mcpServers\": {{\"{name}\": {{\"command\": \"x\"}}}}}}"),
    );
    let text = world.report().text();
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    assert_eq!(text.lines().filter(|line| line.starts_with("Next")).count(), 1, "{text}");
}

#[test]
fn nothing_is_written() {
    let world = busy();
    let list = |world: &World| {
        let mut paths = Vec::new();
        let mut open = vec![world.directory.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                let meta = entry.metadata().unwrap();
                paths.push((entry.path(), meta.len(), meta.modified().unwrap()));
                if meta.is_dir() {
                    open.push(entry.path());
                }
            }
        }
        paths.sort();
        paths
    };
    let before = list(&world);
    let first = serde_json::to_string(&world.examined(false)).unwrap();
    assert_eq!(list(&world), before);
    let second = serde_json::to_string(&world.examined(false)).unwrap();
    assert_eq!(second, first, "same files, same bytes");
}

#[test]
fn a_project_that_nobody_trusted_is_told_as_if_it_were() {
    let world = crowd(3, 5);
    let (before, after) = (world.examined(false), world.report());
    assert_eq!((before.skills.visible, after.skills.visible), (1, 4), "one ships with Concertina");
    assert_eq!(before.skills.index.tokens, after.skills.index.tokens);
    assert_eq!(before.skills.hidden[0].code, "UNTRUSTED");
    assert!(!before.complete);
    assert_eq!(before.next.unwrap().command, "concertina trust .");
    assert_ne!(after.next.unwrap().command, "concertina trust .");
}

#[test]
fn the_shape_is_the_one_in_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/doctor.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for world in [busy(), World::new(), crowd(120, 60)] {
        conforms(&serde_json::to_value(world.report()).unwrap(), &schema, "$");
    }
}

/// The part of JSON Schema that the file uses; in it, every property is required and known.
fn conforms(value: &Value, schema: &Value, at: &str) {
    if let Some(any) = schema["anyOf"].as_array() {
        let schema = any.iter().find(|one| (one["type"] == "null") == value.is_null()).unwrap();
        return conforms(value, schema, at);
    }
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{at}: {value} is not in {allowed:?}");
        return;
    }
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = &schema["type"];
    let fits =
        types == is || types.as_array().is_some_and(|types| types.iter().any(|one| one == is));
    assert!(fits, "{at}: {is} instead of {types}");
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        conforms(item, &schema["items"], &format!("{at}[{i}]"));
    }
    if let Some(object) = value.as_object() {
        let properties = schema["properties"].as_object().unwrap();
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(
            required.iter().all(|key| object.contains_key(*key)),
            "{at}: {required:?} in {value}"
        );
        for (key, value) in object {
            let schema =
                properties.get(key).unwrap_or_else(|| panic!("{at}.{key} is not in the schema"));
            conforms(value, schema, &format!("{at}.{key}"));
        }
    }
}
