//! Patterns over paths: `dir/**`, `dir/*.rs`, `file`.

use std::cmp::Ordering;
use std::fmt;

use concertina_types::limits;
use globset::{GlobBuilder, GlobMatcher, escape};
use serde::{Deserialize, Serialize};

use super::path::{FilePath, PathRefused};
use super::pattern::{PatternError, is_special};
use super::scope::Part;

/// A pattern over absolute paths, as in `.gitignore`: `dir/**` or `dir/` is a directory and all that
/// is in it, `*`, and `?` for one byte, stay within one name, `**` between two `/` is any number of directories, and
/// a path without any of these is that one file.
///
/// ```
/// use concertina_core::policy::{FilePath, PathPattern};
/// let pattern = PathPattern::new("/p/src/*.rs")?;
/// assert!(pattern.matches(&FilePath::new("/p/src/main.rs")?));
/// assert!(!pattern.matches(&FilePath::new("/p/src/bin/main.rs")?));
/// assert_eq!(PathPattern::new("/p//src/")?, PathPattern::new("/p/src/**")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PathPattern {
    text: String,
    shape: Shape,
}

/// What a pattern comes to.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// A directory and all that is in it.
    Subtree(FilePath),
    /// One path.
    File(FilePath),
    /// Paths below `base` that a glob picks.
    Glob {
        /// The longest directory that the pattern names outright.
        base: FilePath,
        /// Decides.
        matcher: GlobMatcher,
    },
}

/// Why a text is no pattern over paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathPatternError {
    /// What it names cannot be a path.
    #[error(transparent)]
    Path(#[from] PathRefused),
    /// The glob in it cannot be read.
    #[error(transparent)]
    Glob(#[from] PatternError),
}

impl PathPatternError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Path(refused) => refused.code(),
            Self::Glob(_) => "BAD_PATTERN",
        }
    }
}

impl PathPattern {
    /// Reads a pattern over absolute paths.
    pub fn new(text: &str) -> Result<Self, PathPatternError> {
        let glob_error = |reason: &str| PathPatternError::Glob(PatternError::new(text, reason));
        if text.len() > limits::REF_BYTES {
            let reason = format!("it is longer than {} bytes", limits::REF_BYTES);
            return Err(glob_error(&reason));
        }
        if !text.starts_with('/') {
            return Err(PathRefused::Relative(text.to_owned()).into());
        }
        let mut names: Vec<&str> =
            text.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") {
            return Err(PathRefused::Climbs(text.to_owned()).into());
        }
        let mut whole = text.ends_with('/');
        // `dir/**/*` is all that is in `dir` as well.
        if names.ends_with(&["**", "*"]) {
            names.pop();
        }
        while names.last() == Some(&"**") {
            whole = true;
            names.pop();
        }
        let literal: Vec<String> = names.iter().map_while(|name| literal(name)).collect();
        let base = FilePath::new(&format!("/{}", literal.join("/")))?;
        if literal.len() == names.len() {
            return Ok(if whole { Self::subtree(base) } else { Self::file(base) });
        }
        let mut text = format!("/{}", names.join("/"));
        // Such a class would cover `/` as well.
        if ["[!", "[^"].iter().any(|class| text.contains(class)) {
            return Err(glob_error("a class of other characters cannot stand in a path"));
        }
        if whole {
            text.push_str("/**");
        }
        let glob = GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build();
        let matcher = glob.map_err(|error| glob_error(&error.kind().to_string()))?;
        Ok(Self { text, shape: Shape::Glob { base, matcher: matcher.compile_matcher() } })
    }

    /// The directory `path` and all that is in it.
    pub fn subtree(path: FilePath) -> Self {
        let slash = if path.as_str() == "/" { "" } else { "/" };
        Self { text: format!("{}{slash}**", escape(path.as_str())), shape: Shape::Subtree(path) }
    }

    /// Nothing but `path`.
    pub fn file(path: FilePath) -> Self {
        Self { text: escape(path.as_str()), shape: Shape::File(path) }
    }

    /// Whether `path` is covered.
    pub fn matches(&self, path: &FilePath) -> bool {
        match &self.shape {
            Shape::Subtree(directory) => path.is_within(directory),
            Shape::File(file) => path == file,
            Shape::Glob { matcher, .. } => matcher.is_match(path.as_path()),
        }
    }

    /// The pattern in its one spelling.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The path it is about: the directory, the file, or the directory below which a glob picks.
    pub fn base(&self) -> &FilePath {
        match &self.shape {
            Shape::Subtree(path) | Shape::File(path) | Shape::Glob { base: path, .. } => path,
        }
    }
}

impl Part for PathPattern {
    type Asked = FilePath;

    fn covers(&self, asked: &FilePath) -> bool {
        self.matches(asked)
    }

    fn includes(&self, other: &Self) -> bool {
        match (&self.shape, &other.shape) {
            (Shape::Subtree(directory), _) => other.base().is_within(directory),
            (Shape::Glob { .. }, Shape::File(file)) => self.matches(file),
            _ => self == other,
        }
    }

    fn is_everything(&self) -> bool {
        matches!(&self.shape, Shape::Subtree(directory) if directory.as_str() == "/")
    }
}

/// `name` without its escapes, where it stands for nothing but itself.
fn literal(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.push(rest.next()?),
            // `[x]` is how a special character is written out.
            '[' => {
                let (c, end) = (rest.next()?, rest.next()?);
                if end != ']' || matches!(c, '!' | '^') {
                    return None;
                }
                out.push(c);
            }
            c if is_special(c) => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathPattern {}

impl PartialOrd for PathPattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PathPattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Serialize for PathPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
