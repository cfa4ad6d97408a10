//! Connections over HTTP: a session each, or none where each request stands for itself.

use std::sync::Arc;
use std::time::Duration;

use concertina_types::limits;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::gateway::Gateway;
use super::handler::Handler;

/// How long a connection may be silent. A person may think, or eat, between two requests.
const SILENCE: Duration = Duration::from_hours(4);

/// The protocol over HTTP, as a service for a router. It trusts whoever checked `Host`, `Origin` and
/// the token before it, and put the [`Principal`](super::Principal) into the request.
pub type HttpService = StreamableHttpService<Handler, LocalSessionManager>;

/// The service of `gateway`, until `end`.
pub fn http(gateway: &Arc<Gateway>, end: CancellationToken) -> HttpService {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SILENCE);
    // An event without data that names a time for coming back is no message to older clients.
    sessions.session_config.sse_retry = None;
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(limits::MESSAGE_BYTES)
        .with_json_response(true)
        .with_sse_retry(None)
        .with_cancellation_token(end);
    let gateway = Arc::clone(gateway);
    let handler = move || Ok(Handler::new(Arc::clone(&gateway), None));
    StreamableHttpService::new(handler, Arc::new(sessions), config)
}
