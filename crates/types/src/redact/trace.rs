//! Declared secrets that another process was told of: found by their length and their keyed digest, so that
//! nothing has to keep the values.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::schema::DECLARED;
use super::{Found, Redactor, hmac_sha256, is_in_mark};
use crate::Digest;

/// What is kept of a declared secret: how long it is, in bytes, and its keyed digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trace {
    /// How long it is, in bytes.
    pub bytes: usize,
    /// Its digest by the key of the marks.
    pub digest: Digest,
}

/// Digests by the length of what they are of.
pub(super) type Traces = BTreeMap<usize, BTreeSet<Digest>>;

impl Redactor {
    /// How many values it was told of.
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// Traces of the declared values that it was told of.
    pub fn traces(&self) -> Vec<Trace> {
        let declared = self.known.iter().filter(|(_, kind)| *kind == DECLARED);
        declared
            .map(|(value, _)| Trace { bytes: value.len(), digest: self.keyed_digest(value) })
            .collect()
    }

    /// Takes note of values of which only traces are kept: each is found where it stands as words of its own.
    ///
    /// ```
    /// use concertina_types::Redactor;
    /// let mut told = Redactor::new([7; 32]);
    /// told.learn("declared", "open sesame");
    /// let mut other = Redactor::new([7; 32]);
    /// other.recall(told.traces());
    /// assert_eq!(other.redact("say 'open sesame'"), told.redact("say 'open sesame'"));
    /// ```
    pub fn recall(&mut self, traces: impl IntoIterator<Item = Trace>) {
        for trace in traces {
            self.traces.entry(trace.bytes).or_default().insert(trace.digest);
        }
    }

    fn keyed_digest(&self, value: &str) -> Digest {
        Digest::from_bytes(hmac_sha256(&self.key, value.as_bytes()))
    }

    pub(super) fn without_traced<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        if self.traces.is_empty() {
            return text;
        }
        let mut found = Vec::new();
        let mut free = 0;
        for (start, _) in text.char_indices() {
            if start < free || !is_border(&text, start) {
                continue;
            }
            // Of two that begin here, the longer one.
            let end = self.traces.iter().rev().find_map(|(bytes, digests)| {
                let end = start + bytes;
                let value = text.get(start..end).filter(|_| is_border(&text, end))?;
                let is_known = digests.contains(&self.keyed_digest(value));
                (is_known && !is_in_mark(&text, start)).then_some(end)
            });
            if let Some(end) = end {
                found.push(Found { start, end, kind: DECLARED });
                free = end;
            }
        }
        if found.is_empty() { text } else { Cow::Owned(self.replaced(&text, &found)) }
    }
}

/// Whether no word goes on across `at`.
fn is_border(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at..).and_then(|after| after.chars().next());
    !(before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric))
}
