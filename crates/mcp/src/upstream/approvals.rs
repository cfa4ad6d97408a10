//! Tools whose definition is not the approved one: what changed, and approving it.

use std::path::Path;

use concertina_runtime::upstream::{Definition, JsonText};
use serde::Serialize;
use serde_json::Value;

use super::definitions::digest;
use super::records::{ApprovedTool, Records};

/// A tool whose definition changed after it was approved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The tool, as the server calls it.
    pub tool: String,
    /// The definition that was approved.
    pub was: Value,
    /// The definition of now.
    pub is: Value,
}

/// What approving did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// So many changes were approved.
    Approved(usize),
    /// Nothing of that name was changed.
    Nothing,
    /// It was not kept, and why.
    NotKept(String),
}

/// The tools of a server that changed, as its last reading has them.
pub fn changes(home: &Path, definition: &Definition) -> Result<Vec<Change>, String> {
    let records = Records::of(home, definition);
    let Some(manifest) = records.manifest() else { return Ok(Vec::new()) };
    let mut approved = records.approved()?;
    let mut changes = Vec::new();
    for definition in &manifest.tools {
        let is = definition.value();
        let raw = is.get("name").and_then(Value::as_str);
        // The first definition of a name is the one that counts.
        let known = raw.and_then(|raw| approved.tools.remove_entry(raw));
        if let Some((tool, known)) = known.filter(|(_, known)| digest(&is) != known.digest) {
            changes.push(Change { tool, was: known.definition.value(), is });
        }
    }
    changes.sort_by(|a, b| a.tool.cmp(&b.tool));
    Ok(changes)
}

/// Approves the changed tools of a server as they are now: the ones that were shown, none that
/// changed since.
pub fn approve(home: &Path, definition: &Definition, shown: &[Change]) -> Approval {
    if shown.is_empty() {
        return Approval::Nothing;
    }
    let records = Records::of(home, definition);
    // Approvals that cannot be read approved nothing; a person says anew what is approved.
    let mut approved = records.approved().unwrap_or_default();
    for change in shown {
        let known =
            ApprovedTool { digest: digest(&change.is), definition: JsonText::from(&change.is) };
        approved.tools.insert(change.tool.clone(), known);
    }
    match records.approve(&approved) {
        Ok(()) => Approval::Approved(shown.len()),
        Err(why) => Approval::NotKept(why),
    }
}
