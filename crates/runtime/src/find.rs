//! Searching a workspace and a session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use concertina_core::catalog::search::{Hit, Index, Kind, SearchDocument, Weights};
use concertina_core::catalog::{Category, SkillEntry, Snapshot, ToolEntry};
use concertina_core::policy::OWNER;
use concertina_core::session::{Settings, State, World, visibility};
use concertina_format::skill::{Section, sections};
use concertina_tokens::O200k;
use concertina_types::{Digest, LineIndex, LineRange, Ref, SkillId, Subject, ToolName};

use crate::semantic::Note;
use crate::session::is_taken;
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
    /// Where to look instead, where they are not: the categories that can be opened.
    pub browse: Vec<Ref>,
    /// Why meaning had no say in it, or in part only, where an encoder is set and was asked.
    pub note: Option<Note>,
}

/// What can be searched. Parts of skills are apart, so that a skill of many sections or examples does
/// not change how rare a word is, nor what is a name.
#[derive(Debug, Clone)]
pub(crate) struct Indexes {
    /// Skills, tools and categories.
    pub(crate) things: Arc<Index>,
    /// The sections of skills by their headings.
    pub(crate) sections: Arc<Index>,
    /// The examples of skills.
    pub(crate) examples: Arc<Index>,
}

/// What the indexes hold, so that a change of one skill reads one file and cuts one text into terms.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    /// By the skill's path.
    skills: HashMap<Arc<str>, IndexedSkill>,
    tools: HashMap<ToolName, (Digest, String)>,
    categories: BTreeMap<String, Category>,
    indexes: Option<Indexes>,
    /// Whether anything may have changed since.
    is_stale: bool,
}

#[derive(Debug)]
struct IndexedSkill {
    id: SkillId,
    /// Of what the index of skills read of it; none where it has to be read again.
    head: Option<Digest>,
    keys: Vec<Ref>,
}

/// What differs from what the indexes hold.
#[derive(Default)]
struct Changes {
    things: Vec<SearchDocument>,
    sections: Vec<SearchDocument>,
    examples: Vec<SearchDocument>,
    gone: Vec<Ref>,
}

impl Indexed {
    /// Says that the catalogue was looked at again and that the skills in the files `changed` are
    /// others than before.
    pub(crate) fn invalidate(&mut self, changed: &[Arc<str>]) {
        self.is_stale = true;
        for path in changed {
            if let Some(skill) = self.skills.get_mut(path) {
                skill.head = None;
            }
        }
    }

    /// The indexes of `snapshot`; `read` gives a whole skill.
    pub(crate) fn indexes(
        &mut self,
        snapshot: &Snapshot,
        weights: &Weights,
        read: &dyn Fn(&SkillEntry) -> Option<LoadedSkill>,
    ) -> Indexes {
        if let Some(indexes) = self.indexes.as_ref().filter(|_| !self.is_stale) {
            return indexes.clone();
        }
        let Changes { things, sections, examples, gone } = self.changes(snapshot, read);
        let before = self.indexes.take();
        let made = |documents: Vec<SearchDocument>, before: Option<&Arc<Index>>| match before {
            None => Arc::new(Index::build_with(documents, weights.clone())),
            Some(before) if documents.is_empty() && !before.holds_any(&gone) => Arc::clone(before),
            Some(before) => Arc::new(before.updated(documents, &gone)),
        };
        let indexes = Indexes {
            things: made(things, before.as_ref().map(|before| &before.things)),
            sections: made(sections, before.as_ref().map(|before| &before.sections)),
            examples: made(examples, before.as_ref().map(|before| &before.examples)),
        };
        self.is_stale = false;
        self.indexes = Some(indexes.clone());
        indexes
    }

    fn changes(
        &mut self,
        snapshot: &Snapshot,
        read: &dyn Fn(&SkillEntry) -> Option<LoadedSkill>,
    ) -> Changes {
        let mut changes = Changes::default();
        let mut before = std::mem::take(&mut self.skills);
        let mut old = Vec::new();
        for entry in &snapshot.skills {
            match before.remove(&entry.path) {
                Some(known) if known.is_still(entry) => {
                    self.skills.insert(Arc::clone(&entry.path), known);
                    continue;
                }
                Some(known) => old.extend(known.keys),
                None => {}
            }
            let loaded = read(entry);
            let thing = skill_document(entry, loaded.as_ref());
            let sections = loaded.as_ref().map(heading_documents).unwrap_or_default();
            let examples = loaded.as_ref().map(example_documents).unwrap_or_default();
            let all = sections.iter().chain(&examples).chain([&thing]);
            let skill = IndexedSkill {
                id: entry.id.clone(),
                // What could not be read is looked at again the next time.
                head: loaded.as_ref().map(|_| entry.head),
                keys: all.map(|document| document.key.clone()).collect(),
            };
            self.skills.insert(Arc::clone(&entry.path), skill);
            changes.things.push(thing);
            changes.sections.extend(sections);
            changes.examples.extend(examples);
        }
        self.tool_changes(snapshot, &mut changes);
        for (name, category) in &snapshot.categories {
            if self.categories.get(name) != Some(category) {
                changes.things.push(category_document(name, category));
            }
        }
        let gone = self.categories.keys().filter(|name| !snapshot.categories.contains_key(*name));
        changes.gone.extend(gone.cloned().map(Ref::Menu));
        self.categories.clone_from(&snapshot.categories);
        old.extend(before.into_values().flat_map(|skill| skill.keys));
        if !old.is_empty() {
            // Whatever is made anew under its old key is not gone.
            let keys: HashSet<&Ref> = self.skills.values().flat_map(|skill| &skill.keys).collect();
            changes.gone.extend(old.into_iter().filter(|key| !keys.contains(key)));
        }
        changes
    }

    fn tool_changes(&mut self, snapshot: &Snapshot, changes: &mut Changes) {
        let mut before = std::mem::take(&mut self.tools);
        for tool in &snapshot.tools {
            let is_still = |(digest, category): &(Digest, String)| {
                *digest == tool.digest && *category == tool.category
            };
            match before.remove_entry(&tool.name) {
                Some((name, known)) if is_still(&known) => {
                    self.tools.insert(name, known);
                }
                _ => {
                    changes.things.push(tool_document(tool));
                    self.tools.insert(tool.name.clone(), (tool.digest, tool.category.clone()));
                }
            }
        }
        changes.gone.extend(before.into_keys().map(Ref::Tool));
    }
}

impl IndexedSkill {
    fn is_still(&self, entry: &SkillEntry) -> bool {
        self.id == entry.id && self.head == Some(entry.head)
    }
}

fn category_document(name: &str, category: &Category) -> SearchDocument {
    let mut document = SearchDocument::new(Ref::Menu(name.to_owned()), Kind::Menu, name);
    document.description = format!("{}. {}", category.title, category.description);
    document.title = titled(name, &document.description);
    document
}

/// A section, the titles of those above it, and its lines.
struct Heading<'p> {
    section: &'p Section,
    above: Vec<&'p str>,
    lines: LineRange,
}

/// The sections `parts` of `body`, each below those that it belongs to.
fn headings<'p>(parts: &'p [Section], body: &str) -> Vec<Heading<'p>> {
    let index = LineIndex::new(body);
    let mut path: Vec<&Section> = Vec::new();
    let headings = parts.iter().map(|section| {
        path.retain(|above| above.level < section.level);
        let above = path.iter().map(|above| above.title.as_str()).collect();
        path.push(section);
        let text = section.span.of(body).trim_end();
        let line = |at: usize| u64::from(index.position(body, at).line);
        let start = section.span.start;
        let lines = LineRange { first: line(start), last: line(start + text.len()) };
        Heading { section, above, lines }
    });
    headings.collect()
}

/// The sections of a skill by their headings.
fn heading_documents(skill: &LoadedSkill) -> Vec<SearchDocument> {
    let parts = sections(&skill.body);
    let body = skill.body.trim_end().len();
    // The title of the whole leads to nothing that the skill itself does not lead to.
    let is_whole = |section: &Section| {
        skill.body.get(..section.span.start).unwrap_or_default().trim().is_empty()
            && section.span.end >= body
    };
    let headings = headings(&parts, &skill.body).into_iter();
    let inside = headings.filter(|heading| !is_whole(heading.section));
    inside.map(|heading| heading_document(&skill.entry.id, &heading)).collect()
}

/// A section by its heading and those above it.
fn heading_document(id: &SkillId, heading: &Heading<'_>) -> SearchDocument {
    let Heading { section, above, lines } = heading;
    let line = lines.first;
    // A heading such as `Examples` is the name of another part: there the lines lead to it.
    let (part, lines) = if is_taken(&section.slug) {
        (None, Some(*lines))
    } else {
        (Some(section.slug.clone()), None)
    };
    let key = Ref::Skill { id: id.clone(), part, lines };
    let mut document = SearchDocument::new(key, Kind::Section, section.title.as_str());
    let titles: Vec<&str> = above.iter().copied().chain([section.title.as_str()]).collect();
    document.title = format!("{} (line {line})", titles.join(" > "));
    document
}

/// What is searched of a tool.
pub(crate) fn tool_document(tool: &ToolEntry) -> SearchDocument {
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
}

/// The documents of skills, categories and tools by what the index says of them: without bodies, which
/// are not read for this, and without those that under `settings` no model is shown, whatever it opens.
pub(crate) fn showable_documents<'a>(
    snapshot: &'a Snapshot,
    settings: &'a Settings,
) -> impl Iterator<Item = SearchDocument> + 'a {
    let world = World::for_looking(settings, snapshot, &O200k);
    let state = State { principal: OWNER.to_owned(), ..State::default() };
    let is_showable = move |reference: Ref| {
        let seen = visibility(&state, &world, &reference, Subject::Model);
        seen.visible || seen.reasons.iter().all(|reason| PASSING.contains(&reason.code.as_str()))
    };
    let (tools, hidden): (Vec<&ToolEntry>, Vec<&ToolEntry>) = snapshot
        .tools
        .iter()
        .map(AsRef::as_ref)
        .partition(|tool| is_showable(Ref::Tool(tool.name.clone())));
    let mut documents = Vec::new();
    for entry in &snapshot.skills {
        if is_showable(Ref::skill(entry.id.clone())) {
            documents.push(skill_document(entry, None));
        }
    }
    for (name, category) in &snapshot.categories {
        if is_showable(Ref::Menu(name.clone())) {
            // A category that nobody described is described by the names of the tools inside.
            let tells = |tool: &&ToolEntry| {
                tool.category == *name && category.description.contains(tool.name_on_server())
            };
            let Category { title, .. } = category;
            let untold = Category { title: title.clone(), ..Category::default() };
            let tells_hidden = hidden.iter().any(tells);
            documents.push(category_document(name, if tells_hidden { &untold } else { category }));
        }
    }
    documents.into_iter().chain(tools.into_iter().map(tool_document))
}

/// Reasons to hide something that go away while a session works, and those that hide nothing.
const PASSING: [&str; 5] =
    ["MENU_CLOSED", "SKILL_NOT_OPEN", "PATHS_NOT_TOUCHED", "POLICY_ALLOWS", "POLICY_ASKS"];

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

fn skill_document(entry: &SkillEntry, loaded: Option<&LoadedSkill>) -> SearchDocument {
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
    document
}

/// The examples of a skill.
pub(crate) fn example_documents(skill: &LoadedSkill) -> Vec<SearchDocument> {
    let entry = &skill.entry;
    let documents = skill.document.examples.iter().enumerate().map(|(at, example)| {
        let key = Ref::Skill {
            id: entry.id.clone(),
            part: Some(format!("examples/{}", at + 1)),
            lines: None,
        };
        let mut document = SearchDocument::new(key, Kind::Example, example.query.as_str());
        document.tags.clone_from(&example.tags);
        document.body = example.text.clone().unwrap_or_default();
        document.group = entry.id.to_string();
        document
    });
    documents.collect()
}

/// The sections of one skill, for a search inside it.
pub(crate) fn section_documents(skill: &LoadedSkill) -> Vec<SearchDocument> {
    let parts = sections(&skill.body);
    let mut documents = Vec::new();
    // What stands before the first heading belongs to no section.
    let before = parts.first().map_or(skill.body.len(), |first| first.span.start);
    let opening = skill.body.get(..before).unwrap_or_default();
    if !opening.trim().is_empty() {
        let end = LineIndex::new(opening).position(opening, opening.trim_end().len());
        let lines = LineRange { first: 1, last: end.line.into() };
        let key = Ref::Skill { id: skill.entry.id.clone(), part: None, lines: Some(lines) };
        let title = format!("lines 1-{}, before any heading", lines.last);
        let mut document = SearchDocument::new(key, Kind::Skill, title);
        opening.clone_into(&mut document.body);
        documents.push(document);
    }
    documents.extend(headings(&parts, &skill.body).into_iter().map(|heading| {
        let mut document = heading_document(&skill.entry.id, &heading);
        heading.section.span.of(&skill.body).clone_into(&mut document.body);
        document
    }));
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
