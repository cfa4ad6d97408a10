//! The arguments of following a procedure.

use std::path::PathBuf;

use clap::Args;

use super::{PlaceArgs, SessionArgs};

#[derive(Debug, Args)]
pub(crate) struct SopStartArgs {
    /// The procedure: its name, where the settings list it, or its file
    pub(crate) procedure: String,
    /// The client that drives the session, such as `codex`; `run` where Concertina itself asks the
    /// model [default: one that can run programs itself]
    #[arg(long, default_value = "another client")]
    pub(crate) client: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SopStatusArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SopLeaveArgs {
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
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}
