//! Unfolding and folding: what comes, what may be called, what leaves.

use concertina_core::catalog::{Danger, NeedsSkill, Precedence, SkillEntry, ToolEntry, merge};
use concertina_core::policy::{Pattern, Places, Policy, Rule};
use concertina_core::session::{
    Command, Origin, Part, PreparedSkill, Settings, Shown, Targets, Unfolded,
};
use concertina_types::{DisclosureKind, LineRange, OpenMode, Ref, SessionId, Tokens, limits};
use serde_json::json;

use crate::kit::{Bench, answer, code, count, skill, skill_id, snapshot, tool, tool_name};

fn with_tools(id: &str, claims: &[&str]) -> SkillEntry {
    let claims = claims.iter().map(|claim| (*claim).to_owned()).collect();
    SkillEntry { claims, ..skill(id, &format!("Does {id}.")) }
}

fn bound(name: &str) -> ToolEntry {
    ToolEntry { needs_skill: NeedsSkill::Any, ..tool(name) }
}

fn sales() -> Bench {
    Bench::of(
        vec![with_tools("sales", &["sql/query"]), with_tools("admin", &["sql/*"])],
        vec![bound("sql/query"), bound("sql/drop"), tool("echo")],
    )
}

fn policy(change: impl FnOnce(&mut Policy)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings.policy);
    settings
}

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).unwrap()
}

#[test]
fn e01_a_body_is_in_the_view_only_while_the_skill_is_open() {
    let mut bench = sales();
    bench.turn();
    assert!(!bench.view().render().contains("Instructions of sales"));
    let opened = bench.open("sales");
    assert!(count(answer(&opened)) <= Tokens(60), "e04: {}", answer(&opened));
    assert!(bench.view().part(Part::Skills).contains("Instructions of sales"));
    bench.close("skill:sales");
    assert!(!bench.view().render().contains("Instructions of sales"));
    insta::assert_snapshot!(bench.view().part(Part::Skills), @"[skill:sales was closed; open it again when it is needed]");
}

#[test]
fn e08_a_tool_comes_and_leaves_with_its_skill() {
    let mut bench = sales();
    let before = bench.callable();
    assert!(!before.contains("sql/query"));
    let opened = bench.open("sales");
    assert!(answer(&opened).contains("Callable now: sql/query."));
    assert!(bench.callable().contains("sql/query") && !bench.callable().contains("sql/drop"));
    let closed = bench.close("skill:sales");
    assert!(answer(&closed).contains("No longer callable: sql/query."));
    assert_eq!(bench.callable(), before);
}

#[test]
fn e16_a_hidden_tool_called_by_its_exact_name_says_what_to_open() {
    let mut bench = sales();
    let (_, refused) = bench.call("sql/query", json!({}));
    assert!(refused.intent.is_none());
    assert_eq!(code(&refused), "NOT_VISIBLE");
    insta::assert_snapshot!(answer(&refused), @"error NOT_VISIBLE: tool:sql/query appears only while one of skill:admin, skill:sales is open; open one first");
    bench.open("sales");
    assert_eq!(code(&bench.call("sql/query", json!({})).1), "");
}

#[test]
fn e16_a_skill_that_the_model_may_not_see_is_not_named_to_it() {
    let mut bench = sales();
    bench.change(|catalogue| catalogue.skills[0].model_disabled = true);
    let (_, refused) = bench.call("sql/drop", json!({}));
    assert!(!answer(&refused).contains("admin"), "{}", answer(&refused));
}

#[test]
fn a_tool_bound_to_one_skill_does_not_come_with_another() {
    let only =
        ToolEntry { needs_skill: NeedsSkill::OneOf(vec!["sales".into()]), ..tool("sql/query") };
    let mut bench =
        Bench::of(vec![with_tools("sales", &["sql/*"]), with_tools("evil", &["*"])], vec![only]);
    bench.open("evil");
    assert!(bench.callable().is_empty());
    bench.open("sales");
    assert_eq!(bench.callable().len(), 1);
}

#[test]
fn c11_an_unknown_name_gets_the_nearest_visible_ones() {
    let mut bench = sales();
    bench.change(|catalogue| catalogue.skills[0].model_disabled = true);
    let refused = bench.open("sale");
    assert_eq!(code(&refused), "NOT_FOUND");
    assert!(answer(&refused).contains("skill:sales") && !answer(&refused).contains("admin"));
    let (_, refused) = bench.call("ecko", json!({}));
    assert_eq!(code(&refused), "UNKNOWN_TOOL");
    assert!(
        answer(&refused).contains("echo") && !answer(&refused).contains("sql"),
        "{}",
        answer(&refused)
    );
}

#[test]
fn a02_an_unknown_name_does_not_get_the_whole_catalogue() {
    let skills = (0..500).map(|i| skill(&format!("report-{i}"), "Reports.")).collect();
    let mut bench = Bench::of(skills, vec![]);
    let refused = bench.open("reports");
    assert!(answer(&refused).matches("skill:").count() <= 6);
}

#[test]
fn e11_opening_again_adds_next_to_nothing() {
    let mut bench = sales();
    for id in ["sales", "admin"] {
        bench.open(id);
        let skills = bench.view().part(Part::Skills);
        let again = bench.open(id);
        assert!(count(answer(&again)) <= Tokens(30), "{}", answer(&again));
        assert_eq!(bench.view().part(Part::Skills), skills);
    }
    // Another open skill with the same tools makes no difference.
    bench.close("skill:sales");
    assert!(answer(&bench.open("admin")).contains("already open"));
}

#[test]
fn a05_a_changed_skill_is_shown_anew_and_says_so() {
    let mut bench = sales();
    bench.open("sales");
    let mut skill = bench.prepared("sales");
    skill.digest = concertina_types::Digest::of(b"other");
    skill.text = "Other instructions.\n".into();
    let origin = bench.asks("open");
    let again = bench.apply(Command::OpenSkill {
        origin,
        skill: Box::new(skill),
        can_fork: true,
        held: None,
    });
    assert!(answer(&again).starts_with("It changed since it was last opened."));
    let shown = bench.view().part(Part::Skills);
    assert!(shown.contains("Other instructions") && !shown.contains("Instructions of sales"));
}

#[test]
fn a12_one_skill_too_many_names_the_one_that_left() {
    let n = limits::OPEN_SKILLS + 1;
    let skills = (0..n).map(|i| skill(&format!("s-{i:02}"), "Does it.")).collect();
    let mut bench = Bench::of(skills, vec![]);
    for i in 0..n {
        let opened = bench.open(&format!("s-{i:02}"));
        assert_eq!(answer(&opened).contains("skill:s-00 was closed to make room"), i + 1 == n);
    }
    assert_eq!(bench.state.open.len(), limits::OPEN_SKILLS);
    assert!(bench.view().part(Part::Skills).contains("[skill:s-00 was closed"));
}

#[test]
fn j16_a_skill_that_comes_after_another_waits_for_it() {
    let needs = |id: &str, needed: &str| SkillEntry {
        requires: vec![needed.into()],
        ..skill(id, "Does it.")
    };
    let skills = vec![
        needs("report", "analyse"),
        needs("analyse", "project/query"),
        skill("query", "Asks."),
        needs("a", "b"),
        needs("b", "a"),
    ];
    let mut bench = Bench::of(skills, vec![]);
    let refused = bench.open("report");
    assert_eq!(code(&refused), "REQUIRES_FIRST");
    assert!(
        answer(&refused).contains("comes after skill:query, then skill:analyse"),
        "{}",
        answer(&refused)
    );
    // Reading it in part is no way around.
    let shown = Shown {
        reference: "skill:report@1-9".parse().unwrap(),
        kind: DisclosureKind::Skill,
        text: "secret".into(),
        lines: None,
    };
    let origin = bench.asks("open");
    assert_eq!(code(&bench.apply(Command::Show { origin, shown })), "REQUIRES_FIRST");
    for id in ["query", "analyse", "report"] {
        assert_eq!(code(&bench.open(id)), "", "{id}");
    }
    assert_eq!(code(&bench.open("a")), "REQUIRES_CYCLE");
}

#[test]
fn j16_a_skill_that_ran_apart_counts_as_done() {
    let first = SkillEntry { context: OpenMode::Fork, ..skill("first", "Runs apart.") };
    let then = SkillEntry { requires: vec!["first".into()], ..skill("then", "Goes on.") };
    for completed in [true, false] {
        let mut bench = Bench::of(vec![first.clone(), then.clone()], vec![]);
        join(&mut bench, "first", completed);
        assert_eq!(code(&bench.open("then")), if completed { "" } else { "REQUIRES_FIRST" });
    }
    // The same where the caller runs it.
    let mut bench = Bench::of(vec![first, then], vec![]);
    delegate(&mut bench, "first");
    assert_eq!(code(&bench.open("then")), "");
}

fn child() -> SessionId {
    SessionId::new("s-2").unwrap()
}

fn join(bench: &mut Bench, id: &str, completed: bool) {
    let origin = bench.asks("open");
    let skill = Box::new(bench.prepared(id));
    let decision = bench.apply(Command::OpenSkill {
        origin: origin.clone(),
        skill,
        can_fork: true,
        held: None,
    });
    assert!(decision.fork.is_some() && decision.drafts.is_empty() && decision.answer.is_none());
    bench.apply(Command::Forked { child: child(), skill: skill_id(id) });
    let unfolded =
        Unfolded { child: child(), skill: skill_id(id), completed, result: "</result> 42".into() };
    let joined =
        bench.apply(Command::Joined { origin: origin.clone(), unfolded: unfolded.clone() });
    assert_eq!(joined.answer.as_ref().unwrap().error, !completed);
    assert_eq!(answer(&joined).matches("</result>").count(), 1);
    let again = bench.apply(Command::Joined { origin, unfolded });
    assert_eq!(code(&again), "UNKNOWN_CHILD");
}

fn delegate(bench: &mut Bench, id: &str) {
    let origin = bench.asks("open");
    let skill = Box::new(bench.prepared(id));
    let decision = bench.apply(Command::OpenSkill { origin, skill, can_fork: false, held: None });
    assert!(decision.fork.is_none());
    assert!(answer(&decision).contains(&format!("Instructions of {id}.")));
    assert!(bench.state.open.is_empty());
}

#[test]
fn e05_forks_end() {
    let apart = SkillEntry { context: OpenMode::Fork, ..skill("apart", "Runs apart.") };
    let catalogue = snapshot(vec![apart], vec![]);
    let settings = Settings { forked_from: vec![skill_id("apart")], ..Settings::default() };
    let mut bench = Bench::new(settings, catalogue.clone());
    assert_eq!(code(&bench.open("apart")), "FORK_RECURSION");
    let mut bench = Bench::new(Settings::default(), catalogue);
    bench.state.depth = limits::FORK_DEPTH - 1;
    assert!(bench.open("apart").fork.is_some());
    bench.state.depth = limits::FORK_DEPTH;
    assert_eq!(code(&bench.open("apart")), "FORK_TOO_DEEP");
}

#[test]
fn j16_a_child_need_not_repeat_what_its_parent_did() {
    let apart = SkillEntry {
        context: OpenMode::Fork,
        requires: vec!["first".into()],
        ..skill("apart", "Runs apart.")
    };
    let settings = Settings { forked_from: vec![skill_id("apart")], ..Settings::default() };
    let mut bench =
        Bench::new(settings, snapshot(vec![apart, skill("first", "Goes first.")], vec![]));
    let skill = PreparedSkill { mode: OpenMode::Inline, ..bench.prepared("apart") };
    let opened = bench.apply(Command::OpenSkill {
        origin: Origin::user(),
        skill: Box::new(skill),
        can_fork: false,
        held: None,
    });
    assert_eq!(code(&opened), "");
}

#[test]
fn k14_a_child_has_what_its_skill_claims_and_its_parent_has() {
    let settings = Settings {
        grant: Settings::default()
            .grant
            .narrowed(vec![pattern("echo")])
            .narrowed(vec![pattern("*")]),
        ..Settings::default()
    };
    let mut bench = Bench::new(settings, snapshot(vec![], vec![tool("echo"), tool("shell")]));
    assert_eq!(bench.callable().into_iter().collect::<Vec<_>>(), ["echo"]);
    assert!(answer(&bench.call("shell", json!({})).1).contains("was not given tool:shell"));
}

#[test]
fn i07_what_can_destroy_is_hidden_unless_allowed_by_name() {
    let drop = ToolEntry { danger: Danger::Destructive, ..tool("drop") };
    let callable =
        |settings| Bench::new(settings, snapshot(vec![], vec![drop.clone()])).callable().len();
    assert_eq!(callable(Settings::default()), 0);
    assert_eq!(callable(policy(|policy| policy.rules.allow.push(pattern("tool:*").into()))), 0);
    assert_eq!(callable(policy(|policy| policy.rules.allow.push(pattern("tool:drop").into()))), 1);
    let both = policy(|policy| {
        policy.rules.allow.push(pattern("tool:drop").into());
        policy.rules.deny.push(pattern("tool:*").into());
    });
    assert_eq!(callable(both), 0);
}

#[test]
fn a_rule_about_the_arguments_of_a_skill_holds_when_it_is_opened_and_for_its_commands() {
    let settings = policy(|policy| {
        policy.rules.deny = vec![Rule::new("Skill(deploy *)", &Places::default()).unwrap()];
    });
    let mut bench = Bench::new(settings, snapshot(vec![skill("deploy", "Deploys.")], vec![]));
    assert!(bench.disclosed().contains("deploy"), "it may be opened without arguments");
    let mut opened = |arguments: &str| {
        let origin = bench.asks("open");
        let mut skill = PreparedSkill { arguments: arguments.into(), ..bench.prepared("deploy") };
        skill.permissions.execute = vec!["ls".into()];
        let run = Command::RunCommand {
            origin: origin.clone(),
            skill: Box::new(skill.clone()),
            command: "ls".into(),
            targets: Targets::default(),
        };
        skill.permissions.execute.clear();
        let ran = code(&bench.apply(run)).to_owned();
        let open =
            Command::OpenSkill { origin, skill: Box::new(skill), can_fork: true, held: None };
        (ran, code(&bench.apply(open)).to_owned())
    };
    assert_eq!(opened("prod"), ("POLICY_DENIES".to_owned(), "POLICY_DENIES".to_owned()));
    assert_eq!(opened(""), (String::new(), String::new()));
}

#[test]
fn e03_a_rule_may_ask_or_deny() {
    let settings = policy(|policy| {
        policy.rules.ask = ["tool:echo", "skill:risky"].map(|text| pattern(text).into()).into();
        policy.rules.deny =
            ["skill:bad", "tool:shell", "file:secrets/*"].map(|text| pattern(text).into()).into();
    });
    let skills = vec![skill("risky", "Risks."), skill("bad", "Harms."), skill("safe", "Does it.")];
    let mut bench = Bench::new(settings, snapshot(skills, vec![tool("echo"), tool("shell")]));
    let index = bench.disclosed();
    assert!(
        index.contains("risky")
            && index.contains("echo")
            && !index.contains("bad")
            && !index.contains("shell")
    );
    assert_eq!(code(&bench.open("risky")), "APPROVAL_NEEDED");
    assert_eq!(code(&bench.open("bad")), "POLICY_DENIES");
    assert_eq!(code(&bench.open("safe")), "");
    assert_eq!(code(&bench.call("echo", json!({})).1), "APPROVAL_NEEDED");
    assert_eq!(code(&bench.call("shell", json!({})).1), "NOT_VISIBLE");
    let mut show = |reference: &str| {
        let shown = Shown {
            reference: reference.parse().unwrap(),
            kind: DisclosureKind::Evidence,
            text: "text".into(),
            lines: None,
        };
        let origin = bench.asks("open");
        code(&bench.apply(Command::Show { origin, shown })).to_owned()
    };
    assert_eq!(show("file:secrets/key"), "POLICY_DENIES");
    assert_eq!(show("file:src/a.rs"), "");
    assert_eq!(show("skill:risky#part"), "APPROVAL_NEEDED", "a part needs what the whole needs");
}

#[test]
fn an_unreadable_policy_denies_everything_to_everyone() {
    let settings = policy(|policy| policy.unreadable = Some("concertina.toml".into()));
    let mut bench = Bench::new(settings, snapshot(vec![skill("x", "Does x.")], vec![tool("echo")]));
    assert_eq!(bench.disclosed(), "");
    assert_eq!(code(&bench.open_by_hand("x")), "POLICY_UNREADABLE");
    assert!(bench.callable().is_empty());
    let shown = Shown {
        reference: "file:a".parse().unwrap(),
        kind: DisclosureKind::Evidence,
        text: "text".into(),
        lines: None,
    };
    assert_eq!(
        code(&bench.apply(Command::Show { origin: Origin::user(), shown })),
        "POLICY_UNREADABLE"
    );
}

#[test]
fn a_principal_sees_what_it_was_given() {
    let settings = policy(|policy| {
        let own = policy.principals.entry("ann".into()).or_default();
        own.allow = ["skill:sales", "tool:echo"].map(|text| pattern(text).into()).into();
    });
    let mut bench = Bench::new(
        settings,
        snapshot(
            vec![skill("sales", "Sells."), skill("law", "Sues.")],
            vec![tool("echo"), tool("shell")],
        ),
    );
    let index = bench.disclosed();
    assert!(index.contains("sales") && !index.contains("law") && !index.contains("shell"));
    assert_eq!(code(&bench.open("law")), "PRINCIPAL_NOT_GIVEN");
    assert_eq!(bench.callable().len(), 1);
    bench.run("echo", "out");
    let shown = Shown {
        reference: "ev:1".parse().unwrap(),
        kind: DisclosureKind::Evidence,
        text: "out".into(),
        lines: None,
    };
    assert_eq!(
        code(&bench.apply(Command::Show { origin: Origin::user(), shown })),
        "",
        "its own results are its own"
    );
}

#[test]
fn a08_a_qualified_id_is_the_same_skill_and_a_rule_on_a_name_holds_for_both() {
    let at = |scope, path: &str| SkillEntry { scope, path: path.into(), ..skill("x", path) };
    let merged = merge(
        vec![
            at(concertina_core::catalog::Scope::User, "u"),
            at(concertina_core::catalog::Scope::Project, "p"),
        ],
        Precedence::AgentSkills,
        &|_, _| false,
    );
    let mut catalogue = snapshot(merged.skills, vec![]);
    catalogue.shadowed = merged.shadowed;
    let mut bench = Bench::new(Settings::default(), catalogue.clone());
    bench.open("x");
    assert!(answer(&bench.open("project/x")).contains("skill:x"), "one skill, one id");
    assert_eq!(bench.state.open.len(), 1);
    assert_eq!(code(&bench.open("user/x")), "");
    assert_eq!(bench.state.open.len(), 2);
    assert_eq!(code(&bench.close("skill:project/x")), "");
    assert_eq!(bench.state.open.len(), 1);
    let mut bench =
        Bench::new(policy(|policy| policy.rules.deny.push(pattern("skill:x").into())), catalogue);
    for id in ["x", "project/x", "user/x"] {
        assert_eq!(code(&bench.open(id)), "POLICY_DENIES", "{id}");
    }
}

fn menus() -> Bench {
    let sits = |name: &str, category: &str| ToolEntry { category: category.into(), ..tool(name) };
    let mut tools: Vec<ToolEntry> =
        (0..30).map(|i| sits(&format!("misc-{i:02}"), "misc")).collect();
    tools.extend([sits("query", "db"), sits("drop", "db/admin"), sits("root", "")]);
    Bench::of(vec![], tools)
}

#[test]
fn i02_i03_menus_open_and_close_in_levels() {
    let mut bench = menus();
    let index = bench.disclosed();
    assert!(
        index.contains("- menu:db (2)")
            && index.contains("- root: ")
            && !index.contains("db/admin")
            && !index.contains("query")
    );
    assert_eq!(bench.callable().into_iter().collect::<Vec<_>>(), ["root"]);
    let (_, refused) = bench.call("query", json!({}));
    assert!(
        answer(&refused).contains("NOT_VISIBLE") && answer(&refused).contains("open menu:db first")
    );
    let page = bench.menu("db");
    insta::assert_snapshot!(answer(&page), @r"
    Opened menu:db.
    <tools>
    - query: Does query.
    - menu:db/admin (1)
    </tools>
    ");
    assert!(bench.callable().contains("query") && !bench.callable().contains("drop"));
    bench.menu("db/admin");
    assert!(bench.callable().contains("drop"));
    let closed = bench.close("menu:db");
    assert!(answer(&closed).contains("No longer callable: drop, query."));
    assert!(bench.state.menus.is_empty(), "what stands inside closes too");
    assert_eq!(bench.callable().len(), 1);
}

#[test]
fn i03_a_menu_deep_inside_opens_at_once() {
    let mut bench = menus();
    bench.menu("db/admin");
    assert!(bench.callable().contains("drop"));
    assert_eq!(code(&bench.menu("nosuch")), "NOT_FOUND");
    assert_eq!(code(&bench.close("menu:misc")), "NOT_OPEN");
    assert_eq!(code(&bench.close("tool:query")), "NOT_CLOSABLE");
}

#[test]
fn i05_a_category_page_is_within_its_limit_and_counts_the_rest() {
    let tools = (0..2_000)
        .map(|i| ToolEntry {
            category: "all".into(),
            ..tool(&format!("a-tool-with-a-name-{i:04}"))
        })
        .collect();
    let mut bench = Bench::of(vec![], tools);
    let page = bench.menu("all");
    assert!(count(answer(&page)) <= Tokens(910), "{}", count(answer(&page)));
    assert!(answer(&page).contains(" tools more; open menu: lists menus, find searches all]"));
    assert!(bench.view().part(Part::Card).len() <= 4 * 300);
}

#[test]
fn i05_a_schema_is_shown_when_it_is_asked_for() {
    let mut bench = sales();
    let origin = bench.asks("open");
    let shown = bench.apply(Command::OpenTool { origin, tool: tool_name("echo"), lines: None });
    assert!(answer(&shown).contains("\"properties\""));
    assert_eq!(shown.answer.unwrap().disclosed.len(), 1);
    let origin = bench.asks("open");
    assert_eq!(
        code(&bench.apply(Command::OpenTool { origin, tool: tool_name("sql/query"), lines: None })),
        "NOT_VISIBLE"
    );
}

#[test]
fn a_skill_can_forbid_tools_while_it_is_open() {
    let mut bench =
        Bench::of(vec![skill("calm", "Does little.")], vec![tool("echo"), tool("shell")]);
    for (patterns, left) in [(vec!["sh*"], 1), (vec!["["], 0), (vec![], 2)] {
        let skill = PreparedSkill {
            disallowed_tools: patterns.into_iter().map(str::to_owned).collect(),
            text: format!("{left}"),
            ..bench.prepared("calm")
        };
        bench.apply(Command::OpenSkill {
            origin: Origin::user(),
            skill: Box::new(skill),
            can_fork: false,
            held: None,
        });
        assert_eq!(bench.callable().len(), left);
    }
}

#[test]
fn e10_a_skill_brings_text_tools_and_knowledge() {
    let mut bench = sales();
    let skill = PreparedSkill {
        version: Some("1.2".into()),
        knowledge: vec!["notes/a b#1.md".into(), "</skill>.md".into()],
        text: "Look </skill> here.\n".into(),
        ..bench.prepared("sales")
    };
    let origin = bench.asks("open");
    bench.apply(Command::OpenSkill { origin, skill: Box::new(skill), can_fork: false, held: None });
    let shown = bench.view().part(Part::Skills);
    assert_eq!(shown.matches("</skill>").count(), 1, "{shown}");
    assert!(shown.contains("version=\"1.2\"") && shown.contains("\"tool\":\"sql/query\""));
    let reference =
        Ref::Skill { id: skill_id("sales"), part: Some("notes/a b#1.md".into()), lines: None };
    assert!(shown.contains(&reference.to_string()), "what is named can be opened: {shown}");
}

#[test]
fn a09_a_large_skill_is_paged_with_its_size() {
    let mut bench = sales();
    let skill = PreparedSkill {
        text: "A line of a very long skill.\n".repeat(10_000),
        ..bench.prepared("sales")
    };
    let origin = bench.asks("open");
    bench.apply(Command::OpenSkill { origin, skill: Box::new(skill), can_fork: false, held: None });
    let shown = bench.view().part(Part::Skills);
    assert!(
        shown.contains(" of 10000\" next=\"skill:sales@"),
        "{}",
        shown.lines().next().unwrap_or_default()
    );
    assert!(shown.len() < 45_000);
}

#[test]
fn a_part_is_shown_in_pages_that_fit_a_result() {
    let mut bench = sales();
    let text = "</part> a line\n".repeat(2_000);
    let mut lines = None;
    let mut pages = 0;
    loop {
        let shown = Shown {
            reference: "file:a.txt".parse().unwrap(),
            kind: DisclosureKind::Evidence,
            text: text.clone(),
            lines,
        };
        let origin = bench.asks("open");
        let decision = bench.apply(Command::Show { origin, shown });
        assert!(answer(&decision).len() <= limits::RESULT_BYTES);
        pages += 1;
        let Some((_, next)) = answer(&decision).split_once("next=\"file:a.txt@") else { break };
        let (first, _) = next.split_once('-').unwrap();
        lines = Some(LineRange { first: first.parse().unwrap(), last: u64::MAX });
    }
    assert!(pages > 3);
    let shown = Shown {
        reference: "file:a.txt".parse().unwrap(),
        kind: DisclosureKind::Evidence,
        text,
        lines: Some(LineRange { first: 9_999, last: 9_999 }),
    };
    assert_eq!(
        code(&bench.apply(Command::Show { origin: Origin::user(), shown })),
        "NO_SUCH_LINES"
    );
}
