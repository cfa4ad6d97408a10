//! Why a text has no vector.

use std::time::Duration;

/// Why an encoder gave no vectors. A search goes on without it.
///
/// ```
/// use concertina_runtime::semantic::EncoderError;
/// let error = EncoderError::KeyMissing { variable: "EMBEDDINGS_KEY".into() };
/// assert_eq!(error.code(), "ENCODER_KEY_MISSING");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// The address is not one.
    #[error(
        "`search.embeddings.url` cannot be used: {reason}; write one such as http://localhost:8080"
    )]
    AddressInvalid {
        /// What is wrong with it.
        reason: String,
    },
    /// There is no key where one was named.
    #[error(
        "{variable} is not set; set it to the key, or remove `key_env` in `[search.embeddings]`"
    )]
    KeyMissing {
        /// The environment variable.
        variable: String,
    },
    /// The key holds characters that cannot be sent.
    #[error(
        "the key in {variable} holds characters that no key has; set it again without quotes or line breaks"
    )]
    KeyInvalid {
        /// The environment variable.
        variable: String,
    },
    /// Nothing answers.
    #[error("cannot reach {endpoint}: {reason}; check that a server runs there")]
    Unreachable {
        /// Host and port.
        endpoint: String,
        /// What the system said.
        reason: String,
    },
    /// It took too long.
    #[error(
        "{encoder} gave no vector within {waited:?}; use a quicker model, or raise `timeout_ms`"
    )]
    TimedOut {
        /// Host and port, or the file.
        encoder: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The server does not want to.
    #[error("{endpoint} refused ({status}): {message}; check `model` and the key")]
    Refused {
        /// Host and port.
        endpoint: String,
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// What came back are no vectors for what was sent.
    #[error("{encoder} gave no usable vectors: {reason}; check that it is an encoder")]
    BadReply {
        /// Host and port, or the file.
        encoder: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The files of an encoder cannot be used.
    #[error("the encoder in {path} cannot be used: {reason}")]
    Unusable {
        /// Which file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// This program was built without an encoder of its own.
    #[error(
        "`[search.encoder]` needs a program that was built with `--features onnx`; \
         build it so, or name a server in `[search.embeddings]`"
    )]
    NotBuilt,
    /// The thread that encodes cannot be started, or ended.
    #[error("no thread to encode with: {reason}")]
    NoThread {
        /// What the system said.
        reason: String,
    },
}

impl EncoderError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AddressInvalid { .. } => "ENCODER_URL_INVALID",
            Self::KeyMissing { .. } => "ENCODER_KEY_MISSING",
            Self::KeyInvalid { .. } => "ENCODER_KEY_INVALID",
            Self::Unreachable { .. } => "ENCODER_UNREACHABLE",
            Self::TimedOut { .. } => "ENCODER_TIMEOUT",
            Self::Refused { .. } => "ENCODER_REFUSED",
            Self::BadReply { .. } => "ENCODER_BAD_REPLY",
            Self::Unusable { .. } => "ENCODER_UNUSABLE",
            Self::NotBuilt => "ENCODER_NOT_BUILT",
            Self::NoThread { .. } => "ENCODER_NO_THREAD",
        }
    }
}
