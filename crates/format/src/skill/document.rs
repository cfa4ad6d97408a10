//! What a SKILL.md says, typed.

use std::collections::BTreeMap;

use concertina_types::{Digest, OpenMode, Permissions, Position, Span};
use serde::Serialize;
use serde_json::Value;

/// How a document came to be usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was read as written.
    Ok,
    /// Its name or description was taken from the directory or the body.
    Derived,
    /// At least one key was repaired.
    Repaired,
    /// It cannot be used.
    Rejected,
}

/// How strictly to read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Recover what a careful reader would, one key at a time, and say so.
    #[default]
    Lenient,
    /// Accept what the standard allows, all of its YAML included, and nothing else.
    Strict,
}

/// Where the bytes of a document come from: names that are not in the bytes themselves.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The name of the directory that holds the file.
    pub directory: &'a str,
    /// The name of the file.
    pub file: &'a str,
}

/// One parameter of a skill: a subset of JSON Schema.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Whether a call must give it.
    pub required: bool,
    /// What it is when a call does not give it.
    pub default: Option<Value>,
    /// What it means.
    pub description: Option<String>,
    /// The JSON Schema of its value: `type`, `enum`, `pattern`, `minimum`, `items` and so on, without
    /// `required` and `default` of this level.
    pub schema: Value,
}

/// Another skill that has to be done first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// Which skill.
    pub skill: String,
    /// A condition, as written.
    pub when: Option<String>,
    /// Parameters of this skill and where in the other's result they come from.
    pub pass: BTreeMap<String, String>,
}

/// An example request that the skill serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Example {
    /// What a user would say.
    pub query: String,
    /// What a good answer looks like.
    pub text: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
}

/// Where parts of a document begin in its file, for findings about them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places {
    /// The key `name`.
    pub name: Option<Position>,
    /// The key `description`.
    pub description: Option<Position>,
    /// The line of the body, from 1; 0 where only the head was read.
    pub body: u32,
}

/// A SKILL.md: the keys of its frontmatter, and where its body is.
///
/// A key may be spelled with hyphens, underscores or capitals. Keys that are not known are kept in `extra`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// `name`, or the name of the directory.
    pub name: String,
    /// `description`, or the first paragraph of the body.
    pub description: Option<String>,
    /// Whether the name or the description was derived.
    pub derived: bool,
    /// `when_to_use`.
    pub when_to_use: Option<String>,
    /// `not_for`: what the skill should not be used for.
    pub not_for: Vec<String>,
    /// `version`, spelled as written (`1.10` stays `1.10`).
    pub version: Option<String>,
    /// `license`.
    pub license: Option<String>,
    /// `compatibility`, as text.
    pub compatibility: Option<String>,
    /// `metadata`: nested values are kept, scalars are text as written.
    pub metadata: BTreeMap<String, Value>,
    /// `tags`.
    pub tags: Vec<String>,
    /// `examples`.
    pub examples: Vec<Example>,
    /// `argument-hint`, as text.
    pub argument_hint: Option<String>,
    /// `arguments`: names for positional arguments.
    pub arguments: Vec<String>,
    /// `parameters`.
    pub parameters: Vec<Parameter>,
    /// `output`: a JSON Schema for a result.
    pub output: Option<Value>,
    /// `allowed-tools`: blanks inside parentheses do not split.
    pub allowed_tools: Vec<String>,
    /// `disallowed-tools`.
    pub disallowed_tools: Vec<String>,
    /// `permissions`.
    pub permissions: Permissions,
    /// `requires`.
    pub requires: Vec<Requirement>,
    /// `disable-model-invocation`: the model may neither see nor open the skill.
    pub disable_model_invocation: bool,
    /// `user-invocable`: whether a person may open it. True unless the file says otherwise.
    pub user_invocable: bool,
    /// `paths`: patterns of files that activate the skill.
    pub paths: Vec<String>,
    /// `context`: inline or fork.
    pub context: OpenMode,
    /// `agent`.
    pub agent: Option<String>,
    /// `model`.
    pub model: Option<String>,
    /// `effort`.
    pub effort: Option<String>,
    /// `shell`.
    pub shell: Option<String>,
    /// `hooks`, as written.
    pub hooks: Option<Value>,
    /// `procedure`, as written.
    pub procedure: Option<Value>,
    /// Keys that are not known, as written.
    pub extra: BTreeMap<String, Value>,
    /// Security keys that are there and cannot be read. Where this is not empty the skill is not
    /// shown to the model: broken security keys fail closed.
    pub unreadable: Vec<String>,
    /// Where the body is in the decoded text; empty where only the head was read.
    pub body: Span,
    /// Where its parts begin in the file.
    #[serde(skip)]
    pub places: Places,
    /// How the document came to be usable.
    pub status: Status,
    /// The digest of the bytes given.
    pub digest: Digest,
}
