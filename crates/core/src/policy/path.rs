//! Paths that are compared as text: absolute, and without detours.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A path on Linux, in bytes (`PATH_MAX`).
const PATH_BYTES: usize = 4_096;

/// A text that is no path to judge by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathRefused {
    /// It does not begin with `/`.
    #[error("`{0}` is not absolute")]
    Relative(String),
    /// It holds `..`, which means one thing as text and may mean another on the disk.
    #[error("`{0}` holds `..`")]
    Climbs(String),
    /// It holds the character that ends a path.
    #[error("`{0}` holds a NUL character")]
    Nul(String),
    /// No file can have so long a path.
    #[error("a path is longer than {PATH_BYTES} bytes")]
    TooLong,
    /// Its bytes are no text.
    #[error("`{0}` is not UTF-8")]
    NotText(String),
}

impl PathRefused {
    /// The stable code of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Relative(_) => "PATH_RELATIVE",
            Self::Climbs(_) => "PATH_CLIMBS",
            Self::Nul(_) => "PATH_NUL",
            Self::TooLong => "PATH_TOO_LONG",
            Self::NotText(_) => "PATH_NOT_TEXT",
        }
    }
}

/// An absolute path in one spelling: no `..`, no `.`, no empty name, no `/` at the end.
///
/// Whoever asks for a file resolves links first; here names are compared whole, byte by byte, so
/// that neither case nor another way of writing a letter makes two names one.
///
/// ```
/// use concertina_core::policy::FilePath;
/// let project = FilePath::new("/p/proj/")?;
/// assert_eq!(project.as_str(), "/p/proj");
/// assert!(FilePath::new("/p//proj/./a")?.is_within(&project));
/// assert!(!FilePath::new("/p/proj-evil/a")?.is_within(&project));
/// assert!(FilePath::new("/p/proj/../key").is_err());
/// # Ok::<(), concertina_core::policy::PathRefused>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// Reads a path.
    pub fn new(text: &str) -> Result<Self, PathRefused> {
        let shown = || text.chars().take(200).collect::<String>();
        if text.len() > PATH_BYTES {
            return Err(PathRefused::TooLong);
        }
        if text.contains('\0') {
            return Err(PathRefused::Nul(shown().replace('\0', "\u{fffd}")));
        }
        if !text.starts_with('/') {
            return Err(PathRefused::Relative(shown()));
        }
        let mut path = String::with_capacity(text.len());
        for name in text.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if name == ".." {
                return Err(PathRefused::Climbs(shown()));
            }
            path.push('/');
            path.push_str(name);
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(Self(path))
    }

    /// The root of all paths.
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as the standard library has it.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The path of `name` in this directory; `name` may hold `/`.
    pub fn join(&self, name: &str) -> Result<Self, PathRefused> {
        Self::new(&format!("{}/{name}", self.0))
    }

    /// The directory it is in; none for the root.
    pub fn parent(&self) -> Option<Self> {
        let (parent, _) = self.0.rsplit_once('/').filter(|_| self.0 != "/")?;
        Some(if parent.is_empty() { Self::root() } else { Self(parent.to_owned()) })
    }

    /// Its names, from the root on.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Whether it is `directory` or lies below it.
    pub fn is_within(&self, directory: &Self) -> bool {
        directory.0 == "/"
            || self
                .0
                .strip_prefix(directory.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl TryFrom<&Path> for FilePath {
    type Error = PathRefused;

    fn try_from(path: &Path) -> Result<Self, PathRefused> {
        let text = path.to_str();
        Self::new(text.ok_or_else(|| PathRefused::NotText(path.to_string_lossy().into_owned()))?)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
