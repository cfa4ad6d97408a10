//! What can be asked for.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use concertina_mcp::server::HttpService;

use crate::bodies::{self, UnderWay};
use crate::guard::{self, Guard};
use crate::owners::{self, Owners};

/// All routes, behind `guard`: MCP below `/mcp`.
pub fn routes(guard: Guard, mcp: HttpService) -> Router {
    let sessions = from_fn_with_state(Arc::new(Owners::default()), owners::check);
    Router::new()
        .nest_service("/mcp", mcp)
        .layer(from_fn_with_state(Arc::<UnderWay>::default(), bodies::check))
        .layer(sessions)
        .layer(from_fn_with_state(Arc::new(guard), guard::check))
}
