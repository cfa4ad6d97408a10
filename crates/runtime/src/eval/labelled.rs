//! A catalogue and the requests with what serves each of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use concertina_core::catalog::search::{Kind, SearchDocument};
use concertina_types::{Diagnostic, Ref, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lines::{self, Place, Skipped, or_default};
use super::quoted;
use crate::find::parameter_words;

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
    /// A line is not what it should be, and the others do not help.
    #[error("{place}: {why}")]
    Line {
        /// Where.
        place: Place,
        /// What is wrong.
        why: String,
    },
    /// A file has no line.
    #[error("{} has no line; it needs one JSON object on each", .0.display())]
    Empty(PathBuf),
    /// A file of settings has errors, so that something else would be measured than was meant.
    #[error("{}", described(path, findings))]
    Settings {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        findings: Vec<Diagnostic>,
    },
    /// Two rows have one id, so that a label means neither.
    #[error("the id `{0}` stands in the catalogue twice")]
    Duplicate(String),
}

impl EvalError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "UNREADABLE",
            Self::Settings { .. } => "BAD_SETTINGS",
            Self::Line { .. } | Self::Empty(_) | Self::Duplicate(_) => "BAD_DATA",
        }
    }
}

/// The first of the findings, and how many more there are.
fn described(path: &Path, findings: &[Diagnostic]) -> String {
    let Some(first) = findings.first() else { return path.display().to_string() };
    let (line, column) = (first.line.unwrap_or(1), first.column.unwrap_or(1));
    let help = first.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    let more = match findings.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("{}:{line}:{column}: {}{help}{more}", path.display(), first.message)
}

/// A skill or tool of a catalogue.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Row {
    /// How requests name it; any text, unique in the catalogue.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Its parameters: a text, or the JSON Schema of them.
    #[serde(default, deserialize_with = "parameters")]
    pub params: String,
    /// Its text.
    #[serde(default, deserialize_with = "or_default")]
    pub body: String,
    /// Requests that it serves.
    #[serde(default, deserialize_with = "or_default")]
    pub examples: Vec<String>,
    /// What it does not do.
    #[serde(default, deserialize_with = "or_default")]
    pub not_for: Vec<String>,
    /// The category that it belongs to. Only menus look at it.
    #[serde(default)]
    pub category: Option<String>,
}

fn parameters<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => String::new(),
        Value::String(text) => text,
        // A search knows the parameters of a tool by their names and descriptions.
        schema => Some(parameter_words(&schema))
            .filter(|words| !words.is_empty())
            .unwrap_or_else(|| schema.to_string()),
    })
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

    /// It as a search sees it, as the row at `place`.
    pub(super) fn document(&self, place: usize) -> Option<SearchDocument> {
        Some(SearchDocument {
            description: self.description.clone(),
            parameters: self.params.clone(),
            body: self.body.clone(),
            examples: self.examples.clone(),
            not_for: self.not_for.clone(),
            ..SearchDocument::new(key_of(place)?, Kind::Tool, self.name.as_str())
        })
    }
}

/// The key of the document of the row at `place`: an id can hold what a key cannot. Equal scores stand
/// in the order of the keys, which is that of the ids.
pub(super) fn key_of(place: usize) -> Option<Ref> {
    Some(Ref::Tool(ToolName::new(format!("row/{place:08}")).ok()?))
}

/// The place of the row whose document has this key.
pub(super) fn place_of(key: &Ref) -> Option<usize> {
    match key {
        Ref::Tool(name) => name.as_str().strip_prefix("row/")?.parse().ok(),
        _ => None,
    }
}

/// A request and what serves it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// In the words of whoever asks.
    pub query: String,
    /// The ids that serve it; none where nothing does.
    pub relevant: Vec<String>,
    /// What sort of request it is.
    pub kind: Option<String>,
    /// The language that it is written in.
    pub lang: Option<String>,
    /// Where it was read.
    pub place: Option<Place>,
}

/// A request as it stands in a file.
#[derive(Deserialize)]
struct Written {
    query: String,
    /// `None` where there is no such key, an empty list where it is null.
    #[serde(default, deserialize_with = "present")]
    relevant: Option<Vec<String>>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    lang: Option<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Vec<String>>, D::Error> {
    or_default(d).map(Some)
}

impl Written {
    fn into_request(self, relevant: Vec<String>) -> Request {
        let named = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (kind, lang) = (named(self.kind), named(self.lang));
        Request { query: self.query, relevant, kind, lang, place: None }
    }
}

/// A request with ids that the catalogue does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// Where it was read.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// Its beginning.
    pub query: String,
    /// The ids.
    pub ids: Vec<String>,
    /// Whether nothing else serves it, so that it is left out of every figure.
    pub left_out: bool,
}

/// A request with the places of the rows that serve it, ascending.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) request: Request,
    pub(super) serving: Vec<usize>,
}

impl Asked {
    /// Whether the row at `place` serves it.
    pub(super) fn is_served_by(&self, place: usize) -> bool {
        self.serving.binary_search(&place).is_ok()
    }
}

/// A catalogue and labelled requests, checked.
///
/// # Files
///
/// Both have one JSON object a line, in UTF-8; keys that are not named here are ignored.
///
/// - A row of the catalogue: `id` and `name`; where there are any `description`, `params`, `body`
///   (texts), `examples` and `not_for` (lists of texts). What may be left out may be null.
/// - A request: `query` and `relevant`, the ids that serve it; an empty list or null where nothing
///   does. `kind` and `lang`, where given, part the requests into groups.
///
/// # What cannot be used
///
/// Nothing is lost silently, and one bad line costs only itself:
///
/// - a line that is no such object is left out and named in [`LabelledSet::skipped`];
/// - an id in `relevant` that the catalogue lacks is named in [`LabelledSet::unknown`]. What else
///   serves the request still counts; where nothing else does, no answer to it could be right or
///   wrong, and it is left out of every figure;
/// - an id that two rows have is an error, since labels that name it would mean neither;
/// - a file that cannot be read, or has no usable line, is an error.
///
/// The order of the lines makes no difference to what is measured: rows are sorted by id.
///
/// ```
/// use concertina_runtime::eval::{LabelledSet, Request, Row};
///
/// let row = |id: &str| Row { id: id.into(), name: id.into(), ..Row::default() };
/// let asks = |id: &str| Request { relevant: vec![id.into()], ..Request::default() };
/// let set = LabelledSet::new(vec![row("mail"), row("clock")], vec![asks("clock"), asks("bell")])?;
/// assert_eq!((set.rows()[0].id.as_str(), set.unknown()[0].left_out), ("clock", true));
/// assert!(LabelledSet::new(vec![row("mail"), row("mail")], Vec::new()).is_err());
/// # Ok::<(), concertina_runtime::eval::EvalError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LabelledSet {
    rows: Vec<Row>,
    asked: Vec<Asked>,
    unknown: Vec<Unknown>,
    skipped: Vec<Skipped>,
}

impl LabelledSet {
    /// The set of these rows and requests.
    ///
    /// # Errors
    /// [`EvalError::Duplicate`] where two rows have one id.
    pub fn new(mut rows: Vec<Row>, requests: Vec<Request>) -> Result<Self, EvalError> {
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
            if row.id == next.id {
                return Err(EvalError::Duplicate(row.id.clone()));
            }
        }
        let (mut asked, mut unknown) = (Vec::new(), Vec::new());
        for request in requests {
            let (mut serving, mut missing) = (Vec::new(), Vec::new());
            for id in &request.relevant {
                match rows.binary_search_by(|row| row.id.cmp(id)) {
                    Ok(place) => serving.push(place),
                    Err(_) => missing.push(id.clone()),
                }
            }
            serving.sort_unstable();
            serving.dedup();
            let left_out = serving.is_empty() && !missing.is_empty();
            if !missing.is_empty() {
                let (place, query) = (request.place.clone(), quoted(&request.query));
                unknown.push(Unknown { place, query, ids: missing, left_out });
            }
            if !left_out {
                asked.push(Asked { request, serving });
            }
        }
        Ok(Self { rows, asked, unknown, skipped: Vec::new() })
    }

    /// The set in which the first `count` requests that one row alone serves are examples of that row,
    /// in the place of its own, and the others are left to be measured: what examples are worth.
    ///
    /// ```
    /// use concertina_runtime::eval::{LabelledSet, Request, Row};
    ///
    /// let row = Row { id: "1".into(), name: "clock".into(), ..Row::default() };
    /// let ask = |query: &str| Request {
    ///     query: query.into(),
    ///     relevant: vec!["1".into()],
    ///     ..Request::default()
    /// };
    /// let set = LabelledSet::new(vec![row], vec![ask("what time is it"), ask("is it late")])?;
    /// let set = set.with_examples(1);
    /// assert_eq!(set.rows()[0].examples, ["what time is it"]);
    /// assert_eq!(set.requests().count(), 1);
    /// # Ok::<(), concertina_runtime::eval::EvalError>(())
    /// ```
    #[must_use]
    pub fn with_examples(mut self, count: usize) -> Self {
        for row in &mut self.rows {
            row.examples.clear();
        }
        let rows = &mut self.rows;
        self.asked.retain(|asked| {
            let [place] = asked.serving.as_slice() else { return true };
            match rows.get_mut(*place).filter(|row| row.examples.len() < count) {
                Some(row) => {
                    row.examples.push(asked.request.query.clone());
                    false
                }
                None => true,
            }
        });
        self
    }

    /// The set in these files. The requests of `none` need no `relevant`: nothing serves them.
    ///
    /// # Errors
    /// Where a file cannot be read or has no usable line, and where two rows have one id.
    pub fn read(catalog: &Path, queries: &Path, none: &[PathBuf]) -> Result<Self, EvalError> {
        let mut skipped = Vec::new();
        let mut lines_of: HashMap<String, usize> = HashMap::new();
        let mut rows = Vec::new();
        for (place, row) in lines::read(catalog, &mut skipped, complete)? {
            if let Some(first) = lines_of.insert(row.id.clone(), place.line) {
                let why = format!(
                    "the id `{}` stands here for the second time, first in line {first}",
                    row.id
                );
                return Err(EvalError::Line { place, why });
            }
            rows.push(row);
        }
        let labelled = |mut written: Written| match written.relevant.take() {
            Some(relevant) => Ok(written.into_request(relevant)),
            None => {
                Err("missing field `relevant`; an empty list means that nothing serves it".into())
            }
        };
        let unserved = |mut written: Written| match written.relevant.take() {
            Some(relevant) if !relevant.is_empty() => {
                Err("`relevant` names what serves it, in a file of requests that nothing serves"
                    .into())
            }
            _ => Ok(written.into_request(Vec::new())),
        };
        let mut requests = lines::read(queries, &mut skipped, labelled)?;
        for path in none {
            requests.extend(lines::read(path, &mut skipped, unserved)?);
        }
        let placed = |(place, request)| Request { place: Some(place), ..request };
        let set = Self::new(rows, requests.into_iter().map(placed).collect())?;
        Ok(Self { skipped, ..set })
    }

    /// The rows, by id.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The requests that are measured, as they were given.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.asked.iter().map(|asked| &asked.request)
    }

    /// What is indexed: the document of each row, in the order of the rows.
    pub fn documents(&self) -> impl Iterator<Item = SearchDocument> {
        self.rows.iter().enumerate().filter_map(|(place, row)| row.document(place))
    }

    /// Requests with ids that the catalogue does not have.
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Lines that were left out.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// How many requests are left out because nothing that serves them is in the catalogue.
    pub fn unservable(&self) -> usize {
        self.unknown.iter().filter(|unknown| unknown.left_out).count()
    }

    pub(super) fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// The id of the row at `place`.
    pub(super) fn id(&self, place: usize) -> &str {
        self.rows.get(place).map_or("", |row| row.id.as_str())
    }
}

/// A row without a name or an id is none.
fn complete(row: Row) -> Result<Row, String> {
    for (field, text) in [("id", &row.id), ("name", &row.name)] {
        if text.trim().is_empty() {
            return Err(format!("`{field}` is empty"));
        }
    }
    Ok(row)
}
