//! The scripted model.

use std::fs;

use concertina_core::session::{Message, Part, View};
use concertina_runtime::llm::script::Script;
use concertina_runtime::llm::{Model, ModelError, ModelSpec, Reply, Stop};
use futures_util::FutureExt;
use serde_json::json;

use crate::llm::{asking, block, call, result, said, task};

fn script(text: &str) -> Script {
    Script::parse(text.as_bytes(), "demo.json", "demo").unwrap()
}

fn invalid(text: &str) -> String {
    let error = Script::parse(text.as_bytes(), "demo.json", "demo").unwrap_err();
    assert_eq!(error.code(), "SCRIPT_INVALID", "{error}");
    error.to_string()
}

/// A script is ready at once: nothing is waited for, so there is no runtime to wait in.
fn ask(model: &dyn Model, view: &View) -> Result<Reply, ModelError> {
    let mut shown = String::new();
    let mut on_text = |text: &str| shown.push_str(text);
    let reply = model.reply(view, &mut on_text).now_or_never().unwrap();
    if let Ok(reply) = &reply {
        assert_eq!(shown, reply.text);
    }
    reply
}

fn tides() -> Script {
    script(
        r#"{"script": "v1", "label": "tides", "dialogues": [
            {"when": ["Tide", "husum"], "turns": [
                {"say": "I look it up.", "calls": [
                    {"name": "open", "arguments": {"ref": "skill:tides"}},
                    {"name": "open", "arguments": "{\"ref\": oops"}]},
                {"say": "${last.rows} tides: ${last.text}"}]},
            {"turns": [{"say": "I know only tides."}]}]}"#,
    )
}

#[test]
fn n08_a_scripted_model_runs_without_network_key_or_runtime() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.json");
    fs::write(&path, r#"{"script":"v1","dialogues":[{"turns":[{"say":"Good day."}]}]}"#).unwrap();
    let spec: ModelSpec = format!("scripted:{}", path.display()).parse().unwrap();
    let model = spec.connect(&|name| panic!("{name} was asked for")).unwrap();
    assert!(model.is_scripted());
    assert_eq!(model.name(), "scripted:greeting");
    let reply = ask(&*model, &asking("hello")).unwrap();
    assert_eq!(
        reply,
        Reply { text: "Good day.".into(), calls: vec![], usage: None, stop: Stop::Finished }
    );
}

#[test]
fn a_dialogue_is_followed_turn_by_turn() {
    let model = tides();
    assert_eq!(model.name(), "scripted:tides");
    let mut view = asking("The next TIDE in Husum, please");
    let first = ask(&model, &view).unwrap();
    assert_eq!(first.text, "I look it up.");
    assert_eq!(first.stop, Stop::Calls);
    let calls = [
        call("call_1", "open", r#"{"ref":"skill:tides"}"#),
        call("call_2", "open", "{\"ref\": oops"),
    ];
    assert_eq!(first.calls, calls);

    view.messages.push(said(&first.text, first.calls));
    view.messages.push(result("call_1", "ignored", false));
    view.messages.push(result("call_2", r#"{"rows": [1, {"a": []}, "${last.rows}"]}"#, false));
    let second = ask(&model, &view).unwrap();
    assert_eq!(second.text, r#"3 tides: {"rows": [1, {"a": []}, "${last.rows}"]}"#);
    assert_eq!(second.stop, Stop::Finished);

    view.messages.push(said(&second.text, vec![]));
    let error = ask(&model, &view).unwrap_err();
    assert_eq!(error.code(), "SCRIPT_EXHAUSTED");
    insta::assert_snapshot!(error, @"dialogue 1 in demo.json has 2 turns and turn 3 was asked for; add it, or end the turn before without calls");
}

#[test]
fn a_new_task_chooses_anew_and_a_changed_index_does_not() {
    let model = tides();
    let mut view = asking("tide in husum");
    view.messages.push(said("I look it up.", vec![call("call_7", "open", "{}")]));
    view.messages.push(result("call_7", "note\n  {\"rows\": [1]}\nmore", false));
    view.messages.push(Message::User { blocks: vec![block(Part::Index, "+ skill:gardening")] });
    assert!(ask(&model, &view).unwrap().text.starts_with("1 tides: note"));

    view.messages.push(task("and the weather?"));
    assert_eq!(ask(&model, &view).unwrap().text, "I know only tides.");
    view.messages.push(task("the tide at Husum then"));
    let ids: Vec<_> = ask(&model, &view).unwrap().calls.into_iter().map(|c| c.id).collect();
    assert_eq!(ids, ["call_8", "call_9"], "ids already in the view are not given again");
}

#[test]
fn every_when_word_must_occur() {
    let model = script(
        r#"{"script":"v1","dialogues":[{"when":["ÄPFEL","zählen"],"turns":[{"say":"3"}]}]}"#,
    );
    assert_eq!(ask(&model, &asking("äpfel Zählen")).unwrap().text, "3");
    let error = ask(&model, &asking("äpfel essen")).unwrap_err();
    assert_eq!(error.code(), "SCRIPT_NO_DIALOGUE");
    insta::assert_snapshot!(error, @r#"no dialogue in demo.json is for the task "äpfel essen"; add one whose `when` words all occur in it, or one with an empty `when`"#);
    assert_eq!(ask(&model, &View::default()).unwrap_err().code(), "SCRIPT_NO_DIALOGUE");
}

#[test]
fn a_value_that_is_not_there_is_an_error_and_not_a_wrong_sentence() {
    let model = tides();
    let mut view = asking("tide husum");
    view.messages.push(said("", vec![]));
    let error = ask(&model, &view).unwrap_err();
    assert_eq!(error.code(), "SCRIPT_VALUE_MISSING");
    insta::assert_snapshot!(error, @"turn 2 of dialogue 1 in demo.json says ${last.rows}, but the last result is not JSON with a list of `rows`; let the turn before make a call that gives it");
    for text in ["not json", "{\"rows\": 3}", "{\"rows\": [", "[1]"] {
        let mut view = view.clone();
        view.messages.push(result("call_1", text, false));
        assert_eq!(ask(&model, &view).unwrap_err().code(), "SCRIPT_VALUE_MISSING", "{text}");
    }
}

#[test]
fn text_comes_in_words() {
    let model = script(r#"{"script":"v1","dialogues":[{"turns":[{"say":"one  two\nthree"}]}]}"#);
    let mut pieces = Vec::new();
    let mut on_text = |text: &str| pieces.push(text.to_owned());
    model.reply(&asking("x"), &mut on_text).now_or_never().unwrap().unwrap();
    assert_eq!(pieces, ["one ", " ", "two\n", "three"]);
}

#[test]
fn invalid_scripts_say_where_and_what_was_meant() {
    let cases = [
        "",
        "{\"script\":\"v1\",\n \"dialogs\":[]}",
        "{\"script\":\"v2\",\"dialogues\":[]}",
        "{\"script\":\"v1\",\"dialogues\":[{\"turns\":[{\"sya\":\"x\"}]}]}",
        "{\"script\":\"v1\",\"dialogues\":[{\"turns\":[{\"calls\":[{\"name\":\"open\",\n\"arguments\":[1]}]}]}]}",
        "{\"script\":\"v1\",\"dialogues\":[{\"turns\":[{\"say\":\"${last.row}\"}]}]}",
        "{\"script\":\"v1\",\"dialogues\":[{\"turns\":[{\"say\":\"${last.rows\"}]}]}",
        "{\"script\":\"v1\",\"dialogues\":[]} trailing",
        "{\"script\":\"v1\",\"dialogues\":[{}",
    ];
    let errors: Vec<_> = cases.map(invalid).into_iter().collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    demo.json:1:1: EOF while parsing a value; correct the script there
    demo.json:2:10: unknown field `dialogs`, expected one of `script`, `label`, `dialogues`; perhaps `dialogues` was meant; correct the script there
    demo.json:1:14: unknown variant `v2`, expected `v1`; correct the script there
    demo.json:1:44: unknown field `sya`, expected `say` or `calls`; perhaps `say` was meant; correct the script there
    demo.json:2:16: `arguments` must be an object, or a text that is sent as it is; correct the script there
    demo.json:1:59: `${last.row}` in `say` is not known; there are ${last.text} and ${last.rows}; correct the script there
    demo.json:1:59: `${last.` in `say` is not closed by `}`; correct the script there
    demo.json:1:32: trailing characters; correct the script there
    demo.json:1:30: missing field `turns`; correct the script there
    ");
    assert_eq!(Script::parse(b"\x00\xFF", "x", "x").unwrap_err().code(), "SCRIPT_INVALID");
}

#[test]
fn other_dollar_braces_in_say_stay_as_they_are() {
    let model = script(r#"{"script":"v1","dialogues":[{"turns":[{"say":"${HOME} $last ${"}]}]}"#);
    assert_eq!(ask(&model, &asking("x")).unwrap().text, "${HOME} $last ${");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let huge = directory.path().join("huge.json");
    fs::File::create(&huge).unwrap().set_len(5 * 1024 * 1024).unwrap();
    for path in [directory.path().join("absent.json"), directory.path().to_owned(), huge] {
        let error = Script::read(&path).unwrap_err();
        assert_eq!(error.code(), "SCRIPT_UNREADABLE");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_script() {
    let text = json!({"script": "v1", "dialogues": []}).to_string();
    assert!(Script::parse(format!("\u{feff}{text}").as_bytes(), "x", "x").is_ok());
}

#[test]
fn specs_that_name_no_model_say_what_to_write() {
    let error = |spec: &str| spec.parse::<ModelSpec>().unwrap_err();
    for spec in ["", "gpt-5", "openai:", "scripted: ", "antropic:x", "ollama:x"] {
        assert_eq!(error(spec).code(), "MODEL_UNKNOWN", "{spec}");
    }
    insta::assert_snapshot!(error("gpt-5"), @"`gpt-5` names no model: it has no prefix; write scripted:FILE, openai:NAME or anthropic:NAME");
    insta::assert_snapshot!(error("antropic:x"), @"`antropic:x` names no model: the prefix `antropic` is not known, perhaps `anthropic` was meant; write scripted:FILE, openai:NAME or anthropic:NAME");
}

#[test]
fn keys_and_base_urls_are_checked_before_anything_is_sent() {
    let connect = |spec: &str, base: Option<&str>, set: &[(&str, &str)]| {
        let spec: ModelSpec = spec.parse().unwrap();
        let spec = base.map_or_else(|| spec.clone(), |base| spec.clone().at(base));
        spec.connect(&|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    };
    for (spec, variable) in
        [("openai:lyra", "OPENAI_API_KEY"), ("anthropic:lyra", "ANTHROPIC_API_KEY")]
    {
        let error = connect(spec, None, &[(variable, " ")]).unwrap_err();
        assert_eq!(error.code(), "MODEL_KEY_MISSING");
        assert!(error.to_string().contains(variable), "{error}");
        assert!(connect(spec, Some("http://127.0.0.1:1/v1"), &[]).is_ok());
        let error =
            connect(spec, Some("http://127.0.0.1:1/v1"), &[(variable, "a\nb")]).unwrap_err();
        assert_eq!(error.code(), "MODEL_KEY_INVALID");
        for bad in ["127.0.0.1:1", "ftp://host/", "", "http://user:secret@host/", "file:///etc"] {
            let error = connect(spec, Some(bad), &[]).unwrap_err();
            assert_eq!(error.code(), "MODEL_BASE_URL_INVALID", "{bad}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
    let local = [("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")];
    assert!(
        connect("openai:lyra", None, &local).is_ok(),
        "a server named by variable is local too"
    );
}
