//! `concertina serve`: serve MCP clients over HTTP.

use std::path::Path;

use concertina_http::{Approvers, Guard, Listening, Names, TokenError, Tokens, routes};
use concertina_mcp::server::{Exposure, Gateway, GatewayOptions, http};
use concertina_runtime::approval::Inbox;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::ServeArgs;
use crate::error::{CliError, Exit};
use crate::output::Output;
use crate::{place, servers};

pub(crate) fn run(args: &ServeArgs, out: &mut Output) -> Result<u8, CliError> {
    if !args.address.ip().is_loopback() && !args.remote {
        let message = format!("{} can be reached from other machines", args.address.ip());
        return Err(CliError::usage(message).help(
            "add --remote and --token-file FILE if that is meant, and put TLS in front of it",
        ));
    }
    let (tokens, says) = tokens(args)?;
    let workspace = place::workspace(&args.place, out)?;
    let approvers = approvers(args, tokens.as_ref(), workspace.root())?;
    let (store, home) = (place::store()?, place::home()?);
    let exposure = if args.listed { Exposure::Listed } else { Exposure::Four };
    let runtime = servers::runtime()?;
    let pool = servers::pool(&workspace, runtime.handle().clone(), true, out)?;
    let served = runtime.block_on(async {
        let listening = Listening::on(args.address).await.map_err(|error| {
            CliError::new(Exit::Environment, "NOT_LISTENING", error.to_string())
                .help("another program may listen there; port 0 takes any free one")
        })?;
        let mut names = Names::of(listening.address());
        for host in &args.allow_host {
            names = names.host(host);
        }
        for origin in &args.allow_origin {
            names = names.origin(origin);
        }
        let inbox = Inbox::new(store.clone(), home);
        let gateway = Gateway::new(workspace, store, Some(pool), GatewayOptions { exposure });
        // First nobody new is let in, then calls under way end, then connections do.
        let (closed, end) = (CancellationToken::new(), CancellationToken::new());
        let url = format!("http://{}/mcp", listening.address());
        if out.is_json() {
            out.json(&json!({"url": url, "address": listening.address().to_string()}))?;
        } else {
            out.line(&url)?;
            out.say(says);
            if args.approver_token_file.is_some() {
                let url = format!("http://{}/v1/approvals", listening.address());
                out.say(format!("approvers answer questions at {url}"));
            }
        }
        let guard = Guard { names, tokens, approvers };
        let routes = routes(guard, http(&gateway, end.clone()), inbox);
        let serving = listening.serve(routes, closed.clone());
        tokio::pin!(serving);
        tokio::select! {
            () = &mut serving => {}
            signal = ends() => {
                signal.map_err(|error| {
                    CliError::new(Exit::Environment, "NO_SIGNALS", error.to_string())
                })?;
                closed.cancel();
                gateway.close().await;
                end.cancel();
                serving.await;
            }
        }
        Ok(0)
    });
    servers::shut_down(runtime);
    served
}

/// Returns when somebody wants the service to end.
async fn ends() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// The tokens of those who answer questions; none where nobody does over HTTP.
fn approvers(
    args: &ServeArgs,
    clients: Option<&Tokens>,
    workspace: &Path,
) -> Result<Approvers, CliError> {
    let Some(file) = &args.approver_token_file else { return Ok(Approvers::default()) };
    let approvers = Approvers::read(file, clients).map_err(|error| failed(&error))?;
    // An agent opens files of its workspace, and would answer with what it reads there.
    let real = |path: &Path| {
        let file = |source| TokenError::File { path: path.to_owned(), source };
        path.canonicalize().map_err(|error| failed(&file(error)))
    };
    if real(file)?.starts_with(real(workspace)?) {
        let message = format!("{} is in the workspace, where an agent reads it", file.display());
        return Err(CliError::new(Exit::Environment, "TOKENS", message)
            .help("keep it in a place that only you read"));
    }
    Ok(approvers)
}

fn failed(error: &TokenError) -> CliError {
    CliError::new(Exit::Environment, "TOKENS", error.to_string())
}

/// The tokens of clients, and what to say about them. The token itself is said to nobody who cannot read files.
fn tokens(args: &ServeArgs) -> Result<(Option<Tokens>, String), CliError> {
    if args.no_token {
        let says = "every program on this machine may ask; stop with Ctrl-C";
        return Ok((None, says.to_owned()));
    }
    if let Some(file) = &args.token_file {
        let tokens = Tokens::read(file).map_err(|error| failed(&error))?;
        let says = format!("clients send a token of {}; stop with Ctrl-C", file.display());
        return Ok((Some(tokens), says));
    }
    let file = place::home()?.join("serve/token");
    let tokens = Tokens::kept(&file).map_err(|error| failed(&error))?;
    let says = format!(
        "clients send the header `Authorization: Bearer TOKEN`, with the token in {}; stop with Ctrl-C",
        file.display()
    );
    Ok((Some(tokens), says))
}
