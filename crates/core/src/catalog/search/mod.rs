//! Finding skills and tools by what they are for.
//!
//! An [`Index`] is built once and never changes, so that any number of threads may search it
//! without a lock. Bodies are searched though only descriptions are listed: what a skill says
//! inside is often what people ask for.
//!
//! ```
//! use concertina_core::catalog::search::{Index, Kind, Query, SearchDocument};
//!
//! let mut refunds = SearchDocument::new("skill:refunds".parse()?, Kind::Skill, "refunds");
//! refunds.description = "Pays money back to a customer".into();
//! let mut stock = SearchDocument::new("skill:stock".parse()?, Kind::Skill, "stock");
//! stock.description = "Counts what is left in the warehouse".into();
//! let index = Index::build([refunds, stock]);
//!
//! let answer = index.find(&Query::new("paying a customer back"));
//! assert_eq!(answer.hits[0].reference.to_string(), "skill:refunds");
//! # Ok::<(), concertina_types::RefError>(())
//! ```

mod alike;
mod analyse;
mod clauses;
mod confidence;
mod document;
mod explain;
mod fusion;
mod index;
mod likeness;
mod mention;
mod names;
mod not_for;
mod postings;
mod prior;
mod rank;
mod terms;
mod text;
mod weights;

use std::fmt;
use std::str::FromStr;

pub use confidence::Confidence;
pub use document::{Field, SearchDocument, SearchDocumentMeta};
pub use explain::{Explained, Explanation, Points, TermWeight};
pub use fusion::{Similar, doubt, fuse};
pub use index::Index;
pub(crate) use mention::{Mention, Said};
pub use names::nearest_names;
pub use prior::{Prior, Usage, Uses};
pub use rank::{Answer, Hit, Query};
pub use weights::Weights;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A skill.
    Skill,
    /// A tool.
    Tool,
    /// A section of a skill.
    Section,
    /// A category of tools.
    Menu,
    /// An example of a skill.
    Example,
    /// A file of the workspace.
    File,
    /// Something that a call produced.
    Evidence,
}

impl Kind {
    /// All kinds, in order.
    pub const ALL: [Self; 7] = [
        Self::Skill,
        Self::Tool,
        Self::Section,
        Self::Menu,
        Self::Example,
        Self::File,
        Self::Evidence,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Tool => "tool",
            Self::Section => "section",
            Self::Menu => "menu",
            Self::Example => "example",
            Self::File => "file",
            Self::Evidence => "evidence",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind: choose skill, tool, section, menu, example, file or evidence")]
pub struct KindError(String);

impl KindError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        "BAD_KIND"
    }
}

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| KindError(text.chars().take(100).collect()))
    }
}
