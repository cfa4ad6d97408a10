//! What is known of a server, and which of its tools are as they were approved.

use concertina_types::Digest;
use serde_json::Value;

use super::definitions::{LeftOut, Tool, tools};
use super::handshake::Hello;
use super::records::{Approved, ApprovedTool, Manifest, Records};

/// What is known of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Known {
    pub(super) hello: Hello,
    /// Sorted by name.
    pub(super) tools: Vec<Tool>,
    pub(super) prompts: Vec<Value>,
    pub(super) resources: Vec<Value>,
    pub(super) templates: Vec<Value>,
    pub(super) skills: Vec<Value>,
    pub(super) left_out: Vec<LeftOut>,
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
    let (mut tools, mut left_out) = tools(server, &manifest.tools);
    match records.approved() {
        // Approvals that cannot be read approve nothing.
        Err(why) => quarantine_all(&mut tools, &why),
        Ok(mut approved) => {
            let unseen = (unseen == Unseen::Approve).then_some(manifest.tools.as_slice());
            let is_new = check(&mut tools, &mut approved, unseen);
            if is_new && let Err(why) = records.approve(&approved) {
                left_out.push(LeftOut { what: "approvals".to_owned(), why });
            }
        }
    }
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

fn quarantine_all(tools: &mut [Tool], why: &str) {
    for tool in tools {
        tool.offered.quarantined = Some(format!("its approval cannot be checked: {why}"));
    }
}

/// The same, checked against the approvals as they are now.
pub(super) fn checked_again(known: &Known, records: &Records) -> Known {
    let mut known = known.clone();
    for tool in &mut known.tools {
        tool.offered.quarantined = None;
    }
    match records.approved() {
        Err(why) => quarantine_all(&mut known.tools, &why),
        Ok(mut approved) => {
            check(&mut known.tools, &mut approved, None);
        }
    }
    known
}

/// Quarantines what is not as it was approved, and approves what was never seen where it stands in
/// `unseen`. Whether something was approved for the first time.
fn check(tools: &mut [Tool], approved: &mut Approved, unseen: Option<&[Value]>) -> bool {
    let mut is_new = false;
    for tool in tools {
        let digest = tool.offered.digest;
        match (approved.tools.get(&tool.raw), unseen) {
            (Some(known), _) if known.digest == digest => {}
            (Some(known), _) => tool.offered.quarantined = Some(drifted(tool, known.digest)),
            (None, Some(definitions)) => {
                let definition = definition_of(definitions, &tool.raw).cloned();
                let definition = definition.unwrap_or_default();
                approved.tools.insert(tool.raw.clone(), ApprovedTool { digest, definition });
                is_new = true;
            }
            (None, None) => {}
        }
    }
    is_new
}

fn drifted(tool: &Tool, approved: Digest) -> String {
    let (server, raw) = (&tool.offered.server, &tool.raw);
    let (was, is) = (approved.short(), tool.offered.digest.short());
    format!(
        "its definition changed after it was approved ({was}, now {is}); \
         see `concertina upstream approve {server} {raw}`"
    )
}

/// The first definition with this name: the one that counts.
pub(super) fn definition_of<'a>(definitions: &'a [Value], raw: &str) -> Option<&'a Value> {
    definitions
        .iter()
        .find(|definition| definition.get("name").and_then(Value::as_str) == Some(raw))
}
