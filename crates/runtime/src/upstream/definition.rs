//! A server as settings define it.

use std::path::PathBuf;

use concertina_types::is_secret_variable;
use serde::Serialize;

/// A server, and which settings define it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// As it is called in the settings, made fit for a tool's name.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// The settings file.
    pub from: PathBuf,
    /// Whose file it is, such as `concertina`, `project` or a client's name.
    pub by: String,
    /// Whether it may be started: it is a person's own, or the workspace's and trusted as it is now.
    pub trusted: bool,
    /// How long one call may take, in seconds, where the settings say it.
    pub timeout_s: Option<u64>,
    /// Whether it is told the workspace as its root. Servers that are told one drop the directories
    /// that stand in their arguments, so only where the settings say so.
    pub roots: bool,
}

/// How a server is reached. Secrets stand in it, so it is never printed.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// A program that speaks on its standard streams.
    Program {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The whole environment that it gets.
        environment: Vec<(String, String)>,
        /// Where it runs.
        directory: PathBuf,
    },
    /// An address.
    Address {
        /// The address.
        url: String,
        /// Headers that are sent with every request, such as a bearer token.
        headers: Vec<(String, String)>,
    },
}

impl Reach {
    /// What of it is secret: variables and headers whose names say so, each as it is sent, and a header's
    /// credential without its scheme.
    pub fn secrets(&self) -> Vec<String> {
        match self {
            Self::Program { environment, .. } => {
                let secret = |(name, value): &&(String, String)| is_secret_variable(name, value);
                environment.iter().filter(secret).map(|(_, value)| value.clone()).collect()
            }
            Self::Address { headers, .. } => {
                let dashed = |name: &str| name.replace('-', "_");
                let secret =
                    |(name, value): &&(String, String)| is_secret_variable(&dashed(name), value);
                let value = |(_, value): &(String, String)| {
                    let value = value.trim();
                    value.split_once(' ').map_or(value, |(_, credential)| credential).to_owned()
                };
                headers.iter().filter(secret).map(value).collect()
            }
        }
    }
}

impl std::fmt::Debug for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Program { .. } => "Program",
            Self::Address { .. } => "Address",
        })
    }
}
