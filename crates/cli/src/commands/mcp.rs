//! `concertina mcp`: serve an MCP client on standard input and output.

use std::time::Duration;

use concertina_mcp::server::{Exposure, Gateway, GatewayOptions, StdioOptions, stdio};
use concertina_types::env;

use crate::args::McpArgs;
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::place;

/// How long what still runs may hold up the end of the process.
const SHUTDOWN: Duration = Duration::from_millis(500);

/// Words go to standard error; standard output belongs to the protocol.
pub(crate) fn run(args: &McpArgs, out: &mut Output) -> Result<u8, CliError> {
    let given = args.session.clone().or_else(|| place::variable(env::SESSION));
    let session = given.filter(|id| !id.is_empty()).map(|id| place::parse_id(&id)).transpose()?;
    let workspace = place::workspace(&args.place, out)?;
    let store = place::store()?;
    let exposure = if args.listed { Exposure::Listed } else { Exposure::Four };
    let options = StdioOptions { principal: args.place.principal.clone(), session };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Exit::Environment, "NO_RUNTIME", error.to_string()))?;
    let served = runtime.block_on(async {
        let gateway = Gateway::new(workspace, store, None, GatewayOptions { exposure });
        stdio(gateway, options).await
    });
    // Reading standard input cannot be broken off, and must not hold up the end.
    runtime.shutdown_timeout(SHUTDOWN);
    served.map_err(|error| CliError::new(Exit::Environment, "NO_SIGNALS", error.to_string()))?;
    Ok(0)
}
