//! What can be found.

use concertina_types::Ref;

use super::Kind;

/// One thing that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchDocument {
    /// How it is opened or called; unique in an index.
    pub key: Ref,
    /// What it is.
    pub kind: Kind,
    /// What people read; it is not searched.
    pub title: String,
    /// What it is called by; a request that is this name finds it first.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Words it was filed under.
    pub tags: Vec<String>,
    /// Names and descriptions of its parameters.
    pub parameters: String,
    /// Its text. It is searched, though it is not listed.
    pub body: String,
    /// Requests that it serves.
    pub examples: Vec<String>,
    /// What it does not do. A match here lowers the document.
    pub not_for: Vec<String>,
    /// The category, plugin or server that it belongs to.
    pub group: String,
}

impl SearchDocument {
    /// A document with nothing but its name.
    pub fn new(key: Ref, kind: Kind, name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            key,
            kind,
            title: name.clone(),
            name,
            description: String::new(),
            tags: Vec::new(),
            parameters: String::new(),
            body: String::new(),
            examples: Vec::new(),
            not_for: Vec::new(),
            group: String::new(),
        }
    }
}

/// What is kept of a document as it was given; a scope decides by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchDocumentMeta {
    /// How it is opened or called.
    pub key: Ref,
    /// What it is.
    pub kind: Kind,
    /// What people read.
    pub title: String,
    /// What it is called by.
    pub name: String,
    /// The category, plugin or server that it belongs to.
    pub group: String,
}

/// A part of a document in which words are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// The name.
    Name,
    /// The description.
    Description,
    /// Tags and group.
    Tags,
    /// Parameters.
    Parameters,
    /// The body.
    Body,
    /// Example requests.
    Examples,
}

impl Field {
    /// All fields, in order.
    pub const ALL: [Self; 6] =
        [Self::Name, Self::Description, Self::Tags, Self::Parameters, Self::Body, Self::Examples];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Tags => "tags",
            Self::Parameters => "parameters",
            Self::Body => "body",
            Self::Examples => "examples",
        }
    }

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}
