//! What every request has to show before anything else sees it.
//!
//! A browser can be made to send requests to this machine by any page: it cannot forge `Host`
//! and `Origin`. Another user of this machine can forge both: they do not have the token.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use concertina_core::policy::OWNER;
use concertina_mcp::server::Principal;
use http::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::token::{Approvers, Tokens};

/// The names by which the service may be asked, and the pages that may ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// `host:port`, in lower case.
    hosts: BTreeSet<String>,
    /// `scheme://host:port`, in lower case.
    origins: BTreeSet<String>,
}

impl Names {
    /// The names of a service that listens on `address`: its own, and those of this machine where
    /// it listens there.
    pub fn of(address: SocketAddr) -> Self {
        let port = address.port();
        let mut names = Self::default();
        let mut add = |host: &str| {
            names.hosts.insert(format!("{host}:{port}"));
            names.origins.insert(format!("http://{host}:{port}"));
        };
        add(&in_address(address.ip()));
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            for host in ["localhost", "127.0.0.1", "[::1]"] {
                add(host);
            }
        }
        names
    }

    /// The same, asked also as `host`: `name` on any of the ports that are known, or `name:port`.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        let host = host.to_ascii_lowercase();
        let with_port = host.parse::<Authority>().is_ok_and(|authority| authority.port().is_some());
        if with_port {
            self.hosts.insert(host);
        } else {
            let ports: Vec<String> = self
                .hosts
                .iter()
                .filter_map(|known| known.rsplit_once(':'))
                .map(|(_, port)| port.to_owned())
                .collect();
            self.hosts.extend(ports.into_iter().map(|port| format!("{host}:{port}")));
            self.hosts.insert(host);
        }
        self
    }

    /// The same, with pages of `origin` let in.
    #[must_use]
    pub fn origin(mut self, origin: &str) -> Self {
        self.origins.insert(origin.trim_end_matches('/').to_ascii_lowercase());
        self
    }

    /// Whether the one `Host` header names this service.
    fn has_host(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else { return false };
        let Ok(host) = host.to_str() else { return false };
        // A dot at the end of a name changes nothing about it.
        let host = host.to_ascii_lowercase();
        let plain = match host.rsplit_once(':') {
            Some((name, port)) => format!("{}:{port}", name.strip_suffix('.').unwrap_or(name)),
            None => host.strip_suffix('.').unwrap_or(&host).to_owned(),
        };
        self.hosts.contains(&plain) || self.hosts.contains(&format!("{plain}:80"))
    }

    /// Whether whoever asks is no page, or a page that may.
    fn has_origin(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(ORIGIN).iter();
        match (given.next().map(HeaderValue::to_str), given.next()) {
            (None, _) => true,
            (Some(Ok(origin)), None) => self.origins.contains(&origin.to_ascii_lowercase()),
            _ => false,
        }
    }
}

fn in_address(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// What is checked.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The names that are answered to.
    pub names: Names,
    /// The tokens of clients; none where everybody on this machine may ask.
    pub tokens: Option<Tokens>,
    /// The tokens of those who answer questions; none of them is a client's.
    pub approvers: Approvers,
}

/// Lets a request through, with the [`Principal`] that it speaks for or the [`Approver`] who sends it,
/// or refuses it.
///
/// [`Approver`]: crate::token::Approver
pub async fn check(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    if request.uri().authority().is_some() || request.uri().scheme().is_some() {
        return refuse(
            StatusCode::FORBIDDEN,
            "ABSOLUTE_ADDRESS",
            "this is no proxy: ask for a path",
        );
    }
    if !guard.names.has_host(headers) {
        let text = "the Host header does not name this service; start it with --allow-host NAME if it should";
        return refuse(StatusCode::FORBIDDEN, "FOREIGN_HOST", text);
    }
    if !guard.names.has_origin(headers) {
        let text = "pages of that origin may not ask; start the service with --allow-origin ORIGIN if they should";
        return refuse(StatusCode::FORBIDDEN, "FOREIGN_ORIGIN", text);
    }
    let token = bearer(headers);
    let approver = token.and_then(|token| guard.approvers.approver(token)).cloned();
    let principal = match &guard.tokens {
        None => Some(OWNER),
        Some(tokens) => token.and_then(|token| tokens.principal(token)),
    };
    // Exactly one of the two goes with the request: whoever answers questions asks for nothing else.
    match (approver, principal.map(|principal| Principal(principal.to_owned()))) {
        (Some(approver), _) => drop(request.extensions_mut().insert(approver)),
        (None, Some(principal)) => drop(request.extensions_mut().insert(principal)),
        (None, None) => {
            let text = "a token is needed: Authorization: Bearer TOKEN";
            let mut response = refuse(StatusCode::UNAUTHORIZED, "NO_TOKEN", text);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
    }
    // Nothing behind this needs the token, and nothing can log what it does not have.
    request.headers_mut().remove(AUTHORIZATION);
    next.run(request).await
}

/// The token of the one `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// An error as JSON, in the form that the command line has, too.
pub(crate) fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    json(status, &serde_json::json!({"error": {"code": code, "message": message}}))
}

pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    let mut response = (status, Body::from(body.to_string())).into_response();
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
