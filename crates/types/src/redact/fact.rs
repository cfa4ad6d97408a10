//! Facts without secrets.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Redactor;
use crate::{Blob, Digest, Fact};

/// Where texts went whose content was redacted: from the digest of what was said to the address of what
/// is kept.
pub type Moved = BTreeMap<Digest, Blob>;

/// A fact that says nothing any more without its secrets: a name of something is among them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {kind} event holds what looks like a secret where a name belongs: {reason}")]
pub struct UnfitFact {
    /// The kind of event.
    pub kind: &'static str,
    /// Why the rest is no such event.
    pub reason: String,
}

impl Redactor {
    /// The fact with redacted texts, speaking of content by the address that it has in `moved`.
    ///
    /// ```
    /// use concertina_types::{Fact, Redactor};
    /// let fact = Fact::SessionInterrupted { reason: "ghp_0123456789abcdefghijABCDEFGHIJ012345".into() };
    /// let fact = Redactor::UNKEYED.redact_fact(fact, &Default::default())?;
    /// assert!(matches!(fact, Fact::SessionInterrupted { reason } if reason.starts_with("[redacted:")));
    /// # Ok::<(), concertina_types::UnfitFact>(())
    /// ```
    pub fn redact_fact(&self, fact: Fact, moved: &Moved) -> Result<Fact, UnfitFact> {
        let kind = fact.kind();
        let unfit = |error: serde_json::Error| UnfitFact { kind, reason: error.to_string() };
        // What is written is what is looked at, so that no kind of event can be forgotten.
        let mut value = serde_json::to_value(&fact).map_err(unfit)?;
        if self.redact_record(&mut value, moved) {
            serde_json::from_value(value).map_err(unfit)
        } else {
            Ok(fact)
        }
    }

    /// Replaces every secret in the texts of `value`, and the address of every text that was moved. True where
    /// there was one.
    pub(super) fn redact_record(&self, value: &mut Value, moved: &Moved) -> bool {
        match value {
            Value::String(text) => match self.redact(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(redacted) => {
                    *text = redacted;
                    true
                }
            },
            Value::Array(items) => {
                items.iter_mut().fold(false, |any, item| self.redact_record(item, moved) | any)
            }
            Value::Object(fields) => {
                if !moved.is_empty()
                    && fields.len() == 2
                    && let Some(Value::String(digest)) = fields.get("digest")
                    && let Some(blob) =
                        digest.parse().ok().and_then(|digest: Digest| moved.get(&digest))
                {
                    fields.insert("digest".to_owned(), Value::String(blob.digest.to_string()));
                    fields.insert("bytes".to_owned(), Value::from(blob.bytes));
                    return true;
                }
                let fields = fields.values_mut();
                fields.fold(false, |any, field| self.redact_record(field, moved) | any)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}
