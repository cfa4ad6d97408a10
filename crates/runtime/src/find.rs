//! Searching a workspace and a session.

use std::collections::HashMap;
use std::sync::Arc;

use concertina_core::catalog::search::{Hit, Kind, SearchDocument};
use concertina_core::catalog::{SkillEntry, Snapshot};
use concertina_format::skill::{Section, sections};
use concertina_types::{LineIndex, LineRange, Ref};

use crate::semantic::Note;
use crate::workspace::LoadedSkill;

/// What to search for, and where.
#[derive(Debug, Clone, Default)]
pub struct FindRequest {
    /// In the asker's own words.
    pub query: String,
    /// Only this kind of thing.
    pub kind: Option<Kind>,
    /// Only inside this.
    pub within: Option<Ref>,
    /// How many hits at most.
    pub limit: Option<usize>,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Whether they are good enough to be called an answer.
    pub enough: bool,
    /// The nearest things, where they are not.
    pub nearest: Vec<Hit>,
    /// Why meaning had no say in it, where an encoder is set and was asked.
    pub note: Option<Note>,
}

/// Documents made from skills, by the skill's path, kept while its file stays the same, so that a
/// change of one skill reads one file.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashMap<Arc<str>, Vec<SearchDocument>>);

impl Texts {
    /// Forgets the skills in the files `changed`.
    pub(crate) fn forget(&mut self, changed: &[Arc<str>]) {
        for path in changed {
            self.0.remove(path);
        }
    }

    /// The documents of every skill, example and category of `snapshot`; `read` gives the whole
    /// skill.
    pub(crate) fn documents(
        &mut self,
        snapshot: &Snapshot,
        read: &dyn Fn(&SkillEntry) -> Option<LoadedSkill>,
    ) -> Vec<SearchDocument> {
        let mut known = std::mem::take(&mut self.0);
        let mut all = Vec::new();
        for entry in &snapshot.skills {
            let documents = known
                .remove(&entry.path)
                .unwrap_or_else(|| skill_documents(entry, read(entry).as_ref()));
            all.extend(documents.iter().cloned());
            self.0.insert(entry.path.clone(), documents);
        }
        all.extend(menu_documents(snapshot));
        all
    }
}

/// The documents of skills, categories and tools by what the index says of them: without bodies,
/// which are not read for this.
pub(crate) fn listed_documents(snapshot: &Snapshot) -> impl Iterator<Item = SearchDocument> {
    let skills = snapshot.skills.iter().flat_map(|entry| skill_documents(entry, None));
    skills.chain(menu_documents(snapshot)).chain(tool_documents(snapshot))
}

fn menu_documents(snapshot: &Snapshot) -> impl Iterator<Item = SearchDocument> {
    snapshot.categories.iter().map(|(name, category)| {
        let mut document = SearchDocument::new(Ref::Menu(name.clone()), Kind::Menu, name.as_str());
        document.description = format!("{}. {}", category.title, category.description);
        document.title = titled(name, &document.description);
        document
    })
}

/// The documents of tools, made one by one: there can be thousands.
pub(crate) fn tool_documents(snapshot: &Snapshot) -> impl Iterator<Item = SearchDocument> {
    snapshot.tools.iter().map(|tool| {
        let mut document =
            SearchDocument::new(Ref::Tool(tool.name.clone()), Kind::Tool, tool.name.as_str());
        let schema = tool.parameters.value();
        let about = titled(tool.name.as_str(), &tool.description);
        document.title = match parameter_names(&schema).as_str() {
            "" => about,
            names => format!("{about} Arguments: {names}"),
        };
        document.description.clone_from(&tool.description);
        document.parameters = parameter_words(&schema);
        document.tags.extend(tool.title.clone());
        document.group.clone_from(&tool.category);
        document
    })
}

/// How many parameters a hit names.
const PARAMETERS: usize = 8;

/// The names of the parameters, those that may be left out with a question mark.
fn parameter_names(schema: &serde_json::Value) -> String {
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let names: Vec<&str> =
        properties.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect();
    let required = schema.get("required").and_then(serde_json::Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let mut shown: Vec<String> = names
        .iter()
        .take(PARAMETERS)
        .map(|name| if is_required(name) { (*name).to_owned() } else { format!("{name}?") })
        .collect();
    if names.len() > PARAMETERS {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

fn skill_documents(entry: &SkillEntry, loaded: Option<&LoadedSkill>) -> Vec<SearchDocument> {
    let key = Ref::skill(entry.id.clone());
    let mut document = SearchDocument::new(key, Kind::Skill, entry.id.as_str());
    document.description = entry.summary();
    document.title = titled(entry.id.as_str(), &document.description);
    document.tags.clone_from(&entry.tags);
    document.parameters = entry.parameters.join("\n");
    document.examples.clone_from(&entry.examples);
    document.not_for.clone_from(&entry.not_for);
    entry.id.plugin().unwrap_or_default().clone_into(&mut document.group);
    document.body = loaded.map(|skill| skill.body.clone()).unwrap_or_default();
    let mut documents = vec![document];
    for (at, example) in loaded.iter().flat_map(|skill| skill.document.examples.iter().enumerate())
    {
        let key = Ref::Skill {
            id: entry.id.clone(),
            part: Some(format!("examples/{}", at + 1)),
            lines: None,
        };
        let mut document = SearchDocument::new(key, Kind::Example, example.query.as_str());
        document.tags.clone_from(&example.tags);
        document.body = example.text.clone().unwrap_or_default();
        document.group = entry.id.to_string();
        documents.push(document);
    }
    documents
}

/// The sections of one skill, for a search inside it.
pub(crate) fn section_documents(skill: &LoadedSkill) -> Vec<SearchDocument> {
    let parts = sections(&skill.body);
    let index = LineIndex::new(&skill.body);
    let line_of = |at: usize| u64::from(index.position(&skill.body, at).line);
    let mut path: Vec<&Section> = Vec::new();
    let mut documents = Vec::new();
    // What stands before the first heading belongs to no section.
    let before = parts.first().map_or(skill.body.len(), |first| first.span.start);
    let opening = skill.body.get(..before).unwrap_or_default();
    if !opening.trim().is_empty() {
        let lines = LineRange { first: 1, last: line_of(opening.trim_end().len()) };
        let key = Ref::Skill { id: skill.entry.id.clone(), part: None, lines: Some(lines) };
        let title = format!("lines 1-{}, before any heading", lines.last);
        let mut document = SearchDocument::new(key, Kind::Skill, title);
        opening.clone_into(&mut document.body);
        documents.push(document);
    }
    for section in &parts {
        path.retain(|above| above.level < section.level);
        path.push(section);
        let id = skill.entry.id.clone();
        let key = Ref::Skill { id, part: Some(section.slug.clone()), lines: None };
        let mut document = SearchDocument::new(key, Kind::Skill, section.title.as_str());
        let titles: Vec<&str> = path.iter().map(|section| section.title.as_str()).collect();
        document.title = format!("{} (line {})", titles.join(" > "), line_of(section.span.start));
        section.span.of(&skill.body).clone_into(&mut document.body);
        documents.push(document);
    }
    documents
}

/// A name and the first words on it, as a search shows them.
fn titled(name: &str, description: &str) -> String {
    let first = concertina_core::catalog::sentences(description).next().unwrap_or_default();
    if first.is_empty() { name.to_owned() } else { first.chars().take(160).collect() }
}

pub(crate) fn parameter_words(schema: &serde_json::Value) -> String {
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let words = properties.into_iter().flatten().map(|(name, property)| {
        let about =
            property.get("description").and_then(serde_json::Value::as_str).unwrap_or_default();
        format!("{name} {about}")
    });
    words.collect::<Vec<_>>().join("\n")
}
