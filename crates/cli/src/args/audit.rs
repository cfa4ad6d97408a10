//! `audit …` and `permissions …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that the logs are as they were written
    Verify(VerifyArgs),
    /// List what happened in a session: calls with their arguments and results, decisions, refusals
    Show {
        /// The session [default: the one written to last]
        session: Option<String>,
        /// Only records of this kind, such as `call.admitted`, or of a group of them, such as `call`
        #[arg(long)]
        kind: Option<String>,
        /// Only records from then on: a day, such as 2026-01-31, or a moment, 2026-01-31T12:00:00Z
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
        /// Write what happened, told in words, as one page to this file
        #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "since", "json"])]
        html: Option<PathBuf>,
    },
    /// List what was refused, by which rule, and how often
    Denials {
        /// Only of this session, or `last`
        #[arg(long)]
        session: Option<String>,
        /// Put together by this
        #[arg(long, value_enum)]
        by: Option<ByArg>,
    },
    /// List the sentences that say that a tool ran or that a checkpoint of a procedure holds, and
    /// whether the log has a call, or a receipt, of it
    Claims {
        /// The session, or `last`
        session: String,
        /// What a model said that Concertina does not ask itself: a text, or a conversation as a
        /// client keeps it in JSON; a file, or `-` for standard input
        #[arg(long, value_name = "FILE")]
        transcript: Option<PathBuf>,
        /// Also list claims that the log backs
        #[arg(long)]
        all: bool,
    },
    /// List the keys that sign and signed the logs
    Keys,
    /// Sign with a new key from now on; the one before introduces it, and its secret is removed
    Rotate,
    /// Write the signed heads of the logs, to be kept where nobody who can write the logs can write
    Anchor {
        /// The session, or `last` [default: all]
        session: Option<String>,
        /// Add them to this file [default: standard output]
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Write the log of a session with its signatures, as JSON lines that `verify --file` checks anywhere
    Export {
        /// The session, or `last`
        session: String,
    },
}

const VERIFY_HELP: &str = "\
Ends with 0 where everything is in order and with 1 where something is not. With --json, `reason` is a
code: RECORD_CHANGED, RECORD_MISSING, CHAIN_BROKEN, CHECKPOINT_MISMATCH, CHECKPOINT_FORGED,
CHECKPOINT_MISSING, CONTENT_CHANGED, KEY_UNKNOWN, KEY_RETIRED, KEY_CHANGED, TRUNCATED, HEAD_MISSING,
HEADS_CHANGED, UNREADABLE; TORN_TAIL where nothing is wrong but a writer was stopped while it wrote.";

#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct VerifyArgs {
    /// The session, or `last` [default: all]
    pub(crate) session: Option<String>,
    /// The hash of a record that has to be in the log, `sha256:` and 64 digits
    #[arg(long, value_name = "HASH")]
    pub(crate) expect_head: Option<String>,
    /// The id of a key that has to be among those that signed
    #[arg(long, value_name = "ID")]
    pub(crate) expect_key: Option<String>,
    /// Signed heads that were kept elsewhere, as `audit anchor` writes them
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) anchor: Option<PathBuf>,
    /// Check this export instead; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByArg {
    /// The skill for which it was asked
    Skill,
    /// The tool that was to run
    Tool,
    /// The code of the refusal
    Code,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Read off what was refused the smallest declaration that would allow it
    Suggest {
        /// For this skill alone
        #[arg(long)]
        skill: Option<String>,
        /// From this session alone, or `last`
        #[arg(long)]
        session: Option<String>,
    },
}
