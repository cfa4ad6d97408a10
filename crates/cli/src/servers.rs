//! The servers behind a workspace.

use std::sync::Arc;

use concertina_mcp::upstream::{Pool, PoolOptions};
use concertina_runtime::Workspace;
use concertina_types::Severity;
use tokio::runtime::Handle;

use crate::error::CliError;
use crate::output::{Output, finding};
use crate::place;

/// The servers that the settings around `workspace` define, for a face that serves: those that were
/// never seen are asked at once what they bring.
pub(crate) fn pool(
    workspace: &Workspace,
    handle: Handle,
    out: &mut Output,
) -> Result<Arc<Pool>, CliError> {
    let definitions = workspace.definitions(&place::variable);
    for (path, found) in &definitions.findings {
        if found.severity != Severity::Info {
            out.say(finding(&path.display().to_string(), found));
        }
    }
    let options = PoolOptions {
        learn: true,
        ..PoolOptions::new(place::home()?, workspace.root().to_owned(), handle)
    };
    Ok(Pool::new(definitions.servers, options))
}
