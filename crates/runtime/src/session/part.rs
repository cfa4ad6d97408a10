//! Parts of a skill: its sections, its examples, its files.

use concertina_format::skill::sections;

use crate::sources::resource;
use crate::workspace::LoadedSkill;

/// The text of a part of a skill: examples, a file, or a section. An error is a code and words.
pub(super) fn part_text(
    skill: &LoadedSkill,
    part: Option<&str>,
) -> Result<String, (String, String)> {
    let Some(part) = part else { return Ok(skill.body.clone()) };
    if part == "body" || part == "full" {
        return Ok(skill.body.clone());
    }
    if part == "examples" || part.starts_with("examples/") {
        return examples(skill, part.strip_prefix("examples/"));
    }
    let wanted = part.trim().to_lowercase();
    let parts = sections(&skill.body);
    let section = parts
        .iter()
        .find(|section| section.slug == wanted || section.title.to_lowercase() == wanted);
    if let Some(section) = section {
        return Ok(section.span.of(&skill.body).to_owned());
    }
    let is_file = part.contains(['/', '.']) || skill.resources().iter().any(|known| known == part);
    if let Some(directory) = skill.directory.as_ref().filter(|_| is_file) {
        let bytes = resource(directory, part)
            .map_err(|error| (error.code().to_owned(), error.to_string()))?;
        let size = bytes.len();
        return String::from_utf8(bytes).map_err(|_| {
            (
                "NOT_TEXT".to_owned(),
                format!("{part} is {size} bytes that are not text; it is not shown"),
            )
        });
    }
    let names: Vec<&str> = parts.iter().map(|section| section.slug.as_str()).take(12).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err((
        "NO_SUCH_PART".to_owned(),
        format!("skill:{} has no part `{part}`; its sections: {known}", skill.entry.id),
    ))
}

/// Examples given at a time.
const EXAMPLES: usize = 3;

fn examples(skill: &LoadedSkill, number: Option<&str>) -> Result<String, (String, String)> {
    let all = &skill.document.examples;
    let chosen: Vec<_> = match number.map(str::parse::<usize>) {
        None => all.iter().take(EXAMPLES).collect(),
        Some(Ok(number)) if number >= 1 => all.iter().skip(number - 1).take(1).collect(),
        Some(_) => Vec::new(),
    };
    if chosen.is_empty() {
        let text = format!("skill:{} has {} examples", skill.entry.id, all.len());
        return Err(("NO_SUCH_PART".to_owned(), text));
    }
    let shown: Vec<String> = chosen
        .into_iter()
        .map(|example| match &example.text {
            Some(text) => format!("Request: {}\n{text}", example.query),
            None => format!("Request: {}", example.query),
        })
        .collect();
    Ok(shown.join("\n\n"))
}
