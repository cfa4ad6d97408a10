//! What is known of a server, and which of its tools are as they were approved.

use std::sync::Arc;

use concertina_runtime::upstream::JsonText;
use concertina_types::{Digest, ToolName};

use super::definitions::{LeftOut, Tool, tools};
use super::handshake::Hello;
use super::records::{Approved, ApprovedTool, Manifest, Records};

/// What is known of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Known {
    pub(super) hello: Hello,
    /// Sorted by name.
    pub(super) tools: Vec<Tool>,
    pub(super) prompts: Vec<JsonText>,
    pub(super) resources: Vec<JsonText>,
    pub(super) templates: Vec<JsonText>,
    pub(super) skills: Vec<JsonText>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Known {
    /// The tool that is called `name` here.
    pub(super) fn tool(&self, name: &ToolName) -> Option<&Tool> {
        let place = self.tools.binary_search_by(|tool| tool.offered.name.cmp(name)).ok()?;
        self.tools.get(place)
    }

    /// The same, sharing with `before` the tools that are the same in both: the catalogue holds those
    /// of before.
    pub(super) fn sharing(mut self, before: &Self) -> Self {
        for tool in &mut self.tools {
            let same = before.tool(&tool.offered.name).filter(|same| *same == tool);
            if let Some(same) = same {
                tool.offered = Arc::clone(&same.offered);
            }
        }
        self
    }
}

/// Whether a definition that was never seen counts as approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unseen {
    /// It comes from the server itself, now.
    Approve,
    /// It is read from a record.
    Leave,
}

/// What a manifest says, checked against the approvals.
pub(super) fn known(server: &str, manifest: &Manifest, records: &Records, unseen: Unseen) -> Known {
    let (tools, mut left_out) = tools(server, &manifest.tools);
    let mut approved = records.approved();
    if let (Unseen::Approve, Ok(approved)) = (unseen, &mut approved) {
        let before = approved.tools.len();
        for (tool, definition) in &tools {
            approved.tools.entry(tool.raw.clone()).or_insert_with(|| ApprovedTool {
                digest: tool.offered.digest,
                definition: (*definition).clone(),
            });
        }
        if approved.tools.len() > before
            && let Err(why) = records.approve(approved)
        {
            left_out.push(LeftOut { what: "approvals".to_owned(), why });
        }
    }
    let mut tools: Vec<Tool> = tools.into_iter().map(|(tool, _)| tool).collect();
    quarantine(&mut tools, &approved);
    left_out.extend(manifest.left_out.iter().cloned());
    Known {
        hello: Hello {
            revision: manifest.revision.clone(),
            info: manifest.info.clone(),
            capabilities: manifest.capabilities.clone(),
            instructions: manifest.instructions.clone(),
        },
        tools,
        prompts: manifest.prompts.clone(),
        resources: manifest.resources.clone(),
        templates: manifest.templates.clone(),
        skills: manifest.skills.clone(),
        left_out,
    }
}

/// The same, checked against the approvals as they are now.
pub(super) fn checked_again(known: &Known, records: &Records) -> Known {
    let mut known = known.clone();
    quarantine(&mut known.tools, &records.approved());
    known
}

/// Quarantines the tools that are not as they were approved, and no others.
fn quarantine(tools: &mut [Tool], approved: &Result<Approved, String>) {
    for tool in tools {
        let quarantined = match approved {
            // Approvals that cannot be read approve nothing.
            Err(why) => Some(format!("its approval cannot be checked: {why}")),
            Ok(approved) => {
                let known = approved.tools.get(&tool.raw).map(|known| known.digest);
                let other = known.filter(|digest| *digest != tool.offered.digest);
                other.map(|digest| drifted(tool, digest))
            }
        };
        // What stays as it is stays shared.
        if tool.offered.quarantined != quarantined {
            Arc::make_mut(&mut tool.offered).quarantined = quarantined;
        }
    }
}

fn drifted(tool: &Tool, approved: Digest) -> String {
    let (server, raw) = (&tool.offered.server, &tool.raw);
    let (was, is) = (approved.short(), tool.offered.digest.short());
    format!(
        "its definition changed after it was approved ({was}, now {is}); \
         see `concertina upstream approve {server} {raw}`"
    )
}
