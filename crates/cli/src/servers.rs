//! The MCP servers behind a workspace, for commands of any kind.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use concertina_mcp::upstream::{Pool, PoolOptions};
use concertina_runtime::Workspace;
use concertina_runtime::upstream::{Definition, Server, ServerState, Upstreams as _};
use concertina_types::Severity;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{CliError, Exit};
use crate::output::{Output, finding};
use crate::place;

/// The hidden command that ends servers when this process is killed.
pub(crate) const GUARD: &str = "__guard";

/// How long what still runs may hold up the end of the process.
const SHUTDOWN: Duration = Duration::from_millis(500);

/// Threads that wait for servers and clients. What takes its time has threads of its own; and every
/// thread keeps for itself some of the memory that it once used, however many processors there are.
const WAITING: usize = 2;

/// What attends to servers while a command runs.
static ATTENDED: OnceLock<(Runtime, Arc<Pool>)> = OnceLock::new();

/// A runtime on which servers and clients are attended to.
pub(crate) fn runtime() -> Result<Runtime, CliError> {
    Builder::new_multi_thread()
        .worker_threads(WAITING)
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Exit::Environment, "NO_RUNTIME", error.to_string()))
}

/// The servers of `workspace`. With `learn`, those that were never seen are started, to learn what
/// they bring; without, a server starts when one of its tools is called.
pub(crate) fn pool(
    workspace: &Workspace,
    handle: Handle,
    learn: bool,
    out: &mut Output,
) -> Result<Arc<Pool>, CliError> {
    let definitions = definitions(workspace, out);
    pool_of(definitions, workspace.root(), handle, learn)
}

/// The servers that settings define; what is wrong with the settings is said.
pub(crate) fn definitions(workspace: &Workspace, out: &mut Output) -> Vec<Definition> {
    let definitions = workspace.definitions(&place::variable);
    for (path, found) in &definitions.findings {
        if found.severity != Severity::Info {
            out.say_styled(&finding(&path.display().to_string(), found));
        }
    }
    definitions.servers
}

/// The servers of `definitions`, for a workspace in `root`.
pub(crate) fn pool_of(
    definitions: Vec<Definition>,
    root: &Path,
    handle: Handle,
    learn: bool,
) -> Result<Arc<Pool>, CliError> {
    let guard = std::env::current_exe()
        .ok()
        .map(|program| vec![program.to_string_lossy().into_owned(), GUARD.to_owned()]);
    let options = PoolOptions::new(place::home()?, root.to_owned(), handle);
    Ok(Pool::new(definitions, PoolOptions { learn, guard, ..options }))
}

/// Takes the tools of servers into `workspace`, as far as they are known from an earlier time.
pub(crate) fn attach(workspace: &mut Workspace, out: &mut Output) -> Result<(), CliError> {
    let definitions = definitions(workspace, out);
    if definitions.is_empty() || place::home().is_err() {
        return Ok(());
    }
    let runtime = runtime()?;
    let pool = pool_of(definitions, workspace.root(), runtime.handle().clone(), false)?;
    workspace.attach(Arc::clone(&pool) as _);
    let new = |server: &&Server| server.state == ServerState::Starting;
    let new = pool.offer().servers.iter().filter(new).count();
    if new > 0 {
        out.say(format!(
            "note: {} never started, so their tools are not known; a client's first connection starts them, or: concertina upstream list --start [SERVERS_UNKNOWN]",
            if new == 1 { "1 server was".to_owned() } else { format!("{new} servers were") }
        ));
    }
    // One workspace a command; a second one would bring its own servers.
    let _ = ATTENDED.set((runtime, pool));
    Ok(())
}

/// Ends the servers that a command started.
pub(crate) fn end() {
    if let Some((runtime, pool)) = ATTENDED.get() {
        runtime.block_on(pool.close());
    }
}

/// Ends a runtime. Reading standard input cannot be broken off, and must not hold up the end.
pub(crate) fn shut_down(runtime: Runtime) {
    runtime.shutdown_timeout(SHUTDOWN);
}
