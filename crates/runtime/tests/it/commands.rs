//! Commands in the text of a skill: run by what the skill declares, recorded, put in place.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use concertina_core::session::{Origin, Part};
use concertina_runtime::tools::{Execution, ExecutionError, Executor, Invocation, PlainExecutor};
use concertina_runtime::{
    Cancel, CommandPolicy, OpenOptions, Reply, Session, Workspace, WorkspaceOptions,
};
use concertina_types::{CallOutcome, Fact};
use serde_json::json;

use crate::kit::{World, agreeing, calls, drive, id, says, scripts, skill_with};

/// A skill that declares `execute` and has `body`.
fn with_commands(execute: &str, body: &str) -> World {
    let world = World::new();
    let more = format!("permissions:\n  read: [{{paths: [data.txt]}}]\n  execute: {execute}");
    world.write("work/skills/s/SKILL.md", skill_with("s", &more, body));
    world.write("work/data.txt", "forty-two\n");
    world
}

fn open_with(session: &mut Session, workspace: &mut Workspace, options: &OpenOptions) -> Reply {
    session.open(workspace, Origin::model("o"), "skill:s", options).unwrap()
}

/// What stands in the context after the skill was opened, and the reply.
fn opened(world: &World, policy: CommandPolicy) -> (String, Reply, Session) {
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let options = OpenOptions { commands: policy, ..OpenOptions::default() };
    let reply = open_with(&mut session, &mut workspace, &options);
    (session.view().part(Part::Skills), reply, session)
}

fn calls_of(session: &Session) -> Vec<String> {
    let facts = session.events().unwrap().into_iter().filter_map(|event| match event.fact {
        Fact::CallAdmitted { id, tool, .. } => Some(format!("admitted {id} {tool}")),
        Fact::CallFinished { id, outcome, .. } => Some(match outcome {
            CallOutcome::Done { exit, .. } => format!("finished {id} {exit}"),
            CallOutcome::Failed { code, .. } => format!("finished {id} {code}"),
            CallOutcome::Unknown => format!("finished {id} unknown"),
        }),
        Fact::SkillOpened(opened) => Some(format!("opened {}", opened.id)),
        _ => None,
    });
    facts.collect()
}

#[test]
fn k05_a_covered_command_runs_and_its_output_stands_in_its_place() {
    let world = with_commands("[\"cat data.txt\"]", "The number is !`cat data.txt` today.");
    let (text, reply, session) = opened(&world, CommandPolicy::Abort);
    assert!(text.contains("The number is forty-two today."), "{text}");
    assert!(reply.needs_approval.is_empty() && reply.refusal.is_none());
    assert_eq!(
        calls_of(&session),
        ["admitted 1 command/s", "finished 1 0", "opened s"],
        "the intent is on record before, the outcome after"
    );
}

#[test]
fn k05_what_no_pattern_covers_is_marked_left_out_or_ends_the_opening() {
    let world =
        with_commands("[\"cat data.txt\"]", "One.\n\nA !`cat /etc/passwd` B !`cat data.txt` C");
    let (text, reply, session) = opened(&world, CommandPolicy::Mark);
    assert!(text.contains("[not run: `cat /etc/passwd`: no pattern of permissions.execute covers"));
    assert!(text.contains("B forty-two C") && !text.contains("root:"), "{text}");
    let waiting = &reply.needs_approval;
    assert_eq!(waiting.len(), 1);
    assert_eq!(
        (waiting[0].command.as_str(), waiting[0].code.as_str()),
        ("cat /etc/passwd", "NOT_COVERED")
    );
    assert_eq!(waiting[0].line, 3);
    assert_eq!(calls_of(&session), ["admitted 1 command/s", "finished 1 0", "opened s"]);
    let refused = session.events().unwrap().into_iter().any(
        |event| matches!(event.fact, Fact::RequestRefused { code, .. } if code == "NOT_COVERED"),
    );
    assert!(refused, "a refusal is on record, too");

    let (text, reply, _) = opened(&world, CommandPolicy::Skip);
    assert!(text.contains("A  B forty-two C") && !text.contains("not run"), "{text}");
    assert_eq!(reply.needs_approval.len(), 1);

    let (text, reply, session) = opened(&world, CommandPolicy::Abort);
    let refusal = reply.refusal.unwrap();
    assert_eq!(refusal.code, "COMMAND_NOT_RUN");
    assert!(refusal.message.contains("line 3"), "{refusal}");
    assert!(text.is_empty() && calls_of(&session).is_empty());
}

#[test]
fn k05_there_is_no_shell() {
    for command in [
        "cat data.txt; touch ran",
        "cat data.txt && touch ran",
        "cat data.txt | tee ran",
        "cat data.txt > ran",
        "cat data.txt & touch ran",
        "cat $(touch ran)",
        "cat $HOME",
        "cat \"$(touch ran)\"",
        "cat <(touch ran)",
        "cat 'data.txt",
        "cat data.txt # ran",
    ] {
        let world = with_commands("[\"cat *\", \"touch *\"]", &format!("Begin.\n\n!`{command}`"));
        let (text, reply, session) = opened(&world, CommandPolicy::Mark);
        assert_eq!(reply.needs_approval[0].code, "NEEDS_SHELL", "{command}");
        assert!(!text.contains("forty-two"), "{command}");
        assert!(!world.path("work/ran").exists(), "{command}");
        assert_eq!(calls_of(&session), ["opened s"]);
    }
    // What would mean something to a shell means nothing inside quotes.
    let world = with_commands("[\"printf *\"]", "!`printf '%s' 'a;b|c&d'`");
    assert!(
        opened(&world, CommandPolicy::Abort).0.contains("a;b|c&amp;d")
            || opened(&world, CommandPolicy::Abort).0.contains("a;b|c&d")
    );
}

#[test]
fn k05_a_pattern_reaches_no_further_than_its_words() {
    for (execute, command, runs) in [
        ("[\"cat *\"]", "cat data.txt", true),
        ("[\"cat data.*\"]", "cat data.txt", true),
        ("[\"cat data.*\"]", "cat data.txt extra", false),
        ("[\"*\"]", "cat data.txt", false),
        ("[\"c*t data.txt\"]", "cat data.txt", false),
        ("[\"cat\"]", "cat data.txt", false),
        ("[\"cat data.txt\"]", "/bin/cat data.txt", false),
        ("[]", "cat data.txt", false),
    ] {
        let world = with_commands(execute, &format!("Begin.\n\n!`{command}`"));
        let (text, ..) = opened(&world, CommandPolicy::Mark);
        assert_eq!(text.contains("forty-two"), runs, "{execute} and {command}: {text}");
    }
}

#[test]
fn a_command_that_fails_is_told_with_its_end() {
    let world = with_commands(
        "[\"cat *\", \"no-such-program\"]",
        "A !`cat missing.txt` B !`no-such-program` C",
    );
    let (text, reply, session) = opened(&world, CommandPolicy::Mark);
    let codes: Vec<_> = reply.needs_approval.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["COMMAND_FAILED", "NOT_STARTED"]);
    assert!(text.contains("it ended with code 1") && text.contains("No such file"), "{text}");
    assert_eq!(
        calls_of(&session),
        [
            "admitted 1 command/s",
            "finished 1 1",
            "admitted 2 command/s",
            "finished 2 NOT_STARTED",
            "opened s"
        ]
    );
    let (.., session) = opened(&world, CommandPolicy::Abort);
    assert_eq!(calls_of(&session), ["admitted 1 command/s", "finished 1 1"], "the first ends it");
}

/// Runs programs with a shorter limit, and keeps what it was asked to run.
struct Impatient(Mutex<Vec<Invocation>>);

impl Executor for Impatient {
    fn execute(
        &self,
        invocation: &Invocation,
        cancel: &Cancel,
    ) -> Result<Execution, ExecutionError> {
        self.0.lock().unwrap().push(invocation.clone());
        let timeout = invocation.timeout.min(Duration::from_millis(200));
        PlainExecutor.execute(&Invocation { timeout, ..invocation.clone() }, cancel)
    }
}

#[test]
fn a_command_that_takes_too_long_is_stopped_and_runs_in_a_clean_environment() {
    let mut world = with_commands("[\"sleep *\"]", "Begin. !`sleep 30` End.");
    world.variables.insert("SECRET_TOKEN".into(), "s3cret".into());
    let executor = Arc::new(Impatient(Mutex::default()));
    let variable = |name: &str| world.variables.get(name).cloned();
    let options = WorkspaceOptions {
        executor: Some(executor.clone()),
        ..WorkspaceOptions::only(world.path("state"), &variable)
    };
    let mut workspace = Workspace::open(&world.path("work"), options).unwrap();
    let mut session = agreeing(&mut workspace);
    let begun = std::time::Instant::now();
    let reply = open_with(&mut session, &mut workspace, &OpenOptions::default());
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(reply.needs_approval[0].code, "TIMEOUT");
    assert!(session.view().part(Part::Skills).contains("End."));
    assert_eq!(calls_of(&session)[1], "finished 1 TIMEOUT");
    let asked = executor.0.lock().unwrap();
    assert_eq!(asked[0].argv, ["sleep", "30"]);
    assert_eq!(asked[0].directory, world.path("work"));
    let names: Vec<_> = asked[0].environment.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.iter().all(|name| ["PATH", "HOME", "LANG"].contains(name)), "{names:?}");
}

#[test]
fn report_b49_output_is_never_looked_at_again() {
    let world =
        with_commands("[\"cat sly.txt\"]", "Argument $ARGUMENTS. Output: !`cat sly.txt` end.");
    world.write("work/sly.txt", "$ARGUMENTS ${SKILL_DIR} $0 !`touch ran` </skill>");
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let options = OpenOptions {
        raw_arguments: Some("!`touch ran` ${SESSION_ID} $0".into()),
        ..OpenOptions::default()
    };
    open_with(&mut session, &mut workspace, &options);
    let text = session.view().part(Part::Skills);
    assert!(text.contains("Argument !`touch ran` ${SESSION_ID} $0."), "{text}");
    assert!(text.contains("Output: $ARGUMENTS ${SKILL_DIR} $0 !`touch ran`"), "{text}");
    assert_eq!(text.matches("</skill>").count(), 1, "output closes no block: {text}");
    assert!(!world.path("work/ran").exists());
    assert_eq!(calls_of(&session).len(), 3);
}

#[test]
fn report_b52_b53_code_shows_the_syntax_and_runs_nothing() {
    let body = "Use `format!` and `//!`.\n\n```md\nNow: !`touch ran`\n```\n\nSpan: `` !`touch ran` ``.\n\n    !`touch ran`\n\nEscaped: \\!`touch ran`\n\n~~~\n```!\ntouch ran\n```\n~~~";
    let world = with_commands("[\"touch ran\"]", body);
    let (text, reply, session) = opened(&world, CommandPolicy::Abort);
    assert!(reply.refusal.is_none(), "{:?}", reply.refusal);
    assert!(
        text.contains("Use `format!` and `//!`.") && text.contains("Now: !`touch ran`"),
        "{text}"
    );
    assert_eq!(calls_of(&session), ["opened s"]);
    assert!(!world.path("work/ran").exists());
}

#[test]
fn report_b55_b56_a_command_and_its_permission_name_the_directory_of_the_skill() {
    let world = with_commands(
        "[\"cat '${SKILL_DIR}/note.txt'\"]",
        "Note: !`cat '${CLAUDE_SKILL_DIR}/note.txt'`",
    );
    world.write("work/skills/s/note.txt", "noted");
    let (text, reply, _) = opened(&world, CommandPolicy::Mark);
    assert!(text.contains("Note: noted"), "{text} {:?}", reply.needs_approval);
}

#[test]
fn report_b56_a_wrong_name_of_a_variable_is_said_with_the_right_one() {
    let world = with_commands("[]", "Run ${CLAUDE_SKILL_ROOT}/x.py.");
    let (text, reply, _) = opened(&world, CommandPolicy::Mark);
    assert!(text.contains("${CLAUDE_SKILL_ROOT}/x.py"), "it never becomes an empty text: {text}");
    let found = reply.opened.unwrap().diagnostics;
    let help = format!("{found:?}");
    assert!(help.contains("CLAUDE_SKILL_ROOT") && help.contains("CLAUDE_SKILL_DIR"), "{help}");
}

#[test]
fn report_b47_prices_and_code_keep_their_letters_and_what_was_replaced_is_told() {
    let world = with_commands("[]", "It costs $1,000; run `awk '{print $2}'` or awk '{print $1}'.");
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let options = OpenOptions { raw_arguments: Some("a b c".into()), ..OpenOptions::default() };
    let reply = open_with(&mut session, &mut workspace, &options);
    let text = session.view().part(Part::Skills);
    assert!(
        text.contains("It costs $1,000; run `awk '{print $2}'` or awk '{print $1}'."),
        "{text}"
    );
    assert!(text.contains("ARGUMENTS: a b c"));
    let skill = reply.opened.unwrap();
    assert!(
        skill.substitutions.iter().all(|one| one.token == "$ARGUMENTS" || one.token.is_empty()),
        "{:?}",
        skill.substitutions
    );
}

#[test]
fn report_b50_names_of_arguments_are_letters_and_the_longest_wins() {
    let world = World::new();
    world.write(
        "work/skills/s/SKILL.md",
        skill_with("s", "arguments: [a, \"a.b\", \"x+\"]", "One $a.b two $x+ three $a four."),
    );
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let options = OpenOptions { raw_arguments: Some("A B X".into()), ..OpenOptions::default() };
    open_with(&mut session, &mut workspace, &options);
    let text = session.view().part(Part::Skills);
    assert!(text.contains("One B two X three A four."), "{text}");
}

#[test]
fn a_dry_run_runs_nothing_and_shows_what_would_run() {
    let world = with_commands("[\"touch ran\"]", "Begin. !`touch ran`");
    let mut workspace = world.alone();
    let session = agreeing(&mut workspace);
    let before = session.events().unwrap().len();
    let loaded = workspace.load(&id("s")).unwrap().unwrap();
    let prepared = session.prepared(&workspace, &loaded, &OpenOptions::default()).unwrap();
    assert_eq!(prepared.commands.len(), 1);
    assert!(prepared.text.contains("!`touch ran`"));
    assert!(!world.path("work/ran").exists());
    assert_eq!(session.events().unwrap().len(), before);
}

#[test]
fn a_small_skill_with_commands_is_not_opened_by_itself() {
    let world = with_commands("[\"touch ran\"]", "Begin. !`touch ran`");
    world.write("home/.config/concertina/concertina.toml", "[listing]\ninline_tokens = 1000\n");
    world.skill("work/skills/plain", "Plain.");
    let mut workspace = world.alone();
    let session = agreeing(&mut workspace);
    let open: Vec<_> = session.state().open.iter().map(|open| open.opened.id.to_string()).collect();
    assert_eq!(open, ["plain"]);
    assert!(!world.path("work/ran").exists());
}

#[test]
fn nothing_runs_for_a_skill_that_stays_closed() {
    let world = World::new();
    world.skill("work/skills/first", "First.");
    let more = "requires: [first]\npermissions:\n  execute: [\"touch ran\"]";
    world.write("work/skills/s/SKILL.md", skill_with("s", more, "!`touch ran`"));
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let reply = open_with(&mut session, &mut workspace, &OpenOptions::default());
    assert_eq!(reply.refusal.unwrap().code, "REQUIRES_FIRST");
    assert!(!world.path("work/ran").exists());
}

#[test]
fn a_forked_skill_gets_the_output_too() {
    let world = World::new();
    let more = "context: fork\npermissions:\n  execute: [\"cat data.txt\"]";
    world.write("work/skills/s/SKILL.md", skill_with("s", more, "The number is !`cat data.txt`."));
    world.write("work/data.txt", "forty-two\n");
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let options = OpenOptions { can_fork: true, ..OpenOptions::default() };
    let reply = open_with(&mut session, &mut workspace, &options);
    assert!(reply.fork.unwrap().text.contains("The number is forty-two."));
    assert_eq!(calls_of(&session), ["admitted 1 command/s", "finished 1 0"]);

    // The whole way: the fork's own session is told the number.
    let mut session = agreeing(&mut workspace);
    let model = scripts(json!([
        {"when": ["forty-two"], "turns": [says("It is forty-two.")]},
        {"turns": [calls("open", json!({"ref": "skill:s"})), says("Done.")]},
    ]));
    let answer = drive(&mut workspace, &mut session, &model, Some("Ask.")).unwrap();
    assert_eq!(answer, "Done.");
}

#[test]
fn a_stop_reaches_a_command_that_runs() {
    let world = with_commands("[\"sleep *\"]", "Begin. !`sleep 30`");
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let handle = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        stop.stop();
    });
    let begun = std::time::Instant::now();
    let options = OpenOptions { cancel, ..OpenOptions::default() };
    let reply = open_with(&mut session, &mut workspace, &options);
    handle.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(reply.needs_approval[0].code, "CANCELLED");
}

#[test]
fn the_output_of_a_command_with_parameters_lands_where_the_command_stood() {
    let world = World::new();
    let more =
        "parameters:\n  - name: who\n    type: string\npermissions:\n  execute: [\"cat data.txt\"]";
    world.write(
        "work/skills/s/SKILL.md",
        skill_with("s", more, "é A !`cat data.txt` B !`cat data.txt` C"),
    );
    world.write("work/data.txt", "42\n");
    let mut workspace = world.alone();
    let mut session = agreeing(&mut workspace);
    let options = OpenOptions { arguments: json!({"who": "né"}), ..OpenOptions::default() };
    open_with(&mut session, &mut workspace, &options);
    let text = session.view().part(Part::Skills);
    assert!(text.contains("é A 42 B 42 C"), "{text}");
}
