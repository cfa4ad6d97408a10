//! What was found, as data.

use concertina_types::{Severity, Tokens};
use serde::Serialize;

/// What [`super::examine`] found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The version of this shape, [`super::REPORT_VERSION`].
    pub v: u8,
    /// The directory that was looked at.
    pub workspace: String,
    /// The repository that it is in, or the directory itself.
    pub project: String,
    /// The home directory; none where there is none.
    pub home: Option<String>,
    /// The window, in tokens, for which budgets were worked out.
    pub window: u64,
    /// Skills, as Concertina sees them.
    pub skills: Skills,
    /// Files and directories that are almost where a skill is looked for.
    pub near_misses: Vec<NearMiss>,
    /// MCP servers that are configured, by name.
    pub servers: Vec<Server>,
    /// Tools.
    pub tools: Tools,
    /// How programs are held on this machine.
    pub sandbox: SandboxReport,
    /// Clients of which there is a trace.
    pub clients: Vec<ClientReport>,
    /// What is wrong with settings files.
    pub settings: Vec<SettingsFinding>,
    /// Whether nothing is lost or changed on the way to a model.
    pub complete: bool,
    /// The command that helps most now; none where there is nothing to look at.
    pub next: Option<Next>,
}

impl Report {
    /// Whether there is neither a skill nor a server nor a client.
    pub fn is_empty(&self) -> bool {
        self.skills.total == self.skills.bundled
            && self.skills.skipped.is_empty()
            && self.near_misses.is_empty()
            && self.servers.is_empty()
            && self.tools.local.is_empty()
            && self.clients.is_empty()
            && self.settings.is_empty()
    }

    pub(super) fn nothing_is_lost(&self) -> bool {
        let index = &self.skills.index;
        let cut = index.shortened + index.names_only + index.omitted;
        cut == 0
            && self.skills.hidden.iter().all(|hidden| hidden.intended)
            && self.skills.collisions.is_empty()
            && self.skills.skipped.iter().all(|skipped| !skipped.is_loss())
            && self.near_misses.is_empty()
            && self.settings.iter().all(|found| found.severity == Severity::Info)
            && self
                .clients
                .iter()
                .filter_map(|client| client.skills.as_ref())
                .all(|skills| skills.lost.is_empty())
    }
}

/// How programs are held on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxReport {
    /// The tier for a program that only reads; none where nothing is held.
    pub reading: Option<String>,
    /// The tier for a program that writes or reaches hosts; none where it is not run, or nothing is held.
    pub writing: Option<String>,
    /// Why it is so, where something is missing or the settings say so.
    pub reason: Option<String>,
    /// The machine, one feature a line.
    pub machine: Vec<String>,
    /// Escapes that were tried now, and how many of them were held.
    pub tried: usize,
    /// Of those, the ones that were not.
    pub open: Vec<String>,
}

/// Skills, as Concertina sees them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skills {
    /// Usable skill files, shadowed ones included.
    pub total: usize,
    /// How many of them ship with Concertina.
    pub bundled: usize,
    /// Where they are.
    pub from: Vec<From>,
    /// How many a model would see at the start of a session.
    pub visible: usize,
    /// The index that shows them.
    pub index: Index,
    /// Skills that a model does not see at the start, by reason.
    pub hidden: Vec<Hidden>,
    /// Skills that lost their name to another.
    pub collisions: Vec<Collision>,
    /// What was found and cannot be used.
    pub skipped: Vec<SkippedFile>,
    /// What checking the files found, most frequent first.
    pub findings: Vec<FindingCount>,
}

/// A directory of skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct From {
    /// The directory, or `bundled`.
    pub path: String,
    /// What its skills count as.
    pub scope: &'static str,
    /// How many there are.
    pub skills: usize,
}

/// The index of skills, as a model is shown it; where skills wait for trust, as if they had it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Index {
    /// What it takes, by o200k.
    pub tokens: Tokens,
    /// What it may take.
    pub budget_tokens: Tokens,
    /// Its length.
    pub chars: usize,
    /// What it may be long.
    pub budget_chars: usize,
    /// Skills with all their text.
    pub full: usize,
    /// Skills whose description is cut.
    pub shortened: usize,
    /// Skills by name only.
    pub names_only: usize,
    /// Skills that are only counted.
    pub omitted: usize,
    /// Whether skills are counted here that a model sees only once this project is trusted.
    pub once_trusted: bool,
}

/// Skills that a model does not see at the start, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hidden {
    /// The code, as `concertina explain` shows it.
    pub code: String,
    /// The reason, in words.
    pub text: String,
    /// Whether the author or a person wanted it so.
    pub intended: bool,
    /// The skills, sorted.
    pub names: Vec<String>,
    /// Their files, in the same order.
    pub paths: Vec<String>,
}

/// A skill that lost its name to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Collision {
    /// The name.
    pub name: String,
    /// By what the loser can still be opened.
    pub id: String,
    /// The file of the one that has the name.
    pub kept: String,
    /// The file of the loser.
    pub lost: String,
}

/// Something that was found and is no usable skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// Where.
    pub path: String,
    /// A stable code.
    pub code: String,
    /// Why.
    pub reason: String,
}

impl SkippedFile {
    /// A directory that was reached twice costs nothing.
    pub(super) fn is_loss(&self) -> bool {
        self.code != "SEEN_ALREADY"
    }
}

/// How often one finding occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindingCount {
    /// The code.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// In how many skills.
    pub skills: usize,
}

/// Something that is almost where a skill is looked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NearMiss {
    /// What is there.
    pub path: String,
    /// Where it would be found.
    pub expected: String,
    /// Why it is not found.
    pub reason: String,
    /// How many skills it holds.
    pub skills: usize,
}

/// An MCP server. Arguments, variables and paths of addresses are left out: they can hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Its name in the settings.
    pub name: String,
    /// `command`, `url`, or `unknown`.
    pub transport: &'static str,
    /// The program, or scheme and host.
    pub target: String,
    /// The settings that name it.
    pub configured: Vec<Configured>,
}

/// One mention of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Configured {
    /// The client, or `concertina`.
    pub client: String,
    /// The settings file.
    pub path: String,
    /// Whether the client starts it.
    pub state: ServerState,
}

/// Whether a client starts a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Yes.
    On,
    /// Only where the project is trusted.
    IfTrusted,
    /// The settings switch it off.
    Off,
}

/// Tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tools {
    /// Tools that `concertina.toml` defines.
    pub local: Vec<String>,
    /// What their definitions take together, by o200k.
    pub tokens: Tokens,
    /// How many tools the servers have: not known, since no server is started.
    pub of_servers: Option<usize>,
}

/// One client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientReport {
    /// A stable name.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The version whose habits are known; none where no version was watched.
    pub observed: Option<String>,
    /// Settings files that were read.
    pub settings: Vec<String>,
    /// How many servers it is told of.
    pub servers: usize,
    /// What it makes of the skills; none where nothing is known of that.
    pub skills: Option<ClientSkills>,
}

/// What a client makes of the skills.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientSkills {
    /// Directories that it reads and that are there.
    pub reads: Vec<String>,
    /// Skill files that there are for it to list.
    pub total: usize,
    /// How many it lists.
    pub listed: usize,
    /// How many it brings along and lists as well; none where that is not known.
    pub own: Option<usize>,
    /// What names and descriptions take as it lists them.
    pub tokens: Amount,
    /// What it loses or changes, without saying so to a person.
    pub lost: Vec<Loss>,
    /// What it may lose: nobody has seen what it does.
    pub unknown: Vec<Loss>,
    /// Skills that stay out because their author wants it so.
    pub withheld: usize,
}

/// A number of tokens and how it was arrived at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// The number.
    pub count: Tokens,
    /// What counted; estimates say so.
    pub tokenizer: &'static str,
    /// Whether it is what the client's own model counts.
    pub exact: bool,
}

/// Skills that a client loses or changes, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// A stable code, such as `LAYOUT_NOT_READ`.
    pub code: &'static str,
    /// What happens and why, in words.
    pub text: String,
    /// The directory, where that is the reason.
    pub path: Option<String>,
    /// How many tokens of names and descriptions go missing, counted as for the whole.
    pub tokens: Tokens,
    /// The skills, sorted.
    pub names: Vec<String>,
}

/// What is wrong with a settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingsFinding {
    /// The client, or `concertina`.
    pub client: String,
    /// The file.
    pub path: String,
    /// The line, from 1, where it concerns a place.
    pub line: Option<u32>,
    /// The character in that line, from 1.
    pub column: Option<u32>,
    /// A stable code.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What happened.
    pub message: String,
}

/// A command, and why it is the one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Next {
    /// To be typed as it stands.
    pub command: String,
    /// What it shows or mends.
    pub why: String,
}
