//! What waits for a person: asked as it will really happen, bound to exactly that, and used up.

use concertina_core::catalog::{Danger, ToolEntry};
use concertina_core::policy::{Places, Rule};
use concertina_core::session::{
    Action, Answered, Ask, Command, Decision, Origin, Settings, Targets, escaped,
};
use concertina_types::{
    ApprovalScope, Digest, Fact, Means, NetworkScope, PathScope, Permissions, limits,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::{Bench, answer, code, skill, snapshot, tool, tool_name};

fn asking(tools: Vec<ToolEntry>, rules: &[&str]) -> Bench {
    let mut settings = Settings::default();
    settings.policy.rules.ask =
        rules.iter().map(|rule| Rule::new(rule, &Places::default()).unwrap()).collect();
    Bench::new(settings, snapshot(vec![skill("plain", "Does it.")], tools))
}

fn destroying(name: &str) -> ToolEntry {
    ToolEntry { danger: Danger::Destructive, ..tool(name) }
}

fn call(bench: &mut Bench, name: &str, arguments: Value) -> Decision {
    call_at(bench, name, arguments, &[])
}

fn call_at(bench: &mut Bench, name: &str, arguments: Value, targets: &[(&str, &str)]) -> Decision {
    let origin = bench.asks("call");
    let shown = targets.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let targets = Targets { shown, ..Targets::default() };
    bench.apply(Command::Call { origin, tool: tool_name(name), arguments, targets })
}

fn ask(decision: &Decision) -> &Ask {
    decision.ask.as_ref().expect("a question")
}

fn agree(bench: &mut Bench, id: &str, scope: ApprovalScope, typed: Option<&str>) -> Decision {
    let typed = typed.map(str::to_owned);
    bench.apply(Command::Agree { id: id.to_owned(), scope, by: Means::Command, typed })
}

#[test]
fn k08_a_question_restates_the_action_and_a_yes_lets_it_happen_once() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let asked = call(&mut bench, "echo", json!({"to": "a"}));
    assert!(asked.intent.is_none() && asked.answer.is_none());
    assert!(ask(&asked).action.starts_with("call echo\n  to: a\n"), "{}", ask(&asked).action);
    let id = ask(&asked).id.clone();
    assert_eq!(code(&agree(&mut bench, &id, ApprovalScope::Once, None)), "");
    let admitted = call(&mut bench, "echo", json!({"to": "a"}));
    assert!(admitted.intent.is_some());
    assert!(matches!(
        &admitted.drafts[0].fact,
        Fact::CallAdmitted { approval: Some(by), .. } if *by == id
    ));
    let again = call(&mut bench, "echo", json!({"to": "a"}));
    assert!(again.intent.is_none(), "once is once");
    assert_ne!(ask(&again).id, id);
}

#[test]
fn s62_consent_for_some_arguments_does_not_cover_others() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let id = ask(&call(&mut bench, "echo", json!({"to": "a"}))).id.clone();
    agree(&mut bench, &id, ApprovalScope::Session, None);
    for _ in 0..2 {
        assert!(call(&mut bench, "echo", json!({"to": "a"})).intent.is_some());
    }
    assert!(call(&mut bench, "echo", json!({"to": "b"})).intent.is_none());
}

#[test]
fn advisory_49_a_link_that_leads_elsewhere_is_another_action() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let to = json!({"path": "notes.txt"});
    let asked = call_at(&mut bench, "echo", to.clone(), &[("path is", "/home/me/.bashrc")]);
    assert!(ask(&asked).action.contains("path is: /home/me/.bashrc"));
    let id = ask(&asked).id.clone();
    agree(&mut bench, &id, ApprovalScope::Session, None);
    assert!(
        call_at(&mut bench, "echo", to.clone(), &[("path is", "/etc/passwd")]).intent.is_none()
    );
    assert!(call_at(&mut bench, "echo", to, &[("path is", "/home/me/.bashrc")]).intent.is_some());
}

#[test]
fn k08_what_destroys_wants_the_words_typed_each_time() {
    let mut bench = asking(vec![destroying("files/delete")], &["tool:files/delete"]);
    let asked = call(&mut bench, "files/delete", json!({"path": "/p/x"}));
    let (id, phrase) = (ask(&asked).id.clone(), ask(&asked).phrase.clone().unwrap());
    assert_eq!(phrase, "files/delete /p/x");
    for wrong in [None, Some(""), Some("yes"), Some("files/delete /p/y")] {
        assert_eq!(
            code(&agree(&mut bench, &id, ApprovalScope::Once, wrong)),
            "PHRASE_NEEDED",
            "{wrong:?}"
        );
    }
    assert_eq!(code(&agree(&mut bench, &id, ApprovalScope::Session, Some(&phrase))), "ONCE_ONLY");
    assert!(call(&mut bench, "files/delete", json!({"path": "/p/x"})).intent.is_none());
    assert_eq!(code(&agree(&mut bench, &id, ApprovalScope::Once, Some(&phrase))), "");
    assert!(call(&mut bench, "files/delete", json!({"path": "/p/x"})).intent.is_some());
}

#[test]
fn s67_a_denial_outweighs_every_consent() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let asked = call(&mut bench, "echo", json!({}));
    let (id, key) = (ask(&asked).id.clone(), ask(&asked).key);
    agree(&mut bench, &id, ApprovalScope::Digest, None);
    bench.standing.insert(key);
    assert!(call(&mut bench, "echo", json!({})).intent.is_some());
    bench.settings.policy.rules.deny.push(Rule::new("tool:echo", &Places::default()).unwrap());
    let denied = call(&mut bench, "echo", json!({}));
    assert!(denied.intent.is_none() && denied.ask.is_none());
    assert_eq!(code(&denied), "NOT_VISIBLE");
}

#[test]
fn s61_consent_for_good_ends_with_the_bytes() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let key = ask(&call(&mut bench, "echo", json!({}))).key;
    let mut later = asking(vec![tool("echo")], &["tool:echo"]);
    later.standing.insert(key);
    let admitted = call(&mut later, "echo", json!({}));
    assert!(admitted.intent.is_some(), "the same bytes");
    assert!(
        matches!(admitted.drafts[0].fact, Fact::ApprovalGiven { by: Means::Earlier, .. }),
        "it is on the record"
    );
    later.change(|snapshot| {
        let mut changed = tool("echo");
        changed.digest = Digest::of(b"changed");
        snapshot.tools = vec![std::sync::Arc::new(changed)];
    });
    assert!(call(&mut later, "echo", json!({})).intent.is_none(), "one byte changed");
}

#[test]
fn a_no_holds_until_the_person_says_something_else() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let id = ask(&call(&mut bench, "echo", json!({}))).id.clone();
    bench.apply(Command::Disagree { id: id.clone(), by: Means::Terminal });
    let refused = call(&mut bench, "echo", json!({}));
    assert!(refused.ask.is_none());
    assert_eq!(code(&refused), "APPROVAL_REFUSED");
    assert_eq!(code(&agree(&mut bench, &id, ApprovalScope::Once, None)), "APPROVAL_ANSWERED");
    bench.apply(Command::Task { text: "try again".into() });
    assert!(call(&mut bench, "echo", json!({})).ask.is_some());
}

#[test]
fn a_question_and_a_consent_for_once_do_not_wait_for_ever() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let id = ask(&call(&mut bench, "echo", json!({}))).id.clone();
    bench.now += limits::APPROVAL_SECONDS * 1_000 + 1;
    assert_eq!(code(&agree(&mut bench, &id, ApprovalScope::Once, None)), "APPROVAL_EXPIRED");
    let id = ask(&call(&mut bench, "echo", json!({}))).id.clone();
    agree(&mut bench, &id, ApprovalScope::Once, None);
    bench.now += limits::APPROVAL_SECONDS * 1_000 + 1;
    assert!(call(&mut bench, "echo", json!({})).intent.is_none());
    assert_eq!(code(&agree(&mut bench, "ask-0", ApprovalScope::Once, None)), "NOT_FOUND");
}

#[test]
fn the_same_question_is_asked_once_and_survives_a_restart() {
    let mut bench = asking(vec![tool("echo")], &["tool:echo"]);
    let first = ask(&call(&mut bench, "echo", json!({}))).id.clone();
    let again = call(&mut bench, "echo", json!({}));
    assert_eq!(ask(&again).id, first);
    assert!(again.drafts.is_empty(), "it is on the record already");
    bench.resume();
    agree(&mut bench, &first, ApprovalScope::Once, None);
    bench.resume();
    assert!(call(&mut bench, "echo", json!({})).intent.is_some());
    bench.resume();
    assert_eq!(bench.state.approvals[&first].answered, Answered::Used);
}

#[test]
fn k08_an_operation_is_named_by_what_it_does_its_name_or_a_word_of_it() {
    let confirm = |operation: &str, tool: ToolEntry| {
        let permissions =
            Permissions { confirm: vec![operation.to_owned()], ..Permissions::default() };
        let mut bench = asking(vec![ToolEntry { permissions, ..tool.clone() }], &[]);
        call(&mut bench, tool.name.as_str(), json!({})).ask.is_some()
    };
    let writing = |name: &str| ToolEntry { danger: Danger::Writes, ..tool(name) };
    let reading = |name: &str| ToolEntry { danger: Danger::Safe, ..tool(name) };
    for (operation, tool, asks) in [
        ("*", reading("a/b"), true),
        ("write", writing("a/b"), true),
        ("write", reading("a/b"), false),
        ("a/*", reading("a/b"), true),
        ("delete", reading("orders/deleteOrder"), true),
        ("delete", reading("orders/delete_order"), true),
        ("DELETE", reading("orders/delete"), true),
        ("delete", reading("orders/undeleted"), false),
        ("", reading("a/b"), false),
    ] {
        assert_eq!(confirm(operation, tool.clone()), asks, "{operation} {}", tool.name);
    }
}

#[test]
fn s64_e03_a_skill_that_only_reads_opens_and_one_that_could_do_more_asks_the_model() {
    let mut bench = Bench::of(vec![skill("plain", "Does it.")], Vec::new());
    let open = |bench: &mut Bench, origin: Origin, change: &dyn Fn(&mut Permissions)| {
        let mut skill = bench.prepared("plain");
        change(&mut skill.permissions);
        let command =
            Command::OpenSkill { origin, skill: Box::new(skill), can_fork: false, held: None };
        bench.decide(command)
    };
    let risky = |permissions: &mut Permissions| permissions.execute = vec!["git push *".into()];
    let paths = || vec![PathScope { paths: vec!["notes/**".into()] }];
    let hosts = || vec![NetworkScope { domains: vec!["a.test".into()], methods: vec![] }];
    let more: [&dyn Fn(&mut Permissions); 3] = [
        &|permissions| permissions.write = paths(),
        &|permissions| permissions.network = hosts(),
        &risky,
    ];
    for one in more {
        // Alone, and beside what would be safe.
        let beside = |permissions: &mut Permissions| {
            (permissions.read, permissions.tools) = (paths(), vec!["sql/*".into()]);
            one(permissions);
        };
        assert!(open(&mut bench, Origin::model("m"), one).ask.is_some());
        assert!(open(&mut bench, Origin::model("m"), &beside).ask.is_some());
    }
    let reads = |permissions: &mut Permissions| permissions.read = paths();
    let safe = |permissions: &mut Permissions| permissions.tools = vec!["sql/*".into()];
    assert!(open(&mut bench, Origin::model("m"), &reads).ask.is_none());
    assert!(open(&mut bench, Origin::model("m"), &safe).ask.is_none());
    let asked = open(&mut bench, Origin::model("m"), &risky);
    assert_eq!(code(&asked), "APPROVAL_NEEDED");
    assert!(ask(&asked).action.contains("could: run git push *"), "{}", ask(&asked).action);
    assert!(open(&mut bench, Origin::user(), &risky).ask.is_none(), "a person typed it");
    bench.settings.policy.rules.allow = vec![Rule::new("skill:plain", &Places::default()).unwrap()];
    assert!(open(&mut bench, Origin::model("m"), &risky).ask.is_none(), "a rule answered it");
}

#[test]
fn k07_a_parameter_that_is_a_scope_binds_the_calls_of_its_tools() {
    let mut bench = Bench::of(vec![skill("orders", "Looks up orders.")], vec![tool("orders/get")]);
    let mut skill = bench.prepared("orders");
    skill.tools = vec!["orders/*".into()];
    skill.bound.insert("order_id".into(), json!("A1"));
    let origin = bench.asks("open");
    bench.apply(Command::OpenSkill { origin, skill: Box::new(skill), can_fork: false, held: None });
    assert!(call(&mut bench, "orders/get", json!({"order_id": "A1"})).intent.is_some());
    assert!(call(&mut bench, "orders/get", json!({})).intent.is_some());
    for other in [json!("B2"), json!("*"), json!("A1 "), json!(["A1"]), json!(null)] {
        let refused = call(&mut bench, "orders/get", json!({"order_id": other}));
        assert_eq!(code(&refused), "OUTSIDE_SCOPE", "{other}: {}", answer(&refused));
    }
    bench.close("skill:orders");
    assert!(call(&mut bench, "orders/get", json!({"order_id": "B2"})).intent.is_some());
}

#[test]
fn nothing_in_a_question_hides_or_forges_a_line() {
    let action = Action {
        request: "call a\u{202e}b".into(),
        details: vec![
            ("x".into(), "1\n  y: 2\r\u{1b}[2J".into()),
            ("tags".into(), "\u{e0041}\u{200b}".into()),
            ("long".into(), "é".repeat(2_000)),
        ],
        phrase: None,
    };
    let text = action.text();
    assert_eq!(text.lines().count(), 4);
    assert!(text.contains("4000 bytes in all"));
    assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
}

proptest! {
    #[test]
    fn two_actions_that_differ_have_different_keys_and_are_shown_on_lines_of_their_own(
        one in prop::collection::vec((".{0,6}", ".{0,12}"), 0..4),
        other in prop::collection::vec((".{0,6}", ".{0,12}"), 0..4),
    ) {
        let action = |details: &[(String, String)]| Action {
            request: "call x".into(), details: details.to_vec(), phrase: None,
        };
        let (first, second) = (action(&one), action(&other));
        prop_assert_eq!(first.key() == second.key(), one == other);
        prop_assert_eq!(first.text().lines().count(), 1 + one.len());
        for (name, _) in &one {
            prop_assert_eq!(escaped(&escaped(name)).lines().count(), escaped(name).lines().count());
        }
    }
}

#[test]
fn k10_a_surprise_ends_a_skill_unless_it_says_to_go_on() {
    use concertina_core::catalog::NeedsSkill;
    use concertina_types::OnUnexpected;
    for (says, goes_on) in [
        (OnUnexpected::Unstated, false),
        (OnUnexpected::Abort, false),
        (OnUnexpected::Continue, true),
    ] {
        let brought = ToolEntry { needs_skill: NeedsSkill::Any, ..tool("orders/get") };
        let mut bench = Bench::of(vec![skill("orders", "Looks up orders.")], vec![brought]);
        let mut prepared = bench.prepared("orders");
        prepared.tools = vec!["orders/*".into()];
        prepared.permissions.on_unexpected = says;
        prepared.bound.insert("order_id".into(), json!("A1"));
        let (origin, skill) = (bench.asks("open"), Box::new(prepared));
        bench.apply(Command::OpenSkill { origin, skill, can_fork: false, held: None });
        let refused = call(&mut bench, "orders/get", json!({"order_id": "B2"}));
        assert_eq!(code(&refused), "OUTSIDE_SCOPE");
        assert_eq!(answer(&refused).contains("skill:orders was closed"), !goes_on, "{says:?}");
        assert_eq!(bench.callable().contains("orders/get"), goes_on, "{says:?}");
        let again = call(&mut bench, "orders/get", json!({"order_id": "A1"}));
        assert_eq!(again.intent.is_some(), goes_on, "{says:?}");
    }
}

#[test]
fn e09_permissions_return_to_what_they_were_in_whatever_order_skills_close() {
    let mut bench = Bench::of(vec![skill("a", "Does a."), skill("b", "Does b.")], Vec::new());
    let open = |bench: &mut Bench, id: &str| {
        let mut skill = bench.prepared(id);
        skill.permissions.read = vec![PathScope { paths: vec![format!("{id}/**")] }];
        let origin = bench.asks("open");
        let skill = Box::new(skill);
        bench.apply(Command::OpenSkill { origin, skill, can_fork: false, held: None });
    };
    let start = bench.state.permissions_digest();
    open(&mut bench, "a");
    let only_a = bench.state.permissions_digest();
    open(&mut bench, "b");
    let both = bench.state.permissions_digest();
    assert!(start != only_a && only_a != both && both != start);
    bench.close("skill:a");
    open(&mut bench, "a");
    assert_eq!(bench.state.permissions_digest(), both, "the order of opening does not count");
    bench.close("skill:b");
    assert_eq!(bench.state.permissions_digest(), only_a);
    bench.close("skill:a");
    assert_eq!(bench.state.permissions_digest(), start);
}

#[test]
fn k14_a_session_that_runs_a_skill_has_at_most_what_its_parent_has() {
    use concertina_core::policy::{FilePath, Request};
    use concertina_core::session::{Site, access_of_fork, access_of_skill};
    use concertina_types::{PathScope, SkillId};
    let reads = |path: &str| Permissions {
        read: vec![PathScope { paths: vec![path.to_owned()] }],
        ..Permissions::default()
    };
    let id = SkillId::new("narrow").unwrap();
    let site = Site { workspace: "/w".into(), ..Site::default() };
    let mut child = Settings { site, ..Settings::default() };
    child.access = access_of_fork(&child, &id, &reads("a/**")).unwrap();
    // In it a skill asks for everything.
    let wide = access_of_skill(&child, &reads("**"), "skill:wide").unwrap();
    let read = |path: &str| Request::Read(FilePath::new(path).unwrap());
    assert!(wide.covers(&read("/w/a/x")));
    assert!(!wide.covers(&read("/w/b/x")));
    let grandchild = Settings {
        access: access_of_fork(&child, &id, &reads("a/deep/**")).unwrap(),
        ..child.clone()
    };
    let wide = access_of_skill(&grandchild, &reads("**"), "skill:wide").unwrap();
    assert!(wide.covers(&read("/w/a/deep/x")) && !wide.covers(&read("/w/a/x")));
}
