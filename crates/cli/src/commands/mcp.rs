//! `concertina mcp`: serve an MCP client on standard input and output.

use concertina_mcp::server::{Exposure, Gateway, GatewayOptions, StdioOptions, stdio};
use concertina_types::env;

use crate::args::McpArgs;
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::{place, servers};

/// Words go to standard error; standard output belongs to the protocol.
pub(crate) fn run(args: &McpArgs, out: &mut Output) -> Result<u8, CliError> {
    let given = args.session.clone().or_else(|| place::variable(env::SESSION));
    let session = given.filter(|id| !id.is_empty()).map(|id| place::parse_id(&id)).transpose()?;
    let workspace = place::workspace(&args.place, out)?;
    let store = place::store()?;
    let exposure = if args.listed { Exposure::Listed } else { Exposure::Four };
    let options = StdioOptions { principal: args.place.principal.clone(), session };
    let runtime = servers::runtime()?;
    let pool = servers::pool(&workspace, runtime.handle().clone(), true, out)?;
    let served = runtime.block_on(async {
        let gateway = Gateway::new(workspace, store, Some(pool), GatewayOptions { exposure });
        stdio(gateway, options).await
    });
    servers::shut_down(runtime);
    served.map_err(|error| CliError::new(Exit::Environment, "NOT_SERVED", error.to_string()))?;
    Ok(0)
}
