//! Lists of a server, with every page.

use std::collections::HashSet;
use std::sync::Arc;

use concertina_runtime::upstream::JsonText;
use concertina_types::limits;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::peer::{Patience, Peer};

/// A list as it came.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Listed {
    pub(super) entries: Vec<JsonText>,
    /// How long it holds, in milliseconds, where the server says so.
    pub(super) ttl: Option<u64>,
    /// Why it is not whole.
    pub(super) cut: Option<String>,
}

/// Reads the list that `method` returns under `key`: all its pages together may take as long as
/// one answer.
pub(super) async fn all(
    peer: &Arc<Peer>,
    method: &str,
    key: &str,
    patience: Patience,
) -> Result<Listed, Failure> {
    let waited = patience.whole;
    let listed = tokio::time::timeout(waited, pages(peer, method, key, patience)).await;
    listed.unwrap_or_else(|_| Err(Failure::Late { method: method.to_owned(), waited }))
}

async fn pages(
    peer: &Arc<Peer>,
    method: &str,
    key: &str,
    patience: Patience,
) -> Result<Listed, Failure> {
    let mut bytes = 0_usize;
    let mut listed = Listed::default();
    let mut cursors = HashSet::new();
    let mut params = Map::new();
    for _ in 0..limits::LIST_PAGES {
        let mut page = peer.request(method, Value::Object(params.clone()), patience, None).await?;
        let Some(Value::Array(entries)) = page.get_mut(key).map(Value::take) else {
            return Err(Failure::Malformed(format!("`{method}` returned no `{key}`")));
        };
        for entry in entries {
            let entry = JsonText::from(entry);
            bytes = bytes.saturating_add(entry.text().len());
            let limit = match listed.entries.len() {
                limits::LIST_ENTRIES => format!("{} entries", limits::LIST_ENTRIES),
                _ if bytes > limits::LIST_BYTES => format!("{} bytes", limits::LIST_BYTES),
                _ => {
                    listed.entries.push(entry);
                    continue;
                }
            };
            listed.cut = Some(format!("`{method}` has more than {limit}; the rest is left out"));
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
