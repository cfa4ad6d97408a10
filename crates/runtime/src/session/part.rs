//! Parts of a skill: its sections, its examples, its files.

use std::collections::BTreeMap;

use concertina_core::catalog::search::{Index, Query, SearchDocument};
use concertina_format::skill::{Example, sections};
use concertina_types::Ref;

use crate::find::example_documents;
use crate::sources::resource;
use crate::workspace::LoadedSkill;

/// Parts that are the whole text, whatever its headings say.
const WHOLE: [&str; 2] = ["body", "full"];
/// The part that is the examples.
const EXAMPLES_PART: &str = "examples";

/// Whether a part of this name is something else than the section that is called so.
pub(crate) fn is_taken(slug: &str) -> bool {
    WHOLE.contains(&slug) || slug == EXAMPLES_PART
}

/// The text of a part of a skill: examples, a file, or a section. An error is a code and words.
pub(super) fn part_text(
    skill: &LoadedSkill,
    part: Option<&str>,
) -> Result<String, (String, String)> {
    let Some(part) = part else { return Ok(skill.body.clone()) };
    if WHOLE.contains(&part) {
        return Ok(skill.body.clone());
    }
    if let Some(rest) = part.strip_prefix(EXAMPLES_PART) {
        match rest.chars().next() {
            None => return examples(skill, &Wanted::First),
            Some('/') => return examples(skill, &Wanted::Number(rest.trim_start_matches('/'))),
            Some('?') => return examples(skill, &Wanted::Fitting(rest.trim_start_matches('?'))),
            Some(_) => {}
        }
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

/// Examples given at a time: two or three show what a pattern is, and more cost more than they show.
const EXAMPLES: usize = 3;

/// Which examples are asked for.
enum Wanted<'a> {
    /// Those that the author wrote first.
    First,
    /// One, by its number from 1.
    Number(&'a str),
    /// Those that fit `query=…`, `tag=…` or both, joined by `&`.
    Fitting(&'a str),
}

fn examples(skill: &LoadedSkill, wanted: &Wanted<'_>) -> Result<String, (String, String)> {
    let all = &skill.document.examples;
    let none = |why: String| Err(("NO_SUCH_PART".to_owned(), why));
    let chosen: Vec<&Example> = match wanted {
        Wanted::First => all.iter().take(EXAMPLES).collect(),
        Wanted::Number(number) => match number.parse::<usize>() {
            Ok(number) if number >= 1 => all.iter().skip(number - 1).take(1).collect(),
            _ => Vec::new(),
        },
        Wanted::Fitting(terms) => match fitting(skill, terms) {
            Ok(chosen) if chosen.is_empty() && !all.is_empty() => {
                return none(format!(
                    "none of the {} examples of skill:{} fits; open skill:{}#examples for the first",
                    all.len(),
                    skill.entry.id,
                    skill.entry.id
                ));
            }
            Ok(chosen) => chosen,
            Err(key) => {
                return none(format!(
                    "`{key}` chooses no example; write #examples?query=WORDS or #examples?tag=TAG"
                ));
            }
        },
    };
    if chosen.is_empty() {
        return none(format!("skill:{} has {} examples", skill.entry.id, all.len()));
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

/// The examples that bear the tag and fit the query, best first. An error is the key that is none.
fn fitting<'s>(skill: &'s LoadedSkill, terms: &str) -> Result<Vec<&'s Example>, String> {
    let (mut query, mut tag) = (None, None);
    // Only a key ends what stands before it: `R&D` is a word.
    let mut rest = terms;
    while !rest.is_empty() || (query.is_none() && tag.is_none()) {
        let end = ["&query=", "&tag="].iter().filter_map(|key| rest.find(key)).min();
        let (term, after) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, ""));
        match term.split_once('=') {
            Some(("query", words)) => query = Some(words),
            Some(("tag", word)) => tag = Some(word.to_lowercase()),
            _ => return Err(term.to_owned()),
        }
        rest = after.strip_prefix('&').unwrap_or_default();
    }
    let tagged = |example: &Example| {
        tag.as_ref().is_none_or(|tag| example.tags.iter().any(|own| own.to_lowercase() == *tag))
    };
    let all = &skill.document.examples;
    let Some(query) = query else {
        return Ok(all.iter().filter(|example| tagged(example)).take(EXAMPLES).collect());
    };
    let mut by_key: BTreeMap<Ref, &Example> = BTreeMap::new();
    let documents = example_documents(skill).into_iter().zip(all).filter(|(_, own)| tagged(own));
    let documents: Vec<SearchDocument> = documents
        .map(|(document, example)| {
            by_key.insert(document.key.clone(), example);
            document
        })
        .collect();
    let answer = Index::build(documents).find(&Query { limit: EXAMPLES, ..Query::new(query) });
    Ok(answer.ranking().iter().filter_map(|hit| by_key.get(&hit.reference).copied()).collect())
}
