//! What a session was given. It can only be narrowed.

use concertina_types::ToolName;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// The tools that a session may use: everything that *every* layer covers.
///
/// A fork adds a layer and cannot take one away, so a child never has what its parent lacks.
///
/// ```
/// use concertina_core::policy::{Grant, Pattern};
/// use concertina_types::ToolName;
/// let parent = Grant::everything().narrowed(vec![Pattern::new("sql/*")?]);
/// let child = parent.narrowed(vec![Pattern::new("*")?]);
/// assert!(child.covers(&ToolName::new("sql/query")?));
/// assert!(!child.covers(&ToolName::new("shell")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grant {
    layers: Vec<Vec<Pattern>>,
}

impl Grant {
    /// No layer: every tool.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The same grant under one more layer. An empty layer covers nothing.
    #[must_use]
    pub fn narrowed(&self, layer: Vec<Pattern>) -> Self {
        let mut layers = self.layers.clone();
        layers.push(layer);
        Self { layers }
    }

    /// Whether every layer covers `tool`.
    pub fn covers(&self, tool: &ToolName) -> bool {
        self.layers.iter().all(|layer| layer.iter().any(|pattern| pattern.matches(tool.as_str())))
    }
}
