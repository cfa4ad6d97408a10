//! How well requests reach the tool that serves them, measured on labelled requests.
//!
//! A catalogue has one JSON object a line: `id`, `name`, `description`, and where there are any
//! `params`, `body` (texts), `examples`, `not_for` (lists of texts) and `category`. Requests have one
//! a line, too: `query`, and `relevant`, the ids that serve it; none where nothing does.

mod tools;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use concertina_core::catalog::search::{Kind, SearchDocument};
use concertina_types::{Ref, ToolName};
use serde::Deserialize;

pub use tools::{Way, WayReport, Ways, eval_tools};

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line is not what it should be.
    #[error("{}:{line}: {why}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A file has no line.
    #[error("{} has no line; it needs one JSON object on each", .0.display())]
    Empty(PathBuf),
}

impl EvalError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "UNREADABLE",
            Self::Line { .. } | Self::Empty(_) => "BAD_DATA",
        }
    }
}

/// A tool of a catalogue.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// How requests name it.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its parameters, as text.
    #[serde(default)]
    pub params: String,
    /// Its text.
    #[serde(default)]
    pub body: String,
    /// Requests that it serves.
    #[serde(default)]
    pub examples: Vec<String>,
    /// What it does not do.
    #[serde(default)]
    pub not_for: Vec<String>,
    /// The category that it belongs to.
    #[serde(default)]
    pub category: Option<String>,
}

/// A request and what serves it.
#[derive(Debug, Clone, Deserialize)]
pub struct Request {
    /// In the words of whoever asks.
    pub query: String,
    /// The ids that serve it.
    pub relevant: Vec<String>,
}

/// The rows of the catalogue at `path`. Two rows with one id are an error.
pub fn catalog(path: &Path) -> Result<Vec<Row>, EvalError> {
    let rows: Vec<Row> = lines(path)?;
    let mut seen = BTreeSet::new();
    for (at, row) in rows.iter().enumerate() {
        if !seen.insert(row.id.as_str()) {
            let why = format!("the id `{}` stands here for the second time", row.id);
            return Err(EvalError::Line { path: path.to_owned(), line: at + 1, why });
        }
    }
    Ok(rows)
}

/// The requests at `path`.
pub fn requests(path: &Path) -> Result<Vec<Request>, EvalError> {
    lines(path)
}

fn lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>, EvalError> {
    let failed = |source| EvalError::File { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let mut read = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = serde_json::from_str(line).map_err(|error| EvalError::Line {
            path: path.to_owned(),
            line: at + 1,
            why: error.to_string(),
        })?;
        read.push(parsed);
    }
    if read.is_empty() { Err(EvalError::Empty(path.to_owned())) } else { Ok(read) }
}

impl Row {
    /// Its category: as given, else the server in its name, else the first word of its name.
    pub fn category(&self) -> &str {
        let given = self.category.as_deref().filter(|category| !category.is_empty());
        given
            .or_else(|| self.name.rsplit_once('/').map(|(server, _)| server))
            .or_else(|| self.name.split(['_', '-', '.', ' ']).next())
            .unwrap_or(&self.name)
    }

    /// It as a search sees it, under a key made of its place.
    fn document(&self, place: usize) -> Option<SearchDocument> {
        let key = Ref::Tool(ToolName::new(format!("row/{place}")).ok()?);
        let mut document = SearchDocument::new(key, Kind::Tool, self.name.as_str());
        document.description.clone_from(&self.description);
        document.parameters.clone_from(&self.params);
        Some(document)
    }
}
