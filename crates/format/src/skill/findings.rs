//! What was found so far, by place; places become lines and columns at the end.

use concertina_types::{Diagnostic, LineIndex, Severity};

use super::Mode;
use super::codes::{Code, Effect};

#[derive(Debug)]
struct Finding {
    code: Code,
    /// A byte of the decoded text.
    at: Option<usize>,
    message: String,
}

/// The findings of one document.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    pub(super) fn add(&mut self, code: Code, at: impl Into<Option<usize>>, message: String) {
        self.list.push(Finding { code, at: at.into(), message });
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether a finding of this effect is among them.
    pub(super) fn any(&self, effect: Effect) -> bool {
        self.list.iter().any(|finding| finding.code.effect() == effect)
    }

    /// Whether a reading of this mode can use the document.
    pub(super) fn acceptable(&self, mode: Mode) -> bool {
        match mode {
            Mode::Lenient => !self.any(Effect::Reject),
            Mode::Strict => self.list.iter().all(|finding| finding.code.effect() == Effect::Note),
        }
    }

    /// The findings in the order of the text; those about the whole document come last.
    pub(super) fn finish(mut self, text: &str, mode: Mode) -> Vec<Diagnostic> {
        if self.list.is_empty() {
            return Vec::new();
        }
        self.list.sort_by_key(|finding| finding.at.unwrap_or(usize::MAX));
        let index = self.list.iter().any(|f| f.at.is_some()).then(|| LineIndex::new(text));
        let told = |finding: Finding| {
            let refused = mode == Mode::Strict && finding.code.effect() != Effect::Note;
            let severity = if refused { Severity::Error } else { finding.code.severity() };
            let diagnostic = Diagnostic::new(finding.code.as_str(), severity, finding.message)
                .help(finding.code.help());
            match (&index, finding.at) {
                (Some(index), Some(at)) => diagnostic.at(index.position(text, at)),
                _ => diagnostic,
            }
        };
        self.list.into_iter().map(told).collect()
    }
}
