//! `sop …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{PlaceArgs, SessionArgs};

const CHECK_HELP: &str = "\
Ends with 1 where a procedure has an error. All orders of calls are explored, and whatever could happen is
taken to happen: work and time go on at any moment, a tool that passed can fail the next time. Codes:
  UNREACHABLE, DEAD_END, ENDLESS_LOOP, NO_FINAL, CAN_GET_STUCK     where a run leads
  BYPASS, UNUSED_INVARIANT                                         what must never be
  UNSATISFIABLE_GUARD, GATE_HIDDEN, OVERLAPPING_EXITS              guards that do not do what they say
  UNUSED_CHECKPOINT, FAIL_WITHOUT_CHECK, STALE_WITHOUT_BINDING     what is there for nothing
  TOO_LARGE_TO_PROVE                                               nothing is proven, so nothing is sure";

#[derive(Debug, Subcommand)]
pub(crate) enum SopCommand {
    /// Check procedures: that they lead to an end, and that no order of calls breaks an invariant
    #[command(after_help = CHECK_HELP)]
    Check {
        /// Procedures, as YAML files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Draw a procedure
    Graph(GraphArgs),
    /// Follow a procedure in a session
    Start(SopStartArgs),
    /// Say which step a session is in, what is proven, what is missing, and what comes next
    Status(SopArgs),
    /// Leave the procedure of a session; where the settings list it, the tools that it stands before stay hidden
    Leave(SopArgs),
    /// Give a session a signed statement on a checkpoint
    Submit(SopSubmitArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The procedure, a YAML file
    pub(crate) file: PathBuf,
    /// As text for Mermaid, or as a picture
    #[arg(long, value_enum, default_value = "mermaid")]
    pub(crate) format: FormatArg,
    /// Write it to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// A state diagram for Mermaid
    Mermaid,
    /// A picture that stands alone
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct SopStartArgs {
    /// The procedure: its name, where the settings list it, or its file
    pub(crate) procedure: String,
    /// The client that drives the session, such as `codex`; `run` where Concertina itself asks the
    /// model [default: one that can run programs itself]
    #[arg(long)]
    pub(crate) client: Option<String>,
    #[command(flatten)]
    pub(crate) of: SopArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SopArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SopSubmitArgs {
    /// The file with the signed statement
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) of: SopArgs,
}
