//! Hosts and methods: what may be reached, and how.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::pattern::PatternError;
use super::scope::Part;

/// Methods that change nothing, which a scope without methods stands for (RFC 9110, section 9.2.1).
pub(super) const READING: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Methods that change something.
pub(super) const WRITING: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// A connection that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Connection {
    /// The host: a name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The HTTP method; `CONNECT` where what goes through cannot be seen.
    pub method: String,
}

/// One domain and one method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reach {
    /// A host name, `*.` and a host name, or an address, in lower case; possibly `:` and a port.
    pub domain: String,
    /// The method, or `*`.
    pub method: String,
}

impl Reach {
    /// One method at one domain.
    pub fn new(domain: &str, method: &str) -> Result<Self, PatternError> {
        let domain = domain.trim_end_matches('.').to_ascii_lowercase();
        let name = domain.strip_prefix("*.").unwrap_or(&domain);
        let bad = |reason: &str| Err(PatternError::new(&domain, reason));
        if name.is_empty() || name.contains(['*', '/', '@', '%', ' ', '\0']) {
            return bad("it is no host; write `example.com`, or `*.example.com` for those below");
        }
        if domain.starts_with("*.") && !name.contains('.') {
            return bad("it covers a whole top-level domain; name the domains that are needed");
        }
        Ok(Self { domain, method: method.to_ascii_uppercase() })
    }

    /// What both cover, which is the smaller of the two where they share anything.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        let method = match (self.method.as_str(), other.method.as_str()) {
            (one, other) if one == other || other == "*" => one,
            ("*", other) => other,
            _ => return None,
        };
        let ((host, port), (other_host, other_port)) =
            (self.host_and_port(), other.host_and_port());
        let host = if host_includes(host, other_host) {
            other_host
        } else if host_includes(other_host, host) {
            host
        } else {
            return None;
        };
        let domain = match (port, other_port) {
            (Some(one), Some(other)) if one != other => return None,
            (Some(port), _) | (None, Some(port)) => format!("{host}:{port}"),
            (None, None) => host.to_owned(),
        };
        Some(Self { domain, method: method.to_owned() })
    }

    fn host_and_port(&self) -> (&str, Option<&str>) {
        match self.domain.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
                (host, Some(port))
            }
            _ => (&self.domain, None),
        }
    }
}

/// Whether the names that `pattern` covers hold those of `other`, on whole labels.
fn host_includes(pattern: &str, other: &str) -> bool {
    pattern == other
        || pattern.strip_prefix("*.").is_some_and(|parent| {
            let below = other.strip_suffix(parent).and_then(|rest| rest.strip_suffix('.'));
            below.is_some_and(|below| !below.is_empty())
        })
}

impl Part for Reach {
    type Asked = Connection;

    fn covers(&self, asked: &Connection) -> bool {
        let (host, port) = self.host_and_port();
        let asked_host = asked.host.trim_end_matches('.').to_ascii_lowercase();
        (self.method == "*" || self.method == asked.method)
            && port.is_none_or(|port| port == asked.port.to_string())
            && host_includes(host, &asked_host)
    }

    fn includes(&self, other: &Self) -> bool {
        let ((host, port), (other_host, other_port)) =
            (self.host_and_port(), other.host_and_port());
        (self.method == "*" || self.method == other.method)
            && (port.is_none() || port == other_port)
            && host_includes(host, other_host)
    }

    fn is_everything(&self) -> bool {
        false
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.domain)
    }
}
