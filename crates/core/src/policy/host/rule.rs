//! One rule of `permissions.network.domains`.

use std::fmt;
use std::str::FromStr;

use super::{Host, HostError, HostName, shown};

/// Why a text is no rule over hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostRuleError {
    /// `*`, which is no list of hosts at all.
    #[error("`{0}` covers every host")]
    Everything(String),
    /// `*.com`: all names of a domain that anybody can have a name in.
    #[error("`{0}` covers every name of a top-level domain")]
    TopLevel(String),
    /// `*` elsewhere than as the whole first label.
    #[error("`{0}` has a `*` that is not its whole first label")]
    Star(String),
    /// `*` before an address, below which there are no names.
    #[error("`{0}` has a `*` before an address")]
    BelowAddress(String),
    /// A scheme, a path, a query or a user: something more than a host.
    #[error("`{0}` is an address, not a host")]
    Address(String),
    /// It names no host.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl HostRuleError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Everything(_) => "NETWORK_EVERYTHING",
            Self::TopLevel(_) => "NETWORK_TOP_LEVEL",
            Self::Star(_) => "NETWORK_STAR",
            Self::BelowAddress(_) => "NETWORK_BELOW_ADDRESS",
            Self::Address(_) => "NETWORK_ADDRESS",
            Self::Host(error) => error.code(),
        }
    }

    /// What to write instead.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Everything(_) | Self::TopLevel(_) => {
                "name the hosts, or the names below one domain: `*.example.com`"
            }
            Self::BelowAddress(_) => "name the addresses one by one",
            Self::Star(_) => "write `*.example.com` for all names below `example.com`",
            Self::Address(_) => {
                "leave out the scheme, the user and the path: `example.com` or `example.com:8080`"
            }
            Self::Host(error) => error.help(),
        }
    }
}

/// A host, or all names below a name; at every port, or at one.
///
/// A rule without a port covers all of them: `example.com:443` is narrower than `example.com`. The
/// name itself is not below itself, and an address is covered by nothing but itself.
///
/// ```
/// use concertina_core::policy::{Host, HostRule};
/// let rule: HostRule = "*.example.com".parse()?;
/// assert!(rule.covers(&Host::parse("docs.example.com")?, 443));
/// assert!(!rule.covers(&Host::parse("example.com")?, 443));
/// assert!(!rule.covers(&Host::parse("evilexample.com")?, 443));
/// assert!("*.com".parse::<HostRule>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostRule {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hosts {
    One(Host),
    Below(HostName),
}

impl HostRule {
    /// Whether the rule covers `host` at `port`.
    pub fn covers(&self, host: &Host, port: u16) -> bool {
        self.covers_host(host) && self.port.is_none_or(|own| own == port)
    }

    /// What both rules cover: the hosts of one of them, since of two rules one holds all hosts of the
    /// other, or they share none.
    pub(in crate::policy) fn meet(&self, other: &Self) -> Option<Self> {
        let hosts = if self.holds_hosts(other) {
            other.hosts.clone()
        } else if other.holds_hosts(self) {
            self.hosts.clone()
        } else {
            return None;
        };
        let port = match (self.port, other.port) {
            (Some(one), Some(other)) if one != other => return None,
            (one, other) => one.or(other),
        };
        Some(Self { hosts, port })
    }

    fn holds_hosts(&self, other: &Self) -> bool {
        match (&self.hosts, &other.hosts) {
            (Hosts::Below(domain), Hosts::Below(other)) => {
                domain == other || other.is_below(domain)
            }
            (_, Hosts::One(host)) => self.covers_host(host),
            (Hosts::One(_), Hosts::Below(_)) => false,
        }
    }

    /// Whether the rule covers `host` at one port or at all of them.
    pub fn covers_host(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::One(own), host) => own == host,
            (Hosts::Below(domain), Host::Name(name)) => name.is_below(domain),
            (Hosts::Below(_), Host::V4(_) | Host::V6(_)) => false,
        }
    }
}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, HostRuleError> {
        if text.contains(['/', '?', '#', '@', '\\']) {
            return Err(HostRuleError::Address(shown(text)));
        }
        let below = text.strip_prefix("*.");
        let rest = below.unwrap_or(text);
        if rest == "*" || rest.starts_with("*:") {
            return Err(HostRuleError::Everything(shown(text)));
        }
        if rest.contains('*') {
            return Err(HostRuleError::Star(shown(text)));
        }
        let (host, port) = Host::parse_with_port(rest)?;
        let hosts = match (below, host) {
            (None, host) => Hosts::One(host),
            (Some(_), Host::Name(domain)) if domain.labels().count() > 1 => Hosts::Below(domain),
            (Some(_), Host::Name(_)) => return Err(HostRuleError::TopLevel(shown(text))),
            (Some(_), Host::V4(_) | Host::V6(_)) => {
                return Err(HostRuleError::BelowAddress(shown(text)));
            }
        };
        Ok(Self { hosts, port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::One(host) => host.fmt(f)?,
            Hosts::Below(domain) => write!(f, "*.{}", domain.as_str())?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}
