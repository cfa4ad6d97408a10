//! One host rule and one method: what may be reached, and how.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::host::{Host, HostRule};
use super::scope::Part;

/// A connection that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Connection {
    /// The host.
    #[serde(with = "host_text")]
    pub host: Host,
    /// The port.
    pub port: u16,
    /// The HTTP method; `CONNECT` where what goes through cannot be seen.
    pub method: String,
}

/// The hosts of one rule, by one method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reach {
    /// The hosts.
    #[serde(with = "rule_text")]
    pub domain: HostRule,
    /// The method, or `*`.
    pub method: String,
}

impl Reach {
    /// What both cover.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        let method = match (self.method.as_str(), other.method.as_str()) {
            (one, other) if one == other || other == "*" => one,
            ("*", other) => other,
            _ => return None,
        };
        Some(Self { domain: self.domain.meet(&other.domain)?, method: method.to_owned() })
    }
}

impl Part for Reach {
    type Asked = Connection;

    fn covers(&self, asked: &Connection) -> bool {
        (self.method == "*" || self.method == asked.method)
            && self.domain.covers(&asked.host, asked.port)
    }

    fn includes(&self, other: &Self) -> bool {
        self.meet(other).as_ref() == Some(other)
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

/// A host as text.
mod host_text {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Host;

    pub(super) fn serialize<S: Serializer>(host: &Host, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(host)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Host, D::Error> {
        Host::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// A rule as text.
mod rule_text {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::HostRule;

    pub(super) fn serialize<S: Serializer>(
        rule: &HostRule,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(rule)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<HostRule, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
