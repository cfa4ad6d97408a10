//! Sessions whose context somebody else composes: what was sent is all that is known.

use concertina_core::session::{Command, Origin};
use concertina_types::{Fact, LineRange, Ref, SessionMode, Tokens, limits};

use crate::kit::{Bench, answer, count, skill, tool};

fn bench() -> Bench {
    let mut sales = skill("sales", "Sales questions.");
    sales.claims = vec!["query".into()];
    let mut query = tool("query");
    query.needs_skill = concertina_core::catalog::NeedsSkill::Any;
    Bench::blind(vec![sales, skill("calm", "Stays calm.")], vec![query, tool("clock")])
}

fn open(bench: &mut Bench, text: &str, held: Option<String>) -> String {
    let mut skill = bench.prepared("sales");
    skill.text = text.to_owned();
    let command = Command::OpenSkill {
        origin: Origin::model("m"),
        skill: Box::new(skill),
        can_fork: false,
        held,
    };
    answer(&bench.apply(command)).to_owned()
}

#[test]
fn what_is_opened_stands_in_the_answer_every_time() {
    let mut bench = bench();
    let first = open(&mut bench, "Ask by quarter.\n", None);
    assert!(first.contains("Ask by quarter.") && first.contains(r#""tool":"query""#), "{first}");
    let second = open(&mut bench, "Ask by quarter.\n", None);
    assert!(second.contains("Ask by quarter."), "{second}");
    assert_eq!(bench.state.open.len(), 1);
    assert_eq!(bench.callable().into_iter().collect::<Vec<_>>(), ["clock", "query"]);
}

#[test]
fn who_holds_the_text_is_not_sent_it_again() {
    let mut bench = bench();
    let digest = bench.prepared("sales").digest;
    open(&mut bench, "Ask by quarter.\n", None);
    for held in [digest.short(), digest.hex(), digest.to_string()] {
        let again = open(&mut bench, "Ask by quarter.\n", Some(held));
        assert!(again.contains("already open") && !again.contains("Ask by"), "{again}");
    }
    for other in ["", "00000000", "sha256:", digest.hex().split_at(4).0] {
        let again = open(&mut bench, "Ask by quarter.\n", Some(other.to_owned()));
        assert!(again.contains("Ask by quarter."), "{other}: {again}");
    }
    // Held or not, what is not open any more is opened.
    bench.close("skill:sales");
    let opened = open(&mut bench, "Ask by quarter.\n", Some(digest.hex()));
    assert!(opened.contains("Ask by quarter."), "{opened}");
}

#[test]
fn a_long_skill_is_paged_and_the_pages_are_the_text() {
    let mut bench = bench();
    let lines: Vec<String> =
        (0..2_000).map(|line| format!("Line {line} says 销售 and more.")).collect();
    let text = lines.join(
        "
",
    ) + "
";
    let mut page = open(&mut bench, &text, None);
    let mut read = String::new();
    loop {
        assert!(page.len() <= limits::RESULT_BYTES, "{}", page.len());
        let (head, rest) = page.split_once(">\n").unwrap();
        let body = rest.split("\n</").next().unwrap();
        read.push_str(body);
        read.push('\n');
        let Some(next) = head.split("next=\"").nth(1) else { break };
        let reference: Ref = next.split('"').next().unwrap().parse().unwrap();
        let Ref::Skill { lines: Some(lines), .. } = &reference else { panic!("{reference}") };
        let shown = concertina_core::session::Shown {
            lines: Some(LineRange { ..*lines }),
            kind: concertina_types::DisclosureKind::Evidence,
            text: text.clone(),
            reference: Ref::skill(crate::kit::skill_id("sales")),
        };
        let shown = bench.apply(Command::Show { origin: Origin::model("m"), shown });
        page = answer(&shown).to_owned();
    }
    assert_eq!(read, text);
}

#[test]
fn nothing_is_kept_of_a_conversation_that_is_not_known() {
    let mut bench = bench();
    for _ in 0..50 {
        open(&mut bench, "Ask by quarter.\n", None);
        bench.run("clock", "noon");
    }
    assert!(bench.state.body.is_empty());
    assert_eq!(bench.state.evidence.len(), 50);
    assert_eq!(bench.state.mode, SessionMode::Blind);
    // The log says it, and so another process knows it.
    bench.resume();
    assert_eq!(bench.state.mode, SessionMode::Blind);
}

#[test]
fn the_first_turn_shows_a_root_that_every_request_can_afford() {
    let skills =
        (0..300).map(|at| skill(&format!("s-{at:03}"), "Does what nobody else does.")).collect();
    let tools = (0..500).map(|at| {
        let mut tool = tool(&format!("server-{:02}/tool-{at:03}", at % 70));
        tool.category = format!("server-{:02}", at % 70);
        tool
    });
    let mut bench = Bench::blind(skills, tools.collect());
    let root = bench.disclosed();
    assert!(count(&root) <= Tokens(2 * limits::ROOT_PART_TOKENS), "{root}");
    assert!(root.contains("s-000") && root.contains("menu:server-00"), "{root}");
    assert!(root.contains("not shown"), "it says that it is partial: {root}");
    assert_eq!(bench.turn(), [Fact::TurnStarted {}], "nothing changed, nothing is shown");
    // All of it is a question away.
    let page = bench.apply(Command::OpenRoot { origin: Origin::model("m") });
    assert!(answer(&page).contains("menu:server-69"), "{}", answer(&page));
    assert!(count(answer(&page)) <= Tokens(limits::ROOT_TOKENS));
}

#[test]
fn a_log_from_before_there_were_modes_is_an_owned_one() {
    let event = Bench::of(vec![], vec![]).log.remove(0);
    let mut text = serde_json::to_value(&event).unwrap();
    assert!(text["data"].as_object_mut().unwrap().remove("mode").is_some());
    let Fact::SessionStarted { mode, .. } =
        serde_json::from_value::<concertina_types::Event>(text).unwrap().fact
    else {
        panic!("it begins otherwise")
    };
    assert_eq!(mode, SessionMode::Owned);
}

#[test]
fn i02_one_tool_opened_by_its_name_opens_the_menus_that_hold_it() {
    let tools = || {
        let plain = (0..30).map(|at| {
            let mut tool = tool(&format!("db/tool-{at}"));
            tool.category = "data/tables".into();
            tool
        });
        let mut drop = tool("db/drop");
        drop.category = "data/tables".into();
        drop.danger = concertina_core::catalog::Danger::Destructive;
        plain.chain([drop]).collect::<Vec<_>>()
    };
    let open = |bench: &mut Bench, name: &str| {
        let tool = crate::kit::tool_name(name);
        let command = Command::OpenTool { origin: Origin::model("m"), tool, lines: None };
        answer(&bench.apply(command)).to_owned()
    };
    let mut bench = Bench::blind(vec![], tools());
    assert!(bench.callable().is_empty());
    // What would stay hidden opens nothing.
    assert!(open(&mut bench, "db/drop").contains("NOT_VISIBLE"));
    assert!(bench.state.menus.is_empty());
    let shown = open(&mut bench, "db/tool-7");
    assert!(
        shown.starts_with("Opened menu:data/tables") && shown.contains(r#""tool":"db/tool-7""#),
        "{shown}"
    );
    assert_eq!(bench.state.menus.iter().collect::<Vec<_>>(), ["data", "data/tables"]);
    assert_eq!(bench.callable().len(), 30);
    assert!(!open(&mut bench, "db/tool-8").contains("Opened"));
    // A rule about a menu holds for each level, whichever way it is opened.
    let mut bench = Bench::blind(vec![], tools());
    bench.settings.policy.rules.deny =
        vec![concertina_core::policy::Pattern::new("menu:data").unwrap().into()];
    assert!(open(&mut bench, "db/tool-7").contains("POLICY_DENIES"));
    let menu =
        bench.apply(Command::OpenMenu { origin: Origin::model("m"), menu: "data/tables".into() });
    assert!(answer(&menu).contains("POLICY_DENIES"), "{}", answer(&menu));
    assert!(bench.callable().is_empty());
}

#[test]
fn a_tool_is_meant_by_the_end_of_its_name_where_that_is_one_tool() {
    let tools = ["db/query", "web/query", "time/now", "shop/drop"].map(|name| {
        let mut tool = tool(name);
        tool.category = name.split('/').next().unwrap().into();
        if name == "shop/drop" {
            tool.danger = concertina_core::catalog::Danger::Destructive;
        }
        tool
    });
    let padding = (0..30).map(|at| tool(&format!("x/{at}")));
    let mut bench = Bench::blind(vec![], tools.into_iter().chain(padding).collect());
    let call = |bench: &mut Bench, name: &str| {
        let decision = bench.call(name, serde_json::json!({})).1;
        decision.intent.map_or_else(
            || answer_of(decision.answer),
            |intent| intent.admit(&bench.log).unwrap().tool().to_string(),
        )
    };
    // Its menu is closed, and that is what is said; never a tool that nobody may see.
    assert!(call(&mut bench, "now").contains("menu:time"), "{}", call(&mut bench, "now"));
    assert!(call(&mut bench, "query").contains("UNKNOWN_TOOL"));
    assert!(call(&mut bench, "drop").contains("UNKNOWN_TOOL"));
    bench.menu("time");
    assert_eq!(call(&mut bench, "now"), "time/now");
    // Of two the visible one is meant.
    bench.menu("db");
    assert_eq!(call(&mut bench, "query"), "db/query");
    bench.menu("web");
    assert!(call(&mut bench, "query").contains("UNKNOWN_TOOL"));
}

fn answer_of(answer: Option<concertina_core::session::Answer>) -> String {
    answer.map(|answer| answer.text).unwrap_or_default()
}

#[test]
fn a_skill_that_nobody_trusts_unlocks_nothing_though_a_person_reads_it() {
    let mut evil = skill("evil", "Claims what it likes.");
    evil.claims = vec!["guarded".into()];
    evil.trusted = false;
    let mut guarded = tool("guarded");
    guarded.needs_skill = concertina_core::catalog::NeedsSkill::Any;
    let mut bench = Bench::blind(vec![evil], vec![guarded]);
    let opened = bench.open_by_hand("evil");
    assert!(answer(&opened).contains("Instructions of evil."), "{}", answer(&opened));
    assert!(!answer(&opened).contains("Callable now"), "{}", answer(&opened));
    assert!(bench.callable().is_empty());
    bench.change(|snapshot| snapshot.skills[0].trusted = true);
    assert_eq!(bench.callable().into_iter().collect::<Vec<_>>(), ["guarded"]);
}
