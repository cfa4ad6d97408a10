//! What can be asked for.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use concertina_mcp::server::HttpService;
use concertina_runtime::approval::Inbox;

use crate::bodies::{self, UnderWay};
use crate::guard::{self, Guard};
use crate::owners::{self, Owners};
use crate::{approvals, statements};

/// All routes, behind `guard`: MCP below `/mcp`, the questions of `inbox` below `/v1/approvals`, and
/// statements on checkpoints below `/v1/statements`.
pub fn routes(guard: Guard, mcp: HttpService, inbox: Inbox) -> Router {
    let sessions = from_fn_with_state(Arc::new(Owners::default()), owners::check);
    let mcp = Router::new()
        .nest_service("/mcp", mcp)
        .route_layer(from_fn_with_state(Arc::<UnderWay>::default(), bodies::check))
        .route_layer(sessions);
    Router::new()
        .merge(mcp)
        .nest("/v1/statements", statements::routes(inbox.clone()))
        .nest("/v1/approvals", approvals::routes(inbox))
        .layer(from_fn_with_state(Arc::new(guard), guard::check))
}
