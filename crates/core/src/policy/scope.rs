//! A scope: what is allowed of one kind of thing, as an element of a lattice.

use std::collections::BTreeSet;

use concertina_types::ToolName;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// One pattern of a scope. Its order is only for a fixed way of writing scopes down.
pub trait Part: Clone + Ord {
    /// What is asked for.
    type Asked: ?Sized;

    /// Whether `asked` is covered.
    fn covers(&self, asked: &Self::Asked) -> bool;

    /// Whether all that `other` covers is covered here. Where that cannot be told the answer is no:
    /// a scope is then written longer than it had to be, and never means more.
    fn includes(&self, other: &Self) -> bool;

    /// Whether it covers whatever is asked.
    fn is_everything(&self) -> bool;
}

/// What *every* layer covers; a layer covers what *any* of its patterns does. No layer is everything,
/// an empty layer nothing.
///
/// Two scopes that are known to cover the same are equal, in whatever order and however often their
/// patterns were written: redundant patterns and layers are dropped.
///
/// ```
/// use concertina_core::policy::{Grant, Pattern};
/// use concertina_types::ToolName;
/// let parent = Grant::everything().narrowed(vec![Pattern::new("sql/*")?]);
/// let child = parent.narrowed(vec![Pattern::new("*")?]);
/// assert!(child.covers(&ToolName::new("sql/query")?));
/// assert!(!child.covers(&ToolName::new("shell")?));
/// assert_eq!(child, parent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    transparent,
    bound(serialize = "P: Part + Serialize", deserialize = "P: Part + Deserialize<'de>")
)]
pub struct Scope<P: Part> {
    #[serde(deserialize_with = "layers")]
    layers: BTreeSet<BTreeSet<P>>,
}

/// The tools that a session may use. A fork adds a layer and cannot take one away, so a child never
/// has what its parent lacks.
pub type Grant = Scope<Pattern>;

impl<P: Part> Default for Scope<P> {
    fn default() -> Self {
        Self::nothing()
    }
}

impl<P: Part> Scope<P> {
    /// All there is.
    pub fn everything() -> Self {
        Self { layers: BTreeSet::new() }
    }

    /// Nothing at all.
    pub fn nothing() -> Self {
        Self::of([])
    }

    /// What any of `parts` covers.
    pub fn of(parts: impl IntoIterator<Item = P>) -> Self {
        Self::reduced([parts.into_iter().collect()])
    }

    /// The same scope under one more layer. An empty layer covers nothing.
    #[must_use]
    pub fn narrowed(&self, layer: Vec<P>) -> Self {
        self.meet(&Self::of(layer))
    }

    /// What both cover.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self::reduced(self.layers.iter().chain(&other.layers).cloned())
    }

    /// What either covers.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        // (A and B) or (C and D) is each of A, B or each of C, D.
        let pairs = self.layers.iter().flat_map(|one| {
            other.layers.iter().map(move |another| one.union(another).cloned().collect())
        });
        Self::reduced(pairs)
    }

    /// Whether `asked` is covered.
    pub fn allows(&self, asked: &P::Asked) -> bool {
        self.layers.iter().all(|layer| layer.iter().any(|part| part.covers(asked)))
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.layers.is_empty()
    }

    /// Whether nothing is covered, as far as that can be told.
    pub fn is_nothing(&self) -> bool {
        self.layers.first().is_some_and(BTreeSet::is_empty)
    }

    /// The layers, each a set of patterns.
    pub fn layers(&self) -> impl Iterator<Item = &BTreeSet<P>> {
        self.layers.iter()
    }

    /// The scope without what another part of it makes superfluous. What is left is the only way to
    /// write it: the patterns of a layer do not include each other, nor do the layers.
    fn reduced(layers: impl IntoIterator<Item = BTreeSet<P>>) -> Self {
        let layers: BTreeSet<BTreeSet<P>> = layers
            .into_iter()
            .map(|layer| least(&layer, Part::includes))
            .filter(|layer| !layer.iter().any(Part::is_everything))
            .collect();
        Self { layers: least(&layers, |narrow, wide| is_within(narrow, wide)) }
    }
}

impl Scope<Pattern> {
    /// Whether `tool` is covered.
    pub fn covers(&self, tool: &ToolName) -> bool {
        self.allows(tool.as_str())
    }
}

/// Whether the layer `narrow` covers nothing that `wide` does not.
fn is_within<P: Part>(narrow: &BTreeSet<P>, wide: &BTreeSet<P>) -> bool {
    narrow.iter().all(|part| wide.iter().any(|other| other.includes(part)))
}

/// The items that no other item replaces; of two that replace each other the first stays.
fn least<T: Clone + Ord>(items: &BTreeSet<T>, replaces: impl Fn(&T, &T) -> bool) -> BTreeSet<T> {
    let is_replaced = |item: &&T| {
        items.iter().any(|other| {
            other != *item && replaces(other, item) && !(replaces(item, other) && *item < other)
        })
    };
    items.iter().filter(|item| !is_replaced(item)).cloned().collect()
}

fn layers<'de, P, D>(deserializer: D) -> Result<BTreeSet<BTreeSet<P>>, D::Error>
where
    P: Part + Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    Ok(Scope::reduced(BTreeSet::deserialize(deserializer)?).layers)
}
