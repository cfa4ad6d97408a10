//! The thread that encodes. A search hands it texts and waits no longer than it was told to; what is
//! not done by then goes on, and is there for a later search. Any number of searches may wait.
//!
//! It lives as long as the [`Worker`]. It sleeps while there is nothing to encode, and holds nothing
//! but the cache.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use concertina_store::{Vector, VectorCache};
use concertina_types::Digest;

use super::{Encoder, EncoderError, checked};

/// How long nothing is asked of an encoder that failed, so that one that is down costs one wait and
/// not one for each search.
const PAUSE: Duration = Duration::from_secs(30);
/// Texts in the first request. Then twice as many each time while that is quick, so that also a
/// program that ends after one search, before a slow encoder, gets further each time.
const FIRST_BATCH: usize = 4;
/// How many times the patience for one request a batch of documents may take.
const BATCH_PATIENCE: u32 = 10;
/// What a search waits beyond the encoder's own limit, so that it hears of it.
const GRACE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Worker {
    encoder: Arc<dyn Encoder>,
    cache: PathBuf,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The documents that are to have vectors.
    catalogue: HashSet<Digest>,
    known: HashMap<Digest, Vector>,
    wanted: VecDeque<(Digest, String)>,
    /// Documents that are being encoded.
    in_hand: Vec<(Digest, String)>,
    /// Documents whose vector in the cache is not to be believed.
    doubted: HashSet<Digest>,
    /// How often all vectors were taken back: what was begun before is not to be believed, either.
    renewals: u64,
    /// The requests that somebody waits for, by the number of whoever waits.
    requests: BTreeMap<u64, Request>,
    next_request: u64,
    failure: Option<(Instant, EncoderError)>,
    closed: bool,
}

/// How far a request has come.
#[derive(Debug)]
enum Request {
    Waiting { text: String, until: Instant },
    InHand,
    Answered(Result<Vector, EncoderError>),
}

/// What the worker does next.
enum Work {
    Requests { numbers: Vec<u64>, texts: Vec<String>, until: Instant },
    Documents(Batch),
}

/// Documents to encode.
struct Batch {
    documents: Vec<(Digest, String)>,
    /// Those of them that the cache is not asked for.
    doubted: HashSet<Digest>,
    renewals: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and tells everybody who waits.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    /// Waits until `done`, or until `deadline`.
    fn wait(
        &self,
        deadline: Instant,
        mut done: impl FnMut(&State) -> bool,
    ) -> MutexGuard<'_, State> {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(self.lock(), left, |state| !done(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl State {
    fn is_complete(&self) -> bool {
        self.wanted.is_empty() && self.in_hand.is_empty()
    }

    fn fail(&mut self, error: EncoderError) {
        self.failure = Some((Instant::now(), error));
    }

    /// Takes vectors of documents that are still there.
    fn learn(&mut self, vectors: impl IntoIterator<Item = (Digest, Vector)>) {
        for (key, vector) in vectors {
            if self.catalogue.contains(&key) {
                self.doubted.remove(&key);
                self.known.insert(key, vector);
            }
        }
    }

    /// What was in hand is so no more; what has no vector and is still to have one waits again.
    fn put_back(&mut self) {
        for (key, text) in std::mem::take(&mut self.in_hand) {
            if self.catalogue.contains(&key) && !self.known.contains_key(&key) {
                self.wanted.push_back((key, text));
            }
        }
    }

    fn answer(&mut self, number: u64, answer: Result<Vector, EncoderError>) {
        // Whoever has left by now took their request along.
        if let Some(request) = self.requests.get_mut(&number) {
            *request = Request::Answered(answer);
        }
    }

    /// Nobody works on anything any more.
    fn break_off(&mut self, error: &EncoderError) {
        self.put_back();
        for request in self.requests.values_mut() {
            if !matches!(request, Request::Answered(_)) {
                *request = Request::Answered(Err(error.clone()));
            }
        }
        self.fail(error.clone());
    }
}

impl Worker {
    /// A worker that does nothing until it is asked, and keeps vectors below `home`.
    pub(super) fn new(encoder: Arc<dyn Encoder>, home: &Path) -> Self {
        let (shared, thread) = (Arc::default(), Mutex::default());
        Self { encoder, cache: home.to_owned(), shared, thread }
    }

    pub(super) fn encoder(&self) -> &dyn Encoder {
        self.encoder.as_ref()
    }

    /// Has the vectors of `documents` made, and lets go of all others.
    pub(super) fn take(&self, documents: impl IntoIterator<Item = (Digest, String)>) {
        self.shared.change(|state| {
            let mut all = HashSet::new();
            let documents = documents.into_iter().filter(|(key, _)| all.insert(*key));
            let documents: Vec<_> = documents.collect();
            state.known.retain(|key, _| all.contains(key));
            state.doubted.retain(|key| all.contains(key));
            let in_hand: HashSet<Digest> = state.in_hand.iter().map(|(key, _)| *key).collect();
            let is_there = |key: &Digest| state.known.contains_key(key) || in_hand.contains(key);
            state.wanted = documents.into_iter().filter(|(key, _)| !is_there(key)).collect();
            state.catalogue = all;
        });
    }

    /// Takes back all vectors, also those in the cache until each is made anew. What is to have one
    /// has to be taken again.
    pub(super) fn renew(&self) {
        self.shared.change(|state| {
            state.known.clear();
            state.doubted.clone_from(&state.catalogue);
            state.renewals += 1;
        });
    }

    /// Waits until every document has a vector, or until `deadline`.
    pub(super) fn settle(&self, deadline: Instant) -> Result<(), EncoderError> {
        self.begin()?;
        let is_done = |state: &State| state.is_complete() || state.failure.is_some();
        match &self.shared.wait(deadline, is_done).failure {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The vector of a request.
    pub(super) fn encode(&self, text: &str, deadline: Instant) -> Result<Vector, EncoderError> {
        self.begin()?;
        let begun = Instant::now();
        let number = self.shared.change(|state| {
            let number = state.next_request;
            state.next_request += 1;
            let request = Request::Waiting { text: text.to_owned(), until: deadline };
            state.requests.insert(number, request);
            number
        });
        let is_done = |state: &State| match state.requests.get(&number) {
            Some(Request::Waiting { .. }) => state.failure.is_some(),
            Some(Request::InHand) => false,
            Some(Request::Answered(_)) | None => true,
        };
        let mut state = self.shared.wait(deadline + GRACE, is_done);
        match (state.requests.remove(&number), &state.failure) {
            (Some(Request::Answered(answer)), _) => return answer,
            (_, Some((_, error))) => return Err(error.clone()),
            (_, None) => {}
        }
        let waited = deadline.saturating_duration_since(begun);
        let error = EncoderError::TimedOut { encoder: self.encoder.identity(), waited };
        state.fail(error.clone());
        drop(state);
        self.shared.changed.notify_all();
        Err(error)
    }

    /// The vectors of `keys`, in their order; none for what has none.
    pub(super) fn vectors(&self, keys: &[Digest]) -> Vec<Option<Vector>> {
        let state = self.shared.lock();
        keys.iter().map(|key| state.known.get(key).cloned()).collect()
    }

    /// Makes sure that there is a thread, unless the encoder failed a moment ago.
    fn begin(&self) -> Result<(), EncoderError> {
        let mut state = self.shared.lock();
        if let Some((at, error)) = &state.failure {
            if at.elapsed() < PAUSE {
                return Err(error.clone());
            }
            state.failure = None;
            self.shared.changed.notify_all();
        }
        drop(state);
        let mut running = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        running.take_if(|thread| thread.is_finished());
        if running.is_none() {
            let (encoder, shared) = (Arc::clone(&self.encoder), Arc::clone(&self.shared));
            let cache = VectorCache::below(&self.cache);
            let thread = thread::Builder::new().name("encoder".to_owned());
            let thread = thread.spawn(move || run(encoder.as_ref(), &shared, cache));
            let no_thread =
                |why: std::io::Error| EncoderError::NoThread { reason: why.to_string() };
            *running = Some(thread.map_err(no_thread)?);
        }
        Ok(())
    }
}

impl Drop for Worker {
    /// Tells the thread to end. Nobody waits for it: it may be in the middle of a request.
    fn drop(&mut self) {
        self.shared.change(|state| state.closed = true);
    }
}

/// Says that the thread broke off, where it does.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let error = EncoderError::NoThread { reason: "it broke off".to_owned() };
            self.0.change(|state| state.break_off(&error));
        }
    }
}

fn run(encoder: &dyn Encoder, shared: &Shared, mut cache: VectorCache) {
    let _alarm = Alarm(shared);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = EncoderError::NoThread { reason: error.to_string() };
            return shared.change(|state| state.break_off(&error));
        }
    };
    let ask = |texts: &[String], within: Duration| {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = runtime.block_on(encoder.encode(texts, within))?;
        checked(vectors, texts.len()).map_err(|reason| {
            let encoder = encoder.identity();
            EncoderError::BadReply { encoder, reason }
        })
    };
    let mut size = FIRST_BATCH;
    while let Some(work) = next(shared, size, encoder.batch().max(1)) {
        match work {
            Work::Requests { numbers, texts, until } => {
                let answers = ask(&texts, until.saturating_duration_since(Instant::now()));
                shared.change(|state| match answers {
                    Ok(vectors) => {
                        let answers = numbers.into_iter().zip(vectors);
                        answers.for_each(|(number, vector)| state.answer(number, Ok(vector)));
                    }
                    Err(error) => {
                        for number in numbers {
                            state.answer(number, Err(error.clone()));
                        }
                        state.fail(error);
                    }
                });
            }
            Work::Documents(Batch { documents, doubted, renewals }) => {
                let begun = Instant::now();
                let believed = documents.iter().map(|(key, _)| *key);
                let believed: Vec<Digest> = believed.filter(|key| !doubted.contains(key)).collect();
                let cached = cache.read(&believed);
                let missing = documents.into_iter().filter(|(key, _)| !cached.contains_key(key));
                let (keys, texts): (Vec<Digest>, Vec<String>) = missing.unzip();
                let made = ask(&texts, encoder.patience() * BATCH_PATIENCE);
                let is_quick = begun.elapsed() < encoder.patience() / 4;
                size = if is_quick { size.saturating_mul(2) } else { size };
                let made: Result<Vec<(Digest, Vector)>, _> =
                    made.map(|vectors| keys.into_iter().zip(vectors).collect());
                if let Ok(made) = &made
                    && !made.is_empty()
                {
                    cache.write(made);
                }
                shared.change(|state| {
                    let is_believed = state.renewals == renewals;
                    match made {
                        Ok(made) if is_believed => state.learn(cached.into_iter().chain(made)),
                        Ok(_) => {}
                        Err(error) => {
                            state.learn(cached.into_iter().filter(|_| is_believed));
                            state.fail(error);
                        }
                    }
                    state.put_back();
                });
            }
        }
    }
}

/// What to do next, once there is something; none where nobody asks any more. Requests go first:
/// somebody waits for them. At most `size` documents are taken, and never more than `batch` texts.
fn next(shared: &Shared, size: usize, batch: usize) -> Option<Work> {
    let is_waiting = |request: &Request| matches!(request, Request::Waiting { .. });
    let idle = |state: &mut State| {
        let documents = state.failure.is_none() && !state.wanted.is_empty();
        let requests = state.failure.is_none() && state.requests.values().any(is_waiting);
        !state.closed && !requests && !documents
    };
    let state = shared.changed.wait_while(shared.lock(), idle);
    let mut state = state.unwrap_or_else(PoisonError::into_inner);
    if state.closed {
        return None;
    }
    let (mut numbers, mut texts, mut last) = (Vec::new(), Vec::new(), None);
    let waiting = state.requests.iter_mut().filter(|(_, request)| is_waiting(request));
    for (number, request) in waiting.take(batch) {
        if let Request::Waiting { text, until } = std::mem::replace(request, Request::InHand) {
            numbers.push(*number);
            texts.push(text);
            last = last.max(Some(until));
        }
    }
    if let Some(until) = last {
        return Some(Work::Requests { numbers, texts, until });
    }
    let size = size.min(batch).min(state.wanted.len());
    let documents: Vec<_> = state.wanted.drain(..size).collect();
    state.in_hand.clone_from(&documents);
    let doubted = documents.iter().map(|(key, _)| *key);
    let doubted = doubted.filter(|key| state.doubted.contains(key)).collect();
    Some(Work::Documents(Batch { documents, doubted, renewals: state.renewals }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use futures_util::future::BoxFuture;

    use super::*;

    /// Gives vectors of a length that can change, or refuses, and remembers what it was given.
    #[derive(Debug, Default)]
    struct Fickle {
        longer: AtomicUsize,
        refuses: AtomicBool,
        given: Mutex<Vec<String>>,
    }

    impl Encoder for Fickle {
        fn identity(&self) -> String {
            "fickle".to_owned()
        }
        fn batch(&self) -> usize {
            8
        }
        fn patience(&self) -> Duration {
            Duration::from_secs(20)
        }
        fn encode<'a>(
            &'a self,
            texts: &'a [String],
            _within: Duration,
        ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EncoderError>> {
            self.given.lock().unwrap().extend_from_slice(texts);
            let length = 1 + self.longer.load(Ordering::SeqCst);
            let refusal =
                || EncoderError::BadReply { encoder: self.identity(), reason: "no".into() };
            let refuses = self.refuses.load(Ordering::SeqCst);
            let vectors = texts.iter().map(|_| vec![1.0; length]).collect();
            let answer = if refuses { Err(refusal()) } else { Ok(vectors) };
            Box::pin(std::future::ready(answer))
        }
    }

    impl Fickle {
        fn given(&self) -> Vec<String> {
            std::mem::take(&mut *self.given.lock().unwrap())
        }
    }

    fn documents(names: &[&str]) -> Vec<(Digest, String)> {
        names.iter().map(|name| (Digest::of(name.as_bytes()), (*name).to_owned())).collect()
    }

    /// The lengths of the vectors of `names`, once there are all or none can be had.
    fn settled(worker: &Worker, names: &[&str]) -> Vec<Option<usize>> {
        worker.take(documents(names));
        let _ = worker.settle(Instant::now() + Duration::from_secs(20));
        let keys: Vec<Digest> = documents(names).into_iter().map(|(key, _)| key).collect();
        let vectors = worker.vectors(&keys).into_iter();
        vectors.map(|vector| vector.map(|vector| vector.len())).collect()
    }

    #[test]
    fn the_cache_is_believed_again_once_a_vector_was_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let encoder = Arc::new(Fickle::default());
        let worker = Worker::new(encoder.clone(), home.path());
        assert_eq!(settled(&worker, &["a", "b"]), [Some(1), Some(1)]);
        encoder.longer.store(1, Ordering::SeqCst);
        worker.renew();
        assert_eq!(settled(&worker, &["a", "b"]), [Some(2), Some(2)]);
        assert_eq!(encoder.given(), ["a", "b", "a", "b"]);
        assert_eq!(settled(&worker, &["a"]), [Some(2)]);
        assert_eq!(settled(&worker, &["a", "b"]), [Some(2), Some(2)]);
        assert_eq!(encoder.given(), [""; 0], "both are in the cache");
    }

    #[test]
    fn what_failed_waits_again_only_where_it_is_still_wanted() {
        let mut state = State {
            catalogue: documents(&["b", "c"]).into_iter().map(|(key, _)| key).collect(),
            in_hand: documents(&["a", "b"]),
            wanted: documents(&["c"]).into(),
            ..State::default()
        };
        state.put_back();
        let wanted: Vec<&str> = state.wanted.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!((wanted, state.in_hand.len()), (vec!["c", "b"], 0));
        state.learn(documents(&["a", "b"]).into_iter().map(|(key, _)| (key, [1.0].into())));
        assert_eq!(state.known.len(), 1, "nor is it learnt");
    }

    #[test]
    fn whoever_waits_hears_of_a_failure_at_once() {
        let home = tempfile::tempdir().unwrap();
        let encoder = Arc::new(Fickle::default());
        encoder.refuses.store(true, Ordering::SeqCst);
        let worker = Worker::new(encoder.clone(), home.path());
        let begun = Instant::now();
        assert_eq!(settled(&worker, &["a"]), [None]);
        let answer = worker.encode("what", begun + Duration::from_secs(20));
        assert_eq!(answer.unwrap_err().code(), "ENCODER_BAD_REPLY");
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert_eq!(encoder.given(), ["a"], "and it is left alone for a while");
    }

    #[test]
    fn whoever_waits_hears_that_nobody_works_any_more() {
        let waiting = Request::Waiting { text: String::new(), until: Instant::now() };
        let requests = [(0, Request::InHand), (1, waiting)].into();
        let mut state = State { requests, ..State::default() };
        state.break_off(&EncoderError::NoThread { reason: "it broke off".to_owned() });
        let is_answered = |request: &Request| matches!(request, Request::Answered(Err(_)));
        assert!(state.requests.values().all(is_answered));
        assert!(state.failure.is_some());
    }
}
