//! Keys and values to a document.

use std::collections::BTreeMap;

use concertina_types::{Digest, OpenMode, Permissions, SkillId, Span};
use serde_json::Value;

use super::codes::Code;
use super::document::{Document, Example, Origin, Parameter, Places, Requirement, Status};
use super::findings::Findings;
use super::frontmatter::Fields;
use super::keys::Key;
use super::{permissions, shapes, split};
use crate::yaml::{Entry, Kind, Node};

/// A document of which nothing is known.
pub(super) fn blank(digest: Digest) -> Document {
    Document {
        name: String::new(),
        description: None,
        derived: false,
        when_to_use: None,
        not_for: Vec::new(),
        version: None,
        license: None,
        compatibility: None,
        metadata: BTreeMap::new(),
        tags: Vec::new(),
        examples: Vec::new(),
        argument_hint: None,
        arguments: Vec::new(),
        parameters: Vec::new(),
        output: None,
        allowed_tools: Vec::new(),
        disallowed_tools: Vec::new(),
        permissions: Permissions::default(),
        requires: Vec::new(),
        disable_model_invocation: false,
        user_invocable: true,
        paths: Vec::new(),
        context: OpenMode::Inline,
        agent: None,
        model: None,
        effort: None,
        shell: None,
        hooks: None,
        procedure: None,
        extra: BTreeMap::new(),
        unreadable: Vec::new(),
        body: Span::default(),
        places: Places::default(),
        status: Status::Ok,
        digest,
    }
}

/// The bytes where the keys are that [`super::lint`] speaks of.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Offsets {
    pub(super) name: Option<usize>,
    pub(super) description: Option<usize>,
}

/// Fills a document from its keys. `text` is the decoded text that places refer to.
pub(super) fn fill(
    document: &mut Document,
    fields: Fields,
    text: &str,
    findings: &mut Findings,
) -> Offsets {
    let mut places = Offsets::default();
    let mut reader = Reader { text, findings, unreadable: fields.unreadable };
    for (known, entry) in reader.last_of_each(fields.entries) {
        if let Some(key) = known {
            match key {
                Key::Name => places.name = Some(entry.at),
                Key::Description => places.description = Some(entry.at),
                _ => {}
            }
            reader.known(document, key, &entry);
        } else {
            reader.say(Code::UnknownKey, &entry, format!("`{}` is not a known key", entry.key));
            document.extra.insert(entry.key, entry.value.lexemes());
        }
    }
    let mut unreadable: Vec<_> =
        reader.unreadable.iter().map(|key| key.canonical().to_owned()).collect();
    unreadable.sort_unstable();
    unreadable.dedup();
    document.unreadable = unreadable;
    places
}

/// The name a skill has without a `name`: its directory, or its file where that is not SKILL.md.
pub(super) fn default_name(origin: Origin<'_>) -> String {
    let stem = origin.file.rsplit_once('.').map_or(origin.file, |(stem, _)| stem);
    let own = !stem.eq_ignore_ascii_case("skill") && !stem.is_empty();
    let candidates = if own { [stem, origin.directory] } else { [origin.directory, stem] };
    let usable = candidates.into_iter().find(|name| SkillId::new(*name).is_ok());
    usable.unwrap_or("unnamed").to_owned()
}

struct Reader<'a> {
    text: &'a str,
    findings: &'a mut Findings,
    unreadable: Vec<Key>,
}

impl Reader<'_> {
    fn say(&mut self, code: Code, entry: &Entry, message: String) {
        self.findings.add(code, entry.at, message);
    }

    /// One entry for each key: the last. Security keys that differ are unreadable instead.
    fn last_of_each(&mut self, entries: Vec<Entry>) -> Vec<(Option<Key>, Entry)> {
        let mut kept: Vec<(Option<Key>, Entry)> = Vec::with_capacity(entries.len());
        for entry in entries {
            let known = Key::of(&entry.key);
            let before = kept.iter_mut().find(|(key, earlier)| match known {
                Some(known) => *key == Some(known),
                None => key.is_none() && earlier.key == entry.key,
            });
            if known.is_some() && !Key::is_cased_well(&entry.key) {
                let message = format!("`{}` is not written in lower case", entry.key);
                self.findings.add(Code::KeyCase, entry.at, message);
            }
            let Some((_, earlier)) = before else {
                kept.push((known, entry));
                continue;
            };
            let message = format!("duplicate key `{}`; the last one counts", entry.key);
            self.findings.add(Code::DuplicateKey, entry.at, message);
            if let Some(key) = known.filter(|key| key.is_security())
                && earlier.value.lexemes() != entry.value.lexemes()
            {
                self.fail_closed(key, entry.at, "is given twice with different values");
            }
            *earlier = entry;
        }
        kept
    }

    fn fail_closed(&mut self, key: Key, at: usize, why: &str) {
        let message = format!("`{}` {why}; the skill is not shown to the model", key.canonical());
        self.findings.add(Code::SecurityKeyUnreadable, at, message);
        if !self.unreadable.contains(&key) {
            self.unreadable.push(key);
        }
    }

    fn known(&mut self, document: &mut Document, key: Key, entry: &Entry) {
        match key {
            Key::Name => document.name = self.name(entry).unwrap_or_default(),
            Key::Description => document.description = self.description(entry),
            Key::WhenToUse => document.when_to_use = self.text(entry),
            Key::NotFor => document.not_for = self.sentences(entry),
            Key::Version => document.version = self.text(entry),
            Key::License => document.license = self.text(entry),
            Key::Compatibility => document.compatibility = self.text(entry),
            Key::Metadata => document.metadata = self.metadata(entry),
            Key::Tags => document.tags = self.list(entry),
            Key::Examples => document.examples = self.examples(entry),
            Key::ArgumentHint => document.argument_hint = self.hint(entry),
            Key::Arguments => document.arguments = shapes::names(&entry.value),
            Key::Parameters => document.parameters = self.parameters(entry),
            Key::Output => document.output = shapes::tree(&entry.value),
            Key::AllowedTools => document.allowed_tools = self.tools(key, entry),
            Key::DisallowedTools => document.disallowed_tools = self.tools(key, entry),
            Key::Permissions => match permissions::read(entry, self.findings) {
                Some(permissions) => document.permissions = permissions,
                None => self.fail_closed(key, entry.at, "cannot be read"),
            },
            Key::Requires => document.requires = self.requires(entry),
            Key::DisableModelInvocation => match shapes::flag(&entry.value) {
                Some(flag) => document.disable_model_invocation = flag,
                None => self.fail_closed(key, entry.at, "is neither true nor false"),
            },
            Key::UserInvocable => match shapes::flag(&entry.value) {
                Some(flag) => document.user_invocable = flag,
                None => self.fail_closed(key, entry.at, "is neither true nor false"),
            },
            Key::Paths => document.paths = self.paths(entry),
            Key::Context => match self.text(entry).as_deref() {
                None | Some("inline") => {}
                Some("fork") => document.context = OpenMode::Fork,
                Some(_) => self.shape(entry, "`inline` or `fork`"),
            },
            Key::Agent => document.agent = self.text(entry),
            Key::Model => document.model = self.text(entry),
            Key::Effort => document.effort = self.text(entry),
            Key::Shell => document.shell = self.text(entry),
            Key::Hooks => document.hooks = shapes::tree(&entry.value),
            Key::Procedure => document.procedure = shapes::tree(&entry.value),
        }
    }

    fn shape(&mut self, entry: &Entry, expected: &str) {
        let message = format!("`{}` should be {expected}; it was ignored", entry.key);
        self.say(Code::WrongShape, entry, message);
    }

    /// The value as the file spells it, for lists and mappings in brackets.
    fn source(&self, node: &Node) -> Option<&str> {
        let source = node.span.of(self.text).trim();
        (source.starts_with(['[', '{']) && !source.contains('\n')).then_some(source)
    }

    fn typed(&mut self, entry: &Entry) {
        if matches!(Key::of(&entry.key), Some(Key::Name | Key::Description))
            && entry.value.is_typed_scalar()
        {
            let spelled = entry.value.scalar().unwrap_or_default();
            let message = format!(
                "YAML may read `{spelled}` in `{}` as something other than text; its spelling is kept",
                entry.key
            );
            self.say(Code::NotText, entry, message);
        }
    }

    fn text(&mut self, entry: &Entry) -> Option<String> {
        match &entry.value.kind {
            Kind::Scalar(..) => {
                let text = entry.value.scalar()?.trim();
                (!text.is_empty()).then(|| text.to_owned())
            }
            Kind::List(items) if items.iter().all(|item| item.scalar().is_some()) => {
                let parts: Vec<_> = items.iter().filter_map(Node::scalar).map(str::trim).collect();
                (!parts.is_empty()).then(|| parts.join(", "))
            }
            Kind::List(_) | Kind::Map(_) => Some(
                self.source(&entry.value)
                    .map_or_else(|| entry.value.lexemes().to_string(), str::to_owned),
            ),
        }
    }

    fn name(&mut self, entry: &Entry) -> Option<String> {
        self.typed(entry);
        if !matches!(entry.value.kind, Kind::Scalar(..)) {
            let message = "`name` is not a text; the directory gives the name";
            self.say(Code::NameUnusable, entry, message.to_owned());
            return None;
        }
        let text = entry.value.scalar()?;
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            return None;
        }
        if let Err(error) = SkillId::new(name.as_str()) {
            self.say(Code::NameUnusable, entry, format!("{error}; the directory gives the name"));
            return None;
        }
        Some(name)
    }

    fn description(&mut self, entry: &Entry) -> Option<String> {
        self.typed(entry);
        let filled = |text: &str| {
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        match &entry.value.kind {
            Kind::Scalar(..) => filled(entry.value.scalar()?),
            Kind::List(items) => {
                let parts: Vec<String> = items
                    .iter()
                    .filter_map(|item| match item.kind {
                        Kind::Scalar(..) => item.scalar().map(|text| text.trim().to_owned()),
                        _ => self.source(item).map(str::to_owned).or_else(|| shapes::pairs(item)),
                    })
                    .collect();
                self.say(
                    Code::DescriptionList,
                    entry,
                    "the description is a list; its items were joined with commas".to_owned(),
                );
                filled(&parts.join(", "))
            }
            Kind::Map(entries) => {
                // `{{ text }}` and `{text}` are templates that happen to be YAML.
                if let Some(source) = self.source(&entry.value)
                    && (source.starts_with("{{") || entries.iter().all(|e| e.value.is_null()))
                {
                    return filled(source);
                }
                self.say(
                    Code::DescriptionMapping,
                    entry,
                    "the description is a mapping; one text of it is used".to_owned(),
                );
                entries.iter().filter_map(|e| e.value.scalar()).find_map(filled)
            }
        }
    }

    fn hint(&mut self, entry: &Entry) -> Option<String> {
        match entry.value.kind {
            Kind::Scalar(..) => self.text(entry),
            // `[topic]` is a hint that happens to be YAML.
            _ => self.source(&entry.value).map(str::to_owned).or_else(|| self.text(entry)),
        }
    }

    fn metadata(&mut self, entry: &Entry) -> BTreeMap<String, Value> {
        match &entry.value.kind {
            Kind::Map(entries) => {
                entries.iter().map(|e| (e.key.clone(), e.value.lexemes())).collect()
            }
            _ if entry.value.is_null() => BTreeMap::new(),
            _ => {
                let message = "`metadata` is not a mapping; it was ignored";
                self.say(Code::MetadataShape, entry, message.to_owned());
                BTreeMap::new()
            }
        }
    }

    /// Texts, or one text with commas.
    fn list(&mut self, entry: &Entry) -> Vec<String> {
        let mut out = Vec::new();
        match &entry.value.kind {
            Kind::Scalar(text, _) if !entry.value.is_null() => {
                let text = text.trim();
                let text = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
                out.extend(split::commas(text).into_iter().map(super::quotes::literal));
            }
            Kind::Scalar(..) => {}
            Kind::List(items) => {
                for item in items {
                    match item.scalar().map(str::to_owned).or_else(|| shapes::pairs(item)) {
                        Some(text) => out.push(text.trim().to_owned()),
                        None => self.shape(entry, "a list of texts"),
                    }
                }
            }
            Kind::Map(_) => self.shape(entry, "a list of texts"),
        }
        out.retain(|text| !text.is_empty());
        out
    }

    /// Texts, where commas belong to them.
    fn sentences(&mut self, entry: &Entry) -> Vec<String> {
        match &entry.value.kind {
            Kind::Scalar(..) => self.text(entry).into_iter().collect(),
            _ => self.list(entry),
        }
    }

    fn tools(&mut self, key: Key, entry: &Entry) -> Vec<String> {
        let tools = shapes::tools(&entry.value, self.text);
        if tools.is_none() {
            self.fail_closed(key, entry.at, "is not a list of tools");
        }
        tools.unwrap_or_default()
    }

    fn paths(&mut self, entry: &Entry) -> Vec<String> {
        if entry.value.is_null() {
            return Vec::new();
        }
        let Some(patterns) = shapes::path_patterns(&entry.value) else {
            self.fail_closed(Key::Paths, entry.at, "is not a list of patterns");
            return Vec::new();
        };
        let given = patterns.len();
        let mut good = Vec::with_capacity(given);
        for pattern in patterns {
            match shapes::pattern_fault(&pattern) {
                None => good.push(pattern),
                Some(fault) => {
                    let message =
                        format!("the pattern `{pattern}` in `paths` {fault}; it matches nothing");
                    self.say(Code::BadPattern, entry, message);
                }
            }
        }
        if good.is_empty() && given > 0 {
            self.fail_closed(Key::Paths, entry.at, "holds no pattern that can be read");
        }
        good
    }

    fn examples(&mut self, entry: &Entry) -> Vec<Example> {
        let items = match &entry.value.kind {
            Kind::List(items) => items.as_slice(),
            Kind::Scalar(..) | Kind::Map(_) if !entry.value.is_null() => {
                std::slice::from_ref(&entry.value)
            }
            _ => &[],
        };
        let mut out = Vec::new();
        for item in items {
            let example = match &item.kind {
                Kind::Scalar(..) => item
                    .scalar()
                    .map(|query| Example { query: query.trim().to_owned(), ..Example::default() }),
                Kind::Map(entries) => shapes::example(entries),
                Kind::List(_) => None,
            };
            match example {
                Some(example) => out.push(example),
                None => {
                    self.shape(entry, "a list of requests, each a text or `{query, text, tags}`");
                }
            }
        }
        out
    }

    fn parameters(&mut self, entry: &Entry) -> Vec<Parameter> {
        match &entry.value.kind {
            Kind::Map(entries) => match object_schema(entries) {
                // One JSON Schema for all of them says the same as a schema for each.
                Some((properties, required)) => {
                    let mut out: Vec<Parameter> =
                        properties.iter().filter_map(|e| self.parameter(e)).collect();
                    for parameter in &mut out {
                        parameter.required |= required.contains(&parameter.name.as_str());
                    }
                    out
                }
                None => entries.iter().filter_map(|e| self.parameter(e)).collect(),
            },
            // A list of `{name: …}` says the same.
            Kind::List(items) => {
                let mut out = Vec::new();
                for item in items {
                    let Kind::Map(entries) = &item.kind else {
                        match item.scalar() {
                            Some(name) => out.push(shapes::parameter(
                                name,
                                Value::Object(serde_json::Map::new()),
                            )),
                            None => self.shape(entry, "a mapping of names to schemas"),
                        }
                        continue;
                    };
                    match entries.iter().find(|e| e.key == "name").and_then(|e| e.value.scalar()) {
                        Some(name) => {
                            let rest =
                                entries.iter().filter(|e| e.key != "name").cloned().collect();
                            let schema = Node { span: item.span, kind: Kind::Map(rest) };
                            out.push(shapes::parameter(name, schema.json()));
                        }
                        None => self.shape(entry, "a mapping of names to schemas"),
                    }
                }
                out
            }
            Kind::Scalar(..) => {
                if !entry.value.is_null() {
                    self.shape(entry, "a mapping of names to schemas");
                }
                Vec::new()
            }
        }
    }

    fn parameter(&mut self, entry: &Entry) -> Option<Parameter> {
        let schema = match &entry.value.kind {
            Kind::Map(_) => entry.value.json(),
            // `name: string` is short for `name: {type: string}`.
            Kind::Scalar(..) => match entry.value.scalar() {
                Some(word) if shapes::is_type(word) => serde_json::json!({ "type": word }),
                Some(text) => serde_json::json!({ "description": text }),
                None => Value::Object(serde_json::Map::new()),
            },
            Kind::List(_) => {
                self.shape(entry, "a schema");
                return None;
            }
        };
        Some(shapes::parameter(&entry.key, schema))
    }

    fn requires(&mut self, entry: &Entry) -> Vec<Requirement> {
        let items = match &entry.value.kind {
            Kind::List(items) => items.as_slice(),
            _ if entry.value.is_null() => return Vec::new(),
            Kind::Scalar(text, _) => {
                let named =
                    |skill: &str| Requirement { skill: skill.to_owned(), ..Requirement::default() };
                return split::commas(text).into_iter().map(named).collect();
            }
            Kind::Map(_) => std::slice::from_ref(&entry.value),
        };
        let mut out = Vec::new();
        for item in items {
            let requirement = match &item.kind {
                Kind::Map(entries) => shapes::requirement(entries),
                _ => item.scalar().map(|skill| Requirement {
                    skill: skill.trim().to_owned(),
                    ..Requirement::default()
                }),
            };
            match requirement {
                Some(requirement) => out.push(requirement),
                None => self.shape(entry, "a list of skills, each a name or `{skill, when, pass}`"),
            }
        }
        out
    }
}

/// The properties of a JSON Schema of an object, and which of them it requires; none where the
/// entries are something else, such as parameters that happen to be called `type` or `required`.
fn object_schema(entries: &[Entry]) -> Option<(&[Entry], Vec<&str>)> {
    let value = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    if value("type").and_then(Node::scalar) != Some("object") {
        return None;
    }
    let Kind::Map(properties) = &value("properties")?.kind else { return None };
    let required = match value("required").map(|node| &node.kind) {
        Some(Kind::List(items)) => items.iter().filter_map(Node::scalar).collect(),
        _ => Vec::new(),
    };
    Some((properties, required))
}
