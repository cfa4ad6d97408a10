//! What can go wrong with a model, each with what to do about it.

/// A model that could not be connected, or did not answer.
///
/// Texts that come from a provider are bounded, stripped of control characters, and never hold
/// the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The spec names no kind of model.
    #[error(
        "`{spec}` names no model: {reason}; write scripted:FILE, openai:NAME or anthropic:NAME"
    )]
    Unknown {
        /// The spec as written.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The public endpoint needs a key and there is none.
    #[error(
        "{model} needs a key and {variable} is not set; \
         set {variable}, or name a local server with --base-url"
    )]
    KeyMissing {
        /// The model as written.
        model: String,
        /// The environment variable to set.
        variable: &'static str,
    },
    /// The key holds characters that cannot be sent.
    #[error(
        "the key in {variable} holds characters that no key has; \
         set {variable} again without quotes or line breaks"
    )]
    KeyInvalid {
        /// The environment variable to set.
        variable: &'static str,
    },
    /// The base URL is not one.
    #[error(
        "`{url}` cannot be a base URL: {reason}; \
         give one such as http://127.0.0.1:8080/v1 with --base-url"
    )]
    BaseUrlInvalid {
        /// The URL, without a password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The script cannot be read.
    #[error("cannot read the script {path}: {reason}; check the path after `scripted:`")]
    ScriptUnreadable {
        /// Which file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The script is not in the format of [`super::script`].
    #[error("{path}:{line}:{column}: {reason}; correct the script there")]
    ScriptInvalid {
        /// Which file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// No dialogue of the script is for this task.
    #[error(
        "no dialogue in {path} is for the task \"{task}\"; \
         add one whose `when` words all occur in it, or one with an empty `when`"
    )]
    ScriptNoDialogue {
        /// Which file.
        path: String,
        /// How the task begins.
        task: String,
    },
    /// The dialogue has no further turn.
    #[error(
        "dialogue {dialogue} in {path} has {turns} turns and turn {turn} was asked for; \
         add it, or end the turn before without calls"
    )]
    ScriptExhausted {
        /// Which file.
        path: String,
        /// Which dialogue, from 1.
        dialogue: usize,
        /// How many turns it has.
        turns: usize,
        /// The turn that was asked for, from 1.
        turn: usize,
    },
    /// A turn speaks of a result that is not there.
    #[error(
        "turn {turn} of dialogue {dialogue} in {path} says {value}, but {reason}; \
         let the turn before make a call that gives it"
    )]
    ScriptValueMissing {
        /// Which file.
        path: String,
        /// Which dialogue, from 1.
        dialogue: usize,
        /// Which turn, from 1.
        turn: usize,
        /// The value as written.
        value: String,
        /// Why there is none.
        reason: String,
    },
    /// Nothing answers at the endpoint.
    #[error(
        "cannot reach {endpoint} for {model}: {reason}; \
         check that a server runs there, that --base-url is right and that a proxy lets it through"
    )]
    Unreachable {
        /// The model as written.
        model: String,
        /// Host and port.
        endpoint: String,
        /// What the system said.
        reason: String,
    },
    /// The provider asked to slow down, every time.
    #[error(
        "{endpoint} limits the rate for {model} and did so {attempts} times: {message}; \
         wait and resume, or use another model"
    )]
    RateLimited {
        /// The model as written.
        model: String,
        /// Host and port.
        endpoint: String,
        /// How often it was asked.
        attempts: u32,
        /// The provider's words.
        message: String,
    },
    /// The provider will not answer this request, however often it is asked.
    #[error(
        "{endpoint} refused the request for {model} ({status}): {message}; \
         check the name of the model, the key and --base-url"
    )]
    Refused {
        /// The model as written.
        model: String,
        /// Host and port.
        endpoint: String,
        /// The HTTP status, or the kind of error where it came inside a reply.
        status: String,
        /// The provider's words.
        message: String,
    },
    /// The provider failed, every time.
    #[error(
        "{endpoint} failed {attempts} times for {model} ({status}): {message}; \
         wait and resume, or use another model"
    )]
    Unavailable {
        /// The model as written.
        model: String,
        /// Host and port.
        endpoint: String,
        /// How often it was asked.
        attempts: u32,
        /// The HTTP status, or the kind of error where it came inside a reply.
        status: String,
        /// The provider's words.
        message: String,
    },
    /// What came back is not a reply in the provider's format, or only the beginning of one.
    #[error(
        "{endpoint} gave no usable reply for {model}: {reason}; \
         check that --base-url names the right kind of server, then resume"
    )]
    BadReply {
        /// The model as written.
        model: String,
        /// Host and port.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The reply did not come, or stopped coming.
    #[error("{endpoint} was silent too long for {model}: {reason}; resume, or use a quicker model")]
    TimedOut {
        /// The model as written.
        model: String,
        /// Host and port.
        endpoint: String,
        /// How long was waited, and for what.
        reason: String,
    },
}

impl ModelError {
    /// The stable name of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "MODEL_UNKNOWN",
            Self::KeyMissing { .. } => "MODEL_KEY_MISSING",
            Self::KeyInvalid { .. } => "MODEL_KEY_INVALID",
            Self::BaseUrlInvalid { .. } => "MODEL_BASE_URL_INVALID",
            Self::ScriptUnreadable { .. } => "SCRIPT_UNREADABLE",
            Self::ScriptInvalid { .. } => "SCRIPT_INVALID",
            Self::ScriptNoDialogue { .. } => "SCRIPT_NO_DIALOGUE",
            Self::ScriptExhausted { .. } => "SCRIPT_EXHAUSTED",
            Self::ScriptValueMissing { .. } => "SCRIPT_VALUE_MISSING",
            Self::Unreachable { .. } => "MODEL_UNREACHABLE",
            Self::RateLimited { .. } => "MODEL_RATE_LIMITED",
            Self::Refused { .. } => "MODEL_REFUSED",
            Self::Unavailable { .. } => "MODEL_UNAVAILABLE",
            Self::BadReply { .. } => "MODEL_BAD_REPLY",
            Self::TimedOut { .. } => "MODEL_TIMEOUT",
        }
    }
}
