//! Tools whose definition is not the approved one: what changed, and approving it.

use std::path::Path;

use concertina_runtime::upstream::Definition;
use serde::Serialize;
use serde_json::Value;

use super::definitions::digest;
use super::known::definition_of;
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
    let approved = records.approved()?;
    let mut changes = Vec::new();
    for (raw, known) in &approved.tools {
        if let Some(is) = definition_of(&manifest.tools, raw)
            && digest(is) != known.digest
        {
            let was = known.definition.clone();
            changes.push(Change { tool: raw.clone(), was, is: is.clone() });
        }
    }
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
        let known = ApprovedTool { digest: digest(&change.is), definition: change.is.clone() };
        approved.tools.insert(change.tool.clone(), known);
    }
    match records.approve(&approved) {
        Ok(()) => Approval::Approved(shown.len()),
        Err(why) => Approval::NotKept(why),
    }
}
