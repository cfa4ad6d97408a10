//! The text of a skill with its arguments and variables filled in, at invoke only.
//!
//! | token | becomes |
//! |---|---|
//! | `$ARGUMENTS` | the arguments as they were typed |
//! | `$ARGUMENTS[N]`, `$N` | argument N, counted from 0, split as a shell splits words |
//! | `$name` | a named argument; the longest name that fits is taken, letter by letter |
//! | `${CLAUDE_SKILL_DIR}`, `${SKILL_DIR}` | the directory of the skill, with forward slashes |
//! | `${CLAUDE_SESSION_ID}`, `${SESSION_ID}` | the session |
//! | `${CLAUDE_PROJECT_DIR}` | the workspace |
//! | `${CLAUDE_EFFORT}` | the effort in force |
//! | `${CLAUDE_PLUGIN_ROOT}`, `${CLAUDE_PLUGIN_DATA}` | the directories of the plugin that brought the skill |
//! | `` !`command` `` | what the command prints; recognised here, run elsewhere |
//!
//! The body is read once: a value is never looked at again, so a value that holds `$1`,
//! `` !`id` `` or `${SESSION_ID}` comes out letter by letter. A backslash before a token keeps the
//! token and is itself dropped. What counts as code, and where a command stands, is decided as
//! `CommonMark` reads the body.
//!
//! Two profiles differ in what they take for a token, see [`Profile`].
//!
//! ```
//! use concertina_format::expand::{Expansion, expand};
//!
//! let request = Expansion { raw_arguments: Some("42 'two words'"), ..Expansion::default() };
//! let expanded = expand("Fix $ARGUMENTS, then $1. It costs $1,000; see `$1`.", &request);
//! assert_eq!(expanded.text, "Fix 42 'two words', then two words. It costs $1,000; see `$1`.");
//! assert_eq!(expanded.substitutions.len(), 2);
//! ```

mod arguments;
mod markdown;
mod scan;
mod variables;
mod words;

use std::collections::BTreeMap;

use concertina_types::{Diagnostic, Span};
use serde::Serialize;
use serde_json::Value;

pub use scan::expand;
pub(crate) use variables::stands_in_scopes;
pub use words::split_words;

/// The text after expansion, in bytes: twice the largest body. A body of nothing but
/// `$ARGUMENTS` must not multiply a long argument without end.
pub const EXPANDED_BYTES: usize = 8 * 1024 * 1024;

/// Whose rules decide what a token is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Positional arguments only where the file opts in: it declares `arguments` or
    /// `argument-hint`, or uses `$ARGUMENTS`. Prices are not positions (`$1,000`, `$1.50`), and no
    /// argument is put into code or into a command.
    #[default]
    Safe,
    /// As Claude Code does: when any argument is passed, every token is replaced, also in code, in
    /// prices and in commands.
    Claude,
}

/// What the session knows. A variable without a value stays as written and is reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// The directory of the skill, absolute. Backslashes of a Windows path become slashes.
    /// It is inserted without quotes: the skill quotes it where a blank would matter.
    pub skill_dir: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// The workspace, absolute.
    pub project_dir: Option<String>,
    /// The effort in force, such as `high`.
    pub effort: Option<String>,
    /// Where the plugin that brought the skill is installed.
    pub plugin_root: Option<String>,
    /// Where that plugin keeps its data.
    pub plugin_data: Option<String>,
}

/// One request to expand a body.
#[derive(Debug, Clone, Copy)]
pub struct Expansion<'a> {
    /// Whose rules.
    pub profile: Profile,
    /// The arguments as they were typed, if any were.
    pub raw_arguments: Option<&'a str>,
    /// Arguments by name, already checked.
    pub arguments: &'a BTreeMap<String, Value>,
    /// The names that the file declares for its positions, in order.
    pub argument_names: &'a [String],
    /// Whether the file declares `arguments` or `argument-hint`.
    pub opted_in: bool,
    /// What the session knows.
    pub variables: &'a Variables,
}

impl Default for Expansion<'_> {
    /// Nothing passed, nothing declared, nothing known; profile `safe`.
    fn default() -> Self {
        static NO_ARGUMENTS: BTreeMap<String, Value> = BTreeMap::new();
        static NO_VARIABLES: Variables = Variables {
            skill_dir: None,
            session_id: None,
            project_dir: None,
            effort: None,
            plugin_root: None,
            plugin_data: None,
        };
        Self {
            profile: Profile::Safe,
            raw_arguments: None,
            arguments: &NO_ARGUMENTS,
            argument_names: &[],
            opted_in: false,
            variables: &NO_VARIABLES,
        }
    }
}

/// One token that was replaced. Lines and columns are those of the body, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Substitution {
    /// The token as written.
    pub token: String,
    /// What it became.
    pub value: String,
    /// Its line in the body.
    pub line: u32,
    /// Its column in that line, in characters.
    pub column: u32,
}

/// A command whose output belongs into the text: `` !`command` ``, or a fenced block marked `!`.
/// It is data; nothing here runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DynamicCommand {
    /// The command, with values filled in.
    pub command: String,
    /// Whether an argument of the call is part of `command` (profile `claude` only). Such a command
    /// is for an argument vector, never for a shell.
    pub holds_arguments: bool,
    /// The bytes of [`Expanded::text`] that its output replaces.
    pub span: Span,
    /// Its line in the body, from 1.
    pub line: u32,
}

/// An expanded body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Expanded {
    /// The text. Commands stand in it as written until [`fill_commands`].
    pub text: String,
    /// Every token that was replaced, in order.
    pub substitutions: Vec<Substitution>,
    /// Every command, in order.
    pub commands: Vec<DynamicCommand>,
    /// What was found, with lines and columns of the body.
    pub diagnostics: Vec<Diagnostic>,
}

/// The text with the output of its commands in place: output N for command N, inserted as it is and
/// never looked at again. A command without an output stays as written.
///
/// ```
/// use concertina_format::expand::{Expansion, expand, fill_commands};
///
/// let expanded = expand("Changes: !`git diff`", &Expansion::default());
/// assert_eq!(expanded.commands[0].command, "git diff");
/// assert_eq!(fill_commands(&expanded, &["!`id`"]), "Changes: !`id`");
/// ```
pub fn fill_commands<S: AsRef<str>>(expanded: &Expanded, outputs: &[S]) -> String {
    let mut text = String::with_capacity(expanded.text.len());
    let mut done = 0;
    for (command, output) in expanded.commands.iter().zip(outputs) {
        text.push_str(Span::new(done, command.span.start).of(&expanded.text));
        text.push_str(output.as_ref());
        done = command.span.end;
    }
    text.push_str(Span::new(done, expanded.text.len()).of(&expanded.text));
    text
}
