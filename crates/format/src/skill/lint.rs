//! What other programs, and the model, will make of a document.

use concertina_types::SkillId;
use unicode_normalization::UnicodeNormalization as _;

use super::codes::Code;
use super::document::{Document, Origin};
use super::findings::Findings;
use super::typed::Offsets;

/// Characters that a description may have in the Agent Skills standard.
const DESCRIPTION_CHARS: usize = 1_024;
/// Characters that a name may have in the Agent Skills standard.
const NAME_CHARS: usize = 64;

/// Looks at name, description and file name.
pub(super) fn look(
    document: &Document,
    origin: Origin<'_>,
    places: Offsets,
    findings: &mut Findings,
) {
    let name = document.name.as_str();
    let is_skill_file = origin.file.eq_ignore_ascii_case("SKILL.md");
    if is_skill_file && origin.file != "SKILL.md" {
        let message =
            format!("the file is called `{}`; other programs look for SKILL.md", origin.file);
        findings.add(Code::FileName, None, message);
    }
    let length = name.chars().count();
    if length > NAME_CHARS {
        let message =
            format!("the name has {length} characters; other programs accept {NAME_CHARS}");
        findings.add(Code::NameTooLong, places.name, message);
    } else if !SkillId::new(name).is_ok_and(|id| id.is_portable()) {
        let message =
            format!("the name `{name}` is not lower-case letters, digits and single hyphens");
        findings.add(Code::NameFormat, places.name, message);
    }
    // Some file systems store names decomposed.
    let same = || name.nfkc().eq(origin.directory.nfkc());
    if is_skill_file && !origin.directory.is_empty() && !same() {
        let message =
            format!("the name `{name}` differs from the directory `{}`", origin.directory);
        findings.add(Code::NameDirectory, places.name, message);
    }
    if ["anthropic", "claude"].iter().any(|word| name.contains(word)) {
        let message = format!("the name `{name}` uses a reserved word");
        findings.add(Code::ReservedWord, places.name, message);
    }
    let Some(description) = &document.description else { return };
    let length = description.chars().count();
    if length > DESCRIPTION_CHARS {
        let message = format!(
            "the description has {length} characters; other programs refuse more than {DESCRIPTION_CHARS}"
        );
        findings.add(Code::DescriptionTooLong, places.description, message);
    }
    if has_markup(description) {
        let message = "the description holds markup; it is escaped wherever it is shown";
        findings.add(Code::Markup, places.description, message.to_owned());
    }
    if is_placeholder(description) {
        let message = "the description is a placeholder of a template";
        findings.add(Code::Placeholder, places.description, message.to_owned());
    }
}

/// `<name>` or `</name>`.
fn has_markup(text: &str) -> bool {
    text.split('<').skip(1).any(|rest| {
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!')
            && rest.split('\n').next().is_some_and(|line| line.contains('>'))
    })
}

fn is_placeholder(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    let is_braced = |open: &str, close: &str| text.starts_with(open) && text.ends_with(close);
    (text.contains("{{") && text.contains("}}"))
        || ["<%", "{%"].iter().any(|mark| text.contains(mark))
        || is_braced("{", "}")
        || is_braced("${", "}")
        || ["TODO", "[TODO", "TBD", "FIXME", "LOREM IPSUM"]
            .iter()
            .any(|word| upper.starts_with(word))
}
