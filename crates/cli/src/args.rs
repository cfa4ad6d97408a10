//! What can be typed.

mod approve;
mod audit;
mod receipt;
mod sop;
mod supply;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use concertina_types::{env, limits};

pub(crate) use approve::{ApproveCommand, Scope};
pub(crate) use audit::{AuditCommand, ByArg, PermissionsCommand, VerifyArgs as AuditVerifyArgs};
pub(crate) use receipt::{
    AboutArgs, ExportArgs, GitArgs, ReceiptCommand, SetupCommand, VerifyArgs as ReceiptVerifyArgs,
};
pub(crate) use sop::{FormatArg, GraphArgs, SopArgs, SopCommand, SopStartArgs, SopSubmitArgs};
pub(crate) use supply::{
    ConsentArgs, InstallArgs, KeygenArgs, LockArgs, ScopeArg, SignArgs, UpdateArgs, VerifyArgs,
};

const AFTER_HELP: &str = "\
First steps:
  concertina demo                      an agent says that tests passed, and the commit waits for them
  concertina doctor                    what is here, what a model sees of it, what to do next
  concertina trust                     let the model see what this workspace brings
  concertina skill list                what exists here, and who may see it
  concertina skill list --render       the exact index that a model would be shown
  concertina explain skill:NAME        why a skill is or is not visible
  concertina run DIR                   let a model work in DIR

Exit codes:
  0 fine, 1 findings or a failed check, 2 usage, 3 denied or approval needed, 4 not found,
  5 environment: files, network, keys, 6 a fault of concertina";

/// The whole command line, with the environment variables that it reads.
pub(crate) fn command() -> clap::Command {
    let width = env::ALL.iter().map(|(name, _)| name.len()).filter(|len| *len < 30).max();
    let width = width.unwrap_or_default();
    let variables = env::ALL.iter().map(|(name, about)| format!("\n  {name:width$}  {about}"));
    let help = format!("{AFTER_HELP}\n\nEnvironment:{}", variables.collect::<String>());
    Arguments::command().after_long_help(help)
}

/// Show an agent only what its present step needs, let it do only what that step allows, and prove
/// both
#[derive(Debug, Parser)]
#[command(name = "concertina", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Print data as JSON; words still go to standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch a procedure refuse an agent's word and take what really ran: a repository, tests and a commit, in seconds
    Demo(DemoArgs),
    /// Say what is here, what a model sees of it, what is lost on the way, and what to do next
    Doctor,
    /// Let a model work in a directory that holds skills and tools
    Run(RunArgs),
    /// List, show, check, install, lock and sign skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// List and show tools
    #[command(subcommand)]
    Tool(ToolCommand),
    /// Check, draw and follow procedures
    #[command(subcommand)]
    Sop(SopCommand),
    /// Search skills, tools and examples
    Find(FindArgs),
    /// Unfold one thing: a skill, a section, a file of a skill, a tool, a menu, a result
    Open(OpenArgs),
    /// Run a tool that is visible in a session
    Call(CallArgs),
    /// Fold a skill or a menu back
    Close(CloseArgs),
    /// Say whether something is visible and callable, and why
    Explain(ExplainArgs),
    /// Report that a file was read, written or edited: skills that wait for it become active
    Touch(TouchArgs),
    /// Trust the skills and settings that a workspace brings, as they are now
    Trust(TrustArgs),
    /// Begin, look at and take up sessions
    #[command(subcommand)]
    Session(SessionCommand),
    /// Serve skills and tools to an MCP client on standard input and output
    Mcp(McpArgs),
    /// Serve MCP clients over HTTP
    Serve(ServeArgs),
    /// Answer what waits for a person's consent
    #[command(subcommand)]
    Approve(ApproveCommand),
    /// Check the logs, and look at what was done, refused and claimed
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Check and list receipts: signed statements of what was run and what came of it
    #[command(subcommand)]
    Receipt(ReceiptCommand),
    /// Let other programs ask Concertina
    #[command(subcommand)]
    Setup(SetupCommand),
    /// Say what a skill would have to declare
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Measure how well requests reach the tool that serves them
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Read figures off the logs of all sessions
    #[command(subcommand)]
    Stats(StatsCommand),
    /// Look at the MCP servers behind, log in to one, approve what changed
    #[command(subcommand)]
    Upstream(UpstreamCommand),
    /// Count the tokens of a file, or of standard input with `-`
    Tokens(TokensArgs),
    /// End servers when whoever started them is gone
    #[command(name = "__guard", hide = true)]
    Guard,
    /// Print a completion script for a shell
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Also write the run as one page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Keep the repository, the log and the key in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

/// Where to look for skills and which session to act on.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Look for skills in this directory only; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// Act on behalf of this person or role, as the policy names it
    #[arg(long, value_name = "NAME")]
    pub(crate) principal: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SessionArgs {
    /// The session to act in, `last` for the latest [default: the one that
    /// `CONCERTINA_SESSION` names, or one that is not kept]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// A person
    User,
    /// The model
    Model,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Commands {
    /// What the skill says under `on_unexpected`; where it says nothing, `mark`
    Declared,
    /// Do not open the skill
    Abort,
    /// Say in its place that it was not run, and why
    Mark,
    /// Put nothing in its place
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Positional arguments only where the skill opts in, never in code
    Safe,
    /// As Claude Code expands them
    Claude,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The directory: its concertina.toml, its skills, its tools. Whoever names it vouches for it
    /// [default: the current directory, which has to be trusted]
    pub(crate) dir: Option<PathBuf>,
    /// What to do [default: `task` under [run] in the directory's concertina.toml]
    pub(crate) task: Option<String>,
    /// Who thinks: scripted:FILE, openai:NAME or anthropic:NAME
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The address of an OpenAI- or Anthropic-compatible server
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The size of the model's window, in tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<u64>,
    /// Act on behalf of this person or role, as the policy names it
    #[arg(long, value_name = "NAME")]
    pub(crate) principal: Option<String>,
    /// Agree beforehand to what asks; never to what is denied or not declared, or wants typed words
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List skills, or print the index that a model is shown
    List(ListArgs),
    /// Print a skill as its author wrote it
    Show(ShowArgs),
    /// Check skill files and say what is wrong, where, and what to do
    Check(CheckArgs),
    /// Print what has to be done before a skill, in order
    Plan {
        /// The skill's name
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Install a skill from a directory, an archive or an address
    Install(InstallArgs),
    /// Bring installed skills up to date from where they came
    Update(UpdateArgs),
    /// Record in skills.lock what exactly skills are, or check that they still are
    Lock(LockArgs),
    /// Make a key to sign skills with
    Keygen(KeygenArgs),
    /// Sign a skill as it is now
    Sign(SignArgs),
    /// Check that a skill is what somebody signed
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Only what the model or a person may see
    #[arg(long = "for", value_name = "WHO")]
    pub(crate) reader: Option<Who>,
    /// Also list skills that wait for a file and skills that lost their name to another
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the exact index that a model is shown
    #[arg(long)]
    pub(crate) render: bool,
    /// The size of the model's window, in tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<u64>,
    /// The size of the index, in characters
    #[arg(long, value_name = "CHARS")]
    pub(crate) budget_chars: Option<usize>,
    /// List only the skills that lost their name to another
    #[arg(long)]
    pub(crate) shadowed: bool,
    /// List only what was found and left out, and why
    #[arg(long)]
    pub(crate) skipped: bool,
    /// Say how many bytes were read
    #[arg(long)]
    pub(crate) trace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The skill's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Only a part: `meta` (the frontmatter), `body`, or the title of a section
    #[arg(long)]
    pub(crate) part: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A SKILL.md, a skill's directory, a directory of skills, or a repository
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Accept only what the standard allows
    #[arg(long)]
    pub(crate) strict: bool,
    /// Check again whenever a file changes, until stopped
    #[arg(long, conflicts_with = "sarif")]
    pub(crate) watch: bool,
    /// Print the findings as SARIF, for code hosts and editors
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    /// List the tools that may be called now
    List {
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        session: SessionArgs,
        /// Also list hidden tools, with the reason
        #[arg(long)]
        all: bool,
        /// Check that every visible tool can be called now; exit 1 where one cannot
        #[arg(long)]
        verify: bool,
    },
    /// Find tools that are easily mistaken for each other, and what is wrong with single ones
    Lint {
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Print a tool's definition
    Show {
        /// The tool's name
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// List the categories of tools
    Menu {
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        session: SessionArgs,
        /// Count one of each pair of tools that are easily mistaken for each other
        #[arg(long)]
        dedupe: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum UpstreamCommand {
    /// List the servers that settings name, and how they stand
    List {
        /// Start those that were never seen, to learn what they bring
        #[arg(long)]
        start: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Log in to a server at an address
    Login {
        /// The server's name
        server: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Show how tools changed after they were approved and which skills are new, and approve exactly that
    Approve {
        /// The server's name
        server: String,
        /// This tool only
        tool: Option<String>,
        /// Approve what was shown under this digest; without it, it is shown and nothing is approved
        #[arg(long)]
        digest: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// What you need, in your own words
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// How many hits
    #[arg(short, default_value_t = limits::FIND_HITS as u16, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) k: u16,
    /// Only this kind: skill, tool, section, menu, example or evidence
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Search inside this, such as skill:NAME
    #[arg(long = "in", value_name = "REF")]
    pub(crate) within: Option<String>,
    /// Search as a person or as the model
    #[arg(long = "as", value_name = "WHO", default_value = "model")]
    pub(crate) reader: Who,
    /// Say which words made each hit one, how the scores come about, and what beat what
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// A reference, such as skill:NAME, skill:NAME#SECTION, tool:NAME, menu:NAME, ev:3@1-20
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// A skill's arguments as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "raw_args")]
    pub(crate) args: Option<String>,
    /// A skill's arguments as typed
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) raw_args: Option<String>,
    /// A section or a file of a skill
    #[arg(long)]
    pub(crate) part: Option<String>,
    /// Open as a person or as the model
    #[arg(long = "as", value_name = "WHO", default_value = "user")]
    pub(crate) reader: Who,
    /// Whose rules of expansion apply
    #[arg(long, default_value = "safe")]
    pub(crate) profile: ProfileArg,
    /// What happens where a command in the skill's text may not run
    #[arg(long, value_name = "HOW", default_value = "declared")]
    pub(crate) commands: Commands,
    /// Agree beforehand to what asks; never to what is denied or not declared, or wants typed words
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show what would be opened, run nothing and record nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// List every token that was replaced
    #[arg(long)]
    pub(crate) trace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool's name
    pub(crate) tool: String,
    /// Its arguments as a JSON object
    #[arg(value_name = "ARGS")]
    pub(crate) arguments: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Call as a person or as the model
    #[arg(long = "as", value_name = "WHO", default_value = "user")]
    pub(crate) reader: Who,
    /// Agree beforehand to what asks; never to what is denied or wants typed words
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CloseArgs {
    /// What to fold back: skill:NAME or menu:NAME
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Close as a person or as the model
    #[arg(long = "as", value_name = "WHO", default_value = "user")]
    pub(crate) reader: Who,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A reference, such as skill:NAME or tool:NAME
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// What a user said: where the thing ranks for it, and what beats it
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// What a touch of this file would do: each pattern that the skill waits for, and its result
    #[arg(long, value_name = "PATH")]
    pub(crate) touch: Option<PathBuf>,
    /// Explain for a person or for the model
    #[arg(long = "as", value_name = "WHO", default_value = "model")]
    pub(crate) reader: Who,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    /// It was read
    Read,
    /// It was written
    Write,
    /// It was edited
    Edit,
}

#[derive(Debug, Args)]
pub(crate) struct TouchArgs {
    /// The files, relative to the workspace or absolute
    #[arg(required = true, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// What was done to them; each of them activates alike
    #[arg(long, value_name = "WHAT", default_value = "read")]
    pub(crate) op: Operation,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// What to trust: a workspace, a directory in it, or one skill
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Take trust back
    #[arg(long, conflicts_with = "list")]
    pub(crate) undo: bool,
    /// Only list what would be trusted, and whether it is
    #[arg(long)]
    pub(crate) list: bool,
    /// Only show what changed since it was trusted
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub(crate) diff: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Begin a session and print its id
    New {
        #[command(flatten)]
        place: PlaceArgs,
        /// Who composes the requests to the model
        #[arg(long, value_name = "MODE", default_value = "owned")]
        mode: ModeArg,
        /// The size of the model's window, in tokens
        #[arg(long, value_name = "TOKENS")]
        window: Option<u64>,
    },
    /// List sessions, the latest first
    List,
    /// Show what each turn of a session disclosed and took
    Show {
        /// The session; `last` is the one written to last
        id: String,
        /// Only this turn
        #[arg(long)]
        turn: Option<u32>,
    },
    /// Print exactly what a model is shown
    Render {
        /// The session; `last` is the one written to last [default: a new one that is not kept]
        id: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
        /// Only one part: tools, mechanism, index, skills, evidence, conversation, card; or body,
        /// which is all that opening and talking added
        #[arg(long)]
        layer: Option<String>,
        /// As it was after this event
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        /// The size of the model's window, in tokens (for a new session)
        #[arg(long, value_name = "TOKENS")]
        window: Option<u64>,
    },
    /// Begin the next turn of a session and print what is new to the model
    Turn {
        /// The session; `last` is the one written to last
        id: String,
        /// What a person says
        text: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Show what the context holds, in tokens
    Context {
        /// The session; `last` is the one written to last
        id: String,
    },
    /// Fold the conversation; tasks and open skills stay, the index is shown again once
    Compact {
        /// The session; `last` is the one written to last
        id: String,
    },
    /// Settle what a break left open, and go on where a model is given
    Resume {
        /// The session; `last` is the one written to last
        id: String,
        /// Who thinks: scripted:FILE, openai:NAME or anthropic:NAME
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// The address of an OpenAI- or Anthropic-compatible server
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
    },
    /// List the hooks that open skills brought
    Hooks {
        /// The session; `last` is the one written to last
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The session to go on in [default: the one that `CONCERTINA_SESSION` names, or a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// List the tools that are visible now beside the four, for clients that list again when the
    /// list changes
    #[arg(long)]
    pub(crate) listed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 is any free one
    #[arg(default_value = "127.0.0.1:7337")]
    pub(crate) address: SocketAddr,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The tokens that are accepted, one a line: TOKEN, or PRINCIPAL TOKEN [default: one that is made
    /// once and kept below the state directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    pub(crate) token_file: Option<PathBuf>,
    /// The tokens that answer questions of consent and open nothing else, one a line: TOKEN, or NAME TOKEN,
    /// and behind it the principals whose questions it answers, where not everybody's
    #[arg(long, value_name = "FILE")]
    pub(crate) approver_token_file: Option<PathBuf>,
    /// Let every program on this machine ask, without a token
    #[arg(long)]
    pub(crate) no_token: bool,
    /// Listen also where other machines can reach it; wants --token-file
    #[arg(long, requires = "token_file")]
    pub(crate) remote: bool,
    /// Answer also to this name in the Host header; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Let pages of this origin ask; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// List the tools that are visible now beside the four, for clients that list again when the
    /// list changes
    #[arg(long)]
    pub(crate) listed: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Concertina composes every request to the model
    #[default]
    Owned,
    /// Somebody else does: what is opened stands in the answer
    Blind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Measure how well the search finds what serves a request, and knows when nothing does
    Route(RouteArgs),
    /// Compare all tools in view, menus and a search: how often the first choice serves, and the
    /// tokens that are shown for it
    Tools {
        /// The tools, one JSON object a line: id, name, description, and params, category where known
        #[arg(long, value_name = "FILE")]
        catalog: PathBuf,
        /// The requests, one JSON object a line: query, relevant
        #[arg(long, value_name = "FILE")]
        queries: PathBuf,
    },
}

const ROUTE_HELP: &str = "\
Figures, from 0 to 1:
  hit@1        of the requests that something serves: the share whose first document serves them
  recall@K     the share of the documents serving a request that is among the first K, on average
  nDCG@10      the same with less credit for each lower rank; a document serves or does not
  kept         of the requests that something serves: the share that was answered
  turned away  of the requests that nothing serves: the share that was not answered

The ranking counts also where the search says that nothing fits. A figure without a request that
it speaks of is `-`, null in JSON. Intervals are at 95 % (Wilson's; of a difference, the one of
Agresti and Min). Lines that cannot be used and ids that the catalogue lacks are named and left out;
two rows with one id are an error. With --json there are also the times, the rank of the first
document that serves, and which document won in place of which.";

#[derive(Debug, Args)]
#[command(after_help = ROUTE_HELP)]
pub(crate) struct RouteArgs {
    /// The documents, one JSON object a line: id, name, description, and params, body (texts),
    /// examples, `not_for` (lists of texts) where known
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: PathBuf,
    /// The requests, one JSON object a line: query, relevant (the ids that serve it, none where
    /// nothing does), and kind, lang where known
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: PathBuf,
    /// More requests, which nothing serves: query; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) none: Vec<PathBuf>,
    /// First make so many requests of each document its examples, and measure the others
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) examples: Option<u16>,
    /// The K of one more recall, `recall_at_k` in JSON
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) k: u16,
    /// Rank by [search.weights] of this concertina.toml [default: by the search's own weights]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Also rank by those of another one, and compare the two request by request
    #[arg(long, value_name = "FILE")]
    pub(crate) compare: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StatsCommand {
    /// How often a search led to what was opened, what opening loaded, and how often permission
    /// stopped a call
    Routing,
}

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    /// The file, or `-` for standard input
    pub(crate) file: PathBuf,
    /// For this model; without it, o200k
    #[arg(long)]
    pub(crate) model: Option<String>,
}
