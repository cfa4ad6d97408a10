//! Finding by meaning: texts become vectors, and near vectors are near in meaning.
//!
//! Nothing of this happens unless `[search.embeddings]` or `[search.encoder]` is set. Then a search
//! whose words are in doubt asks the encoder, and the core fuses both rankings
//! ([`concertina_core::catalog::search::fuse`]). An encoder that is slow, down or wrong costs a
//! bounded time, and the answer is the one by words, with a [`Note`] that says why.
//!
//! - [`Encoder`]: the port. [`Endpoint`] asks a server; with the feature `onnx` there is one on this
//!   machine as well;
//! - `worker`: the thread that encodes, so that a search waits no longer than it was told to. What it
//!   made is kept below the state directory ([`concertina_store::VectorCache`]);
//! - `meaning`: the vectors of one catalogue, and how near each is to a request. What a model could
//!   never be shown has none, so that it is sent nowhere.

mod endpoint;
mod error;
mod meaning;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "onnx")]
mod wordpiece;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use concertina_format::config::{self, Search};
use concertina_store::Vector;
use futures_util::future::BoxFuture;

pub use endpoint::Endpoint;
pub use error::EncoderError;
pub(crate) use meaning::{CatalogueMeaning, Likenesses, Meaning};
#[cfg(feature = "onnx")]
pub use onnx::SentenceEncoder;

/// Numbers in one vector. The longest that is offered anywhere has 12,288.
const VECTOR_NUMBERS: usize = 16_384;

/// The code of the note that the catalogue is larger than what is encoded.
const ENCODED_IN_PART: &str = "ENCODED_IN_PART";

/// What turns texts into vectors.
///
/// ```
/// use std::time::Duration;
/// use concertina_runtime::semantic::{Encoder, EncoderError};
/// use futures_util::future::BoxFuture;
///
/// /// Counts letters: two texts are near where they are as long.
/// #[derive(Debug)]
/// struct Letters;
///
/// impl Encoder for Letters {
///     fn identity(&self) -> String {
///         "letters".into()
///     }
///     fn batch(&self) -> usize {
///         16
///     }
///     fn patience(&self) -> Duration {
///         Duration::from_millis(100)
///     }
///     fn encode<'a>(
///         &'a self,
///         texts: &'a [String],
///         _within: Duration,
///     ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EncoderError>> {
///         Box::pin(async { Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect()) })
///     }
/// }
///
/// assert_eq!(Letters.batch(), 16);
/// ```
pub trait Encoder: fmt::Debug + Send + Sync {
    /// What its vectors depend on besides the text, such as the name of a model: vectors of another
    /// identity are not compared with these.
    fn identity(&self) -> String;

    /// How many texts it is given at once.
    fn batch(&self) -> usize;

    /// How long a search waits for it, at most.
    fn patience(&self) -> Duration;

    /// A vector for each of `texts`, in their order and of one length. It gives up after `within`.
    /// It is polled on a thread of its own that runs a Tokio runtime, so it may compute.
    fn encode<'a>(
        &'a self,
        texts: &'a [String],
        within: Duration,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EncoderError>>;
}

/// What a search has to say besides its hits: why meaning had no say in it, or in part only.
///
/// ```
/// use concertina_runtime::semantic::Note;
/// let note = Note { code: "ENCODER_TIMEOUT", text: "it was silent".into() };
/// assert_eq!(note.to_string(), "it was silent [ENCODER_TIMEOUT]");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// A stable name.
    pub code: &'static str,
    /// The same in words.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.text, self.code)
    }
}

impl Note {
    /// That words alone ranked, and why.
    fn words_alone(code: &'static str, why: impl fmt::Display) -> Self {
        Self { code, text: format!("ranked by words alone: {why}") }
    }

    /// That meaning had a say, but not for all documents.
    fn in_part(encoded: usize, all: usize) -> Self {
        let text = format!(
            "the first {encoded} of {all} documents are ranked by meaning, too, and the others by words \
             alone"
        );
        Self { code: ENCODED_IN_PART, text }
    }

    /// Whether meaning had no say at all.
    pub fn is_words_alone(&self) -> bool {
        self.code != ENCODED_IN_PART
    }
}

impl From<&EncoderError> for Note {
    fn from(error: &EncoderError) -> Self {
        Self::words_alone(error.code(), error)
    }
}

/// The encoder that the settings name, or why it cannot be used; none where they name none. Nothing
/// is read or sent yet.
pub(crate) fn configured(
    search: &Search,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<Result<Arc<dyn Encoder>, EncoderError>> {
    // What stays on this machine goes before what leaves it.
    if let Some(encoder) = &search.encoder {
        return Some(local(encoder));
    }
    let embeddings = search.embeddings.as_ref()?;
    Some(Endpoint::new(embeddings, variable).map(|endpoint| Arc::new(endpoint) as Arc<dyn Encoder>))
}

#[cfg(feature = "onnx")]
fn local(files: &config::SentenceEncoder) -> Result<Arc<dyn Encoder>, EncoderError> {
    SentenceEncoder::new(files).map(|encoder| Arc::new(encoder) as Arc<dyn Encoder>)
}

#[cfg(not(feature = "onnx"))]
fn local(_: &config::SentenceEncoder) -> Result<Arc<dyn Encoder>, EncoderError> {
    Err(EncoderError::NotBuilt)
}

/// Vectors as a search can use them: one for each text, of one length, finite, and of length 1 each,
/// so that the cosine of two is the sum of their products.
fn checked(vectors: Vec<Vec<f32>>, texts: usize) -> Result<Vec<Vector>, String> {
    if vectors.len() != texts {
        return Err(format!("it has {} vectors for {texts} texts", vectors.len()));
    }
    let length = vectors.first().map_or(0, Vec::len);
    if texts > 0 && !(1..=VECTOR_NUMBERS).contains(&length) {
        return Err(format!("a vector has {length} numbers; from 1 to {VECTOR_NUMBERS} are read"));
    }
    if let Some(other) = vectors.iter().find(|vector| vector.len() != length) {
        return Err(format!("one vector has {length} numbers and another {}", other.len()));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err("a vector holds what is no number".to_owned());
    }
    Ok(vectors.into_iter().map(unit).collect())
}

fn unit(vector: Vec<f32>) -> Vector {
    // In 64 bits no square overflows.
    let length = vector.iter().map(|one| f64::from(*one) * f64::from(*one)).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "a part of a length of 1")]
    let scaled = |one: f32| if length > 0.0 { (f64::from(one) / length) as f32 } else { 0.0 };
    vector.into_iter().map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_checked_and_made_unit() {
        assert_eq!(checked(vec![vec![3.0, 4.0]], 1).unwrap()[0].as_ref(), [0.6, 0.8]);
        assert_eq!(checked(vec![vec![0.0, 0.0]], 1).unwrap()[0].as_ref(), [0.0, 0.0]);
        assert_eq!(checked(vec![vec![f32::MAX, 0.0]], 1).unwrap()[0].as_ref(), [1.0, 0.0]);
        assert_eq!(checked(Vec::new(), 0).unwrap(), Vec::<Vector>::new());
        for (vectors, texts) in [
            (vec![vec![1.0]], 2),
            (vec![vec![1.0], vec![1.0, 2.0]], 2),
            (vec![vec![]], 1),
            (vec![vec![f32::NAN]], 1),
            (vec![vec![0.0; VECTOR_NUMBERS + 1]], 1),
        ] {
            assert!(checked(vectors, texts).is_err());
        }
    }
}
