//! A skill made ready to open: parameters checked, text expanded, scopes bound.

use std::collections::BTreeMap;

use concertina_format::expand::{
    DynamicCommand, Expanded, Expansion, Profile, Substitution, Variables, expand, fill_commands,
};
use concertina_format::parameters;
use concertina_format::skill::Document;
use concertina_types::{
    Blob, Diagnostic, Digest, OpenMode, OpenedSkill, PathScope, Permissions, Severity, SkillId,
    Span, Subject, Tokens,
};
use serde_json::Value;

use super::answer::Refusal;

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
    let permissions = bind(&document.permissions, &named, &request.variables, &mut diagnostics);
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

/// Fills `${name}` in the declared scopes. A scope whose name has no value covers nothing, since a
/// pattern that still holds `${…}` matches no path.
fn bind(
    declared: &Permissions,
    values: &BTreeMap<String, Value>,
    variables: &Variables,
    diagnostics: &mut Vec<Diagnostic>,
) -> Permissions {
    let mut fill = |pattern: &String| {
        let filled = fill_names(pattern, values, variables);
        if filled.contains("${") {
            let message = format!(
                "the scope `{pattern}` names something that has no value, or one that would widen it, so it covers nothing"
            );
            diagnostics.push(Diagnostic::new("UNBOUND_SCOPE", Severity::Warning, message));
        }
        filled
    };
    let mut paths = |scopes: &[PathScope]| -> Vec<PathScope> {
        scopes
            .iter()
            .map(|scope| PathScope { paths: scope.paths.iter().map(&mut fill).collect() })
            .collect()
    };
    let (read, write) = (paths(&declared.read), paths(&declared.write));
    Permissions {
        read,
        write,
        execute: declared.execute.iter().map(&mut fill).collect(),
        ..declared.clone()
    }
}

/// The parameters that stand in a declared scope.
fn bound(declared: &Permissions, values: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let paths = declared.read.iter().chain(&declared.write).flat_map(|scope| &scope.paths);
    let scopes: Vec<&String> = paths.chain(&declared.execute).chain(&declared.tools).collect();
    let stands = |name: &str| {
        let token = format!("${{{name}}}");
        scopes.iter().any(|scope| scope.contains(&token))
    };
    let bound = values.iter().filter(|(name, _)| stands(name));
    bound.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Replaces each `${name}` that has a value, as an argument or a variable; values are not looked at
/// again.
fn fill_names(pattern: &str, values: &BTreeMap<String, Value>, variables: &Variables) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let value = after.split_once('}').and_then(|(name, tail)| {
            let value = match values.get(name) {
                None => variables.get(name)?.into_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                Some(_) => return None,
            };
            // A value names one thing: it neither widens a scope nor steps out of it.
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
