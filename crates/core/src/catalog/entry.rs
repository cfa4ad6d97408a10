//! What the index knows of one skill or one tool.

use std::path::Path;
use std::sync::Arc;

pub use concertina_format::config::{Danger, NeedsSkill};
use concertina_format::skill::Document;
use concertina_types::{Digest, OpenMode, Permissions, SkillId, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_text::JsonText;

/// Where a skill comes from. The order is the one in which scopes are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Set by an administrator.
    Managed,
    /// From the workspace.
    Project,
    /// From a directory of the workspace that was touched.
    Nested,
    /// From the person's own settings.
    User,
    /// From a directory named in the settings or on the command line.
    Additional,
    /// Brought by a plugin, under its name.
    Plugin,
    /// Brought by an MCP server, under its name.
    Server,
    /// Shipped with Concertina.
    Bundled,
}

impl Scope {
    /// The name used in JSON and in qualified ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Project => "project",
            Self::Nested => "nested",
            Self::User => "user",
            Self::Additional => "additional",
            Self::Plugin => "plugin",
            Self::Server => "server",
            Self::Bundled => "bundled",
        }
    }
}

/// What kind of file a skill was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loaded {
    /// A directory with a SKILL.md.
    Skills,
    /// A legacy `commands/NAME.md`.
    Commands,
    /// The program itself.
    Bundled,
}

/// Why nobody may use a skill: its files are not the ones that a lock file or a signature names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Altered {
    /// A stable code: `LOCK_MISMATCH` or `SIGNATURE_WRONG`.
    pub code: String,
    /// What is another than it should be, and what to do.
    pub text: String,
}

/// One skill as the index knows it: its frontmatter, never its body.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a key of its own, set apart from the others"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillEntry {
    /// How it is addressed.
    pub id: SkillId,
    /// Where it comes from.
    pub scope: Scope,
    /// What kind of file it is.
    pub loaded_from: Loaded,
    /// The file, as a path or `bundled:NAME`.
    pub path: Arc<str>,
    /// Other places that hold the same bytes.
    pub also_at: Vec<Arc<str>>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Whether the name or the description was derived from the directory or the body.
    pub derived: bool,
    /// When to use it.
    pub when_to_use: Option<Arc<str>>,
    /// What it is not for.
    pub not_for: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Requests it serves.
    pub examples: Vec<String>,
    /// Its parameters: names and descriptions, for searching.
    pub parameters: Vec<String>,
    /// Its version, as written.
    pub version: Option<String>,
    /// What to type after its name.
    pub argument_hint: Option<String>,
    /// Tools it claims, as patterns.
    pub claims: Vec<String>,
    /// Whether it declares commands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs: bool,
    /// How it runs.
    pub context: OpenMode,
    /// Patterns of files that activate it; empty means always active.
    pub paths: Vec<String>,
    /// Skills that have to be done before.
    pub requires: Vec<String>,
    /// Whether the file hides it from the model.
    pub model_disabled: bool,
    /// Whether a person may open it.
    pub user_invocable: bool,
    /// Security keys that could not be read: it fails closed.
    pub unreadable: Vec<String>,
    /// Whether a person trusts where it comes from. What a workspace brings has to be trusted
    /// before the model sees it.
    pub trusted: bool,
    /// Why nobody may use it as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub altered: Option<Altered>,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The digest of what the index read: the frontmatter, not the body.
    pub head: Digest,
    /// How many findings its frontmatter has.
    pub findings: u32,
}

impl SkillEntry {
    /// The entry of `document`, whose frontmatter was read from `path`.
    pub fn new(
        document: &Document,
        id: SkillId,
        scope: Scope,
        loaded_from: Loaded,
        path: impl Into<Arc<str>>,
        bytes: u64,
    ) -> Self {
        let text = |value: &Option<String>| value.as_deref().map(Arc::from);
        Self {
            id,
            scope,
            loaded_from,
            path: path.into(),
            also_at: Vec::new(),
            description: text(&document.description),
            derived: document.derived,
            when_to_use: text(&document.when_to_use),
            not_for: document.not_for.clone(),
            tags: document.tags.clone(),
            examples: document.examples.iter().map(|example| example.query.clone()).collect(),
            parameters: document
                .parameters
                .iter()
                .map(|parameter| match &parameter.description {
                    Some(description) => format!("{}: {description}", parameter.name),
                    None => parameter.name.clone(),
                })
                .collect(),
            version: document.version.clone(),
            argument_hint: document.argument_hint.clone(),
            claims: document.permissions.tools.clone(),
            runs: !document.permissions.execute.is_empty(),
            context: document.context,
            paths: document.paths.clone(),
            requires: document.requires.iter().map(|needed| needed.skill.clone()).collect(),
            model_disabled: document.disable_model_invocation,
            user_invocable: document.user_invocable,
            unreadable: document.unreadable.clone(),
            trusted: true,
            altered: None,
            bytes,
            head: document.digest,
            findings: 0,
        }
    }

    /// The directory that belongs to it. A legacy command shares its directory with others, so nothing
    /// beside it is its own.
    pub fn directory(&self) -> Option<&Path> {
        Path::new(self.path.as_ref()).parent().filter(|_| self.loaded_from == Loaded::Skills)
    }

    /// Whether it may bring anything: a person trusts it, and it is what it should be.
    pub fn is_sound(&self) -> bool {
        self.trusted && self.altered.is_none()
    }

    /// Whether the skill says anything that a model could choose it by.
    pub fn is_described(&self) -> bool {
        self.description.is_some() || self.when_to_use.is_some()
    }

    /// The description and, after it, when to use the skill.
    pub fn summary(&self) -> String {
        let parts = [self.description.as_deref(), self.when_to_use.as_deref()];
        parts
            .into_iter()
            .flatten()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// One tool as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEntry {
    /// How it is addressed.
    pub name: ToolName,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: JsonText,
    /// The JSON Schema of its structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<JsonText>,
    /// The menu category it sits in; empty means the root.
    pub category: String,
    /// What it can do to the world.
    pub danger: Danger,
    /// Whether it appears only together with a skill.
    pub needs_skill: NeedsSkill,
    /// Whether a person trusts where it comes from.
    pub trusted: bool,
    /// Why it is not to be used: its definition is not the one that was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<String>,
    /// What runs it, such as `exec`, `sqlite` or `mcp`.
    pub runner: String,
    /// The server that brings it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What it declares to need.
    pub permissions: Permissions,
    /// Whether it says nothing of what it needs. A tool of the settings then works in the workspace:
    /// it reads there, writes there unless it only reads, starts what is installed, reaches no host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unstated: bool,
    /// The digest of its whole definition.
    pub digest: Digest,
}

impl ToolEntry {
    /// Its definition as one line of JSON: what a model is told of it. The schema stays as it was
    /// written.
    pub fn definition(&self) -> String {
        let text = |text: &str| Value::from(text).to_string();
        format!(
            r#"{{"tool":{},"description":{},"args":{}}}"#,
            text(self.name.as_str()),
            text(&self.description),
            self.parameters.text()
        )
    }

    /// Its name without that of its server.
    pub fn name_on_server(&self) -> &str {
        let own = self
            .server
            .as_ref()
            .and_then(|server| self.name.as_str().strip_prefix(server.as_str())?.strip_prefix('/'));
        own.unwrap_or(self.name.as_str())
    }
}
