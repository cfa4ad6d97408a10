//! `concertina doctor`.

use concertina_runtime::doctor;

use crate::error::{CliError, Exit};
use crate::output::{Output, told};
use crate::place;

pub(crate) fn run(out: &mut Output) -> Result<u8, CliError> {
    let current = std::env::current_dir().map_err(|error| {
        let message = format!("the current directory cannot be read: {error}");
        CliError::new(Exit::Environment, "NO_DIRECTORY", message)
    })?;
    // What other commands say beside their data is part of the report.
    let workspace = place::quietly(&current)?;
    let report = doctor::examine(&workspace, &place::variable);
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.raw(&told(&report.text()))?;
    }
    Ok(if report.complete { 0 } else { Exit::Findings as u8 })
}
