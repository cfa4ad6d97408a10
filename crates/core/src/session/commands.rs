//! The commands that a skill declares, as a tool that comes and goes with it.

use concertina_types::{Digest, OpenedSkill, SkillId, ToolName};
use serde_json::json;

use crate::catalog::{Danger, JsonText, NeedsSkill, ToolEntry};
use crate::policy::CommandPattern;

/// What runs such a tool, and what stands before the skill's name in its own.
pub const COMMANDS: &str = "command";

/// Patterns that the description names.
const NAMED: usize = 20;

/// The tool that the commands of a skill count as: for policies, in the log, and for the model while the
/// skill is open.
pub(super) fn name_of(skill: &SkillId) -> Option<ToolName> {
    let name = skill.as_str().replace(char::is_whitespace, "-");
    ToolName::new(format!("{COMMANDS}/{name}")).ok()
}

/// The tool of an open skill; none where it declares no command that can be read.
pub(super) fn tool_of(opened: &OpenedSkill) -> Option<ToolEntry> {
    let patterns = opened.permissions.execute.iter();
    // A pattern that cannot be read covers nothing.
    let patterns: Vec<&str> =
        patterns.map(String::as_str).filter(|text| CommandPattern::new(text).is_ok()).collect();
    let name = name_of(&opened.id).filter(|_| !patterns.is_empty())?;
    let mut listed: Vec<String> =
        patterns.iter().take(NAMED).map(|pattern| format!("`{pattern}`")).collect();
    if patterns.len() > NAMED {
        listed.push(format!("one of {} more in its `permissions`", patterns.len() - NAMED));
    }
    let description = format!(
        "Runs a command of skill:{} that fits {}; a last `*` stands for any further words. It runs in the workspace, without a shell.",
        opened.id,
        listed.join(", ")
    );
    let parameters = JsonText::from(json!({
        "type": "object",
        "properties": {"command": {
            "type": "string",
            "description": "The program and its arguments, as one would type them; quotes keep words together.",
        }},
        "required": ["command"],
        "additionalProperties": false,
    }));
    let parts =
        [opened.digest.hex(), description.clone(), patterns.join("\n")].map(String::into_bytes);
    Some(ToolEntry {
        name,
        title: None,
        description,
        parameters,
        output: None,
        category: String::new(),
        danger: Danger::Writes,
        needs_skill: NeedsSkill::OneOf(vec![opened.id.to_string()]),
        trusted: true,
        quarantined: None,
        runner: COMMANDS.to_owned(),
        server: None,
        permissions: opened.permissions.clone(),
        unstated: false,
        digest: Digest::of_parts(parts.iter().map(Vec::as_slice)),
    })
}
