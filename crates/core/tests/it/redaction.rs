//! Secrets leave a session before anything is hashed, kept or shown.

use concertina_core::policy::{Places, Rule};
use concertina_core::session::{Command, Origin, Settings, Shown};
use concertina_types::{
    Blob, CallOutcome, DisclosureKind, Fact, ModelCall, Ref, ToolName, canonical_json,
};
use serde_json::json;

use crate::kit::{Bench, answer, code, count, intent, snapshot, tool};

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// Everything that a session keeps or says.
fn everything(bench: &Bench) -> String {
    let log = serde_json::to_string(&bench.log).unwrap();
    let view = serde_json::to_string(&bench.view()).unwrap();
    format!("{log}\n{view}\n{}", bench.kept.join("\n"))
}

fn bench() -> Bench {
    let mut sign_in = tool("sign_in");
    sign_in.parameters = json!({
        "type": "object",
        "properties": {"user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}},
    })
    .into();
    Bench::of(vec![crate::kit::skill("s", "Does s.")], vec![sign_in])
}

#[test]
fn s74_the_tool_gets_what_the_record_does_not_have() {
    let mut bench = bench();
    let arguments = json!({"user": TOKEN, "pin": "ab12"});
    let (origin, mut decision) = bench.call("sign_in", arguments.clone());
    let ticket = intent(&mut decision).admit(&bench.log).unwrap();
    assert_eq!(*ticket.arguments(), arguments);
    let Some(Fact::CallAdmitted { arguments: recorded, .. }) =
        bench.log.last().map(|event| event.fact.clone())
    else {
        panic!("the call is on record")
    };
    let recorded = bench.shelf.get(&recorded.digest).unwrap().to_string();
    let schema = bench.snapshot.tools[0].parameters.value();
    assert_eq!(recorded, canonical_json(&bench.redactor.redact_arguments(&schema, &arguments)));
    assert!(
        recorded.contains("[redacted:declared:") && recorded.contains("[redacted:github:"),
        "{recorded}"
    );

    let output = format!("{TOKEN} and on\n");
    let outcome = CallOutcome::Done { exit: 0, output: Blob::of(&output), dropped: 0 };
    let done = bench.apply(Command::Done {
        origin,
        id: ticket.id(),
        outcome,
        output,
        held: concertina_core::session::Held::default(),
    });
    assert!(answer(&done).contains("[redacted:github:"), "{}", answer(&done));
    assert!(!everything(&bench).contains("ghp_"));
}

#[test]
fn s74_no_way_in_leaves_a_secret_on_record() {
    let mut bench = bench();
    bench.apply(Command::Task { text: format!("use {TOKEN}") });
    bench.turn();
    let arguments = json!({"tool": "sign_in", "args": {"user": TOKEN}}).to_string();
    let call = ModelCall { id: "c1".into(), name: "call".into(), arguments };
    bench.says(&format!("I will use {TOKEN}"), vec![call]);
    let refused = bench.call(TOKEN, json!({})).1;
    assert_eq!(code(&refused), "UNKNOWN_TOOL");
    let command = Command::Refuse {
        origin: Origin::user(),
        request: format!("open {TOKEN}"),
        refusal: concertina_core::session::Refusal::new("BAD_REF", format!("{TOKEN} is none")),
    };
    assert!(answer(&bench.apply(command)).contains("[redacted:github:"));
    bench.apply(Command::Find {
        origin: Origin::user(),
        query: TOKEN.into(),
        hits: vec![(Ref::Tool(ToolName::new("sign_in").unwrap()), format!("title {TOKEN}"))],
        enough: true,
        words_alone: None,
    });
    let (origin, mut decision) = bench.call("sign_in", json!({}));
    let ticket = intent(&mut decision).admit(&bench.log).unwrap();
    let message = format!("the server said: {TOKEN}");
    let outcome = CallOutcome::Failed { code: "SERVER_ERROR".into(), message };
    let failed = bench.apply(Command::Done {
        origin,
        id: ticket.id(),
        outcome,
        output: String::new(),
        held: concertina_core::session::Held::default(),
    });
    assert!(!failed.refusal.unwrap().message.contains("ghp_"));
    bench.apply(Command::Touch {
        path: format!("src/{TOKEN}.rs"),
        activated: Vec::new(),
        nested: vec![format!("src/{TOKEN}/.claude/skills")],
    });
    let shown = Shown {
        reference: "skill:s#notes".parse().unwrap(),
        kind: DisclosureKind::Evidence,
        text: format!("line\n{TOKEN}\n"),
        lines: None,
    };
    bench.apply(Command::Show { origin: Origin::user(), shown });
    let fact = Fact::ModelFailed { code: "MODEL_REFUSED".into(), message: format!("key {TOKEN}") };
    bench.apply(Command::Observe(Box::new(fact), Vec::new()));
    let mut skill = bench.prepared("s");
    skill.text = format!("{}{TOKEN}", "x".repeat(9_980));
    bench.apply(Command::OpenSkill {
        origin: Origin::user(),
        skill: Box::new(skill),
        can_fork: false,
        held: None,
    });
    let all = everything(&bench);
    assert!(!all.contains("ghp_"), "{all}");
    assert!(all.matches("[redacted:github:").count() > 10);
    assert_eq!(bench.state, crate::kit::fold(&bench.log));
}

#[test]
fn a_session_without_secrets_is_as_it_would_be_without_a_redactor() {
    let mut bench = bench();
    bench.run("sign_in", "commit da39a3ee5e6b4b0d3255bfef95601890afd80709\n");
    assert!(!everything(&bench).contains("[redacted"));
    assert!(count("x").0 > 0);
}

#[test]
fn k11_a_denial_is_on_record_with_its_rule_and_what_it_was_about() {
    let mut settings = Settings::default();
    settings.policy.rules.deny.push(Rule::new("tool:b", &Places::default()).unwrap());
    let mut claimer = crate::kit::skill("s", "Does s.");
    claimer.claims = vec!["a".into()];
    let mut bench = Bench::new(settings, snapshot(vec![claimer], vec![tool("a"), tool("b")]));
    bench.open("s");
    bench.call("nothing", json!({}));
    bench.call("b", json!({}));
    let denials: Vec<String> = bench
        .log
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::RequestRefused { code, source, object, skill, tool, .. } => {
                let or = |text: Option<String>| text.unwrap_or("-".to_owned());
                let skill = or(skill.as_ref().map(ToString::to_string));
                let tool = or(tool.as_ref().map(ToString::to_string));
                let source = or(source.clone());
                let object = or(object.as_ref().map(ToString::to_string));
                Some(format!("{code} {skill} {tool} {object} by {source}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        denials,
        ["UNKNOWN_TOOL s nothing - by -", r#"NOT_VISIBLE s b {"call":"b"} by policy: `tool:b`"#]
    );
}
