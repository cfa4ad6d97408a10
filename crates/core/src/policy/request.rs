//! One thing that is about to be done.

use std::fmt;

use concertina_types::ToolName;
use serde::{Deserialize, Serialize};

use super::host::{Host, HostError};
use super::path::FilePath;
use super::reach::Connection;
use super::shell;

/// What is asked for. Paths are resolved before: links are followed, and a directory that the
/// process works in has no part in it.
///
/// ```
/// use concertina_core::policy::{FilePath, Request};
/// let request = Request::Run(vec!["git".into(), "add".into(), "a b".into()]);
/// assert_eq!(request.to_string(), "run git add 'a b'");
/// assert_eq!(Request::Read(FilePath::new("/p/a")?).to_string(), "read /p/a");
/// # Ok::<(), concertina_core::policy::PathRefused>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Read a file or list a directory.
    Read(FilePath),
    /// Make, change or remove a file.
    Write(FilePath),
    /// Reach a host.
    Connect(Connection),
    /// Run a program with these arguments; the program comes first.
    Run(Vec<String>),
    /// Call a tool.
    Call(ToolName),
}

impl Request {
    /// A connection to `host`, by `method` of HTTP.
    pub fn connect(host: &str, port: u16, method: &str) -> Result<Self, HostError> {
        let host = Host::parse(host)?;
        Ok(Self::Connect(Connection { host, port, method: method.to_owned() }))
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read {path}"),
            Self::Write(path) => write!(f, "write {path}"),
            Self::Connect(Connection { host, port, method }) => {
                write!(f, "{method} {host}:{port}")
            }
            Self::Run(words) => {
                let words: Vec<String> = words.iter().map(|word| shell::quoted(word)).collect();
                write!(f, "run {}", words.join(" "))
            }
            Self::Call(tool) => write!(f, "call {tool}"),
        }
    }
}
