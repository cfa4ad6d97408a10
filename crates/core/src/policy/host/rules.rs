//! `permissions.network` as a whole: which hosts may be reached, and by which methods.

use std::collections::BTreeSet;

use concertina_types::NetworkScope;

use super::{Host, HostRule, HostRuleError, shown};

/// What an empty list of methods stands for: the methods that change nothing (RFC 9110, section 9.2.1).
pub(in crate::policy) const READING: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Whoever may use all of these may do what can be done.
pub(in crate::policy) const WRITING: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];
/// The method that opens a tunnel.
pub(in crate::policy) const CONNECT: &str = "CONNECT";
/// A method in bytes. The longest that is registered, `UPDATEREDIRECTREF`, has 17.
const METHOD_BYTES: usize = 32;

/// The methods of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Methods {
    all: bool,
    names: BTreeSet<String>,
}

impl Methods {
    /// Reads `methods` as declared, in either case: none are `GET`, `HEAD` and `OPTIONS`, `*` is all. The
    /// error is what is no method.
    fn new(methods: &[String]) -> Result<Self, Vec<(usize, &String)>> {
        let is_method = |method: &str| {
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'+-.^_`|~".contains(&b);
            !method.is_empty() && method.len() <= METHOD_BYTES && method.bytes().all(token)
        };
        let wrong = methods.iter().enumerate().filter(|(_, m)| *m != "*" && !is_method(m));
        let wrong: Vec<_> = wrong.collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let names = match methods {
            [] => READING.map(str::to_owned).into(),
            some => some.iter().map(|method| method.to_ascii_uppercase()).collect(),
        };
        Ok(Self { all: methods.iter().any(|method| method == "*"), names })
    }

    /// Whether a request by `method` is covered. Methods of HTTP differ by case: `get` is not `GET`.
    ///
    /// What is asked for inside a tunnel cannot be seen, so a tunnel is covered only where that does not
    /// matter: by `CONNECT` itself, by `*`, or by all methods that write.
    fn cover(&self, method: &str) -> bool {
        self.all
            || self.names.contains(method)
            || (method == CONNECT && WRITING.iter().all(|name| self.names.contains(*name)))
    }
}

/// What is wrong with a declaration, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// One of `domains` is no rule.
    #[error("permissions.network[{scope}].domains[{at}]: {error}")]
    Domain {
        /// Which of the scopes, from 0.
        scope: usize,
        /// Which of its domains, from 0.
        at: usize,
        /// What is wrong with it.
        error: HostRuleError,
    },
    /// One of `methods` is no method.
    #[error("permissions.network[{scope}].methods[{at}]: `{text}` is no method of HTTP")]
    Method {
        /// Which of the scopes, from 0.
        scope: usize,
        /// Which of its methods, from 0.
        at: usize,
        /// What stands there.
        text: String,
    },
}

impl NetworkError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Domain { error, .. } => error.code(),
            Self::Method { .. } => "NETWORK_METHOD",
        }
    }

    /// What to write instead.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Domain { error, .. } => error.help(),
            Self::Method { .. } => "write methods such as `GET` and `POST`, or `*` for all",
        }
    }
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkRefused {
    /// No rule names the host.
    #[error("no domain of permissions.network covers `{host}`")]
    Host {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
    },
    /// A rule names the host, at another port.
    #[error("permissions.network covers `{host}`, but not port {port} of it")]
    Port {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
    },
    /// The host may be reached, by other methods.
    #[error("permissions.network covers `{host}` for {declared}, but not for {method}")]
    Method {
        /// The host.
        host: Host,
        /// The method that was asked for.
        method: String,
        /// The methods that are declared.
        declared: String,
    },
    /// The host may be reached by some methods, and a tunnel would hide which one is used.
    #[error(
        "permissions.network covers `{host}` for {declared} only, and what is sent through a tunnel \
         (https) cannot be seen"
    )]
    Tunnel {
        /// The host.
        host: Host,
        /// The methods that are declared.
        declared: String,
    },
}

impl NetworkRefused {
    /// The stable code of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Host { .. } => "HOST_NOT_DECLARED",
            Self::Port { .. } => "PORT_NOT_DECLARED",
            Self::Method { .. } => "METHOD_NOT_DECLARED",
            Self::Tunnel { .. } => "TUNNEL_NOT_DECLARED",
        }
    }

    /// What would allow it.
    pub fn help(&self) -> String {
        match self {
            Self::Host { host, port } | Self::Port { host, port } => {
                format!("add `{host}:{port}` to the domains of permissions.network")
            }
            Self::Method { host, method, .. } => {
                format!("add {method} to the methods for `{host}` in permissions.network")
            }
            Self::Tunnel { host, .. } => format!(
                "add CONNECT to the methods for `{host}` in permissions.network, which allows every \
                 method inside a tunnel, as `*` does, and {} together",
                WRITING.join(", ")
            ),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Scope {
    hosts: Vec<HostRule>,
    methods: Methods,
}

/// `permissions.network`, checked. What it does not name cannot be reached.
///
/// ```
/// use concertina_core::policy::{Host, NetworkRules};
/// use concertina_types::NetworkScope;
/// let scope = NetworkScope { domains: vec!["*.example.com".into()], methods: Vec::new() };
/// let rules = NetworkRules::new(&[scope]).map_err(|errors| format!("{errors:?}"))?;
/// let docs = Host::parse("docs.example.com")?;
/// assert!(rules.decide(&docs, 80, "GET").is_ok());
/// assert_eq!(rules.decide(&docs, 80, "POST").unwrap_err().code(), "METHOD_NOT_DECLARED");
/// assert_eq!(rules.decide(&docs, 443, "CONNECT").unwrap_err().code(), "TUNNEL_NOT_DECLARED");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkRules {
    scopes: Vec<Scope>,
}

impl NetworkRules {
    /// Checks `scopes`. The errors are all there are, in the order of the declaration.
    pub fn new(scopes: &[NetworkScope]) -> Result<Self, Vec<NetworkError>> {
        let mut checked = Vec::new();
        let mut errors = Vec::new();
        for (scope, declared) in scopes.iter().enumerate() {
            let mut hosts = Vec::new();
            for (at, domain) in declared.domains.iter().enumerate() {
                match domain.parse() {
                    Ok(rule) => hosts.push(rule),
                    Err(error) => errors.push(NetworkError::Domain { scope, at, error }),
                }
            }
            match Methods::new(&declared.methods) {
                Ok(methods) => checked.push(Scope { hosts, methods }),
                Err(wrong) => {
                    errors.extend(wrong.into_iter().map(|(at, text)| NetworkError::Method {
                        scope,
                        at,
                        text: shown(text),
                    }));
                }
            }
        }
        if errors.is_empty() { Ok(Self { scopes: checked }) } else { Err(errors) }
    }

    /// Whether nothing can be reached.
    pub fn is_empty(&self) -> bool {
        self.scopes.iter().all(|scope| scope.hosts.is_empty())
    }

    /// Whether a request by `method` to `host` at `port` may be made.
    pub fn decide(&self, host: &Host, port: u16, method: &str) -> Result<(), NetworkRefused> {
        let covers = |scope: &&Scope| scope.hosts.iter().any(|rule| rule.covers(host, port));
        let covering: Vec<&Scope> = self.scopes.iter().filter(covers).collect();
        let host = host.clone();
        if covering.iter().any(|scope| scope.methods.cover(method)) {
            return Ok(());
        }
        if covering.is_empty() {
            let mut rules = self.scopes.iter().flat_map(|scope| &scope.hosts);
            let elsewhere = rules.any(|rule| rule.covers_host(&host));
            return Err(if elsewhere {
                NetworkRefused::Port { host, port }
            } else {
                NetworkRefused::Host { host, port }
            });
        }
        let declared: BTreeSet<&str> =
            covering.iter().flat_map(|scope| &scope.methods.names).map(String::as_str).collect();
        let declared = Vec::from_iter(declared).join(", ");
        Err(match method {
            CONNECT => NetworkRefused::Tunnel { host, declared },
            _ => NetworkRefused::Method { host, method: shown(method), declared },
        })
    }
}
