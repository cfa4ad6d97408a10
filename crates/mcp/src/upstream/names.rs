//! What servers and their tools are called here.

use concertina_types::{Digest, ToolName, limits};

/// What an alias may have at most: the shortest limit of the models in use.
const ALIAS_CHARS: usize = 64;
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
    ToolName::new(with_suffix(&whole, keep, '-')).ok()
}

/// Characters that forge a line, or turn what follows, are written `_`.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_whitespace() || ToolName::new(c.to_string()).is_err() { '_' } else { c })
        .collect()
}

/// The name for clients and models that want one flat word: `server__tool`, at most 64 characters
/// of `A`–`Z`, `a`–`z`, `0`–`9`, `_` and `-`. It depends on nothing but the name.
pub fn alias(name: &ToolName) -> String {
    let flat = match name.as_str().split_once('/') {
        Some((server, tool)) => format!("{server}__{tool}"),
        None => name.as_str().to_owned(),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let plain: String = flat.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if plain == flat && plain.len() <= ALIAS_CHARS {
        return plain;
    }
    // Two names that look alike when written plainly must not become one.
    let digest = Digest::of(name.as_str().as_bytes()).hex();
    let suffix: String = digest.chars().take(SUFFIX).collect();
    let kept: String = plain.chars().take(ALIAS_CHARS - SUFFIX - 1).collect();
    format!("{kept}_{suffix}")
}

fn with_suffix(text: &str, keep: usize, joint: char) -> String {
    let suffix: String = Digest::of(text.as_bytes()).hex().chars().take(SUFFIX).collect();
    let end = text.floor_char_boundary(keep);
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}{joint}{suffix}")
}
