//! Lists of a server, with every page.

use std::collections::HashSet;
use std::sync::Arc;

use concertina_types::limits;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::peer::{Patience, Peer};

/// A list as it came.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Listed {
    pub(super) entries: Vec<Value>,
    /// How long it holds, in milliseconds, where the server says so.
    pub(super) ttl: Option<u64>,
    /// Why it is not whole.
    pub(super) cut: Option<String>,
}

/// Reads the list that `method` returns under `key`.
pub(super) async fn all(
    peer: &Arc<Peer>,
    method: &str,
    key: &str,
    patience: Patience,
) -> Result<Listed, Failure> {
    let mut listed = Listed::default();
    let mut cursors = HashSet::new();
    let mut params = Map::new();
    for _ in 0..limits::LIST_PAGES {
        let mut page = peer.request(method, Value::Object(params.clone()), patience, None).await?;
        let Some(Value::Array(entries)) = page.get_mut(key).map(Value::take) else {
            return Err(Failure::Malformed(format!("`{method}` returned no `{key}`")));
        };
        listed.entries.extend(entries);
        if listed.entries.len() > limits::LIST_ENTRIES {
            listed.entries.truncate(limits::LIST_ENTRIES);
            let limit = limits::LIST_ENTRIES;
            listed.cut =
                Some(format!("`{method}` has more than {limit} entries; the rest is left out"));
            return Ok(listed);
        }
        let ttl = page.get("ttlMs").and_then(Value::as_u64);
        listed.ttl = listed.ttl.into_iter().chain(ttl).min();
        let cursor = page.get("nextCursor").and_then(Value::as_str).filter(|next| !next.is_empty());
        let Some(cursor) = cursor else { return Ok(listed) };
        if !cursors.insert(cursor.to_owned()) {
            listed.cut =
                Some(format!("`{method}` leads back to a page that was read; it ends there"));
            return Ok(listed);
        }
        params.insert("cursor".to_owned(), json!(cursor));
    }
    let limit = limits::LIST_PAGES;
    listed.cut = Some(format!("`{method}` has more than {limit} pages; the rest is left out"));
    Ok(listed)
}
