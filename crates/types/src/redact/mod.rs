//! Secrets leave a text before it is hashed, stored or shown.
//!
//! A [`Redactor`] replaces what looks like a secret (`shapes.rs`, `named.rs`, `literal.rs`) and values that
//! it was told are secret by `[redacted:KIND:DIGEST]`. The digest is keyed: who holds the key can check whether two
//! marks, or a mark and a value, are the same secret; nobody can find the value by trying.

mod fact;
mod hmac;
mod literal;
mod named;
mod schema;
mod shapes;
mod trace;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

pub use fact::{Moved, UnfitFact};
pub use hmac::hmac_sha256;
pub use named::{is_secret_name, is_secret_variable};
use shapes::{MARK, MARK_DIGITS};
pub use trace::Trace;
use trace::Traces;

use crate::Digest;

/// A value shorter than this, in bytes, is not looked for: it would be found in half of all words.
pub const KNOWN_VALUE_BYTES: usize = 4;

/// A known value shorter than this, in bytes, counts only where it stands as a word of its own.
const WORD_BYTES: usize = 12;

/// Longer than any mark, in bytes.
const MARK_BYTES: usize = 64;

/// Finds secrets in texts and replaces them.
///
/// ```
/// use concertina_types::Redactor;
/// let mut redactor = Redactor::new([7; 32]);
/// let text = "curl -H 'Authorization: Bearer 4f9a8b7c6d5e4f3a'";
/// let redacted = redactor.redact(text);
/// assert!(redacted.starts_with("curl -H 'Authorization: Bearer [redacted:authorization:"));
/// assert_eq!(redactor.redact(&redacted), redacted, "once is enough");
///
/// redactor.learn("declared", "open sesame");
/// assert!(redactor.redact("say open sesame").starts_with("say [redacted:declared:"));
/// assert_eq!(redactor.redact("the sha256 of abc is ba7816bf"), "the sha256 of abc is ba7816bf");
/// ```
#[derive(Clone)]
pub struct Redactor {
    key: [u8; 32],
    /// Values that are secret whatever they look like, longest first, each with its kind.
    known: Vec<(String, &'static str)>,
    /// What is kept of those that another process was told of.
    traces: Traces,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the key nor the values are for anybody's eyes.
        f.debug_struct("Redactor").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

/// A secret in a text: where it is, and of which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    start: usize,
    end: usize,
    kind: &'static str,
}

impl Redactor {
    /// Without a key of its own: for looking at what is never kept.
    pub const UNKEYED: &'static Self = &Self::new([0; 32]);

    /// Knows what secrets look like, and marks them by `key`.
    pub const fn new(key: [u8; 32]) -> Self {
        Self { key, known: Vec::new(), traces: Traces::new() }
    }

    /// The same, marking by another key.
    #[must_use]
    pub fn keyed(self, key: [u8; 32]) -> Self {
        Self { key, ..self }
    }

    /// Takes note that `value` is a secret of `kind`, whatever it looks like. Values shorter than
    /// [`KNOWN_VALUE_BYTES`] are not.
    pub fn learn(&mut self, kind: &'static str, value: &str) {
        let value = value.trim();
        if value.len() < KNOWN_VALUE_BYTES {
            return;
        }
        // Inside of JSON and of addresses the same value is spelt otherwise.
        let json = Value::String(value.to_owned()).to_string();
        let json = json.trim_matches('"').to_owned();
        for spelling in [value.to_owned(), json, percent_encoded(value)] {
            if !self.known.iter().any(|(known, _)| *known == spelling) {
                self.known.push((spelling, kind));
            }
        }
        self.known.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    }

    /// What stands for the secret `value`.
    pub fn mark(&self, kind: &str, value: &str) -> String {
        let digest = Digest::from_bytes(hmac_sha256(&self.key, value.as_bytes())).hex();
        format!("{MARK}{kind}:{}]", digest.get(..MARK_DIGITS).unwrap_or_default())
    }

    /// The text without its secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = self.without_traced(self.without_known(text));
        let found = shapes::find(&text);
        if found.is_empty() { text } else { Cow::Owned(self.replaced(&text, &found)) }
    }

    /// How many secrets are in the text.
    pub fn count(&self, text: &str) -> usize {
        let redacted = self.redact(text);
        let marks = |text: &str| text.matches(MARK).count();
        marks(&redacted).saturating_sub(marks(text))
    }

    /// Replaces every secret in the texts of `value`, names of fields apart. True where there was one.
    pub fn redact_value(&self, value: &mut Value) -> bool {
        self.redact_record(value, &Moved::new())
    }

    fn without_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found: BTreeMap<usize, Found> = BTreeMap::new();
        for (value, kind) in &self.known {
            for (start, _) in text.match_indices(value.as_str()) {
                let end = start + value.len();
                let is_apart = value.len() >= WORD_BYTES || is_word(text, start, end);
                // Of those found so far, which are apart, the last that begins before the end says it.
                let is_free =
                    || found.range(..end).next_back().is_none_or(|(_, one)| one.end <= start);
                if is_apart && is_free() && !is_in_mark(text, start) {
                    found.insert(start, Found { start, end, kind });
                }
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let found: Vec<Found> = found.into_values().collect();
        Cow::Owned(self.replaced(text, &found))
    }

    /// The text with a mark for each of `found`, which are in order and apart.
    fn replaced(&self, text: &str, found: &[Found]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for Found { start, end, kind } in found {
            out.push_str(text.get(at..*start).unwrap_or_default());
            out.push_str(&self.mark(kind, text.get(*start..*end).unwrap_or_default()));
            at = *end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

/// Whether neither neighbour of `start..end` continues the word.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|before| before.chars().next_back());
    let after = text.get(end..).and_then(|after| after.chars().next());
    ![before, after].into_iter().flatten().any(char::is_alphanumeric)
}

/// Whether `at` is inside of a mark: a mark is never marked again.
fn is_in_mark(text: &str, at: usize) -> bool {
    let from = text.floor_char_boundary(at.saturating_sub(MARK_BYTES));
    let before = text.get(from..at).unwrap_or_default();
    before.rfind(MARK).is_some_and(|open| !before.get(open..).unwrap_or_default().contains(']'))
}

/// As it stands in an address: what is neither letter, digit nor `-._~` is `%` and two digits.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
