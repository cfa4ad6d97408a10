//! A connection on the standard streams.

use std::io;
use std::sync::Arc;

use concertina_types::SessionId;
use rmcp::service::{ServerInitializeError, serve_server};
use tokio::signal::unix::{SignalKind, signal};

use super::gateway::Gateway;
use super::handler::Handler;
use crate::wire::Wire;

/// Whose connection it is.
#[derive(Debug, Clone, Default)]
pub struct StdioOptions {
    /// On whose behalf; the owner's where none is given.
    pub principal: Option<String>,
    /// The session to go on in.
    pub session: Option<SessionId>,
}

/// Serves the client on standard input and output until it goes, or a signal comes. Calls under way
/// get a moment to end.
///
/// # Errors
/// Signals cannot be listened to, or the client began with something that is no beginning.
pub async fn stdio(gateway: Arc<Gateway>, options: StdioOptions) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let handler = Handler::in_session(Arc::clone(&gateway), options.principal, options.session);
    let wire = Wire::server(tokio::io::stdin(), tokio::io::stdout());
    let serving = async {
        match serve_server(handler, wire).await {
            Ok(running) => {
                let _ = running.waiting().await;
                Ok(())
            }
            // A client that only looked whether there is a server.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    };
    let served = tokio::select! {
        served = serving => served,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    gateway.close().await;
    served
}
