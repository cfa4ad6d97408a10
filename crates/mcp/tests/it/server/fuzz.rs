//! Many random calls: whatever is asked in whatever order, nothing hidden runs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::kit::{Client, Room, text};

/// As many as are asked of this, in sessions of which each has a log of its own.
const CALLS: usize = 100_000;
const SESSIONS: usize = 40;

/// A small generator of numbers; the same numbers each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below).unwrap()).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// What the test itself believes: a list of menus that are open, and skills that are.
#[derive(Default)]
struct Belief {
    menus: BTreeSet<&'static str>,
    skills: BTreeSet<&'static str>,
}

/// The tools: in which menu, whether only with the skill `keys`, whether a rule denies it.
const TOOLS: &[(&str, &str, bool, bool)] = &[
    ("a/one", "east", false, false),
    ("a/two", "east", false, false),
    ("a/three", "east/inner", false, false),
    ("a/four", "east/inner", false, true),
    ("b/one", "west", false, false),
    ("b/two", "west", false, true),
    ("b/locked", "", true, false),
    ("b/barred", "", true, true),
];

const MENUS: &[&str] = &["east", "east/inner", "west"];
const SKILLS: &[&str] = &["keys", "idle"];

impl Belief {
    fn is_visible(&self, (_, menu, locked, denied): &(&str, &str, bool, bool)) -> bool {
        let mut levels =
            MENUS.iter().filter(|level| *menu == **level || menu.starts_with(&format!("{level}/")));
        let is_open = levels.all(|level| self.menus.contains(level));
        !denied && if *locked { self.skills.contains("keys") } else { is_open }
    }

    fn open_menu(&mut self, menu: &'static str) {
        let outer = MENUS.iter().filter(|level| menu.starts_with(&format!("{level}/")));
        self.menus.extend(outer.copied().chain([menu]));
    }

    fn close_menu(&mut self, menu: &str) {
        self.menus.retain(|open| *open != menu && !open.starts_with(&format!("{menu}/")));
    }
}

fn room() -> Room {
    let mut settings = String::from(
        "[menu.east]\ntitle = \"East\"\n[menu.\"east/inner\"]\ntitle = \"Inner\"\n[menu.west]\ntitle = \"West\"\n[policy]\ndeny = [\"tool:a/four\", \"tool:b/two\", \"tool:b/barred\"]\n",
    );
    let sql = "kind = \"sqlite\"\nseed = \"seed.sql\"\n";
    for (name, menu, locked, _) in TOOLS {
        let place = if *locked {
            "needs_skill = [\"keys\"]".to_owned()
        } else {
            format!("category = \"{menu}\"")
        };
        let tool = format!("[tool.\"{name}\"]\ndescription = \"Says {name}.\"\n{sql}{place}\n");
        settings.push_str(&tool);
    }
    // Menus are there where tools are too many to be shown at once.
    for number in 0..26 {
        let tool = format!(
            "[tool.\"z/filler_{number}\"]\ndescription = \"Fills.\"\n{sql}category = \"rest\"\n"
        );
        settings.push_str(&tool);
    }
    Room::new()
        .file("concertina.toml", &settings)
        .file("seed.sql", "CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1);\n")
        .file(
            "skills/keys/SKILL.md",
            "---\nname: keys\ndescription: Brings the locked tools.\npermissions:\n  tools: [\"b/locked\", \"b/barred\"]\n---\nUse them.\n",
        )
        .skill("idle", "Brings nothing.", "Nothing.")
}

#[tokio::test(flavor = "multi_thread")]
async fn i04_in_100_000_random_calls_no_hidden_tool_runs() {
    let room = room();
    let gateway = room.open().await;
    let runs = (0..SESSIONS).map(|number| {
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let client = Client::of(&gateway).await;
            let seed = 0x9e37_79b9_7f4a_7c15_u64 ^ (u64::try_from(number).unwrap() + 1);
            session(&client, &mut Dice(seed), CALLS / SESSIONS).await
        })
    });
    let (mut ran, mut refused) = (0, 0);
    for run in runs.collect::<Vec<_>>() {
        let (did, did_not) = run.await.unwrap();
        ran += did;
        refused += did_not;
    }
    assert!(ran > CALLS / 100, "of {CALLS} calls {ran} ran, so this says little");
    assert!(refused > CALLS / 10, "of {CALLS} calls {refused} were refused");
}

/// Random requests of one session: how many tools ran, how many were refused.
async fn session(client: &Client, dice: &mut Dice, calls: usize) -> (usize, usize) {
    let mut belief = Belief::default();
    let (mut ran, mut refused) = (0, 0);
    for _ in 0..calls {
        match dice.roll(10) {
            0 => {
                let menu = *dice.pick(MENUS);
                let result = client.tool("open", json!({"ref": format!("menu:{menu}")})).await;
                if result["isError"] == false {
                    belief.open_menu(menu);
                }
            }
            1 => {
                let menu = *dice.pick(MENUS);
                let result = client.tool("close", json!({"ref": format!("menu:{menu}")})).await;
                if result["isError"] == false {
                    belief.close_menu(menu);
                }
            }
            2 => {
                let skill = *dice.pick(SKILLS);
                let reference = json!({"ref": format!("skill:{skill}")});
                if dice.roll(2) == 0 {
                    client.tool("open", reference).await;
                    belief.skills.insert(skill);
                } else {
                    client.tool("close", reference).await;
                    belief.skills.remove(skill);
                }
            }
            _ => {
                let tool = dice.pick(TOOLS);
                let result = attempt(client, dice, tool.0).await;
                let said = text(&result);
                let did_run = said.contains("<result");
                assert_eq!(
                    did_run,
                    belief.is_visible(tool),
                    "{tool:?} with {:?} and {:?} open: {said}",
                    belief.menus,
                    belief.skills
                );
                assert_eq!(result["isError"] == false, did_run, "{said}");
                if did_run { ran += 1 } else { refused += 1 }
            }
        }
    }
    (ran, refused)
}

/// Calls a tool by one of the ways there are.
async fn attempt(client: &Client, dice: &mut Dice, name: &str) -> Value {
    let args = json!({"query": "SELECT x FROM t"});
    match dice.roll(4) {
        0 => client.tool("call", json!({"tool": name, "args": args})).await,
        1 => client.tool("call", json!({"tool": format!("tool:{name}"), "args": args})).await,
        2 => client.tool(name, args).await,
        _ => client.tool(&name.replace('/', "__"), args).await,
    }
}
