//! What other programs make of a skill that Concertina reads in full.
//!
//! Observed with Codex, opencode and Gemini CLI as of November 2026, by watching what each sends
//! to its model. What was not observed is not claimed.

use super::Report;
use crate::skill::Document;
use crate::skill::codes::Code;

/// One difference.
struct Difference {
    applies: fn(&Document) -> bool,
    message: &'static str,
}

/// Characters of a description that Codex shows.
const CODEX_DESCRIPTION: usize = 1_024;

const DIFFERENCES: &[Difference] = &[
    Difference {
        applies: |document| document.places.name.is_none() && document.places.description.is_none(),
        message: "without frontmatter Codex, opencode and Gemini CLI leave the skill out",
    },
    Difference {
        applies: |document| {
            let description = document.description.as_deref().unwrap_or_default();
            description.chars().count() > CODEX_DESCRIPTION
        },
        message: "Codex cuts the description after 1,024 characters",
    },
    Difference {
        applies: |document| document.disable_model_invocation,
        message: "Codex, opencode and Gemini CLI ignore `disable-model-invocation` and list the skill",
    },
];

pub(super) fn look(document: &Document, report: &mut Report<'_>) {
    for difference in DIFFERENCES.iter().filter(|difference| (difference.applies)(document)) {
        report.whole(Code::ClientDifference, difference.message);
    }
}
