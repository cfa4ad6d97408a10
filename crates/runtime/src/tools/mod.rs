//! What runs when a call is admitted.
//!
//! A new kind of tool is a new file here, a variant of [`Runner`], and a `kind` in the settings.
//! Nothing runs without a [`Ticket`], and a ticket is consumed by the run.

mod closed;
mod confined;
mod define;
mod exec;
mod executor;
mod sqlite;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use concertina_core::catalog::ToolEntry;
use concertina_core::policy::{Access, FilePath, PathPattern, Request};
use concertina_core::session::{Held as HeldBack, KeptFrom, Pin, SkillCommand, Targets, Ticket};
use concertina_types::{ToolName, is_secret_variable, limits};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::Cancel;
use crate::approval::{paths, targets};
use crate::upstream::{Call, Caller, Nobody, Upstreams};

pub use confined::{SandboxExecutor, executor, machine};
pub(crate) use define::define;
pub use exec::ExecTool;
pub(crate) use exec::environment;
pub use executor::{
    Execution, ExecutionError, Executor, Held, Invocation, PlainExecutor, RefusedHost,
};
pub use sqlite::SqliteTool;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It ran to its end.
    Done {
        /// The exit code of a program; zero for tools that are not programs.
        exit: i32,
        /// What it produced.
        output: String,
        /// Bytes dropped because of a limit.
        dropped: u64,
        /// What came besides text, for whoever can pass it on.
        attached: Option<Box<Attached>>,
        /// How a program was held.
        held: Option<Held>,
    },
    /// It did not run, or was stopped.
    Failed {
        /// A stable code, such as `TIMEOUT`.
        code: String,
        /// What happened and what to do.
        message: String,
        /// The error that a server refused with, as its protocol has it, for whoever can pass it on.
        error: Option<Box<Value>>,
    },
}

/// What a server's tool returned besides text, as its protocol has it. Never on the record: the
/// record has the text that stands for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attached {
    /// All pieces of content, text among them, in order.
    pub content: Vec<Value>,
    /// The structured result.
    pub structured: Option<Value>,
    /// What the server says about the result.
    pub meta: Option<Value>,
}

/// A call that was started.
pub enum Running {
    /// It runs where it is told to, and keeps that thread busy.
    Here(Box<dyn FnOnce() -> Outcome + Send>),
    /// It runs elsewhere; the future waits for it, on any executor.
    Elsewhere(BoxFuture<'static, Outcome>),
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here(_) => "Here",
            Self::Elsewhere(_) => "Elsewhere",
        })
    }
}

impl Running {
    /// Waits for the end, on this thread.
    pub fn wait(self) -> Outcome {
        match self {
            Self::Here(run) => run(),
            Self::Elsewhere(outcome) => futures_executor::block_on(outcome),
        }
    }
}

impl Outcome {
    /// It ran to its end and gave text only.
    pub fn done(exit: i32, output: impl Into<String>, dropped: u64) -> Self {
        Self::Done { exit, output: output.into(), dropped, attached: None, held: None }
    }

    /// It did not run, or was stopped.
    pub fn failed(code: &str, message: impl Into<String>) -> Self {
        Self::Failed { code: code.to_owned(), message: message.into(), error: None }
    }
}

/// How a program was held, and what it was kept from: hosts, by what the proxy says, and files, by what
/// the program itself says of them.
pub(crate) fn kept(outcome: &Outcome, directory: &Path) -> HeldBack {
    let Outcome::Done { exit, output, held: Some(held), .. } = outcome else {
        return HeldBack::default();
    };
    let hosts = held.refused.iter().map(|host| KeptFrom {
        what: host.host.clone(),
        object: host.request.clone(),
        code: host.code.clone(),
        reason: host.reason.clone(),
    });
    let mut refused: Vec<KeptFrom> = hosts.collect();
    if *exit != 0 {
        refused
            .extend(output.lines().filter_map(|line| denied(line, directory)).take(DENIALS_TOLD));
    }
    HeldBack { tier: Some(held.tier.clone()), refused, witness: None }
}

/// Complaints of one program that are put on the record: the first say what the others do.
const DENIALS_TOLD: usize = 20;

/// What a program that ran in `directory` says that it was denied, where a line says so:
/// `cat: /etc/shadow: Permission denied`, `touch: cannot touch 'out/x': Permission denied`.
fn denied(line: &str, directory: &Path) -> Option<KeptFrom> {
    const WORDS: [&str; 3] =
        ["Permission denied", "Operation not permitted", "Read-only file system"];
    const CHANGES: [&str; 5] = ["touch ", "create ", "remove ", "move ", "overwrite "];
    let (before, word, after) = WORDS
        .iter()
        .find_map(|word| line.split_once(word).map(|(before, after)| (before, word, after)))?;
    let object = in_quotes(after).or_else(|| in_quotes(before)).unwrap_or_else(|| {
        let part = before.trim_end_matches([' ', ':', '(']).rsplit(": ").next().unwrap_or_default();
        // A shell says `cannot create out/x`.
        part.strip_prefix("cannot create ").unwrap_or(part)
    });
    let object: String = object.trim().chars().take(limits::REF_BYTES / 4).collect();
    let is_change =
        *word == "Read-only file system" || CHANGES.iter().any(|verb| before.contains(verb));
    let path = directory.join(&object).to_str().and_then(|path| FilePath::new(path).ok());
    Some(KeptFrom {
        reason: format!("the program says: {word}; what it may reach is in its `permissions`"),
        code: "SANDBOX_REFUSED".to_owned(),
        object: path.filter(|_| !object.is_empty()).map(if is_change {
            Request::Write
        } else {
            Request::Read
        }),
        what: object,
    })
}

/// What stands between quotes, where anything does: the last of it.
fn in_quotes(text: &str) -> Option<&str> {
    [('\'', '\''), ('‘', '’'), ('"', '"'), ('`', '`')].into_iter().find_map(|(open, close)| {
        let (before, _) = text.rsplit_once(close)?;
        before.rsplit_once(open).map(|(_, inside)| inside).filter(|inside| !inside.is_empty())
    })
}

/// What runs a tool.
#[derive(Debug, Clone)]
pub enum Runner {
    /// A program.
    Exec(ExecTool),
    /// A query on a database file.
    Sqlite(SqliteTool),
}

impl Runner {
    /// The kind, as written in the settings.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Exec(_) => "exec",
            Self::Sqlite(_) => "sqlite",
        }
    }
}

/// The tools of a workspace, by name, and what runs their programs.
#[derive(Clone)]
pub struct Toolbox {
    runners: BTreeMap<ToolName, Runner>,
    executor: Arc<dyn Executor>,
    /// The directory in which programs run unless they say otherwise.
    workspace: PathBuf,
    /// What commands of skills see of the environment.
    environment: Vec<(String, String)>,
    /// The servers that bring tools.
    upstreams: Option<Arc<dyn Upstreams>>,
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolbox").field("runners", &self.runners).finish_non_exhaustive()
    }
}

impl Toolbox {
    /// The tools `runners`, whose programs run in `workspace`.
    pub fn new(
        runners: BTreeMap<ToolName, Runner>,
        executor: Arc<dyn Executor>,
        workspace: PathBuf,
    ) -> Self {
        Self { runners, executor, workspace, environment: Vec::new(), upstreams: None }
    }

    /// The same, with the environment that commands of skills see.
    #[must_use]
    pub fn with_environment(mut self, environment: Vec<(String, String)>) -> Self {
        self.environment = environment;
        self
    }

    /// The tools that are defined here.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.runners.keys()
    }

    /// What its programs get of the environment that is secret.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let programs = self.runners.values().filter_map(|runner| match runner {
            Runner::Exec(program) => Some(program.environment()),
            Runner::Sqlite(_) => None,
        });
        let all = programs.flatten().chain(&self.environment);
        all.filter(|(name, value)| is_secret_variable(name, value)).map(|(_, value)| value.as_str())
    }

    /// Lets `upstreams` run what is not defined here.
    pub(crate) fn attach(&mut self, upstreams: Arc<dyn Upstreams>) {
        self.upstreams = Some(upstreams);
    }

    /// Runs the call that `ticket` admits, with nobody to talk back to. The ticket is gone
    /// afterwards, whatever happens.
    pub fn run(&self, ticket: Ticket, cancel: &Cancel) -> Outcome {
        self.start(ticket, cancel, Arc::new(Nobody)).wait()
    }

    /// Starts the call that `ticket` admits. The ticket is gone afterwards, whatever happens.
    pub fn start(&self, ticket: Ticket, cancel: &Cancel, caller: Arc<dyn Caller>) -> Running {
        let (tool, arguments) = (ticket.tool().clone(), ticket.arguments().clone());
        let cancel = cancel.clone();
        if ticket.command().is_some() {
            let runner = self.command_runner();
            return Running::Here(Box::new(move || runner.run(ticket, &cancel)));
        }
        match (self.runners.get(&tool).cloned(), &self.upstreams) {
            (Some(Runner::Exec(program)), _) => {
                let (executor, workspace) = (Arc::clone(&self.executor), self.workspace.clone());
                let bounds = Bounds::of(&ticket);
                Running::Here(Box::new(move || {
                    program.run(&arguments, bounds, executor.as_ref(), &workspace, &cancel)
                }))
            }
            (Some(Runner::Sqlite(database)), _) => {
                Running::Here(Box::new(move || database.run(&arguments, &cancel)))
            }
            (None, Some(upstreams)) => {
                Running::Elsewhere(upstreams.call(Call { tool, arguments, cancel, caller }))
            }
            (None, None) => {
                let text =
                    format!("{tool} is no longer defined in the settings, so it was not run");
                Running::Here(Box::new(move || Outcome::failed("TOOL_GONE", text)))
            }
        }
    }

    /// What a call of `tool` really means: what it runs, and where the arguments lead that are paths of a
    /// program; others have their own idea of paths.
    pub(crate) fn targets(&self, tool: &ToolEntry, arguments: &Value) -> Targets {
        let Some(Runner::Exec(program)) = self.runners.get(&tool.name) else {
            return Targets::default();
        };
        let directory = program.directory(&self.workspace);
        Targets {
            argv: program.argv(arguments),
            paths: paths(&directory, &tool.parameters.value(), arguments),
            ..Targets::default()
        }
    }

    /// The same with what a person is shown besides, for where one is asked, and the code that would run.
    pub(crate) fn shown(&self, found: Targets, tool: &ToolName, arguments: &Value) -> Targets {
        let (shown, pins) = match self.runners.get(tool) {
            Some(Runner::Exec(program)) => program.targets(arguments, &self.workspace),
            Some(Runner::Sqlite(_)) | None => {
                (targets(&self.workspace, arguments, &[], &[]), Vec::new())
            }
        };
        Targets { shown, pins, ..found }
    }

    /// The directory in which programs and commands run unless they say otherwise.
    pub(crate) fn directory(&self) -> &Path {
        &self.workspace
    }

    /// What runs commands of skills, as it is now.
    pub(crate) fn command_runner(&self) -> CommandRunner {
        CommandRunner {
            executor: Arc::clone(&self.executor),
            directory: self.workspace.clone(),
            environment: self.environment.clone(),
        }
    }
}

/// What a ticket holds a program to.
struct Bounds {
    access: Access,
    closed: [Vec<PathPattern>; 2],
    pins: Vec<Pin>,
}

impl Bounds {
    fn of(ticket: &Ticket) -> Self {
        let (access, closed) = (ticket.access().clone(), ticket.closed().clone());
        Self { access, closed, pins: ticket.pins().to_vec() }
    }

    /// The words that run in `directory`. Code that is reached by a link is named by where it is: the link
    /// may lead elsewhere by now.
    fn argv(&self, argv: Vec<String>, directory: &Path) -> Vec<String> {
        let named = |word: String| {
            let moved = |pin: &&Pin| {
                let written = directory.join(&word);
                pin.word == word && !written.components().eq(Path::new(&pin.path).components())
            };
            self.pins.iter().find(moved).map_or(word.clone(), |pin| pin.path.clone())
        };
        argv.into_iter().map(named).collect()
    }
}

/// What runs commands of skills.
pub(crate) struct CommandRunner {
    executor: Arc<dyn Executor>,
    directory: PathBuf,
    environment: Vec<(String, String)>,
}

impl std::fmt::Debug for CommandRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What the environment holds may be secret.
        f.debug_struct("CommandRunner").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl CommandRunner {
    /// Where commands run.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs the command of a skill that `ticket` admits: its argument vector, in the workspace.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used up by its run")]
    pub(crate) fn run(&self, ticket: Ticket, cancel: &Cancel) -> Outcome {
        let SkillCommand { argv, readable } = ticket.command().cloned().unwrap_or_default();
        let bounds = Bounds::of(&ticket);
        let invocation = Invocation {
            argv: bounds.argv(argv, &self.directory),
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            timeout: Duration::from_secs(limits::TOOL_SECONDS),
            output_bytes: limits::OUTPUT_BYTES as u64,
            access: bounds.access,
            closed: bounds.closed,
            pins: bounds.pins,
            readable: readable.into_iter().map(PathBuf::from).collect(),
            keeps_home: false,
        };
        exec::run(&invocation, self.executor.as_ref(), cancel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k11_what_a_program_was_denied_is_read_off_its_complaint() {
        let read = |path: &str| Some(Request::Read(FilePath::new(path).unwrap()));
        let write = |path: &str| Some(Request::Write(FilePath::new(path).unwrap()));
        for (line, what, object) in [
            ("cat: /etc/shadow: Permission denied", "/etc/shadow", read("/etc/shadow")),
            ("cat: data/f: Permission denied", "data/f", read("/w/data/f")),
            ("touch: cannot touch 'data/x': Permission denied", "data/x", write("/w/data/x")),
            ("mkdir: cannot create directory ‘out’: Permission denied", "out", write("/w/out")),
            ("sh: 1: cannot create out/x: Permission denied", "out/x", write("/w/out/x")),
            ("cp: cannot create regular file 'a b': Read-only file system", "a b", write("/w/a b")),
            ("PermissionError: [Errno 13] Permission denied: '/x/y'", "/x/y", read("/x/y")),
            ("Permission denied", "", None),
            ("cat: ../x: Permission denied", "../x", None),
        ] {
            let found = denied(line, Path::new("/w")).unwrap();
            assert_eq!((found.what.as_str(), &found.object), (what, &object), "{line}");
        }
        assert!(denied("all is well", Path::new("/w")).is_none());
    }
}
