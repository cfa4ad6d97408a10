//! How near every document of a catalogue is to a request.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use concertina_core::catalog::Snapshot;
use concertina_core::catalog::search::{SearchDocument, SearchDocumentMeta, Similar};
use concertina_core::session::Settings;
use concertina_store::Vector;
use concertina_types::Digest;

use super::worker::Worker;
use super::{Encoder, EncoderError, Note};
use crate::find::showable_documents;

/// The text of a document, in characters: what sentence encoders read, 256 to 512 word pieces, is
/// about as much in English and less than that in Chinese. Servers refuse longer ones.
const TEXT_CHARS: usize = 500;
/// Documents that are encoded: twice the largest catalogue that was measured, half of the vectors that
/// are kept, and 40 MB at 1,024 numbers each.
const DOCUMENTS: usize = 10_000;
/// Requests whose vectors are remembered: people ask the same again with other filters.
const REQUESTS: usize = 64;

/// What an encoder makes of a catalogue. Any number of searches may use it at once.
#[derive(Debug)]
pub(crate) struct Meaning {
    worker: Worker,
    most: usize,
    latest: Mutex<Latest>,
}

/// The catalogue as it was last taken, and the last requests with their vectors.
#[derive(Debug, Default)]
struct Latest {
    snapshot: Option<Arc<Snapshot>>,
    documents: Arc<Documents>,
    requests: VecDeque<(String, Vector)>,
}

/// The documents of one state of the catalogue that have vectors or will.
#[derive(Debug, Default)]
struct Documents {
    metas: Vec<SearchDocumentMeta>,
    keys: Vec<Digest>,
    /// How many more there would be without the limit.
    left_out: usize,
}

/// The meaning of one state of the catalogue. It needs the workspace no more, so that whoever waits
/// for an encoder holds up nobody.
#[derive(Debug)]
pub(crate) struct CatalogueMeaning {
    meaning: Arc<Meaning>,
    documents: Arc<Documents>,
}

/// How near documents are to a request.
#[derive(Debug)]
pub(crate) struct Likenesses {
    documents: Arc<Documents>,
    similarities: Vec<f32>,
}

impl Likenesses {
    pub(crate) fn similar(&self) -> Vec<Similar<'_>> {
        let pairs = self.documents.metas.iter().zip(&self.similarities);
        pairs.map(|(document, &similarity)| Similar { document, similarity }).collect()
    }

    /// That not all of the catalogue has likenesses, where that is so.
    pub(crate) fn note(&self) -> Option<Note> {
        let Documents { metas, left_out, .. } = self.documents.as_ref();
        (*left_out > 0).then(|| Note::in_part(metas.len(), metas.len() + left_out))
    }
}

impl Meaning {
    /// What `encoder` makes of a catalogue, with vectors kept below `home`.
    pub(crate) fn new(encoder: Arc<dyn Encoder>, home: &Path) -> Self {
        Self { worker: Worker::new(encoder, home), most: DOCUMENTS, latest: Mutex::default() }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the catalogue as it is now, as far as `settings` let a model see it. Only texts that are
    /// new are encoded.
    pub(crate) fn take(
        self: &Arc<Self>,
        snapshot: &Arc<Snapshot>,
        settings: &Settings,
    ) -> CatalogueMeaning {
        let mut latest = self.latest();
        if latest.snapshot.as_ref().is_none_or(|known| !Arc::ptr_eq(known, snapshot)) {
            latest.documents = Arc::new(self.encode(snapshot, settings));
            latest.snapshot = Some(Arc::clone(snapshot));
        }
        let documents = Arc::clone(&latest.documents);
        CatalogueMeaning { meaning: Arc::clone(self), documents }
    }

    /// Has the next search take the catalogue anew: other things of it may be seen than before.
    pub(crate) fn forget_catalogue(&self) {
        self.latest().snapshot = None;
    }

    fn encode(&self, snapshot: &Snapshot, settings: &Settings) -> Documents {
        let identity = self.worker.encoder().identity();
        let mut documents = Documents::default();
        let mut texts = Vec::new();
        for document in showable_documents(snapshot, settings) {
            if documents.metas.len() == self.most {
                documents.left_out += 1;
                continue;
            }
            let text = text_of(&document);
            let text_key = key_of(&identity, &text);
            documents.keys.push(text_key);
            texts.push((text_key, text));
            let SearchDocument { key, kind, title, name, group, .. } = document;
            documents.metas.push(SearchDocumentMeta { key, kind, title, name, group });
        }
        self.worker.take(texts);
        documents
    }

    /// The vector of `request`, to be compared with those of `documents`.
    fn vector(
        &self,
        request: &str,
        documents: &Arc<Documents>,
        deadline: Instant,
    ) -> Result<Vector, EncoderError> {
        if let Some((_, vector)) = self.latest().requests.iter().find(|(known, _)| known == request)
        {
            return Ok(Arc::clone(vector));
        }
        let text: String = request.chars().take(TEXT_CHARS).collect();
        let vector = self.worker.encode(&text, deadline)?;
        let mut latest = self.latest();
        // What was asked before all vectors were taken back is not to be remembered after it.
        if Arc::ptr_eq(&latest.documents, documents) {
            latest.requests.push_back((request.to_owned(), Arc::clone(&vector)));
            if latest.requests.len() > REQUESTS {
                latest.requests.pop_front();
            }
        }
        Ok(vector)
    }

    /// Has the vectors of `documents` and of all requests made anew, unless they are already.
    fn renew(&self, documents: &Arc<Documents>) {
        let mut latest = self.latest();
        if Arc::ptr_eq(&latest.documents, documents) {
            self.worker.renew();
            *latest = Latest::default();
        }
    }
}

impl CatalogueMeaning {
    /// How near every document is to `request`, or why that is not known in time.
    pub(crate) fn near(&self, request: &str) -> Result<Likenesses, Note> {
        let Self { meaning, documents } = self;
        let deadline = Instant::now() + meaning.worker.encoder().patience();
        let failed = |error: EncoderError| Note::from(&error);
        meaning.worker.settle(deadline).map_err(failed)?;
        let vectors = meaning.worker.vectors(&documents.keys);
        let (all, encoded) = (vectors.len(), vectors.iter().flatten().count());
        if encoded < all {
            let why = format!("{encoded} of {all} documents are encoded so far");
            return Err(Note::words_alone("ENCODING", why));
        }
        let vector = meaning.vector(request, documents, deadline).map_err(failed)?;
        let similarities: Option<Vec<f32>> =
            vectors.iter().flatten().map(|document| cosine(document, &vector)).collect();
        let Some(similarities) = similarities else {
            // Another model answers to the same name.
            meaning.renew(documents);
            return Err(Note::words_alone(
                "ENCODER_CHANGED",
                "vectors of requests and documents are not of one kind; the documents are encoded again",
            ));
        };
        Ok(Likenesses { documents: Arc::clone(documents), similarities })
    }
}

/// What is encoded of a document: its name in words, what it is for, and requests that it serves.
fn text_of(document: &SearchDocument) -> String {
    let name = document.name.replace(['_', '-', '.', '/', ':'], " ");
    let mut text = format!("{name}. {}", document.description);
    for example in &document.examples {
        text.push('\n');
        text.push_str(example);
    }
    text.chars().take(TEXT_CHARS).collect()
}

fn key_of(identity: &str, text: &str) -> Digest {
    Digest::of_parts([identity.as_bytes(), &[0], text.as_bytes()])
}

/// The cosine of two vectors of length 1; none where they are not of one kind.
fn cosine(a: &[f32], b: &[f32]) -> Option<f32> {
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(a, b)| a * b).sum())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use concertina_core::catalog::{Danger, NeedsSkill, ToolEntry};
    use concertina_types::{Permissions, ToolName};
    use futures_util::future::BoxFuture;

    use super::*;

    /// Sees no difference, and answers at once.
    #[derive(Debug)]
    struct Blind;

    impl Encoder for Blind {
        fn identity(&self) -> String {
            "blind".to_owned()
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
            Box::pin(async { Ok(texts.iter().map(|_| vec![1.0]).collect()) })
        }
    }

    fn tool(name: &str) -> Arc<ToolEntry> {
        Arc::new(ToolEntry {
            name: ToolName::new(name).unwrap(),
            title: None,
            description: format!("Describes {name}."),
            parameters: serde_json::json!({"type": "object"}).into(),
            output: None,
            category: String::new(),
            danger: Danger::Safe,
            needs_skill: NeedsSkill::No,
            trusted: true,
            quarantined: None,
            runner: "exec".to_owned(),
            server: None,
            unstated: false,
            permissions: Permissions::default(),
            digest: Digest::of(name.as_bytes()),
        })
    }

    fn near(most: usize) -> (usize, Option<Note>) {
        let home = tempfile::tempdir().unwrap();
        let encoder = Arc::new(Blind) as Arc<dyn Encoder>;
        let meaning = Arc::new(Meaning { most, ..Meaning::new(encoder, home.path()) });
        let tools = ["a", "b", "c"].map(tool).to_vec();
        let snapshot = Arc::new(Snapshot { tools, ..Snapshot::default() });
        let near = meaning.take(&snapshot, &Settings::default()).near("what").unwrap();
        (near.similar().len(), near.note())
    }

    #[test]
    fn a_catalogue_beyond_the_limit_is_encoded_in_part_and_this_is_said() {
        assert_eq!(near(3), (3, None));
        let (encoded, note) = near(2);
        let note = note.unwrap();
        assert_eq!((encoded, note.code, note.is_words_alone()), (2, "ENCODED_IN_PART", false));
        assert!(note.text.contains("first 2 of 3 documents"), "{note}");
    }
}
