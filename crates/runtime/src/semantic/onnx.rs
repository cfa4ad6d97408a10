//! A sentence encoder in this process: an ONNX file, run by the crate `rten`, which is Rust alone.
//!
//! What it gives for a text is the mean of the vectors of its pieces, as the models of the
//! sentence-transformers family want (Reimers and Gurevych, "Sentence-BERT", EMNLP 2019).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, UNIX_EPOCH};

use concertina_format::config;
use futures_util::future::BoxFuture;
use rten::{Model, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use super::wordpiece::WordPiece;
use super::{Encoder, EncoderError};

/// A model, in bytes: five times the size of the small ones that a search has the time for.
const MODEL_BYTES: u64 = 512 * 1024 * 1024;
/// A vocabulary, in bytes: that of the multilingual BERT has 1 MB.
const VOCABULARY_BYTES: u64 = 8 * 1024 * 1024;
/// Pieces of one text that are read: what all-MiniLM-L6-v2 was trained with.
const PIECES: usize = 256;
/// Texts between two looks at what else there is to do.
const BATCH: usize = 16;
/// How long a search waits: a model of 90 MB is read in 0.3 s and takes some 10 ms for a text.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a model is given, beside the numbers of the pieces.
const MASK: &str = "attention_mask";
const KINDS: &str = "token_type_ids";

/// A sentence encoder in files. They are read when the first text is to be encoded.
///
/// ```
/// use concertina_format::config;
/// use concertina_runtime::semantic::SentenceEncoder;
///
/// let files = config::SentenceEncoder {
///     model: "/nowhere/model.onnx".into(),
///     vocabulary: "/nowhere/vocab.txt".into(),
///     lowercase: true,
/// };
/// assert_eq!(SentenceEncoder::new(&files).unwrap_err().code(), "ENCODER_UNUSABLE");
/// ```
#[derive(Debug)]
pub struct SentenceEncoder {
    model: PathBuf,
    vocabulary: PathBuf,
    lowercase: bool,
    identity: String,
    loaded: OnceLock<Result<Loaded, EncoderError>>,
}

struct Loaded {
    model: Model,
    pieces: WordPiece,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").finish_non_exhaustive()
    }
}

impl SentenceEncoder {
    /// The encoder in `files`, which must be there and within the limits.
    pub fn new(files: &config::SentenceEncoder) -> Result<Self, EncoderError> {
        let (model, vocabulary) = (PathBuf::from(&files.model), PathBuf::from(&files.vocabulary));
        // The digest of a model takes longer than a search. Whoever changes one changes its time.
        let stamps = [stamp(&model, MODEL_BYTES)?, stamp(&vocabulary, VOCABULARY_BYTES)?];
        let identity = format!("onnx {} {}", stamps.join(" "), files.lowercase);
        let loaded = OnceLock::new();
        Ok(Self { model, vocabulary, lowercase: files.lowercase, identity, loaded })
    }

    fn load(&self) -> Result<Loaded, EncoderError> {
        let read = |path: &Path| fs::read(path).map_err(|why| unusable(path, why));
        let vocabulary = String::from_utf8(read(&self.vocabulary)?)
            .map_err(|_| unusable(&self.vocabulary, "it is not UTF-8 text"))?;
        let pieces = WordPiece::new(&vocabulary, self.lowercase)
            .map_err(|why| unusable(&self.vocabulary, why))?;
        let model = Model::load(read(&self.model)?).map_err(|why| unusable(&self.model, why))?;
        Ok(Loaded { model, pieces })
    }

    fn vector(&self, loaded: &Loaded, text: &str) -> Result<Vec<f32>, EncoderError> {
        let bad = |reason: String| EncoderError::BadReply {
            encoder: self.model.display().to_string(),
            reason,
        };
        let pieces = loaded.pieces.encode(text, PIECES);
        let shape = [1, pieces.len()];
        let ones = NdTensor::from_data(shape, vec![1_i32; pieces.len()]);
        let zeros = NdTensor::from_data(shape, vec![0_i32; pieces.len()]);
        let pieces = NdTensor::from_data(shape, pieces);
        let given: Vec<(_, ValueOrView<'_>)> = loaded
            .model
            .input_ids()
            .iter()
            .map(|id| {
                let name =
                    loaded.model.node_info(*id).and_then(|node| node.name().map(str::to_owned));
                let tensor = match name.as_deref() {
                    Some(MASK) => &ones,
                    Some(KINDS) => &zeros,
                    _ => &pieces,
                };
                (*id, tensor.view().into())
            })
            .collect();
        let wanted = loaded.model.output_ids().first().copied();
        let wanted = wanted.ok_or_else(|| bad("the model has no output".to_owned()))?;
        let given = loaded.model.run(given, &[wanted], None).map_err(|why| bad(why.to_string()))?;
        let output =
            given.into_iter().next().ok_or_else(|| bad("there is no output".to_owned()))?;
        let output: NdTensor<f32, 3> = output
            .try_into()
            .map_err(|_| bad("its first output is not a vector for each piece".to_owned()))?;
        Ok(mean(&output.view()))
    }
}

/// The mean of the vectors of all pieces of the one text.
#[expect(clippy::cast_precision_loss, reason = "at most 256 pieces")]
fn mean(output: &NdTensorView<'_, f32, 3>) -> Vec<f32> {
    let length = output.size(2);
    let mut sum = vec![0.0; length];
    let all: Vec<f32> = output.to_vec();
    for vector in all.chunks_exact(length.max(1)) {
        for (sum, number) in sum.iter_mut().zip(vector) {
            *sum += number;
        }
    }
    let pieces = output.size(1).max(1) as f32;
    sum.into_iter().map(|sum| sum / pieces).collect()
}

fn unusable(path: &Path, reason: impl std::fmt::Display) -> EncoderError {
    EncoderError::Unusable { path: path.display().to_string(), reason: reason.to_string() }
}

/// What tells the file from another: where it is, how long it is, and when it changed.
fn stamp(path: &Path, limit: u64) -> Result<String, EncoderError> {
    let meta = fs::metadata(path).map_err(|why| unusable(path, why))?;
    if !meta.is_file() {
        return Err(unusable(path, "it is not a file"));
    }
    if meta.len() > limit {
        let reason = format!("it has {} bytes, the limit is {limit}", meta.len());
        return Err(unusable(path, reason));
    }
    let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Ok(format!("{} {} {}", path.display(), meta.len(), changed.unwrap_or_default().as_nanos()))
}

impl Encoder for SentenceEncoder {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn encode<'a>(
        &'a self,
        texts: &'a [String],
        within: Duration,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EncoderError>> {
        Box::pin(async move {
            let begun = Instant::now();
            let loaded = self.loaded.get_or_init(|| self.load()).as_ref().map_err(Clone::clone)?;
            let mut vectors = Vec::with_capacity(texts.len());
            for text in texts {
                if begun.elapsed() > within {
                    let encoder = self.model.display().to_string();
                    return Err(EncoderError::TimedOut { encoder, waited: within });
                }
                vectors.push(self.vector(loaded, text)?);
            }
            Ok(vectors)
        })
    }
}
