//! What servers and their tools are called here.

use concertina_types::{Digest, ToolName, limits};

/// Hexadecimal digits that tell shortened names apart.
const SUFFIX: usize = 8;

/// The name of the tool that `server` calls `tool`. It depends on nothing else.
pub fn tool_name(server: &str, tool: &str) -> Option<ToolName> {
    let whole = format!("{}/{}", clean(server), clean(tool));
    if let Ok(name) = ToolName::new(whole.clone()) {
        return (!tool.trim().is_empty()).then_some(name);
    }
    if whole.len() <= limits::NAME_BYTES {
        return None;
    }
    let keep = limits::NAME_BYTES - SUFFIX - 1;
    let suffix: String = Digest::of(whole.as_bytes()).hex().chars().take(SUFFIX).collect();
    let kept = whole.get(..whole.floor_char_boundary(keep)).unwrap_or_default();
    ToolName::new(format!("{kept}-{suffix}")).ok()
}

/// Characters that forge a line, or turn what follows, are written `_`.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_whitespace() || ToolName::new(c.to_string()).is_err() { '_' } else { c })
        .collect()
}
