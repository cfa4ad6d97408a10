//! Files that belong to a skill: exactly those, exactly as they are.

use concertina_runtime::sources::{inventory, resource};
use concertina_types::limits;

use crate::kit::{World, begin, open};

fn with_files() -> World {
    let world = World::new();
    world.skill("work/skills/s", "S.").write("work/skills/secret.md", "secret");
    world.write("work/skills/s/references/a b.md", "line one\r\nline two\r\n");
    world
        .write("work/skills/s/LICENSE", "free\n")
        .write("work/skills/s/data.bin", [0, 159, 146, 150]);
    world.write("work/skills/s/.hidden", "no").write("work/skills/s/node_modules/x/y.js", "no");
    world.link("work/skills/s/out", "..").link("work/skills/s/leak.md", "../secret.md");
    world
        .link("work/skills/s/alias.md", "LICENSE")
        .link("work/skills/s/nowhere.md", "../missing.md");
    world
}

#[test]
fn the_inventory_lists_and_reads_nothing_else() {
    let world = with_files();
    let listed = inventory(&world.path("work/skills/s"));
    assert_eq!(
        listed,
        ["LICENSE", "alias.md", "data.bin", "leak.md", "nowhere.md", "out", "references/a b.md"]
    );
}

#[test]
fn every_way_out_is_refused() {
    let world = with_files();
    let directory = world.path("work/skills/s");
    let absolute = world.path("work/skills/secret.md").display().to_string();
    for path in [
        "../secret.md",
        "references/../../secret.md",
        "./../secret.md",
        "..",
        "/etc/passwd",
        &absolute,
        "..\\secret.md",
        "references\\a b.md",
        "out/secret.md",
        "leak.md",
        "nowhere.md",
        "a\0b",
    ] {
        let error = resource(&directory, path).unwrap_err();
        assert_eq!(error.code(), "ESCAPES", "{path}");
        assert!(!error.to_string().contains("secret\n"));
    }
    for path in ["%2e%2e/secret.md", "references", "", ".", "missing.md", "LICENSE/x"] {
        assert_eq!(resource(&directory, path).unwrap_err().code(), "NO_SUCH_FILE", "{path}");
    }
}

#[test]
fn the_bytes_are_exact() {
    let world = with_files();
    let directory = world.path("work/skills/s");
    assert_eq!(resource(&directory, "references/a b.md").unwrap(), b"line one\r\nline two\r\n");
    assert_eq!(resource(&directory, "data.bin").unwrap(), [0, 159, 146, 150]);
    assert_eq!(resource(&directory, "alias.md").unwrap(), b"free\n");
    let most = usize::try_from(limits::SKILL_BYTES).unwrap();
    world
        .write("work/skills/s/most.txt", vec![b'x'; most])
        .write("work/skills/s/over.txt", vec![b'x'; most + 1]);
    assert_eq!(resource(&directory, "most.txt").unwrap().len(), most);
    assert_eq!(resource(&directory, "over.txt").unwrap_err().code(), "FILE_TOO_LARGE");
}

#[test]
fn e14_the_model_opens_them_by_reference() {
    let world = with_files();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let text = open(&mut session, &mut workspace, "skill:s#LICENSE").unwrap().text;
    assert!(text.contains("free"), "{text}");
    assert!(
        open(&mut session, &mut workspace, "skill:s#references/a%20b.md")
            .unwrap()
            .text
            .contains("line two")
    );
    for (reference, code) in [
        ("skill:s#../secret.md", "ESCAPES"),
        ("skill:s#%2e%2e/secret.md", "ESCAPES"),
        ("skill:s#leak.md", "ESCAPES"),
        ("skill:s#missing.md", "NO_SUCH_FILE"),
        ("skill:s#no-such-section", "NO_SUCH_PART"),
        ("skill:s#data.bin", "NOT_TEXT"),
    ] {
        let refusal = open(&mut session, &mut workspace, reference).unwrap_err();
        assert_eq!(refusal.code, code, "{reference}: {refusal}");
    }
    assert!(!session.view().render().contains("secret\n"));
}
