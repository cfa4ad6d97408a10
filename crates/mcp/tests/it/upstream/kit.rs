//! A bench with a state directory, servers and a pool.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use concertina_mcp::upstream::{Pool, PoolOptions};
use concertina_runtime::Cancel;
use concertina_runtime::tools::{Attached, Outcome};
use concertina_runtime::upstream::{
    Call, Caller, Definition, Nobody, OfferedTool, Reach, Server, Upstreams as _,
};
use concertina_types::ToolName;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Longer than anything that is expected to happen takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// The server for tests.
pub(crate) fn fixture() -> PathBuf {
    concertina_fixture_server::program().unwrap()
}

pub(crate) struct Bench {
    directory: tempfile::TempDir,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) options: PoolOptions,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let handle = tokio::runtime::Handle::current();
        let options =
            PoolOptions::new(directory.path().join("home"), directory.path().to_owned(), handle);
        Self { directory, definitions: Vec::new(), options }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn word(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn definition(&self, name: &str, words: &[&str]) -> Definition {
        let mut argv = vec![fixture().to_str().unwrap().to_owned()];
        argv.extend(words.iter().map(|word| (*word).to_owned()));
        let path = std::env::var("PATH").unwrap();
        Definition {
            name: name.to_owned(),
            reach: Reach::Program {
                argv,
                environment: vec![("PATH".to_owned(), path)],
                directory: self.directory.path().to_owned(),
            },
            from: self.path("concertina.toml"),
            by: "concertina".to_owned(),
            trusted: true,
            timeout_s: None,
            roots: false,
        }
    }

    pub(crate) fn with(mut self, name: &str, words: &[&str]) -> Self {
        self.definitions.push(self.definition(name, words));
        self
    }

    /// A server whose words name files of the bench.
    pub(crate) fn add(&mut self, name: &str, words: &[&str]) {
        self.definitions.push(self.definition(name, words));
    }

    /// A pool as `mcp` and `serve` have it.
    pub(crate) fn learning(&self) -> Arc<Pool> {
        Pool::new(self.definitions.clone(), PoolOptions { learn: true, ..self.options.clone() })
    }

    /// A pool as a single command has it.
    pub(crate) fn resting(&self) -> Arc<Pool> {
        Pool::new(self.definitions.clone(), self.options.clone())
    }

    /// A learning pool, once it has learnt.
    pub(crate) async fn settled(&self) -> Arc<Pool> {
        let pool = self.learning();
        assert!(pool.settled(LONG).await, "{:?}", pool.offer().servers);
        pool
    }

    /// A file of the bench as lines of JSON; empty while it does not exist.
    pub(crate) fn log(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn numbers(&self, name: &str) -> Vec<u32> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

pub(crate) fn tool(pool: &Pool, name: &str) -> Option<OfferedTool> {
    let offer = pool.offer();
    offer.tools.iter().find(|tool| tool.name.as_str() == name).map(|tool| tool.as_ref().clone())
}

pub(crate) fn names(pool: &Pool) -> Vec<String> {
    pool.offer().tools.iter().map(|tool| tool.name.to_string()).collect()
}

pub(crate) fn server(pool: &Pool, name: &str) -> Server {
    pool.offer().servers.iter().find(|server| server.name == name).cloned().unwrap()
}

pub(crate) fn a_call(
    name: &str,
    arguments: Value,
    caller: Arc<dyn Caller>,
    cancel: Cancel,
) -> Call {
    Call { tool: ToolName::new(name).unwrap(), arguments, cancel, caller }
}

pub(crate) async fn call(pool: &Pool, name: &str, arguments: Value) -> Outcome {
    pool.call(a_call(name, arguments, Arc::new(Nobody), Cancel::default())).await
}

/// The text of a call that went well.
pub(crate) async fn said(pool: &Pool, name: &str, arguments: Value) -> String {
    match call(pool, name, arguments).await {
        Outcome::Done { exit: 0, output, .. } => output,
        other => panic!("{name}: {other:?}"),
    }
}

/// The code and the words of a call that failed.
pub(crate) async fn failed(pool: &Pool, name: &str, arguments: Value) -> (String, String) {
    match call(pool, name, arguments).await {
        Outcome::Failed { code, message, .. } => (code, message),
        other @ Outcome::Done { .. } => panic!("{name}: {other:?}"),
    }
}

pub(crate) fn attached(outcome: Outcome) -> Attached {
    match outcome {
        Outcome::Done { attached, .. } => *attached.unwrap(),
        other @ Outcome::Failed { .. } => panic!("{other:?}"),
    }
}

/// Looks again and again until it is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(LONG, wait).await.is_ok(), "not within {LONG:?}: {what}");
}

pub(crate) fn is_alive(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // One that ended and was not collected yet does nothing any more.
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// How far a call is: done, of how much, in words.
pub(crate) type Step = (f64, Option<f64>, Option<String>);

/// A caller who hears everything and answers as told.
#[derive(Default)]
pub(crate) struct Ears {
    pub(crate) progress: Mutex<Vec<Step>>,
    pub(crate) logged: Mutex<Vec<Value>>,
    pub(crate) asked: Mutex<Vec<Value>>,
    pub(crate) notes: Mutex<Vec<String>>,
    /// Where it is set, questions are answered once it is told so.
    pub(crate) late: Option<Arc<tokio::sync::Notify>>,
}

impl Caller for Ears {
    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        self.progress.lock().unwrap().push((done, total, message));
    }

    fn log(&self, entry: Value) {
        self.logged.lock().unwrap().push(entry);
    }

    fn note(&self, words: String) {
        self.notes.lock().unwrap().push(words);
    }

    fn elicit(&self, question: Value) -> BoxFuture<'static, Value> {
        self.asked.lock().unwrap().push(question);
        let late = self.late.clone();
        Box::pin(async move {
            if let Some(late) = late {
                late.notified().await;
            }
            json!({"action": "accept", "content": {"colour": "blue"}})
        })
    }
}
