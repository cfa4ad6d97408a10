//! `cargo xtask fuzz`: the fuzz targets on the stable toolchain, for as long as one likes.
//!
//! The targets and their seeds live in `fuzz/`; the run is a test of `concertina-format`, so that
//! `cargo xtask test` holds a short one.

use crate::Outcome;
use crate::workspace::Workspace;

/// Seconds for all targets together, unless said otherwise.
const SECONDS: u32 = 60;

/// Runs all targets for `seconds`; true when every property held.
pub(crate) fn run(workspace: &Workspace, seconds: Option<&str>) -> Outcome<bool> {
    let seconds = match seconds {
        Some(text) => text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?,
        None => SECONDS,
    };
    let words =
        ["test", "--package", "concertina-format", "--test", "it", "--", "fuzz::", "--show-output"];
    let mut command = workspace.cargo(&words);
    command.env("CONCERTINA_FUZZ_SECONDS", seconds.to_string());
    Ok(command.status()?.success())
}
