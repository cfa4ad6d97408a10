//! What runs when a call is admitted.
//!
//! A new kind of tool is a new file here, a variant of [`Runner`], and a `kind` in the settings.
//! Nothing runs without a [`Ticket`], and a ticket is consumed by the run.

mod define;
mod exec;
mod executor;
mod sqlite;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use concertina_core::session::Ticket;
use concertina_types::{ToolName, limits};

use crate::Cancel;

pub(crate) use define::define;
pub use exec::ExecTool;
pub(crate) use exec::environment;
pub use executor::{Execution, ExecutionError, Executor, Invocation, PlainExecutor};
pub use sqlite::SqliteTool;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It ran to its end.
    Done {
        /// The exit code of a program; zero for tools that are not programs.
        exit: i32,
        /// What it produced.
        output: String,
        /// Bytes dropped because of a limit.
        dropped: u64,
    },
    /// It did not run, or was stopped.
    Failed {
        /// A stable code, such as `TIMEOUT`.
        code: String,
        /// What happened and what to do.
        message: String,
    },
}

impl Outcome {
    fn failed(code: &str, message: impl Into<String>) -> Self {
        Self::Failed { code: code.to_owned(), message: message.into() }
    }
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
        Self { runners, executor, workspace, environment: Vec::new() }
    }

    /// The same, with the environment that commands of skills see.
    #[must_use]
    pub fn with_environment(mut self, environment: Vec<(String, String)>) -> Self {
        self.environment = environment;
        self
    }

    /// Runs the call that `ticket` admits. The ticket is gone afterwards, whatever happens.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used up by its run")]
    pub fn run(&self, ticket: Ticket, cancel: &Cancel) -> Outcome {
        match self.runners.get(ticket.tool()) {
            None => Outcome::failed(
                "TOOL_GONE",
                format!(
                    "{} is no longer defined in the settings, so it was not run",
                    ticket.tool()
                ),
            ),
            Some(Runner::Exec(tool)) => {
                tool.run(ticket.arguments(), self.executor.as_ref(), &self.workspace, cancel)
            }
            Some(Runner::Sqlite(tool)) => tool.run(ticket.arguments(), cancel),
        }
    }

    /// Runs the command of a skill that `ticket` admits: its argument vector, in the workspace.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used up by its run")]
    pub(crate) fn run_command(&self, ticket: Ticket, cancel: &Cancel) -> Outcome {
        let argv = ticket.arguments().get("argv").and_then(serde_json::Value::as_array);
        let words = argv.into_iter().flatten().filter_map(serde_json::Value::as_str);
        let argv: Vec<String> = words.map(str::to_owned).collect();
        let invocation = Invocation {
            argv,
            directory: self.workspace.clone(),
            environment: self.environment.clone(),
            timeout: Duration::from_secs(limits::TOOL_SECONDS),
            output_bytes: limits::OUTPUT_BYTES as u64,
        };
        exec::run(&invocation, self.executor.as_ref(), cancel)
    }
}
