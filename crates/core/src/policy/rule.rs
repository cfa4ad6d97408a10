//! One rule that a person wrote, and what it covers.

use std::borrow::Cow;
use std::fmt;

use concertina_format::config::{RuleKind, RuleText};
use concertina_types::Subject;
use globset::escape;
use serde::{Deserialize, Serialize};

use super::execute::{CommandPattern, command_words};
use super::host::{Host, HostRule};
use super::path::FilePath;
use super::path_pattern::PathPattern;
use super::pattern::Pattern;
use super::reach::Connection;
use super::request::Request;
use super::shell;

/// Where relative paths and `~` in rules start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The workspace.
    pub workspace: Option<FilePath>,
    /// The person's home.
    pub home: Option<FilePath>,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{rule}`: {reason}")]
pub struct RuleError {
    /// The rule as written.
    pub rule: String,
    /// What is wrong with it.
    pub reason: String,
}

impl RuleError {
    pub(super) fn new(rule: &str, reason: impl Into<String>) -> Self {
        Self { rule: rule.chars().take(200).collect(), reason: reason.into() }
    }
}

/// A rule: what it covers, and for whom.
///
/// ```
/// use concertina_core::policy::{Action, Places, Reading, Rule};
/// let rule = Rule::new("Bash(git add *)", &Places::default())?;
/// assert_eq!(rule.to_string(), "run:git add *");
/// assert!(rule.covers(&Action::Command("git add a.rs").into(), Reading::Permit));
/// assert!(!rule.covers(&Action::Command("git add a.rs && rm a.rs").into(), Reading::Permit));
/// assert!(rule.covers(&Action::Command("git add a.rs && rm a.rs").into(), Reading::Forbid));
/// # Ok::<(), concertina_core::policy::RuleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    what: What,
    subject: Option<Subject>,
    source: Option<String>,
}

/// How a rule is read. What forbids is read for all that it may mean, what permits for what it surely
/// means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The rule allows.
    Permit,
    /// The rule asks or denies.
    Forbid,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Everything,
    /// By name: `tool:…`, `menu:…` and the like, and skills however they are opened.
    Reference(Pattern),
    /// A skill by name, opened with such arguments; without any where there is no pattern.
    Skill(Pattern, Option<Pattern>),
    Read(PathPattern),
    Write(PathPattern),
    Run(CommandPattern),
    Host(HostRule),
    /// All of a kind.
    All(RuleKind),
}

/// What somebody is about to see or do.
#[derive(Debug, Clone, Copy)]
pub enum Action<'a> {
    /// See or use what a reference such as `tool:sql/query` names.
    Reference(&'a str),
    /// Open a skill with these arguments; empty means without any.
    Skill {
        /// The skill.
        id: &'a str,
        /// The arguments as written.
        arguments: &'a str,
    },
    /// Do this.
    Request(&'a Request),
    /// Run this, which a shell might read.
    Command(&'a str),
}

/// An action, looked at once for all rules.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The reference by which it is named, where it has one.
    reference: Option<Cow<'a, str>>,
    /// A skill and the arguments that it is opened with, where they are known.
    skill: Option<(&'a str, Option<&'a str>)>,
    request: Option<&'a Request>,
    /// The argument vector of a command that needs no shell.
    words: Option<Cow<'a, [String]>>,
    /// All commands that a command may come to, and each by the bare name of its program.
    parts: Vec<Vec<String>>,
    is_command: bool,
}

impl<'a> From<Action<'a>> for Asked<'a> {
    fn from(action: Action<'a>) -> Self {
        let mut asked = Self {
            reference: None,
            skill: None,
            request: None,
            words: None,
            parts: Vec::new(),
            is_command: false,
        };
        match action {
            Action::Reference(reference) => {
                asked.skill = reference.strip_prefix("skill:").map(|id| (id, None));
                asked.reference = Some(Cow::Borrowed(reference));
            }
            Action::Skill { id, arguments } => {
                asked.skill = Some((id, Some(arguments.trim())));
                asked.reference = Some(Cow::Owned(format!("skill:{id}")));
            }
            Action::Request(request) => {
                asked.request = Some(request);
                match request {
                    Request::Call(tool) => {
                        asked.reference = Some(Cow::Owned(format!("tool:{tool}")));
                    }
                    Request::Run(words) => {
                        asked.words = Some(Cow::Borrowed(words));
                        asked.command(shell::parts_of(words));
                    }
                    _ => {}
                }
            }
            Action::Command(command) => {
                asked.words = command_words(command).ok().map(Cow::Owned);
                asked.command(shell::parts(command));
            }
        }
        asked
    }
}

impl Asked<'_> {
    fn command(&mut self, parts: Vec<Vec<String>>) {
        self.is_command = true;
        let bare = |part: &Vec<String>| {
            let (program, rest) = part.split_first()?;
            let name = shell::base(program);
            (name != program).then(|| [&[name.to_owned()], rest].concat())
        };
        let named: Vec<Vec<String>> = parts.iter().filter_map(bare).collect();
        self.parts = parts;
        self.parts.extend(named);
    }

    /// Whether it is a command that only a shell could run.
    pub(super) fn needs_shell(&self) -> bool {
        self.is_command && self.words.as_ref().is_none_or(|words| shell::script(words).is_some())
    }

    /// The skill that is meant.
    pub(super) fn skill(&self) -> Option<&str> {
        self.skill.map(|(id, _)| id)
    }

    pub(super) fn reference(&self) -> Option<&str> {
        self.reference.as_deref()
    }

    /// It in words.
    pub(super) fn words(&self) -> String {
        match (self.request, &self.reference, &self.words) {
            (Some(request), ..) => request.to_string(),
            (_, Some(reference), _) => reference.to_string(),
            (_, _, Some(words)) => Request::Run(words.to_vec()).to_string(),
            _ => "a command for a shell".to_owned(),
        }
    }
}

impl Rule {
    /// Reads a rule. Relative paths in it start at the workspace.
    pub fn new(text: &str, places: &Places) -> Result<Self, RuleError> {
        let error = |reason: String| RuleError::new(text, reason);
        let mut spelt: RuleText = text.parse().map_err(|fault| error(format!("{fault}")))?;
        if let Some(RuleKind::Read | RuleKind::Write) = spelt.kind {
            spelt.pattern = absolute(&spelt.pattern, places).map_err(error)?;
        }
        Self::of(&spelt).map_err(error)
    }

    fn of(spelt: &RuleText) -> Result<Self, String> {
        let RuleText { kind, pattern, arguments } = spelt;
        let name = |text: &str| Pattern::new(text).map_err(|error| error.to_string());
        let path = |text: &str| PathPattern::new(text).map_err(|error| error.to_string());
        let mut text = spelt.to_string();
        let what = match (kind, arguments) {
            (None, _) => What::Everything,
            (Some(RuleKind::Skill), Some(arguments)) => {
                let arguments = (!arguments.is_empty()).then(|| name(arguments)).transpose()?;
                What::Skill(name(&format!("skill:{pattern}"))?, arguments)
            }
            (Some(kind @ (RuleKind::Run | RuleKind::Host)), _) if pattern == "*" => {
                What::All(*kind)
            }
            (Some(RuleKind::Read), _) => What::Read(path(pattern)?),
            (Some(RuleKind::Write), _) => What::Write(path(pattern)?),
            (Some(RuleKind::Run), _) => {
                let command = CommandPattern::of_any_program(pattern);
                What::Run(command.map_err(|error| error.to_string())?)
            }
            (Some(RuleKind::Host), _) => {
                let rule = pattern.parse::<HostRule>();
                What::Host(rule.map_err(|error| format!("{error}; {}", error.help()))?)
            }
            _ => What::Reference(name(&text)?),
        };
        // One spelling for what can be spelt in several ways.
        match &what {
            What::Read(path) => text = format!("read:{path}"),
            What::Write(path) => text = format!("write:{path}"),
            What::Run(command) => text = format!("run:{command}"),
            What::Host(hosts) => text = format!("host:{hosts}"),
            _ => {}
        }
        Ok(Self { text, what, subject: None, source: None })
    }

    /// The paths that it is about, where it is about reading or writing; all of them for a rule about
    /// everything of that kind.
    pub(super) fn paths(&self, writing: bool) -> Option<PathPattern> {
        match &self.what {
            What::Read(pattern) if !writing => Some(pattern.clone()),
            What::Write(pattern) if writing => Some(pattern.clone()),
            What::All(RuleKind::Read) if !writing => PathPattern::new("/**").ok(),
            What::All(RuleKind::Write) if writing => PathPattern::new("/**").ok(),
            What::Everything => PathPattern::new("/**").ok(),
            _ => None,
        }
    }

    /// The same rule, for `subject` alone.
    #[must_use]
    pub fn only_for(self, subject: Option<Subject>) -> Self {
        Self { subject, ..self }
    }

    /// The same rule, from `source`: a file and a line.
    #[must_use]
    pub fn from_source(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// The rule in its one spelling.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where it stands, where that is known.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Whether it is about what `subject` does. Where nobody knows who acts, what forbids is for
    /// everyone and what permits is for nobody.
    pub fn is_for(&self, subject: Option<Subject>, reading: Reading) -> bool {
        match (self.subject, subject) {
            (None, _) => true,
            (Some(own), Some(subject)) => own == subject,
            (Some(_), None) => reading == Reading::Forbid,
        }
    }

    /// Whether it covers what is asked.
    pub fn covers(&self, asked: &Asked<'_>, reading: Reading) -> bool {
        match (&self.what, asked.request) {
            (What::Reference(pattern), _) => {
                asked.reference().is_some_and(|reference| pattern.matches(reference))
            }
            (What::Skill(name, arguments), _) => {
                asked.reference().is_some_and(|reference| name.matches(reference))
                    && asked.skill.and_then(|(_, given)| given).is_some_and(|given| match arguments
                    {
                        None => given.is_empty(),
                        Some(pattern) => !given.is_empty() && pattern.matches(given),
                    })
            }
            (What::Run(command), _) if asked.is_command => match reading {
                Reading::Permit => asked.words.as_ref().is_some_and(|words| command.matches(words)),
                Reading::Forbid => asked.parts.iter().any(|part| {
                    command.begins(part) && (command.ends_open() || command.is_length(part.len()))
                }),
            },
            (What::All(RuleKind::Run), _) if asked.is_command => {
                reading == Reading::Forbid || !asked.needs_shell()
            }
            (What::Read(pattern), Some(Request::Read(path)))
            | (What::Write(pattern), Some(Request::Write(path))) => {
                pattern.matches(path) || (reading == Reading::Forbid && is_below(path, pattern))
            }
            (What::Host(hosts), Some(Request::Connect(asked))) => {
                hosts.covers(&asked.host, asked.port)
            }
            (What::Everything, _) | (What::All(RuleKind::Host), Some(Request::Connect(_))) => true,
            _ => false,
        }
    }

    /// The action that `example` describes for this rule, as a person would write it: a command, a
    /// path, a host, a skill with arguments, or a reference.
    pub(super) fn check(
        &self,
        example: &str,
        places: &Places,
        reading: Reading,
    ) -> Result<bool, String> {
        let covers = |action: Action<'_>| self.covers(&action.into(), reading);
        let path = || {
            let text = absolute(&escape(example), places)?;
            let pattern = PathPattern::new(&text).map_err(|error| error.to_string())?;
            Ok::<_, String>(pattern.base().clone())
        };
        Ok(match &self.what {
            What::Read(_) => covers(Action::Request(&Request::Read(path()?))),
            What::Write(_) => covers(Action::Request(&Request::Write(path()?))),
            What::Run(_) | What::All(RuleKind::Run) => covers(Action::Command(example)),
            What::Host(_) | What::All(_) => {
                let (host, port) = Host::parse_with_port(example).map_err(|e| e.to_string())?;
                let port = port.unwrap_or(443);
                let asked = Connection { host, port, method: "GET".to_owned() };
                covers(Action::Request(&Request::Connect(asked)))
            }
            What::Skill(..) => {
                let (id, arguments) =
                    example.split_once(char::is_whitespace).unwrap_or((example, ""));
                covers(Action::Skill { id, arguments })
            }
            What::Everything => covers(Action::Reference(example)),
            What::Reference(_) => {
                let kind = self.text.split_once(':').map_or("", |(kind, _)| kind);
                let reference = match example.split_once(':') {
                    Some((own, _)) if own == kind => example.to_owned(),
                    _ => format!("{kind}:{example}"),
                };
                covers(Action::Reference(&reference))
            }
        })
    }
}

/// Whether `path` lies in a directory that `pattern` covers: who may not touch a directory may not
/// touch what is in it.
fn is_below(path: &FilePath, pattern: &PathPattern) -> bool {
    let above = std::iter::successors(path.parent(), FilePath::parent);
    above.into_iter().any(|directory| pattern.matches(&directory))
}

/// `pattern`, from the root of the disk on.
fn absolute(pattern: &str, places: &Places) -> Result<String, String> {
    let below = |start: &Option<FilePath>, rest: &str, what: &str| match start {
        Some(start) => Ok(format!("{}/{rest}", escape(start.as_str()))),
        None => Err(format!("it needs {what}, and none is known here")),
    };
    if pattern.starts_with('/') {
        return Ok(pattern.to_owned());
    }
    match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            below(&places.home, rest, "a home directory")
        }
        _ => below(&places.workspace, pattern, "a workspace"),
    }
}

impl From<Pattern> for Rule {
    /// The rule about what `pattern` covers by name.
    fn from(pattern: Pattern) -> Self {
        let what = match pattern.as_str() {
            "*" => What::Everything,
            _ => What::Reference(pattern.clone()),
        };
        Self { text: pattern.to_string(), what, subject: None, source: None }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A rule as it is kept: its text alone, where there is no more to it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Kept {
    Text(String),
    Whole {
        rule: String,
        #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
        subject: Option<Subject>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
}

impl Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { text, subject, source, .. } = self.clone();
        let kept = match (subject, source) {
            (None, None) => Kept::Text(text),
            (subject, source) => Kept::Whole { rule: text, subject, source },
        };
        kept.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (text, subject, source) = match Kept::deserialize(deserializer)? {
            Kept::Text(text) => (text, None, None),
            Kept::Whole { rule, subject, source } => (rule, subject, source),
        };
        // What is kept is in our own spelling, and its paths are whole.
        let rule = Self::new(&text, &Places::default()).map_err(serde::de::Error::custom)?;
        Ok(Self { subject, source, ..rule })
    }
}
