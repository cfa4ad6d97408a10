//! The commands of an open skill: a tool that comes and goes with it.

use concertina_core::catalog::{SkillEntry, ToolEntry};
use concertina_core::policy::{Places, Rule};
use concertina_core::session::{
    Command, Decision, Held, Origin, PreparedSkill, Settings, Targets, visibility,
};
use concertina_types::{
    ApprovalScope, Blob, CallOutcome, Digest, Fact, Means, Permissions, Ref, Subject,
};
use serde_json::json;

use crate::kit::{Bench, answer, code, intent, skill, snapshot, tool, tool_name};

const TOOL: &str = "command/reports";

fn runs(id: &str) -> SkillEntry {
    SkillEntry { runs: true, ..skill(id, "Makes things.") }
}

fn bench_under(settings: Settings, tools: Vec<ToolEntry>) -> Bench {
    Bench::new(settings, snapshot(vec![runs("charts"), runs("reports")], tools))
}

fn bench() -> Bench {
    bench_under(Settings::default(), Vec::new())
}

fn prepared(bench: &Bench, id: &str, execute: &[&str]) -> PreparedSkill {
    let execute = execute.iter().map(|text| (*text).to_owned()).collect();
    let permissions = Permissions { execute, ..Permissions::default() };
    PreparedSkill { permissions, ..bench.prepared(id) }
}

/// A person opens it, so that nobody is asked.
fn open_as(bench: &mut Bench, skill: PreparedSkill) -> Decision {
    let (origin, skill) = (Origin::user(), Box::new(skill));
    bench.apply(Command::OpenSkill { origin, skill, can_fork: false, held: None })
}

fn open(bench: &mut Bench, id: &str, execute: &[&str]) -> Decision {
    let skill = prepared(bench, id, execute);
    open_as(bench, skill)
}

fn run_at(bench: &mut Bench, tool: &str, command: &str, targets: Targets) -> (Origin, Decision) {
    let origin = bench.asks("call");
    let arguments = json!({"command": command});
    let call = Command::Call { origin: origin.clone(), tool: tool_name(tool), arguments, targets };
    let decision = bench.apply(call);
    (origin, decision)
}

fn run(bench: &mut Bench, command: &str) -> Decision {
    run_at(bench, TOOL, command, Targets::default()).1
}

#[test]
fn e16_the_commands_of_a_skill_come_and_go_with_it() {
    let mut bench = bench();
    let hidden = run(&mut bench, "make report");
    assert_eq!(code(&hidden), "NOT_VISIBLE");
    assert!(answer(&hidden).contains("open skill:reports first"), "{}", answer(&hidden));

    let opened = open(&mut bench, "reports", &["make report", "python run.py *"]);
    assert!(answer(&opened).contains("Callable now: command/reports."), "{}", answer(&opened));
    let view = bench.view();
    let text = format!("{:?}", view.messages);
    assert!(text.contains("callable: command/reports"), "the card names it: {text}");
    assert!(text.contains("`make report`, `python run.py *`"), "its patterns are told: {text}");
    assert_eq!(view.tools.len(), 4, "the four stay the four");

    assert!(run(&mut bench, "make report").intent.is_some());
    let closed = bench.close("skill:reports");
    assert!(answer(&closed).contains("No longer callable: command/reports."));
    assert_eq!(code(&run(&mut bench, "make report")), "NOT_VISIBLE");
}

#[test]
fn k06_only_a_skill_that_declares_commands_has_a_tool_for_them() {
    let mut bench = bench();
    open(&mut bench, "reports", &[]);
    assert_eq!(code(&run(&mut bench, "make report")), "NOT_VISIBLE");
    // Patterns that cannot be read cover nothing, so there is nothing to call.
    open(&mut bench, "charts", &["* report", "make ${year}"]);
    let (_, refused) = run_at(&mut bench, "command/charts", "make report", Targets::default());
    assert_eq!(code(&refused), "NOT_VISIBLE");
    let (_, unknown) = run_at(&mut bench, "command/nobody", "make report", Targets::default());
    assert_eq!(code(&unknown), "UNKNOWN_TOOL");
}

#[test]
fn k06_a_skill_that_the_model_may_not_see_is_not_named_to_it() {
    let hidden = SkillEntry { model_disabled: true, ..runs("reports") };
    let mut bench = Bench::of(vec![hidden], Vec::new());
    let refused = run(&mut bench, "make report");
    assert_eq!(code(&refused), "UNKNOWN_TOOL");
    assert!(!answer(&refused).contains("skill:"), "{}", answer(&refused));
}

#[test]
fn k05_a_covered_command_is_admitted_as_its_words_and_becomes_evidence() {
    let mut bench = bench();
    open(&mut bench, "reports", &["python run.py *"]);
    let command = "python run.py --title 'a; b' 5";
    let (origin, mut decision) = run_at(&mut bench, TOOL, command, Targets::default());
    let ticket = intent(&mut decision).admit(&bench.log).unwrap();
    let words = ["python", "run.py", "--title", "a; b", "5"];
    assert_eq!(ticket.command().unwrap().argv, words);
    assert_eq!(ticket.arguments(), &json!({"argv": words}));
    assert!(ticket.writes() && ticket.tool().as_str() == TOOL);
    let outcome = CallOutcome::Done { exit: 0, output: Blob::of("done"), dropped: 0 };
    let (output, held) = ("done".to_owned(), Held::default());
    let done = bench.apply(Command::Done { origin, id: ticket.id(), outcome, output, held });
    assert!(answer(&done).contains("ref=\"ev:1\" tool=\"command/reports\""), "{}", answer(&done));
}

#[test]
fn k05_what_no_pattern_of_this_skill_covers_is_asked_for() {
    let mut bench = bench();
    open(&mut bench, "charts", &["make chart"]);
    open(&mut bench, "reports", &["make report"]);
    for command in ["make chart", "make report now", "make", "/usr/bin/make report"] {
        let decision = run(&mut bench, command);
        assert_eq!(code(&decision), "NOT_COVERED", "{command}");
        assert!(decision.intent.is_none());
        let ask = decision.ask.unwrap();
        assert!(ask.widens && ask.why.contains("the least that would"), "{}", ask.why);
    }
    for command in
        ["make report; make chart", "make report && x", "make $(x)", "sh -c 'make report'"]
    {
        let decision = run(&mut bench, command);
        assert_eq!(code(&decision), "NEEDS_SHELL", "{command}");
        assert!(decision.ask.is_none() && decision.intent.is_none(), "no yes makes it a shell");
    }
    assert_eq!(code(&run(&mut bench, " ")), "EMPTY_COMMAND");
}

#[test]
fn k05_the_argument_is_one_text() {
    let mut bench = bench();
    open(&mut bench, "reports", &["make report"]);
    for arguments in [json!({}), json!({"argv": ["make"]}), json!({"command": ["make"]})] {
        let (_, decision) = bench.call(TOOL, arguments);
        assert_eq!(code(&decision), "BAD_ARGUMENTS");
        assert!(answer(&decision).contains("`make report`"), "the definition tells how");
    }
}

#[test]
fn k06_rules_and_the_skill_itself_ask_and_deny() {
    let rule = |text: &str| Rule::new(text, &Places::default()).unwrap();
    let mut settings = Settings::default();
    settings.policy.rules.deny = vec![rule("run:make clean")];
    settings.policy.rules.ask = vec![rule("run:make report")];
    let mut bench = bench_under(settings, Vec::new());
    open(&mut bench, "reports", &["make *"]);
    assert_eq!(code(&run(&mut bench, "make clean")), "POLICY_DENIES");
    assert_eq!(code(&run(&mut bench, "make report")), "APPROVAL_NEEDED");
    assert!(run(&mut bench, "make other").intent.is_some());

    let mut confirming = prepared(&bench, "charts", &["make *"]);
    confirming.permissions.confirm = vec!["execute".into()];
    open_as(&mut bench, confirming);
    let (_, asked) = run_at(&mut bench, "command/charts", "make chart", Targets::default());
    let ask = asked.ask.unwrap();
    assert!(ask.action.contains("argv: [\"make\",\"chart\"]"), "{}", ask.action);
    bench.apply(Command::Agree {
        id: ask.id,
        scope: ApprovalScope::Once,
        by: Means::Command.into(),
        typed: None,
    });
    let (_, agreed) = run_at(&mut bench, "command/charts", "make chart", Targets::default());
    assert!(agreed.intent.is_some());

    let mut settings = Settings::default();
    settings.policy.rules.deny = vec![rule("tool:command/*")];
    let mut bench = bench_under(settings, Vec::new());
    open(&mut bench, "reports", &["make *"]);
    assert_eq!(code(&run(&mut bench, "make report")), "NOT_VISIBLE");
}

#[test]
fn s56_files_that_changed_since_the_skill_was_opened_stop_its_commands() {
    let mut bench = bench();
    let at = |bytes: &str| Some(Digest::of(bytes.as_bytes()));
    let first = PreparedSkill { content: at("a"), ..prepared(&bench, "reports", &["make *"]) };
    open_as(&mut bench, first.clone());
    let now = |content| Targets { content, ..Targets::default() };
    let (_, same) = run_at(&mut bench, TOOL, "make report", now(at("a")));
    assert!(same.intent.is_some());
    for content in [at("b"), None] {
        let (_, changed) = run_at(&mut bench, TOOL, "make report", now(content));
        assert_eq!(code(&changed), "SKILL_CHANGED");
        assert!(answer(&changed).contains("open skill:reports again"));
    }
    // Its text is the same, and yet it is another.
    let again = open_as(&mut bench, PreparedSkill { content: at("b"), ..first });
    let is_opened =
        |fact: &Fact| matches!(fact, Fact::SkillOpened(opened) if opened.content == at("b"));
    assert!(again.drafts.iter().any(|draft| is_opened(&draft.fact)));
    let (_, admitted) = run_at(&mut bench, TOOL, "make report", now(at("b")));
    assert!(admitted.intent.is_some());
}

#[test]
fn k06_a_tool_of_the_catalogue_keeps_its_name() {
    let mut bench = bench_under(Settings::default(), vec![tool(TOOL)]);
    let opened = open(&mut bench, "reports", &["make report"]);
    assert!(!answer(&opened).contains("Callable now"), "{}", answer(&opened));
    let (_, mut decision) = bench.call(TOOL, json!({}));
    let ticket = intent(&mut decision).admit(&bench.log).unwrap();
    assert!(ticket.command().is_none(), "it is the tool of the catalogue that was called");
}

#[test]
fn e16_a_look_says_the_same_as_a_call() {
    let mut bench = bench();
    let reference = Ref::Tool(tool_name(TOOL));
    let seen = |bench: &Bench| {
        let world = concertina_core::session::World::for_looking(
            &bench.settings,
            &bench.snapshot,
            &crate::kit::count,
        );
        visibility(&bench.state, &world, &reference, Subject::Model)
    };
    assert!(seen(&bench).is_folded_away());
    open(&mut bench, "reports", &["make report"]);
    assert!(seen(&bench).visible && seen(&bench).callable);
    bench.resume();
    assert!(seen(&bench).callable, "the log is all that it takes");
}
