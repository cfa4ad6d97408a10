//! `receipt …` and `setup …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptCommand {
    /// Check receipts by their signatures, and whether they are about what is at hand
    Verify(VerifyArgs),
    /// List the receipts that sessions hold, the latest session first
    List {
        /// Only of this session, or `last`
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Print what a receipt says
    Show {
        /// Its digest, or the first eight digits of that or more
        digest: String,
    },
    /// Write receipts as envelopes, one a line, to be checked anywhere
    Export(ExportArgs),
}

const VERIFY_HELP: &str = "\
Without --checkpoint and --gate, every receipt has to count, and there has to be one. With them, the
receipts of one run have to prove what is wanted; others may be about something else.

Why a receipt does not count:
  RECEIPT_UNREADABLE, RECEIPT_UNKNOWN_KEY, RECEIPT_FORGED, RECEIPT_NOT_CANONICAL, RECEIPT_CHAIN;
  RECEIPT_WRONG_RUN, RECEIPT_WRONG_PROCEDURE, RECEIPT_WRONG_TOOL, RECEIPT_CONTRADICTION,
  RECEIPT_STALE, RECEIPT_EXPIRED.
What is wanted and not proven is RECEIPT_MISSING.";

/// What receipts are about.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AboutArgs {
    /// They are about this directory as it is now
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// What of the directory counts [default: what the procedure says, or all of it]
    #[arg(long, value_name = "DIR", requires = "workspace")]
    pub(crate) root: Option<String>,
    /// Files that do not count, as in a `.gitignore`; may be given several times [default: what the
    /// procedure says]
    #[arg(long, value_name = "GLOB", requires = "workspace")]
    pub(crate) ignore: Vec<String>,
    /// They are of this procedure as it is now
    #[arg(long, value_name = "FILE")]
    pub(crate) procedure: Option<PathBuf>,
    /// They open what stands before this tool in the procedure
    #[arg(long, value_name = "TOOL", requires = "procedure")]
    pub(crate) gate: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct VerifyArgs {
    /// An envelope, or several, one a line; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Believe this key, as `concertina audit keys` prints it; may be given several times [default: the
    /// keys of the state directory]
    #[arg(long, value_name = "PUBLIC")]
    pub(crate) key: Vec<String>,
    #[command(flatten)]
    pub(crate) about: AboutArgs,
    /// They prove this checkpoint of the procedure; may be given several times
    #[arg(long, value_name = "NAME", requires = "procedure", conflicts_with = "gate")]
    pub(crate) checkpoint: Vec<String>,
    /// They are of this run
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// They are of this tool, or with `@` and the digest of its definition, of this version of it; may be
    /// given several times
    #[arg(long, value_name = "NAME[@DIGEST]")]
    pub(crate) tool: Vec<String>,
    /// They are no older than this, such as 30m
    #[arg(long, value_name = "TIME")]
    pub(crate) max_age: Option<String>,
    /// Judge their age at this moment, such as 2026-01-31T12:00:00Z [default: now]
    #[arg(long, value_name = "WHEN")]
    pub(crate) at: Option<String>,
    /// What is staged for a commit in the workspace has to be all that is in it
    #[arg(long, requires = "workspace")]
    pub(crate) staged: bool,
}

const EXPORT_HELP: &str = "\
With --workspace, the receipts of all sessions that were begun in it; with --gate, only those of the run
that opens the gate, or of the latest one.";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_HELP)]
pub(crate) struct ExportArgs {
    /// Those of this session, or `last`
    #[arg(long, value_name = "ID", required_unless_present = "workspace")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) about: AboutArgs,
    /// Write to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    /// Let commits in this repository wait for the receipts that a procedure wants
    Git(GitArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GitArgs {
    /// The procedure [default: the one `sop.yaml` or `*.sop.yaml` here]
    #[arg(long, value_name = "FILE")]
    pub(crate) procedure: Option<PathBuf>,
    /// The tool that commits in the procedure [default: the one whose name says so]
    #[arg(long, value_name = "TOOL")]
    pub(crate) gate: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take the hooks away; what was there before is put back
    #[arg(long, conflicts_with_all = ["procedure", "gate"])]
    pub(crate) undo: bool,
}
