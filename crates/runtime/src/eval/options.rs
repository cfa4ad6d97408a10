//! How the search that is measured is set.

use std::path::Path;

use concertina_core::catalog::search::Weights;
use concertina_format::config::{Config, ConfigOrigin, parse};
use concertina_types::Severity;

use super::EvalError;
use crate::Loaded;

/// The hits that every request is asked for at least: the figures look at the first ten.
pub(super) const LOOKED_AT: usize = 10;

/// How the search is set.
///
/// ```
/// use concertina_runtime::eval::RouteOptions;
///
/// let directory = tempfile::tempdir()?;
/// let file = directory.path().join("concertina.toml");
/// std::fs::write(&file, "[search.weights]\nname = 3\n")?;
/// let (options, _) = RouteOptions::read(&file)?;
/// assert_eq!((options.weights.name, options.weights.body), (3.0, 0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RouteOptions {
    /// The k of `recall_at_k`. At least ten hits are asked for, whatever it is.
    pub k: usize,
    /// What the ranking weighs.
    pub weights: Weights,
}

impl Default for RouteOptions {
    fn default() -> Self {
        Self { k: LOOKED_AT, weights: Weights::default() }
    }
}

impl RouteOptions {
    /// The options under the settings in the file at `path`, with those settings: only
    /// `[search.weights]` changes what is measured.
    ///
    /// # Errors
    /// Where the file cannot be read or has errors: something else would be measured than was meant.
    pub fn read(path: &Path) -> Result<(Self, Config), EvalError> {
        let failed = |source| EvalError::File { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        // Whoever names the file vouches for it, as for their own settings.
        let (config, mut findings) = parse(&text, ConfigOrigin::User);
        findings.retain(|found| found.severity == Severity::Error);
        if !findings.is_empty() {
            return Err(EvalError::Settings { path: path.to_owned(), findings });
        }
        let loaded = Loaded { config, ..Loaded::default() };
        Ok((Self { weights: loaded.weights(), ..Self::default() }, loaded.config))
    }
}
