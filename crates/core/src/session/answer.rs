//! What a request is told.

use concertina_types::{Disclosed, SkillId, Tokens, ToolName};

use crate::policy::{Reason, Request};

/// Why something was not done. The text says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// A stable code, such as `NOT_VISIBLE`.
    pub code: String,
    /// What happened and what to do.
    pub message: String,
    /// What else the record says of it.
    pub details: Box<Details>,
}

/// By which rule something was refused, and what it was about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The rule that refused it and where that stands, where a rule did.
    pub rule: Option<String>,
    /// What it was about once everything was resolved: a path without links, a host and port, an
    /// argument vector.
    pub object: Option<Request>,
    /// The skill for which it was asked, where one is known.
    pub skill: Option<SkillId>,
    /// The tool that was to run, where one was.
    pub tool: Option<ToolName>,
}

impl Refusal {
    /// A refusal with its code and words.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), details: Box::default() }
    }

    /// A refusal for the reason that a policy gave.
    pub fn because(reason: &Reason) -> Self {
        Self::new(reason.code.as_str(), reason.text.as_str()).by(reason.source.as_str())
    }

    /// The same, by `rule`.
    #[must_use]
    pub fn by(mut self, rule: impl Into<String>) -> Self {
        self.details.rule = Some(rule.into());
        self
    }

    /// The same, about `request`, which is resolved.
    #[must_use]
    pub fn about(mut self, request: &Request) -> Self {
        self.details.object = Some(request.clone());
        self
    }

    /// The same, asked for by `skill`.
    #[must_use]
    pub fn of_skill(mut self, skill: &SkillId) -> Self {
        self.details.skill = Some(skill.clone());
        self
    }

    /// The same, of a call of `tool`.
    #[must_use]
    pub fn of_tool(mut self, tool: &ToolName) -> Self {
        self.details.tool = Some(tool.clone());
        self
    }
}

/// The answer to a request, exactly as it goes to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// What it takes.
    pub tokens: Tokens,
    /// Whether it is an error.
    pub error: bool,
    /// What it made visible.
    pub disclosed: Vec<Disclosed>,
}
