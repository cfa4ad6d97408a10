//! One connection to a server: requests and their answers, and what the server says in between.
//!
//! Messages are kept as the JSON they are. A schema, an answer or a piece of content that no
//! revision knows passes through unchanged, and one malformed entry never costs its whole list.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use concertina_runtime::upstream::Caller;
use concertina_types::limits;
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use super::failure::Failure;
use super::subscriptions::Updates;
use crate::lock;
use crate::percent::encoded;

const METHOD_NOT_FOUND: i64 = -32601;
/// Said to everybody whom a question may have been for.
const AMBIGUOUS: &str = "The server asked a person something while several calls to it were under way; it could not be told for which, so it was declined. If this answer lacks something, call again.";

/// A list that a server can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Others,
}

/// How long an answer may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Since the server last said something about it.
    pub(super) silent: Duration,
    /// In all.
    pub(super) whole: Duration,
}

/// A connection.
pub(super) struct Peer {
    out: mpsc::Sender<Value>,
    pending: Mutex<HashMap<u64, Pending>>,
    next: AtomicU64,
    /// What every request carries in `_meta`, where the revision wants it.
    meta: Mutex<Map<String, Value>>,
    /// The workspace, where the server is told it.
    root: Option<PathBuf>,
    changed: mpsc::Sender<List>,
    updates: Updates,
    over: watch::Sender<Option<Failure>>,
    /// Places for questions that wait for a person.
    questions: Arc<Semaphore>,
    /// Lines that were no messages.
    pub(super) noise: AtomicU64,
}

struct Pending {
    answer: oneshot::Sender<Result<Value, Failure>>,
    /// Whoever hears of progress and answers questions.
    caller: Option<Arc<dyn Caller>>,
    /// Set when the server says something about it.
    is_alive: Arc<AtomicBool>,
    /// Whether its caller was asked something and has not answered yet.
    is_asking: bool,
}

impl Peer {
    /// A connection whose messages leave through the returned end.
    pub(super) fn new(
        root: Option<&Path>,
        changed: mpsc::Sender<List>,
        updates: Updates,
    ) -> (Arc<Self>, mpsc::Receiver<Value>) {
        let (out, outgoing) = mpsc::channel(limits::UPSTREAM_QUEUE);
        let peer = Self {
            out,
            pending: Mutex::default(),
            next: AtomicU64::new(1),
            meta: Mutex::default(),
            root: root.map(Path::to_owned),
            changed,
            updates,
            over: watch::Sender::new(None),
            questions: Arc::new(Semaphore::new(limits::QUESTIONS_AT_ONCE)),
            noise: AtomicU64::new(0),
        };
        (Arc::new(peer), outgoing)
    }

    /// From now on every request carries `meta`.
    pub(super) fn always_send(&self, meta: Map<String, Value>) {
        *lock(&self.meta) = meta;
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        patience: Patience,
        caller: Option<Arc<dyn Caller>>,
    ) -> Result<Value, Failure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let is_alive = Arc::new(AtomicBool::new(false));
        let params = self.with_meta(params, caller.is_some().then_some(id));
        let pending = Pending { answer, caller, is_alive: Arc::clone(&is_alive), is_asking: false };
        self.pending().insert(id, pending);
        // Asked after the request is noted: whoever ends the connection afterwards fails it.
        if let Some(failure) = self.ended() {
            self.pending().remove(&id);
            return Err(failure);
        }
        let mut guard = Guard { peer: self, id, is_over: false };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(message)?;
        let result = wait(answered, &is_alive, patience, method).await;
        guard.is_over = !matches!(result, Err(Failure::Late { .. }));
        result
    }

    pub(super) fn notify(&self, method: &str, params: Value) -> Result<(), Failure> {
        let params = match params {
            Value::Null => None,
            other => Some(other),
        };
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let (Some(params), Some(object)) = (params, message.as_object_mut()) {
            object.insert("params".to_owned(), params);
        }
        self.send(message)
    }

    fn with_meta(&self, params: Value, token: Option<u64>) -> Value {
        let mut params = match params {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let mut meta = lock(&self.meta).clone();
        if let Some(token) = token {
            meta.insert("progressToken".to_owned(), json!(token));
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        Value::Object(params)
    }

    fn send(&self, message: Value) -> Result<(), Failure> {
        self.out.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                let failure = Failure::Lost("it does not read what it is sent".to_owned());
                self.end(failure.clone());
                failure
            }
            mpsc::error::TrySendError::Closed(_) => {
                self.ended().unwrap_or_else(|| Failure::Lost("the connection is closed".to_owned()))
            }
        })
    }

    /// Takes one message of the server.
    pub(super) fn deliver(self: &Arc<Self>, mut message: Value) {
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let id = message.get("id").cloned().filter(|id| !id.is_null());
        match (method, id) {
            (Some(method), Some(id)) => self.asked(&method, &id, &message),
            (Some(method), None) => self.notified(&method, &mut message),
            (None, Some(id)) => self.answered(&id, message),
            // An error about a message that the server could not read: nobody's answer.
            (None, None) => self.is_noise(),
        }
    }

    /// Takes a message of which something was cut off: a list bears it, the answer to a call does not.
    pub(super) fn deliver_pruned(self: &Arc<Self>, message: Value) {
        let id =
            message.get("id").and_then(Value::as_u64).filter(|_| message.get("method").is_none());
        let is_call = |id| self.pending().get(&id).is_some_and(|pending| pending.caller.is_some());
        match id {
            Some(id) if is_call(id) => {
                let words = "its answer is nested deeper than 120 levels";
                self.fail(id, Failure::Malformed(words.to_owned()));
            }
            _ => self.deliver(message),
        }
    }

    /// A line was no message.
    pub(super) fn is_noise(&self) {
        self.noise.fetch_add(1, Ordering::Relaxed);
    }

    /// A line was too long to be read. Where one answer alone is awaited, it was that.
    pub(super) fn is_too_long(&self, limit: usize) {
        self.is_noise();
        let sole = {
            let pending = self.pending();
            let mut ids = pending.keys().copied();
            ids.next().filter(|_| ids.next().is_none())
        };
        if let Some(id) = sole {
            let words = format!("its answer is longer than {limit} bytes");
            self.fail(id, Failure::Malformed(words));
        }
    }

    fn answered(&self, id: &Value, mut message: Value) {
        // Some servers return the id as a text.
        let number = id.as_u64().or_else(|| id.as_str().and_then(|text| text.parse::<u64>().ok()));
        let Some(pending) = number.and_then(|number| self.pending().remove(&number)) else {
            return;
        };
        // Some servers send both, one of them `null`.
        let result = match message.get_mut("error").filter(|error| !error.is_null()) {
            Some(error) => Err(Failure::refused(error)),
            None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
        };
        let _ = pending.answer.send(result);
    }

    /// A request of ours could not be sent.
    pub(super) fn fail(&self, id: u64, failure: Failure) {
        if let Some(pending) = self.pending().remove(&id) {
            let _ = pending.answer.send(Err(failure));
        }
    }

    fn notified(&self, method: &str, message: &mut Value) {
        match method {
            "notifications/progress" => self.progressed(message),
            "notifications/message" => {
                if let Some(caller) = self.sole_caller()
                    && let Some(params) = message.get_mut("params")
                {
                    caller.log(params.take());
                }
            }
            "notifications/tools/list_changed" => {
                let _ = self.changed.try_send(List::Tools);
            }
            "notifications/prompts/list_changed" | "notifications/resources/list_changed" => {
                let _ = self.changed.try_send(List::Others);
            }
            "notifications/resources/updated" => {
                if let Some(uri) = message.pointer("/params/uri").and_then(Value::as_str) {
                    self.updates.say(uri);
                }
            }
            _ => {}
        }
    }

    fn progressed(&self, message: &Value) {
        let param = |key: &str| message.pointer(&format!("/params/{key}"));
        let token = param("progressToken").and_then(|token| {
            token.as_u64().or_else(|| token.as_str().and_then(|text| text.parse().ok()))
        });
        let caller = token.and_then(|token| {
            let pending = self.pending();
            let pending = pending.get(&token)?;
            pending.is_alive.store(true, Ordering::Relaxed);
            pending.caller.clone()
        });
        let done = param("progress").and_then(Value::as_f64);
        if let (Some(caller), Some(done)) = (caller, done) {
            let words = param("message").and_then(Value::as_str).map(str::to_owned);
            caller.progress(done, param("total").and_then(Value::as_f64), words);
        }
    }

    /// The one call under way. On one pair of streams nothing says which call a message belongs
    /// to; where several are under way it goes to nobody, rather than to another's caller.
    fn sole_caller(&self) -> Option<Arc<dyn Caller>> {
        let pending = self.pending();
        let mut callers = pending.values().filter_map(|pending| {
            pending.caller.as_ref().map(|caller| (caller, &pending.is_alive))
        });
        let (caller, is_alive) = callers.next()?;
        if callers.next().is_some() {
            return None;
        }
        is_alive.store(true, Ordering::Relaxed);
        Some(Arc::clone(caller))
    }

    /// The call that a question belongs to. A server asks one thing at a time in a call, so a call
    /// whose question is not answered yet is none of several. Where it cannot be told, everybody
    /// whom the question may have been for hears of it; not what it was, since it is another's too.
    fn asker(&self) -> Option<(u64, Arc<dyn Caller>)> {
        let mut pending = self.pending();
        let mut calls: Vec<_> =
            pending.iter_mut().filter(|(_, pending)| pending.caller.is_some()).collect();
        if calls.len() > 1 && calls.iter().any(|(_, pending)| !pending.is_asking) {
            calls.retain(|(_, pending)| !pending.is_asking);
        }
        if let [(id, pending)] = calls.as_mut_slice() {
            pending.is_asking = true;
            pending.is_alive.store(true, Ordering::Relaxed);
            return pending.caller.clone().map(|caller| (**id, caller));
        }
        for caller in calls.iter().filter_map(|(_, pending)| pending.caller.as_ref()) {
            caller.note(AMBIGUOUS.to_owned());
        }
        None
    }

    fn asked(self: &Arc<Self>, method: &str, id: &Value, message: &Value) {
        let answer = match method {
            "ping" => Ok(json!({})),
            "roots/list" => self.roots().ok_or_else(|| format!("`{method}` is not answered here")),
            "elicitation/create" => {
                let question = message.get("params").cloned().unwrap_or_default();
                return self.elicit(id.clone(), question);
            }
            _ => Err(format!("`{method}` is not answered here")),
        };
        self.reply(id, answer);
    }

    fn reply(&self, id: &Value, answer: Result<Value, String>) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(words) => {
                let error = json!({"code": METHOD_NOT_FOUND, "message": words});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        let _ = self.send(message);
    }

    fn elicit(self: &Arc<Self>, id: Value, question: Value) {
        let decline = || self.reply(&id, Ok(json!({"action": "decline"})));
        // A place first: a question that is declined leaves no call waiting for its answer.
        let Ok(place) = Arc::clone(&self.questions).try_acquire_owned() else { return decline() };
        let Some((call, caller)) = self.asker() else { return decline() };
        let peer = Arc::clone(self);
        tokio::spawn(async move {
            let _place = place;
            let answer = caller.elicit(question).await;
            if let Some(pending) = peer.pending().get_mut(&call) {
                pending.is_asking = false;
            }
            peer.touch_all();
            peer.reply(&id, Ok(answer));
        });
    }

    /// The time that a person took is not the server's.
    fn touch_all(&self) {
        for pending in self.pending().values() {
            pending.is_alive.store(true, Ordering::Relaxed);
        }
    }

    /// The workspace, as the protocol has it, where the server is told it.
    pub(super) fn roots(&self) -> Option<Value> {
        let root = self.root.as_ref()?;
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        Some(json!({"roots": [{"uri": file_uri(root), "name": name}]}))
    }

    /// Fails everything that waits. Only the first reason is kept.
    pub(super) fn end(&self, failure: Failure) {
        let failure = self.ended().unwrap_or(failure);
        self.over.send_if_modified(|over| {
            let is_first = over.is_none();
            over.get_or_insert_with(|| failure.clone());
            is_first
        });
        for (_, pending) in self.pending().drain() {
            let _ = pending.answer.send(Err(failure.clone()));
        }
    }

    /// Why the connection ended, where it has.
    pub(super) fn ended(&self) -> Option<Failure> {
        self.over.borrow().clone()
    }

    /// Returns when the connection has ended, with the reason.
    pub(super) async fn over(&self) -> Failure {
        let mut over = self.over.subscribe();
        let ended = over.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| Failure::Lost("the connection is closed".to_owned()))
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        lock(&self.pending)
    }
}

/// Waits for an answer as long as the server is given.
async fn wait(
    answered: oneshot::Receiver<Result<Value, Failure>>,
    is_alive: &AtomicBool,
    patience: Patience,
    method: &str,
) -> Result<Value, Failure> {
    let start = tokio::time::Instant::now();
    let late = |waited: Duration| Failure::Late { method: method.to_owned(), waited };
    let mut answered = std::pin::pin!(answered);
    loop {
        let left = patience.whole.saturating_sub(start.elapsed());
        match tokio::time::timeout(patience.silent.min(left), &mut answered).await {
            Ok(Ok(result)) => return result,
            Ok(Err(_)) => return Err(Failure::Lost("the connection is closed".to_owned())),
            Err(_) if is_alive.swap(false, Ordering::Relaxed) && left > patience.silent => {}
            Err(_) => return Err(late(start.elapsed())),
        }
    }
}

/// Cancels a request that nobody waits for any more.
struct Guard<'a> {
    peer: &'a Peer,
    id: u64,
    is_over: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.peer.pending().remove(&self.id).is_some() {
            let reason = json!({"requestId": self.id, "reason": "nobody waits for it any more"});
            let _ = self.peer.notify("notifications/cancelled", reason);
        }
    }
}

/// The address of a directory.
fn file_uri(path: &Path) -> String {
    format!("file://{}", encoded(path.as_os_str().as_encoded_bytes()))
}
