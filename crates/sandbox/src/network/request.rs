//! What a program asks its proxy for.

use concertina_core::policy::{Host, HostError};

use super::head::{Framing, Head, HeadError, Version, is_token};

/// A method in bytes. The longest that is registered, `UPDATEREDIRECTREF`, has 17.
const METHOD_BYTES: usize = 32;
/// The port of plain HTTP.
const HTTP: u16 = 80;
/// Fields by which a request that reads asks a server to take it for one that writes.
const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// Why a request cannot be judged.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// It is not HTTP.
    #[error("the request cannot be read: {0}")]
    Head(#[from] HeadError),
    /// The first line is not `METHOD TARGET HTTP/1.1`.
    #[error("the first line of the request is not `METHOD TARGET HTTP/1.1`")]
    Line,
    /// It asks for something else than a host: `/path`, `*`, `ftp://…`.
    #[error("the request does not say which host it is for, by a full address with `http://`")]
    Target,
    /// It asks the proxy to speak TLS for it.
    #[error("the request asks for `https://` without a tunnel")]
    Tls,
    /// A tunnel leads to a port.
    #[error("the tunnel to `{0}` has no port")]
    NoPort(Host),
    /// The host is none.
    #[error("{0}")]
    Host(#[from] HostError),
    /// `Host` names another host than the first line.
    #[error("the field `Host` and the first line of the request do not name the same host")]
    Disagree,
}

impl RequestError {
    /// The stable code of the error.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Head(_) | Self::Line => "REQUEST_UNREADABLE",
            Self::Target => "REQUEST_WITHOUT_HOST",
            Self::Tls => "TLS_WITHOUT_TUNNEL",
            Self::NoPort(_) => "HOST_PORT",
            Self::Host(error) => error.code(),
            Self::Disagree => "HOSTS_DISAGREE",
        }
    }

    /// What to do.
    pub(super) fn help(&self) -> &'static str {
        match self {
            Self::Head(_) | Self::Line => "ask by HTTP/1.1",
            Self::Target => "use the proxy for `http://` and `https://` only",
            Self::Tls => "open a tunnel with CONNECT for `https://`",
            Self::NoPort(_) => "name the port: `CONNECT example.com:443`",
            Self::Host(error) => error.help(),
            Self::Disagree => "ask for one host",
        }
    }
}

/// A request as it is judged and passed on.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) version: Version,
    pub(super) what: What,
}

/// What is asked of the host.
#[derive(Debug)]
pub(super) enum What {
    /// A tunnel.
    Tunnel,
    /// A request by plain HTTP.
    Plain {
        /// What stands behind the host: a path, and a query.
        path: String,
        /// How its body is delimited, where it has one.
        body: Option<Framing>,
        /// Methods that the server may take it for.
        overrides: Vec<String>,
        /// Whether the program waits before it sends the body.
        waits: bool,
    },
}

impl Request {
    /// Reads a request.
    pub(super) fn parse(head: &Head<'_>) -> Result<Self, RequestError> {
        let mut words = head.line.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(RequestError::Line);
        };
        let version = Version::parse(version).ok_or(RequestError::Line)?;
        if !is_method(method) {
            return Err(RequestError::Line);
        }
        let body = head.framing(version)?;
        let named = named(head)?;
        if method == "CONNECT" {
            let (host, port) = Host::parse_with_port(target)?;
            let port = port.ok_or_else(|| RequestError::NoPort(host.clone()))?;
            if named.is_some_and(|(name, at)| name != host || at.is_some_and(|at| at != port)) {
                return Err(RequestError::Disagree);
            }
            if !matches!(body, None | Some(Framing::Length(0))) {
                return Err(HeadError::Malformed("a tunnel has no body").into());
            }
            return Ok(Self { method: method.into(), host, port, version, what: What::Tunnel });
        }
        let (host, port, path) = full_address(target)?;
        if named.is_some_and(|(name, at)| name != host || at.unwrap_or(HTTP) != port) {
            return Err(RequestError::Disagree);
        }
        let waits = head.all("expect").next().is_some() && version == Version::New;
        let overrides = overrides(head)?;
        let what = What::Plain { path, body, overrides, waits };
        Ok(Self { method: method.into(), host, port, version, what })
    }

    /// The head that is sent to the host, written anew. It asks for an end after the answer.
    pub(super) fn head(&self, read: &Head<'_>, path: &str, body: Option<Framing>) -> Vec<u8> {
        let mut first = format!("{} {path} {}\r\n", self.method, self.version.as_str());
        let host = match self.port {
            HTTP => format!("Host: {}\r\n", self.host),
            port => format!("Host: {}:{port}\r\n", self.host),
        };
        first.push_str(&host);
        first.extend(body.map(Framing::field));
        with_fields(first, read)
    }
}

/// `first`, the fields of `read` that are passed on, and that the connection ends afterwards.
pub(super) fn with_fields(first: String, read: &Head<'_>) -> Vec<u8> {
    let mut head = first.into_bytes();
    for field in read.passed_on() {
        head.extend([field.name.as_bytes(), b": ", field.value, b"\r\n"].concat());
    }
    head.extend(b"Connection: close\r\n\r\n");
    head
}

fn is_method(text: &str) -> bool {
    text.len() <= METHOD_BYTES && is_token(text.as_bytes())
}

/// What `Host` says.
fn named(head: &Head<'_>) -> Result<Option<(Host, Option<u16>)>, RequestError> {
    let Some(value) = head.only("host")? else { return Ok(None) };
    let text = str::from_utf8(value).map_err(|_| HeadError::Malformed("`Host` is not in ASCII"))?;
    Ok(Some(Host::parse_with_port(text)?))
}

fn full_address(target: &str) -> Result<(Host, u16, String), RequestError> {
    let (scheme, rest) = target.split_once("://").ok_or(RequestError::Target)?;
    match scheme.to_ascii_lowercase().as_str() {
        "http" => {}
        "https" => return Err(RequestError::Tls),
        _ => return Err(RequestError::Target),
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or_default();
    if path.contains('#') {
        return Err(RequestError::Line);
    }
    let (host, port) = Host::parse_with_port(authority)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((host, port.unwrap_or(HTTP), format!("{slash}{path}")))
}

fn overrides(head: &Head<'_>) -> Result<Vec<String>, RequestError> {
    let values = OVERRIDES.iter().flat_map(|name| head.all(name));
    let method = |value: &[u8]| {
        let text = str::from_utf8(value).ok().filter(|text| is_method(text));
        text.map(str::to_ascii_uppercase).ok_or(HeadError::Malformed("a field holds no method"))
    };
    Ok(values.map(method).collect::<Result<_, _>>()?)
}
