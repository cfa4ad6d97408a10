//! `concertina approve`.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum ApproveCommand {
    /// List what waits for an answer in all sessions
    List {
        /// Also list what was answered, and what was agreed to for good
        #[arg(long)]
        all: bool,
    },
    /// Agree to one action
    Grant {
        /// The name of the question, as `approve list` and the refusal give it
        id: String,
        /// How far it reaches
        #[arg(long = "for", value_name = "SCOPE", default_value = "once")]
        scope: Scope,
        /// The words that the question wants typed, where it does
        #[arg(long, value_name = "WORDS")]
        phrase: Option<String>,
    },
    /// Refuse one action, or take back what was agreed to for good
    Deny {
        /// The name of the question, or the digest of a consent
        id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// The action may be done once
    Once,
    /// For the rest of its session
    Session,
    /// In every session, as long as its bytes stay the same
    Digest,
}
