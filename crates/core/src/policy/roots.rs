//! Granted paths as places that a kernel can be told of.

use serde::Serialize;

use super::path::FilePath;
use super::path_pattern::{PathPattern, Shape};
use super::scope::Scope;

/// Where granted paths are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Root {
    /// A directory and all that is in it.
    Subtree(FilePath),
    /// One file, or a directory without what is in it.
    File(FilePath),
    /// Those paths in a directory that all of some patterns cover. A kernel can only be given the
    /// directory: whoever wants no more has to name the files that are there.
    Glob {
        /// The directory.
        base: FilePath,
        /// What each of its paths has to match.
        patterns: Vec<PathPattern>,
    },
}

/// Where an [`Access`](super::Access) reads and writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Roots {
    /// Where it reads.
    pub read: Vec<Root>,
    /// Where it writes. What a skill declares gives subtrees and files here, never globs.
    pub write: Vec<Root>,
}

impl Root {
    /// The path that a kernel would be given.
    pub fn base(&self) -> &FilePath {
        match self {
            Self::Subtree(path) | Self::File(path) | Self::Glob { base: path, .. } => path,
        }
    }

    /// Whether `path` is granted by it.
    pub fn covers(&self, path: &FilePath) -> bool {
        match self {
            Self::Subtree(directory) => path.is_within(directory),
            Self::File(file) => file == path,
            Self::Glob { base, patterns } => {
                path.is_within(base) && patterns.iter().all(|pattern| pattern.matches(path))
            }
        }
    }

    /// What `pattern` covers of it.
    fn narrowed(&self, pattern: &PathPattern) -> Option<Self> {
        let deeper = |one: &FilePath, other: &FilePath| {
            let deeper = if one.is_within(other) { one } else { other };
            (deeper.is_within(one) && deeper.is_within(other)).then(|| deeper.clone())
        };
        let (base, mut patterns) = match (self, pattern.shape()) {
            (Self::File(file), _) => {
                return pattern.matches(file).then(|| self.clone());
            }
            (_, Shape::File(file)) => {
                return self.covers(file).then(|| Self::File(file.clone()));
            }
            (Self::Subtree(one), Shape::Subtree(other)) => {
                return deeper(one, other).map(Self::Subtree);
            }
            (Self::Subtree(directory), Shape::Glob { base, .. }) => {
                (deeper(directory, base)?, vec![pattern.clone()])
            }
            (
                Self::Glob { base, patterns },
                Shape::Subtree(other) | Shape::Glob { base: other, .. },
            ) => {
                let mut patterns = patterns.clone();
                if matches!(pattern.shape(), Shape::Glob { .. }) {
                    patterns.push(pattern.clone());
                }
                (deeper(base, other)?, patterns)
            }
        };
        patterns.sort();
        patterns.dedup();
        Some(Self::Glob { base, patterns })
    }
}

impl From<&PathPattern> for Root {
    fn from(pattern: &PathPattern) -> Self {
        match pattern.shape() {
            Shape::Subtree(path) => Self::Subtree(path.clone()),
            Shape::File(path) => Self::File(path.clone()),
            Shape::Glob { base, .. } => {
                Self::Glob { base: base.clone(), patterns: vec![pattern.clone()] }
            }
        }
    }
}

/// The places of a scope: what is in each layer, as one list.
pub(super) fn roots(scope: &Scope<PathPattern>) -> Vec<Root> {
    let whole = vec![Root::Subtree(FilePath::root())];
    let mut roots = scope.layers().fold(whole, |roots, layer| {
        let narrowed = |root: &Root| -> Vec<Root> {
            layer.iter().filter_map(|pattern| root.narrowed(pattern)).collect()
        };
        let mut next: Vec<Root> = roots.iter().flat_map(narrowed).collect();
        next.sort();
        next.dedup();
        next
    });
    // What lies in a subtree that is granted need not be named as well.
    let subtrees: Vec<FilePath> = roots
        .iter()
        .filter_map(|root| match root {
            Root::Subtree(path) => Some(path.clone()),
            _ => None,
        })
        .collect();
    roots.retain(|root| {
        let is_own = |path: &FilePath| matches!(root, Root::Subtree(own) if own == path);
        !subtrees.iter().any(|path| root.base().is_within(path) && !is_own(path))
    });
    roots
}
