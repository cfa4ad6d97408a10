//! Patterns over references, such as `tool:sql/*` and `skill:deploy`.

use std::cmp::Ordering;
use std::fmt;

use concertina_types::limits;
use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use super::scope::Part;

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no pattern: {reason}")]
pub struct PatternError {
    text: String,
    reason: String,
}

impl PatternError {
    pub(super) fn new(text: &str, reason: impl Into<String>) -> Self {
        Self { text: text.chars().take(100).collect(), reason: reason.into() }
    }
}

/// Whether `c` may stand for something else in a pattern.
pub(super) fn is_special(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\')
}

/// A pattern in which `*` stands for any part of a name, `/` included, `?` for one character,
/// `[ab]` for one of some characters and `{x,y}` for one of some pieces.
///
/// ```
/// use concertina_core::policy::Pattern;
/// let pattern = Pattern::new("tool:sql/*")?;
/// assert!(pattern.matches("tool:sql/query"));
/// assert!(!pattern.matches("tool:shell"));
/// # Ok::<(), concertina_core::policy::PatternError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl Pattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let error = |reason: String| PatternError::new(text, reason);
        if text.trim().is_empty() {
            return Err(error("it is empty".into()));
        }
        // What it is compared with is no longer, and what it compiles to stays small.
        if text.len() > limits::REF_BYTES {
            return Err(error(format!("it is longer than {} bytes", limits::REF_BYTES)));
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(false)
            .build()
            .map_err(|found| error(found.kind().to_string()))?;
        Ok(Self { text: text.to_owned(), matcher: glob.compile_matcher() })
    }

    /// Whether `name` is covered.
    pub fn matches(&self, name: &str) -> bool {
        // A name is always covered by itself, also where it holds a special character.
        self.text == name || self.matcher.is_match(name)
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What every name that is covered begins with.
    fn prefix(&self) -> &str {
        self.text.split(is_special).next().unwrap_or_default()
    }

    /// Whether it is a beginning and `*`.
    fn is_prefix(&self) -> bool {
        self.text.strip_suffix('*') == Some(self.prefix())
    }
}

impl Part for Pattern {
    type Asked = str;

    fn covers(&self, asked: &str) -> bool {
        self.matches(asked)
    }

    fn includes(&self, other: &Self) -> bool {
        if self.is_prefix() {
            return other.prefix().starts_with(self.prefix());
        }
        self == other || (!other.text.contains(is_special) && self.matches(&other.text))
    }

    fn is_everything(&self) -> bool {
        self.text == "*"
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Serialize for Pattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
