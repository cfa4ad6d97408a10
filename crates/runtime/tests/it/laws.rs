//! Laws that hold whatever a model writes.

use concertina_core::session::visible_tools;
use concertina_runtime::{Cancel, Session, Started};
use concertina_store::Store;
use concertina_types::{Fact, ModelCall};
use proptest::prelude::*;
use serde_json::json;

use crate::kit::{World, fold, skill_with};

fn world() -> World {
    let world = World::new();
    for name in ["one", "two", "three"] {
        let more = format!("permissions:\n  tools: [\"{name}\"]");
        world.write(
            &format!("work/skills/{name}/SKILL.md"),
            skill_with(name, &more, "# Body\n\n## Part\n\nText."),
        );
    }
    let tool = |name: &str, more: &str| {
        format!("[tool.{name}]\nargv = [\"printf\", \"{name}\"]\ndanger = \"safe\"\n{more}\n")
    };
    let bound = ["one", "two", "three"].map(|name| tool(name, "needs_skill = true")).concat();
    world.config(&format!(
        "[policy]\ndeny = [\"tool:denied\"]\n{bound}{}{}",
        tool("free", ""),
        tool("denied", "")
    ));
    world
}

fn written() -> impl Strategy<Value = (String, String)> {
    let reference = prop::sample::select(vec![
        "skill:one",
        "skill:two",
        "skill:three",
        "skill:one#part",
        "skill:two@1-2",
        "skill:none",
        "tool:one",
        "tool:free",
        "ev:1",
        "menu:x",
        "oops",
        "",
    ]);
    let tool =
        prop::sample::select(vec!["one", "two", "three", "free", "denied", "none", "two words"]);
    prop_oneof![
        3 => reference.clone().prop_map(|text| ("open".to_owned(), json!({"ref": text}).to_string())),
        2 => reference.prop_map(|text| ("close".to_owned(), json!({"ref": text}).to_string())),
        3 => tool.prop_map(|text| ("call".to_owned(), json!({"tool": text}).to_string())),
        1 => "[a-z ]{0,12}".prop_map(|text| ("find".to_owned(), json!({"query": text}).to_string())),
        1 => ("[a-z]{0,5}", "[ -~]{0,12}"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The menu is the gate: exactly the calls of tools that were visible are admitted, whatever was
    /// written before. And what is in memory is what the log says.
    #[test]
    fn only_visible_tools_run_and_the_log_is_the_truth(all in prop::collection::vec(written(), 1..25)) {
        let world = world();
        let mut workspace = world.alone();
        let store = Store::memory();
        let mut session = Session::create(&mut workspace, store.clone(), Started::default()).unwrap();
        for (at, (name, arguments)) in all.into_iter().enumerate() {
            let visible: Vec<String> = visible_tools(session.state(), &session.world())
                .iter()
                .map(|tool| tool.name.to_string())
                .collect();
            let before = session.state().seq;
            let call = ModelCall { id: format!("c{at}"), name: name.clone(), arguments: arguments.clone() };
            let reply = session.dispatch(&mut workspace, &call, false, &Cancel::default()).unwrap();
            prop_assert!(reply.answer.is_some());
            let admitted: Vec<String> = session
                .events()
                .unwrap()
                .into_iter()
                .filter(|event| event.seq > before)
                .filter_map(|event| match event.fact {
                    Fact::CallAdmitted { tool, .. } => Some(tool.to_string()),
                    _ => None,
                })
                .collect();
            let wanted = serde_json::from_str::<serde_json::Value>(&arguments).ok();
            let wanted = wanted.filter(|_| name == "call").and_then(|value| Some(value.get("tool")?.as_str()?.to_owned()));
            let expected: Vec<String> = wanted.into_iter().filter(|tool| visible.contains(tool)).collect();
            prop_assert_eq!(&admitted, &expected, "{} {}", name, arguments);
            prop_assert_eq!(reply.refusal.is_none() && name == "call", !expected.is_empty());
        }
        let events = session.events().unwrap();
        prop_assert_eq!(session.state(), &fold(&events));
        let resumed = Session::resume(store, session.id().clone()).unwrap();
        prop_assert_eq!(resumed.state(), session.state());
        prop_assert_eq!(resumed.view(), session.view());
    }
}
