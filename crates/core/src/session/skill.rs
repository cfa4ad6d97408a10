//! A skill made ready to open: parameters checked, text expanded, scopes bound.

use std::collections::{BTreeMap, BTreeSet};

use concertina_format::expand::{
    DynamicCommand, Expanded, Expansion, Profile, Substitution, Variables, expand, fill_commands,
};
use concertina_format::parameters;
use concertina_format::skill::Document;
use concertina_types::{
    Blob, Diagnostic, Digest, OpenMode, OpenedSkill, Permissions, Severity, SkillId, Span, Subject,
    Tokens,
};
use serde_json::Value;

use super::answer::Refusal;
use crate::policy::{self, DeclarationError, FilePath, PathRefused, Surroundings, fill};

/// What a skill is opened with.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Arguments by name, as JSON: an object, or nothing.
    pub arguments: Value,
    /// Arguments as typed.
    pub raw_arguments: Option<String>,
    /// Whose rules of expansion apply.
    pub profile: Profile,
    /// What the session knows.
    pub variables: Variables,
    /// The real path of the workspace, out of which no value leads; `/` where none is given.
    pub workspace: Option<FilePath>,
}

/// A skill that is ready to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedSkill {
    /// Which skill.
    pub id: SkillId,
    /// The digest of its file.
    pub digest: Digest,
    /// The digest of its file and all files beside it, where a person trusts exactly these.
    pub content: Option<Digest>,
    /// Its version, as written.
    pub version: Option<String>,
    /// How it runs.
    pub mode: OpenMode,
    /// What it is opened with: as typed, else as JSON; empty where it is opened without arguments.
    pub arguments: String,
    /// Its text with arguments and variables filled in.
    pub text: String,
    /// The tools it claims.
    pub tools: Vec<String>,
    /// The tools it forbids.
    pub disallowed_tools: Vec<String>,
    /// The tools that it suggests to its client, with its parameters and variables filled in. They
    /// grant nothing here.
    pub allowed_tools: Vec<String>,
    /// What it declares, with its parameters filled in.
    pub permissions: Permissions,
    /// Its parameters that stand in a scope, with their values.
    pub bound: BTreeMap<String, Value>,
    /// Files that belong to it.
    pub knowledge: Vec<String>,
    /// The model it asks for.
    pub model: Option<String>,
    /// The effort it asks for.
    pub effort: Option<String>,
    /// Events that its hooks listen to.
    pub hooks: Vec<String>,
    /// Every token that was replaced.
    pub substitutions: Vec<Substitution>,
    /// Commands whose output belongs into the text. They stand in it as written until
    /// [`PreparedSkill::filled`].
    pub commands: Vec<DynamicCommand>,
    /// What was found on the way.
    pub diagnostics: Vec<Diagnostic>,
}

impl PreparedSkill {
    /// The skill with the output of its commands in place: output N for command N, inserted as it
    /// is and never looked at again.
    #[must_use]
    pub fn filled(mut self, outputs: &[String]) -> Self {
        let expanded = Expanded {
            text: std::mem::take(&mut self.text),
            commands: std::mem::take(&mut self.commands),
            ..Expanded::default()
        };
        self.text = fill_commands(&expanded, outputs);
        self
    }

    /// What comes into force; the text is counted and kept by the decision.
    pub(super) fn opened(&self) -> OpenedSkill {
        OpenedSkill {
            id: self.id.clone(),
            digest: self.digest,
            version: self.version.clone(),
            mode: self.mode,
            by: Subject::Model,
            text: Blob::of(""),
            tokens: Tokens::ZERO,
            tools: self.tools.clone(),
            disallowed_tools: self.disallowed_tools.clone(),
            permissions: self.permissions.clone(),
            knowledge: self.knowledge.clone(),
            model: self.model.clone(),
            effort: self.effort.clone(),
            hooks: self.hooks.clone(),
            bound: self.bound.clone(),
            content: self.content,
            approval: None,
        }
    }
}

/// What is wrong with what a skill declares: until it is corrected, the skill cannot be opened.
pub fn declaration_faults(document: &Document) -> Vec<DeclarationError> {
    policy::declaration_faults(&document.permissions, &names(document))
}

/// The names that what a skill declares may use.
fn names(document: &Document) -> Vec<&str> {
    let parameters = document.parameters.iter().map(|parameter| parameter.name.as_str());
    parameters.chain(document.arguments.iter().map(String::as_str)).collect()
}

/// Checks the arguments and expands the body. Nothing runs.
pub fn prepare(
    id: SkillId,
    document: &Document,
    body: &str,
    knowledge: Vec<String>,
    request: &Request,
) -> Result<PreparedSkill, Refusal> {
    let named = checked_arguments(&id, document, request)?;
    let expansion = Expansion {
        profile: request.profile,
        raw_arguments: request.raw_arguments.as_deref(),
        arguments: &named,
        argument_names: &document.arguments,
        opted_in: !document.arguments.is_empty() || document.argument_hint.is_some(),
        variables: &request.variables,
    };
    let expanded = expand(body, &expansion);
    let mut diagnostics = expanded.diagnostics;
    let (mut text, mut commands) = (expanded.text, expanded.commands);
    if !named.is_empty() && !document.parameters.is_empty() {
        // Checked values reach the model whether or not the body mentions them.
        let values = Value::Object(named.clone().into_iter().collect());
        let before = format!("Parameters: {}\n\n", concertina_types::canonical_json(&values));
        for command in &mut commands {
            command.span =
                Span::new(command.span.start + before.len(), command.span.end + before.len());
        }
        text = before + &text;
    }
    let permissions = bind(&id, document, &named, request, &mut diagnostics)?;
    Ok(PreparedSkill {
        id,
        digest: document.digest,
        content: None,
        version: document.version.clone(),
        mode: document.context,
        arguments: written_arguments(request),
        text,
        tools: permissions.tools.clone(),
        disallowed_tools: document.disallowed_tools.clone(),
        allowed_tools: document
            .allowed_tools
            .iter()
            .map(|tool| fill_names(tool, &named, &request.variables))
            .collect(),
        bound: bound(&document.permissions, &named),
        permissions,
        knowledge,
        model: document.model.clone(),
        effort: document.effort.clone(),
        hooks: document
            .hooks
            .as_ref()
            .and_then(Value::as_object)
            .map(|hooks| hooks.keys().cloned().collect())
            .unwrap_or_default(),
        substitutions: expanded.substitutions,
        commands,
        diagnostics,
    })
}

/// The arguments of `request`, as rules see them.
fn written_arguments(request: &Request) -> String {
    match (&request.raw_arguments, &request.arguments) {
        (Some(raw), _) => raw.trim().to_owned(),
        (None, Value::Null) => String::new(),
        (None, Value::Object(none)) if none.is_empty() => String::new(),
        (None, given) => concertina_types::canonical_json(given),
    }
}

fn checked_arguments(
    id: &SkillId,
    document: &Document,
    request: &Request,
) -> Result<BTreeMap<String, Value>, Refusal> {
    let given = &request.arguments;
    if document.parameters.is_empty() {
        // Nothing is declared, so nothing can be checked: names serve the text alone.
        return match given {
            Value::Null => Ok(BTreeMap::new()),
            Value::Object(map) => Ok(map.clone().into_iter().collect()),
            _ => Err(Refusal::new(
                "BAD_ARGUMENTS",
                format!("the arguments of skill:{id} must be a JSON object"),
            )),
        };
    }
    parameters::check(&document.parameters, given).map(|map| map.into_iter().collect()).map_err(
        |errors| {
            let list: Vec<String> = errors
                .iter()
                .take(10)
                .map(|error| {
                    let at = if error.pointer.is_empty() { "arguments" } else { &error.pointer };
                    format!("{at}: {}", error.message)
                })
                .collect();
            let schema =
                concertina_types::canonical_json(&parameters::schema(&document.parameters));
            Refusal::new(
                "BAD_ARGUMENTS",
                format!("skill:{id} was not opened: {}. Its parameters: {schema}", list.join("; ")),
            )
        },
    )
}

/// What `document` declares, with values in the place of its names. An entry that names a declared
/// parameter without a value covers nothing, and is left out.
fn bind(
    id: &SkillId,
    document: &Document,
    values: &BTreeMap<String, Value>,
    request: &Request,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Permissions, Refusal> {
    let unusable = |error: PathRefused| Refusal::new("BAD_PERMISSIONS", error.to_string());
    let workspace = request.workspace.clone().map_or_else(|| FilePath::new("/"), Ok);
    let mut around = Surroundings::new(workspace.map_err(unusable)?);
    around.session = request.variables.named();
    let declared: BTreeSet<&str> = names(document).into_iter().collect();
    for name in &declared {
        let value = match values.get(*name) {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => continue,
        };
        around.parameters.insert((*name).to_owned(), value);
    }
    let unbound: Vec<String> = declared
        .into_iter()
        .filter(|name| !around.parameters.contains_key(*name))
        .map(placeholder)
        .collect();
    let mut is_bound = |entry: &str| {
        let is_bound = !unbound.iter().any(|name| entry.contains(name.as_str()));
        if !is_bound {
            let message = format!(
                "the scope `{entry}` names a parameter that has no value, so it covers nothing"
            );
            diagnostics.push(Diagnostic::new("UNBOUND_SCOPE", Severity::Warning, message));
        }
        is_bound
    };
    let mut permissions = document.permissions.clone();
    let paths = permissions.read.iter_mut().chain(&mut permissions.write);
    let paths = paths.map(|scope| &mut scope.paths);
    let hosts = permissions.network.iter_mut().map(|scope| &mut scope.domains);
    let entries = paths.chain(hosts).chain([&mut permissions.execute, &mut permissions.tools]);
    entries.for_each(|entries| entries.retain(|entry| is_bound(entry)));
    fill(&permissions, &around).map_err(|errors| {
        let refused = errors.iter().find(|error| error.code == "VALUE_REFUSED");
        let code = refused.map_or("BAD_PERMISSIONS", |error| error.code);
        let first = refused.or(errors.first()).map(ToString::to_string).unwrap_or_default();
        Refusal::new(code, format!("skill:{id} was not opened: {first}"))
    })
}

/// The parameters that stand in a declared scope.
fn bound(declared: &Permissions, values: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let paths = declared.read.iter().chain(&declared.write).flat_map(|scope| &scope.paths);
    let hosts = declared.network.iter().flat_map(|scope| &scope.domains);
    let entries = paths.chain(hosts).chain(&declared.execute).chain(&declared.tools);
    let entries: Vec<&String> = entries.collect();
    let stands = |name: &str| entries.iter().any(|entry| entry.contains(&placeholder(name)));
    let bound = values.iter().filter(|(name, _)| stands(name));
    bound.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn placeholder(name: &str) -> String {
    format!("${{{name}}}")
}

/// Replaces each `${name}` that has a value, as an argument or a variable; values are not looked at
/// again.
fn fill_names(text: &str, values: &BTreeMap<String, Value>, variables: &Variables) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let value = after.split_once('}').and_then(|(name, tail)| {
            let value = match values.get(name) {
                None => variables.get(name)?.into_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                Some(_) => return None,
            };
            // They are suggestions to a client, which may take them for patterns.
            let widens = value.contains(['*', '?', '[', '{', '!'])
                || value.split(['/', '\\']).any(|part| part == "..");
            (!widens).then_some((value, tail))
        });
        let (filled, tail) = value.unwrap_or_else(|| ("${".to_owned(), after));
        out.push_str(&filled);
        rest = tail;
    }
    out.push_str(rest);
    out
}
