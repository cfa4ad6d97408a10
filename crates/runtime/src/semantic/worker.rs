//! The thread that encodes. A search hands it texts and waits no longer than it was told to; what is
//! not done by then goes on, and is there for a later search.
//!
//! It lives as long as the [`Worker`]. It sleeps while there is nothing to encode, and holds nothing
//! but the cache.

use std::collections::{HashMap, HashSet, VecDeque};
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
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<Digest, Vector>,
    wanted: VecDeque<(Digest, String)>,
    /// Documents that are being encoded.
    in_hand: Vec<(Digest, String)>,
    /// A request that waits for its vector, and what became of the last one.
    asked: Option<(String, Duration)>,
    answered: Option<(String, Result<Vector, EncoderError>)>,
    failure: Option<(Instant, EncoderError)>,
    /// Whether what the cache knows is not to be believed.
    renew: bool,
    closed: bool,
}

/// What the worker does next.
enum Work {
    Request(String, Duration),
    Documents { batch: Vec<(Digest, String)>, renew: bool },
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
}

impl Worker {
    /// A worker that does nothing until it is asked, and keeps vectors below `home`.
    pub(super) fn new(encoder: Arc<dyn Encoder>, home: &Path) -> Self {
        Self { encoder, cache: home.to_owned(), shared: Arc::default(), thread: None }
    }

    pub(super) fn encoder(&self) -> &dyn Encoder {
        self.encoder.as_ref()
    }

    /// Has the vectors of `documents` made, and lets go of all others.
    pub(super) fn take(&self, documents: impl IntoIterator<Item = (Digest, String)>) {
        let mut state = self.shared.lock();
        let mut all = HashSet::new();
        let documents = documents.into_iter().filter(|(key, _)| all.insert(*key));
        let wanted: Vec<_> = documents.collect();
        state.known.retain(|key, _| all.contains(key));
        let is_there = |key: &Digest| {
            state.known.contains_key(key) || state.in_hand.iter().any(|(in_hand, _)| in_hand == key)
        };
        let missing: VecDeque<_> = wanted.into_iter().filter(|(key, _)| !is_there(key)).collect();
        state.wanted = missing;
        self.shared.changed.notify_all();
    }

    /// Takes what is known for not being so, in the cache either.
    pub(super) fn renew(&self) {
        let mut state = self.shared.lock();
        state.known.clear();
        state.renew = true;
    }

    /// How many documents still have no vector, once there is none or `deadline` is reached.
    pub(super) fn settle(&mut self, deadline: Instant) -> Result<usize, EncoderError> {
        self.begin()?;
        let state =
            self.shared.wait(deadline, |state| state.is_complete() || state.failure.is_some());
        match &state.failure {
            Some((_, error)) => Err(error.clone()),
            None => Ok(state.wanted.len() + state.in_hand.len()),
        }
    }

    /// The vector of a request.
    pub(super) fn encode(&mut self, text: &str, deadline: Instant) -> Result<Vector, EncoderError> {
        self.begin()?;
        let within = deadline.saturating_duration_since(Instant::now());
        {
            let mut state = self.shared.lock();
            state.asked = Some((text.to_owned(), within));
            state.answered = None;
            self.shared.changed.notify_all();
        }
        let is_answer = |state: &State| state.answered.as_ref().is_some_and(|(of, _)| of == text);
        let mut state = self.shared.wait(deadline + GRACE, is_answer);
        state.asked = None;
        if let Some((_, answer)) = state.answered.take_if(|(of, _)| of == text) {
            return answer;
        }
        let error = EncoderError::TimedOut { encoder: self.encoder.identity(), waited: within };
        state.fail(error.clone());
        Err(error)
    }

    /// The vectors of `keys`, in their order; none for what has none.
    pub(super) fn vectors(&self, keys: &[Digest]) -> Vec<Option<Vector>> {
        let state = self.shared.lock();
        keys.iter().map(|key| state.known.get(key).cloned()).collect()
    }

    /// Makes sure that there is a thread, unless the encoder failed a moment ago.
    fn begin(&mut self) -> Result<(), EncoderError> {
        let mut state = self.shared.lock();
        if let Some((at, error)) = &state.failure {
            if at.elapsed() < PAUSE {
                return Err(error.clone());
            }
            state.failure = None;
            self.shared.changed.notify_all();
        }
        drop(state);
        self.thread.take_if(|thread| thread.is_finished());
        if self.thread.is_none() {
            let (encoder, shared) = (Arc::clone(&self.encoder), Arc::clone(&self.shared));
            let cache = VectorCache::below(&self.cache);
            let thread = thread::Builder::new().name("encoder".to_owned());
            let thread = thread.spawn(move || run(encoder.as_ref(), &shared, cache));
            let no_thread =
                |why: std::io::Error| EncoderError::NoThread { reason: why.to_string() };
            self.thread = Some(thread.map_err(no_thread)?);
        }
        Ok(())
    }
}

impl Drop for Worker {
    /// Tells the thread to end. Nobody waits for it: it may be in the middle of a request.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

/// Says that the thread broke off, where it does.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = self.0.lock();
            let in_hand = std::mem::take(&mut state.in_hand);
            state.wanted.extend(in_hand);
            state.fail(EncoderError::NoThread { reason: "it broke off".to_owned() });
            drop(state);
            self.0.changed.notify_all();
        }
    }
}

fn run(encoder: &dyn Encoder, shared: &Shared, mut cache: VectorCache) {
    let _alarm = Alarm(shared);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return shared.lock().fail(EncoderError::NoThread { reason: error.to_string() });
        }
    };
    let ask = |texts: &[String], within: Duration| {
        let vectors = runtime.block_on(encoder.encode(texts, within))?;
        checked(vectors, texts.len()).map_err(|reason| {
            let encoder = encoder.identity();
            EncoderError::BadReply { encoder, reason }
        })
    };
    let mut size = FIRST_BATCH;
    while let Some(work) = next(shared, size.min(encoder.batch()).max(1)) {
        match work {
            Work::Request(text, within) => {
                let answer = ask(std::slice::from_ref(&text), within).and_then(|mut vectors| {
                    vectors.pop().ok_or_else(|| EncoderError::BadReply {
                        encoder: encoder.identity(),
                        reason: "it has no vector".to_owned(),
                    })
                });
                let mut state = shared.lock();
                if let Err(error) = &answer {
                    state.fail(error.clone());
                }
                state.answered = Some((text, answer));
            }
            Work::Documents { batch, renew } => {
                let begun = Instant::now();
                let keys: Vec<Digest> = batch.iter().map(|(key, _)| *key).collect();
                let cached = if renew { HashMap::new() } else { cache.read(&keys) };
                let missing: Vec<_> =
                    batch.into_iter().filter(|(key, _)| !cached.contains_key(key)).collect();
                let (keys, texts): (Vec<Digest>, Vec<String>) = missing.iter().cloned().unzip();
                let made = if texts.is_empty() {
                    Ok(Vec::new())
                } else {
                    ask(&texts, encoder.patience() * BATCH_PATIENCE)
                };
                let is_quick = begun.elapsed() < encoder.patience() / 4;
                size = if is_quick { size.saturating_mul(2) } else { size };
                let mut made: Result<Vec<(Digest, Vector)>, _> =
                    made.map(|vectors| keys.into_iter().zip(vectors).collect());
                if let Ok(made) = &mut made
                    && !made.is_empty()
                {
                    cache.write(made);
                }
                let mut state = shared.lock();
                state.in_hand.clear();
                state.known.extend(cached);
                match made {
                    Ok(made) => state.known.extend(made),
                    Err(error) => {
                        state.fail(error);
                        state.wanted.extend(missing);
                    }
                }
            }
        }
        shared.changed.notify_all();
    }
}

/// What to do next, once there is something; none where nobody asks any more. A request goes first:
/// somebody waits for it.
fn next(shared: &Shared, size: usize) -> Option<Work> {
    let idle = |state: &mut State| {
        let documents = state.failure.is_none() && !state.wanted.is_empty();
        !state.closed && state.asked.is_none() && !documents
    };
    let state = shared.changed.wait_while(shared.lock(), idle);
    let mut state = state.unwrap_or_else(PoisonError::into_inner);
    if state.closed {
        return None;
    }
    if let Some((text, within)) = state.asked.take() {
        return Some(Work::Request(text, within));
    }
    let size = size.min(state.wanted.len());
    let batch: Vec<_> = state.wanted.drain(..size).collect();
    state.in_hand.clone_from(&batch);
    Some(Work::Documents { batch, renew: state.renew })
}
