//! The records of a session with the texts that they speak of.

use concertina_store::Store;
use concertina_types::{Actor, Digest, SessionId, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::error::RuntimeError;

/// Of a text that a record speaks of, so many bytes are shown: a screen or two.
const TEXT_BYTES: usize = 4 * 1024;

/// Which records are wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Of this kind, such as `call.admitted`, or of those that begin with it, such as `call`.
    pub kind: Option<String>,
    /// Not from before.
    pub since: Option<Timestamp>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Its number.
    pub seq: u64,
    /// When, as RFC 3339.
    pub at: String,
    /// Who.
    pub actor: Actor,
    /// The turn, where turns are known.
    pub turn: Option<u32>,
    /// What kind of thing happened.
    pub kind: &'static str,
    /// What happened. Where it speaks of a text by its digest, `text` has its first 4 KB, and is null
    /// where the text is not kept.
    pub data: Value,
}

/// The records of `session` that are wanted, in order.
pub fn records(
    store: &Store,
    session: &SessionId,
    wanted: &Wanted,
) -> Result<Vec<Record>, RuntimeError> {
    let events = store.verify(session)?;
    if events.is_empty() {
        return Err(RuntimeError::NoSession(session.clone()));
    }
    let is_kind = |kind: &str| {
        wanted.kind.as_deref().is_none_or(|wanted| {
            kind == wanted || kind.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    let is_wanted = |event: &&concertina_types::Event| {
        is_kind(event.fact.kind()) && wanted.since.is_none_or(|since| event.at >= since)
    };
    let record = |event: &concertina_types::Event| {
        let fact = serde_json::to_value(&event.fact).unwrap_or_default();
        let mut data = fact.get("data").cloned().unwrap_or_default();
        fill(&mut data, store);
        Record {
            seq: event.seq,
            at: event.at.to_string(),
            actor: event.actor,
            turn: event.turn,
            kind: event.fact.kind(),
            data,
        }
    };
    Ok(events.iter().filter(is_wanted).map(record).collect())
}

/// Puts the text beside every digest that names one.
fn fill(value: &mut Value, store: &Store) {
    match value {
        Value::Object(fields) => {
            let digest = fields.get("digest").and_then(Value::as_str);
            let digest = digest.filter(|_| fields.contains_key("bytes") && fields.len() == 2);
            if let Some(digest) = digest.and_then(|digest| digest.parse::<Digest>().ok()) {
                let kept = store.content.get(&digest).ok().flatten();
                let text = kept.map(|bytes| shown(&String::from_utf8_lossy(&bytes)));
                fields.insert("text".to_owned(), text.map_or(Value::Null, Value::String));
            }
            fields.values_mut().for_each(|field| fill(field, store));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, store)),
        _ => {}
    }
}

fn shown(text: &str) -> String {
    match text.get(..text.floor_char_boundary(TEXT_BYTES)) {
        Some(first) if first.len() < text.len() => {
            format!("{first}\n[cut: the first part of {} bytes]", text.len())
        }
        _ => text.to_owned(),
    }
}
