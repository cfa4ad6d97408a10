//! Long lists in pages, and what lists lack.

use concertina_types::{Digest, limits};
use rmcp::ErrorData;
use rmcp::model::{MetaObject, PaginatedRequestParams};
use serde::Serialize;
use serde_json::json;

/// The page of `items` that was asked for, and the cursor of the next. A cursor belongs to one list in
/// one state: where the list became another one, it is refused, and nothing is skipped unnoticed.
pub(super) fn page<T>(
    items: Vec<T>,
    name: impl Fn(&T) -> &str,
    request: Option<PaginatedRequestParams>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let names: Vec<&str> = items.iter().map(name).collect();
    let digest = Digest::of(names.join("\n").as_bytes()).short();
    let start = match request.and_then(|request| request.cursor) {
        None => 0,
        Some(cursor) => {
            let start = cursor.split_once('.').filter(|(of, _)| *of == digest);
            start.and_then(|(_, start)| start.parse::<usize>().ok()).filter(|at| *at < items.len())
                .ok_or_else(|| {
                    let text = "there is no such page: the list became another one, or the cursor is none of ours; begin again without a cursor";
                    ErrorData::invalid_params(text, None)
                })?
        }
    };
    let end = start.saturating_add(limits::PAGE_ENTRIES);
    let next = (end < items.len()).then(|| format!("{digest}.{end}"));
    Ok((items.into_iter().skip(start).take(limits::PAGE_ENTRIES).collect(), next))
}

/// What a list says about itself where it lacks `entries`.
pub(super) fn left_out(entries: &impl Serialize) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0.insert("concertina/left_out".to_owned(), json!(entries));
    meta
}
