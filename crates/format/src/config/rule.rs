//! How a rule of a policy may be spelt, and what it then says.

use std::fmt;
use std::str::FromStr;

use crate::nearest::{list, nearest};

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleKind {
    /// A tool is seen and called.
    Tool,
    /// A skill is seen and opened.
    Skill,
    /// A category is seen and opened.
    Menu,
    /// A file of the workspace is shown.
    File,
    /// A directory of the workspace is shown.
    Dir,
    /// A command is run.
    Run,
    /// A file is read.
    Read,
    /// A file is made, changed or removed.
    Write,
    /// A host is reached.
    Host,
}

/// A rule as Concertina spells it: `*`, or a kind and a pattern.
///
/// The spellings that coding agents have made familiar are read as the rule that they mean.
///
/// ```
/// use concertina_format::config::RuleText;
/// let spelt = |text: &str| text.parse::<RuleText>().map(|rule| rule.to_string());
/// assert_eq!(spelt("tool:sql/*").unwrap(), "tool:sql/*");
/// assert_eq!(spelt("Bash(git:*)").unwrap(), "run:git *");
/// assert_eq!(spelt("Read(.env)").unwrap(), "read:**/.env");
/// assert_eq!(spelt("Skill(deploy *)").unwrap(), "skill:deploy(*)");
/// assert_eq!(spelt("mcp__github__get_issue").unwrap(), "tool:github/get_issue");
/// assert_eq!(spelt("Bsh(ls)").unwrap_err().help, "did you mean `Bash(ls)`?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleText {
    /// What it is about; none where it is about everything.
    pub kind: Option<RuleKind>,
    /// What of that kind, as a pattern.
    pub pattern: String,
    /// For a skill, the arguments it is opened with, as a pattern; empty means without any. None
    /// where they do not matter.
    pub arguments: Option<String>,
}

/// What is wrong with the spelling of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct RuleFault {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

/// The kinds by name.
const KINDS: [(&str, RuleKind); 9] = [
    ("tool", RuleKind::Tool),
    ("skill", RuleKind::Skill),
    ("menu", RuleKind::Menu),
    ("file", RuleKind::File),
    ("dir", RuleKind::Dir),
    ("run", RuleKind::Run),
    ("read", RuleKind::Read),
    ("write", RuleKind::Write),
    ("host", RuleKind::Host),
];

/// The familiar names, and the kind of rule that each means.
const FAMILIAR: [(&str, RuleKind); 8] = [
    ("Bash", RuleKind::Run),
    ("Read", RuleKind::Read),
    ("Edit", RuleKind::Write),
    ("MultiEdit", RuleKind::Write),
    ("NotebookEdit", RuleKind::Write),
    ("Write", RuleKind::Write),
    ("WebFetch", RuleKind::Host),
    ("Skill", RuleKind::Skill),
];

fn fault(message: String, help: impl Into<String>) -> RuleFault {
    RuleFault { message, help: help.into() }
}

impl RuleKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// What covers all that a rule of this kind can be about.
    fn all(self) -> &'static str {
        match self {
            Self::Read | Self::Write => "/**",
            _ => "*",
        }
    }
}

impl FromStr for RuleText {
    type Err = RuleFault;

    fn from_str(text: &str) -> Result<Self, RuleFault> {
        if text == "*" {
            return Ok(Self { kind: None, pattern: text.to_owned(), arguments: None });
        }
        if let Some(name) = text.strip_prefix("mcp__") {
            return server_tool(name, text);
        }
        let name = text.split(['(', ':']).next().unwrap_or_default();
        if let Some((_, kind)) = FAMILIAR.iter().find(|(familiar, _)| *familiar == name) {
            return familiar(*kind, name, text.strip_prefix(name).unwrap_or_default());
        }
        let Some((kind, pattern)) = text.split_once(':') else { return Err(no_kind(text, name)) };
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == kind) else {
            let names = || KINDS.iter().map(|(name, _)| *name);
            let help = nearest(kind, names()).map_or_else(
                || format!("the kinds are {}", list(names())),
                |near| format!("did you mean `{near}:{pattern}`?"),
            );
            return Err(fault(format!("`{kind}` in `{text}` is no kind"), help));
        };
        own(*kind, pattern, text)
    }
}

/// What is wrong with a text that names no kind.
fn no_kind(text: &str, name: &str) -> RuleFault {
    let known = FAMILIAR.iter().map(|(name, _)| *name);
    let help = match nearest(name, known) {
        Some(near) => format!("did you mean `{}`?", text.replacen(name, near, 1)),
        None if text.contains('(') => {
            let known = FAMILIAR.iter().map(|(name, _)| *name);
            format!("known are {}, and `tool:NAME` for any tool", list(known))
        }
        None => format!("write `tool:{text}` or `skill:{text}`"),
    };
    fault(format!("`{text}` names no kind"), help)
}

/// A rule in our own spelling.
fn own(kind: RuleKind, pattern: &str, text: &str) -> Result<RuleText, RuleFault> {
    let mut rule =
        RuleText { kind: Some(kind), pattern: pattern.trim().to_owned(), arguments: None };
    if kind == RuleKind::Skill
        && let Some((skill, arguments)) =
            pattern.strip_suffix(')').and_then(|inside| inside.split_once('('))
    {
        skill.trim().clone_into(&mut rule.pattern);
        rule.arguments = Some(arguments.trim().to_owned());
    }
    checked(rule, text)
}

/// `rule`, where its patterns can be read.
fn checked(rule: RuleText, text: &str) -> Result<RuleText, RuleFault> {
    if rule.pattern.is_empty() {
        let kind = rule.kind.map_or("", RuleKind::as_str);
        return Err(fault(format!("`{text}` names nothing"), format!("write `{kind}:*` for all")));
    }
    for pattern in std::iter::once(&rule.pattern).chain(&rule.arguments) {
        if let Err(error) = globset::Glob::new(pattern) {
            return Err(fault(
                format!("`{text}` is no pattern: {}", error.kind()),
                "write it as in .gitignore, such as `tool:sql/*`",
            ));
        }
    }
    Ok(rule)
}

/// What stands behind a familiar name: nothing, or a pattern in parentheses.
fn familiar(kind: RuleKind, name: &str, rest: &str) -> Result<RuleText, RuleFault> {
    let text = format!("{name}{rest}");
    let whole = RuleText { kind: Some(kind), pattern: kind.all().to_owned(), arguments: None };
    if rest.is_empty() {
        return Ok(whole);
    }
    let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        let help = format!("write `{name}` or `{name}(…)`");
        return Err(fault(format!("`{text}` is not closed, or goes on behind `)`"), help));
    };
    let inside = inside.trim();
    if matches!(inside, "" | "*") {
        return Ok(whole);
    }
    let mut rule = whole;
    match kind {
        RuleKind::Run => {
            // `git:*` is how some write `git *`.
            rule.pattern =
                inside.strip_suffix(":*").map_or(inside.to_owned(), |start| format!("{start} *"));
        }
        RuleKind::Read | RuleKind::Write => rule.pattern = path(kind, inside, &text)?,
        RuleKind::Host => {
            let Some(host) = inside.strip_prefix("domain:") else {
                let help = format!("write `{name}(domain:example.com)`");
                return Err(fault(format!("`{text}` names no domain"), help));
            };
            host.trim().clone_into(&mut rule.pattern);
        }
        _ => {
            let (skill, arguments) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
            skill.clone_into(&mut rule.pattern);
            rule.arguments = Some(arguments.trim().to_owned());
        }
    }
    checked(rule, &text)
}

/// A path as in `.gitignore`: a name without `/` is meant in any directory.
fn path(kind: RuleKind, path: &str, text: &str) -> Result<String, RuleFault> {
    if let Some(path) = path.strip_prefix("//") {
        return Ok(format!("/{path}"));
    }
    if path.starts_with('/') {
        // Elsewhere this starts at the settings file. To guess wrongly would deny nothing.
        let kind = kind.as_str();
        let help =
            format!("write `{kind}:{path}` for that, or `{kind}:.{path}` for the workspace's");
        return Err(fault(format!("`{path}` in `{text}` starts at the root of the disk"), help));
    }
    let anywhere = !path.trim_end_matches('/').contains('/') && !path.starts_with('~');
    Ok(if anywhere && path != "**" { format!("**/{path}") } else { path.to_owned() })
}

/// `server__tool`, `server__*` or `server`.
fn server_tool(name: &str, text: &str) -> Result<RuleText, RuleFault> {
    let (server, tool) = name.split_once("__").unwrap_or((name, "*"));
    if server.is_empty() || tool.is_empty() || name.contains('(') {
        let help = "write `mcp__server__tool`, or `mcp__server` for all its tools";
        return Err(fault(format!("`{text}` names no server's tool"), help));
    }
    let rule = RuleText {
        kind: Some(RuleKind::Tool),
        pattern: format!("{server}/{tool}"),
        arguments: None,
    };
    checked(rule, text)
}

impl fmt::Display for RuleText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind {
            write!(f, "{}:", kind.as_str())?;
        }
        f.write_str(&self.pattern)?;
        match &self.arguments {
            Some(arguments) => write!(f, "({arguments})"),
            None => Ok(()),
        }
    }
}
