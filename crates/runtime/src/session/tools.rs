//! What requests mean by tools and categories.

use concertina_core::catalog::Snapshot;
use concertina_core::catalog::search::{Kind, SearchDocumentMeta};
use concertina_types::{LineRange, Ref, ToolName};

/// The tool that is meant, and which lines of its definition: `name@4-6`, where no tool has all of
/// that as its name.
pub(super) fn lines_of_tool(snapshot: &Snapshot, name: ToolName) -> (ToolName, Option<LineRange>) {
    let lines = |name: &ToolName| {
        let (tool, range) = name.as_str().rsplit_once('@')?;
        let tool = ToolName::new(tool).ok().filter(|tool| snapshot.tool(tool).is_some())?;
        match format!("ev:1@{range}").parse() {
            Ok(Ref::Evidence { lines, .. }) => Some((tool, lines)),
            _ => None,
        }
    };
    let is_known = snapshot.tool(&name).is_some();
    lines(&name).filter(|_| !is_known).unwrap_or((name, None))
}

/// Whether a tool or a category stands in `menu` or below it.
pub(super) fn is_inside(meta: &SearchDocumentMeta, menu: &str) -> bool {
    let category = match &meta.key {
        Ref::Menu(name) => name.as_str(),
        _ if meta.kind == Kind::Tool => meta.group.as_str(),
        _ => return false,
    };
    category.strip_prefix(menu).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
