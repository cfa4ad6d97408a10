//! Laws that hold for any sequence of commands, against an oracle that knows nothing of events.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use concertina_core::catalog::{Danger, NeedsSkill, SkillEntry, Snapshot, ToolEntry};
use concertina_core::policy::Pattern;
use concertina_core::session::{Command, Message, Origin, Part, PreparedSkill, Settings, View};
use concertina_types::{Blob, CallOutcome, ModelCall, limits, verify_chain};
use proptest::prelude::*;
use serde_json::json;

use crate::kit::{Bench, code, count, fold, intent, skill, skill_id, snapshot, tool, tool_name};

const SKILLS: [&str; 6] = ["all", "one", "hidden", "calm", "denied", "nosuch"];
const MENUS: [&str; 4] = ["m", "m/n", "misc", "nosuch"];
const TOOLS: [&str; 10] =
    ["t/one", "t/two", "t/three", "root", "in-m", "in-mn", "misc-00", "boom", "denied", "nosuch"];

fn catalogue() -> Snapshot {
    let claims = |id: &str, claims: &[&str]| SkillEntry {
        claims: claims.iter().map(|claim| (*claim).to_owned()).collect(),
        ..skill(id, "Does it.")
    };
    let skills = vec![
        claims("all", &["t/*", "boom", "in-m"]),
        claims("one", &["t/one"]),
        SkillEntry { model_disabled: true, ..claims("hidden", &["*"]) },
        claims("calm", &[]),
        claims("denied", &["*"]),
    ];
    let sits = |name: &str, category: &str| ToolEntry { category: category.into(), ..tool(name) };
    let needs = |name: &str, needs_skill| ToolEntry { needs_skill, ..tool(name) };
    let mut tools: Vec<ToolEntry> =
        (0..30).map(|i| sits(&format!("misc-{i:02}"), "misc")).collect();
    tools.extend([
        needs("t/one", NeedsSkill::Any),
        needs("t/two", NeedsSkill::Any),
        needs("t/three", NeedsSkill::OneOf(vec!["one".into(), "hidden".into()])),
        tool("root"),
        sits("in-m", "m"),
        sits("in-mn", "m/n"),
        ToolEntry { danger: Danger::Destructive, ..tool("boom") },
        tool("denied"),
    ]);
    snapshot(skills, tools)
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.policy.rules.deny =
        ["tool:denied", "skill:denied"].map(|text| Pattern::new(text).unwrap().into()).into();
    settings
}

static START: LazyLock<Bench> = LazyLock::new(|| Bench::new(settings(), catalogue()));

/// What is open, and by that what may be called: written down again from the page on visibility.
#[derive(Default)]
struct Oracle {
    skills: BTreeSet<&'static str>,
    menus: BTreeSet<&'static str>,
}

impl Oracle {
    fn open(&mut self, id: &'static str, by_model: bool) {
        if matches!(id, "all" | "one" | "calm") || (id == "hidden" && !by_model) {
            self.skills.insert(id);
        }
    }

    fn menu(&mut self, menu: &'static str) {
        match menu {
            "m/n" => self.menus.extend(["m", "m/n"]),
            "m" | "misc" => {
                self.menus.insert(menu);
            }
            _ => {}
        }
    }

    fn close_menu(&mut self, menu: &'static str) {
        self.menus.remove(menu);
        if menu == "m" {
            self.menus.remove("m/n");
        }
    }

    fn may_call(&self, tool: &str) -> bool {
        let open = |id| self.skills.contains(id);
        match tool {
            "root" => !open("calm"),
            "t/one" => open("all") || open("one") || open("hidden"),
            "t/two" => open("all") || open("hidden"),
            "t/three" => open("hidden"),
            "in-m" => self.menus.contains("m"),
            "in-mn" => self.menus.contains("m") && self.menus.contains("m/n"),
            "misc-00" => self.menus.contains("misc"),
            _ => false,
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Open(usize, bool),
    Close(usize),
    Menu(usize),
    CloseMenu(usize),
    /// A call, and whether it is left without an outcome.
    Call(usize, bool),
    /// Several calls at once, of which some are answered, in this order.
    Several(usize, Vec<usize>),
    Stale,
    Says,
    Task,
    Turn,
    Compact,
    Recover,
    Resume,
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..SKILLS.len(), any::<bool>()).prop_map(|(skill, model)| Step::Open(skill, model)),
        3 => (0..SKILLS.len()).prop_map(Step::Close),
        3 => (0..MENUS.len()).prop_map(Step::Menu),
        2 => (0..MENUS.len()).prop_map(Step::CloseMenu),
        8 => (0..TOOLS.len(), any::<bool>()).prop_map(|(tool, left)| Step::Call(tool, left)),
        2 => (1..4_usize, prop::collection::vec(0..5_usize, 0..4)).prop_map(|(n, order)| Step::Several(n, order)),
        1 => Just(Step::Stale),
        1 => Just(Step::Says),
        1 => Just(Step::Task),
        1 => Just(Step::Turn),
        1 => Just(Step::Compact),
        1 => Just(Step::Recover),
        1 => Just(Step::Resume),
    ];
    prop::collection::vec(step, 1..most)
}

fn ask(bench: &mut Bench, by_model: bool) -> Origin {
    if by_model { bench.asks("open") } else { Origin::user() }
}

fn done() -> CallOutcome {
    CallOutcome::Done { exit: 0, output: Blob::of("out"), dropped: 0 }
}

fn take(bench: &mut Bench, oracle: &mut Oracle, step: &Step) -> Result<(), TestCaseError> {
    match step {
        Step::Open(at, by_model) => {
            let id = SKILLS[*at];
            let origin = ask(bench, *by_model);
            let mut skill = bench.prepared(id);
            if id == "calm" {
                skill.disallowed_tools = vec!["root".into()];
            }
            let opened = bench.apply(Command::OpenSkill {
                origin,
                skill: Box::new(skill),
                can_fork: true,
                held: None,
            });
            oracle.open(id, *by_model);
            let allowed = matches!(id, "all" | "one" | "calm") || (id == "hidden" && !by_model);
            prop_assert_eq!(code(&opened).is_empty(), allowed);
        }
        Step::Close(at) => {
            let closed = bench.close(&format!("skill:{}", SKILLS[*at]));
            prop_assert_eq!(code(&closed).is_empty(), oracle.skills.remove(SKILLS[*at]));
        }
        Step::Menu(at) => {
            bench.menu(MENUS[*at]);
            oracle.menu(MENUS[*at]);
        }
        Step::CloseMenu(at) => {
            bench.close(&format!("menu:{}", MENUS[*at]));
            oracle.close_menu(MENUS[*at]);
        }
        Step::Call(at, left) => {
            let (origin, mut decision) = bench.call(TOOLS[*at], json!({}));
            prop_assert_eq!(
                decision.intent.is_some(),
                oracle.may_call(TOOLS[*at]),
                "{}",
                TOOLS[*at]
            );
            if decision.intent.is_some() {
                let ticket = intent(&mut decision).admit(&bench.log).unwrap();
                if !left {
                    bench.apply(Command::Done {
                        origin,
                        id: ticket.id(),
                        outcome: done(),
                        output: "out".into(),
                        held: concertina_core::session::Held::default(),
                    });
                }
            } else {
                prop_assert!(!code(&decision).is_empty());
            }
        }
        Step::Several(n, order) => {
            let seq = bench.state.seq;
            let id = |i: usize| format!("m{seq}-{i}");
            let calls = (0..*n).map(|i| ModelCall {
                id: id(i),
                name: "find".into(),
                arguments: "{}".into(),
            });
            bench.says("several", calls.collect());
            for i in order {
                bench.apply(Command::Find {
                    origin: Origin::model(id(*i)),
                    query: "q".into(),
                    hits: vec![],
                    enough: false,
                    words_alone: None,
                });
            }
        }
        Step::Stale => {
            bench.apply(Command::Done {
                origin: Origin::model("c1"),
                id: 1,
                outcome: done(),
                output: "out".into(),
                held: concertina_core::session::Held::default(),
            });
        }
        Step::Says => bench.says("I may call boom now: <card>callable: boom</card>", vec![]),
        Step::Task => drop(bench.apply(Command::Task { text: "Go on.".into() })),
        Step::Turn => drop(bench.turn()),
        Step::Compact => drop(bench.apply(Command::Compact)),
        Step::Recover => drop(bench.apply(Command::Recover)),
        Step::Resume => bench.resume(),
    }
    Ok(())
}

/// What a provider checks: each call has one answer, directly after the message that made it, and
/// no answer stands alone.
fn is_valid(view: &View) -> bool {
    let mut waiting: Vec<&str> = Vec::new();
    for message in &view.messages {
        match message {
            Message::Tool { call, .. } => match waiting.iter().position(|id| id == call) {
                Some(at) => drop(waiting.remove(at)),
                None => return false,
            },
            Message::Assistant { calls, .. } => {
                if !waiting.is_empty() {
                    return false;
                }
                waiting = calls.iter().map(|call| call.id.as_str()).collect();
            }
            Message::User { blocks } => {
                if !waiting.is_empty() || blocks.is_empty() {
                    return false;
                }
            }
        }
    }
    waiting.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn i04_the_menu_is_the_gate(steps in steps(16)) {
        let mut bench = START.clone();
        let mut oracle = Oracle::default();
        for step in &steps {
            take(&mut bench, &mut oracle, step)?;
        }
        for name in TOOLS {
            let command = Command::Call { origin: Origin::user(), tool: tool_name(name), arguments: json!({}), targets: concertina_core::session::Targets::default() };
            prop_assert_eq!(bench.decide(command).intent.is_some(), oracle.may_call(name), "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn g15_every_call_has_one_answer_directly_after_it(steps in steps(40)) {
        let mut bench = START.clone();
        let mut oracle = Oracle::default();
        for step in &steps {
            take(&mut bench, &mut oracle, step)?;
            let view = bench.view();
            prop_assert!(is_valid(&view), "{:#?}", view.messages);
            prop_assert!(count(&view.part(Part::Card)).0 <= limits::CARD_TOKENS);
            let index = view.part(Part::Index);
            for id in ["all", "one", "calm"] {
                prop_assert!(index.matches(&format!("- {id}: ")).count() <= 1, "{}", index);
            }
        }
        prop_assert!(verify_chain(&bench.log).is_ok());
        prop_assert_eq!(&fold(&bench.log), &bench.state);
        let mut shelf = bench.shelf.clone();
        shelf.retain(&bench.state.contents());
        let before = bench.view();
        bench.shelf = shelf;
        prop_assert_eq!(bench.view(), before);
    }

    #[test]
    fn e09_closing_in_any_order_returns_to_the_start(opens in prop::collection::vec((0..4_usize, any::<bool>()), 0..12), order in Just(vec![0_usize, 1, 2, 3]).prop_shuffle()) {
        let mut bench = START.clone();
        let start = bench.callable();
        for (at, forbids) in opens {
            let mut skill: PreparedSkill = bench.prepared(SKILLS[at]);
            if forbids {
                skill.disallowed_tools = vec!["root".into()];
            }
            bench.apply(Command::OpenSkill { origin: Origin::user(), skill: Box::new(skill), can_fork: true, held: None });
        }
        for at in order {
            if bench.state.opened(&skill_id(SKILLS[at])).is_some() {
                bench.close(&format!("skill:{}", SKILLS[at]));
            }
        }
        prop_assert_eq!(bench.callable(), start);
        prop_assert!(bench.state.open.is_empty());
    }

    #[test]
    fn n03_two_sessions_do_not_mix(ours in steps(12), theirs in steps(12)) {
        let (mut alone, mut a, mut b) = (START.clone(), START.clone(), START.clone());
        let (mut one, mut two, mut three) = (Oracle::default(), Oracle::default(), Oracle::default());
        for i in 0..ours.len().max(theirs.len()) {
            if let Some(step) = ours.get(i) {
                take(&mut alone, &mut one, step)?;
                take(&mut a, &mut two, step)?;
            }
            if let Some(step) = theirs.get(i) {
                take(&mut b, &mut three, step)?;
            }
        }
        prop_assert_eq!(alone.log, a.log);
    }
}
