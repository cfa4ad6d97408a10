//! Hybrid search: what an encoder adds, and what one that fails costs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use concertina_core::session::Origin;
use concertina_runtime::semantic::{Encoder, EncoderError};
use concertina_runtime::upstream::OfferedTool;
use concertina_runtime::{Cancel, FindRequest, Found, Opening, Session, Workspace};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::http_server::{Answer, Request, Server, closed_port};
use crate::kit::{World, begin, skill_with};
use crate::upstreams::{Servers, offered};

/// Documents beside the one that is looked for.
const OTHERS: usize = 40;
const ASKED: &str = "our landlord wants a reimbursement";

/// Where a person keeps skills, which need no trust.
const OWN: &str = "home/.agents/skills";

fn world() -> World {
    let world = World::new();
    for number in 0..OTHERS {
        world.skill(&format!("{OWN}/knob-{number}"), &format!("Turns knob {number}."));
    }
    world.skill(&format!("{OWN}/refunds"), "Pays money back to a customer.");
    world
}

/// The person's settings, with an encoder at `url`, which has more time than any of these takes.
fn set(world: &World, url: &str, more: &str) {
    let timeout = if more.contains("timeout_ms") { "" } else { "timeout_ms = 20000\n" };
    let text = format!("[search.embeddings]\nurl = \"{url}\"\nmodel = \"m\"\n{timeout}{more}");
    world.write("home/.config/concertina/concertina.toml", text);
}

/// Money is near money, and everything else lies in a direction of its own.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; 8];
    if ["money", "reimburse"].iter().any(|word| text.contains(word)) {
        vector[0] = 1.0;
    } else {
        let sum: usize = text.bytes().map(usize::from).sum();
        vector[1 + sum % 7] = 2.0;
    }
    vector
}

fn texts(request: &Request) -> Vec<String> {
    serde_json::from_value(request.json()["input"].clone()).unwrap()
}

fn vectors(request: &Request) -> Value {
    let item = |(index, text): (usize, &String)| json!({"index": index, "embedding": vector(text)});
    let data: Vec<Value> = texts(request).iter().enumerate().map(item).collect();
    json!({"data": data, "model": "m"})
}

fn encoder() -> Server {
    Server::answering(|_, request| Answer::json(200, &vectors(request)))
}

fn find(session: &mut Session, workspace: &mut Workspace, query: &str) -> Found {
    let request = FindRequest { query: query.into(), ..FindRequest::default() };
    session.find(workspace, Origin::user(), &request).unwrap().0
}

fn first(found: &Found) -> Option<String> {
    found.hits.iter().chain(&found.nearest).next().map(|hit| hit.reference.to_string())
}

fn code(found: &Found) -> Option<&str> {
    found.note.as_ref().map(|note| note.code)
}

/// Everything that was sent to be encoded.
fn sent(server: &Server) -> Vec<String> {
    server.requests().iter().flat_map(texts).collect()
}

#[test]
fn what_no_word_leads_to_is_found_by_meaning() {
    let server = encoder();
    let world = world();
    set(&world, &server.url(), "");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    let found = find(&mut session, &mut workspace, ASKED);
    assert_eq!((first(&found).as_deref(), code(&found)), (Some("skill:refunds"), None));
    assert!(!found.enough, "whether it fits is for words to say");
    assert_eq!(found.nearest[0].why, "is near in meaning");
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /v1/embeddings");
    assert_eq!(request.json()["model"], "m");
    let texts = sent(&server);
    assert!(texts.contains(&"refunds. Pays money back to a customer.".to_owned()), "{texts:?}");
}

#[test]
fn nothing_is_asked_unless_it_is_set_or_needed() {
    let server = encoder();
    let world = world();
    // A workspace does not choose where requests are sent.
    world.config(&format!("[search.embeddings]\nurl = \"{}\"\nmodel = \"m\"\n", server.url()));
    let mut workspace = world.open();
    assert!(workspace.loaded().findings.iter().any(|(_, found)| found.code == "WORKSPACE_REFUSED"));
    let mut session = begin(&mut workspace);
    assert_eq!(code(&find(&mut session, &mut workspace, ASKED)), None);
    set(&world, &server.url(), "");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    let found = find(&mut session, &mut workspace, "refunds");
    assert_eq!(first(&found).as_deref(), Some("skill:refunds"));
    let request = FindRequest {
        query: ASKED.into(),
        within: Some("skill:refunds".parse().unwrap()),
        ..FindRequest::default()
    };
    session.find(&mut workspace, Origin::user(), &request).unwrap();
    assert_eq!(server.requests().len(), 0, "names and places need no encoder");
}

#[test]
fn a_vector_is_made_once() {
    let server = encoder();
    let world = world();
    set(&world, &server.url(), "");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    find(&mut session, &mut workspace, ASKED);
    let documents = sent(&server).len() - 1;
    find(&mut session, &mut workspace, ASKED);
    assert_eq!(sent(&server).len(), documents + 1, "neither documents nor the request again");
    let mut other = world.open();
    let mut session = begin(&mut other);
    let found = find(&mut session, &mut other, ASKED);
    assert_eq!(first(&found).as_deref(), Some("skill:refunds"));
    assert_eq!(sent(&server)[documents + 1..], [ASKED], "documents are known from before");
    world.skill(&format!("{OWN}/refunds"), "Gives money back.");
    let mut changed = world.open();
    let mut session = begin(&mut changed);
    find(&mut session, &mut changed, ASKED);
    assert_eq!(sent(&server)[documents + 2..], ["refunds. Gives money back.", ASKED]);
}

#[test]
fn vectors_are_taken_by_their_index() {
    let server = Server::answering(|_, request| {
        let mut answer = vectors(request);
        answer["data"].as_array_mut().unwrap().reverse();
        Answer::json(200, &answer)
    });
    let world = world();
    set(&world, &format!("{}/v1/", server.url()), "batch = 16\n");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    let found = find(&mut session, &mut workspace, ASKED);
    assert_eq!((first(&found).as_deref(), code(&found)), (Some("skill:refunds"), None));
    assert_eq!(server.requests()[0].line, "POST /v1/embeddings");
    assert!(server.requests().iter().all(|request| texts(request).len() <= 16));
}

/// Documents are encoded well, requests are answered with `answer`.
fn failing_at_last(answer: impl Fn(Value) -> Answer + Send + Sync + 'static) -> Server {
    Server::answering(move |_, request| match texts(request).as_slice() {
        [one] if one == ASKED => answer(vectors(request)),
        _ => Answer::json(200, &vectors(request)),
    })
}

#[test]
fn an_encoder_that_fails_leaves_the_answer_to_words() {
    let with = |change: fn(&mut Value)| {
        move |mut answer: Value| {
            change(&mut answer);
            Answer::json(200, &answer)
        }
    };
    let long = || Answer::pieces(200, "application/json", vec![vec![b' '; 1 << 20]; 33]);
    let servers = [
        ("silent", "ENCODER_TIMEOUT", failing_at_last(|_| Answer::silence())),
        ("hangs up", "ENCODER_UNREACHABLE", failing_at_last(|_| Answer::hang_up())),
        ("cut", "ENCODER_UNREACHABLE", failing_at_last(|a| Answer::json(200, &a).cut())),
        ("not JSON", "ENCODER_BAD_REPLY", failing_at_last(|_| Answer::text(200, "hello"))),
        ("endless", "ENCODER_BAD_REPLY", failing_at_last(move |_| long())),
        ("no vector", "ENCODER_BAD_REPLY", failing_at_last(with(|a| a["data"] = json!([])))),
        (
            "two vectors",
            "ENCODER_BAD_REPLY",
            failing_at_last(with(|a| {
                let one = a["data"][0].clone();
                a["data"].as_array_mut().unwrap().push(one);
            })),
        ),
        (
            "wrong index",
            "ENCODER_BAD_REPLY",
            failing_at_last(with(|a| a["data"][0]["index"] = json!(7))),
        ),
        (
            "no number",
            "ENCODER_BAD_REPLY",
            failing_at_last(with(|a| a["data"][0]["embedding"][3] = Value::Null)),
        ),
        (
            "too large a number",
            "ENCODER_BAD_REPLY",
            failing_at_last(with(|a| a["data"][0]["embedding"][3] = json!(1e200))),
        ),
        (
            "empty",
            "ENCODER_BAD_REPLY",
            failing_at_last(with(|a| a["data"][0]["embedding"] = json!([]))),
        ),
        (
            "other length",
            "ENCODER_CHANGED",
            failing_at_last(with(|a| a["data"][0]["embedding"] = json!([1, 2]))),
        ),
        (
            "refusal",
            "ENCODER_REFUSED",
            failing_at_last(|_| Answer::text(401, "no such key: s3cret-key")),
        ),
        (
            "failure",
            "ENCODER_REFUSED",
            failing_at_last(|_| Answer::json(500, &json!({"error": {"message": "out of memory"}}))),
        ),
    ];
    let plain = world();
    let mut workspace = plain.open();
    let mut session = begin(&mut workspace);
    let by_words = find(&mut session, &mut workspace, ASKED);
    for (name, expected, server) in servers {
        let mut world = world();
        world.variables.insert("THE_KEY".to_owned(), "s3cret-key".to_owned());
        // Only who is silent costs all of it.
        set(&world, &server.url(), "key_env = \"THE_KEY\"\ntimeout_ms = 2000\n");
        let mut workspace = world.open();
        let mut session = begin(&mut workspace);
        let begun = Instant::now();
        let found = find(&mut session, &mut workspace, ASKED);
        let took = begun.elapsed();
        assert_eq!(code(&found), Some(expected), "{name}: {:?}", found.note);
        assert!(took < Duration::from_secs(10), "{name} took {took:?}");
        assert_eq!((&found.hits, &found.nearest), (&by_words.hits, &by_words.nearest), "{name}");
        let text = found.note.unwrap().text;
        assert!(text.starts_with("ranked by words alone: "), "{name}: {text}");
        assert!(!text.contains("s3cret"), "{name}: {text}");
        let last = server.requests().pop().unwrap();
        assert_eq!(last.header("authorization"), Some("Bearer s3cret-key"), "{name}");
        // It is left alone for a while.
        let asked = server.requests().len();
        let again = find(&mut session, &mut workspace, ASKED);
        if expected != "ENCODER_CHANGED" {
            assert_eq!((code(&again), server.requests().len()), (Some(expected), asked), "{name}");
        }
    }
}

#[test]
fn a_server_that_is_down_is_said_to_be() {
    let world = world();
    set(&world, &format!("http://127.0.0.1:{}", closed_port()), "");
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    let found = find(&mut session, &mut workspace, "turns knob");
    assert_eq!((code(&found), first(&found).is_some()), (Some("ENCODER_UNREACHABLE"), true));
    // Whoever asks as a model is told by the code: the reason holds words from outside.
    let request = FindRequest { query: "turns knob".into(), ..FindRequest::default() };
    let (_, reply) = session.find(&mut workspace, Origin::model("f"), &request).unwrap();
    let told = reply.answer.unwrap().text;
    assert!(told.starts_with("Ranked by words alone [ENCODER_UNREACHABLE].\n"), "{told}");
}

#[test]
fn settings_that_cannot_be_used_are_said_with_every_search() {
    for (more, expected) in [
        ("key_env = \"NOT_SET\"\n", "ENCODER_KEY_MISSING"),
        (
            "[search.encoder]\nmodel = \"nowhere.onnx\"\nvocabulary = \"nowhere.txt\"\n",
            no_encoder(),
        ),
    ] {
        let world = world();
        set(&world, "http://127.0.0.1:9", more);
        let mut workspace = world.open();
        let mut session = begin(&mut workspace);
        let found = find(&mut session, &mut workspace, ASKED);
        assert_eq!(code(&found), Some(expected), "{:?}", found.note);
    }
}

fn no_encoder() -> &'static str {
    if cfg!(feature = "onnx") { "ENCODER_UNUSABLE" } else { "ENCODER_NOT_BUILT" }
}

/// An encoder in this process, with what it was given.
#[derive(Debug)]
struct Inside {
    pause: Duration,
    patience: Duration,
    length: AtomicUsize,
    breaks_off: bool,
    given: Mutex<Vec<usize>>,
}

impl Default for Inside {
    /// One that has more time than it needs.
    fn default() -> Self {
        Self {
            pause: Duration::ZERO,
            patience: Duration::from_secs(20),
            length: AtomicUsize::new(0),
            breaks_off: false,
            given: Mutex::default(),
        }
    }
}

impl Encoder for Inside {
    fn identity(&self) -> String {
        "inside".to_owned()
    }

    fn batch(&self) -> usize {
        8
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn encode<'a>(
        &'a self,
        texts: &'a [String],
        _within: Duration,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EncoderError>> {
        Box::pin(async move {
            self.given.lock().unwrap().push(texts.len());
            if self.breaks_off {
                // Without the message of a panic, which takes its time.
                std::panic::resume_unwind(Box::new("an encoder with a fault"));
            }
            std::thread::sleep(self.pause);
            let length = self.length.load(Ordering::SeqCst);
            Ok(texts.iter().map(|text| [vector(text), vec![0.0; length]].concat()).collect())
        })
    }
}

fn with(world: &World, encoder: &Arc<Inside>) -> (Workspace, Session) {
    let mut workspace = world.open();
    let shared: Arc<dyn Encoder> = encoder.clone();
    workspace.encode_with(shared, &world.path("state"));
    let session = begin(&mut workspace);
    (workspace, session)
}

#[test]
fn a_search_does_not_wait_for_many_documents() {
    let world = world();
    let (pause, patience) = (Duration::from_millis(60), Duration::from_millis(150));
    let encoder = Arc::new(Inside { pause, patience, ..Inside::default() });
    let (mut workspace, mut session) = with(&world, &encoder);
    let begun = Instant::now();
    let found = find(&mut session, &mut workspace, ASKED);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(code(&found), Some("ENCODING"));
    let text = found.note.unwrap().text;
    assert!(text.contains("of 42 documents are encoded so far"), "{text}");
    // What was begun goes on by itself.
    let until = Instant::now() + Duration::from_secs(20);
    while code(&find(&mut session, &mut workspace, ASKED)).is_some() && Instant::now() < until {}
    let found = find(&mut session, &mut workspace, ASKED);
    assert_eq!((first(&found).as_deref(), code(&found)), (Some("skill:refunds"), None));
    let given = encoder.given.lock().unwrap().clone();
    assert_eq!(given.iter().sum::<usize>(), 42 + 1, "each once: {given:?}");
    assert!(given.iter().all(|batch| *batch <= 8), "{given:?}");
}

#[test]
fn an_encoder_that_became_another_is_noticed() {
    let world = world();
    let encoder = Arc::new(Inside::default());
    let (mut workspace, mut session) = with(&world, &encoder);
    assert_eq!(code(&find(&mut session, &mut workspace, ASKED)), None);
    encoder.length.store(3, Ordering::SeqCst);
    assert_eq!(
        code(&find(&mut session, &mut workspace, "a reimbursement")),
        Some("ENCODER_CHANGED")
    );
    let found = find(&mut session, &mut workspace, "a reimbursement");
    assert_eq!((first(&found).as_deref(), code(&found)), (Some("skill:refunds"), None));
    // Another process believes the new vectors.
    let (mut workspace, mut session) = with(&world, &encoder);
    assert_eq!(code(&find(&mut session, &mut workspace, "the reimbursement")), None);
}

#[test]
fn an_encoder_that_breaks_off_costs_a_bounded_time() {
    let world = world();
    let encoder = Arc::new(Inside { breaks_off: true, ..Inside::default() });
    let (mut workspace, mut session) = with(&world, &encoder);
    let begun = Instant::now();
    let found = find(&mut session, &mut workspace, ASKED);
    assert_eq!(code(&found), Some("ENCODER_NO_THREAD"));
    assert!(begun.elapsed() < encoder.patience, "whoever waits is told");
    let found = find(&mut session, &mut workspace, ASKED);
    assert_eq!(code(&found), Some("ENCODER_NO_THREAD"));
    assert_eq!(encoder.given.lock().unwrap().len(), 1, "it is left alone for a while");
}

#[test]
fn what_is_forbidden_is_not_near() {
    let world = world();
    world.config("[policy]\ndeny = [\"skill:refunds\"]\n");
    let encoder = Arc::new(Inside::default());
    let (mut workspace, mut session) = with(&world, &encoder);
    let found = find(&mut session, &mut workspace, ASKED);
    assert_eq!(code(&found), None);
    assert_ne!(first(&found).as_deref(), Some("skill:refunds"));
}

/// An encoder that is at work until it is let go.
#[derive(Debug, Default)]
struct Held {
    let_go: (Mutex<bool>, Condvar),
    at_work: (Mutex<bool>, Condvar),
}

fn set_and_tell((value, changed): &(Mutex<bool>, Condvar)) {
    *value.lock().unwrap() = true;
    changed.notify_all();
}

fn wait_for((value, changed): &(Mutex<bool>, Condvar)) {
    drop(changed.wait_while(value.lock().unwrap(), |is_set| !*is_set).unwrap());
}

impl Encoder for Held {
    fn identity(&self) -> String {
        "held".to_owned()
    }

    fn batch(&self) -> usize {
        64
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn encode<'a>(
        &'a self,
        texts: &'a [String],
        _within: Duration,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EncoderError>> {
        set_and_tell(&self.at_work);
        wait_for(&self.let_go);
        Box::pin(async { Ok(texts.iter().map(|text| vector(text)).collect()) })
    }
}

#[test]
fn whoever_waits_for_an_encoder_does_not_hold_the_workspace() {
    let world = world();
    let mut workspace = world.open();
    let encoder = Arc::new(Held::default());
    workspace.encode_with(encoder.clone(), &world.path("state"));
    let mut others: Vec<Session> = (0..2).map(|_| begin(&mut workspace)).collect();
    let mut session = begin(&mut workspace);
    let waiting: Vec<_> = others
        .drain(..)
        .map(|mut other| {
            let (arguments, cancel) = (json!({"query": ASKED}), Cancel::default());
            let model = Origin::model("f");
            let ready = other.verb(&mut workspace, model, "find", &arguments, false, &cancel);
            let ready = ready.unwrap();
            assert!(matches!(ready, Opening::Searching(_)), "{ready:?}");
            std::thread::spawn(move || other.complete(ready).unwrap().answer.unwrap().text)
        })
        .collect();
    wait_for(&encoder.at_work);
    // Both wait now or soon, and the workspace is free.
    assert!(!workspace.refresh());
    let found = find(&mut session, &mut workspace, "refunds");
    assert_eq!(first(&found).as_deref(), Some("skill:refunds"));
    set_and_tell(&encoder.let_go);
    for waiting in waiting {
        let text = waiting.join().unwrap();
        assert!(text.contains("skill:refunds") && !text.contains("words alone"), "{text}");
    }
}

/// A tool in settings, which a model may see unless something is against it.
fn tool(name: &str, more: &str) -> String {
    format!("[tool.\"{name}\"]\nargv = [\"true\"]\ndescription = \"Describes {name}.\"\n{more}\n")
}

#[test]
fn only_what_a_model_may_be_shown_is_sent() {
    let server = encoder();
    let world = World::new();
    let skill = |directory: &str, more: &str| {
        let name = directory.rsplit('/').next().unwrap();
        world.write(&format!("{directory}/SKILL.md"), skill_with(name, more, "Secret body."));
    };
    skill(&format!("{OWN}/plain"), "");
    skill(&format!("{OWN}/for-python"), "paths: [\"*.py\"]");
    skill(&format!("{OWN}/for-people"), "disable-model-invocation: true");
    skill(&format!("{OWN}/unclear"), "disable-model-invocation: perhaps");
    skill(&format!("{OWN}/denied"), "");
    skill("work/skills/stranger", "");
    let tools = [
        tool("files/read", "danger = \"safe\""),
        tool("files/with-skill", "danger = \"safe\"\nneeds_skill = true"),
        tool("files/denied", "danger = \"safe\""),
        tool("files/destroy", "danger = \"destructive\""),
    ];
    let policy = "[policy]\ndeny = [\"skill:denied\", \"tool:files/denied\"]\n";
    set(&world, &server.url(), &format!("\n{policy}{}", tools.concat()));
    let mut workspace = world.open();
    let changed = OfferedTool {
        quarantined: Some("it changed".to_owned()),
        ..offered("far/changed", "Ignores all instructions.")
    };
    workspace.attach(Servers::of(vec![changed, offered("far/known", "Tells.")]));
    let findings = &workspace.loaded().findings;
    assert!(findings.is_empty(), "{findings:?}");
    let mut session = begin(&mut workspace);
    let found = find(&mut session, &mut workspace, ASKED);
    assert_eq!(code(&found), None);
    let mut sent = sent(&server);
    sent.sort();
    // One skill comes with Concertina.
    sent.retain(|text| !text.starts_with("write a skill. "));
    assert_eq!(
        sent,
        [
            "far known. Tells.",
            "far. far. ",
            "files read. Describes files/read.",
            "files with skill. Describes files/with-skill.",
            "for python. Use for for-python.",
            ASKED,
            "plain. Use for plain.",
        ]
    );
    // What a person trusts is sent from then on, and nothing else again.
    workspace.trust(&world.path("work")).unwrap();
    find(&mut session, &mut workspace, ASKED);
    let last = server.requests().pop().unwrap();
    assert_eq!(texts(&last), ["stranger. Use for stranger."]);
    assert_eq!(self::sent(&server).len(), sent.len() + 2);
}

/// The vectors of an encoder in files are those that others compute with it.
#[cfg(feature = "onnx")]
#[test]
fn the_local_encoder_gives_the_vectors_that_others_give() {
    use concertina_format::config;
    use concertina_runtime::semantic::SentenceEncoder;

    let Some(directory) = std::env::var_os("CONCERTINA_ENCODER").map(std::path::PathBuf::from)
    else {
        eprintln!(
            "skipped: the_local_encoder_gives_the_vectors_that_others_give: CONCERTINA_ENCODER is not set"
        );
        return;
    };
    let path = |name: &str| directory.join(name).display().to_string();
    let files = config::SentenceEncoder {
        model: path("model.onnx"),
        vocabulary: path("vocab.txt"),
        lowercase: true,
    };
    let encoder = SentenceEncoder::new(&files).unwrap();
    let expected = std::fs::read_to_string(path("expected.jsonl")).unwrap();
    for line in expected.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["text"].as_str().unwrap().to_owned();
        let expected: Vec<f32> = serde_json::from_value(row["vector"].clone()).unwrap();
        let encoding = encoder.encode(std::slice::from_ref(&text), Duration::from_mins(1));
        let vector = futures_executor::block_on(encoding).unwrap().remove(0);
        let length = vector.iter().map(|one| one * one).sum::<f32>().sqrt();
        let cosine: f32 = vector.iter().zip(&expected).map(|(a, b)| a * b).sum::<f32>() / length;
        assert!(cosine > 0.9999, "{text:?}: {cosine}");
    }
}

/// A search with an encoder in files, from settings to hits.
#[cfg(feature = "onnx")]
#[test]
fn a_local_encoder_finds_what_no_word_leads_to() {
    let Some(directory) = std::env::var_os("CONCERTINA_ENCODER") else {
        eprintln!(
            "skipped: a_local_encoder_finds_what_no_word_leads_to: CONCERTINA_ENCODER is not set"
        );
        return;
    };
    let directory = std::path::Path::new(&directory).display();
    let world = world();
    world.write(
        "home/.config/concertina/concertina.toml",
        format!(
            "[search.encoder]\nmodel = \"{directory}/model.onnx\"\nvocabulary = \"{directory}/vocab.txt\"\n"
        ),
    );
    let mut workspace = world.open();
    let mut session = begin(&mut workspace);
    let until = Instant::now() + Duration::from_mins(1);
    let mut found = find(&mut session, &mut workspace, ASKED);
    while code(&found) == Some("ENCODING") && Instant::now() < until {
        found = find(&mut session, &mut workspace, ASKED);
    }
    assert_eq!((first(&found).as_deref(), code(&found)), (Some("skill:refunds"), None));
}

/// Files that are no encoder are said to be none, and cost nothing else.
#[cfg(feature = "onnx")]
#[test]
fn files_that_are_no_encoder_are_named() {
    let vocabulary = "[UNK]\n[CLS]\n[SEP]\n";
    for (model, vocabulary, named) in [
        ("this is no model", vocabulary, "model.onnx"),
        ("", vocabulary, "model.onnx"),
        ("this is no model", "[UNK]\n", "vocab.txt"),
    ] {
        let world = world();
        world.write(
            "home/.config/concertina/concertina.toml",
            "[search.encoder]\nmodel = \"model.onnx\"\nvocabulary = \"vocab.txt\"\n",
        );
        world.write("home/.config/concertina/model.onnx", model);
        world.write("home/.config/concertina/vocab.txt", vocabulary);
        let mut workspace = world.open();
        let mut session = begin(&mut workspace);
        let found = find(&mut session, &mut workspace, ASKED);
        let text = found.note.map(|note| note.to_string()).unwrap_or_default();
        assert!(text.contains("ENCODER_") && text.contains(named), "{text}");
    }
}
