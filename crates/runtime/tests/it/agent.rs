//! The agent loop with scripted models: no key, no network.

use concertina_core::session::{Message, Part, report};
use concertina_runtime::agent::{Agent, Moment, Observer};
use concertina_runtime::llm::Model;
use concertina_runtime::{Cancel, RuntimeError, Session, Started, Workspace};
use concertina_store::Store;
use concertina_types::{CallOutcome, Event, Fact, Tokens, limits};
use serde_json::{Value, json};

use crate::kit::{World, begin, calls, drive, fold, says, script, scripts, skill, skill_with};

/// A world with a skill that brings a tool, one that runs apart, and a tool that stands alone.
fn world() -> World {
    let world = World::new();
    world.write(
        "work/skills/tooled/SKILL.md",
        skill_with("tooled", "permissions:\n  tools: [\"say\"]", "BODY-OF-TOOLED: say it loudly."),
    );
    world.write("work/skills/tooled/references/words.md", "Words.\n");
    world.write(
        "work/skills/apart/SKILL.md",
        skill_with(
            "apart",
            "context: fork\npermissions:\n  tools: [\"say\", \"shell\"]",
            &format!(
                "BODY-OF-APART. {}",
                "A long instruction that the parent never sees. ".repeat(60)
            ),
        ),
    );
    world.skill("work/skills/plain", "Plain.");
    world.config(
        r#"
[policy]
deny = ["tool:shell"]
[tool.say]
argv = ["printf", "%s", "${text}"]
danger = "safe"
needs_skill = true
parameters = {type = "object", required = ["text"], properties = {text = {type = "string"}}}
[tool.shell]
argv = ["sh", "-c", "${text}"]
danger = "safe"
parameters = {type = "object", required = ["text"], properties = {text = {type = "string"}}}
[tool.free]
argv = ["printf", "free"]
danger = "safe"
"#,
    );
    world
}

fn stores(world: &World) -> [Store; 2] {
    [Store::memory(), world.store()]
}

/// Runs one dialogue and gives the session with its answer.
fn run(world: &World, store: Store, model: &dyn Model) -> (Session, Result<String, RuntimeError>) {
    let mut workspace = world.alone();
    let mut session = Session::create(&mut workspace, store, Started::default()).unwrap();
    let answer = drive(&mut workspace, &mut session, model, Some("Do it."));
    assert_eq!(*session.state(), fold(&session.events().unwrap()));
    (session, answer)
}

fn refusals(session: &Session) -> Vec<String> {
    let events = session.events().unwrap();
    events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::RequestRefused { code, .. } => Some(code.clone()),
            _ => None,
        })
        .collect()
}

fn answers(session: &Session) -> Vec<(String, Tokens)> {
    let events = session.events().unwrap();
    events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::RequestAnswered { text, tokens, .. } => {
                Some((session.text(text).unwrap(), *tokens))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn e01_a_body_arrives_when_it_is_opened_e04_and_the_answer_stays_light() {
    let world = world();
    for store in stores(&world) {
        let mut workspace = world.alone();
        let mut session = Session::create(&mut workspace, store, Started::default()).unwrap();
        session.turn(&mut workspace).unwrap();
        assert!(!session.view().render().contains("BODY-OF"), "no body before it is opened");
        let model = script(json!([calls("open", json!({"ref": "skill:tooled"})), says("Read.")]));
        drive(&mut workspace, &mut session, &model, Some("Do it.")).unwrap();
        assert!(session.view().part(Part::Skills).contains("BODY-OF-TOOLED"));
        let opened = &answers(&session)[0];
        assert!(opened.1.0 <= 60, "{opened:?}");
        assert!(
            opened.0.contains("Opened skill:tooled") && !opened.0.contains("BODY-OF"),
            "{opened:?}"
        );
        assert!(opened.0.contains("say"), "e10: the tools that came with it");
        assert!(
            session.view().part(Part::Skills).contains("skill:tooled#references/words.md"),
            "e10: and its files"
        );
    }
}

#[test]
fn e06_the_kind_of_opening_is_said() {
    let world = world();
    let model = scripts(json!([
        {"when": ["what skill:apart says"], "turns": [says("The child's result.")]},
        {"turns": [
            calls("open", json!({"ref": "skill:tooled"})),
            calls("open", json!({"ref": "skill:apart"})),
            says("Done."),
        ]},
    ]));
    let (session, _) = run(&world, Store::memory(), &model);
    let answers = answers(&session);
    assert!(answers[0].0.starts_with("Opened skill:tooled"), "{answers:?}");
    assert!(answers[1].0.starts_with("skill:apart completed in session s-"), "{answers:?}");
}

#[test]
fn e05_a_fork_brings_back_its_result_and_nothing_else_k14_within_its_parents_rights() {
    let world = world();
    let model = scripts(json!([
        {"when": ["what skill:apart says"], "turns": [
            calls("call", json!({"tool": "say", "args": {"text": "from below"}})),
            calls("call", json!({"tool": "free"})),
            calls("call", json!({"tool": "shell", "args": {"text": "id"}})),
            calls("open", json!({"ref": "skill:apart"})),
            says("RESULT-OF-APART ${last.text}"),
        ]},
        {"turns": [calls("open", json!({"ref": "skill:apart"})), says("Done.")]},
    ]));
    for store in stores(&world) {
        let (session, answer) = run(&world, store.clone(), &model);
        assert_eq!(answer.unwrap(), "Done.");
        let events = session.events().unwrap();
        let child = events
            .iter()
            .find_map(|event| match &event.fact {
                Fact::ChildFinished { child, completed: true, .. } => Some(child.clone()),
                _ => None,
            })
            .expect("the child came back");
        let child = Session::resume(store, child).unwrap();
        assert_eq!(child.state().parent.as_ref(), Some(session.id()));
        assert_eq!(child.state().depth, 1);

        // The parent sees the result, not the work.
        let view = session.view().render();
        assert!(view.contains("RESULT-OF-APART") && !view.contains("BODY-OF-APART"), "{view}");
        let result = &answers(&session)[0];
        assert!(result.1.0 < 200, "the parent grew by the result: {result:?}");
        assert!(session.state().open.is_empty());

        // In the child: what the skill claims and the parent may use; nothing else, and no recursion.
        assert!(child.view().render().contains("BODY-OF-APART"));
        assert_eq!(refusals(&child), ["NOT_VISIBLE", "UNKNOWN_TOOL", "FORK_RECURSION"]);
        let done = child.state().evidence.len();
        assert_eq!(done, 1, "only `say` ran");
        assert!(child.text(&child.state().evidence[&1]).unwrap().contains("from below"));
    }
}

#[test]
fn a_fork_that_fails_is_said_to_have_failed() {
    let world = world();
    let model = scripts(json!([
        {"when": ["what skill:apart says"], "turns": []},
        {"turns": [calls("open", json!({"ref": "skill:apart"})), says("Told.")]},
    ]));
    let (session, answer) = run(&world, Store::memory(), &model);
    assert_eq!(answer.unwrap(), "Told.");
    let events = session.events().unwrap();
    assert!(
        events
            .iter()
            .any(|event| matches!(event.fact, Fact::ChildFinished { completed: false, .. }))
    );
    assert!(answers(&session)[0].0.contains("stopped before its end"), "{:?}", answers(&session));
}

#[test]
fn e08_a_closed_skill_leaves_with_all_it_brought() {
    let world = world();
    let model = script(json!([
        calls("open", json!({"ref": "skill:tooled"})),
        calls("call", json!({"tool": "say", "args": {"text": "once"}})),
        calls("close", json!({"ref": "skill:tooled"})),
        calls("call", json!({"tool": "say", "args": {"text": "twice"}})),
        says("Done."),
    ]));
    let (session, _) = run(&world, Store::memory(), &model);
    assert!(!session.view().render().contains("BODY-OF-TOOLED"));
    assert_eq!(refusals(&session), ["NOT_VISIBLE"]);
    assert!(session.state().open.is_empty() && session.state().evidence.len() == 1);
    let closed = &answers(&session)[2].0;
    assert!(closed.contains("No longer callable: say"), "{closed}");
}

#[test]
fn e11_opened_again_a_skill_does_not_stand_twice() {
    let world = world();
    let model = script(json!([
        calls("open", json!({"ref": "skill:tooled"})),
        calls("open", json!({"ref": "skill:tooled"})),
        says("Done."),
    ]));
    let (session, _) = run(&world, Store::memory(), &model);
    assert_eq!(session.view().render().matches("BODY-OF-TOOLED").count(), 1);
    let again = &answers(&session)[1];
    assert!(again.1.0 <= 30 && again.0.contains("already open"), "{again:?}");
}

#[test]
fn e16_a_tool_is_usable_only_after_its_skill() {
    let world = world();
    let model = script(json!([
        calls("call", json!({"tool": "say", "args": {"text": "early"}})),
        calls("say", json!({"text": "as a function"})),
        calls("open", json!({"ref": "skill:tooled"})),
        calls("call", json!({"tool": "say", "args": {"text": "in time"}})),
        calls("call", json!({"tool": "say", "args": {"words": "wrong"}})),
        calls("call", json!({"tool": "shell", "args": {"text": "id"}})),
        calls("call", json!({"tool": "no/such"})),
        calls("open", json!("{oops")),
        says("Done."),
    ]));
    for store in stores(&world) {
        let (session, answer) = run(&world, store, &model);
        assert_eq!(answer.unwrap(), "Done.");
        assert_eq!(
            refusals(&session),
            [
                "NOT_VISIBLE",
                "UNKNOWN_TOOL",
                "BAD_ARGUMENTS",
                "UNKNOWN_TOOL",
                "UNKNOWN_TOOL",
                "BAD_ARGUMENTS"
            ]
        );
        let all = answers(&session);
        assert!(all[0].0.contains("skill:tooled") && all[0].0.contains("first"), "{}", all[0].0);
        assert!(all[3].0.contains("in time"));
        assert!(
            all[4].0.contains(r#""required":["text"]"#),
            "wrong arguments return the schema: {}",
            all[4].0
        );
        // A provider gets each answer right behind its call.
        let view = session.view();
        for pair in view.messages.windows(2) {
            if let [Message::Assistant { calls, .. }, next] = pair
                && let [call] = calls.as_slice()
            {
                assert!(
                    matches!(next, Message::Tool { call: id, .. } if *id == call.id),
                    "{pair:?}"
                );
            }
        }
    }
}

#[test]
fn a_model_that_fails_midway_can_be_gone_on_with() {
    let world = world();
    for store in stores(&world) {
        let mut workspace = world.alone();
        let mut session =
            Session::create(&mut workspace, store.clone(), Started::default()).unwrap();
        let short = script(json!([calls("open", json!({"ref": "skill:tooled"}))]));
        let error = drive(&mut workspace, &mut session, &short, Some("Do it.")).unwrap_err();
        assert_eq!(error.code(), "SCRIPT_EXHAUSTED", "{error}");
        assert!(matches!(session.events().unwrap().last().unwrap().fact, Fact::ModelFailed { .. }));

        let mut session = Session::resume(store, session.id().clone()).unwrap();
        let long = script(json!([
            says("never said"),
            calls("call", json!({"tool": "say", "args": {"text": "after"}})),
            says("Went on: ${last.text}"),
        ]));
        let answer = drive(&mut workspace, &mut session, &long, None).unwrap();
        assert!(answer.contains("after"), "{answer}");
        assert_eq!(answers(&session).len(), 2, "nothing was done twice");
    }
}

/// Stops the work at a moment.
struct StopAt<F>(Cancel, F);

impl<F: FnMut(&Moment<'_>) -> bool> Observer for StopAt<F> {
    fn on(&mut self, moment: Moment<'_>) {
        if (self.1)(&moment) {
            self.0.stop();
        }
    }
}

fn drive_until(
    workspace: &mut Workspace,
    session: &mut Session,
    model: &dyn Model,
    stop: impl FnMut(&Moment<'_>) -> bool + Send,
) -> Result<String, RuntimeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cancel = Cancel::default();
    let mut observer = StopAt(cancel.clone(), stop);
    let mut agent = Agent { workspace, session, model, observer: &mut observer, cancel };
    runtime.block_on(agent.run("Do it."))
}

#[test]
fn work_that_was_stopped_goes_on_from_there() {
    let world = world();
    let model = script(json!([
        {"calls": [
            {"name": "open", "arguments": {"ref": "skill:tooled"}},
            {"name": "call", "arguments": {"tool": "say", "args": {"text": "second"}}},
        ]},
        calls("call", json!({"tool": "say", "args": {"text": "third"}})),
        says("All done."),
    ]));
    let moments: [fn(&Moment<'_>) -> bool; 4] = [
        |moment| matches!(moment, Moment::Task(_)),
        |moment| matches!(moment, Moment::Asked { .. }),
        |moment| matches!(moment, Moment::Answered { .. }),
        |moment| matches!(moment, Moment::Turn { turn: 2 }),
    ];
    for (number, stop) in moments.into_iter().enumerate() {
        for store in stores(&world) {
            let mut workspace = world.alone();
            let mut session =
                Session::create(&mut workspace, store.clone(), Started::default()).unwrap();
            let error = drive_until(&mut workspace, &mut session, &model, stop).unwrap_err();
            assert!(matches!(error, RuntimeError::Interrupted(_)), "{number}: {error}");
            assert!(
                session
                    .events()
                    .unwrap()
                    .iter()
                    .any(|event| matches!(event.fact, Fact::SessionInterrupted { .. }))
            );
            let mut session = Session::resume(store, session.id().clone()).unwrap();
            assert_eq!(
                drive(&mut workspace, &mut session, &model, None).unwrap(),
                "All done.",
                "{number}"
            );
            assert!(session.state().unanswered().is_empty());
            let said = session.events().unwrap();
            let admitted =
                said.iter().filter(|event| matches!(event.fact, Fact::CallAdmitted { .. })).count();
            assert!(admitted <= 2, "{number}: nothing ran twice");
        }
    }
}

#[test]
fn a_tool_that_was_stopped_says_so_in_the_log() {
    let world = World::new();
    world.config("[tool.slow]\nargv = [\"sleep\", \"30\"]\ndanger = \"writes\"\n");
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let model = script(json!([calls("call", json!({"tool": "slow"})), says("Never.")]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cancel = Cancel::default();
    let stopper = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        stopper.stop();
    });
    let mut silent = concertina_runtime::agent::Silent;
    let mut agent = Agent {
        workspace: &mut workspace,
        session: &mut session,
        model: &model,
        observer: &mut silent,
        cancel,
    };
    let error = runtime.block_on(agent.run("Do it.")).unwrap_err();
    assert_eq!(error.code(), "INTERRUPTED");
    let failed = session.events().unwrap().into_iter().any(|event: Event| {
        matches!(&event.fact, Fact::CallFinished { outcome: CallOutcome::Failed { code, .. }, .. } if code == "CANCELLED")
    });
    assert!(failed && session.state().pending.is_empty());
}

#[test]
fn a_model_that_never_ends_is_ended() {
    let world = world();
    let turns: Vec<Value> = (0..=limits::TURNS_PER_TASK)
        .map(|turn| calls("find", json!({"query": format!("again {turn}")})))
        .collect();
    let (session, answer) = run(&world, Store::memory(), &script(Value::Array(turns)));
    let error = answer.unwrap_err();
    assert_eq!(error.code(), "TOO_MANY_TURNS");
    assert_eq!(session.state().turn, limits::TURNS_PER_TASK);
    assert!(matches!(
        session.events().unwrap().last().unwrap().fact,
        Fact::SessionInterrupted { .. }
    ));
}

#[test]
fn a_task_that_fits_no_window_is_said_not_to() {
    let world = world();
    let mut workspace = world.alone();
    workspace.settings_mut().window = 1_500;
    let mut session = begin(&mut workspace);
    let task = "many words of a task ".repeat(1_000);
    let error = drive(&mut workspace, &mut session, &script(json!([says("Never.")])), Some(&task))
        .unwrap_err();
    assert_eq!(error.code(), "CONTEXT_FULL", "{error}");
    assert!(error.to_string().contains("1200"), "{error}");
}

#[test]
fn n08_any_model_will_do_and_its_turns_add_up() {
    let world = world();
    let model = script(json!([calls("open", json!({"ref": "skill:tooled"})), says("Done.")]));
    assert!(model.is_scripted());
    let (session, _) = run(&world, Store::memory(), &model);
    let turns = report(&session.events().unwrap());
    assert_eq!(turns.len(), 2);
    for turn in &turns {
        let parts: u64 = turn
            .tokens
            .iter()
            .filter(|(name, _)| *name != "total")
            .map(|(_, tokens)| tokens.0)
            .sum();
        assert_eq!(parts, turn.tokens["total"].0);
        assert!(turn.preloaded.unwrap().0 > 0 && turn.usage.is_none());
    }
    assert_eq!(turns[0].disclosed.skills, ["skill:tooled"]);
    assert_eq!(turns[0].disclosed.tools, ["tool:say"]);
    assert_eq!(
        turns[1].tokens["total"],
        session
            .events()
            .unwrap()
            .iter()
            .rev()
            .find_map(|event| match &event.fact {
                Fact::ModelAsked { tokens, .. } => Some(tokens["total"]),
                _ => None,
            })
            .unwrap()
    );
}

#[test]
fn a_changed_skill_is_noticed_between_turns() {
    let world = world();
    let mut workspace = world.alone();
    let mut session = begin(&mut workspace);
    let model = script(json!([calls("open", json!({"ref": "skill:plain"})), says("One.")]));
    drive(&mut workspace, &mut session, &model, Some("Do it.")).unwrap();
    world.write("work/skills/plain/SKILL.md", skill("plain", "Plain.", "NEW-BODY"));
    drive(&mut workspace, &mut session, &model, Some("Again.")).unwrap();
    let all = answers(&session);
    assert!(all[1].0.contains("It changed since it was last opened."), "{all:?}");
    assert!(session.view().part(Part::Skills).contains("NEW-BODY"));
}
