//! Where skills come from.

use crate::kit::{Place, names, write};

fn skill(path: &str, name: &str, about: &str) -> String {
    format!("//- {path}\n---\nname: {name}\ndescription: {about}.\n---\nDo {about}.\n")
}

/// One skill of every kind of place that a test can write to.
fn every_source() -> Place {
    let place = Place::new();
    let plugin = ".claude/plugins/port";
    let home = [
        skill(".claude/skills/anchor/SKILL.md", "anchor", "anchors"),
        format!("//- {plugin}/.claude-plugin/plugin.json\n{{\"name\": \"port\"}}\n"),
        skill(&format!("{plugin}/skills/crane/SKILL.md"), "crane", "cranes"),
    ];
    write(&place.home(), &home.concat());
    let work = [
        skill(".agents/skills/buoy/SKILL.md", "buoy", "buoys"),
        "//- .claude/commands/dredge.md\n---\ndescription: Dredges.\n---\nDredge the basin.\n"
            .into(),
        "//- concertina.toml\n[sources]\nroots = [\"more\"]\n".into(),
        skill("more/eddy/SKILL.md", "eddy", "eddies"),
    ];
    write(&place.work(), &work.concat());
    place
}

#[test]
fn b01_every_source_is_in_one_list_and_named() {
    let list = every_source().json(&["skill", "list"]);
    let found = |id: &str| {
        let skill = list["skills"].as_array().unwrap().iter().find(|skill| skill["id"] == id);
        let skill = skill.unwrap_or_else(|| panic!("{id} in {list}"));
        (
            skill["source"].as_str().unwrap().to_owned(),
            skill["loaded_from"].as_str().unwrap().to_owned(),
        )
    };
    for (id, source, loaded_from) in [
        ("anchor", "user", "skills"),
        ("buoy", "project", "skills"),
        ("dredge", "project", "commands"),
        ("eddy", "additional", "skills"),
        ("port/crane", "plugin", "skills"),
        ("write-a-skill", "bundled", "bundled"),
    ] {
        assert_eq!(found(id), (source.to_owned(), loaded_from.to_owned()), "{id}");
    }
}

#[test]
fn b02_one_command_opens_a_skill_of_any_source() {
    let place = every_source();
    for id in ["anchor", "buoy", "dredge", "eddy", "port/crane", "write-a-skill"] {
        let opened = place.json(&["open", &format!("skill:{id}")]);
        assert_eq!(opened["mode"], "inline", "{id}");
        assert!(!opened["text"].as_str().unwrap().is_empty(), "{id}");
    }
}

#[test]
fn b03_of_two_skills_with_one_name_one_is_active_and_the_other_reported() {
    let place = Place::new();
    write(&place.work(), &skill("skills/anchor/SKILL.md", "anchor", "project anchors"));
    write(&place.home(), &skill(".claude/skills/anchor/SKILL.md", "anchor", "user anchors"));
    for _ in 0..3 {
        let list = place.json(&["skill", "list", "--shadowed"]);
        assert_eq!(names(&list["shadowed"], "scope"), ["user"]);
        assert_eq!(list["shadowed"][0]["by"], "anchor");
        let all = place.json(&["skill", "list"]);
        let active: Vec<_> = all["skills"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["name"] == "anchor")
            .collect();
        assert_eq!(active.len(), 1, "{all}");
        assert_eq!(active[0]["scope"], "project");
    }
    place
        .run(&["skill", "list", "--shadowed"])
        .exits(0)
        .shows(&["home/.claude/skills/anchor/SKILL.md"]);
    let other = place.json(&["skill", "list", "--shadowed"])["shadowed"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    place.run(&["open", &format!("skill:{other}")]).exits(0).shows(&["Do user anchors."]);
}

#[test]
fn b03_the_same_content_twice_is_one_skill_with_two_places() {
    let place = Place::with(
        &[
            skill("skills/anchor/SKILL.md", "anchor", "anchors"),
            skill(".claude/skills/anchor/SKILL.md", "anchor", "anchors"),
        ]
        .concat(),
    );
    let list = place.json(&["skill", "list"]);
    let one = list["skills"].as_array().unwrap().iter().find(|one| one["id"] == "anchor").unwrap();
    assert_eq!(one["also_at"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(list["shadowed"].as_array().unwrap().len(), 0);
}

#[test]
fn b04_the_index_reads_frontmatter_and_no_body() {
    let place = Place::new();
    let body = "A line of the body.\n".repeat(20_000);
    for at in 0..10 {
        let file = format!(
            "{}{body}",
            skill(&format!("skills/s{at}/SKILL.md"), &format!("s{at}"), "things")
        );
        write(&place.work(), &file);
    }
    let done = place.run(&["skill", "list", "--trace", "--root", "skills"]).exits(0);
    let read: u64 = done.err.split_whitespace().next().unwrap().replace(',', "").parse().unwrap();
    // Ten files of 400 KB; a first block of each is enough.
    assert!(read <= 10 * 8_192, "{read} bytes");
}
