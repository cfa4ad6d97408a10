//! The servers that settings define.

use std::path::Path;

use concertina_runtime::Workspace;
use concertina_runtime::upstream::{Definition, Definitions, Reach};

use crate::kit::World;

fn definitions(world: &World, workspace: &Workspace) -> Definitions {
    workspace.definitions(&|name| world.variables.get(name).cloned())
}

fn names(definitions: &Definitions) -> Vec<&str> {
    definitions.servers.iter().map(|server| server.name.as_str()).collect()
}

fn codes(definitions: &Definitions) -> Vec<String> {
    let findings = definitions.findings.iter();
    findings.map(|(_, found)| format!("{}: {}", found.code, found.message)).collect()
}

fn argv(definition: &Definition) -> Vec<&str> {
    match &definition.reach {
        Reach::Program { argv, .. } => argv.iter().map(String::as_str).collect(),
        Reach::Address { url, .. } => vec![url],
    }
}

#[test]
fn every_dialect_is_read_and_each_server_is_there_once() {
    let mut world = World::new();
    for (name, value) in [("TOKEN", "s3cret"), ("PORT", "81"), ("LANG", "C")] {
        world.variables.insert(name.into(), value.into());
    }
    world
        .write(
            "home/.config/concertina/concertina.toml",
            "[upstream.notes]\ncommand = \"./notes\"\nargs = [\"--stdio\"]\nenv = [\"TOKEN\"]\n\
             set = { MODE = \"a ${PORT}\" }\ncwd = \"tools\"\ntimeout_s = 9\nroots = true\n",
        )
        .write(
            "home/.claude.json",
            r#"{"mcpServers": {
                "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "env": {}},
                "site": {"type": "http", "url": "https://site.example/${PORT}/mcp",
                         "headers": {"Authorization": "Bearer ${TOKEN}"}}}}"#,
        )
        .write(
            "home/.codex/config.toml",
            "[mcp_servers.git-again]\ncommand = \"uvx\"\nargs = [\"mcp-server-git\"]\n\
             tool_timeout_sec = 2.5\n\
             [mcp_servers.remote]\nurl = \"https://remote.example/mcp\"\n\
             bearer_token_env_var = \"TOKEN\"\nhttp_headers = { A = \"b\" }\n\
             env_http_headers = { C = \"PORT\" }\n",
        )
        .write(
            "home/.config/opencode/opencode.json",
            r#"{"mcp": {"files": {"type": "local", "command": ["npx", "files", "{env:PORT}"],
                        "environment": {"KEY": "{env:TOKEN}"}}}}"#,
        )
        .write(
            "home/.gemini/settings.json",
            r#"{"mcpServers": {"far": {"httpUrl": "http://far.example", "headers": {"K": "$TOKEN"},
                               "timeout": 1500}}}"#,
        )
        .write(
            "home/.cursor/mcp.json",
            r#"{"mcpServers": {"here": {"command": "here", "args": ["${workspaceFolder}/x"]}}}"#,
        );
    let workspace = world.open();
    let all = definitions(&world, &workspace);
    assert_eq!(names(&all), ["far", "files", "git", "here", "notes", "remote", "site"]);
    assert_eq!(codes(&all), ["SAME_SERVER: server git-again is the one called git"]);
    assert!(all.servers.iter().all(|server| server.trusted), "they are a person's own");
    let [far, files, git, here, notes, remote, site] = &all.servers[..] else { panic!() };

    let path = world.variables["PATH"].clone();
    let home = world.variables["HOME"].clone();
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let usual = [("PATH", path.as_str()), ("HOME", &home), ("LANG", "C")];
    let with = |more: &[(&str, &str)]| pairs(&[&usual, more].concat());
    let tools = world.path("home/.config/concertina/tools");
    assert_eq!(
        notes.reach,
        Reach::Program {
            argv: vec![tools.join("./notes").display().to_string(), "--stdio".into()],
            environment: with(&[("TOKEN", "s3cret"), ("MODE", "a 81")]),
            directory: tools,
        }
    );
    assert_eq!((notes.timeout_s, notes.by.as_str()), (Some(9), "concertina"));
    assert_eq!(
        git.reach,
        Reach::Program {
            argv: vec!["uvx".into(), "mcp-server-git".into()],
            environment: with(&[]),
            directory: world.path("work"),
        }
    );
    assert_eq!(
        (git.by.as_str(), git.from.as_path()),
        ("claude", &*world.path("home/.claude.json"))
    );
    assert_eq!(argv(files), ["npx", "files", "81"]);
    assert_eq!(argv(here)[1], world.path("work/x").display().to_string());
    let address = |url: &str, headers: &[(&str, &str)]| Reach::Address {
        url: url.to_owned(),
        headers: pairs(headers),
    };
    assert_eq!(far.reach, address("http://far.example", &[("K", "s3cret")]));
    let rooted = all.servers.iter().filter(|server| server.roots);
    assert_eq!(rooted.map(|server| &server.name).collect::<Vec<_>>(), ["notes"]);
    assert_eq!(far.timeout_s, Some(2), "1,500 ms, in whole seconds");
    assert_eq!(
        remote.reach,
        address(
            "https://remote.example/mcp",
            &[("A", "b"), ("C", "81"), ("Authorization", "Bearer s3cret")]
        )
    );
    assert_eq!(
        site.reach,
        address("https://site.example/81/mcp", &[("Authorization", "Bearer s3cret")])
    );
}

#[test]
fn a_name_with_two_meanings_keeps_both() {
    let world = World::new();
    world
        .write("home/.claude.json", r#"{"mcpServers": {"db": {"command": "mine"}}}"#)
        .write(
            "home/.cursor/mcp.json",
            r#"{"mcpServers": {"db": {"command": "mine", "env": {"A": "b"}}}}"#,
        )
        .write("work/.mcp.json", r#"{"mcpServers": {"db": {"command": "theirs"}}}"#);
    let all = definitions(&world, &world.open());
    // Another environment is another server: it may be another database.
    assert_eq!(names(&all), ["db", "db-2", "db-3"]);
    let argvs: Vec<_> = all.servers.iter().map(argv).collect();
    assert_eq!(argvs, [vec!["mine"], vec!["mine"], vec!["theirs"]]);
    let trusted: Vec<_> = all.servers.iter().map(|server| server.trusted).collect();
    assert_eq!(trusted, [true, true, false]);
    let codes = codes(&all);
    assert_eq!(
        codes,
        ["db-2", "db-3"].map(|name| format!(
            "RENAMED: there are several servers called db; the one of this file is called {name}"
        ))
    );
}

#[test]
fn what_cannot_or_must_not_be_used_is_left_out_with_its_reason() {
    let world = World::new();
    world
        .write(
            "home/.config/concertina/concertina.toml",
            "[upstream.web]\ndisabled = true\n[upstream.ftp]\nurl = \"ftp://x\"\n",
        )
        .write(
            "home/.claude.json",
            r#"{"mcpServers": {
                "web": {"url": "https://web.example"},
                "concertina": {"command": "/opt/bin/concertina", "args": ["mcp"]},
                "token": {"command": "x", "env": {"T": "${NO_SUCH}"}},
                "void": {}, "off": {"command": "x", "disabled": true},
                "good": {"command": "good"}}}"#,
        )
        .write("home/.gemini/settings.json", "{\"mcpServers\": {");
    let all = definitions(&world, &world.open());
    assert_eq!(names(&all), ["good"]);
    let codes = codes(&all).join("\n");
    for expected in [
        "SETTINGS_SYNTAX: this is no JSON",
        "SERVER_UNUSABLE: server ftp is left out: it has an address that begins with neither",
        "DISABLED: server web is switched off in concertina.toml",
        "ITSELF: server concertina is left out: it is Concertina itself",
        "VARIABLE_UNSET: server token is left out: it needs the environment variable NO_SUCH",
        "SERVER_UNUSABLE: server void is left out: it names neither a command nor an address",
        "DISABLED: server off is switched off here",
    ] {
        assert!(codes.contains(expected), "{expected}\n---\n{codes}");
    }
}

#[test]
fn clients_can_be_left_alone_and_a_workspace_can_only_turn_them_off() {
    let world = World::new();
    world
        .write("home/.claude.json", r#"{"mcpServers": {"mine": {"command": "mine"}}}"#)
        .write("work/.mcp.json", r#"{"mcpServers": {"team": {"command": "team"}}}"#)
        .config("[sources]\nclients = false\n");
    assert_eq!(names(&definitions(&world, &world.open())), ["team"]);
    world
        .write("home/.config/concertina/concertina.toml", "[sources]\nclients = false\n")
        .config("[sources]\nclients = true\n");
    let workspace = world.open();
    assert_eq!(names(&definitions(&world, &workspace)), ["team"]);
    assert!(workspace.loaded().findings.iter().any(|(_, found)| found.code == "WORKSPACE_REFUSED"));
}

#[test]
fn a_workspace_opened_alone_has_only_its_own_servers() {
    let world = World::new();
    world
        .write("home/.claude.json", r#"{"mcpServers": {"mine": {"command": "mine"}}}"#)
        .write("home/.config/concertina/concertina.toml", "[upstream.user]\ncommand = \"user\"\n")
        .write("work/.mcp.json", r#"{"mcpServers": {"team": {"command": "team"}}}"#)
        .config("[upstream.own]\ncommand = \"own\"\n");
    for workspace in [world.alone(), world.rooted(&["work"])] {
        let all = definitions(&world, &workspace);
        assert_eq!(names(&all), ["own", "team"]);
        assert!(all.servers.iter().all(|server| server.trusted), "whoever named it vouches");
    }
}

/// Whether each server may be started, by name.
fn trusted(world: &World) -> Vec<(String, bool)> {
    let all = definitions(world, &world.open());
    all.servers.into_iter().map(|server| (server.name, server.trusted)).collect()
}

#[test]
fn servers_of_a_workspace_wait_for_trust_in_exactly_these_files() {
    let world = World::new();
    world
        .write("work/.mcp.json", r#"{"mcpServers": {"team": {"command": "./run.sh"}}}"#)
        .write("work/run.sh", "exec team\n")
        .write(
            "work/.cursor/mcp.json",
            r#"{"mcpServers": {"cursor": {"url": "https://c.example"}}}"#,
        )
        .config("[upstream.own]\ncommand = \"bin/own\"\n")
        .write("work/bin/own", "one");
    let each = |own: bool, team: bool, cursor: bool| {
        vec![("cursor".into(), cursor), ("own".into(), own), ("team".into(), team)]
    };
    assert_eq!(trusted(&world), each(false, false, false));

    let mut workspace = world.open();
    assert_eq!(workspace.untrusted(), 3);
    let brought = workspace.brought(&world.path("work")).unwrap();
    let paths: Vec<&Path> = brought.iter().map(|one| Path::new(&one.path)).collect();
    assert_eq!(
        paths,
        [
            world.path("work/concertina.toml"),
            world.path("work/.cursor/mcp.json"),
            world.path("work/.mcp.json"),
        ]
    );
    assert_eq!(workspace.trust(&world.path("work")).unwrap().len(), 3);
    assert_eq!(workspace.untrusted(), 0);
    assert_eq!(trusted(&world), each(true, true, true));

    world.write("work/run.sh", "exec other\n");
    assert_eq!(trusted(&world), each(true, false, true), "a program that changed is another");
    world.write(
        "work/.cursor/mcp.json",
        r#"{"mcpServers": {"cursor": {"url": "https://d.example"}}}"#,
    );
    world.write("work/bin/own", "two");
    assert_eq!(trusted(&world), each(false, false, false));
}

#[test]
fn what_is_secret_is_not_printed() {
    let mut world = World::new();
    world.variables.insert("TOKEN".into(), "HUSH".into());
    world.write(
        "home/.claude.json",
        r#"{"mcpServers": {"a": {"command": "a", "args": ["${TOKEN}"], "env": {"K": "HUSH"}},
                           "b": {"url": "https://b.example", "headers": {"K": "HUSH"}}}}"#,
    );
    let all = definitions(&world, &world.open());
    assert_eq!(names(&all), ["a", "b"]);
    assert!(!format!("{all:?}").contains("HUSH"));
}
