//! Addresses of skills and their files: `skill://NAME/SKILL.md`.

use concertina_core::catalog::Snapshot;
use concertina_types::SkillId;

use crate::percent::encoded;

const SCHEME: &str = "skill://";
/// The file that a skill is.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// The address of a file of the skill `id`.
pub(super) fn of(id: &SkillId, path: &str) -> String {
    format!("{SCHEME}{}/{}", encoded(id.as_str()), encoded(path))
}

/// The skill and the path in it that an address means; none where it is no address of a skill that
/// `snapshot` has. The path is empty for the directory itself.
pub(super) fn parse(snapshot: &Snapshot, uri: &str) -> Option<(SkillId, String)> {
    let path = uri.strip_prefix(SCHEME)?;
    if path.contains(['?', '#']) {
        return None;
    }
    let segments: Vec<String> =
        path.trim_end_matches('/').split('/').map(decoded).collect::<Option<_>>()?;
    // A name can have a slash; the longest one that is known is meant.
    (1..=segments.len()).rev().find_map(|names| {
        let (name, rest) = segments.split_at_checked(names)?;
        let id = SkillId::new(name.join("/")).ok()?;
        snapshot.skill(&id)?;
        Some((id, rest.join("/")))
    })
}

/// A segment as it is meant. An encoded slash would make one segment two, so it is refused.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let value = u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
        if matches!(value, b'/' | b'\\' | 0) {
            return None;
        }
        bytes.push(value);
    }
    String::from_utf8(bytes).ok()
}
