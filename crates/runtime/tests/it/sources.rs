//! Where skills come from, and which of two wins a name.

use concertina_core::catalog::{Loaded, Scope};
use concertina_core::session::Origin;
use concertina_runtime::WorkspaceOptions;

use crate::kit::{World, begin, id, ids, open_as, skill};

/// One skill in every place there is.
fn everywhere() -> World {
    let world = World::new();
    world
        .skill("managed/skills/from-managed", "Managed.")
        .skill("work/.claude/skills/claude", "Project.")
        .skill("work/.agents/skills/agents", "Project.")
        .skill("work/.agent/skills/agent", "Project.")
        .skill("work/.codex/skills/codex", "Project.")
        .skill("work/.gemini/skills/gemini", "Project.")
        .skill("work/skills/plain", "Project.")
        .skill("work/skills/team/deep/grouped", "Project.")
        .write("work/.claude/commands/review.md", "Look at $ARGUMENTS.\n")
        .write("work/.claude/commands/git/tidy.md", "---\ndescription: Tidies.\n---\nTidy up.\n")
        .skill("home/.claude/skills/user-claude", "User.")
        .skill("home/.agents/skills/user-agents", "User.")
        .skill("home/.agent/skills/user-agent", "User.")
        .skill("home/.codex/skills/user-codex", "User.")
        .skill("home/.gemini/skills/user-gemini", "User.")
        .skill("home/.config/opencode/skills/user-opencode", "User.")
        .skill("home/.config/concertina/skills/user-own", "User.")
        .write("home/.claude/commands/mine.md", "Mine.\n")
        .write(
            "home/.claude/plugins/market/tools/.claude-plugin/plugin.json",
            r#"{"name": "tools"}"#,
        )
        .skill("home/.claude/plugins/market/tools/skills/sharpen", "Plugin.")
        .write("home/.claude/plugins/market/tools/commands/oil.md", "Oil it.\n")
        .skill("work/extra/added", "Additional.")
        .config("[sources]\nroots = [\"extra\"]\n");
    world
}

#[test]
fn b01_every_layout_and_scope_is_one_catalogue() {
    let world = everywhere();
    let workspace = world.open();
    let found: Vec<String> = workspace
        .snapshot()
        .skills
        .iter()
        .map(|entry| {
            let kind = match entry.loaded_from {
                Loaded::Skills => "skills",
                Loaded::Commands => "commands",
                Loaded::Bundled => "bundled",
            };
            format!("{} {} {kind}", entry.id, entry.scope.name())
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    added additional skills
    agent project skills
    agents project skills
    claude project skills
    codex project skills
    from-managed managed skills
    gemini project skills
    grouped project skills
    mine user commands
    plain project skills
    review project commands
    tidy project commands
    tools/oil plugin commands
    tools/sharpen plugin skills
    user-agent user skills
    user-agents user skills
    user-claude user skills
    user-codex user skills
    user-gemini user skills
    user-opencode user skills
    user-own user skills
    write-a-skill bundled bundled
    ");
    assert!(workspace.snapshot().skipped.is_empty(), "{:?}", workspace.snapshot().skipped);
}

#[test]
fn b02_every_source_opens_the_same_way() {
    let world = everywhere();
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    for name in ids(&workspace) {
        let answer =
            open_as(&mut session, &mut workspace, Origin::user(), &format!("skill:{name}"));
        let answer = answer.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert!(answer.text.contains(&format!("Opened skill:{name}")), "{}", answer.text);
    }
}

#[test]
fn clients_homes_move_with_their_variables() {
    let mut world = World::new();
    world.skill("claude-home/skills/a", "A.").skill("codex-home/skills/b", "B.");
    world
        .skill("home/.claude/skills/unused", "Old place.")
        .skill("config/concertina/skills/c", "C.");
    for (name, path) in [
        ("CLAUDE_CONFIG_DIR", "claude-home"),
        ("CODEX_HOME", "codex-home"),
        ("XDG_CONFIG_HOME", "config"),
    ] {
        let path = world.path(path).display().to_string();
        world.variables.insert(name.to_owned(), path);
    }
    assert_eq!(ids(&world.open()), ["a", "b", "c", "write-a-skill"]);
}

#[test]
fn a_project_reaches_up_to_the_root_of_its_repository() {
    let world = World::new();
    world.skill("work/.claude/skills/top", "Top.").skill("work/a/b/skills/here", "Here.");
    world.skill("work/a/skills/between", "Between.").skill(".claude/skills/outside", "Outside.");
    assert_eq!(ids(&world.open_at("work/a/b")), ["between", "here", "top", "write-a-skill"]);
    std::fs::remove_dir(world.path("work/.git")).unwrap();
    let without_repository = ids(&world.open_at("work/a/b"));
    assert_eq!(
        without_repository,
        ["here", "write-a-skill"],
        "no .git is needed, and none is climbed to"
    );
}

#[test]
fn a_workspace_by_itself_is_the_same_everywhere() {
    let world = everywhere();
    world.skill("work/inner/skills/own", "Own.");
    let variable = |name: &str| world.variables.get(name).cloned();
    let options = WorkspaceOptions::only(world.path("state"), &variable);
    let inner = concertina_runtime::Workspace::open(&world.path("work/inner"), options).unwrap();
    assert_eq!(ids(&inner), ["own"]);
    let alone = ids(&world.alone());
    assert!(alone.contains(&"added".to_owned()) && !alone.iter().any(|id| id.starts_with("user")));
}

#[test]
fn a_named_root_may_be_a_file_a_skill_a_root_or_a_repository() {
    let world = World::new();
    world.skill("repo/.agents/skills/a", "A.").skill("repo/skills/b", "B.");
    world.write("repo/.claude/commands/c.md", "C.\n");
    assert_eq!(ids(&world.rooted(&["repo"])), ["a", "b", "c"]);
    assert_eq!(ids(&world.rooted(&["repo/skills"])), ["b"]);
    assert_eq!(ids(&world.rooted(&["repo/skills/b"])), ["b"]);
    assert_eq!(ids(&world.rooted(&["repo/skills/b/SKILL.md"])), ["b"]);
    assert_eq!(ids(&world.rooted(&["repo/skills/b", "repo/.agents"])), ["a", "b"]);
}

#[test]
fn a_file_that_two_roots_reach_is_one_skill_also_the_second_time() {
    let world = World::new();
    world.skill("work/skills/a", "A.").config("[sources]\nroots = [\".\"]\n");
    let mut workspace = world.open();
    let first = workspace.snapshot().clone();
    assert_eq!(first.skill(&id("a")).unwrap().scope, Scope::Project);
    assert!(first.shadowed.is_empty());
    world.skill("work/skills/b", "B.");
    assert!(workspace.refresh());
    let again = workspace.snapshot();
    assert_eq!(again.skill(&id("a")), first.skill(&id("a")));
    assert!(again.shadowed.is_empty(), "{:?}", again.shadowed);
}

#[test]
fn b03_the_nearer_scope_wins_and_the_other_stays_reachable() {
    let world = World::new();
    world.skill("work/.claude/skills/fmt", "Project.").skill("home/.claude/skills/fmt", "User.");
    let descriptions = |workspace: &concertina_runtime::Workspace| {
        let snapshot = workspace.snapshot();
        let shadowed: Vec<String> = snapshot
            .shadowed
            .iter()
            .map(|one| format!("{} behind {}", one.entry.id, one.by))
            .collect();
        (
            snapshot.skill(&id("fmt")).unwrap().description.clone().unwrap().to_string(),
            shadowed.join(", "),
        )
    };
    let mut workspace = world.open();
    assert_eq!(descriptions(&workspace), ("Project.".to_owned(), "user/fmt behind fmt".to_owned()));
    let mut session = begin(&mut workspace);
    for qualified in ["skill:user/fmt", "skill:project/fmt", "skill:fmt"] {
        open_as(&mut session, &mut workspace, Origin::user(), qualified).unwrap();
    }
    world.write("home/.config/concertina/concertina.toml", "[sources]\nprofile = \"claude\"\n");
    assert_eq!(
        descriptions(&world.open()),
        ("User.".to_owned(), "project/fmt behind fmt".to_owned())
    );
}

#[test]
fn the_same_bytes_in_two_places_are_one_skill() {
    let world = World::new();
    let text = skill("same", "One text.", "Body.");
    world
        .write("work/.claude/skills/same/SKILL.md", &text)
        .write("work/.agents/skills/same/SKILL.md", &text);
    // The same frontmatter and the same size, but not the same bytes.
    world.write("home/.claude/skills/same/SKILL.md", text.replace("Body", "Idea"));
    let workspace = world.open();
    let entry = workspace.snapshot().skill(&id("same")).unwrap();
    assert!(entry.path.ends_with(".agents/skills/same/SKILL.md"), "{}", entry.path);
    assert_eq!(entry.also_at.len(), 1);
    assert!(entry.also_at[0].ends_with(".claude/skills/same/SKILL.md"));
    assert_eq!(workspace.snapshot().shadowed.len(), 1);
}

#[test]
fn a_plugin_never_hides_a_local_skill() {
    let world = World::new();
    world.skill("work/skills/p", "Local.");
    world.write("home/.claude/plugins/p/.claude-plugin/plugin.json", "{}");
    world.write("home/.claude/plugins/p/skills/s/SKILL.md", skill("t", "Of the plugin.", "B."));
    assert_eq!(ids(&world.open()), ["p", "p/t", "write-a-skill"]);
}

#[test]
fn b41_the_order_of_creation_changes_nothing() {
    let names = ["delta", "alpha", "charlie", "bravo", "echo"];
    let made = |order: &[usize]| {
        let world = World::new();
        for &at in order {
            world.skill(&format!("work/skills/{}", names[at]), "One.");
            world.skill(&format!("home/.claude/skills/{}", names[at]), "Two.");
            world.link(&format!("work/skills/link-{}", names[at]), &format!("./{}", names[at]));
        }
        world.skill("work/skills/group/alpha", "Three.");
        let text = serde_json::to_string(world.open().snapshot().as_ref()).unwrap();
        text.replace(&world.path("").display().to_string(), "")
    };
    let first = made(&[0, 1, 2, 3, 4]);
    assert_eq!(first, made(&[4, 3, 2, 1, 0]));
    assert_eq!(first, made(&[2, 0, 4, 1, 3]));
}

#[test]
fn b04_at_the_start_only_frontmatter_is_read() {
    let world = World::new();
    let body = "A line of the body that nobody needs yet.\n".repeat(200);
    for number in 0..50 {
        let name = format!("skill-{number}");
        world.write(&format!("work/skills/{name}/SKILL.md"), skill(&name, "Short.", &body));
        world.write(&format!("work/skills/{name}/references/long.md"), &body);
    }
    let workspace = world.alone();
    assert_eq!(workspace.snapshot().skills.len(), 50);
    // One piece of a file brings its frontmatter, and what stands in the same piece.
    assert!(workspace.bytes_read() <= 50 * 1_024, "{}", workspace.bytes_read());
    let text = serde_json::to_string(workspace.snapshot().as_ref()).unwrap();
    assert!(!text.contains("nobody needs"), "no body is in the index");
}

#[test]
fn a_long_frontmatter_is_read_to_its_end() {
    let world = World::new();
    let tags: Vec<String> = (0..2_000).map(|number| format!("tag-{number}")).collect();
    let more = format!("tags: [{}]", tags.join(", "));
    world.write(
        "work/skills/long/SKILL.md",
        crate::kit::skill_with("long", &more, &"x\n".repeat(100_000)),
    );
    let workspace = world.alone();
    assert_eq!(workspace.snapshot().skill(&id("long")).unwrap().tags.len(), 2_000);
    assert!(workspace.bytes_read() < 70_000, "{}", workspace.bytes_read());
}
