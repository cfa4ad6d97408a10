//! How near every document of a catalogue is to a request.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use concertina_core::catalog::Snapshot;
use concertina_core::catalog::search::{SearchDocument, SearchDocumentMeta, Similar};
use concertina_store::Vector;
use concertina_types::Digest;

use super::worker::Worker;
use super::{Encoder, EncoderError, Note};
use crate::find::listed_documents;

/// The text of a document, in characters: what sentence encoders read, 256 to 512 word pieces, is
/// about as much in English and less than that in Chinese. Servers refuse longer ones.
const TEXT_CHARS: usize = 500;
/// Requests whose vectors are remembered: people ask the same again with other filters.
const REQUESTS: usize = 64;

/// The vectors of one catalogue.
#[derive(Debug)]
pub(crate) struct Meaning {
    worker: Worker,
    snapshot: Option<Arc<Snapshot>>,
    documents: Arc<[SearchDocumentMeta]>,
    keys: Vec<Digest>,
    /// The last requests with their vectors.
    requests: VecDeque<(String, Vector)>,
}

/// How near documents are to a request.
#[derive(Debug)]
pub(crate) struct Likenesses {
    documents: Arc<[SearchDocumentMeta]>,
    similarities: Vec<f32>,
}

impl Likenesses {
    pub(crate) fn similar(&self) -> Vec<Similar<'_>> {
        let pairs = self.documents.iter().zip(&self.similarities);
        pairs.map(|(document, &similarity)| Similar { document, similarity }).collect()
    }
}

impl Meaning {
    /// What `encoder` makes of a catalogue, with vectors kept below `home`.
    pub(crate) fn new(encoder: Arc<dyn Encoder>, home: &Path) -> Self {
        Self {
            worker: Worker::new(encoder, home),
            snapshot: None,
            documents: Arc::default(),
            keys: Vec::new(),
            requests: VecDeque::new(),
        }
    }

    /// Takes the catalogue as it is now. Only texts that are new are encoded.
    pub(crate) fn take(&mut self, snapshot: &Arc<Snapshot>) {
        if self.snapshot.as_ref().is_some_and(|known| Arc::ptr_eq(known, snapshot)) {
            return;
        }
        let identity = self.worker.encoder().identity();
        let mut documents = Vec::new();
        let mut texts = Vec::new();
        for document in listed_documents(snapshot) {
            let text = text_of(&document);
            texts.push((key_of(&identity, &text), text));
            let SearchDocument { key, kind, title, name, group, .. } = document;
            documents.push(SearchDocumentMeta { key, kind, title, name, group });
        }
        self.documents = documents.into();
        self.keys = texts.iter().map(|(key, _)| *key).collect();
        self.worker.take(texts);
        self.snapshot = Some(Arc::clone(snapshot));
    }

    /// How near every document is to `request`, or why that is not known in time.
    pub(crate) fn near(&mut self, request: &str) -> Result<Likenesses, Note> {
        let deadline = Instant::now() + self.worker.encoder().patience();
        let failed = |error: EncoderError| Note::from(&error);
        let missing = self.worker.settle(deadline).map_err(failed)?;
        if missing > 0 {
            let all = self.keys.len();
            let why =
                format!("{} of {all} documents are encoded so far", all.saturating_sub(missing));
            return Err(Note::words_alone("ENCODING", why));
        }
        let vector = self.vector(request, deadline).map_err(failed)?;
        let similarities: Option<Vec<f32>> = self
            .worker
            .vectors(&self.keys)
            .iter()
            .map(|document| document.as_deref().and_then(|document| cosine(document, &vector)))
            .collect();
        let Some(similarities) = similarities else {
            // Another model answers to the same name.
            self.worker.renew();
            (self.snapshot, self.requests) = (None, VecDeque::new());
            return Err(Note::words_alone(
                "ENCODER_CHANGED",
                "vectors of requests and documents are not of one kind; the documents are encoded again",
            ));
        };
        Ok(Likenesses { documents: Arc::clone(&self.documents), similarities })
    }

    fn vector(&mut self, request: &str, deadline: Instant) -> Result<Vector, EncoderError> {
        if let Some((_, vector)) = self.requests.iter().find(|(known, _)| known == request) {
            return Ok(Arc::clone(vector));
        }
        let text: String = request.chars().take(TEXT_CHARS).collect();
        let vector = self.worker.encode(&text, deadline)?;
        self.requests.push_back((request.to_owned(), Arc::clone(&vector)));
        if self.requests.len() > REQUESTS {
            self.requests.pop_front();
        }
        Ok(vector)
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
