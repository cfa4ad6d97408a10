//! `concertina.toml`: text in, settings and findings out.
//!
//! | section | says |
//! |---|---|
//! | `[sources]` | where skills come from, and whose precedence holds |
//! | `[listing]` | how much of the window the index of skills may take |
//! | `[search]` | how skills and tools are ranked, and what turns texts into vectors |
//! | `[context]` | the budget of a run |
//! | `[trust]` | keys that are trusted, and who answers questions |
//! | `[policy]` | what is allowed, asked for and denied |
//! | `[menu.NAME]` | categories of tools |
//! | `[tool.NAME]` | local tools: programs and `SQLite` databases |
//! | `[upstream.NAME]` | MCP servers |
//! | `[procedures]` | procedures that are followed here, and what proves their human checkpoints |
//! | `[run]` | the task and model of `concertina run DIR` |
//! | `[model]`, `[store]`, `[telemetry]`, `[sandbox]` | the model, the state, what is sent where, how programs are held |
//!
//! Unknown keys are errors with a suggestion. A broken part costs only itself: a key that cannot be
//! read keeps its default, a tool, upstream or category with an error is left out whole. A
//! `[policy]` that cannot be read in full is [`PolicySetting::Unreadable`], which means deny.
//!
//! Files are read in the order managed, user, workspace, each onto what came before
//! ([`parse_onto`]). Single values are replaced, unless the managed file set them; lists grow;
//! tools, upstreams and categories keep their first definition. A workspace may only narrow: it sets
//! no store, no trust, no search, no endpoint, no model but `scripted:FILE`, no weaker sandbox and no
//! larger budget (the numbers of `[listing]` and `[context]`), and where a file above states a policy it
//! adds no `allow`.
//!
//! ```
//! use concertina_format::config::{ConfigOrigin, parse};
//!
//! let (config, findings) = parse("[listing]\npercent = 2\nchar = 4000\n", ConfigOrigin::User);
//! assert_eq!(config.listing.percent, 2);
//! assert_eq!(config.listing.chars, 8_000);
//! assert_eq!(findings[0].message, "unknown key `char` in `[listing]`");
//! assert_eq!(findings[0].help.as_deref(), Some("did you mean `chars`?"));
//! assert_eq!((findings[0].line, findings[0].column), (Some(3), Some(1)));
//! ```

mod fields;
mod policy;
mod rule;
mod search;
mod sections;
mod syntax;
mod tool;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};

pub use concertina_types::ConfigOrigin;
use concertina_types::{Diagnostic, Tokens, ToolName, limits};
use serde::Serialize;

pub use policy::{Policy, PolicySetting, PrincipalRules, Rule};
pub use rule::{RuleFault, RuleKind, RuleText};
pub use search::{Embeddings, Search, SentenceEncoder};
pub use tool::{
    Danger, Exec, NeedsSkill, OptionRefused, SQLITE_ROWS, Sqlite, SqliteSource, Tool, ToolKind,
};

/// One `concertina.toml`, in bytes. Settings for hundreds of tools stay below 200 KB.
pub const CONFIG_BYTES: usize = 1024 * 1024;

/// The longest time that a call may be given, in seconds: a day.
const LONGEST_SECONDS: u64 = 86_400;

/// All settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Config {
    /// `[sources]`.
    pub sources: Sources,
    /// `[listing]`.
    pub listing: Listing,
    /// `[search]`.
    pub search: Search,
    /// `[context]`.
    pub context: Context,
    /// `[trust]`.
    pub trust: Trust,
    /// `[policy]`.
    pub policy: PolicySetting,
    /// `[menu.NAME]`, by name.
    pub menu: BTreeMap<String, Category>,
    /// `pinned` in `[menu]`: tools that stand outside all categories, as globs over tool names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pinned_tools: Vec<String>,
    /// `[tool.NAME]`, by name.
    pub tools: BTreeMap<ToolName, Tool>,
    /// `[upstream.NAME]`, by name.
    pub upstreams: BTreeMap<String, Upstream>,
    /// Servers that a file switches off, whoever defines them: `[upstream.NAME] disabled = true`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub switched_off: BTreeSet<String>,
    /// `[procedures]`.
    pub procedures: Procedures,
    /// `[run]`.
    pub run: Run,
    /// `[model]`.
    pub model: Model,
    /// `[store]`.
    pub store: Store,
    /// `[telemetry]`.
    pub telemetry: Telemetry,
    /// `[sandbox]`.
    pub sandbox: Sandbox,
    /// Keys that the managed file set, such as `listing.chars`.
    #[serde(skip)]
    locked: BTreeSet<String>,
}

/// `[sources]`: where skills and servers come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sources {
    /// Directories searched for skills besides the usual ones.
    pub roots: Vec<String>,
    /// Whose precedence holds.
    pub profile: SourceProfile,
    /// Skills and files that are never read, as globs.
    pub exclude: Vec<String>,
    /// Whether the MCP servers that clients' own settings name are used. `.mcp.json` is a project's
    /// and not a client's.
    pub clients: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            profile: SourceProfile::default(),
            exclude: Vec::new(),
            clients: true,
        }
    }
}

/// Which of two skills with one name is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceProfile {
    /// The project's before the user's.
    #[default]
    AgentSkills,
    /// Managed before user before project.
    Claude,
}

/// `[listing]`: how much the index of skills may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The window of the model, in tokens.
    pub window: u64,
    /// The listing's share of it, in hundredths.
    pub percent: u64,
    /// The listing, in characters.
    pub chars: usize,
    /// One entry, in characters.
    pub entry_chars: usize,
    /// Skills that keep their full text longest.
    pub pinned: Vec<String>,
    /// Skills that are not listed, as globs.
    pub exclude: Vec<String>,
    /// Skills below this many tokens stand in the listing with their whole text; 0 inlines none.
    pub inline_tokens: u64,
}

impl Default for Listing {
    fn default() -> Self {
        Self {
            window: limits::WINDOW,
            percent: limits::LISTING_WINDOW_PERCENT,
            chars: limits::LISTING_CHARS,
            entry_chars: limits::LISTING_ENTRY_CHARS,
            pinned: Vec::new(),
            exclude: Vec::new(),
            inline_tokens: 0,
        }
    }
}

/// `[context]`: the budget of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Context {
    /// What one model request may take, in tokens; the whole window unless set.
    pub budget: Tokens,
}

impl Default for Context {
    fn default() -> Self {
        Self { budget: Tokens(limits::WINDOW) }
    }
}

/// `[procedures]`: what is followed here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Procedures {
    /// Files that hold procedures.
    pub files: Vec<String>,
    /// The procedure that every session follows, from its start and again after each end.
    pub always: Option<String>,
    /// Whether the yes of somebody who runs as the same user as the agent proves a checkpoint: for the managed
    /// configuration alone to say.
    pub same_uid_approvals: bool,
}

/// `[trust]`: not for a workspace to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// The program, with its arguments, that answers questions before a person does.
    pub approver: Vec<String>,
    /// Public keys of minisign: a skill signed with one of them is trusted without asking.
    pub keys: Vec<String>,
}

/// `[menu.NAME]`: a category of tools. `NAME = ["pattern"]` in `[menu]` is short for its `tools`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Category {
    /// What people call it.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its tools, as globs over tool names.
    pub tools: Vec<String>,
    /// Upstreams whose tools belong to it.
    pub servers: Vec<String>,
}

/// `[upstream.NAME]`: an MCP server.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Upstream {
    /// How it is reached.
    pub transport: Transport,
    /// Names of environment variables that are passed on to it.
    pub env: Vec<String>,
    /// Environment variables with their values. `${NAME}` stands for a variable of one's own.
    pub set: BTreeMap<String, String>,
    /// Where it runs; the workspace unless set.
    pub cwd: Option<String>,
    /// Headers of every request. `${NAME}` stands for an environment variable.
    pub headers: BTreeMap<String, String>,
    /// The environment variable that holds a bearer token.
    pub bearer_env: Option<String>,
    /// How long one call may take, in seconds.
    pub timeout_s: Option<u64>,
    /// Whether it is told the workspace as its root.
    pub roots: bool,
}

// Values and headers can hold secrets.
impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A program that speaks on its standard streams.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// An address.
    Url(String),
}

/// `[run]`: what `concertina run DIR` does when nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The task.
    pub task: Option<String>,
    /// The model, such as `scripted:FILE`.
    pub model: Option<String>,
}

/// `[model]`: which model answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Model {
    /// `scripted:FILE`, `openai:NAME` or `anthropic:NAME`.
    pub name: Option<String>,
    /// Where the provider is; its own address unless set.
    pub base_url: Option<String>,
    /// The effort asked for.
    pub effort: Option<String>,
    /// What one answer may take, in tokens.
    pub max_output_tokens: Option<u64>,
}

/// `[store]`: where the log lives. Not for a workspace to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Store {
    /// A directory; the state directory unless set.
    pub path: Option<String>,
    /// The address of a database server.
    pub url: Option<String>,
}

/// `[telemetry]`: nothing is sent unless an endpoint is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Telemetry {
    /// An OTLP endpoint.
    pub endpoint: Option<String>,
    /// Whether texts are sent, and not only counts and digests.
    pub content: bool,
}

/// `[sandbox]`: how programs are held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sandbox {
    /// The weakest tier that may be used.
    pub tier: Tier,
}

/// How tightly a program is held; a later one holds tighter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Not at all; every record says so.
    None,
    /// Landlock, seccomp, no capabilities, limits.
    #[default]
    L1,
    /// Also namespaces.
    L2,
    /// Also a private root.
    L3,
}

/// Reads one file on its own. See the [module documentation](self).
pub fn parse(text: &str, origin: ConfigOrigin) -> (Config, Vec<Diagnostic>) {
    parse_onto(Config::default(), text, origin)
}

/// Reads one file onto the settings of the files before it: managed first, then the user's, then the
/// workspace's.
///
/// ```
/// use concertina_format::config::{Config, ConfigOrigin, parse_onto};
///
/// let managed = "[listing]\nchars = 4000\n";
/// let (config, _) = parse_onto(Config::default(), managed, ConfigOrigin::Managed);
/// let (config, findings) = parse_onto(config, "[listing]\nchars = 9000\n", ConfigOrigin::User);
/// assert_eq!(config.listing.chars, 4_000);
/// assert_eq!(findings[0].code, "SET_BY_MANAGED");
/// ```
pub fn parse_onto(base: Config, text: &str, origin: ConfigOrigin) -> (Config, Vec<Diagnostic>) {
    sections::read(base, text, origin)
}
